"""Likelihoods of failures and recovery: interruptions, durations, ETTR.

Shapes: as in :mod:`priors.likelihood`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import special

from model.numerics import Value, log
from priors.configurations import FAILURE_RATE, Configurations, lay_out
from priors.likelihood import (
    Floats,
    Observe,
    ids_of,
    log_lognormal,
    log_normal,
    without_empty,
)
from priors.observations import DURATION_PATHS, Durations, Ettr, Evidence, Interruptions
from priors.population import Population

DISPERSION, RATIO = "failure_dispersion_excess", "interruptions_per_node_failure"
SPREADS = {
    "detection": "detection_spread",
    "restart": "restart_spread",
    "checkpoint_write": "checkpoint_write_spread",
}
"""Auxiliary quantity of each duration: sd of its log within a fleet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InterruptionsLikelihood:
    """events ~ negative binomial, mean μ·exposure, variance φ·mean; rates on the log scale.

    The linear form (NB1) lets exposure shrink the error; the quadratic one would put a floor under
    it. Node hardware failures have the mean μ/ratio.
    """

    ids: tuple[str, ...]
    places: NDArray[np.intp]
    hardware: NDArray[np.bool_]
    events: NDArray[np.int64]
    node_days: Floats
    rate_ids: tuple[str, ...]
    rate_places: NDArray[np.intp]
    rate_hardware: NDArray[np.bool_]
    rate: Floats
    rate_error: Floats
    dispersion: NDArray[np.intp]
    """Place of the dispersion, shape (1,), empty without counts."""
    ratio: NDArray[np.intp]
    """Place of the ratio, shape (1,), empty without hardware failures."""

    @classmethod
    def of(cls, evidence: Evidence, population: Population) -> Self | None:
        """See :class:`Likelihood`."""
        items = evidence.of_kind(Interruptions)
        if not items or FAILURE_RATE not in population.catalogue.entries:
            return None
        counted = [item for item in items if item.events is not None]
        rated = [item for item in items if item.events is None]

        def places(chosen: Sequence[Interruptions]) -> NDArray[np.intp]:
            return population.places([population.name_of(FAILURE_RATE, item) for item in chosen])

        def hardware(chosen: Sequence[Interruptions]) -> NDArray[np.bool_]:
            return np.array([item.counts == "node_hardware_failure" for item in chosen], dtype=bool)

        return cls(
            ids=ids_of(counted),
            places=places(counted),
            hardware=hardware(counted),
            events=np.array([item.events for item in counted], dtype=np.int64),
            node_days=np.array([item.node_days for item in counted], dtype=float),
            rate_ids=ids_of(rated),
            rate_places=places(rated),
            rate_hardware=hardware(rated),
            rate=np.array([item.rate_per_node_day for item in rated], dtype=float),
            rate_error=np.array([item.relative_error for item in rated], dtype=float),
            dispersion=population.places([DISPERSION] if counted else []),
            ratio=population.places([RATIO] if hardware(items).any() else []),
        )

    @property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """See :class:`Likelihood`."""
        return without_empty({"interruptions": self.ids, "interruption_rates": self.rate_ids})

    @property
    def observed(self) -> dict[str, NDArray[np.generic]]:
        """See :class:`Likelihood`."""
        return without_empty({"interruptions": self.events, "interruption_rates": self.rate})

    def _rates(self, values: Value, places: NDArray[np.intp], hardware: NDArray[np.bool_]) -> Value:
        """Expected events of the counted definition per node-day."""
        rate = values[..., places]
        if not hardware.any():
            return rate
        share = hardware.astype(float)
        return rate / (1.0 + share * (values[..., self.ratio] - 1.0))

    def add(self, values: Value, observe: Observe) -> None:
        """See :class:`Likelihood`."""
        import pymc as pm

        if self.ids:
            mean = self._rates(values, self.places, self.hardware) * self.node_days
            pm.NegativeBinomial(
                "interruptions",
                mu=mean,
                alpha=mean / values[..., self.dispersion],
                observed=observe("interruptions", self.events),
            )
        if self.rate_ids:
            pm.LogNormal(
                "interruption_rates",
                mu=log(self._rates(values, self.rate_places, self.rate_hardware)),
                sigma=self.rate_error,
                observed=observe("interruption_rates", self.rate),
            )

    def simulate(self, values: Floats, rng: np.random.Generator) -> dict[str, NDArray[np.generic]]:
        """See :class:`Likelihood`."""
        simulated: dict[str, NDArray[np.generic]] = {}
        if self.ids:
            mean = self._rates(values, self.places, self.hardware) * self.node_days
            # A Poisson count of a gamma intensity of mean μ and variance (φ − 1)·μ.
            excess = np.broadcast_to(values[..., self.dispersion], mean.shape)
            simulated["interruptions"] = rng.poisson(rng.gamma(mean / excess, excess))
        if self.rate_ids:
            centre = self._rates(values, self.rate_places, self.rate_hardware)
            noise = self.rate_error * rng.standard_normal(centre.shape)
            simulated["interruption_rates"] = centre * np.exp(noise)
        return simulated

    def log_likelihood(self, values: Floats) -> dict[str, Floats]:
        """See :class:`Likelihood`."""
        found: dict[str, Floats] = {}
        if self.ids:
            mean = self._rates(values, self.places, self.hardware) * self.node_days
            excess = values[..., self.dispersion]
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
            centre = np.log(self._rates(values, self.rate_places, self.rate_hardware))
            found["interruption_rates"] = log_lognormal(self.rate, centre, self.rate_error)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class DurationsLikelihood:
    """log x ~ N(log μ − σ²/2, σ): the field is the mean duration.

    A stated quantile: log q_p ~ N(log μ − σ²/2 + σ·z_p, relative error).
    """

    ids: tuple[str, ...]
    places: NDArray[np.intp]
    spreads: NDArray[np.intp]
    value: Floats
    quantile_ids: tuple[str, ...]
    quantile_places: NDArray[np.intp]
    quantile_spreads: NDArray[np.intp]
    quantile: Floats
    score: Floats
    error: Floats

    @classmethod
    def of(cls, evidence: Evidence, population: Population) -> Self | None:
        """See :class:`Likelihood`."""
        items = [
            item
            for item in evidence.of_kind(Durations)
            if DURATION_PATHS[item.quantity] in population.catalogue.entries
        ]
        if not items:
            return None
        values = [(item, value) for item in items for value in item.values_s]
        quantiles = [(item, p, value) for item in items for p, value in item.quantiles_s]

        def places(chosen: Sequence[Durations]) -> NDArray[np.intp]:
            return population.places(
                [population.name_of(DURATION_PATHS[item.quantity], item) for item in chosen]
            )

        def spreads(chosen: Sequence[Durations]) -> NDArray[np.intp]:
            return population.places([SPREADS[item.quantity] for item in chosen])

        of_value, of_quantile = [item for item, _ in values], [item for item, _, _ in quantiles]
        return cls(
            ids=ids_of(of_value),
            places=places(of_value),
            spreads=spreads(of_value),
            value=np.array([value for _, value in values], dtype=float),
            quantile_ids=ids_of(of_quantile),
            quantile_places=places(of_quantile),
            quantile_spreads=spreads(of_quantile),
            quantile=np.array([value for _, _, value in quantiles], dtype=float),
            score=special.ndtri(np.array([p for _, p, _ in quantiles], dtype=float)),
            error=np.array([item.relative_error for item in of_quantile], dtype=float),
        )

    @property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """See :class:`Likelihood`."""
        return without_empty({"durations": self.ids, "duration_quantiles": self.quantile_ids})

    @property
    def observed(self) -> dict[str, NDArray[np.generic]]:
        """See :class:`Likelihood`."""
        return without_empty({"durations": self.value, "duration_quantiles": self.quantile})

    @staticmethod
    def _location(
        values: Value, places: NDArray[np.intp], spreads: NDArray[np.intp]
    ) -> tuple[Value, Value]:
        """Mean and sd of the log durations."""
        spread = values[..., spreads]
        return log(values[..., places]) - spread**2 / 2.0, spread

    def add(self, values: Value, observe: Observe) -> None:
        """See :class:`Likelihood`."""
        import pymc as pm

        if self.ids:
            mean, spread = self._location(values, self.places, self.spreads)
            data = observe("durations", self.value)
            pm.LogNormal("durations", mu=mean, sigma=spread, observed=data)
        if self.quantile_ids:
            mean, spread = self._location(values, self.quantile_places, self.quantile_spreads)
            data = observe("duration_quantiles", self.quantile)
            pm.LogNormal(
                "duration_quantiles",
                mu=mean + spread * self.score,
                sigma=self.error,
                observed=data,
            )

    def simulate(self, values: Floats, rng: np.random.Generator) -> dict[str, NDArray[np.generic]]:
        """See :class:`Likelihood`."""
        simulated: dict[str, NDArray[np.generic]] = {}
        if self.ids:
            mean, spread = self._location(values, self.places, self.spreads)
            simulated["durations"] = np.exp(mean + spread * rng.standard_normal(mean.shape))
        if self.quantile_ids:
            mean, spread = self._location(values, self.quantile_places, self.quantile_spreads)
            centre = mean + spread * self.score
            noise = self.error * rng.standard_normal(centre.shape)
            simulated["duration_quantiles"] = np.exp(centre + noise)
        return simulated

    def log_likelihood(self, values: Floats) -> dict[str, Floats]:
        """See :class:`Likelihood`."""
        found: dict[str, Floats] = {}
        if self.ids:
            mean, spread = self._location(values, self.places, self.spreads)
            found["durations"] = log_lognormal(self.value, mean, spread)
        if self.quantile_ids:
            mean, spread = self._location(values, self.quantile_places, self.quantile_spreads)
            centre = mean + spread * self.score
            found["duration_quantiles"] = log_lognormal(self.quantile, centre, self.error)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class EttrLikelihood:
    """value ~ N(model, error); a bound holds with probability Φ(±(model − bound)/softness).

    Whether each bound holds is data: 1 where the model's value lies on the stated side, −1 where it
    does not. What is published always holds; simulated bounds may not.
    """

    ids: tuple[str, ...]
    values_at: Configurations | None
    value: Floats
    error: Floats
    bound_ids: tuple[str, ...]
    bounds_at: Configurations | None
    bound: Floats
    softness: Floats
    side: Floats
    """1 for a lower bound, −1 for an upper one."""

    @classmethod
    def of(cls, evidence: Evidence, population: Population) -> Self | None:
        """See :class:`Likelihood`."""
        items = evidence.of_kind(Ettr)
        if not items:
            return None
        values = [item for item in items if item.bound == "value"]
        bounds = [item for item in items if item.bound != "value"]
        return cls(
            ids=ids_of(values),
            values_at=lay_out(values, population) if values else None,
            value=np.array([item.value for item in values]),
            error=np.array([item.error for item in values]),
            bound_ids=ids_of(bounds),
            bounds_at=lay_out(bounds, population) if bounds else None,
            bound=np.array([item.value for item in bounds]),
            softness=np.array([item.error for item in bounds]),
            side=np.array([1.0 if item.bound == "at_least" else -1.0 for item in bounds]),
        )

    @property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """See :class:`Likelihood`."""
        return without_empty({"ettr": self.ids, "ettr_bounds": self.bound_ids})

    @property
    def observed(self) -> dict[str, NDArray[np.generic]]:
        """See :class:`Likelihood`."""
        return without_empty({"ettr": self.value, "ettr_bounds": np.ones(len(self.bound_ids))})

    def _margin(self, values: Value) -> Value:
        """By how many softnesses the model is on the stated side of each bound."""
        assert self.bounds_at is not None
        return self.side * (self.bounds_at.ettr(values) - self.bound) / self.softness

    def add(self, values: Value, observe: Observe) -> None:
        """See :class:`Likelihood`."""
        import pymc as pm

        if self.values_at is not None:
            pm.Normal(
                "ettr",
                mu=self.values_at.ettr(values),
                sigma=self.error,
                observed=observe("ettr", self.value),
            )
        if self.bounds_at is not None:
            holds = observe("ettr_bounds", np.ones(len(self.bound_ids)))
            log_probability = pm.logcdf(pm.Normal.dist(), self._margin(values) * holds)
            pm.Potential("ettr_bounds", log_probability.sum())

    def simulate(self, values: Floats, rng: np.random.Generator) -> dict[str, NDArray[np.generic]]:
        """See :class:`Likelihood`."""
        simulated: dict[str, NDArray[np.generic]] = {}
        if self.values_at is not None:
            centre = self.values_at.ettr(values)
            simulated["ettr"] = centre + self.error * rng.standard_normal(centre.shape)
        if self.bounds_at is not None:
            probability = special.ndtr(self._margin(values))
            holds = rng.random(probability.shape) < probability
            simulated["ettr_bounds"] = np.where(holds, 1.0, -1.0)
        return simulated

    def log_likelihood(self, values: Floats) -> dict[str, Floats]:
        """See :class:`Likelihood`."""
        found: dict[str, Floats] = {}
        if self.values_at is not None:
            found["ettr"] = log_normal(self.value, self.values_at.ettr(values), self.error)
        if self.bounds_at is not None:
            found["ettr_bounds"] = np.asarray(special.log_ndtr(self._margin(values)))
        return found
