"""Which uncertain fields of a scenario each kind of observation tells of."""

from collections.abc import Iterable

from model.parameters import UNCERTAIN
from priors.observations import (
    MIN_PERIODS,
    Durations,
    Ettr,
    Interruptions,
    LinkEfficiency,
    LostWork,
    Observation,
    StepTimes,
    Throughput,
    Uptimes,
)

RECOVERY_PATHS = (
    "reliability.failure_rate_per_node_day",
    "reliability.failure_rate_per_job_day",
    "reliability.failure_rate_dispersion",
    "reliability.detect_time_s",
    "reliability.restart_time_s",
    "reliability.checkpoint_interval_s",
    "reliability.checkpoint_write_s",
    "reliability.checkpoint_blocking_fraction",
    "reliability.durability_lag_s",
    "reliability.repair_time_s",
    "reliability.spare_fraction",
    "reliability.stranded_fraction",
)
"""Real fields that failures and recovery depend on."""

NODE_RATE, JOB_RATE, RATE_DISPERSION = RECOVERY_PATHS[:3]
"""Failures of a node and of a job, a day each, and φ, how much both vary between windows."""

NET_EFFICIENCY = "topology.net_efficiency"
"""The field that achieved bandwidth tells of."""

STEP_PATHS = tuple(
    path
    for path in UNCERTAIN
    if path not in (*RECOVERY_PATHS, "window_days", "accelerator.memory_gb")
)
"""Real fields that the healthy step depends on."""

DURATION_PATHS = {
    "detection": "reliability.detect_time_s",
    "restart": "reliability.restart_time_s",
    "checkpoint_write": "reliability.checkpoint_write_s",
}
"""The field whose value is the mean of each measured duration."""


def hypotheses_of(observation: Observation) -> tuple[str, ...]:
    """Fields beyond the published model that an observation can tell of.

    The rate per job, from interruptions of jobs of a stated size; the dispersion of rates, from
    counts of several periods.
    """
    if not isinstance(observation, Interruptions | Uptimes):
        return ()
    sized = observation.counts == "job_interruption" and observation.nodes_per_job is not None
    divided = isinstance(observation, Interruptions) and len(observation.periods) >= MIN_PERIODS
    return (*((JOB_RATE,) if sized else ()), *((RATE_DISPERSION,) if divided else ()))


def touched_paths(observation: Observation) -> tuple[str, ...]:
    """Dotted paths of the fields an observation says something about."""
    match observation:
        case Throughput() | StepTimes():
            paths: Iterable[str] = STEP_PATHS
        case Interruptions() | Uptimes():
            paths = (NODE_RATE, *hypotheses_of(observation))
        case Durations():
            paths = (DURATION_PATHS[observation.quantity],)
        case Ettr():
            paths = RECOVERY_PATHS
        case LinkEfficiency():
            paths = (NET_EFFICIENCY,)
        case LostWork():
            paths = tuple(
                path
                for path in RECOVERY_PATHS
                if "checkpoint" in path
                or path in (NODE_RATE, JOB_RATE)
                or (path == DURATION_PATHS["detection"] and observation.includes_detection)
            )
    known: frozenset[str] = frozenset()
    if isinstance(observation, Throughput | StepTimes | Ettr | LostWork):
        known = observation.setting.known
    return tuple(path for path in paths if path not in known)
