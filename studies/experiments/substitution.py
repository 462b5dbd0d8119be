"""What interventions are worth by regime (e2), at the edges (e4), informally (e5)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from model.interventions import Intervention
from model.ledger import account
from model.numerics import Value
from model.scenario import Scenario, stack, with_values
from model.substitution import Solver, informal_equivalent
from studies.experiments.comparison import Comparison, compare
from studies.experiments.inputs import (
    FAILURE_RATE,
    OVERSUBSCRIPTION,
    SCALE,
    StudyInputs,
    at,
)

REGIME_SCALES = (4096, 16_384, 65_536)

BIAS_SCALES = (2048, 8192, 16_384, 32_768, 65_536)
BIAS_RATES = (1e-3, 5e-3, 1.5e-2)
BIAS_OVERSUBSCRIPTION = 7.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Counterexample:
    """A case in which the common rule of thumb should fail.

    Parameters
    ----------
    name
        As in the published table.
    values
        Fields that it changes, by dotted path.
    accelerators
        Its scale.
    """

    name: str
    values: Mapping[str, Value] = field(default_factory=dict)
    accelerators: int = SCALE


HUGE_JOB = Counterexample(name="huge_job", accelerators=131_072)

COUNTEREXAMPLES = (
    Counterexample(name="tiny_job", accelerators=1024),
    Counterexample(name="short_sequence", values={"model.seq_len": 2048}),
    Counterexample(name="long_sequence", values={"model.seq_len": 32_768}),
    Counterexample(name="weak_scaling", values={"scaling_mode": "weak"}),
    Counterexample(
        name="perfect_network",
        values={"accelerator.nic_bw_gbps": 3200.0, OVERSUBSCRIPTION: 1.0},
    ),
    Counterexample(name="perfect_reliability", values={FAILURE_RATE: 1e-5}),
    HUGE_JOB,
    Counterexample(
        name="failslow_fleet",
        values={
            "reliability.failslow_prob_per_node": 0.01,
            "reliability.failslow_slowdown": 1.5,
        },
    ),
    Counterexample(name="tiny_batch", values={"parallelism.global_batch_seqs": 512}),
    Counterexample(name="huge_batch", values={"parallelism.global_batch_seqs": 8192}),
)

_SUBSTITUTION_COLUMNS = (
    "baseline_pool",
    "baseline_productive_accelerators",
    "treated_productive_accelerators",
    "delta_productive_accelerators",
    "sea",
    "sea_fraction_of_pool",
    "attainable_by_scaling",
    "best_throughput_by_scaling",
    "naive_equivalent",
    "baseline_ucf",
    "treated_ucf",
)


def sea_by_regime(inputs: StudyInputs, *, solver: Solver = "published") -> pd.DataFrame:
    """e2: every intervention in five regimes at three scales."""
    scenario = inputs.scenario
    paths = (FAILURE_RATE, OVERSUBSCRIPTION)
    shifts = {
        path: [regime.overrides.get(path, scenario.value(path)) for regime in inputs.regimes]
        for path in paths
    }
    parts = {}
    for accelerators in REGIME_SCALES:
        result = compare(at(scenario, accelerators, shifts), inputs.interventions, solver=solver)
        for case, regime in enumerate(inputs.regimes):
            labels = {"regime": regime.name, "n_accelerators": accelerators}
            parts[regime.name, accelerators] = _rows(result, case, labels)
    order = [(regime.name, scale) for regime in inputs.regimes for scale in REGIME_SCALES]
    return pd.concat([parts[key] for key in order], ignore_index=True)


def counterexamples(inputs: StudyInputs, *, solver: Solver = "published") -> pd.DataFrame:
    """e4: every intervention in ten cases at the edges of operating space."""
    parts = []
    for example in COUNTEREXAMPLES:
        scenario = at(inputs.scenario, example.accelerators, example.values)
        result = compare(scenario, inputs.interventions, solver=solver)
        ledger = result.baseline
        labels = {
            "case": example.name,
            "n_accelerators": example.accelerators,
            "baseline_blocked_comm_share": float(
                np.squeeze(ledger.blocked_communication / ledger.owned)
            ),
            "baseline_failure_share": float(
                np.squeeze((ledger.discarded + ledger.blocked_restart) / ledger.owned)
            ),
        }
        parts.append(_rows(result, 0, labels))
    return pd.concat(parts, ignore_index=True)


def informal_bias(inputs: StudyInputs, *, solver: Solver = "published") -> pd.DataFrame:
    """e5: the informal figure against SEA, its ratio empty where SEA is 0 or unattainable.

    The published table, unlike e2, takes the informal figure of spares without re-planning: the
    job keeps its size and the pool grows, so that nothing is freed. Its convention is kept under
    ``published``; otherwise the budget is fixed as everywhere else.
    """
    parts = []
    for accelerators in BIAS_SCALES:
        scenario = at(
            inputs.scenario,
            accelerators,
            {OVERSUBSCRIPTION: BIAS_OVERSUBSCRIPTION, FAILURE_RATE: BIAS_RATES},
        )
        result = compare(scenario, inputs.interventions, solver=solver)
        ledger = result.baseline
        sea, informal = result.columns["sea"], result.columns["naive_equivalent"]
        if solver == "published":
            grown = [_without_replanning(scenario, option) for option in inputs.interventions]
            informal = np.broadcast_to(
                informal_equivalent(ledger, account(stack(grown, axis=1))), sea.shape
            )
        usable = np.isfinite(sea) & (sea != 0)
        ratio = np.divide(informal, sea, out=np.full(sea.shape, np.nan), where=usable)
        shape = sea.shape
        columns = {
            "intervention": np.broadcast_to(np.array(result.names, dtype=object), shape),
            "n_accelerators": np.full(shape, accelerators),
            "failure_rate_per_node_day": result.of_baseline(np.array(BIAS_RATES)),
            "sea": sea,
            "naive": informal,
            "ratio_naive_over_sea": ratio,
            "baseline_ucf": result.columns["baseline_ucf"],
            "ettr_times_step_efficiency": result.of_baseline(ledger.ettr * ledger.step.efficiency),
            "recovery_pressure": result.of_baseline(ledger.recovery_pressure),
            "within_validity_envelope": result.of_baseline(ledger.in_scope),
        }
        parts.append(pd.DataFrame({name: column.ravel() for name, column in columns.items()}))
    return pd.concat(parts, ignore_index=True)


def _without_replanning(scenario: Scenario, option: Intervention) -> Scenario:
    changes = dict(option.overrides)
    for path, factor in option.multipliers.items():
        changes[path] = scenario.value(path) * factor
    return with_values(scenario, changes, source=f"intervention {option.name}")


def _rows(result: Comparison, case: int, labels: Mapping[str, object]) -> pd.DataFrame:
    """One case's rows, in the columns of the published tables."""
    ledger = result.baseline
    return pd.DataFrame(
        {
            "intervention": result.names,
            **{name: result.columns[name][case] for name in _SUBSTITUTION_COLUMNS},
            **labels,
            "recovery_pressure": result.of_baseline(ledger.recovery_pressure)[case],
            "within_validity_envelope": result.of_baseline(ledger.in_scope)[case],
        }
    )
