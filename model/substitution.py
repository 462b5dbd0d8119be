"""SEA: how many accelerators one would have to buy to match an intervention.

Shapes: n draws, K options, P pools of the sampling grid. A scenario's real fields are scalars or
(n, 1); its plan is one for all draws.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from model.crossing import (
    PIECE,
    climb,
    climb_past_samples,
    descend,
    first_at_or_above,
    interpolate,
)
from model.ledger import Ledger, account
from model.scaling import (
    CEILING,
    SINGLE_STEPS,
    Curve,
    replicas_of_pool,
    sampling_grid,
    scaling_curve,
    step_sizes,
)
from model.scenario import Scenario, take

type Solver = Literal["exact", "published"]

SOLVERS: tuple[Solver, ...] = ("exact", "published")

ROUNDING = 1e-12
"""Differences of Π below this share of it are rounding: float64 holds 16 digits, Π about 14."""

NEAR = SINGLE_STEPS + 10
"""Samples that are tried first: up to about twice the pool, beyond which few options are worth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Substitution:
    """What options are worth in accelerators of the baseline.

    Parameters
    ----------
    sea
        Shape (n, K). ``exact``: signed; +inf where no pool up to the ceiling reaches the treated
        throughput, −inf where no smaller pool falls to it. ``published``: 0 for every loss.
    marginal
        Productive accelerators that one more accelerator brings, over the next data-parallel
        step, or with whole microbatches up to the next that saves one; shape (n, 1), NaN where
        there is no such size. Negative past the peak.
    """

    sea: np.ndarray
    marginal: np.ndarray


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
    pool = np.broadcast_to(np.asarray(scenario.pool, dtype=np.float64), baseline.shape)
    if solver == "published":
        plan_dp = int(np.min(scenario.parallelism.dp))
        sizes = sampling_grid(plan_dp, ceiling=CEILING * plan_dp)
        curve = _curve_of_draws(scenario, sizes, baseline.shape[0])
        sea = _published(curve, pool, baseline, treated)
    else:
        sizes = _sizes_from(scenario, pool)
        curve = _curve_from(scenario, pool, baseline, sizes[:NEAR])
        sea = _exact(scenario, curve, sizes, baseline, treated)
    return Substitution(sea=sea, marginal=_marginal(scenario, curve))


def marginal_accelerator(scenario: Scenario) -> float:
    """Productive accelerators that the next accelerator of one scenario brings."""
    baseline = np.reshape(account(scenario).productive_accelerators, (1, 1))
    return float(substitute_options(scenario, baseline, baseline).marginal[0, 0])


def informal_equivalent(baseline: Ledger, treated: Ledger) -> np.ndarray:
    """The figure in common use, (avoided blocked + avoided discarded)/T, in accelerators.

    It is computed only to show its bias: it counts the time an option frees as if a bought
    accelerator spent all of its time computing.
    """
    before = baseline.blocked + baseline.discarded
    after = treated.blocked + treated.discarded
    return np.asarray((before - after) / baseline.scenario.window_s)


def _marginal(scenario: Scenario, curve: Curve) -> np.ndarray:
    """Slope to the next size, or to the next at which replicas run one microbatch less."""
    base = int(curve.dp[0])
    steps = step_sizes(scenario, base, ceiling=CEILING * base)
    later = np.flatnonzero(curve.dp == steps[0]) if steps.size else np.array([1])
    if curve.dp.size == 1 or not later.size:
        return np.full((curve.productive.shape[0], 1), np.nan)
    following = slice(later[0], later[0] + 1)
    rise = curve.productive[:, following] - curve.productive[:, :1]
    return np.asarray(rise / (curve.pool[:, following] - curve.pool[:, :1]))


def _published(
    curve: Curve, pool: np.ndarray, baseline: np.ndarray, treated: np.ndarray
) -> np.ndarray:
    index, reached = first_at_or_above(curve, treated)
    before = np.maximum(index - 1, 0)
    low, high = (np.take_along_axis(curve.productive, i, axis=1) for i in (before, index))
    pool_low, pool_high = (np.take_along_axis(curve.pool, i, axis=1) for i in (before, index))
    crossing = interpolate(pool_low, pool_high, low, high, treated)
    sea = np.where(reached, crossing - pool, np.inf)
    return np.where(treated <= baseline, 0.0, sea)


def _sizes_from(scenario: Scenario, pool: np.ndarray) -> np.ndarray:
    """Sizes of the search, from the replicas that the owned pool has room for."""
    base = int(np.min(scenario.parallelism.dp))
    if scenario.n_pool is not None:
        base = int(np.max(replicas_of_pool(scenario, pool)))
    grid = sampling_grid(base, ceiling=CEILING * base)
    steps = step_sizes(scenario, base, ceiling=CEILING * base)
    return np.union1d(grid, steps) if steps.size else grid


def _curve_of_draws(scenario: Scenario, sizes: np.ndarray, draws: int) -> Curve:
    """The curve with a row for each draw, also where all draws have the same.

    Draws are taken in pieces whose intermediate results stay in the cache.
    """
    rows = max(1, PIECE // max(1, sizes.size))
    if draws <= rows:
        curves = [scaling_curve(scenario, sizes)]
    else:
        pieces = (slice(start, start + rows) for start in range(0, draws, rows))
        curves = [scaling_curve(take(scenario, piece), sizes) for piece in pieces]
    first = curves[0]
    if len(curves) == 1 or (first.pool.shape[0] == 1 and first.productive.shape[0] == 1):
        pool, productive = first.pool, first.productive
    else:
        pool, productive = (
            np.concatenate([getattr(curve, name) for curve in curves])
            for name in ("pool", "productive")
        )
    shape = (draws, first.dp.size)
    return Curve(first.dp, np.broadcast_to(pool, shape), np.broadcast_to(productive, shape))


def _curve_from(
    scenario: Scenario, pool: np.ndarray, baseline: np.ndarray, sizes: np.ndarray
) -> Curve:
    """The curve from the baseline itself upwards: its first point is (N0, Π(N0))."""
    above = _curve_of_draws(scenario, sizes[1:], pool.shape[0])
    return Curve(
        np.concatenate([sizes[:1], above.dp]),
        np.hstack([pool, above.pool]),
        np.hstack([baseline, above.productive]),
    )


def _extended(scenario: Scenario, near: Curve, rows: np.ndarray, sizes: np.ndarray) -> Curve:
    """Rows of a curve with further sizes."""
    beyond = _curve_of_draws(scenario, sizes, rows.size)
    return Curve(
        np.concatenate([near.dp, beyond.dp]),
        np.hstack([near.pool[rows], beyond.pool]),
        np.hstack([near.productive[rows], beyond.productive]),
    )


def _exact(
    scenario: Scenario,
    near: Curve,
    sizes: np.ndarray,
    baseline: np.ndarray,
    treated: np.ndarray,
) -> np.ndarray:
    """Signed SEA. Only draws with a target beyond the near samples see the whole grid."""
    sea = np.zeros(treated.shape)
    pool = near.pool[:, :1]
    gain = treated - baseline
    negligible = np.abs(gain) <= ROUNDING * baseline

    rising = (gain > 0) & ~negligible
    index, reached = first_at_or_above(near, np.where(rising, treated, np.inf))
    row, option = np.nonzero(rising & reached)
    sea[row, option] = climb(scenario, near, row, treated[row, option], index[row, option])

    beyond = rising & ~reached
    rows = np.flatnonzero(beyond.any(axis=1))
    if rows.size:
        part = take(scenario, rows)
        far = _extended(part, near, rows, sizes[NEAR:])
        crossings = _climb_far(part, far, treated[rows], beyond[rows])
        sea[rows] = np.where(beyond[rows], crossings, sea[rows])

    row, option = np.nonzero((gain < 0) & ~negligible)
    sea[row, option] = descend(scenario, near, row, treated[row, option])
    return np.where(negligible, 0.0, sea - pool)


def _climb_far(
    scenario: Scenario, curve: Curve, treated: np.ndarray, wanted: np.ndarray
) -> np.ndarray:
    """Pools that reach the wanted targets on the whole grid, 0 elsewhere; (n, K)."""
    index, reached = first_at_or_above(curve, np.where(wanted, treated, np.inf))
    result = np.zeros(treated.shape)
    row, option = np.nonzero(wanted & reached)
    result[row, option] = climb(scenario, curve, row, treated[row, option], index[row, option])
    row, option = np.nonzero(wanted & ~reached)
    result[row, option] = climb_past_samples(scenario, curve, row, treated[row, option])
    return result
