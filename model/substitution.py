"""SEA: how many accelerators one would have to buy to match an intervention.

Shapes: n draws, K options, P pools of the sampling grid. A scenario's real fields are scalars or
(n, 1); its plan is one for all draws.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from model.ledger import Ledger, account, productive_accelerators
from model.parameters import UNCERTAIN
from model.scaling import Curve, replan, replicas_of_pool, scaling_curve
from model.scenario import Scenario, substitute

type Solver = Literal["exact", "published"]

SOLVERS: tuple[Solver, ...] = ("exact", "published")

ROUNDING = 1e-12
"""Differences of Π below this share of it are rounding: float64 holds 16 digits, Π about 14."""

PEAK_MARGIN = 1e-3
"""Between two sizes 7% apart the curve's peak rises above the larger by less than this share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Substitution:
    """What options are worth in accelerators of the baseline.

    Parameters
    ----------
    sea
        Shape (n, K). ``exact``: signed; +inf where no pool up to the ceiling reaches the treated
        throughput, −inf where no smaller pool falls to it. ``published``: 0 for every loss.
    baseline
        Π of the baseline, shape (n, 1).
    baseline_pool
        Accelerators owned, shape (n, 1) or (1, 1).
    best_productive
        Largest Π on the sampling grid, shape (n, 1).
    best_pool
        The pool that reaches it, shape (n, 1).
    marginal
        Productive accelerators that one more accelerator brings, over the next data-parallel
        step; shape (n, 1), NaN where there is no larger realisable size.
    """

    sea: np.ndarray
    baseline: np.ndarray
    baseline_pool: np.ndarray
    best_productive: np.ndarray
    best_pool: np.ndarray
    marginal: np.ndarray

    @property
    def past_peak(self) -> np.ndarray:
        """Draws in which one more replica already lowers Π; shape (n, 1)."""
        return np.asarray(self.marginal < 0)


def substitute_options(
    scenario: Scenario,
    baseline: np.ndarray,
    treated: np.ndarray,
    *,
    solver: Solver = "exact",
) -> Substitution:
    """Substitution-equivalent accelerators of treated throughputs.

    SEA is the ΔN with Π(N0 + ΔN, baseline) = Π(N0, with the option). The curve is evaluated once
    and shared by all options.

    Parameters
    ----------
    scenario
        Baseline.
    baseline
        Its Π, shape (n, 1).
    treated
        Π with each option at the baseline's pool, shape (n, K).
    solver
        ``exact``: bracket on the sampling grid, refine to adjacent realisable pools, interpolate
        between them; first crossing above N0. ``published``: interpolate on the grid itself.

    References
    ----------
    Nanyonga 2026, section 3 of the published definitions, for ``published``.
    """
    plan_dp = int(np.min(scenario.parallelism.dp))
    pool = np.atleast_2d(np.asarray(scenario.pool, dtype=np.float64))
    if solver == "published":
        curve = scaling_curve(scenario, plan_dp)
        sea = _published(curve, pool, baseline, treated)
    else:
        base = int(np.max(replicas_of_pool(scenario, pool))) if scenario.n_pool else plan_dp
        curve = _above(scaling_curve(scenario, base), pool, baseline)
        sea = _exact(scenario, curve, pool, baseline, treated)
    best = np.argmax(curve.productive, axis=1)[:, np.newaxis]
    return Substitution(
        sea=sea,
        baseline=baseline,
        baseline_pool=pool,
        best_productive=np.take_along_axis(curve.productive, best, axis=1),
        best_pool=np.take_along_axis(
            np.broadcast_to(curve.pool, curve.productive.shape), best, axis=1
        ),
        marginal=_marginal(curve, baseline),
    )


def marginal_accelerator(scenario: Scenario) -> float:
    """Productive accelerators that the next accelerator of one scenario brings."""
    ledger = account(scenario)
    baseline = np.atleast_2d(ledger.productive_accelerators)
    result = substitute_options(scenario, baseline, baseline)
    return float(result.marginal[0, 0])


def informal_equivalent(baseline: Ledger, treated: Ledger) -> np.ndarray:
    """The figure in common use, (avoided blocked + avoided discarded)/T, in accelerators.

    It is computed only to show its bias: it counts the time an option frees as if a bought
    accelerator spent all of its time computing.
    """
    before = baseline.blocked + baseline.discarded
    after = treated.blocked + treated.discarded
    return np.asarray((before - after) / baseline.scenario.window_s)


def _above(curve: Curve, pool: np.ndarray, baseline: np.ndarray) -> Curve:
    """The curve from the baseline itself upwards: its first point becomes (N0, Π(N0))."""
    pools = np.broadcast_to(curve.pool, curve.productive.shape).copy()
    productive = curve.productive.copy()
    pools[:, :1] = pool
    productive[:, :1] = baseline
    return Curve(curve.dp, pools, productive)


def _marginal(curve: Curve, baseline: np.ndarray) -> np.ndarray:
    if curve.dp.size == 1:
        return np.full(baseline.shape, np.nan)
    pools = np.broadcast_to(curve.pool, curve.productive.shape)
    rise = curve.productive[:, 1:2] - curve.productive[:, :1]
    return np.asarray(rise / (pools[:, 1:2] - pools[:, :1]))


def _first_at_or_above(curve: Curve, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Index of the first sample that reaches each target, and whether one does; (n, K)."""
    index = np.empty(target.shape, dtype=np.int64)
    reached = np.empty(target.shape, dtype=bool)
    rows = np.arange(target.shape[0])
    for option in range(target.shape[1]):
        hit = curve.productive >= target[:, option : option + 1]
        first = hit.argmax(axis=1)
        index[:, option] = first
        reached[:, option] = hit[rows, first]
    return index, reached


def _published(
    curve: Curve, pool: np.ndarray, baseline: np.ndarray, treated: np.ndarray
) -> np.ndarray:
    index, reached = _first_at_or_above(curve, treated)
    pools = np.broadcast_to(curve.pool, curve.productive.shape)
    before = np.maximum(index - 1, 0)
    low, high = (np.take_along_axis(curve.productive, i, axis=1) for i in (before, index))
    pool_low, pool_high = (np.take_along_axis(pools, i, axis=1) for i in (before, index))
    crossing = _interpolate(pool_low, pool_high, low, high, treated)
    sea = np.where(reached, crossing - pool, np.inf)
    return np.where(treated <= baseline, 0.0, sea)


def _interpolate(
    pool_low: np.ndarray,
    pool_high: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    target: np.ndarray,
) -> np.ndarray:
    rise = high - low
    share = np.divide(target - low, rise, out=np.zeros_like(rise), where=rise != 0)
    return np.asarray(pool_low + share * (pool_high - pool_low))


def _exact(
    scenario: Scenario,
    curve: Curve,
    pool: np.ndarray,
    baseline: np.ndarray,
    treated: np.ndarray,
) -> np.ndarray:
    sea = np.zeros(treated.shape)
    gain = treated - baseline
    negligible = np.abs(gain) <= ROUNDING * baseline

    rising = (gain > 0) & ~negligible
    index, reached = _first_at_or_above(curve, np.where(rising, treated, np.inf))
    row, option = np.nonzero(rising & reached)
    high = index[row, option]
    bracket = _Bracket(
        low=curve.dp[high - 1],
        high=curve.dp[high],
        pool_low=curve.pool[row, high - 1],
        pool_high=curve.pool[row, high],
        productive_low=curve.productive[row, high - 1],
        productive_high=curve.productive[row, high],
    )
    target = treated[row, option]
    _refine(scenario, row, bracket, target)
    sea[row, option] = bracket.crossing(target) - pool[_rows(pool, row), 0]

    row, option = np.nonzero(rising & ~reached)
    if row.size:
        beyond = _past_best_sample(scenario, curve, row, treated[row, option])
        sea[row, option] = beyond - pool[_rows(pool, row), 0]

    row, option = np.nonzero((gain < 0) & ~negligible)
    if row.size:
        target = treated[row, option]
        sea[row, option] = _downwards(scenario, curve, row, target) - pool[_rows(pool, row), 0]
    return sea


def _rows(pool: np.ndarray, row: np.ndarray) -> np.ndarray:
    """Rows of a pool that may be shared by all draws."""
    return row if pool.shape[0] > 1 else np.zeros(row.shape, dtype=np.int64)


@dataclass(slots=True)
class _Bracket:
    """Pairs of sizes with Π(low) < target <= Π(high); shape (pairs,), narrowed in place."""

    low: np.ndarray
    high: np.ndarray
    pool_low: np.ndarray
    pool_high: np.ndarray
    productive_low: np.ndarray
    productive_high: np.ndarray

    def crossing(self, target: np.ndarray) -> np.ndarray:
        return _interpolate(
            self.pool_low, self.pool_high, self.productive_low, self.productive_high, target
        )

    def narrow(
        self,
        which: np.ndarray,
        dp: np.ndarray,
        pool: np.ndarray,
        productive: np.ndarray,
        target: np.ndarray,
    ) -> np.ndarray:
        """Replace one end of the pairs ``which``; returns which of them moved the upper end."""
        above = np.asarray(productive >= target[which])
        for side, chosen in (("high", above), ("low", ~above)):
            getattr(self, side)[which[chosen]] = dp[chosen]
            getattr(self, f"pool_{side}")[which[chosen]] = pool[chosen]
            getattr(self, f"productive_{side}")[which[chosen]] = productive[chosen]
        return above


def _at(scenario: Scenario, row: np.ndarray, dp: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pool and Π of draws ``row`` at sizes ``dp``; all of shape (pairs,)."""
    values = {
        path: value[row, 0]
        for path in UNCERTAIN
        if np.ndim(value := scenario.value(path)) and np.shape(value)[0] > 1
    }
    planned = replan(substitute(scenario, values), dp)
    pool = np.broadcast_to(planned.pool, dp.shape)
    return pool, np.broadcast_to(productive_accelerators(planned), dp.shape)


def _refine(scenario: Scenario, row: np.ndarray, bracket: _Bracket, target: np.ndarray) -> None:
    """Narrow brackets to adjacent sizes.

    Π is close to its chord between two sizes, so the chord's crossing is tried first, then its
    neighbour on the side that remains; halving every third round bounds the number of rounds.
    """
    beside = np.zeros(row.size, dtype=np.int64)
    rounds = 0
    while (which := np.flatnonzero(bracket.high - bracket.low > 1)).size:
        low, high = bracket.low[which], bracket.high[which]
        if rounds % 3 == 2:  # noqa: PLR2004 - the third of three rounds
            guess = (low + high) // 2
        else:
            share = (target[which] - bracket.productive_low[which]) / (
                bracket.productive_high[which] - bracket.productive_low[which]
            )
            chord = low + np.rint(share * (high - low)).astype(np.int64)
            next_to = np.where(beside[which] > 0, high - 1, low + 1)
            guess = np.where(beside[which] != 0, next_to, chord)
        guess = np.clip(guess, low + 1, high - 1)
        pool, productive = _at(scenario, row[which], guess)
        above = bracket.narrow(which, guess, pool, productive, target)
        beside[which] = np.where(above, 1, -1) if rounds % 3 == 0 else 0
        rounds += 1


def _past_best_sample(
    scenario: Scenario, curve: Curve, row: np.ndarray, target: np.ndarray
) -> np.ndarray:
    """Pools that reach targets just above the largest sample; +inf where none does.

    The peak lies between the samples next to the largest: it is searched there by halving.
    """
    crossing = np.full(row.size, np.inf)
    best = np.argmax(curve.productive, axis=1)[row]
    near = target <= curve.productive[row, best] * (1.0 + PEAK_MARGIN)
    near &= (best > 0) & (best < curve.dp.size - 1)
    pairs = np.flatnonzero(near)
    if not pairs.size:
        return crossing
    row, target, best = row[pairs], target[pairs], best[pairs]
    left, right = curve.dp[best - 1], curve.dp[best + 1]
    while (which := np.flatnonzero(right - left > 2)).size:  # noqa: PLR2004 - a peak between
        middle = (left[which] + right[which]) // 2
        _, here = _at(scenario, row[which], middle)
        _, there = _at(scenario, row[which], middle + 1)
        left[which] = np.where(there > here, middle, left[which])
        right[which] = np.where(there > here, right[which], middle + 1)
    peak = left + 1
    pool_peak, productive_peak = _at(scenario, row, peak)
    found = np.flatnonzero(productive_peak >= target)
    row, before, target = row[found], best[found] - 1, target[found]
    bracket = _Bracket(
        low=curve.dp[before],
        high=peak[found],
        pool_low=curve.pool[row, before],
        pool_high=pool_peak[found],
        productive_low=curve.productive[row, before],
        productive_high=productive_peak[found],
    )
    _refine(scenario, row, bracket, target)
    crossing[pairs[found]] = bracket.crossing(target)
    return crossing


def _downwards(scenario: Scenario, curve: Curve, row: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Largest smaller pool at which Π falls to the target; −inf where one replica exceeds it."""
    high = np.full(row.size, curve.dp[0])
    pool_high, productive_high = curve.pool[row, 0].copy(), curve.productive[row, 0].copy()
    bracket = _Bracket(
        low=high.copy(),
        high=high,
        pool_low=pool_high.copy(),
        pool_high=pool_high,
        productive_low=productive_high.copy(),
        productive_high=productive_high,
    )
    open_ = np.arange(row.size)
    step = 1
    while open_.size:
        dp = np.maximum(bracket.high[open_] - step, 1)
        pool, productive = _at(scenario, row[open_], dp)
        above = bracket.narrow(open_, dp, pool, productive, np.nextafter(target, np.inf))
        exhausted = above & (dp == 1)
        open_ = open_[above & ~exhausted]
        step *= 2
    unreachable = bracket.low >= bracket.high
    _refine(scenario, row, bracket, np.nextafter(target, np.inf))
    return np.where(unreachable, -np.inf, bracket.crossing(target))
