"""Whether the posterior could have produced each observation, said in plain words.

Shapes: predictive draws (chain, draw, observation); elements of one id are compared by their mean,
positive ones on the log scale.

References
----------
Gelman, Meng & Stern 1996, Posterior predictive assessment of model fitness.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from priors.observations import Durations, Interruptions, Observation, Uptimes

if TYPE_CHECKING:
    import xarray as xr

type Floats = NDArray[np.float64]
type Status = Literal["explained", "edge", "beyond"]

EDGE, BEYOND = 0.1, 0.01
"""Two-sided tail probabilities from which an observation is at the edge, and beyond it."""

NOUNS = {
    "throughput": "measured speed",
    "step_time_mean": "mean step time",
    "step_time_variance": "spread of step times",
    "step_time_regimes": "spread of step times between regimes",
    "interruptions": "number of interruptions",
    "interruption_rates": "rate of interruptions",
    "uptimes": "mean running time to an interruption",
    "lost_work": "mean lost work",
    "durations": "mean duration",
    "durations_heavy": "mean duration",
    "duration_quantiles": "stated duration",
    "link_efficiency": "link efficiency",
    "ettr": "ETTR",
    "ettr_bounds": "bound on the ETTR",
}
EVENTS = {
    "node_hardware_failure": "node hardware failures",
    "job_interruption": "interruptions",
    "gpu_error": "GPU errors",
}
ONE_EVENT = {
    "node_hardware_failure": "a node hardware failure",
    "job_interruption": "an interruption",
    "gpu_error": "a GPU error",
}
UNITS = {
    "tflops_per_accelerator": "TFLOP/s",
    "tokens_per_second": "tokens/s",
    "interruptions": "events",
    "interruption_rates": "1/node-day",
}
SECONDS = frozenset({"step_time_mean", "step_time_variance", "uptimes", "lost_work"})
SECONDS |= {"durations", "durations_heavy", "duration_quantiles"}
SQUARED = frozenset({"step_time_variance", "step_time_regimes"})
BOUNDS = frozenset({"ettr_bounds"})

TWICE = 2.0
"""From here on a ratio is said as times, below as a percentage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictiveCheck:
    """One observation against what the posterior predicts for it.

    Parameters
    ----------
    variable, id
        Likelihood and observation.
    observed, low, median, high
        The observation, and the P5, P50 and P95 of its predictions, in the observation's unit;
        spreads as standard deviations.
    tail
        2·min(P(prediction ≤ observed), P(prediction ≥ observed)), at most 1. Small: the model with
        this posterior would rarely show what was seen. The observation has itself drawn the
        posterior its way, so that a small tail is the stronger sign.
    """

    variable: str
    id: str
    observed: float
    low: float
    median: float
    high: float
    tail: float

    @property
    def status(self) -> Status:
        """How well the posterior explains the observation."""
        return "explained" if self.tail >= EDGE else "edge" if self.tail >= BEYOND else "beyond"


def quantity_of(check: PredictiveCheck, observation: Observation) -> str:
    """What of an observation was compared, in words."""
    noun = NOUNS.get(check.variable, check.variable.replace("_", " "))
    match observation:
        case Durations(quantity=quantity):
            return noun.replace("duration", f"{quantity.replace('_', ' ')} time")
        case Interruptions(counts=counts):
            return noun.replace("interruptions", EVENTS[counts])
        case Uptimes(counts=counts):
            return noun.replace("an interruption", ONE_EVENT[counts])
    return noun


def unit_of(check: PredictiveCheck, observation: Observation) -> str:
    """Unit of what was compared, 1 for pure numbers."""
    if check.variable in SECONDS:
        return "s"
    return UNITS.get(getattr(observation, "unit", check.variable), "1")


def verdict_of(check: PredictiveCheck, observation: Observation, *, own: bool) -> str:
    """One sentence, without its capital and its point.

    Parameters
    ----------
    check
        What was found.
    observation
        The observation that was checked.
    own
        Whether it is the planner's own, not a published one.
    """
    whose = "your" if own else "the published"
    what = f"{whose} {quantity_of(check, observation)}"
    if check.variable in BOUNDS:
        if check.status == "explained":
            return f"{what} holds in the model"
        return f"{what} holds in {check.tail / 2.0:.1%} of draws only: the model is against it"
    if check.status == "explained":
        return f"{what} is as this model expects"
    more = check.observed > check.median
    if check.variable in SQUARED:
        between = " between regimes" if check.variable == "step_time_regimes" else ""
        said = f"{whose} step times vary{between} {_vary(check)} this model expects"
    else:
        said = f"{what} is {_far(check)} what this model expects"
    if check.status == "edge":
        return f"{said}, at the edge of what it can explain"
    return f"{said}: {'more' if more else 'less'} than it can explain"


def _ratio(check: PredictiveCheck) -> float | None:
    """The observation over the middle prediction, None where that is no ratio."""
    return check.observed / check.median if check.median > 0.0 < check.observed else None


def _far(check: PredictiveCheck) -> str:
    ratio = _ratio(check)
    if ratio is None:
        gap = check.observed - check.median
        return f"{abs(gap):.3g} {'above' if gap > 0.0 else 'below'}"
    if ratio >= TWICE:
        return f"{ratio:.2g} times"
    return f"{abs(ratio - 1.0):.0%} {'above' if ratio > 1.0 else 'below'}"


def _vary(check: PredictiveCheck) -> str:
    ratio = _ratio(check) or 1.0
    if ratio >= TWICE:
        return f"{ratio:.2g} times as much as"
    return f"{abs(ratio - 1.0):.0%} {'more' if ratio > 1.0 else 'less'} than"


def check_predictions(tree: "xr.DataTree") -> tuple[PredictiveCheck, ...]:
    """Check every observation of a posterior, in order.

    Parameters
    ----------
    tree
        With the groups posterior_predictive and observed_data.
    """
    checks = []
    predicted = tree["posterior_predictive"].to_dataset()
    observed = tree["observed_data"].to_dataset()
    for name in map(str, observed.data_vars):
        ids = [str(item) for item in observed[f"{name}_observation"].values]
        data = np.asarray(observed[name].values, dtype=float)
        draws = np.asarray(predicted[name].values, dtype=float).reshape(-1, data.size)
        for item in dict.fromkeys(ids):
            places = np.array([own == item for own in ids])
            checks.append(_check(name, item, data[places], draws[:, places]))
    return tuple(checks)


def _check(name: str, item: str, data: Floats, draws: Floats) -> PredictiveCheck:
    if name in BOUNDS:
        holds = float(np.mean(draws > 0.0))
        return PredictiveCheck(
            variable=name, id=item, observed=1.0, low=-1.0, median=1.0, high=1.0,
            tail=min(1.0, 2.0 * holds),
        )  # fmt: skip
    seen, simulated = _statistic(data[None, :], name)[0], _statistic(draws, name)
    # Counts are discrete: both tails hold the observed value.
    tail = 2.0 * min(float(np.mean(simulated <= seen)), float(np.mean(simulated >= seen)))
    low, median, high = (float(value) for value in np.quantile(simulated, (0.05, 0.5, 0.95)))
    return PredictiveCheck(
        variable=name, id=item, observed=float(seen), low=low, median=median, high=high,
        tail=min(1.0, tail),
    )  # fmt: skip


def _statistic(values: Floats, name: str) -> Floats:
    """Mean over the elements of an observation; geometric where several are positive."""
    if name in SQUARED:
        values = np.sqrt(values)
    if values.shape[1] > 1 and np.all(values > 0.0):
        return np.asarray(np.exp(np.log(values).mean(axis=1)))
    return np.asarray(values.mean(axis=1))
