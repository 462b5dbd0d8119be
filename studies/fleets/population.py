"""Failure rates of fleets under a population, each fleet predicted from the others.

Fleet f has interruptions per node and day μ_f, log μ_f ~ N(m, τ). A job of n nodes is interrupted
n·μ_f + κ times a day; node hardware failures come at μ_f/ρ a node::

    events ~ negative binomial, mean M, variance φ·M;   a printed rate ~ lognormal around its mean

κ = 0 without a rate per job, φ = 1 (Poisson) without overdispersion. The hyperparameters
(m, τ, ρ, φ, κ) are integrated over a Sobol set from their priors weighted by the likelihood, the
rate of each fleet over a fine grid; leaving a group out leaves its factor out of the weights.

Shapes: K hyperparameter points, L points of log μ, rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from priors.catalogue import Catalogue
from studies.fleets.rows import Failures

type Floats = NDArray[np.float64]

POINTS = 4096
LOG_RATES = np.linspace(np.log(2e-5), np.log(1.0), 300)
"""Grid of log μ: a spacing of 0.036, finer than the error of any published count."""

PER_JOB_DAY = (0.05, 1.5)
"""Prior of κ: median and sd of the log, from once in 200 days to twice a day within two sd."""

LOCATION = (np.log(4.5e-3), 1.0)
"""Prior of m: the study's middle, and a factor of 2.7 either way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """What the population model includes."""

    per_job: bool
    overdispersed: bool

    @property
    def name(self) -> str:
        """In words."""
        rate = "rate per node and per job" if self.per_job else "rate per node"
        return f"{rate}, {'overdispersed' if self.overdispersed else 'Poisson'}"


VARIANTS = tuple(
    Variant(per_job=per_job, overdispersed=overdispersed)
    for per_job in (False, True)
    for overdispersed in (False, True)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hyper:
    """Points of the hyperparameters, shape (K,) each."""

    location: Floats
    spread: Floats
    ratio: Floats
    dispersion: Floats
    per_job_day: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class RatePrediction:
    """Prediction of one row.

    Parameters
    ----------
    log_rates
        Draws of the log of what the row would print, per node and day, shape (draws,).
    log_density
        Of the log of what it printed.
    """

    log_rates: Floats
    log_density: float


def hyper_points(catalogue: Catalogue, variant: Variant, *, seed: int) -> Hyper:
    """A scrambled Sobol set from the priors."""
    u = stats.qmc.Sobol(5, rng=np.random.default_rng(seed)).random(POINTS)
    z = special.ndtri(np.clip(u, 1e-9, 1 - 1e-9))
    between = catalogue.entries["reliability.failure_rate_per_node_day"].between_systems
    if between is None:
        message = "the failure rate has no spread between fleets"
        raise ValueError(message)
    ones = np.ones(POINTS)
    return Hyper(
        location=LOCATION[0] + LOCATION[1] * z[:, 0],
        spread=between.quantile(u[:, 1]),
        ratio=catalogue.auxiliary["interruptions_per_node_failure"].quantile(u[:, 2]),
        dispersion=1.0 + catalogue.auxiliary["failure_dispersion_excess"].quantile(u[:, 3])
        if variant.overdispersed
        else ones,
        per_job_day=PER_JOB_DAY[0] * np.exp(PER_JOB_DAY[1] * z[:, 4])
        if variant.per_job
        else 0.0 * ones,
    )


def expected_rate(item: Failures, rate: Floats, hyper: Hyper) -> Floats:
    """Events of the counted definition per node and day; ``rate`` broadcasts with the points."""
    if item.counts == "node_hardware_failure":
        hardware: Floats = rate / hyper.ratio[:, None]
        return hardware
    interruptions: Floats = rate + hyper.per_job_day[:, None] / item.nodes
    return interruptions


def log_likelihood(item: Failures, rate: Floats, hyper: Hyper) -> Floats:
    """Log density of what a row printed, on the log scale of its rate, shape (K, L).

    A count's probability times the count is the density of its log.
    """
    expected = expected_rate(item, rate, hyper)
    found: Floats
    if item.events is None:
        error = _rate_error(item, hyper)
        z = (np.log(item.rate_per_node_day) - np.log(expected)) / error
        found = -0.5 * z**2 - np.log(error) - 0.5 * np.log(2 * np.pi)
    else:
        assert item.node_days is not None
        mean = expected * item.node_days
        scale = np.log(max(item.events, 0.5))
        found = _count_log_pmf(item.events, mean, hyper.dispersion[:, None]) + scale
    return found


def _rate_error(item: Failures, hyper: Hyper) -> Floats:
    """Error of a printed rate: as stated, or that of its overdispersed count and two digits."""
    if item.node_days is None:
        return np.full((len(hyper.ratio), 1), item.relative_error)
    events = item.rate_per_node_day * item.node_days
    result: Floats = np.sqrt(hyper.dispersion[:, None] / events + ROUNDING**2)
    return result


ROUNDING = 0.01
"""Relative error of a rate printed to two or three digits."""


def _count_log_pmf(events: int, mean: Floats, dispersion: Floats) -> Floats:
    """Negative binomial of mean M and variance φ·M; Poisson at φ = 1."""
    poisson: Floats = events * np.log(mean) - mean - special.gammaln(events + 1.0)
    if np.all(dispersion == 1.0):
        return poisson
    shape = mean / (dispersion - 1.0)
    result: Floats = (
        special.gammaln(events + shape)
        - special.gammaln(shape)
        - special.gammaln(events + 1.0)
        - shape * np.log(dispersion)
        + events * np.log1p(-1.0 / dispersion)
    )
    return result


def group_log_likelihoods(items: Sequence[Failures], hyper: Hyper) -> dict[str, Floats]:
    """Log likelihood of each group at every point, the fleets' rates integrated, shape (K,)."""
    step = LOG_RATES[1] - LOG_RATES[0]
    z = (LOG_RATES - hyper.location[:, None]) / hyper.spread[:, None]
    log_prior = -0.5 * z**2 - np.log(hyper.spread[:, None]) + np.log(step / np.sqrt(2 * np.pi))
    fleets: dict[tuple[str, str], Floats] = {}
    rate = np.exp(LOG_RATES)[None, :]
    for item in items:
        key = (item.row.group, item.row.fleet)
        fleets[key] = fleets.get(key, log_prior) + log_likelihood(item, rate, hyper)
    groups: dict[str, Floats] = {}
    for (group, _), terms in fleets.items():
        total = special.logsumexp(terms, axis=1)
        groups[group] = groups.get(group, 0.0) + total
    return groups


def foretell(
    items: Sequence[Failures],
    hyper: Hyper,
    logs: Mapping[str, Floats],
    *,
    draws: int,
    seed: int,
) -> list[RatePrediction]:
    """Predict every row from the groups that it does not belong to.

    Rows of one group are left out together. Rows of one fleet share its draws.

    Parameters
    ----------
    items, hyper
        The rows and the points.
    logs
        Their likelihoods, of :func:`group_log_likelihoods`.
    draws, seed
        Same seed, same draws.
    """
    total = np.asarray(sum(logs.values()))
    results = []
    for item in items:
        chosen = resample(total - logs[item.row.group], draws, seed)
        some = take(hyper, chosen)
        rng = np.random.default_rng(seed)
        rate = np.exp(some.location + some.spread * rng.standard_normal(draws))[:, None]
        density = log_likelihood(item, rate, some)[:, 0]
        expected = expected_rate(item, rate, some)[:, 0]
        if item.events is None:
            noise = _rate_error(item, some)[:, 0] * rng.standard_normal(draws)
            log_rates = np.log(expected) + noise
        else:
            assert item.node_days is not None
            mean = expected * item.node_days
            excess = some.dispersion - 1.0
            intensity = np.where(
                excess > 0,
                rng.gamma(mean / np.maximum(excess, 1e-12), np.maximum(excess, 1e-12)),
                mean,
            )
            events = rng.poisson(intensity)
            # No event at all has no logarithm: half an event stands for it.
            log_rates = np.log(np.maximum(events, 0.5) / item.node_days)
        results.append(
            RatePrediction(
                log_rates=log_rates,
                log_density=float(special.logsumexp(density) - np.log(draws)),
            )
        )
    return results


def take(hyper: Hyper, chosen: NDArray[np.intp]) -> Hyper:
    """Some of the points."""
    return Hyper(
        location=hyper.location[chosen],
        spread=hyper.spread[chosen],
        ratio=hyper.ratio[chosen],
        dispersion=hyper.dispersion[chosen],
        per_job_day=hyper.per_job_day[chosen],
    )


def resample(log_weights: Floats, draws: int, seed: int) -> NDArray[np.intp]:
    """Points drawn by weight, systematically; shape (draws,)."""
    weights = np.exp(log_weights - log_weights.max())
    ends = np.cumsum(weights / weights.sum())
    rng = np.random.default_rng(seed)
    points = (np.arange(draws) + rng.random()) / draws
    chosen = np.minimum(np.searchsorted(ends, points), len(ends) - 1)
    rng.shuffle(chosen)
    return chosen


def effective_points(log_weights: Floats) -> float:
    """Effective number of points behind weights."""
    weights = np.exp(log_weights - log_weights.max())
    return float(weights.sum() ** 2 / (weights**2).sum())
