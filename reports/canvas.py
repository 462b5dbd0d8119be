"""What all figures share: style, colours, labels, the empty page."""

import textwrap
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any

from matplotlib import rc_context, rcdefaults, rcParams
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from reports import findings
from reports.glyphs import Glyphs
from reports.numbers import Notation, plain
from reports.palette import ALARM, INK, NEUTRAL, PALETTE, colours_of

__all__ = [
    "ALARM",
    "DPI",
    "FATE_FILL",
    "INK",
    "NEUTRAL",
    "NOTATION",
    "PALETTE",
    "STYLE",
    "WIDTH_IN",
    "Drawing",
    "Setting",
    "brief",
    "house_style",
    "name_rows",
    "page",
    "row_count",
    "setting_of",
    "short",
    "styled",
]

WIDTH_IN = 6.3
ROW_IN = 0.27
FRAME_IN = 1.35
"""Height that title, axis and caption take beside the rows."""

DPI = 200
TWO_LINES = 1.3
NAME_COLUMNS = 24
NAME_LINES = 2
TITLE_COLUMNS, CAPTION_COLUMNS, FEWEST_COLUMNS = 80, 104, 24
MARGIN = 0.01

STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 8.0,
    "axes.labelsize": 8.0,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "legend.fontsize": 8.0,
    "figure.titlesize": 9.5,
    "figure.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.unicode_minus": True,
    "text.usetex": False,
    "text.parse_math": False,
    "figure.constrained_layout.use": True,
    "savefig.bbox": None,
    "path.simplify": True,
    "hatch.linewidth": 0.6,
}

FATE_FILL = {
    "productive": ("#08519C", ""),
    "blocked": ("#6BAED6", "///"),
    "discarded": ("#FDB863", "..."),
    "unavailable": ("#F0F0F0", ""),
}
"""Darkest to lightest, so that they stay apart in greyscale."""

LONGEST_NAME = 40


def brief(name: str) -> str:
    """A name for a title."""
    line = Glyphs().shown(plain(name))
    return line if len(line) <= LONGEST_NAME else f"{line[: LONGEST_NAME - 1].rstrip()}…"


NOTATION = Notation(name=brief)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What all figures of an answer share.

    Parameters
    ----------
    caption, caption_colour
        Scenario, size and regime: a value without its regime means nothing.
    colours
        Colour of each option.
    source
        What the draws are called where they stand against the priors; empty where they are the
        priors.
    """

    caption: str
    caption_colour: str
    colours: Mapping[str, str]
    source: str


def setting_of(summary: Mapping[str, Any], answer: Mapping[str, Any]) -> Setting:
    """Caption, colours and labels of the figures of one answer of a run.

    An option keeps its colour in every regime, figure and run.
    """
    question, baseline = summary["question"], answer["baseline"]
    names = (option["option"] for one in summary["answers"] for option in one["options"])
    colours = colours_of(names)
    caption = (
        f"{brief(question['scenario'])}, {NOTATION.amount(baseline['accelerators'])} accelerators,"
        f" regime {findings.regime_name(answer, NOTATION)},"
        f" {NOTATION.amount(question['draws'])} draws"
        f" {findings.source_of_draws(question, NOTATION)}"
    )
    alarm = bool(findings.unconverged(summary, NOTATION))
    if alarm:
        caption = f"NOT CONVERGED: do not act on this. {caption}"
    sources = {"posterior": "posterior", "prior": ""}
    return Setting(
        caption=caption,
        caption_colour=ALARM if alarm else NEUTRAL,
        colours=colours,
        source=sources.get(question["source"], "draws from the file"),
    )


Drawing = Callable[[Mapping[str, Any], Setting], Figure]


@contextmanager
def house_style() -> Iterator[None]:
    """Draw under the house style, whatever the user's own settings."""
    with rc_context(), warnings.catch_warnings():
        rcdefaults()
        rcParams.update(STYLE)
        yield


def styled(draw: Drawing) -> Drawing:
    """Let a figure be drawn under the house style."""

    @wraps(draw)
    def drawn(answer: Mapping[str, Any], setting: Setting) -> Figure:
        with house_style():
            return draw(answer, setting)

    return drawn


def page(rows: float, title: str, setting: Setting) -> Figure:
    """An empty figure for so many rows, with its title and caption."""
    figure = Figure(figsize=(WIDTH_IN, FRAME_IN + ROW_IN * rows))
    FigureCanvasAgg(figure)
    heading = figure.suptitle("", x=MARGIN, ha="left", color=INK)
    caption = figure.supxlabel("", x=MARGIN, ha="left", fontsize=8.0, color=setting.caption_colour)
    room = (1.0 - 2 * MARGIN) * WIDTH_IN * figure.dpi
    _wrap(heading, title, TITLE_COLUMNS, room)
    _wrap(caption, setting.caption, CAPTION_COLUMNS, room)
    return figure


def _wrap(text: Text, words: str, columns: int, room: float) -> None:
    """Break words into lines that fit `room` pixels, however wide their letters are."""
    text.set_text(textwrap.fill(words, columns))
    while columns > FEWEST_COLUMNS and text.get_window_extent().width > room:
        columns -= 8
        text.set_text(textwrap.fill(words, columns))


def short(name: str) -> str:
    """A name on at most two lines, cut with an ellipsis."""
    lines = textwrap.wrap(Glyphs().shown(plain(name)), NAME_COLUMNS) or [""]
    if len(lines) > NAME_LINES:
        kept = lines[NAME_LINES - 1]
        lines = [*lines[: NAME_LINES - 1], f"{kept[: NAME_COLUMNS - 1]}…"]
    return "\n".join(lines)


def name_rows(axes: Axes, answer: Mapping[str, Any]) -> None:
    """One row an option, best on top."""
    options = answer["options"]
    axes.set_yticks(range(len(options)), [short(option["option"]) for option in options])
    axes.set_ylim(len(options) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)


def row_count(answer: Mapping[str, Any]) -> float:
    """Height of the rows, in rows of one line: all are as high as the longest name needs."""
    names = [short(option["option"]) for option in answer["options"]]
    return len(names) * (TWO_LINES if any("\n" in name for name in names) else 1.0)
