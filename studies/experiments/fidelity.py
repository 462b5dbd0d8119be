"""Renewal expectations against the event-driven timeline (e8), and other failure processes."""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from model.failure_process import FailureProcess
from model.ledger import account
from model.recovery import recover
from model.scenario import Scenario, stack
from model.step import healthy_step
from model.timeline import Timeline, simulate, standard_error
from studies.experiments.inputs import FAILURE_RATE, SCALE, SEED, StudyInputs, at, crossed

SCALES = (2048, 8192, 16_384, 65_536)
RATES = (1e-3, 5e-3, 1.5e-2, 3e-2)

REPLICATES = 300

FINE_ERROR = 7e-5
"""Relative standard error of UCF in the fine comparison: about a third of the published bound."""

PROCESS_REPLICATES = 1000
PROCESS_RATES = (5e-3, 1.5e-2)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedProcess:
    """A failure process with its name in tables."""

    name: str
    process: FailureProcess


PROCESSES = (
    NamedProcess(name="exponential, as published", process=FailureProcess()),
    NamedProcess(name="Weibull, shape 0.7", process=FailureProcess(weibull_shape=0.7)),
    NamedProcess(name="Weibull, shape 1.5", process=FailureProcess(weibull_shape=1.5)),
    NamedProcess(name="gamma-Poisson, rate ±30%", process=FailureProcess(rate_dispersion=0.3**2)),
    NamedProcess(name="gamma-Poisson, rate ±100%", process=FailureProcess(rate_dispersion=1.0)),
    NamedProcess(name="geometric, 2 nodes at once", process=FailureProcess(nodes_per_failure=2.0)),
    NamedProcess(name="geometric, 8 nodes at once", process=FailureProcess(nodes_per_failure=8.0)),
)


def cross_fidelity(inputs: StudyInputs) -> pd.DataFrame:
    """e8: both implementations at 16 configurations, 300 replicates each."""
    table = _compare(inputs, simulate(_cases(inputs), REPLICATES, _generator(0)))
    return table.drop(columns=[name for name in table if name.endswith("_se")])


def cross_fidelity_errors(inputs: StudyInputs) -> pd.DataFrame:
    """Standard errors of the event-driven columns of e8, from the same 300 replicates."""
    table = _compare(inputs, simulate(_cases(inputs), REPLICATES, _generator(0)))
    keys = ["n_accelerators", "failure_rate_per_node_day"]
    return table[keys + [name for name in table if name.endswith("_se")]]


def fine_comparison(inputs: StudyInputs, *, accelerators: int, failure_rate: float) -> pd.DataFrame:
    """One configuration of e8 again, with as many replicates as a small error takes.

    A pilot of 300 replicates says how many; the estimate uses none of them.
    """
    scenario = at(inputs.scenario, accelerators, {FAILURE_RATE: failure_rate})
    position = SCALES.index(accelerators) * len(RATES) + RATES.index(failure_rate)
    pilot = _ucf(scenario, simulate(scenario, REPLICATES, _generator(1, position, 0)))
    variation = float(pilot.std(ddof=1) / pilot.mean())
    replicates = max(REPLICATES, math.ceil((variation / FINE_ERROR) ** 2))
    timeline = simulate(scenario, replicates, _generator(1, position, 1))
    ucf = _ucf(scenario, timeline)
    analytical = float(np.squeeze(account(scenario).ucf))
    return pd.DataFrame(
        {
            "n_accelerators": [accelerators],
            "failure_rate_per_node_day": [failure_rate],
            "replicates": [replicates],
            "ucf_analytical": [analytical],
            "ucf_monte_carlo": [float(ucf.mean())],
            "rel_difference_ucf": [float(ucf.mean()) / analytical - 1.0],
            "rel_difference_ucf_se": [float(standard_error(ucf)[0]) / analytical],
        }
    )


def other_processes(inputs: StudyInputs) -> pd.DataFrame:
    """How far the renewal expectations are off where failures come otherwise; mean rate kept."""
    cases = [at(inputs.scenario, SCALE, {FAILURE_RATE: rate}) for rate in PROCESS_RATES]
    scenario = stack(cases, axis=0)
    parts = []
    for index, named in enumerate(PROCESSES):
        timeline = simulate(
            scenario, PROCESS_REPLICATES, _generator(2, index), process=named.process
        )
        ucf = _ucf(scenario, timeline)
        expected = np.reshape(account(scenario).ucf, -1)
        parts.append(
            pd.DataFrame(
                {
                    "process": named.name,
                    "n_accelerators": SCALE,
                    "failure_rate_per_node_day": PROCESS_RATES,
                    "replicates": PROCESS_REPLICATES,
                    "interruptions": timeline.failures.mean(axis=1),
                    "interruptions_sd": timeline.failures.std(axis=1, ddof=1),
                    "ucf_renewal": expected,
                    "ucf_timeline": ucf.mean(axis=1),
                    "ucf_timeline_se": standard_error(ucf),
                    "ucf_p10": np.quantile(ucf, 0.1, axis=1),
                    "ucf_p90": np.quantile(ucf, 0.9, axis=1),
                    "rel_difference": ucf.mean(axis=1) / expected - 1.0,
                    "rel_difference_se": standard_error(ucf) / expected,
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def _generator(*key: int) -> np.random.Generator:
    """A stream of its own for each part, whatever else is run."""
    return np.random.default_rng(np.random.SeedSequence(SEED, spawn_key=key))


def _cases(inputs: StudyInputs) -> Scenario:
    """The 16 configurations of e8, rows of one scenario."""
    cells = crossed(n_accelerators=SCALES, failure_rate=RATES)
    return stack(
        [
            at(inputs.scenario, int(accelerators), {FAILURE_RATE: float(rate)})
            for accelerators, rate in zip(*cells.values(), strict=True)
        ],
        axis=0,
    )


def _column(value: object) -> np.ndarray:
    return np.reshape(np.asarray(value, dtype=np.float64), (-1, 1))


def _ucf(scenario: Scenario, timeline: Timeline) -> np.ndarray:
    """UCF of each replicate: job accelerators' running time × step efficiency over N·T; (n, R)."""
    job = _column(scenario.world) * _column(healthy_step(scenario).efficiency)
    return np.asarray(timeline.running_s * job / (_column(scenario.pool) * scenario.window_s))


def _compare(inputs: StudyInputs, timeline: Timeline) -> pd.DataFrame:
    scenario = _cases(inputs)
    ledger, recovery = account(scenario), recover(scenario)
    cells = crossed(n_accelerators=SCALES, failure_rate_per_node_day=RATES)
    ucf = _ucf(scenario, timeline)
    discarded = timeline.discarded_s * _column(scenario.world)
    expected = np.reshape(ledger.ucf, -1)
    return pd.DataFrame(
        {
            "n_accelerators": cells["n_accelerators"].astype(np.int64),
            "failure_rate_per_node_day": cells["failure_rate_per_node_day"],
            "ucf_analytical": expected,
            "ucf_monte_carlo": ucf.mean(axis=1),
            "ucf_monte_carlo_se": standard_error(ucf),
            "rel_error_ucf": np.abs(ucf.mean(axis=1) / expected - 1.0),
            "discarded_analytical": np.reshape(ledger.discarded, -1),
            "discarded_monte_carlo": discarded.mean(axis=1),
            "discarded_monte_carlo_se": standard_error(discarded),
            "failures_analytical": np.reshape(recovery.failures, -1),
            "failures_monte_carlo": timeline.failures.mean(axis=1),
            "failures_monte_carlo_se": standard_error(timeline.failures),
            "recovery_pressure": np.reshape(ledger.recovery_pressure, -1),
            "within_validity_envelope": np.reshape(ledger.in_scope, -1),
        }
    )
