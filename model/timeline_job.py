"""What a timeline needs of a scenario: its rates, durations and spares, from the definitions.

Shapes: a scenario's real fields are scalars, (n,) or (n, 1); columns are (n, 1), and one value a
timeline, (t,), once they are spread over replicates.
"""

from typing import NamedTuple

import numpy as np
from scipy import special

from model.failure_process import FailureProcess
from model.forms import ASYNC_CHECKPOINT, REPAIR_QUEUE
from model.numerics import Value
from model.scenario import Scenario

SECONDS_PER_DAY = 86_400.0


class Job(NamedTuple):
    """What a timeline needs of a scenario, one value a configuration or one a timeline."""

    node_rate_per_s: np.ndarray
    job_rate_per_s: np.ndarray
    dispersion: np.ndarray
    write_s: np.ndarray
    interval_s: np.ndarray
    detection_s: np.ndarray
    restart_s: np.ndarray
    repair_s: np.ndarray
    lag_s: np.ndarray
    spares: np.ndarray
    wait_probability: np.ndarray
    window_s: np.ndarray


def job_of(scenario: Scenario) -> Job:
    """Rates and durations of a scenario, from the published definitions."""
    field = scenario.reliability
    per_node = scenario.accelerator.accelerators_per_node
    node_rate = scenario.world / per_node * field.failure_rate_per_node_day / SECONDS_PER_DAY
    job_rate = np.asarray(field.failure_rate_per_job_day) / SECONDS_PER_DAY
    rate = node_rate + job_rate
    write = field.checkpoint_write_s * field.checkpoint_blocking_fraction
    background: Value = 0.0
    lag: Value = 0.0
    if ASYNC_CHECKPOINT in scenario.refinements:
        background = field.checkpoint_write_s - write
        lag = background + field.durability_lag_s
    # u = min(1/2, λ·repair·per node / job accelerators); what is not a node's takes none away.
    down = np.minimum(0.5, node_rate * field.repair_time_s * per_node / scenario.world)
    if REPAIR_QUEUE in scenario.refinements:
        down = np.zeros_like(down)
    window = scenario.window_days * SECONDS_PER_DAY * (1.0 - down)
    spares = np.floor(field.spare_fraction * scenario.pool / per_node)
    columns = np.broadcast_arrays(
        *(
            np.reshape(np.asarray(value, dtype=np.float64), (-1, 1))
            for value in (
                node_rate,
                job_rate,
                field.failure_rate_dispersion,
                write,
                _interval(field.checkpoint_interval_s, write, rate, window, background),
                field.detect_time_s,
                field.restart_time_s,
                field.repair_time_s,
                lag,
                spares,
                1.0 - _free(spares, node_rate * field.repair_time_s),
                window,
            )
        )
    )
    return Job(*columns)


def _interval(
    given: Value, write: Value, rate: Value, window: Value, background: Value
) -> np.ndarray:
    """Time between checkpoints: as given, else Daly's optimum max(60, sqrt(2wM) − w).

    It is at least what a write goes on for in the background, and that, or a minute, where nothing
    of it blocks. One that the window cannot hold is as good as none: it is cut, so that it stays
    finite.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        mttf = np.divide(1.0, rate)
        root = np.divide(np.sqrt(np.multiply(2.0, write)), np.sqrt(rate))
    free = np.where(np.asarray(background) > 0, 0.0, mttf)
    optimum = np.maximum(60.0, np.where(np.asarray(write) > 0, root - write, free))
    optimum = np.maximum(optimum, background)
    interval = optimum if given is None else np.where(np.isnan(given), optimum, given)
    return np.asarray(np.minimum(interval, 2.0 * window))


def interruption_rate(job: Job, process: FailureProcess) -> np.ndarray:
    """Interruptions per second; nodes that fail together are one."""
    return np.asarray(job.node_rate_per_s / process.nodes_per_failure + job.job_rate_per_s)


def varied(job: Job, process: FailureProcess, generator: np.random.Generator) -> Job:
    """The job of each timeline with the rates of its window, and what they do to spares."""
    own = process.rate_dispersion
    dispersion = job.dispersion if own is None else np.full(job.dispersion.size, own)
    if not dispersion.any():
        return job
    varies = dispersion > 0
    shape = 1.0 / np.where(varies, dispersion, 1.0)
    level = np.where(varies, generator.standard_gamma(shape) / shape, 1.0)
    node_rate = job.node_rate_per_s * level
    return job._replace(
        node_rate_per_s=node_rate,
        job_rate_per_s=job.job_rate_per_s * level,
        wait_probability=1.0 - _free(job.spares, node_rate * job.repair_s),
    )


def _free(spares: Value, under_repair: Value) -> np.ndarray:
    """P(a spare is free): at most spares − 1 nodes are under repair."""
    return np.where(spares >= 1, special.pdtr(spares - 1, under_repair), 0.0)
