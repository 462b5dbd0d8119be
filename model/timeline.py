"""The job's timeline event by event: the independent check of :mod:`model.recovery`.

Every wall-clock second of the running window is booked when it passes, to steps, checkpoints,
discarded work, detection or restart; nothing is rescaled afterwards.

Shapes: a scenario's real fields are scalars, (n,) or (n, 1); R replicates; accounts are (n, R).
The loop goes over events, and only over the timelines that have not reached their end.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special

from model.errors import InputError
from model.forms import ASYNC_CHECKPOINT, DETECTION_BLOCKED, REPAIR_QUEUE
from model.numerics import Value
from model.repair_queue import RepairQueue
from model.scenario import Scenario

SECONDS_PER_DAY = 86_400.0

CONSERVATION_TOLERANCE = 1e-9
"""Booked seconds may differ from the window by this share: rounding of some thousand sums."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureProcess:
    """How failures come. As it stands: independent exponential gaps, at the scenario's rates.

    Each departure keeps the mean rate at which nodes fail, so that what changes is due to the
    process and not to more failures.

    Parameters
    ----------
    weibull_shape
        Shape k of Weibull gaps of mean 1/λ, renewed by each restart; below 1 failures cluster
        after a restart, above 1 they come with age.
    rate_dispersion
        Squared coefficient of variation φ of the rate from one replicate to another: the rate is
        λ·G, G gamma of mean 1 and variance φ, for the whole window. Counts are then negative
        binomial with variance m + φm². None: the scenario's, which is 0 as published.
    nodes_per_failure
        Mean number of nodes that fail at once, geometric. One such event is one interruption of
        the job, so that nodes interrupt it at λ/mean; all of them need a spare at once, and
        where the free ones do not suffice the job waits for one repair. At 1 the wait is the
        published expectation, above it is drawn event by event.
    """

    weibull_shape: float = 1.0
    rate_dispersion: float | None = None
    nodes_per_failure: float = 1.0

    def __post_init__(self) -> None:
        """Refuse what is no process."""
        if not self.weibull_shape > 0:
            raise InputError.single(
                message=f"got {self.weibull_shape}, a shape is positive",
                source="failure process",
                path="weibull_shape",
            )
        if self.rate_dispersion is not None and not self.rate_dispersion >= 0:
            raise InputError.single(
                message=f"got {self.rate_dispersion}, a variance is at least 0",
                source="failure process",
                path="rate_dispersion",
            )
        if not self.nodes_per_failure >= 1:
            raise InputError.single(
                message=f"got {self.nodes_per_failure}, at least one node fails",
                source="failure process",
                path="nodes_per_failure",
            )


PUBLISHED_PROCESS = FailureProcess()


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """Booked seconds per accelerator of the job; all of shape (n, R).

    Parameters
    ----------
    window_s
        Running window W = T(1 − u); shape (n, 1).
    running_s
        Steps whose result survives.
    checkpoint_s
        Blocking writes of checkpoints that become durable, or that the window's end interrupts.
    lost_s
        Time between the last durable checkpoint and a failure.
    detection_s
        Time until failures are detected.
    restart_s
        Restarts, with the wait for a repair.
    failures
        Interruptions of the job.
    detection_blocked
        Whether the time until detection counts as restart, not as discarded.
    """

    window_s: np.ndarray
    running_s: np.ndarray
    checkpoint_s: np.ndarray
    lost_s: np.ndarray
    detection_s: np.ndarray
    restart_s: np.ndarray
    failures: np.ndarray
    detection_blocked: bool = False

    @property
    def discarded_s(self) -> np.ndarray:
        """Lost work, and the time until detection unless that is blocked."""
        return self.lost_s if self.detection_blocked else np.asarray(self.lost_s + self.detection_s)

    @property
    def replicates(self) -> int:
        """Number of replicates R."""
        return int(self.running_s.shape[1])


_ACCOUNTS = ("running_s", "checkpoint_s", "lost_s", "detection_s", "restart_s", "failures")


class _Job(NamedTuple):
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


def standard_error(values: np.ndarray) -> np.ndarray:
    """Standard error of means over replicates, s/√R; shape (n,).

    Raises
    ------
    InputError
        If there is one replicate only.
    """
    count = values.shape[1]
    if count <= 1:
        raise InputError.single(
            message="got 1 replicate, a standard error needs two", source="timeline"
        )
    return np.asarray(values.std(axis=1, ddof=1) / np.sqrt(count))


def simulate(
    scenario: Scenario,
    replicates: int,
    generator: np.random.Generator,
    *,
    process: FailureProcess = PUBLISHED_PROCESS,
) -> Timeline:
    """Live through the window, failure by failure.

    A cycle is: steps, with a checkpoint written after each interval, until the failure; what lies
    after the last durable checkpoint is lost; detection; restart. The first interval after a
    restart begins anew. The window's end cuts whatever is under way; unfinished work is kept,
    since no failure has undone it.

    Parameters
    ----------
    scenario
        The job, with scalars or one row of fields a configuration.
    replicates
        Timelines of each configuration.
    generator
        Source of randomness.
    process
        How failures come.

    Returns
    -------
    Timeline
        Means over replicates estimate the expectations of :func:`model.recovery.recover`, with
        the error of :func:`standard_error`.

    Raises
    ------
    ArithmeticError
        If the booked seconds do not fill the window: a fault of this code, not of the input.

    References
    ----------
    Nanyonga 2026, section 3 of the published definitions, second implementation.
    """
    configurations = _job(scenario)
    shape = (configurations.window_s.shape[0], replicates)
    job = _Job(*(np.broadcast_to(column, shape).ravel() for column in configurations))
    window = job.window_s
    job = _varied(job, process, generator)
    with np.errstate(divide="ignore"):
        mean_gap = np.divide(1.0, _interruption_rate(job, process))
    left = window.copy()
    booked = np.zeros((len(_ACCOUNTS), window.size))
    # Finished timelines are put here, so that the loop works on whole arrays of open ones.
    ledger = np.empty_like(booked)

    repairs = _repair_queue(scenario, job, process)
    open_ = np.arange(window.size)
    while open_.size:
        running, checkpoint, lost, detection, restart, failures = booked
        gap = mean_gap * _standard_gaps(open_.size, process, generator)
        fails = gap < left
        alive = np.minimum(gap, left)
        period = job.interval_s + job.write_s
        # A failure undoes what was taken less than a lag ago.
        settled = np.where(fails, np.maximum(alive - job.lag_s, 0.0), alive)
        durable = np.floor(settled / period)
        tail = alive - durable * period
        running += durable * job.interval_s
        checkpoint += durable * job.write_s
        lost += np.where(fails, tail, 0.0)
        failures += fails
        left -= alive

        detecting = np.minimum(job.detection_s, left)
        detection += detecting
        left -= detecting
        restarts = (
            _restarts(job, process, generator)
            if repairs is None
            else _queued_restarts(job, repairs, open_, window[open_] - left, generator)
        )
        restarting = np.minimum(restarts, left)
        restart += restarting
        left -= restarting

        if left.min() <= 0.0:
            going = left > 0.0
            ended = ~going
            unfinished = np.where(fails, 0.0, tail)[ended]
            kept = np.minimum(unfinished, job.interval_s[ended])
            running[ended] += kept
            checkpoint[ended] += unfinished - kept
            ledger[:, open_[ended]] = booked[:, ended]
            booked, left, mean_gap = booked[:, going], left[going], mean_gap[going]
            job = _Job(*(column[going] for column in job))
            open_ = open_[going]

    accounts = dict(zip(_ACCOUNTS, ledger, strict=True))
    _check_conservation(accounts, window)
    return Timeline(
        window_s=configurations.window_s,
        **{name: account.reshape(shape) for name, account in accounts.items()},
        detection_blocked=DETECTION_BLOCKED in scenario.refinements,
    )


def _check_conservation(accounts: Mapping[str, np.ndarray], window: np.ndarray) -> None:
    total = sum(account for name, account in accounts.items() if name != "failures")
    worst = np.max(np.abs(total / window - 1.0))
    if not worst <= CONSERVATION_TOLERANCE:
        message = f"the timeline is not conserved: relative error {worst:.3g}"
        raise ArithmeticError(message)


def _job(scenario: Scenario) -> _Job:
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
    return _Job(*columns)


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


def _interruption_rate(job: _Job, process: FailureProcess) -> np.ndarray:
    """Interruptions per second; nodes that fail together are one."""
    return np.asarray(job.node_rate_per_s / process.nodes_per_failure + job.job_rate_per_s)


def _varied(job: _Job, process: FailureProcess, generator: np.random.Generator) -> _Job:
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


def _standard_gaps(
    count: int, process: FailureProcess, generator: np.random.Generator
) -> np.ndarray:
    """Gaps of mean 1: exponential, or Weibull of the given shape."""
    if process.weibull_shape == 1.0:
        return np.asarray(generator.standard_exponential(count))
    mean = special.gamma(1.0 + 1.0 / process.weibull_shape)
    return np.asarray(generator.weibull(process.weibull_shape, count) / mean)


def _repair_queue(scenario: Scenario, job: _Job, process: FailureProcess) -> RepairQueue | None:
    """The spares of every timeline under repair, None for the published expectation.

    Raises
    ------
    InputError
        If nodes fail together, which the queue does not know.
    """
    if REPAIR_QUEUE not in scenario.refinements:
        return None
    if process.nodes_per_failure != 1.0:
        raise InputError.single(
            message=f"got {process.nodes_per_failure}, the repair queue takes nodes one at a time",
            source="failure process",
            path="nodes_per_failure",
            remedy="leave out repair_queue",
        )
    return RepairQueue(job.spares)


def _queued_restarts(
    job: _Job,
    repairs: RepairQueue,
    which: np.ndarray,
    now: np.ndarray,
    generator: np.random.Generator,
) -> np.ndarray:
    """Time from detection to the first step, with the wait where a node failed."""
    failed = np.ones(which.size, dtype=bool)
    if job.job_rate_per_s.any():
        rate = job.node_rate_per_s + job.job_rate_per_s
        failed = generator.random(rate.size) * rate < job.node_rate_per_s
    return np.asarray(job.restart_s + repairs.waits(which, now, job.repair_s, failed))


def _restarts(job: _Job, process: FailureProcess, generator: np.random.Generator) -> np.ndarray:
    """Time from detection to the first step; where a node failed, with the wait for a repair."""
    waits: np.ndarray
    if process.nodes_per_failure == 1.0:
        waits = job.wait_probability
    else:
        waits = _waits(job, process, generator)
    if job.job_rate_per_s.any():
        share = 1.0 - job.job_rate_per_s / _interruption_rate(job, process)
        waits = waits * (generator.random(share.size) < share)
    return np.asarray(job.restart_s + waits * job.repair_s)


def _waits(job: _Job, process: FailureProcess, generator: np.random.Generator) -> np.ndarray:
    """Whether the nodes that fail together find fewer spares than they are."""
    # Nodes under repair in the steady state: a Poisson number of events, geometric sizes each.
    single = 1.0 / process.nodes_per_failure
    events = generator.poisson(job.node_rate_per_s * single * job.repair_s)
    extra = generator.negative_binomial(np.maximum(events, 1), single)
    under_repair = events + np.where(events > 0, extra, 0)
    failing = generator.geometric(single, events.size)
    return np.asarray(under_repair + failing > job.spares)
