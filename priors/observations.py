"""What was measured: one record a kind of observation.

Every record names where it was measured: the software ``stack`` whose efficiencies it saw, the
``fleet`` whose failures and recovery it saw, or both.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import ClassVar, Literal

from model.scenario import Scenario, to_values
from priors.correlation import averaging_factor, independent_share

type ThroughputUnit = Literal["tflops_per_accelerator", "mfu", "tokens_per_second"]
type Counted = Literal["job_interruption", "node_hardware_failure", "gpu_error"]
type Tails = Literal["lognormal", "heavy"]
type Quantity = Literal["detection", "restart", "checkpoint_write"]


MIN_PERIODS = 4
"""Fewest periods whose counts tell whether rates vary between them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The configuration something was measured on.

    Parameters
    ----------
    name
        Scenario as named in the evidence.
    scenario
        The scenario with its overrides.
    known
        Dotted paths that the observation overrides: their values are taken as known.
    """

    name: str
    scenario: Scenario
    known: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """Training speed of healthy steps.

    Parameters
    ----------
    value, unit
        Model TFLOP/s of an accelerator, model FLOPs utilisation, or tokens per second of the job.
    relative_error
        Standard deviation of the log of value over truth: measurement and model together.
    """

    kind: ClassVar[str] = "throughput"
    id: str
    source: str
    stack: str
    fleet: str
    setting: Setting
    value: float
    unit: ThroughputUnit
    relative_error: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Interruptions:
    """Failures counted over an exposure, or their rate where no count is published.

    Parameters
    ----------
    counts
        Which event was counted.
    events, node_days
        Count and calendar exposure; None in rate-only rows.
    nodes_per_job
        Size of the jobs that were observed, None where it is not said: then the row says nothing
        of interruptions per job.
    periods
        Events and node-days of parts of the exposure; empty where it is not divided.
    rate_per_node_day, relative_error
        Rate and the standard deviation of its log; None in rows with a count.
    """

    kind: ClassVar[str] = "interruptions"
    id: str
    source: str
    fleet: str
    counts: Counted
    events: int | None
    node_days: float | None
    rate_per_node_day: float | None
    relative_error: float | None
    nodes_per_job: float | None = None
    periods: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Uptimes:
    """Running times of jobs until an interruption, or until nobody looked any more.

    Parameters
    ----------
    counts
        Which event ended them.
    nodes_per_job
        Nodes of each job.
    values_s, censored_s
        Ages at the event, and ages at which observation ended without one.
    entered_s
        Ages at which observation began, of ``values_s`` and then of ``censored_s``; empty where
        all were seen from their start.
    """

    kind: ClassVar[str] = "uptimes"
    id: str
    source: str
    fleet: str
    counts: Counted
    nodes_per_job: float
    values_s: tuple[float, ...]
    censored_s: tuple[float, ...]
    entered_s: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Durations:
    """Times of detection, restart or checkpoint write.

    Parameters
    ----------
    quantity
        Which time.
    values_s
        Single measurements; empty where quantiles are given.
    quantiles_s
        Pairs of probability and quantile, ascending; empty where values are given.
    relative_error
        Standard deviation of the log of a stated quantile; None with values.
    tails
        Whether some of the values may be of another, much slower kind.
    """

    kind: ClassVar[str] = "durations"
    id: str
    source: str
    fleet: str
    quantity: Quantity
    values_s: tuple[float, ...]
    quantiles_s: tuple[tuple[float, float], ...]
    relative_error: float | None
    tails: Tails = "lognormal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ettr:
    """Effective training time ratio of a job: a value or a bound.

    Parameters
    ----------
    bound
        ``value``, ``at_least`` or ``at_most``.
    value
        The value or the bound.
    error
        Standard deviation of the value, or softness of the bound.
    """

    kind: ClassVar[str] = "ettr"
    id: str
    source: str
    fleet: str
    setting: Setting
    bound: Literal["value", "at_least", "at_most"]
    value: float
    error: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkEfficiency:
    """Achieved bandwidth over line rate.

    Parameters
    ----------
    mean, sd, repeats
        Of repeated measurements.
    error_floor
        Standard deviation that repeating does not reduce.
    """

    kind: ClassVar[str] = "link_efficiency"
    id: str
    source: str
    stack: str
    mean: float
    sd: float
    repeats: int
    error_floor: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTimes:
    """Step times out of a log.

    Parameters
    ----------
    mean_s, sd_s
        Mean and standard deviation of the logged times.
    count
        Logged times.
    averaging_interval
        Steps that each logged time is a mean of.
    relative_error
        Standard deviation of the log of the mean over the model's.
    correlation
        Between successive logged times, inside regimes.
    regimes
        Mean and number of logged times of each stretch of one level; empty for one level.
    """

    kind: ClassVar[str] = "step_times"
    id: str
    source: str
    stack: str
    fleet: str
    setting: Setting
    mean_s: float
    sd_s: float
    count: int
    averaging_interval: float
    relative_error: float
    correlation: float = 0.0
    regimes: tuple[tuple[float, int], ...] = ()

    @property
    def step_sd_s(self) -> float:
        """Standard deviation of single steps: that of means of m independent steps times √m."""
        factor = averaging_factor(self.correlation, self.averaging_interval)
        return float(self.sd_s * factor**0.5)

    @property
    def degrees(self) -> float:
        """Degrees of freedom of the spread: those of as many independent times."""
        count = self.count * independent_share(self.correlation)
        return max(count - max(1, len(self.regimes)), 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class LostWork:
    """Work done again after interruptions.

    Parameters
    ----------
    values_s
        Seconds of work since the last durable checkpoint, an interruption each.
    includes_detection
        Whether the time until detection is in them.
    resolution_s
        Width that each value is uncertain by: the time between logged steps.
    """

    kind: ClassVar[str] = "lost_work"
    id: str
    source: str
    fleet: str
    setting: Setting
    values_s: tuple[float, ...]
    includes_detection: bool
    resolution_s: float


type Observation = (
    Throughput | Interruptions | Uptimes | Durations | Ettr | LinkEfficiency | StepTimes | LostWork
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Observations to condition on.

    Parameters
    ----------
    sources
        Documents they were read from.
    observations
        In the order read, with distinct ids.
    texts
        The documents as read, by source.
    own
        Ids of the planner's own observations: those of documents that are not shipped.
    """

    sources: tuple[str, ...]
    observations: tuple[Observation, ...]
    texts: Mapping[str, str]
    own: frozenset[str] = frozenset()

    def without(self, name: str) -> "Evidence":
        """The same with one observation left out."""
        return replace(
            self, observations=tuple(item for item in self.observations if item.id != name)
        )

    def of_kind[T: Observation](self, kind: type[T]) -> tuple[T, ...]:
        """The observations of one record type, in order."""
        return tuple(item for item in self.observations if isinstance(item, kind))

    @property
    def digest(self) -> str:
        """SHA-256 of everything measured, the scenarios it names included."""
        content = [[item.kind, _plain(item)] for item in self.observations]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _plain(value: object) -> object:
    """A record as nested lists, for the digest; texts of the scenario that change nothing go."""
    if isinstance(value, Scenario):
        return {
            path: item
            for path, item in to_values(value).items()
            if path not in ("name", "notes", "model.name", "accelerator.name", "stack", "fleet")
        }
    if is_dataclass(value):
        return {
            field.name: _plain(getattr(value, field.name))
            for field in fields(value)
            if field.name != "source"
        }
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value
