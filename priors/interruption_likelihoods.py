"""Likelihoods of interruptions: counts, rates, and running times to them.

Events of different definition are different quantities. A job interruption is what the model's
rate counts; node hardware failures and GPU errors have rates of their own, tied to it by ratios
that are uncertain themselves.

Shapes: as in :mod:`priors.likelihood`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import special

from model.numerics import Value, exp, gammaln, log, where
from priors.likelihood import Floats, Observe, Observed, Variables, ids_of, log_lognormal
from priors.observations import Evidence, Interruptions, Uptimes
from priors.population import Population
from priors.touched import JOB_RATE, NODE_RATE, RATE_DISPERSION

DISPERSION, RATIO = "failure_dispersion_excess", "interruptions_per_node_failure"
GPU_RATIO, SHAPE = "gpu_errors_per_interruption", "uptime_shape"

DAY_S = 86400.0

type Counts = Interruptions | Uptimes


@dataclass(frozen=True, slots=True, kw_only=True)
class Optional:
    """A quantity that only some elements depend on, and those that do not as on zero.

    Parameters
    ----------
    places
        Shape (elements,); empty where no element depends on it.
    weight
        What it is multiplied by, shape (elements,); 0 where an element does not depend on it.
    """

    places: NDArray[np.intp]
    weight: Floats

    @classmethod
    def of(
        cls, path: str, items: Sequence[Counts], weight: Sequence[float], population: Population
    ) -> Self:
        """Where the population has the field for the fleet of an element, and its weight."""
        names: list[str | None] = [None] * len(items)
        if path in population.catalogue.entries:
            found = [population.name_of(path, item) for item in items]
            names = [name if name in population.names else None for name in found]
        used = [name for name in names if name is not None]
        full = np.array([w if name else 0.0 for w, name in zip(weight, names, strict=True)])
        if not full.any():
            return cls(places=np.empty(0, dtype=np.intp), weight=np.empty(0))
        return cls(places=population.places([name or used[0] for name in names]), weight=full)

    def added_to(self, base: Value, values: Value) -> Value:
        """``base`` with weight times the quantity on top."""
        return base + values[..., self.places] * self.weight if self.places.size else base


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRates:
    """Events of the counted definition per node-day, element by element.

    Job interruptions: μ + κ/n on jobs of n nodes, κ the rate per job-day. Node hardware failures:
    μ/ratio. GPU errors: μ·ratio of their own.
    """

    places: NDArray[np.intp]
    per_job: Optional
    hardware: Floats
    ratio: NDArray[np.intp]
    gpu: Floats
    gpu_ratio: NDArray[np.intp]

    @classmethod
    def of(cls, items: Sequence[Counts], population: Population) -> Self:
        """Rates of the fleets of observations."""

        def counted(what: str) -> Floats:
            return np.array([float(item.counts == what) for item in items])

        hardware, gpu = counted("node_hardware_failure"), counted("gpu_error")
        jobs = [
            1.0 / item.nodes_per_job
            if item.nodes_per_job and item.counts == "job_interruption"
            else 0.0
            for item in items
        ]
        return cls(
            places=population.places([population.name_of(NODE_RATE, item) for item in items]),
            per_job=Optional.of(JOB_RATE, items, jobs, population),
            hardware=hardware,
            ratio=population.places([RATIO] if hardware.any() else []),
            gpu=gpu,
            gpu_ratio=population.places([GPU_RATIO] if gpu.any() else []),
        )

    def at(self, values: Value) -> Value:
        """Rates at values of the parameters, the last axis being elements."""
        rate = self.per_job.added_to(values[..., self.places], values)
        if self.ratio.size:
            rate = rate / (1.0 + self.hardware * (values[..., self.ratio] - 1.0))
        if self.gpu_ratio.size:
            rate = rate * (1.0 + self.gpu * (values[..., self.gpu_ratio] - 1.0))
        return rate


@dataclass(frozen=True, slots=True, kw_only=True)
class InterruptionsLikelihood(Observed):
    """events ~ negative binomial, a gamma mixture of Poisson counts; rates on the log scale.

    Mean m = rate·exposure, variance m·(1 + excess) + ψ·m². The linear part lets exposure shrink
    the error; ψ, the dispersion of rates between periods, puts a floor under it and is there only
    where the counts of several periods can tell of it.
    """

    ids: tuple[str, ...]
    rates: EventRates
    events: NDArray[np.int64]
    node_days: Floats
    varying: Optional
    rate_ids: tuple[str, ...]
    rate_rates: EventRates
    rate: Floats
    rate_error: Floats
    dispersion: NDArray[np.intp]
    """Place of the excess, shape (1,), empty without counts."""

    @classmethod
    def of(cls, evidence: Evidence, population: Population) -> Self | None:
        """See :class:`Likelihood`."""
        items = evidence.of_kind(Interruptions)
        if not items or NODE_RATE not in population.catalogue.entries:
            return None
        rated = [item for item in items if item.events is None]
        counts = [
            (item, *period)
            for item in items
            if item.events is not None
            for period in item.periods or ((item.events, item.node_days or 0.0),)
        ]
        counted = [item for item, _, _ in counts]
        return cls(
            ids=ids_of(counted),
            rates=EventRates.of(counted, population),
            events=np.array([events for _, events, _ in counts], dtype=np.int64),
            node_days=np.array([node_days for _, _, node_days in counts], dtype=float),
            varying=Optional.of(RATE_DISPERSION, counted, [1.0] * len(counted), population),
            rate_ids=ids_of(rated),
            rate_rates=EventRates.of(rated, population),
            rate=np.array([item.rate_per_node_day for item in rated], dtype=float),
            rate_error=np.array([item.relative_error for item in rated], dtype=float),
            dispersion=population.places([DISPERSION] if counted else []),
        )

    @property
    def variables(self) -> Variables:
        """See :class:`Observed`."""
        return {
            "interruptions": (self.ids, self.events),
            "interruption_rates": (self.rate_ids, self.rate),
        }

    def _counts(self, values: Value) -> tuple[Value, Value]:
        """Mean of the counts, and their variance over it minus one."""
        mean = self.rates.at(values) * self.node_days
        excess = values[..., self.dispersion]
        if self.varying.places.size:
            excess = excess + mean * values[..., self.varying.places] * self.varying.weight
        return mean, excess

    def add(self, values: Value, observe: Observe) -> None:
        """See :class:`Likelihood`."""
        import pymc as pm

        if self.ids:
            mean, excess = self._counts(values)
            pm.NegativeBinomial(
                "interruptions",
                mu=mean,
                alpha=mean / excess,
                observed=observe("interruptions", self.events),
            )
        if self.rate_ids:
            pm.LogNormal(
                "interruption_rates",
                mu=log(self.rate_rates.at(values)),
                sigma=self.rate_error,
                observed=observe("interruption_rates", self.rate),
            )

    def simulate(self, values: Floats, rng: np.random.Generator) -> dict[str, NDArray[np.generic]]:
        """See :class:`Likelihood`."""
        simulated: dict[str, NDArray[np.generic]] = {}
        if self.ids:
            mean, excess = self._counts(values)
            # A Poisson count of a gamma intensity of mean m and variance excess·m.
            excess = np.broadcast_to(excess, mean.shape)
            simulated["interruptions"] = rng.poisson(rng.gamma(mean / excess, excess))
        if self.rate_ids:
            centre = self.rate_rates.at(values)
            noise = self.rate_error * rng.standard_normal(centre.shape)
            simulated["interruption_rates"] = centre * np.exp(noise)
        return simulated

    def log_likelihood(self, values: Floats) -> dict[str, Floats]:
        """See :class:`Likelihood`."""
        found: dict[str, Floats] = {}
        if self.ids:
            mean, excess = self._counts(values)
            # mean/excess successes, each of probability 1/(1 + excess).
            size = mean / excess
            found["interruptions"] = (
                special.gammaln(self.events + size)
                - special.gammaln(size)
                - special.gammaln(self.events + 1.0)
                - size * np.log1p(excess)
                + self.events * (np.log(excess) - np.log1p(excess))
            )
        if self.rate_ids:
            centre = np.log(self.rate_rates.at(values))
            found["interruption_rates"] = log_lognormal(self.rate, centre, self.rate_error)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class UptimesLikelihood(Observed):
    """Running times ~ Weibull of mean 1/(rate·nodes), shape k; censored, and truncated on the left.

    log density: ended·log h(t) − H(t) + H(entered), H(t) = (t/θ)^k, h = H′. The published model has
    k = 1. Below 1 interruptions cluster after a start, above 1 they come with age.
    """

    ids: tuple[str, ...]
    rates: EventRates
    nodes: Floats
    time_s: Floats
    limit_s: Floats
    """When observation ends without an event; infinite for times that ended with one."""
    entered_s: Floats
    shape: NDArray[np.intp]

    @classmethod
    def of(cls, evidence: Evidence, population: Population) -> Self | None:
        """See :class:`Likelihood`."""
        items = evidence.of_kind(Uptimes)
        if not items or NODE_RATE not in population.catalogue.entries:
            return None
        rows = []
        for item in items:
            times = [(time, np.inf) for time in item.values_s]
            times += [(time, time) for time in item.censored_s]
            entered = item.entered_s or (0.0,) * len(times)
            rows += [(item, *pair, start) for pair, start in zip(times, entered, strict=True)]
        timed = [item for item, *_ in rows]
        return cls(
            ids=ids_of(timed),
            rates=EventRates.of(timed, population),
            nodes=np.array([item.nodes_per_job for item in timed]),
            time_s=np.array([time for _, time, _, _ in rows]),
            limit_s=np.array([limit for _, _, limit, _ in rows]),
            entered_s=np.array([entered for *_, entered in rows]),
            shape=population.places([SHAPE]),
        )

    @property
    def variables(self) -> Variables:
        """See :class:`Observed`."""
        return {"uptimes": (self.ids, self.time_s)}

    def _scale(self, values: Value) -> tuple[Value, Value]:
        """Log of θ, and k."""
        shape = values[..., self.shape]
        mean_s = DAY_S / (self.rates.at(values) * self.nodes)
        return log(mean_s) - gammaln(1.0 + 1.0 / shape), shape

    def _already(self, log_scale: Value, shape: Value) -> Value:
        """H at the age at which observation began."""
        late = self.entered_s > 0.0
        age = np.log(np.where(late, self.entered_s, 1.0))
        return exp(shape * (age - log_scale)) * late

    def _density(self, values: Value, time_s: Value) -> Value:
        log_scale, shape = self._scale(values)
        score = log(time_s) - log_scale
        hazard = log(shape) - log_scale + (shape - 1.0) * score
        ended = where(time_s < self.limit_s, 1.0, 0.0)
        return ended * hazard - exp(shape * score) + self._already(log_scale, shape)

    def add(self, values: Value, observe: Observe) -> None:
        """See :class:`Likelihood`."""
        import pymc as pm

        density = self._density(values, observe("uptimes", self.time_s))
        pm.Potential("uptimes", density.sum())

    def simulate(self, values: Floats, rng: np.random.Generator) -> dict[str, NDArray[np.generic]]:
        """See :class:`Likelihood`."""
        log_scale, shape = self._scale(values)
        already = self._already(log_scale, shape)
        passed = already + rng.standard_exponential(already.shape)
        return {"uptimes": np.minimum(np.exp(log_scale + np.log(passed) / shape), self.limit_s)}

    def log_likelihood(self, values: Floats) -> dict[str, Floats]:
        """See :class:`Likelihood`."""
        return {"uptimes": np.asarray(self._density(values, self.time_s))}
