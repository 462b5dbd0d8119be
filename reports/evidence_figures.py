"""The evidence as a picture: every observation against what the model predicts for it."""

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from reports import evidence_checks
from reports.canvas import ALARM, INK, NEUTRAL, NOTATION, Setting, house_style, page
from reports.numbers import plain

GRID = "#E3E3E3"
MOST_ROWS = 32
"""Observations on one page: the planner's own and those that are not explained come first."""

NAME_LENGTH = 34

NEAR, FAR = 3.0, 300.0
"""Largest over least ratio of the axis, from which its ticks are powers of two, and of ten."""

MARKS = {
    "explained": ("D", "#0072B2", "as the model expects"),
    "edge": ("s", "#E69F00", "at the edge of what it explains"),
    "beyond": ("X", ALARM, "beyond what it can explain"),
}
"""Marker, colour and words of each status: told apart in greyscale by their form."""

NEAREST = 1.06
"""The axis reaches at least this factor either way, so that small misfits look small."""


def predictive_checks(summary: Mapping[str, Any], setting: Setting) -> Figure | None:
    """Observed over predicted, one row an observation; None where there is nothing to draw.

    Bars hold 90% of predictions, both over their median: one axis serves every unit.
    """
    records = shown(summary)
    if not records:
        return None
    with house_style():
        title = evidence_checks.check_lines(summary, NOTATION)[0]
        figure = page(1.25 * len(records) + 1.6, title.rstrip("."), setting)
        axes = figure.add_subplot()
        axes.set_xscale("log")
        axes.axvline(1.0, color=NEUTRAL, linewidth=0.8, zorder=0)
        axes.grid(axis="x", which="major", color=GRID, linewidth=0.6)
        values = [1.0 / NEAREST, NEAREST]
        for row, one in enumerate(records):
            low, seen, high = (one[key] / one["median"] for key in ("low", "observed", "high"))
            marker, colour, _ = MARKS[one["status"]]
            axes.barh(row, high - low, left=low, height=0.5, color=GRID, edgecolor=NEUTRAL)
            axes.plot(seen, row, marker, color=colour, markersize=5.0, zorder=3)
            values += [low, seen, high]
        low, high = min(values) / 1.04, max(values) * 1.04
        axes.set_xlim(low, high)
        axes.set_xticks([tick for tick in _ticks(high / low) if low <= tick <= high])
        axes.minorticks_off()
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.set_yticks(range(len(records)), [_label(one) for one in records])
        axes.set_ylim(len(records) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        for status, (marker, colour, words) in MARKS.items():
            if any(one["status"] == status for one in records):
                axes.plot([], [], marker, color=colour, markersize=5.0, label=f"measured: {words}")
        handles, _ = axes.get_legend_handles_labels()
        handles.append(Patch(facecolor=GRID, edgecolor=NEUTRAL, label="90% of predictions"))
        axes.legend(
            handles=handles,
            loc="lower left",
            bbox_to_anchor=(0.0, 1.0),
            ncols=2,
            frameon=False,
            borderaxespad=0.2,
        )
        axes.set_xlabel("measured over the model's middle prediction (logarithmic)", color=INK)
    return figure


def shown(summary: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Observations with a figure, at most a page of them, the planner's own first."""
    records = [
        one
        for one in evidence_checks.records_of(summary)
        if one["observed"] is not None and min(one["low"], one["observed"], one["median"]) > 0.0
    ]
    ranked = sorted(records, key=lambda one: (one["status"] == "explained", not one["own"]))
    chosen = {id(one) for one in ranked[:MOST_ROWS]}
    kept = [one for one in records if id(one) in chosen]
    return sorted(kept, key=lambda one: not one["own"])


def _ticks(span: float) -> list[float]:
    """Round ratios either way, fewer where the axis spans more."""
    if span > FAR:
        return [10.0**power for power in range(-12, 13)]
    if span > NEAR:
        return [0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0, 20.0]
    return [0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 1.75, 2.0]


def _label(one: Mapping[str, Any]) -> str:
    """Name of the row: whose, which, and what of it."""
    return f"{_cut(one['id'])}\n{'your ' if one['own'] else ''}{one['quantity']}"


def _cut(name: str) -> str:
    line = plain(name)
    return line if len(line) <= NAME_LENGTH else f"{line[: NAME_LENGTH - 1]}…"
