"""Whether the posterior could have produced each observation, said in plain words.

Shapes: predictive draws (chain, draw, observation); elements of one id are compared by their mean,
positive ones on the log scale.

References
----------
Gelman, Meng & Stern 1996, Posterior predictive assessment of model fitness.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import xarray as xr

type Floats = NDArray[np.float64]

EDGE, BEYOND = 0.1, 0.01
"""Two-sided tail probabilities from which an observation is at the edge, and beyond it."""

WORDS = {
    "throughput": "the measured speed",
    "step_time_mean": "the mean step time",
    "step_time_variance": "the spread of step times",
    "interruptions": "the number of interruptions",
    "interruption_rates": "the rate of interruptions",
    "durations": "the mean duration",
    "duration_quantiles": "the stated quantile",
    "link_efficiency": "the link efficiency",
    "ettr": "the ETTR",
    "ettr_bounds": "the bound on the ETTR",
}
SQUARED = frozenset({"step_time_variance"})
BOUNDS = frozenset({"ettr_bounds"})


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
    def verdict(self) -> str:
        """One sentence."""
        what = WORDS.get(self.variable, self.variable)
        if self.variable in BOUNDS:
            if self.tail >= EDGE:
                return f"{what} holds in the model"
            return f"{what} holds in {self.tail / 2.0:.1%} of draws only: the model is against it"
        if self.tail >= EDGE:
            return f"{what} is as this model expects"
        if self.median > 0.0 < self.observed:
            ratio = self.observed / self.median
            size = ratio if ratio > 1.0 else 1.0 / ratio
            far = f"{size:.2g} times {'above' if ratio > 1.0 else 'below'} the model's"
        else:
            far = f"{self.observed:.3g} against the model's {self.median:.3g}"
        if self.tail >= BEYOND:
            return f"{what} is at the edge of what this model explains ({far})"
        return f"{what} is more than this model can explain: {far}"


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
