"""The decision as pictures: break-even against cost, acceptability with its frontier, losses.

Drawn in the style of the memo's figures; only for a run with costs.
"""

from collections.abc import Callable, Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reports import findings, verdicts
from reports.canvas import (
    NOTATION,
    WIDTH_IN,
    Drawing,
    Setting,
    name_rows,
    page,
    row_count,
    short,
    styled,
)
from reports.palette import ALARM, GRID, INK, NEUTRAL

SHOWN = 0.05
"""An option has a curve of its own where it is the best choice in this share at some price."""

MOST_CURVES = 6
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", "-.", ":")
EVERY = 4
"""Points between two marks on a curve."""

MARK_OF_LEVEL = ("o", "s", "D")
CURVE_ROWS = 11.0

LEGEND_SHARE = 0.85
"""Share of the page's width that a legend may take: the rest is the axis' own labels."""

LEGEND_IN = 0.5
"""Height of a legend that a page has room for."""

NEAREST_TICKS = 0.12
"""Share of the axis that ticks are apart."""


@styled
def break_even(answer: Mapping[str, Any], setting: Setting) -> Figure:
    """Cost of each option against the costs up to which it pays with 50, 80 and 95%."""
    economics = answer["economics"]
    options = [one for one in answer["options"] if one["option"] != findings.DO_NOTHING]
    levels = list(economics["options"][0]["break_even"])
    shown = {"options": options}
    figure = page(row_count(shown) + 1.0, _break_even_title(answer), setting)
    axes = figure.add_subplot()
    name_rows(axes, shown)
    low, high = cost_limits(economics, levels)
    axes.set_xlim(low, high)
    axes.axvline(0.0, color=NEUTRAL, linewidth=0.8, zorder=0)
    axes.grid(axis="x", color=GRID, linewidth=0.6)
    for row, option in enumerate(options):
        one = verdicts.appraisal_of(economics, option["option"])
        draw_break_even_row(axes, row, one, setting.colours[option["option"]], (low, high))
        words = f"{NOTATION.amount(one['cost']['mean'])} · {_pays(one, answer)}"
        axes.annotate(words, (1.02, row), xycoords=("axes fraction", "data"), va="center")
    for level, mark in zip(levels, MARK_OF_LEVEL, strict=True):
        axes.plot([], [], mark, markersize=5.0, color=INK, mfc="white", label=f"pays in {level}")
    axes.plot([], [], "|", markersize=11.0, markeredgewidth=2.0, color=ALARM, label="its cost")
    # Anchored on the right: beside long names the axes are narrower than the legend.
    axes.legend(
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        ncols=4,
        columnspacing=1.2,
        handletextpad=0.4,
        frameon=False,
        borderaxespad=0.2,
    )
    axes.annotate("cost · pays", (1.02, 1.0), xycoords="axes fraction", va="bottom", color=NEUTRAL)
    axes.xaxis.set_major_formatter(lambda value, _: NOTATION.amount(value))
    axes.locator_params(axis="x", nbins=6)
    axes.set_xlabel(
        "cost in accelerators: it pays to the left of a mark with that probability\n"
        "(bar from 95% to 50%, arrow where it pays at any cost)"
    )
    return figure


def _pays(one: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    return NOTATION.estimate(one["p_pays"]["value"], answer["effective_draws"])


def _break_even_title(answer: Mapping[str, Any]) -> str:
    economics = answer["economics"]
    name = economics["decision"]["option"]
    if name == findings.DO_NOTHING:
        return "At its cost no option brings more than accelerators do"
    one = verdicts.appraisal_of(economics, name)
    pays = verdicts.share_in_words(one["p_pays"], answer, NOTATION)
    return f"{findings.named(name, NOTATION)} costs less than it is worth in {pays} of draws"


def cost_limits(economics: Mapping[str, Any], levels: list[str]) -> tuple[float, float]:
    """Limits of the axis: every finite break-even, every cost and zero, with room for arrows."""
    values = [0.0]
    for one in economics["options"]:
        values += [one["cost"]["mean"], one["cost"]["p90"]]
        found = (one["break_even"][level]["value"] for level in levels)
        values += [value for value in found if value is not None]
    low, high = min(values), max(values)
    width = (high - low) or 1.0
    return low - 0.04 * width, high + 0.08 * width


def draw_break_even_row(
    axes: Axes, row: int, one: Mapping[str, Any], colour: str, limits: tuple[float, float]
) -> None:
    """One option: costs up to which it pays as marks on a bar, its own cost as a stroke."""
    low, high = limits
    start, end = (edge + inward * 0.015 * (high - low) for edge, inward in ((low, 1), (high, -1)))
    places = []
    for quantile in one["break_even"].values():
        if quantile["value"] is not None:
            places.append(quantile["value"])
        else:
            places.append(end if quantile["status"] == "unattainable" else start)
    axes.plot([places[-1], places[0]], [row, row], color=colour, linewidth=5.0, alpha=0.45)
    for quantile, place, mark in zip(
        one["break_even"].values(), places, MARK_OF_LEVEL, strict=True
    ):
        if quantile["value"] is None:
            mark = ">" if quantile["status"] == "unattainable" else "<"  # noqa: PLW2901
        axes.plot(
            place,
            row,
            mark,
            markersize=5.0,
            markerfacecolor="white",
            markeredgecolor=colour,
            clip_on=False,
        )
    cost = one["cost"]
    if cost["p10"] != cost["p90"]:
        axes.plot([cost["p10"], cost["p90"]], [row, row], color=ALARM, linewidth=1.2)
    axes.plot(cost["mean"], row, "|", markersize=11.0, markeredgewidth=2.0, color=ALARM)


@styled
def acceptability(answer: Mapping[str, Any], setting: Setting) -> Figure:
    """Chance that each option is the best choice as all costs scale, and the frontier."""
    curves = answer["economics"]["curves"]
    figure = page(CURVE_ROWS, _acceptability_title(answer), setting)
    axes = figure.add_subplot()
    draw_curves(axes, answer, setting.colours, curves["p_best"], scale=100.0)
    frontier = curves["frontier"]
    axes.plot(
        curves["factors"],
        [100 * share for share in frontier["p_best"]],
        color=INK,
        linewidth=3.2,
        alpha=0.35,
        label="frontier",
        zorder=1,
    )
    axes.set_ylim(0.0, 104.0)
    axes.set_ylabel("best choice in (% of draws)")
    _finish_curves(figure, axes, curves["factors"], answer)
    return figure


def _acceptability_title(answer: Mapping[str, Any]) -> str:
    """Up to which price level the choice at today's costs stays the choice."""
    found = verdicts.price_switch(answer["economics"])
    label = findings.named(found.option, NOTATION)
    factor = NOTATION.amount(found.factor, 0.1, ratio=True)
    if found.beyond is None:
        return findings.opening(
            f"{label} stays the best expected choice at up to {factor} times the costs"
        )
    beyond = findings.named(found.beyond, NOTATION)
    return findings.opening(
        f"{label} stays the best expected choice up to {factor} times the costs, then {beyond}"
    )


@styled
def expected_loss(answer: Mapping[str, Any], setting: Setting) -> Figure:
    """Expected loss of choosing each option as all costs scale; the lowest is what to choose."""
    economics = answer["economics"]
    curves = economics["curves"]
    figure = page(CURVE_ROWS, _loss_title(answer), setting)
    axes = figure.add_subplot()
    draw_curves(axes, answer, setting.colours, curves["expected_loss"], scale=1.0)
    least = [
        min(values[k] for values in curves["expected_loss"].values() if values[k] is not None)
        for k in range(len(curves["factors"]))
    ]
    axes.plot(
        curves["factors"],
        least,
        color=INK,
        linewidth=3.2,
        alpha=0.35,
        label="least (worth of knowing)",
        zorder=1,
    )
    axes.set_ylim(bottom=0.0)
    axes.set_ylabel("productive accelerators lost")
    axes.yaxis.set_major_formatter(lambda value, _: NOTATION.amount(value))
    _finish_curves(figure, axes, curves["factors"], answer)
    return figure


def _loss_title(answer: Mapping[str, Any]) -> str:
    economics = answer["economics"]
    name = economics["decision"]["option"]
    one = verdicts.appraisal_of(economics, name)
    lost = verdicts.estimate(one["expected_loss"], NOTATION)
    return findings.opening(
        f"At these costs choosing {findings.named(name, NOTATION)} loses {lost} productive"
        " accelerators on average against the best choice of each draw"
    )


def draw_curves(
    axes: Axes,
    answer: Mapping[str, Any],
    colours: Mapping[str, str],
    curves: Mapping[str, list[float | None]],
    *,
    scale: float,
    label: Callable[[str], str] = short,
) -> None:
    """Curves of the options that matter somewhere, told apart by mark and dash as by colour."""
    factors = answer["economics"]["curves"]["factors"]
    for k, name in enumerate(_curved(answer)):
        values = [None if value is None else scale * value for value in curves[name]]
        axes.plot(
            factors,
            [float("nan") if value is None else value for value in values],
            linestyle=DASHES[k % len(DASHES)],
            linewidth=1.4,
            marker=MARKERS[k % len(MARKERS)],
            markersize=4.5,
            markevery=(k % EVERY, EVERY),
            markerfacecolor="white",
            color=colours[name],
            label=label(name),
        )


def _curved(answer: Mapping[str, Any]) -> list[str]:
    """Options with a curve: those that are the choice or often best at some price."""
    curves = answer["economics"]["curves"]
    peak = {
        name: max((value or 0.0) for value in values) for name, values in curves["p_best"].items()
    }
    chosen = {answer["economics"]["decision"]["option"], *curves["frontier"]["option"]}
    ordered = sorted(peak, key=lambda name: (name not in chosen, -peak[name], name))
    return [name for name in ordered if name in chosen or peak[name] >= SHOWN][:MOST_CURVES]


def _finish_curves(
    figure: Figure, axes: Axes, factors: list[float], answer: Mapping[str, Any]
) -> None:
    scale_costs(axes, factors)
    axes.grid(color=GRID, linewidth=0.6)
    economics = answer["economics"]
    budget = (
        f"budget {NOTATION.amount(economics['budget'])} accelerators throughout"
        if economics["stated_budget"]
        else "the budget is the largest cost and scales too"
    )
    axes.set_xlabel(f"all costs, times the stated ones (dashed)\n({budget})")
    _legend_above(figure, axes)


def scale_costs(axes: Axes, factors: list[float]) -> None:
    """An axis of cost factors, wide where they are small, with a mark at one."""
    axes.set_xscale("function", functions=(_root, _square))
    axes.set_xlim(0.0, max(factors))
    axes.set_xticks(_ticks(max(factors)))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.minorticks_off()
    axes.axvline(1.0, color=NEUTRAL, linewidth=0.9, linestyle=(0, (2, 2)), zorder=0)


def _legend_above(figure: Figure, axes: Axes) -> None:
    """A legend of as many columns as the names leave room for, and a page that holds it."""
    room = LEGEND_SHARE * WIDTH_IN * figure.dpi
    for columns in (3, 2, 1):
        legend = axes.legend(
            loc="lower left",
            bbox_to_anchor=(0.0, 1.0),
            ncols=columns,
            frameon=False,
            borderaxespad=0.4,
        )
        box = legend.get_window_extent()
        if box.width <= room:
            break
    figure.set_figheight(figure.get_figheight() + max(0.0, box.height / figure.dpi - LEGEND_IN))


def _ticks(most: float) -> list[float]:
    """Powers of two, as many as stand apart on the axis, one among them."""
    kept = [0.0, 1.0]
    for tick in (32.0, 16.0, 8.0, 4.0, 2.0, 0.5, 0.25, 0.125):
        apart = min(abs(tick**0.5 - other**0.5) for other in kept)
        if tick <= most and apart >= NEAREST_TICKS * most**0.5:
            kept.append(tick)
    return sorted(kept)


def _root(values: Any) -> Any:
    import numpy as np

    return np.sqrt(np.maximum(values, 0.0))


def _square(values: Any) -> Any:
    return values**2


RISK_FIGURES: Mapping[str, Drawing] = {
    "break_even": break_even,
    "acceptability": acceptability,
    "expected_loss": expected_loss,
}
