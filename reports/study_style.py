"""What the figures of the reproduction study share: colours, marks, words, axes."""

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reports.canvas import Setting, page
from reports.palette import NEUTRAL, PUBLISHED, colours_of

type Tables = Mapping[str, Any]

GRID = "#E3E3E3"
PALE = "#F0F0F0"

REFERENCE_OVERSUBSCRIPTION = 7.0
REFERENCE_RATE = 5e-3
MAP_SCALES = (16_384, 65_536)

COLOURS = colours_of(PUBLISHED)

DASHES = ("-", "--", ":", "-.", (0, (6, 1, 1, 1, 1, 1)))
MARKS = ("o", "s", "^", "D", "v")


def words(name: str) -> str:
    """An intervention or regime for a reader."""
    return name.replace("_", " ").replace(" 2x", " ×2").replace(" 4x", " ×4")


def study_page(rows: float, title: str, caption: str) -> Figure:
    """An empty figure of the study for so many rows, with its title and caption."""
    setting = Setting(caption=caption, caption_colour=NEUTRAL, colours=COLOURS, source="")
    return page(rows, title, setting)


def in_thousands(axes: Axes, axis: str = "x") -> None:
    """Count an axis in thousands."""
    getattr(axes, f"{axis}axis").set_major_formatter(lambda value, _: f"{value / 1000:,.0f}")


def scale_axis(axes: Axes, scales: Any) -> None:
    """An axis of accelerators, each twice the one before."""
    axes.set_xscale("log", base=2)
    axes.set_xticks(list(scales), [f"{scale // 1024:.0f}" for scale in scales])
    axes.minorticks_off()
    axes.set_xlabel("accelerators of the job (1,024s)")
