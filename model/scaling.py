"""Re-planning a job to another pool, and throughput against pool size.

Shapes: a scenario's real fields are scalars or (draws, 1); data-parallel sizes are (1, pools).
"""

from typing import NamedTuple

import numpy as np

from model.errors import InputError
from model.forms import WHOLE_MICROBATCHES
from model.ledger import productive_accelerators
from model.numerics import Value
from model.scenario import Scenario, substitute

SINGLE_STEPS = 16
"""Sizes next to the base that are sampled one by one."""

GROWTH = 1.07
"""Ratio of the sizes sampled beyond them."""

CEILING = 64
"""The search ends at this multiple of the base size."""


class Curve(NamedTuple):
    """Productive accelerators against the pool.

    Parameters
    ----------
    dp
        Data-parallel sizes, shape (pools,).
    pool
        Accelerators owned at each, shape (draws, pools).
    productive
        Π at each, shape (draws, pools).
    """

    dp: np.ndarray
    pool: np.ndarray
    productive: np.ndarray


def replan(scenario: Scenario, dp: Value) -> Scenario:
    """The job on ``dp`` replicas; the pool is recomputed from the new world.

    Strong scaling keeps the global batch; weak scaling grows it as floor(batch·dp/base dp), at
    most max_global_batch_seqs.
    """
    plan = scenario.parallelism
    changes = {"parallelism.dp": dp, "n_pool": None}
    if scenario.scaling_mode == "weak":
        grown = plan.global_batch_seqs * dp // plan.dp
        changes["parallelism.global_batch_seqs"] = np.minimum(grown, scenario.max_global_batch_seqs)
    return substitute(scenario, changes)


def is_realisable(scenario: Scenario) -> Value:
    """Whether each replica has at least one microbatch."""
    plan = scenario.parallelism
    return plan.global_batch_seqs >= plan.dp * plan.micro_batch


def replicas_of_pool(scenario: Scenario, pool: Value) -> Value:
    """Replicas that fit a pool: floor(floor(P/(1 + spare + stranded))/(tp·pp·cp))."""
    job = np.floor(pool / scenario.overhead)
    return np.floor_divide(job, scenario.replica).astype(np.int64)


def replan_to_pool(scenario: Scenario, pool: Value, *, source: str) -> Scenario:
    """The job on as many replicas as fit a pool.

    Raises
    ------
    InputError
        If no replica fits, or a replica would have less than one microbatch.
    """
    dp = replicas_of_pool(scenario, pool)
    if np.any(dp < 1):
        raise InputError.single(
            message=f"a pool of {int(np.min(pool))} accelerators holds no replica of "
            f"{scenario.replica} with its spares and stranded share",
            source=source,
            remedy=f"allowed are pools of at least "
            f"{int(np.ceil(np.max(scenario.replica * scenario.overhead)))}",
        )
    planned = replan(scenario, dp if dp.ndim else int(dp))
    if not np.all(is_realisable(planned)):
        raise InputError.single(
            message=f"a pool of {int(np.max(pool))} accelerators gives {int(np.max(dp))} replicas, "
            "fewer than one microbatch each",
            source=source,
            path="parallelism.global_batch_seqs",
            remedy="use a larger global batch, a smaller pool, or scaling_mode weak",
        )
    return planned


def at_scale(scenario: Scenario, accelerators: int, *, source: str) -> Scenario:
    """The job re-planned to the pool ceil(n·(1 + spare + stranded))."""
    return replan_to_pool(scenario, np.ceil(accelerators * scenario.overhead), source=source)


def sampling_grid(base: int, *, ceiling: int) -> np.ndarray:
    """Data-parallel sizes of the published search: base … base + 16, then 7% apart.

    x starts at base + 16 and grows by 1.07; sizes are min(round(x), ceiling) while x is below the
    ceiling, and the ceiling is the last.
    """
    sizes = list(range(base, base + SINGLE_STEPS + 1))
    x = float(base + SINGLE_STEPS)
    while x < ceiling:
        x *= GROWTH
        sizes.append(min(round(x), ceiling))
    return np.unique(np.array(sizes, dtype=np.int64))


def step_sizes(scenario: Scenario, base: int, *, ceiling: int) -> np.ndarray:
    """Data-parallel sizes above the base from which replicas run one microbatch less.

    With whole microbatches and a global batch that stays, throughput jumps there and falls a
    little up to the next: ceil(batch/(micro_batch·k)) for k microbatches, k = 1, 2, ….
    """
    plan = scenario.parallelism
    if WHOLE_MICROBATCHES not in scenario.refinements or scenario.scaling_mode == "weak":
        return np.empty(0, dtype=np.int64)
    sequences = int(np.min(plan.global_batch_seqs)) / int(np.min(plan.micro_batch))
    counts = np.arange(1, int(np.ceil(sequences / base)))
    sizes = np.ceil(sequences / counts).astype(np.int64)
    return np.unique(sizes[(sizes > base) & (sizes <= min(ceiling, sequences))])


def scaling_curve(scenario: Scenario, sizes: np.ndarray) -> Curve:
    """Π of the baseline at the realisable ones among some data-parallel sizes, shape (sizes,)."""
    kept = np.atleast_2d(is_realisable(replan(scenario, sizes[np.newaxis, :]))).all(axis=0)
    planned = replan(scenario, sizes[np.newaxis, kept])
    if not kept.any():
        return Curve(sizes[:0], np.empty((1, 0)), np.empty((1, 0)))
    pool, productive = np.broadcast_arrays(
        np.atleast_2d(planned.pool), np.atleast_2d(productive_accelerators(planned))
    )
    return Curve(sizes[kept], pool, productive)
