"""Programs, every set of interventions, on every draw and at any pool.

Shapes: n draws; k interventions; programs by bitmask, intervention i being bit i and program 0
doing nothing. Throughput is a product,

    Π = (world/T)·running·efficiency,

of a part that failures and recovery decide and one that the healthy step decides. An intervention
bears on one of them, or on both where it changes the plan. 2^a + 2^b evaluations of the model's own
formulas then serve 2^(a+b) programs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from decision.delivery import shares_in_force, start_days, with_draws
from decision.forms import parts_by_form
from decision.outcomes import Question, baseline_of
from decision.utility import pools_of
from model.interventions import Intervention, apply, join
from model.numerics import Value
from model.recovery import recover
from model.scaling import is_realisable, replan
from model.scenario import Scenario
from model.step import healthy_step
from priors.touched import RECOVERY_PATHS

PLAN_PATHS = (
    "reliability.spare_fraction",
    "reliability.stranded_fraction",
    "parallelism.tp",
    "parallelism.pp",
    "parallelism.cp",
    "accelerator.accelerators_per_node",
)
"""Fields that bear on both parts: how many replicas a pool holds, and on how many nodes."""

CACHE_BYTES = 400 * 2**20
"""Evaluated parts kept between budgets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Pools at which a plan has a size of its own; Π is linear between them.

    Parameters
    ----------
    pools
        Accelerators owned, ascending from 0; (P,).
    sizes
        Data-parallel replicas at each; 0 stands for none, −1 for the scenario as planned; (P,).
    """

    pools: np.ndarray
    sizes: np.ndarray

    def between(self, pools: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Index of the point below each pool, and the share of the way to the next."""
        inside = np.clip(pools, self.pools[0], self.pools[-1])
        below = np.searchsorted(self.pools, inside, side="right") - 1
        below = np.clip(below, 0, self.pools.size - 2)
        width = self.pools[below + 1] - self.pools[below]
        return below, (inside - self.pools[below]) / width


@dataclass(slots=True, kw_only=True)
class _Cache:
    """Evaluated parts by what they depend on; emptied when they grow too many."""

    kept: dict[tuple[str, int, int], np.ndarray] = field(default_factory=dict)
    size_bytes: int = 0

    def keep(self, key: tuple[str, int, int], value: np.ndarray) -> np.ndarray:
        """Keep a part."""
        if self.size_bytes > CACHE_BYTES:
            self.kept.clear()
            self.size_bytes = 0
        self.kept[key] = value
        self.size_bytes += value.nbytes
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Programs:
    """Interventions on the baseline, ready to be combined.

    Parameters
    ----------
    baseline
        The baseline on the draws.
    members
        Interventions, strengths as drawn.
    starts
        Day each is in force from; (n, k). 0 throughout for those without delay or doubt.
    open_members
        Bits of those that are delayed or may not be delivered.
    step_members, recovery_members, plan_members
        Bits of those that bear on the healthy step, on recovery, and on the plan (and so on both).
    pool, horizon_days, draws
        N0, the decision horizon and n.
    """

    baseline: Scenario
    members: tuple[Intervention, ...]
    starts: np.ndarray
    open_members: int
    step_members: int
    recovery_members: int
    plan_members: int
    pool: float
    horizon_days: float
    draws: int
    _cache: _Cache = field(default_factory=_Cache)
    _curves: dict[int, Curve] = field(default_factory=dict)
    _shares: dict[int, dict[int, np.ndarray]] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the interventions."""
        return tuple(member.name for member in self.members)

    def of(self, mask: int) -> tuple[Intervention, ...]:
        """Interventions of a program."""
        return tuple(one for index, one in enumerate(self.members) if mask >> index & 1)

    def productive(self, mask: int, added: np.ndarray | float) -> np.ndarray:
        """Π of a program over the horizon, with accelerators added to the pool; (n,).

        Parameters
        ----------
        mask
            The program.
        added
            Accelerators, negative ones taken away; a number or (n,).
        """
        open_ = mask & self.open_members
        if not open_:
            return self._in_force(mask, added)
        if open_ not in self._shares:
            self._shares[open_] = self._states(open_)
        total = np.zeros(self.draws)
        for state, share in self._shares[open_].items():
            total += share * self._in_force(mask & ~self.open_members | state, added)
        return total

    def _states(self, open_: int) -> dict[int, np.ndarray]:
        """Share of the horizon by which of the open interventions are in force."""
        bits = [index for index in range(len(self.members)) if open_ >> index & 1]
        shares = shares_in_force(self.starts[:, bits], self.horizon_days)
        return {sum(1 << bits[i] for i in chosen): share for chosen, share in shares.items()}

    def _in_force(self, mask: int, added: np.ndarray | float) -> np.ndarray:
        """Π with interventions in force throughout; (n,)."""
        curve = self._curve(mask & self.plan_members)
        below, share = curve.between(np.maximum(0.0, self.pool + np.asarray(added, dtype=float)))
        if below.ndim == 0:
            low = self._at(mask, int(curve.sizes[below]))
            if share == 0.0:
                return low
            high = self._at(mask, int(curve.sizes[below + 1]))
            return np.asarray(low + share * (high - low))
        result = np.empty(self.draws)
        for point in np.unique(below):
            rows = np.flatnonzero(below == point)
            low = self._at(mask, int(curve.sizes[point]))[rows]
            high = self._at(mask, int(curve.sizes[point + 1]))[rows]
            result[rows] = low + share[rows] * (high - low)
        return result

    def _at(self, mask: int, size: int) -> np.ndarray:
        """Π of a program at a data-parallel size; (n,)."""
        if size == 0:
            return np.zeros(self.draws)
        running = self._part("recovery", mask & (self.recovery_members | self.plan_members), size)
        efficiency = self._part("step", mask & (self.step_members | self.plan_members), size)
        return np.asarray(running * efficiency)

    def _part(self, part: str, mask: int, size: int) -> np.ndarray:
        """One factor of Π: (world/T)·running, or the efficiency of the step; (n,)."""
        key = (part, mask, size)
        found = self._cache.kept.get(key)
        if found is not None:
            return found
        scenario = self._planned(self._treated(mask), size)
        if part == "step":
            value = healthy_step(scenario).efficiency
        else:
            value = (scenario.world / scenario.window_s) * recover(scenario).running_s
        flat = np.broadcast_to(np.reshape(value, (-1,)), (self.draws,))
        return self._cache.keep(key, np.ascontiguousarray(flat))

    def _treated(self, mask: int) -> Scenario:
        chosen = self.of(mask)
        if not chosen:
            return self.baseline
        return apply(self.baseline, join("+".join(one.name for one in chosen), chosen))

    @staticmethod
    def _planned(scenario: Scenario, size: int) -> Scenario:
        return scenario if size < 0 else replan(scenario, size)

    def _curve(self, plan_mask: int) -> Curve:
        """Points of the curve of one plan, as far as a pool 64 times as large."""
        if plan_mask not in self._curves:
            self._curves[plan_mask] = _curve_of(self._treated(plan_mask), self.pool)
        return self._curves[plan_mask]


FARTHEST = 64
"""The curve ends at this multiple of the planned size, as the search for SEA does."""


def _curve_of(scenario: Scenario, pool: float) -> Curve:
    """Points below, at and above the planned pool N0, as the utility takes them.

    The plan stands at N0 itself, also where it leaves accelerators over; sizes beyond the last
    realisable one stand idle.
    """
    base = int(np.min(scenario.parallelism.dp))
    sizes = np.arange(1, FARTHEST * base + 1)
    realisable = np.broadcast_to(is_realisable(replan(scenario, sizes)), sizes.shape)
    sizes = sizes[realisable | (sizes <= base)]
    owned = np.ceil(sizes * scenario.replica * float(np.min(scenario.overhead)))
    smaller, larger = sizes < base, sizes > base
    return Curve(
        pools=np.concatenate([[0.0], owned[smaller], [pool], owned[larger]]),
        sizes=np.concatenate([[0], sizes[smaller], [-1], sizes[larger]]),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectPrograms:
    """The same where draws differ in their plan, as with an uncertain spare share: slower.

    Parameters
    ----------
    question
        What is asked; its own interventions do not matter.
    columns
        Draws by column.
    members
        Interventions, bit by bit.
    draws
        n.
    """

    question: Question
    columns: Mapping[str, Value]
    members: tuple[Intervention, ...]
    draws: int

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the interventions."""
        return tuple(member.name for member in self.members)

    def productive(self, mask: int, added: np.ndarray | float) -> np.ndarray:
        """See :meth:`Programs.productive`."""
        chosen = [one for index, one in enumerate(self.members) if mask >> index & 1]
        options = (join("program", chosen),) if chosen else ()
        pools = pools_of(replace(self.question, interventions=options), self.columns, self.draws)
        amounts = np.broadcast_to(np.asarray(added, dtype=float), (self.draws,))
        return pools.value(len(options), amounts[:, np.newaxis])[:, 0]


@dataclass(frozen=True, slots=True, kw_only=True)
class MixedPrograms:
    """The same where draws differ in their form of the model.

    Parameters
    ----------
    parts
        Rows of each form, and interventions ready to be combined in it.
    draws
        n.
    """

    parts: "tuple[tuple[np.ndarray, Programs | DirectPrograms], ...]"
    draws: int

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the interventions."""
        return self.parts[0][1].names

    @property
    def members(self) -> tuple[Intervention, ...]:
        """Interventions, bit by bit."""
        return self.parts[0][1].members

    def productive(self, mask: int, added: np.ndarray | float) -> np.ndarray:
        """See :meth:`Programs.productive`."""
        amounts = np.broadcast_to(np.asarray(added, dtype=float), (self.draws,))
        single = np.ndim(added) == 0
        result = np.empty(self.draws)
        for rows, programs in self.parts:
            result[rows] = programs.productive(mask, added if single else amounts[rows])
        return result


type Combined = Programs | DirectPrograms | MixedPrograms


def combine(
    question: Question, columns: Mapping[str, Value], members: Sequence[Intervention], draws: int
) -> Combined:
    """Interventions ready to be combined.

    Parameters
    ----------
    question
        What is asked; its own interventions do not matter.
    columns
        Draws by column.
    members
        Interventions, bit by bit.
    draws
        n.

    Raises
    ------
    InputError
        If an intervention makes an impossible scenario on some draw.
    """
    parts = parts_by_form(question, columns)
    if parts:
        combined = ((rows, combine(asked, some, members, rows.size)) for rows, asked, some in parts)
        return MixedPrograms(parts=tuple(combined), draws=draws)  # type: ignore[arg-type]
    baseline = baseline_of(question, columns)
    drawn = tuple(with_draws(member, columns) for member in members)
    bits = {"step": 0, "recovery": 0, "plan": 0, "open": 0}
    for index, member in enumerate(drawn):
        apply(baseline, member)
        paths = set(member.paths)
        on_plan = bool(paths & set(PLAN_PATHS))
        on_recovery = bool(paths & set(RECOVERY_PATHS))
        on_step = bool(paths - set(RECOVERY_PATHS))
        bits["plan"] |= on_plan << index
        bits["recovery"] |= on_recovery << index
        bits["step"] |= on_step << index
        bits["open"] |= (not member.is_whole) << index
    starts = [start_days(member, columns, question.horizon_days, draws) for member in drawn]
    plans = [baseline, *(apply(baseline, one) for one in drawn)]
    if any(np.size(value) > 1 for plan in plans for value in _plan_values(plan)):
        return DirectPrograms(
            question=question, columns=columns, members=tuple(members), draws=draws
        )
    return Programs(
        baseline=baseline,
        members=drawn,
        starts=np.column_stack(starts) if starts else np.zeros((draws, 0)),
        open_members=bits["open"],
        step_members=bits["step"],
        recovery_members=bits["recovery"],
        plan_members=bits["plan"],
        pool=float(np.max(baseline.pool)),
        horizon_days=question.horizon_days,
        draws=draws,
    )


def _plan_values(scenario: Scenario) -> tuple[Value, ...]:
    return scenario.parallelism.dp, scenario.pool, scenario.overhead
