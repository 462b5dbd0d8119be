"""One panel of a decision map: cells, letters, hatches, the outline of the scope, boundaries."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.patches import Polygon, Rectangle

from reports.map_words import RANKED, axis_value, is_out_of_scope
from reports.palette import ALARM, INK, NEUTRAL

LETTERED_COLUMNS, LETTERED_ROWS = 9, 30
"""Cells of larger panels are too small for letters."""

MOST_MARKS = 40
"""Crossings of a panel beyond which the line and its band alone are drawn."""

MOST_TICKS = 14

PALEST, EVEN = 0.30, 0.25
"""Saturation at and below a share of a quarter; at a share of one it is full."""

CLEAR, ASIDE = 0.35, 0.24
"""Rows around the middle of a cell that letters need, and how far they give way."""


def saturation(share: float) -> float:
    """How full a colour is: the winner's share, from a quarter to one."""
    certain = (share - EVEN) / (1.0 - EVEN)
    return PALEST + (1.0 - PALEST) * min(1.0, max(0.0, certain))


def shade(colour: str, share: float) -> tuple[float, float, float]:
    """A colour mixed with white."""
    full = saturation(share)
    red, green, blue = (1.0 - full * (1.0 - part) for part in to_rgb(colour))
    return red, green, blue


def draw_panel(
    axes: Axes,
    content: Mapping[str, Any],
    panel: Mapping[str, Any],
    colours: Mapping[str, str],
    shorts: Mapping[str, str],
) -> None:
    """Draw a panel of a map into axes.

    Parameters
    ----------
    axes
        Empty axes.
    content, panel
        The map's summary, and the panel of it.
    colours, shorts
        Colour and abbreviation of each option.
    """
    rows, columns = content["rows"], content["columns"]
    down = len(rows["values"]) if rows else 1
    across = len(columns["values"]) if columns else 1
    image = np.ones((down, across, 3))
    for cell in panel["cells"]:
        place = cell["row"], cell["column"]
        if cell["status"] == RANKED:
            image[place] = shade(colours[cell["winner"]], cell["p_first"])
    axes.imshow(image, origin="lower", aspect="auto", interpolation="nearest", zorder=1)
    _grid_lines(axes, down, across)
    letters = lettered(content)
    busy = _busy(panel)
    for cell in panel["cells"]:
        drawn_at = _beside(busy.get((cell["column"], cell["row"]), []))
        _cell(axes, cell, colours, shorts, letters_at=drawn_at if letters else None)
    _outline(axes, panel["cells"])
    for piece in panel["lines"]:
        if piece["band"]:
            axes.add_patch(
                Polygon(piece["band"], facecolor=INK, alpha=0.28, edgecolor="none", zorder=4)
            )
        (x0, y0), (x1, y1) = piece["line"]
        axes.plot([x0, x1], [y0, y1], color="white", linewidth=2.6, zorder=5)
        axes.plot([x0, x1], [y0, y1], color=INK, linewidth=1.2, zorder=6)
    if len(panel["crossings"]) <= MOST_MARKS or not panel["lines"]:
        _crossings(axes, panel["crossings"], across)
    if panel["own"] is not None:
        x, y = panel["own"]
        axes.plot(x, y, marker="*", markersize=9, color=INK, markeredgecolor="white", zorder=8)
    axes.set_title(panel["title"], fontsize=8.0)
    axes.set_xlim(-0.5, across - 0.5)
    axes.set_ylim(-0.5, down - 0.5)
    if rows and isinstance(rows["values"][0], str):
        axes.invert_yaxis()
    _ticks(axes, "x", columns)
    _ticks(axes, "y", rows)
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)


def lettered(content: Mapping[str, Any]) -> bool:
    """Whether cells are large enough for letters."""
    sizes = [len(axis["values"]) if axis else 1 for axis in (content["columns"], content["rows"])]
    return sizes[0] <= LETTERED_COLUMNS and sizes[1] <= LETTERED_ROWS


def _grid_lines(axes: Axes, down: int, across: int) -> None:
    if down * across > 1_500:  # noqa: PLR2004 - lines would hide the cells
        return
    for y in range(down + 1):
        axes.axhline(y - 0.5, color="white", linewidth=0.8, zorder=2)
    for x in range(across + 1):
        axes.axvline(x - 0.5, color="white", linewidth=0.8, zorder=2)


def _cell(
    axes: Axes,
    cell: Mapping[str, Any],
    colours: Mapping[str, str],
    shorts: Mapping[str, str],
    *,
    letters_at: float | None,
) -> None:
    """One cell, its letters so far above or below its middle, or without them."""
    x, y = cell["column"], cell["row"]
    if cell["status"] != RANKED:
        axes.plot(x, y, marker="x", markersize=5, color=NEUTRAL, zorder=3)
        return
    if cell["contested"]:
        axes.add_patch(
            Rectangle(
                (x - 0.5, y - 0.5),
                1,
                1,
                fill=False,
                hatch="////",
                edgecolor="#6B6B6B",
                linewidth=0,
                zorder=3,
            )
        )
    if letters_at is not None and cell["point_winner"] != cell["winner"]:
        corner = [(x + 0.5, y + 0.5), (x + 0.5, y + 0.05), (x + 0.2, y + 0.5)]
        axes.add_patch(
            Polygon(
                corner,
                facecolor=colours[cell["point_winner"]],
                edgecolor="white",
                linewidth=0.5,
                zorder=3,
            )
        )
    if letters_at is None:
        return
    share = cell["p_first"]
    text = shorts[cell["winner"]]
    if cell["draws"] > 1:
        text += f" {100 * share:.0f}"
    red, green, blue = shade(colours[cell["winner"]], share)
    dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.5  # noqa: PLR2004 - half as bright
    box = {"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.8}
    axes.text(
        x,
        y + letters_at,
        text,
        ha="center",
        va="center",
        color="white" if dark and not cell["contested"] else INK,
        bbox=box if cell["contested"] else None,
        zorder=7,
    )


def _outline(axes: Axes, cells: Sequence[Mapping[str, Any]]) -> None:
    """A line around the region that is out of the model's scope."""
    outside = {
        (cell["column"], cell["row"])
        for cell in cells
        if cell["status"] == RANKED and is_out_of_scope(cell)
    }
    inset = 0.07
    for x, y in outside:
        for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            if (x + dx, y + dy) in outside:
                continue
            along = 0.5 - inset
            if dx:
                xs, ys = [x + dx * along] * 2, [y - 0.5, y + 0.5]
            else:
                xs, ys = [x - 0.5, x + 0.5], [y + dy * along] * 2
            axes.plot(xs, ys, color=ALARM, linewidth=1.3, linestyle=(0, (4, 1.5)), zorder=6)


def _crossings(axes: Axes, crossings: Sequence[Mapping[str, Any]], across: int) -> None:
    """Where a winner changes along an edge, with its interval."""
    for crossing in crossings:
        row, column = _cell_of(crossing, across)
        places = np.array([crossing["place_low"], crossing["place_high"]])
        still = np.full(2, float(row if crossing["along"] == "column" else column))
        x, y = (places, still) if crossing["along"] == "column" else (still, places)
        axes.plot(x, y, color=INK, linewidth=3.0, alpha=0.35, solid_capstyle="butt", zorder=5)
        middle = (
            (crossing["place"], row)
            if crossing["along"] == "column"
            else (column, crossing["place"])
        )
        axes.plot(*middle, marker="o", markersize=2.4, color=INK, zorder=7)


def _cell_of(crossing: Mapping[str, Any], across: int) -> tuple[int, int]:
    """Row and column of the low cell of a crossing."""
    row, column = divmod(crossing["low_in_panel"], across)
    return row, column


def _busy(panel: Mapping[str, Any]) -> dict[tuple[int, int], list[float]]:
    """Heights above the middle of a cell, in rows, at which something else is drawn, by cell."""
    across = 1 + max(cell["column"] for cell in panel["cells"])
    points = [] if panel["own"] is None else [tuple(panel["own"])]
    for crossing in panel["crossings"]:
        row, column = _cell_of(crossing, across)
        along = crossing["along"] == "column"
        points.append((crossing["place"], row) if along else (column, crossing["place"]))
    busy: dict[tuple[int, int], list[float]] = {}
    for x, y in points:
        busy.setdefault((round(x), round(y)), []).append(y - round(y))
    return busy


def _beside(heights: Sequence[float]) -> float:
    """Where letters go: the middle, or the side of it that is free."""
    near = [height for height in heights if abs(height) < CLEAR]
    if not near:
        return 0.0
    return -ASIDE if sum(near) >= 0 else ASIDE


def _ticks(axes: Axes, side: str, axis: Mapping[str, Any] | None) -> None:
    """At most so many values of an axis, evenly chosen."""
    if axis is None:
        getattr(axes, f"set_{side}ticks")([])
        return
    values = axis["values"]
    step = -(-len(values) // MOST_TICKS)
    chosen = range(0, len(values), step)
    labels = [axis_value(axis, values[index]) for index in chosen]
    getattr(axes, f"set_{side}ticks")(list(chosen), labels)
