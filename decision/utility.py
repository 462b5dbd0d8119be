"""The one utility: productive accelerators when a budget pays an option and the rest buys pools.

U_k(B) = Π_k(N0 + B − c_k), doing nothing Π_0(N0 + B). Shapes: n draws, K options of which the first
is "do nothing", P pools.

Π of a pool between two realisable ones lies on the chord between them, as SEA takes it, so that U
is continuous in cost. The pool as planned, N0, is a point of the curve: at N0 the utility is the
treated throughput that the ranking is made of. Below one replica it falls to 0 at no pool; beyond
the largest realisable pool it stays: further accelerators stand idle.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from decision.costs import Costs
from decision.delivery import State
from decision.forms import parts_by_form
from decision.outcomes import CHUNK, Question, baseline_of, options_on
from model.interventions import apply
from model.ledger import productive_accelerators
from model.numerics import Value
from model.scaling import replan
from model.scenario import Scenario, take


@dataclass(frozen=True, slots=True, kw_only=True)
class Utilities:
    """What is decided on.

    Parameters
    ----------
    options
        Names, doing nothing first.
    values
        Productive accelerators over the horizon; (n, K).
    costs
        Accelerators each option costs; (n, K), zero for doing nothing.
    expected_costs
        Their expectation as stated, not that of the draws; (K,).
    budget
        Accelerators that are spent whatever is chosen.
    feasible
        Whether the expected cost is within the budget; (K,). Where a cost turns out above the
        budget, the pool shrinks by the difference.
    horizon_days
        Decision horizon.
    """

    options: tuple[str, ...]
    values: np.ndarray
    costs: np.ndarray
    expected_costs: np.ndarray
    budget: float
    feasible: np.ndarray
    horizon_days: float

    @property
    def admissible(self) -> np.ndarray:
        """Indices of the options that can be chosen."""
        return np.flatnonzero(self.feasible)


def utilities(
    question: Question,
    columns: Mapping[str, np.ndarray],
    costs: Costs | None = None,
    budget: float | None = None,
    *,
    chunk: int = CHUNK,
) -> Utilities:
    """U of every option on every draw.

    Parameters
    ----------
    question
        What is asked; its decision horizon is the one of the costs.
    columns
        Draws by column, each of shape (n,), costs among them where they are uncertain.
    costs
        What options cost; None for nothing, and then the budget is zero.
    budget
        Accelerators; by default the largest expected cost of an option.
    chunk
        Draws evaluated at once; the result does not depend on it.
    """
    draws = len(next(iter(columns.values()))) if columns else 1
    interventions = question.interventions
    expected = np.zeros(len(interventions) + 1)
    amounts = np.zeros((draws, expected.size))
    if costs is not None:
        for index, option in enumerate(interventions, start=1):
            expected[index] = costs.expected(option)
            amounts[:, index] = costs.of(option, columns, draws)
    if budget is None:
        budget = float(expected.max())
    spent = budget - amounts
    values = np.empty(amounts.shape)
    pools = pools_of(question, columns, draws)
    for start in range(0, draws, chunk):
        rows = np.arange(start, min(start + chunk, draws))
        part = pools.take(rows)
        for index in range(expected.size):
            values[rows, index] = part.value(index, spent[rows, index : index + 1])[:, 0]
    return Utilities(
        options=question.options,
        values=values,
        costs=amounts,
        expected_costs=expected,
        budget=budget,
        feasible=expected <= budget,
        horizon_days=question.horizon_days,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Pools:
    """Π of the options of a question against the accelerators added to the pool.

    Parameters
    ----------
    baseline
        The baseline on the draws.
    options
        States of each option besides doing nothing, with their scenarios.
    draws
        n.
    """

    baseline: Scenario
    options: tuple[tuple[tuple[State, Scenario], ...], ...]
    draws: int

    @classmethod
    def of(cls, question: Question, columns: Mapping[str, Value], draws: int) -> "Pools":
        """Baseline and treated scenarios of a question on draws, checked.

        Raises
        ------
        InputError
            If an intervention makes an impossible scenario on some draw.
        """
        baseline = baseline_of(question, columns)
        options = tuple(
            tuple((state, apply(baseline, state.change)) for state in states)
            for states in options_on(question, columns, draws)
        )
        return cls(baseline=baseline, options=options, draws=draws)

    def take(self, rows: np.ndarray) -> "Pools":
        """The same on some of the draws."""
        return Pools(
            baseline=take(self.baseline, rows),
            options=tuple(
                tuple((state.take(rows), take(treated, rows)) for state, treated in states)
                for states in self.options
            ),
            draws=rows.size,
        )

    def value(self, option: int, added: np.ndarray) -> np.ndarray:
        """Π over the horizon with accelerators added to the pool, of one option.

        Parameters
        ----------
        option
            Index of the option, 0 for doing nothing.
        added
            Accelerators added, negative ones taken away; (n, P).

        Returns
        -------
        numpy.ndarray
            (n, P).
        """
        planned = np.reshape(self.baseline.pool, (-1, 1))
        pools = np.maximum(0.0, planned + added)
        states = () if option == 0 else self.options[option - 1]
        if len(states) == 1 and states[0][0].share is None:
            return productive_at(states[0][1], pools, planned_for=planned)
        idle = np.ones((self.draws, 1))
        total = np.zeros((self.draws, added.shape[1]))
        for state, treated in states:
            share = np.ones((1, 1)) if state.share is None else state.share[:, np.newaxis]
            total += share * productive_at(treated, pools, planned_for=planned)
            idle = idle - share
        if states and not (idle > 0).any():
            return total
        return np.asarray(total + idle * productive_at(self.baseline, pools, planned_for=planned))


@dataclass(frozen=True, slots=True, kw_only=True)
class MixedPools:
    """The same where draws differ in their form of the model.

    Parameters
    ----------
    parts
        Rows of each form, ascending, and their pools.
    draws
        n.
    """

    parts: tuple[tuple[np.ndarray, Pools], ...]
    draws: int

    def take(self, rows: np.ndarray) -> "MixedPools":
        """The same on some of the draws."""
        place = np.full(self.draws, -1)
        place[rows] = np.arange(rows.size)
        parts = []
        for own, pools in self.parts:
            kept = np.flatnonzero(place[own] >= 0)
            if kept.size:
                parts.append((place[own[kept]], pools.take(kept)))
        return MixedPools(parts=tuple(parts), draws=rows.size)

    def value(self, option: int, added: np.ndarray) -> np.ndarray:
        """See :meth:`Pools.value`."""
        result = np.empty((self.draws, added.shape[1]))
        amounts = np.broadcast_to(added, result.shape)
        for rows, pools in self.parts:
            result[rows] = pools.value(option, amounts[rows])
        return result


type AnyPools = Pools | MixedPools


def pools_of(question: Question, columns: Mapping[str, Value], draws: int) -> AnyPools:
    """Pools of a question on draws, each in its form.

    Raises
    ------
    InputError
        If an intervention makes an impossible scenario on some draw.
    """
    parts = parts_by_form(question, columns)
    if not parts:
        return Pools.of(question, columns, draws)
    return MixedPools(
        parts=tuple((rows, Pools.of(asked, some, rows.size)) for rows, asked, some in parts),
        draws=draws,
    )


def productive_at(
    scenario: Scenario, pools: np.ndarray, *, planned_for: Value | None = None
) -> np.ndarray:
    """Π of a scenario at arbitrary pools, on the chords between realisable ones.

    Parameters
    ----------
    scenario
        Real fields scalars or (n, 1); the plan one for all draws or (n, 1).
    pools
        Accelerators owned, at least 0; (n, P).
    planned_for
        N0, the pool that the plan of the scenario stands for; by default its own. A re-planned
        scenario leaves part of it over.

    Returns
    -------
    numpy.ndarray
        (n, P).
    """
    planned = np.reshape(scenario.pool if planned_for is None else planned_for, (-1, 1))
    planned = planned.astype(np.float64)
    base = np.reshape(scenario.parallelism.dp, (-1, 1))
    per_replica = np.reshape(scenario.replica * scenario.overhead, (-1, 1))
    low = np.floor(pools / per_replica).astype(np.int64)
    low = np.broadcast_to(low, pools.shape).copy()
    # A pool is rounded up to whole accelerators, and the quotient is rounded too.
    low -= _pool_of(scenario, low) > pools
    low += _pool_of(scenario, low + 1) <= pools
    # The pool as planned stands for its size: of the sizes beside it the others remain.
    above = pools >= planned
    low = np.where(above, np.maximum(low, base), np.minimum(low, base - 1))
    most = _largest_size(scenario)
    low, high = np.minimum(low, most), np.minimum(low + 1, most)

    def point(size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        at_plan = size == base
        pool = np.where(at_plan, planned, _pool_of(scenario, size))
        value = np.where(at_plan, _planned(scenario), _productive(scenario, size))
        return pool, value

    (pool_low, at_low), (pool_high, at_high) = point(low), point(high)
    width = pool_high - pool_low
    share = np.divide(pools - pool_low, width, out=np.zeros(pools.shape), where=width > 0)
    return np.asarray(at_low + np.clip(share, 0.0, 1.0) * (at_high - at_low))


def _pool_of(scenario: Scenario, size: np.ndarray) -> np.ndarray:
    """Accelerators owned at data-parallel sizes, ceil(size·replica·(1 + spare + stranded))."""
    return np.asarray(np.ceil(size * scenario.replica * scenario.overhead))


def _largest_size(scenario: Scenario) -> np.ndarray:
    """Largest data-parallel size that leaves each replica a microbatch."""
    plan = scenario.parallelism
    batch = plan.global_batch_seqs
    if scenario.scaling_mode == "weak":
        # The batch grows in proportion until its limit, so that this size is the largest.
        batch = np.maximum(batch, scenario.max_global_batch_seqs)
    return np.asarray(np.maximum(plan.dp, batch // plan.micro_batch))


def _planned(scenario: Scenario) -> np.ndarray:
    return np.asarray(np.reshape(productive_accelerators(scenario), (-1, 1)))


def _productive(scenario: Scenario, size: np.ndarray) -> np.ndarray:
    """Π at data-parallel sizes; 0 at size 0."""
    some = np.maximum(size, 1)
    value = np.broadcast_to(productive_accelerators(replan(scenario, some)), size.shape)
    return np.where(size > 0, value, 0.0)


def best_index(values: np.ndarray, feasible: Sequence[bool] | np.ndarray) -> int:
    """Index of the feasible option with the largest expectation, the first listed among equals."""
    means = np.where(feasible, values.mean(axis=0), -np.inf)
    return int(means.argmax())
