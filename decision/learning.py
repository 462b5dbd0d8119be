"""What a decision gains from knowing more: every parameter, groups of them, studies on offer.

Shapes: n draws, K admissible options. All in the one utility, productive accelerators over the
decision horizon.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from decision.planned_studies import PlannedStudy
from decision.precision import Layout
from decision.smoothing import bases_of, one_thread, smooth
from decision.study_data import Target, measured_paths, quantities, simulate
from decision.value_of_information import (
    Information,
    increments,
    nested_information,
    outer_points,
    partial_information,
    perfect_information,
    prior_size,
    shrunk_information,
)
from priors.touched import RECOVERY_PATHS, STEP_PATHS

OUTER_ROWS = 200
"""Outer draws of a nested estimate for a group of parameters."""

NEAR_BEST = 0.95
"""Sizes of a study whose net benefit reaches this share of the best are as good."""


class Dependence(Protocol):
    """Redraws of some parameters as they depend on others."""

    @property
    def paths(self) -> tuple[str, ...]:
        """Parameters, in the order of the columns of its arrays."""

    def learnt(self, index: int, value: float) -> dict[str, np.ndarray]:
        """All draws given the value of one parameter: columns by path, (n,) each."""

    def given(self, rows: np.ndarray, kept: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """Draws with kept parameters as in some rows and the rest redrawn given them; (m, D)."""

    def columns(self, values: np.ndarray) -> dict[str, np.ndarray]:
        """Values as columns by path, (m,) each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Redraws:
    """What nested estimates need.

    Parameters
    ----------
    dependence
        How parameters are redrawn.
    evaluate
        Utilities of the admissible options on given columns, (n, K).
    """

    dependence: Dependence
    evaluate: Callable[[Mapping[str, np.ndarray]], np.ndarray]


@dataclass(frozen=True, slots=True, kw_only=True)
class Learnable:
    """One parameter or a group of them, and what knowing it is worth.

    Parameters
    ----------
    name
        Dotted path, or the name of the group.
    paths
        The parameters.
    regression
        EVPPI by regression.
    nested
        EVPPI by nested redraws; None where it was not asked for.
    """

    name: str
    paths: tuple[str, ...]
    regression: Information
    nested: Information | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stake:
    """What a study competes with.

    Parameters
    ----------
    horizon_days
        Decision horizon.
    advantage
        Productive accelerators that funding the best option now brings over doing nothing: what a
        day of waiting forgoes.
    price_of
        Productive accelerators that so many accelerators less in the pool cost.
    price_per_accelerator
        Currency of a fully-loaded accelerator over the horizon; None without.
    """

    horizon_days: float
    advantage: float
    price_of: Callable[[float], float]
    price_per_accelerator: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeWorth:
    """A study of one size.

    Parameters
    ----------
    size
        In the unit of the study.
    information
        EVSI by regression on the simulated data.
    shrunk
        EVSI by Gaussian shrink, a check.
    remaining
        Share of the horizon that is left once the result is there.
    cost_accelerators, cost_productive
        What it costs, and that in productive accelerators with what waiting forgoes; None without
        a stated cost.
    """

    size: int
    information: Information
    shrunk: float
    cost_accelerators: float | None
    cost_productive: float | None
    remaining: float

    @property
    def net_benefit(self) -> float | None:
        """EVSI over the rest of the horizon less the cost; None without a stated cost."""
        if self.cost_productive is None:
            return None
        return self.remaining * self.information.value - self.cost_productive


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyWorth:
    """A study at every size compared.

    Parameters
    ----------
    study, paths
        The study, and the uncertain parameters it bears on.
    limit
        What endless data would be worth: EVPPI of what is measured.
    sizes
        Ascending.
    """

    study: PlannedStudy
    paths: tuple[str, ...]
    limit: Information
    sizes: tuple[SizeWorth, ...]

    @property
    def best(self) -> SizeWorth | None:
        """The size of the largest net benefit; None without a cost or where none is positive."""
        priced = [one for one in self.sizes if one.net_benefit is not None and one.net_benefit > 0]
        return max(priced, key=lambda one: one.net_benefit or 0.0, default=None)

    @property
    def near_best(self) -> tuple[int, int] | None:
        """Smallest and largest size within 5% of the best net benefit; None without a best."""
        best = self.best
        if best is None:
            return None
        floor = NEAR_BEST * (best.net_benefit or 0.0)
        close = [one.size for one in self.sizes if (one.net_benefit or 0.0) >= floor]
        return min(close), max(close)


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning:
    """All that was asked about information.

    Parameters
    ----------
    options
        Names of the admissible options.
    best
        The one with the largest expected value: what would be chosen now.
    perfect
        EVPI.
    parameters, groups
        The most valuable first.
    studies
        In the order listed.
    """

    options: tuple[str, ...]
    best: str
    perfect: Information
    parameters: tuple[Learnable, ...]
    groups: tuple[Learnable, ...]
    studies: tuple[StudyWorth, ...]


def default_groups(paths: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Parameters by what they describe, groups of at least two."""
    groups = {
        "healthy step": [path for path in paths if path in STEP_PATHS],
        "failures and recovery": [path for path in paths if path in RECOVERY_PATHS],
        "delivery of interventions": [path for path in paths if path.startswith("intervention.")],
        "costs": [path for path in paths if path.startswith("cost.")],
    }
    return {name: tuple(members) for name, members in groups.items() if len(members) > 1}


def value_group(
    name: str,
    paths: Sequence[str],
    values: np.ndarray,
    columns: Mapping[str, np.ndarray],
    layout: Layout,
    *,
    seed: int,
    redraws: Redraws | None = None,
) -> Learnable:
    """EVPPI of a parameter, or of several together.

    Parameters
    ----------
    name, paths
        The group, and its parameters.
    values
        Utilities, (n, K).
    columns
        Draws by path, (n,) each.
    layout
        How draws fall into chains.
    seed
        Of the noise floor and of redraws.
    redraws
        For a nested estimate beside the regression.
    """
    features = np.column_stack([columns[path] for path in paths])
    nested = None
    if redraws is not None:
        if len(paths) == 1:
            nested = _nested_on_grid(paths[0], columns, redraws, layout)
        else:
            nested = _nested_on_rows(paths, columns, redraws, seed)
    return Learnable(
        name=name,
        paths=tuple(paths),
        regression=partial_information(values, features, layout, seed=seed),
        nested=nested,
    )


def _nested_on_grid(
    path: str, columns: Mapping[str, np.ndarray], redraws: Redraws, layout: Layout
) -> Information:
    """One parameter: outer points are its quantiles."""
    index = redraws.dependence.paths.index(path)
    grid = outer_points(columns[path])

    def at_point(q: int) -> np.ndarray:
        learnt = redraws.dependence.learnt(index, float(grid[q]))
        return redraws.evaluate({**columns, **learnt})

    effective = float(layout.effective(columns[path]))
    return nested_information(at_point, grid.size, layout, outer_draws=effective)


def _nested_on_rows(
    paths: Sequence[str], columns: Mapping[str, np.ndarray], redraws: Redraws, seed: int
) -> Information:
    """Several parameters: outer points are draws of them, inner draws are fresh."""
    dependence, draws = redraws.dependence, len(columns[paths[0]])
    rng = np.random.default_rng(seed)
    outer = rng.choice(draws, size=min(OUTER_ROWS, draws), replace=False)
    noise = rng.standard_normal((draws, len(dependence.paths)))
    kept = np.isin(dependence.paths, paths)

    def at_row(q: int) -> np.ndarray:
        redrawn = dependence.given(np.full(draws, outer[q]), kept, noise)
        return redraws.evaluate({**columns, **dependence.columns(redrawn)})

    fresh = Layout.of(None, draws)
    return nested_information(at_row, outer.size, fresh, outer_draws=outer.size)


def value_study(
    study: PlannedStudy, values: np.ndarray, target: Target, layout: Layout, stake: Stake
) -> StudyWorth:
    """EVSI and net benefit of a study at each of its sizes.

    Net benefit = (1 − d/H)·EVSI − d/H·advantage − cost, with d the days until the result, during
    which nothing is funded.
    """
    limit_features = quantities(study, target)
    gains = increments(values)
    pilot = study.sizes[len(study.sizes) // 2]
    with one_thread():
        fit = smooth(bases_of(limit_features), gains)
        known = prior_size(fit, simulate(study, pilot, target), pilot)
    points = []
    for size in study.sizes:
        information = partial_information(values, simulate(study, size, target), layout)
        accelerators = cost = None
        waiting = 0.0
        if study.cost is not None:
            accelerators = study.cost.accelerators(
                size,
                horizon_days=stake.horizon_days,
                price_per_accelerator=stake.price_per_accelerator,
            )
            waiting = min(1.0, study.cost.waiting_days(size) / stake.horizon_days)
            cost = stake.price_of(accelerators) + waiting * stake.advantage
        points.append(
            SizeWorth(
                size=size,
                information=information,
                shrunk=shrunk_information(gains, fit, size / (size + known), layout).value,
                cost_accelerators=accelerators,
                cost_productive=cost,
                remaining=1.0 - waiting,
            )
        )
    return StudyWorth(
        study=study,
        paths=measured_paths(study, target),
        limit=partial_information(values, limit_features, layout, seed=target.seed),
        sizes=tuple(points),
    )


def learn(
    options: Sequence[str],
    values: np.ndarray,
    columns: Mapping[str, np.ndarray],
    layout: Layout,
    *,
    parameters: Sequence[str],
    groups: Mapping[str, Sequence[str]],
    studies: Sequence[PlannedStudy],
    target: Target,
    stake: Stake,
    redraws: Redraws | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> Learning:
    """Value all information: perfect, of each parameter, of groups, and of studies.

    Parameters
    ----------
    options
        Names of the admissible options.
    values
        Their utilities, (n, K).
    columns
        Draws by path.
    layout
        How draws fall into chains.
    parameters, groups
        Paths to value one by one, and groups of paths by name.
    studies, target, stake
        What is on offer, what is measured, and what it competes with.
    redraws
        For nested estimates beside the regressions; None for none.
    progress
        Called after each parameter, group and study.
    """

    def valued(named: Mapping[str, Sequence[str]]) -> tuple[Learnable, ...]:
        found = []
        for name, paths in named.items():
            found.append(
                value_group(name, paths, values, columns, layout, seed=target.seed, redraws=redraws)
            )
            progress(1)
        return tuple(sorted(found, key=lambda one: -one.regression.value))

    worths = []
    for study in studies:
        worths.append(value_study(study, values, target, layout, stake))
        progress(1)
    return Learning(
        options=tuple(options),
        best=options[int(np.argmax(values.mean(axis=0)))],
        perfect=perfect_information(values, layout),
        parameters=valued({path: (path,) for path in parameters}),
        groups=valued(groups),
        studies=tuple(worths),
    )
