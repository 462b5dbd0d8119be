"""A decision map as a picture: who ranks first by colour, how surely by saturation.

What colour tells, letters tell too; contested cells are hatched, the region out of the model's
scope is outlined, and lines with a band show where one winner gives way to another.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from reports.canvas import DPI, Setting, house_style, page
from reports.map_panel import draw_panel, lettered, shade
from reports.map_words import (
    RANKED,
    alarm,
    axis_label,
    basis,
    caveat,
    headline,
    is_out_of_scope,
    short_names,
    winners_of,
    words,
)
from reports.palette import ALARM, INK, NEUTRAL, colours_of

PANELS_ACROSS, PANELS_OF_FIGURE = 2, 6
LEGEND_COLUMNS = 3
GAP = 0.75
"""Rows between names beside the figure that would overlap."""


def write_map_figures(content: Mapping[str, Any], directory: Path) -> list[Path]:
    """Write the figures of a map as PNG; same map, same bytes.

    Parameters
    ----------
    content
        The map's summary.
    directory
        Where to; created where it is missing.
    """
    directory.mkdir(parents=True, exist_ok=True)
    paths = []
    for number, figure in enumerate(draw_map(content)):
        path = directory / ("map.png" if number == 0 else f"map-{number + 1}.png")
        with house_style():
            figure.savefig(path, dpi=DPI, metadata={"Software": None})
        paths.append(path)
    return paths


def draw_map(content: Mapping[str, Any]) -> list[Figure]:
    """Figures of a map, at most six panels each."""
    panels = content["panels"]
    with house_style():
        return [
            _draw(content, panels[start : start + PANELS_OF_FIGURE])
            for start in range(0, len(panels), PANELS_OF_FIGURE)
        ]


def _draw(content: Mapping[str, Any], panels: Sequence[Mapping[str, Any]]) -> Figure:
    options = content["question"]["options"]
    colours, shorts = colours_of(options), short_names(options)
    down = len(content["rows"]["values"]) if content["rows"] else 1
    across = min(PANELS_ACROSS, len(panels))
    lines = -(-len(panels) // across)
    height = min(max(down, 3), 24) * 0.92
    warning = alarm(content)
    caption = (
        f"{warning + '. ' if warning else ''}{basis(content)}. {caveat(content)}. Colour and "
        "letters: who ranks first in most draws; number: its share (%), the paler the smaller. "
        "Hatched: too close to call. Outlined: out of the model's scope in most draws. Lines: "
        "where the winner changes, with the 95% interval of simulation error."
    )
    if any(panel["measured"] for panel in panels):
        caption += " Arrows: measured rates of job interruptions."
    setting = Setting(
        caption=caption,
        caption_colour=ALARM if warning else NEUTRAL,
        colours=colours,
        source="",
    )
    handles = _handles(content, panels, colours, shorts)
    legend_rows = -(-len(handles) // LEGEND_COLUMNS) * 0.62
    figure = page(lines * (height + 2.0) + legend_rows + 1.6, headline(content), setting)
    layout = figure.add_gridspec(
        lines + 1, across, height_ratios=[legend_rows, *[height + 1.0] * lines]
    )
    top = figure.add_subplot(layout[0, :])
    top.set_axis_off()
    top.legend(
        handles=handles,
        loc="center left",
        ncols=LEGEND_COLUMNS,
        frameon=False,
        handlelength=1.4,
        columnspacing=1.2,
        borderaxespad=0.0,
    )
    grid = (
        layout[1:, :].subgridspec(lines, across).subplots(sharex=True, sharey=True, squeeze=False)
    )
    for index, axes in enumerate(grid.flat):
        if index >= len(panels):
            axes.set_visible(False)
            continue
        draw_panel(axes, content, panels[index], colours, shorts)
        if index % across == 0:
            axes.set_ylabel(axis_label(content["rows"]))
        if index + across >= len(panels):
            axes.tick_params(labelbottom=True)
            axes.set_xlabel(axis_label(content["columns"]))
    last = grid.flat[min(across, len(panels)) - 1]
    _measured(last, panels[min(across, len(panels)) - 1]["measured"])
    return figure


def _measured(axes: Axes, marks: Sequence[Mapping[str, Any]]) -> None:
    """Measured rates beside the axis they lie on, names moved apart."""
    below = -10.0
    for mark in sorted(marks, key=lambda mark: mark["place"]):
        if mark["along"] != "row":
            continue
        text_at = max(mark["place"], below + GAP)
        below = text_at
        axes.annotate(
            mark["name"].replace("_", " "),
            xy=(1.0, mark["place"]),
            xytext=(1.09, text_at),
            xycoords=("axes fraction", "data"),
            textcoords=("axes fraction", "data"),
            va="center",
            color=INK,
            annotation_clip=False,
            arrowprops={"arrowstyle": "-|>", "color": INK, "linewidth": 0.6, "shrinkB": 1},
        )


def _handles(
    content: Mapping[str, Any],
    panels: Sequence[Mapping[str, Any]],
    colours: Mapping[str, str],
    shorts: Mapping[str, str],
) -> list[Any]:
    """What the legend explains, each only where it occurs."""
    winners = [name for name, _ in winners_of(content)]
    cells = [cell for panel in panels for cell in panel["cells"]]
    handles: list[Any] = [
        Patch(facecolor=shade(colours[name], 0.9), label=f"{shorts[name]}  {words(name)}")
        for name in winners
    ]
    ranked = [cell for cell in cells if cell["status"] == RANKED]
    if any(cell["contested"] for cell in ranked):
        handles.append(
            Patch(facecolor="white", hatch="////", edgecolor="#6B6B6B", label="too close to call")
        )
    if any(is_out_of_scope(cell) for cell in ranked):
        handles.append(Line2D([], [], color=ALARM, linestyle=(0, (4, 1.5)), label="out of scope"))
    if lettered(content) and any(cell["point_winner"] != cell["winner"] for cell in ranked):
        handles.append(
            Line2D(
                [],
                [],
                linestyle="none",
                marker=(3, 0, 15),
                color=NEUTRAL,
                label="corner: another winner at point values",
            )
        )
    if any(panel["own"] is not None for panel in panels):
        handles.append(
            Line2D(
                [], [], linestyle="none", marker="*", markersize=9, color=INK, label="as described"
            )
        )
    if len(ranked) < len(cells):
        handles.append(
            Line2D([], [], linestyle="none", marker="x", color=NEUTRAL, label="impossible")
        )
    return handles
