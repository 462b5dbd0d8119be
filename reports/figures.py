"""The answer as pictures: one function a figure, an answer in, a Matplotlib figure out.

Every figure is drawn for print at full text width, says its finding in the title and its regime
below, and uses one colour an option throughout. Nothing global is changed.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reports import findings
from reports.canvas import (
    DPI,
    FATE_FILL,
    NOTATION,
    Drawing,
    Setting,
    house_style,
    name_rows,
    page,
    row_count,
    setting_of,
    short,
    styled,
)
from reports.evidence_figures import predictive_checks
from reports.numbers import spelt, spread_error
from reports.palette import GRID, INK, NEUTRAL
from reports.risk_figures import RISK_FIGURES

BLANK_BELOW = 0.5
"""Percent of draws below which a cell of the ranks is left blank."""

DARK = 55.0
"""Percent of draws from which a cell is so dark that its figure is white."""


@styled
def sea_intervals(answer: Mapping[str, Any], setting: Setting) -> Figure:
    """Break-even of each option: bar from P10 to P90, mark at P50, arrow where unattainable."""
    figure = page(row_count(answer) + 0.6, _sea_title(answer), setting)
    axes = figure.add_subplot()
    name_rows(axes, answer)
    low, high = sea_limits(answer["options"])
    axes.set_xlim(low, high)
    axes.axvline(0.0, color=NEUTRAL, linewidth=0.8, zorder=0)
    axes.grid(axis="x", color=GRID, linewidth=0.6)
    draw_sea_rows(axes, answer["options"], setting.colours, (low, high))
    for row, option in enumerate(answer["options"]):
        words = _sea_words(option)
        axes.annotate(words, (1.02, row), xycoords=("axes fraction", "data"), va="center")
    axes.set_xlabel(
        "SEA: worth funding up to the price of this many accelerators\n(bar P10–P90, ◇ P50)"
    )
    axes.xaxis.set_major_formatter(lambda value, _: NOTATION.amount(value))
    axes.locator_params(axis="x", nbins=6)
    axes.annotate("P50", (1.02, 1.0), xycoords="axes fraction", va="bottom", color=NEUTRAL)
    return figure


def _sea_title(answer: Mapping[str, Any]) -> str:
    chosen = findings.option_of(answer, answer["recommended"])
    if chosen["option"] == findings.DO_NOTHING:
        return "No option on the list is worth funding"
    return findings.price_ceiling(chosen, NOTATION).rstrip(".")


def sea_limits(options: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    """Limits of the axis: all finite break-evens and zero, with room for arrows."""
    finite = [0.0]
    for option in options:
        finite += [q["value"] for q in option["sea"].values() if q["value"] is not None]
    low, high = min(finite), max(finite)
    width = (high - low) or 1.0
    if high <= 0:
        high = 0.25 * width
    return low - 0.04 * width, high + 0.12 * width


def draw_sea_rows(
    axes: Axes,
    options: Sequence[Mapping[str, Any]],
    colours: Mapping[str, str],
    limits: tuple[float, float],
) -> None:
    """Break-evens of options, a row each."""
    for row, option in enumerate(options):
        _sea_row(axes, row, option, colours[option["option"]], limits)


def _sea_row(
    axes: Axes, row: int, option: Mapping[str, Any], colour: str, limits: tuple[float, float]
) -> None:
    """One option: what is attainable as bar and mark, the rest as an arrow off the axis."""

    def at(quantile: Mapping[str, Any]) -> float:
        if quantile["value"] is not None:
            return float(quantile["value"])
        return limits[1] if quantile["status"] == "unattainable" else limits[0]

    p10, p50, p90 = (option["sea"][key] for key in ("p10", "p50", "p90"))
    start, end = at(p10), at(p90)
    upward = p90["status"] == "unattainable"
    if upward:
        # Drawn short of the axis' end, where the arrow's head stands.
        end = limits[1] - 0.03 * (limits[1] - limits[0])
        start = min(start, end - 0.05 * (limits[1] - limits[0]))
        axes.plot(
            limits[1] - 0.015 * (limits[1] - limits[0]),
            row,
            marker=">",
            markersize=6,
            markerfacecolor="white",
            markeredgecolor=colour,
            clip_on=False,
            linestyle="none",
        )
    if p10["status"] == "unattainable":
        axes.plot([start, end], [row, row], color=colour, linewidth=1.2, linestyle=":")
    else:
        axes.barh(row, end - start, left=start, height=0.46, color=colour, alpha=0.55)
    if p50["value"] is not None:
        axes.plot(
            p50["value"],
            row,
            marker="D",
            markersize=4.5,
            markerfacecolor="white",
            markeredgecolor=INK,
            linestyle="none",
        )


def _sea_words(option: Mapping[str, Any]) -> str:
    if option["option"] == findings.DO_NOTHING:
        return "0"
    middle = option["sea"]["p50"]
    if middle["status"] == "unattainable":
        return "cannot be bought"
    return NOTATION.sea(middle)


@styled
def shares_first(answer: Mapping[str, Any], setting: Setting) -> Figure:
    """Share ranked first: what the priors said against what the draws say, ± simulation error."""
    figure = page(row_count(answer) + 0.6, _share_title(answer), setting)
    axes = figure.add_subplot()
    name_rows(axes, answer)
    effective = answer["effective_draws"]
    compared = bool(setting.source) and any(
        option["p_first_prior"] is not None for option in answer["options"]
    )
    for row, option in enumerate(answer["options"]):
        colour = setting.colours[option["option"]]
        share, before = 100 * option["p_first"], option["p_first_prior"]
        if compared and before is not None:
            axes.plot([100 * before, share], [row, row], color=colour, linewidth=2.2, alpha=0.5)
            axes.plot(
                100 * before,
                row,
                marker="o",
                markersize=8.0,
                markerfacecolor="white",
                markeredgecolor=colour,
                linestyle="none",
            )
        axes.errorbar(
            share,
            row,
            xerr=100 * option["p_first_mcse"],
            fmt="D",
            markersize=4.0,
            color=colour,
            ecolor=INK,
            elinewidth=1.0,
            capsize=2.5,
        )
        text = NOTATION.share_with_error(option["p_first"], option["p_first_mcse"], effective)
        axes.annotate(text, (1.02, row), xycoords=("axes fraction", "data"), va="center")
    axes.grid(axis="x", color=GRID, linewidth=0.6)
    top = max(
        max(option["p_first"] + option["p_first_mcse"], option["p_first_prior"] or 0.0)
        for option in answer["options"]
    )
    axes.set_xlim(-3.0 * top, 106.0 * top)
    axes.set_xlabel("share of draws in which it ranks first (%)")
    _share_legend(axes, setting, compared=compared)
    return figure


def _share_legend(axes: Axes, setting: Setting, *, compared: bool) -> None:
    source = setting.source or "priors"
    axes.plot([], [], "D", markersize=4.0, color=INK, label=f"{source}, ± simulation error")
    if compared:
        axes.plot(
            [], [], "o", markersize=8.0, markerfacecolor="white", color=INK, label="priors alone"
        )
    axes.legend(
        loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, frameon=False, borderaxespad=0.2
    )


def _share_title(answer: Mapping[str, Any]) -> str:
    leader = answer["leader"]
    title = (
        f"{findings.named(leader, NOTATION)} ranks first in"
        f" {findings.first_place(answer, leader, NOTATION)} of draws"
    )
    if len(answer["options"]) > 1:
        second = answer["options"][1]["option"]
        title += (
            f", {findings.named(second, NOTATION)} in"
            f" {findings.first_place(answer, second, NOTATION)}"
        )
    return findings.opening(title)


@styled
def rank_distribution(answer: Mapping[str, Any], setting: Setting) -> Figure:
    """Share of draws in which each option holds each rank."""
    options = answer["options"]
    shares = [[100 * share for share in option["ranks"]] for option in options]
    figure = page(row_count(answer) + 0.3, _rank_title(answer), setting)
    axes = figure.add_subplot()
    axes.pcolormesh(shares, cmap="Blues", vmin=0.0, vmax=100.0, edgecolors="white", linewidth=0.6)
    for row, cells in enumerate(shares):
        for rank, share in enumerate(cells):
            words = "" if share < BLANK_BELOW else f"{share:.0f}"
            colour = "white" if share > DARK else INK
            axes.text(rank + 0.5, row + 0.5, words, ha="center", va="center", color=colour)
    middles = [k + 0.5 for k in range(len(shares[0]))]
    axes.set_xticks(middles, [str(k + 1) for k in range(len(middles))])
    names = [short(option["option"]) for option in options]
    axes.set_yticks([k + 0.5 for k in range(len(options))], names)
    axes.set_ylim(len(options), 0)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    axes.set_xlabel(
        "rank, 1 is best (cells: % of draws,\nties spread evenly, below 0.5% left blank)"
    )
    return figure


def _rank_title(answer: Mapping[str, Any]) -> str:
    effective, parts = answer["effective_draws"], []
    for name in dict.fromkeys((answer["leader"], answer["recommended"])):
        first, second = (
            spelt(NOTATION.estimate(share, effective))
            for share in findings.option_of(answer, name)["ranks"][:2]
        )
        label = findings.named(name, NOTATION)
        parts.append(f"{label} ranks first in {first} of draws, second in {second}")
    return findings.opening("; ".join(parts))


@styled
def four_fates(answer: Mapping[str, Any], setting: Setting) -> Figure:
    """What an accelerator-second becomes: mean shares stacked, P10 to P90 of each below."""
    baseline, effective = answer["baseline"], answer["effective_draws"]
    fates = baseline["fates"]
    figure = page(5.0, _fates_title(answer), setting)
    stack, spreads = figure.subplots(2, 1, sharex=True, height_ratios=(1.0, 3.2))
    left = 0.0
    for row, (fate, spread) in enumerate(fates.items()):
        fill, hatch = FATE_FILL[fate]
        style = {"color": fill, "hatch": hatch, "edgecolor": INK, "linewidth": 0.6}
        stack.barh(0, 100 * spread["mean"], left=left, height=0.8, **style)
        left += 100 * spread["mean"]
        low, high = 100 * spread["p10"], 100 * spread["p90"]
        spreads.barh(row, high - low, left=low, height=0.5, **style)
        spreads.plot(100 * spread["mean"], row, "D", markersize=4.5, color=INK)
        own = 100 * baseline["point"]["fates"][fate]
        spreads.plot(own, row, "o", markersize=6.5, markerfacecolor="none", color=INK)
        error = spread_error(spread, effective)
        mean, start, end = (
            NOTATION.share(spread[key], error, effective) for key in ("mean", "p10", "p90")
        )
        spreads.annotate(
            f"{mean} ({start} to {end})",
            (1.02, row),
            xycoords=("axes fraction", "data"),
            va="center",
        )
    stack.set_yticks([0], ["mean"])
    spreads.set_yticks(range(len(fates)), list(fates))
    spreads.set_ylim(len(fates) - 0.5, -0.5)
    for axes in (stack, spreads):
        axes.tick_params(axis="y", length=0)
        axes.set_xlim(0.0, 100.0)
    stack.tick_params(axis="x", length=0)
    spreads.grid(axis="x", color=GRID, linewidth=0.6)
    spreads.set_xlabel(
        "share of accelerator-time (%): bar P10–P90, ◆ mean, ○ at the scenario's own values"
    )
    return figure


def _fates_title(answer: Mapping[str, Any]) -> str:
    fates, effective = answer["baseline"]["fates"], answer["effective_draws"]
    losses = [fate for fate in fates if fate != "productive"]
    largest = max(losses, key=lambda fate: fates[fate]["mean"])

    def share(fate: str) -> str:
        return NOTATION.share(fates[fate]["mean"], spread_error(fates[fate], effective), effective)

    return (
        f"{share('productive')} of accelerator-time ends up in the trained model;"
        f" the largest loss is {largest}: {share(largest)}"
    )


FIGURES: Mapping[str, Drawing] = {
    "sea_intervals": sea_intervals,
    "shares_first": shares_first,
    "rank_distribution": rank_distribution,
    "four_fates": four_fates,
}


def write_figures(summary: Mapping[str, Any], directory: Path) -> list[Path]:
    """Write the figures of a run's first answer as PNG; same summary, same bytes.

    Parameters
    ----------
    summary
        The run's summary.
    directory
        Where to; created where it is missing.

    Returns
    -------
    list of Path
        The files written.
    """
    answer = summary["answers"][0]
    setting = setting_of(summary, answer)
    directory.mkdir(parents=True, exist_ok=True)
    paths = []
    drawings = {**FIGURES, **(RISK_FIGURES if "economics" in answer else {})}
    figures = {name: draw(answer, setting) for name, draw in drawings.items()}
    if (checks := predictive_checks(summary, setting)) is not None:
        figures["predictive_checks"] = checks
    for name, figure in figures.items():
        path = directory / f"{name}.png"
        with house_style():
            # The library's version would otherwise stand in the file.
            figure.savefig(path, dpi=DPI, metadata={"Software": None})
        paths.append(path)
    return paths
