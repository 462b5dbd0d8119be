"""Figures of the memo at the size they are printed: no title, which the caption is, and few words.

The text stays text in the SVG, so that it can be searched, copied and read aloud.
"""

import io
import re
from collections.abc import Callable, Mapping
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from reports import findings, memo_figures, verdicts
from reports.canvas import STYLE, house_style
from reports.figures import draw_sea_rows, sea_limits
from reports.glyphs import Glyphs
from reports.palette import GRID, INK, NEUTRAL, colours_of
from reports.risk_figures import (
    cost_limits,
    draw_break_even_row,
    draw_curves,
    scale_costs,
)
from reports.voice import Voice, cut

WIDTH_IN = 6.93
"""Width of the text on A4 with margins of 17 mm."""

ROW_IN, AXIS_IN, HEAD_IN = 0.172, 0.36, 0.14
CURVES_IN = 1.75
FONT_PT = 7.8
LONGEST_NAME, LONGEST_IN_LEGEND = 30, 20

PRINT: Any = {
    **STYLE,
    "font.size": FONT_PT,
    "axes.labelsize": FONT_PT,
    "xtick.labelsize": FONT_PT,
    "ytick.labelsize": FONT_PT,
    "legend.fontsize": FONT_PT,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.width": 0.6,
    "figure.constrained_layout.h_pad": 0.02,
    "figure.constrained_layout.w_pad": 0.02,
    "svg.fonttype": "none",
    "svg.hashsalt": "fundworthy",
}


def draw(name: str, voice: Voice, summary: Mapping[str, Any]) -> str:
    """A figure of the memo as SVG; same summary, same text.

    Parameters
    ----------
    name
        One of the names that ``memo_figures`` gives its figures.
    voice
        Words of the axes.
    summary
        The run's summary; its first answer is drawn.
    """
    with house_style(), rc_context(PRINT):
        return _as_svg(DRAWINGS[name](voice, summary))


def _as_svg(figure: Figure) -> str:
    FigureCanvasSVG(figure)
    buffer = io.StringIO()
    # Neither the date nor the library's version is part of a figure.
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None, "Type": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    # Where DejaVu is not installed Verdana, of the same width, stands in for it.
    return re.sub(r"'DejaVu Sans'", "'DejaVu Sans', Verdana, sans-serif", text)


def _label(voice: Voice, option: str, longest: int = LONGEST_NAME) -> str:
    """An option beside its row, in characters that the font holds."""
    if option == findings.DO_NOTHING:
        return voice.text("figure.do_nothing")
    return Glyphs().shown(cut(option, longest))


def _rows(
    voice: Voice, options: list[Mapping[str, Any]], head: float = HEAD_IN
) -> tuple[Figure, Axes]:
    """An empty figure with a row an option."""
    height = ROW_IN * max(len(options), 1) + AXIS_IN + head
    figure = Figure(figsize=(WIDTH_IN, height))
    axes = figure.add_subplot()
    axes.set_yticks(range(len(options)), [_label(voice, one["option"]) for one in options])
    axes.set_ylim(len(options) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=GRID, linewidth=0.6)
    return figure, axes


def _beside(axes: Axes, row: float, words: str, **style: Any) -> None:
    """Words right of a row."""
    axes.annotate(words, (1.015, row), xycoords=("axes fraction", "data"), va="center", **style)


def _above(axes: Axes, words: str) -> None:
    """The head of what stands right of the rows."""
    axes.annotate(words, (1.015, 1.0), xycoords="axes fraction", va="bottom", color=NEUTRAL)


def _sea(voice: Voice, summary: Mapping[str, Any]) -> Figure:
    answer = summary["answers"][0]
    options = list(memo_figures.interval_rows(answer))
    figure, axes = _rows(voice, options)
    low, high = sea_limits(options)
    axes.set_xlim(low, high)
    axes.axvline(0.0, color=NEUTRAL, linewidth=0.8, zorder=0)
    draw_sea_rows(axes, options, _colours(summary), (low, high))
    for row, option in enumerate(options):
        _beside(axes, row, voice.notation.sea(option["sea"]["p50"]), **_weight(option, answer))
    _above(axes, voice.text("figure.half"))
    _amounts(axes, voice)
    axes.set_xlabel(voice.text("figure.sea_axis"), labelpad=1.5)
    return figure


def _shares(voice: Voice, summary: Mapping[str, Any]) -> Figure:
    answer = summary["answers"][0]
    options = list(memo_figures.share_rows(answer))
    compared = memo_figures.compared_with_priors(summary, answer)
    figure, axes = _rows(voice, options, head=0.04)
    colours, effective = _colours(summary), answer["effective_draws"]
    for row, option in enumerate(options):
        colour, share = colours[option["option"]], 100 * option["p_first"]
        before = option["p_first_prior"]
        axes.plot([0.0, share], [row, row], color=colour, linewidth=1.0, alpha=0.6)
        if compared and before is not None:
            axes.plot(
                100 * before, row, "o", markersize=7.0, markerfacecolor="white",
                markeredgecolor=colour, linestyle="none",
            )  # fmt: skip
        axes.errorbar(
            share, row, xerr=100 * option["p_first_mcse"], fmt="D", markersize=3.6,
            color=colour, ecolor=INK, elinewidth=1.0, capsize=2.0,
        )  # fmt: skip
        words = voice.notation.share_with_error(
            option["p_first"], option["p_first_mcse"], effective
        )
        _beside(axes, row, words, **_weight(option, answer))
    top = max(
        max(one["p_first"] + one["p_first_mcse"], one["p_first_prior"] or 0.0) for one in options
    )
    axes.set_xlim(-2.0 * top, 104.0 * top or 1.0)
    axes.set_xlabel(voice.text("figure.shares_axis"), labelpad=1.5)
    return figure


def _break_even(voice: Voice, summary: Mapping[str, Any]) -> Figure:
    answer = summary["answers"][0]
    economics = answer["economics"]
    options = list(memo_figures.interval_rows(answer))
    levels = list(economics["options"][0]["break_even"])
    figure, axes = _rows(voice, options)
    low, high = cost_limits(economics, levels)
    axes.set_xlim(low, high)
    axes.axvline(0.0, color=NEUTRAL, linewidth=0.8, zorder=0)
    colours = _colours(summary)
    for row, option in enumerate(options):
        one = verdicts.appraisal_of(economics, option["option"])
        draw_break_even_row(axes, row, one, colours[option["option"]], (low, high))
        pays = voice.notation.estimate(one["p_pays"]["value"], answer["effective_draws"])
        words = f"{voice.notation.amount(one['cost']['mean'])} · {pays}"
        _beside(axes, row, words, **_weight(option, answer))
    _above(axes, voice.text("figure.cost_head"))
    _amounts(axes, voice)
    axes.set_xlabel(voice.text("figure.break_even_axis"), labelpad=1.5)
    return figure


def _acceptability(voice: Voice, summary: Mapping[str, Any]) -> Figure:
    answer = summary["answers"][0]
    curves = answer["economics"]["curves"]
    figure = Figure(figsize=(WIDTH_IN, CURVES_IN))
    axes = figure.add_subplot()
    draw_curves(
        axes, answer, _colours(summary), curves["p_best"], scale=100.0,
        label=lambda option: _label(voice, option, LONGEST_IN_LEGEND),
    )  # fmt: skip
    axes.plot(
        curves["factors"],
        [100 * share for share in curves["frontier"]["p_best"]],
        color=INK,
        linewidth=3.2,
        alpha=0.3,
        label=voice.text("figure.frontier"),
        zorder=1,
    )
    axes.set_ylim(0.0, 1.04 * axes.get_ylim()[1])
    axes.set_ylabel(voice.text("figure.acceptability_share"))
    scale_costs(axes, curves["factors"])
    axes.grid(color=GRID, linewidth=0.6)
    axes.set_xlabel(voice.text("figure.acceptability_axis"), labelpad=1.5)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, borderaxespad=0.0)
    return figure


def _colours(summary: Mapping[str, Any]) -> Mapping[str, str]:
    return colours_of(one["option"] for answer in summary["answers"] for one in answer["options"])


def _weight(option: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, str]:
    """What is recommended, or chosen at its cost, stands out."""
    economics = verdicts.economics_of(answer)
    chosen = economics["decision"]["option"] if economics else answer["recommended"]
    return {"fontweight": "bold"} if option["option"] == chosen else {}


def _amounts(axes: Axes, voice: Voice) -> None:
    axes.xaxis.set_major_formatter(lambda value, _: voice.notation.amount(value))
    axes.locator_params(axis="x", nbins=7)


DRAWINGS: Mapping[str, Callable[[Voice, Mapping[str, Any]], Figure]] = {
    memo_figures.SEA: _sea,
    memo_figures.SHARES: _shares,
    memo_figures.BREAK_EVEN: _break_even,
    memo_figures.ACCEPTABILITY: _acceptability,
}
