"""One colour an option, the same in every figure, page and run."""

from collections.abc import Iterable, Mapping

PALETTE = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#8C510A",
    "#E69F00",
    "#5E3C99",
    "#01665E",
    "#B2182B",
)
"""Okabe and Ito's colours, then darker ones: told apart by the colour-blind. Wherever a colour
stands, the option's name stands too, so that nothing depends on colour."""

ON_DARK = (
    "#4AA8E0",
    "#F08A3C",
    "#2FC797",
    "#E39AC3",
    "#7CC8F2",
    "#C99055",
    "#F0B840",
    "#A68BD9",
    "#4FB3A9",
    "#F07A88",
)
"""The same colours, lighter, for a dark background."""

NEUTRAL = "#767676"
INK = "#222222"
ALARM = "#B2182B"
GRID = "#E3E3E3"

DO_NOTHING = "do_nothing"

PUBLISHED = (
    "add_spares",
    "bandwidth_2x",
    "bandwidth_4x",
    "fast_checkpoint",
    "fast_detection",
    "fast_restart",
    "flat_fabric",
    "reliability_2x",
    "scaleup_2x",
    "straggler_control",
)
"""The interventions that ship: each keeps its colour whatever it is ranked against."""


def colours_of(options: Iterable[str]) -> Mapping[str, str]:
    """The colour of each option.

    Interventions that ship have their own. Others take, in the order of their names, the colours
    that are left, then all colours again; doing nothing is grey.
    """
    names = sorted(set(options) - {DO_NOTHING})
    own = dict(zip(PUBLISHED, PALETTE, strict=True))
    shipped = {name: own[name] for name in names if name in own}
    free = [colour for colour in PALETTE if colour not in shipped.values()] or list(PALETTE)
    others = [name for name in names if name not in own]
    cycle = [*free, *PALETTE]
    chosen = {
        name: cycle[i] if i < len(cycle) else PALETTE[(i - len(cycle)) % len(PALETTE)]
        for i, name in enumerate(others)
    }
    return {**shipped, **chosen, DO_NOTHING: NEUTRAL}
