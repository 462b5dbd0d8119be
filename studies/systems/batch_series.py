"""One job at several batch sizes: a fixed cost and a cost a microbatch, measured and modelled."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from model.step import microbatches
from priors.catalogue import Catalogue
from studies.systems.cases import Case
from studies.systems.evaluation import DRAWS, SEED, setup_of
from studies.systems.posterior import condition, foretell

FEWEST = 3
"""Batch sizes of a series: two would be any line."""

EXPLAINED_WITHIN = 0.03


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """seconds = fixed + each · microbatches, by least squares."""

    fixed_s: float
    each_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """A series and what a form makes of it when it is fitted to the series alone.

    Parameters
    ----------
    system
        Of the rows.
    names
        Of the rows, by batch size.
    microbatches, measured_s, modelled_s
        One a row.
    measured, modelled
        Their lines.
    """

    form: str
    system: str
    names: tuple[str, ...]
    microbatches: tuple[float, ...]
    measured_s: tuple[float, ...]
    modelled_s: tuple[float, ...]
    measured: Line
    modelled: Line

    @property
    def errors(self) -> tuple[float, ...]:
        """Modelled over measured, minus one."""
        pairs = zip(self.modelled_s, self.measured_s, strict=True)
        return tuple(modelled / measured - 1.0 for modelled, measured in pairs)

    @property
    def is_explained(self) -> bool:
        """Whether every batch size is within the tolerance."""
        return max(map(abs, self.errors)) <= EXPLAINED_WITHIN


def find_series(cases: Sequence[Case]) -> list[list[Case]]:
    """Rows that differ in their batch alone, by batch size."""
    found: dict[tuple[object, ...], list[Case]] = {}
    for case in cases:
        numbers = {
            name: value
            for name, value in case.row.numbers.items()
            if name not in ("global_batch_seqs", "seconds_per_step", "reported")
        }
        key = (case.group, case.row.texts.get("recompute"), *sorted(numbers.items()))
        found.setdefault(key, []).append(case)
    return [
        sorted(series, key=lambda case: case.row.numbers["global_batch_seqs"])
        for series in found.values()
        if len({case.row.numbers["global_batch_seqs"] for case in series}) >= FEWEST
    ]


def explain(
    series: Sequence[Case], catalogue: Catalogue, *, form: str, refinements: Sequence[str]
) -> Series:
    """Fit a form to a series alone: one kernel efficiency and the unknowns of one system."""
    setup = setup_of(series, catalogue, refinements)
    [posterior] = condition(setup, [frozenset()])
    found = foretell(posterior, series[0].group, draws=DRAWS, seed=SEED)
    modelled = np.exp(np.median(found.log_seconds, axis=0))
    measured = np.array([case.seconds for case in series])
    counts = np.array([float(microbatches(case.scenario)) for case in series])
    return Series(
        form=form,
        system=series[0].group,
        names=tuple(case.row.name for case in series),
        microbatches=tuple(counts.tolist()),
        measured_s=tuple(measured.tolist()),
        modelled_s=tuple(modelled.tolist()),
        measured=line_through(counts, measured),
        modelled=line_through(counts, modelled),
    )


def line_through(counts: np.ndarray, seconds: np.ndarray) -> Line:
    """Least squares line of seconds against microbatches."""
    each, fixed = np.polyfit(counts, seconds, 1)
    return Line(fixed_s=float(fixed), each_s=float(each))
