"""A measured figure, and what a section of the benchmark is given to measure it with."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured figure.

    Parameters
    ----------
    name
        What was measured.
    value
        The median of the repeats.
    unit
        Its unit.
    limit
        The most it is claimed to be, or the least where ``at_least``; None where nothing is.
    at_least
        Whether the limit is a lower one.
    """

    name: str
    value: float
    unit: str
    limit: float | None = None
    at_least: bool = False

    @property
    def holds(self) -> bool | None:
        """Whether the claim holds, None where there is none."""
        if self.limit is None:
            return None
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    def __str__(self) -> str:
        """The figure in one line, with the claim and whether it holds."""
        text = f"{self.name:<40} {self.value:>12,.4g} {self.unit:<8}"
        if self.limit is None:
            return text.rstrip()
        bound = "at least" if self.at_least else "at most"
        verdict = "holds" if self.holds else "DOES NOT HOLD"
        return f"{text} {bound} {self.limit:,g}: {verdict}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Absent:
    """A figure that cannot be measured here, and why."""

    name: str
    reason: str

    @property
    def holds(self) -> None:
        """Nothing is claimed of what is not there."""
        return

    def __str__(self) -> str:
        """The figure in one line."""
        return f"{self.name:<40} {'—':>12} {self.reason}"


type Line = Figure | Absent


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What a section measures with.

    Parameters
    ----------
    folder
        An empty directory that is gone afterwards.
    rank_one
        Ranks one draw by the scalar implementation; None where the tests are not installed.
    """

    folder: Path
    rank_one: Callable[[Mapping[str, float]], object] | None = None
