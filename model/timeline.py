"""The job's timeline event by event: the independent check of :mod:`model.recovery`.

Every wall-clock second of the running window is booked when it passes, to steps, checkpoints,
discarded work, detection or restart; nothing is rescaled afterwards.

Shapes: a scenario's real fields are scalars, (n,) or (n, 1); R replicates; accounts are (n, R).
The loop goes over events, and only over the timelines that have not reached their end.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from model.errors import InputError
from model.failure_process import PUBLISHED_PROCESS, FailureProcess, standard_gaps
from model.forms import DETECTION_BLOCKED, REPAIR_QUEUE
from model.repair_queue import RepairQueue
from model.scenario import Scenario
from model.timeline_job import Job, interruption_rate, job_of, varied

CONSERVATION_TOLERANCE = 1e-9
"""Booked seconds may differ from the window by this share: rounding of some thousand sums."""


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
    configurations = job_of(scenario)
    shape = (configurations.window_s.shape[0], replicates)
    job = Job(*(np.broadcast_to(column, shape).ravel() for column in configurations))
    window = job.window_s
    job = varied(job, process, generator)
    with np.errstate(divide="ignore"):
        mean_gap = np.divide(1.0, interruption_rate(job, process))
    left = window.copy()
    booked = np.zeros((len(_ACCOUNTS), window.size))
    # Finished timelines are put here, so that the loop works on whole arrays of open ones.
    ledger = np.empty_like(booked)

    repairs = _repair_queue(scenario, job, process)
    open_ = np.arange(window.size)
    while open_.size:
        running, checkpoint, lost, detection, restart, failures = booked
        gap = mean_gap * standard_gaps(open_.size, process, generator)
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
            job = Job(*(column[going] for column in job))
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


def _repair_queue(scenario: Scenario, job: Job, process: FailureProcess) -> RepairQueue | None:
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
    job: Job,
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


def _restarts(job: Job, process: FailureProcess, generator: np.random.Generator) -> np.ndarray:
    """Time from detection to the first step; where a node failed, with the wait for a repair."""
    waits: np.ndarray
    if process.nodes_per_failure == 1.0:
        waits = job.wait_probability
    else:
        waits = _waits(job, process, generator)
    if job.job_rate_per_s.any():
        share = 1.0 - job.job_rate_per_s / interruption_rate(job, process)
        waits = waits * (generator.random(share.size) < share)
    return np.asarray(job.restart_s + waits * job.repair_s)


def _waits(job: Job, process: FailureProcess, generator: np.random.Generator) -> np.ndarray:
    """Whether the nodes that fail together find fewer spares than they are."""
    # Nodes under repair in the steady state: a Poisson number of events, geometric sizes each.
    single = 1.0 / process.nodes_per_failure
    events = generator.poisson(job.node_rate_per_s * single * job.repair_s)
    extra = generator.negative_binomial(np.maximum(events, 1), single)
    under_repair = events + np.where(events > 0, extra, 0)
    failing = generator.geometric(single, events.size)
    return np.asarray(under_repair + failing > job.spares)
