"""Where accelerator time goes as the job grows (e1), and throughput against the pool (e9)."""

import numpy as np
import pandas as pd

from model.ledger import account
from model.scaling import replan, scaling_curve
from studies.experiments.inputs import FAILURE_RATE, OVERSUBSCRIPTION, StudyInputs, at, crossed

LEDGER_SCALES = (1024, 2048, 4096, 8192, 16_384, 32_768, 65_536)
LEDGER_OVERSUBSCRIPTION = (1.0, 4.0, 7.0, 16.0)

CURVE_FROM = 4096
CURVE_TIMES = 32
CURVE_STEPS = 40
CURVE_RATES = (1e-3, 5e-3, 1.5e-2)


def ledger_by_scale(inputs: StudyInputs) -> pd.DataFrame:
    """e1: the ledger at seven scales and four oversubscriptions."""
    parts = []
    for accelerators in LEDGER_SCALES:
        scenario = at(inputs.scenario, accelerators, {OVERSUBSCRIPTION: LEDGER_OVERSUBSCRIPTION})
        ledger = account(scenario)
        pool = int(scenario.pool)
        columns = {
            "scenario": f"{scenario.name}@pool{pool}",
            "fidelity": "analytical",
            "n_pool": pool,
            "world_size": int(scenario.world),
            "window_days": scenario.window_days,
            "productive": ledger.productive,
            "blocked_comm": ledger.blocked_communication,
            "blocked_sync": ledger.blocked_synchronisation,
            "blocked_bubble": ledger.blocked_bubble,
            "blocked_checkpoint": ledger.blocked_checkpoint,
            "blocked_restart": ledger.blocked_restart,
            "discarded": ledger.discarded,
            "unavailable_down": ledger.unavailable_down,
            "unavailable_spare_stranded": ledger.unavailable_idle,
            "total": ledger.total,
            "ucf": ledger.ucf,
            "productive_accelerators": ledger.productive_accelerators,
            "tokens_per_second": ledger.tokens_per_second,
            "ettr": ledger.ettr,
            "step_efficiency": ledger.step.efficiency,
            "t_step_s": ledger.step.total_s,
            "job_mttf_hours": 1.0 / ledger.recovery.failure_rate_per_s / 3600.0,
            "checkpoint_interval_s": ledger.recovery.interval_s,
            "n_failures": ledger.recovery.failures,
            "recovery_pressure": ledger.recovery_pressure,
            "within_validity_envelope": ledger.in_scope,
            "n_accelerators": accelerators,
            "oversubscription": np.array(LEDGER_OVERSUBSCRIPTION),
        }
        rows = len(LEDGER_OVERSUBSCRIPTION)
        parts.append(
            pd.DataFrame(
                {
                    name: np.broadcast_to(np.reshape(column, -1), (rows,))
                    for name, column in columns.items()
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def scaling_curves(inputs: StudyInputs) -> pd.DataFrame:
    """e9: Π against the pool, from 4,096 accelerators up to 32 times.

    Sizes are equal steps of whole replicas, a fortieth of the span rounded down, and the last
    size itself: a linear axis, since the question is what the next accelerator brings.
    """
    columns = crossed(oversubscription=LEDGER_OVERSUBSCRIPTION, failure_rate=CURVE_RATES)
    scenario = at(
        inputs.scenario,
        CURVE_FROM,
        {OVERSUBSCRIPTION: columns["oversubscription"], FAILURE_RATE: columns["failure_rate"]},
    )
    base = int(np.min(scenario.parallelism.dp))
    last = CURVE_TIMES * base
    step = (last - base) // CURVE_STEPS
    curve = scaling_curve(scenario, np.append(np.arange(base, last, step), last))
    sizes = curve.dp.size
    return pd.DataFrame(
        {
            "oversubscription": np.repeat(columns["oversubscription"], sizes),
            "failure_rate_per_node_day": np.repeat(columns["failure_rate"], sizes),
            "n_pool": curve.pool.ravel().astype(np.int64),
            "productive_accelerators": curve.productive.ravel(),
            "productive_per_pool": (curve.productive / curve.pool).ravel(),
        }
    )


def marginal_accelerators(inputs: StudyInputs) -> pd.DataFrame:
    """Productive accelerators that one more accelerator brings, midway between sizes of e9."""
    curves = scaling_curves(inputs)
    keys = ["oversubscription", "failure_rate_per_node_day"]
    steps = curves.groupby(keys)[["n_pool", "productive_accelerators"]].diff()
    marginal = steps["productive_accelerators"] / steps["n_pool"]
    middle = curves["n_pool"] - steps["n_pool"] / 2.0
    table = curves[keys].assign(n_pool=middle, marginal_accelerator=marginal)
    return table.dropna().reset_index(drop=True)


def huge_job_curve(inputs: StudyInputs, accelerators: int) -> pd.DataFrame:
    """Π at every data-parallel size of a job up to twice its pool."""
    scenario = at(inputs.scenario, accelerators, {})
    base = int(scenario.parallelism.dp)
    curve = scaling_curve(scenario, np.arange(base, 2 * base + 1))
    pool = float(replan(scenario, base).pool)
    return pd.DataFrame(
        {
            "dp": curve.dp,
            "n_pool": curve.pool[0].astype(np.int64),
            "pool_ratio": curve.pool[0] / pool,
            "productive_accelerators": curve.productive[0],
        }
    )
