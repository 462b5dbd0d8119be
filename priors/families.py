"""Families of distributions: parameters, quantile function, native PyMC variable.

Quantile functions are written with :mod:`scipy.special`, which loads in a fraction of the time of
``scipy.stats``. Shapes: ``p`` and the result have the same shape; parameters are scalars,
for variables also vectors.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

type Floats = NDArray[np.float64]
type Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A family of one-dimensional distributions.

    Parameters
    ----------
    parameters
        Names of the parameters, in the order messages list them.
    positive
        Those that must be above zero.
    ascending
        Those that must not descend in this order; the first must lie below the last.
    quantile
        Inverse of the distribution function.
    cdf
        Distribution function.
    support
        Smallest and largest possible value.
    variable
        Makes the PyMC variable from the loaded module, a name and the parameters.
    """

    parameters: tuple[str, ...]
    positive: tuple[str, ...] = ()
    ascending: tuple[str, ...] = ()
    quantile: Callable[[Floats, Values], Floats]
    cdf: Callable[[Floats, Values], Floats]
    support: Callable[[Values], tuple[float, float]]
    variable: Callable[[Any, str, Values], Any]


def _everywhere(_: Values) -> tuple[float, float]:
    return -np.inf, np.inf


def _above_zero(_: Values) -> tuple[float, float]:
    return 0.0, np.inf


def _fraction(_: Values) -> tuple[float, float]:
    return 0.0, 1.0


def _between(v: Values) -> tuple[float, float]:
    return v["low"], v["high"]


def _truncated_normal_quantile(p: Floats, v: Values) -> Floats:
    low, high = (v["low"] - v["mean"]) / v["sd"], (v["high"] - v["mean"]) / v["sd"]
    # Far in the upper tail the distribution function is 1 to the last bit: work from below there.
    sign = -1.0 if low > 0 else 1.0
    first, last = special.ndtr(sign * low), special.ndtr(sign * high)
    z = sign * special.ndtri(first + p * (last - first))
    quantile: Floats = np.clip(v["mean"] + v["sd"] * z, v["low"], v["high"])
    return quantile


def _truncated_normal_cdf(x: Floats, v: Values) -> Floats:
    low, high = (v["low"] - v["mean"]) / v["sd"], (v["high"] - v["mean"]) / v["sd"]
    z = np.clip((x - v["mean"]) / v["sd"], low, high)
    sign = -1.0 if low > 0 else 1.0
    first, last = special.ndtr(sign * low), special.ndtr(sign * high)
    share: Floats = (special.ndtr(sign * z) - first) / (last - first)
    return share


def _triangular_quantile(p: Floats, v: Values) -> Floats:
    low, mode, high = v["low"], v["mode"], v["high"]
    width = high - low
    rising = low + np.sqrt(p * width * (mode - low))
    falling = high - np.sqrt((1.0 - p) * width * (high - mode))
    quantile: Floats = np.where(p * width < mode - low, rising, falling)
    return quantile


def _triangular_cdf(x: Floats, v: Values) -> Floats:
    low, mode, high = v["low"], v["mode"], v["high"]
    x = np.clip(x, low, high)
    with np.errstate(divide="ignore", invalid="ignore"):
        rising = (x - low) ** 2 / ((high - low) * (mode - low))
        falling = 1.0 - (high - x) ** 2 / ((high - low) * (high - mode))
    share: Floats = np.where(x < mode, rising, np.where(mode < high, falling, 1.0))
    return share


def _constant(_: Any, __: str, v: Values) -> Any:
    import pytensor.tensor as pt

    return pt.as_tensor_variable(np.asarray(v["value"]))


FAMILIES: dict[str, Family] = {
    "uniform": Family(
        parameters=("low", "high"),
        ascending=("low", "high"),
        quantile=lambda p, v: v["low"] + p * (v["high"] - v["low"]),
        cdf=lambda x, v: np.clip((x - v["low"]) / (v["high"] - v["low"]), 0.0, 1.0),
        support=_between,
        variable=lambda pm, name, v: pm.Uniform(name, lower=v["low"], upper=v["high"]),
    ),
    "normal": Family(
        parameters=("mean", "sd"),
        positive=("sd",),
        quantile=lambda p, v: v["mean"] + v["sd"] * special.ndtri(p),
        cdf=lambda x, v: special.ndtr((x - v["mean"]) / v["sd"]),
        support=_everywhere,
        variable=lambda pm, name, v: pm.Normal(name, mu=v["mean"], sigma=v["sd"]),
    ),
    "truncated_normal": Family(
        parameters=("mean", "sd", "low", "high"),
        positive=("sd",),
        ascending=("low", "high"),
        quantile=_truncated_normal_quantile,
        cdf=_truncated_normal_cdf,
        support=_between,
        variable=lambda pm, name, v: pm.TruncatedNormal(
            name,
            mu=v["mean"],
            sigma=v["sd"],
            lower=v["low"] if np.all(np.isfinite(v["low"])) else None,
            upper=v["high"] if np.all(np.isfinite(v["high"])) else None,
        ),
    ),
    "lognormal": Family(
        parameters=("median", "sigma"),
        positive=("median", "sigma"),
        quantile=lambda p, v: v["median"] * np.exp(v["sigma"] * special.ndtri(p)),
        cdf=lambda x, v: special.ndtr(
            np.log(np.maximum(x, np.finfo(float).tiny) / v["median"]) / v["sigma"]
        ),
        support=_above_zero,
        variable=lambda pm, name, v: pm.LogNormal(name, mu=np.log(v["median"]), sigma=v["sigma"]),
    ),
    "beta": Family(
        parameters=("alpha", "beta"),
        positive=("alpha", "beta"),
        quantile=lambda p, v: special.betaincinv(v["alpha"], v["beta"], p),
        cdf=lambda x, v: special.betainc(v["alpha"], v["beta"], np.clip(x, 0.0, 1.0)),
        support=_fraction,
        variable=lambda pm, name, v: pm.Beta(name, alpha=v["alpha"], beta=v["beta"]),
    ),
    "gamma": Family(
        parameters=("shape", "rate"),
        positive=("shape", "rate"),
        quantile=lambda p, v: special.gammaincinv(v["shape"], p) / v["rate"],
        cdf=lambda x, v: special.gammainc(v["shape"], np.maximum(x, 0.0) * v["rate"]),
        support=_above_zero,
        variable=lambda pm, name, v: pm.Gamma(name, alpha=v["shape"], beta=v["rate"]),
    ),
    "triangular": Family(
        parameters=("low", "mode", "high"),
        ascending=("low", "mode", "high"),
        quantile=_triangular_quantile,
        cdf=_triangular_cdf,
        support=_between,
        variable=lambda pm, name, v: pm.Triangular(
            name, lower=v["low"], c=v["mode"], upper=v["high"]
        ),
    ),
    "fixed": Family(
        parameters=("value",),
        quantile=lambda p, v: np.full(np.shape(p), v["value"]),
        cdf=lambda x, v: np.where(np.asarray(x) >= v["value"], 1.0, 0.0),
        support=lambda v: (v["value"], v["value"]),
        variable=_constant,
    ),
}
"""Every family by its name in files."""


ROOT_TOLERANCE = 1e-8
"""Largest normal-score error of an interval's ends that counts as solved."""


def resolve_interval(family: str, *, low: float, high: float, mass: float) -> dict[str, float]:
    """Parameters of the two-parameter family whose central ``mass`` lies in [low, high].

    F(low) = (1 − mass)/2 and F(high) = (1 + mass)/2.

    Parameters
    ----------
    family
        ``uniform``, ``normal``, ``lognormal``, ``beta`` or ``gamma``.
    low, high
        Central interval, low < high, inside the family's support.
    mass
        Probability of the interval, in (0, 1).

    Raises
    ------
    ValueError
        If the root search finds no such member of the family.
    """
    tail = (1.0 - mass) / 2.0
    z = float(special.ndtri(1.0 - tail))
    if family == "uniform":
        margin = (high - low) * tail / mass
        return {"low": low - margin, "high": high + margin}
    if family == "normal":
        return {"mean": (low + high) / 2.0, "sd": (high - low) / (2.0 * z)}
    if family == "lognormal":
        return {
            "median": float(np.sqrt(low) * np.sqrt(high)),
            "sigma": float(np.log(high / low)) / (2.0 * z),
        }
    if family == "gamma":
        return _gamma_interval(low, high, tail)
    return _beta_interval(low, high, tail)


def _gamma_interval(low: float, high: float, tail: float) -> dict[str, float]:
    """The ratio of two quantiles depends on the shape alone."""
    from scipy import optimize

    def excess(log_shape: float) -> float:
        shape = np.exp(log_shape)
        quantiles = special.gammaincinv(shape, np.array([tail, 1.0 - tail]))
        ratio = np.log(np.maximum(quantiles, 1e-300))
        return float(ratio[1] - ratio[0] - np.log(high / low))

    shape = float(np.exp(optimize.brentq(excess, np.log(1e-3), np.log(1e9), xtol=1e-13)))
    return {"shape": shape, "rate": float(special.gammaincinv(shape, 1.0 - tail)) / high}


def _beta_interval(low: float, high: float, tail: float) -> dict[str, float]:
    from scipy import optimize

    wanted = special.ndtri(np.array([tail, 1.0 - tail]))

    def misfit(log_parameters: Floats) -> Floats:
        a, b = np.exp(np.clip(log_parameters, -20.0, 20.0))
        reached = special.betainc(a, b, np.array([low, high]))
        # On the normal-score scale the search is close to linear.
        scores: Floats = special.ndtri(np.clip(reached, 1e-15, 1.0 - 1e-15)) - wanted
        return scores

    mean = (low + high) / 2.0
    variance = ((high - low) / (2.0 * wanted[1])) ** 2
    size = max(mean * (1.0 - mean) / variance - 1.0, 0.5)
    start = np.log([mean * size, (1.0 - mean) * size])
    solution = optimize.root(misfit, start, method="hybr", tol=1e-13)
    if np.max(np.abs(misfit(solution.x))) > ROOT_TOLERANCE:
        message = "no beta distribution has this interval"
        raise ValueError(message)
    a, b = np.exp(solution.x)
    return {"alpha": float(a), "beta": float(b)}
