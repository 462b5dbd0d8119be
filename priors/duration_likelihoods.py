"""Likelihoods of what an interruption costs: detection, restart, saves, lost work.

Shapes: as in :mod:`priors.likelihood`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import special

from model.numerics import Value, exp, log, maximum, sqrt
from priors.configurations import Configurations, lay_out
from priors.likelihood import (
    Floats,
    Observe,
    Observed,
    Variables,
    ids_of,
    log_gamma,
    log_lognormal,
)
from priors.observations import Durations, Evidence, LostWork
from priors.population import Population
from priors.touched import DURATION_PATHS

SPREADS = {quantity: f"{quantity}_spread" for quantity in DURATION_PATHS}
"""Auxiliary quantity of each duration: sd of its log within a fleet."""

SLOW_SHARES = {quantity: f"{quantity}_slow_share" for quantity in DURATION_PATHS}
SLOW_RATIOS = {quantity: f"{quantity}_slow_ratio" for quantity in DURATION_PATHS}
"""Auxiliary quantities of each duration: share of slow ones, and their mean over the others'."""

SLOW_SPREAD = 0.7
"""Sd of the log by which slow durations vary beyond the others: one is minutes, one is hours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DurationsLikelihood(Observed):
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
        values = [
            (item, value) for item in items if item.tails == "lognormal" for value in item.values_s
        ]
        quantiles = [(item, p, value) for item in items for p, value in item.quantiles_s]
        if not values and not quantiles:
            return None

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
    def variables(self) -> Variables:
        """See :class:`Observed`."""
        return {
            "durations": (self.ids, self.value),
            "duration_quantiles": (self.quantile_ids, self.quantile),
        }

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
class HeavyDurationsLikelihood(Observed):
    """Durations of which some are of another, much slower kind; none is dropped.

    log x ~ (1 − ε)·N(log b − σ²/2, σ) + ε·N(log rb − s²/2, s), s² = σ² + 0.7². The field is the
    mean of all, μ = b·(1 + ε(r − 1)): slow ones cost their time, and a few of them do not pass for
    the spread of the others.
    """

    ids: tuple[str, ...]
    value: Floats
    places: NDArray[np.intp]
    spreads: NDArray[np.intp]
    shares: NDArray[np.intp]
    ratios: NDArray[np.intp]

    @classmethod
    def of(cls, evidence: Evidence, population: Population) -> Self | None:
        """See :class:`Likelihood`."""
        rows = [
            (item, value)
            for item in evidence.of_kind(Durations)
            if item.tails == "heavy"
            and DURATION_PATHS[item.quantity] in population.catalogue.entries
            for value in item.values_s
        ]
        if not rows:
            return None
        items = [item for item, _ in rows]
        fields = [population.name_of(DURATION_PATHS[item.quantity], item) for item in items]
        return cls(
            ids=ids_of(items),
            value=np.array([value for _, value in rows]),
            places=population.places(fields),
            spreads=population.places([SPREADS[item.quantity] for item in items]),
            shares=population.places([SLOW_SHARES[item.quantity] for item in items]),
            ratios=population.places([SLOW_RATIOS[item.quantity] for item in items]),
        )

    @property
    def variables(self) -> Variables:
        """See :class:`Observed`."""
        return {"durations_heavy": (self.ids, self.value)}

    def _parts(self, values: Value) -> tuple[Value, Value, Value, Value, Value]:
        """Share of slow ones; location and sd of the log of the others, and of theirs."""
        spread, share = values[..., self.spreads], values[..., self.shares]
        ratio = values[..., self.ratios]
        base = log(values[..., self.places]) - log(1.0 + share * (ratio - 1.0))
        slow_spread = sqrt(spread**2 + SLOW_SPREAD**2)
        slow = base + log(ratio) - slow_spread**2 / 2.0
        return share, base - spread**2 / 2.0, spread, slow, slow_spread

    def _density(self, values: Value, value: Value) -> Value:
        share, location, spread, slow, slow_spread = self._parts(values)
        logs = log(value)
        usual = log(1.0 - share) - log(spread) - ((logs - location) / spread) ** 2 / 2.0
        other = log(share) - log(slow_spread) - ((logs - slow) / slow_spread) ** 2 / 2.0
        return _log_sum(usual, other) - 0.5 * np.log(2.0 * np.pi) - logs

    def add(self, values: Value, observe: Observe) -> None:
        """See :class:`Likelihood`."""
        import pymc as pm

        density = self._density(values, observe("durations_heavy", self.value))
        pm.Potential("durations_heavy", density.sum())

    def simulate(self, values: Floats, rng: np.random.Generator) -> dict[str, NDArray[np.generic]]:
        """See :class:`Likelihood`."""
        share, location, spread, slow, slow_spread = self._parts(values)
        is_slow = rng.random(location.shape) < share
        noise = rng.standard_normal(location.shape)
        drawn = np.where(is_slow, slow + slow_spread * noise, location + spread * noise)
        return {"durations_heavy": np.exp(drawn)}

    def log_likelihood(self, values: Floats) -> dict[str, Floats]:
        """See :class:`Likelihood`."""
        return {"durations_heavy": np.asarray(self._density(values, self.value))}


@dataclass(frozen=True, slots=True, kw_only=True)
class LostWorkLikelihood(Observed):
    """Mean of n losses ~ Gamma of mean m and variance v/n.

    m is the expected work since the last checkpoint, with detection where it is included. Failures
    come nearly evenly between two checkpoints, v = m²/3; what is read off logged steps adds a
    twelfth of the square of their distance, detection its own square, as if exponential.
    """

    ids: tuple[str, ...]
    configurations: Configurations
    mean: Floats
    count: Floats
    resolution: Floats
    detection: Floats
    """1 where the time until detection is included."""

    @classmethod
    def of(cls, evidence: Evidence, population: Population) -> Self | None:
        """See :class:`Likelihood`."""
        items = evidence.of_kind(LostWork)
        if not items:
            return None
        return cls(
            ids=ids_of(items),
            configurations=lay_out(items, population),
            mean=np.array([np.mean(item.values_s) for item in items]),
            count=np.array([float(len(item.values_s)) for item in items]),
            resolution=np.array([item.resolution_s for item in items]),
            detection=np.array([float(item.includes_detection) for item in items]),
        )

    @property
    def variables(self) -> Variables:
        """See :class:`Observed`."""
        return {"lost_work": (self.ids, self.mean)}

    def _shape(self, values: Value) -> tuple[Value, Value]:
        """Shape and rate of the gamma distribution of the mean."""
        lost, detection = self.configurations.lost_work(values)
        detection = detection * self.detection
        mean = lost + detection
        variance = lost**2 / 3.0 + detection**2 + self.resolution**2 / 12.0
        rate = self.count * mean / variance
        return mean * rate, rate

    def add(self, values: Value, observe: Observe) -> None:
        """See :class:`Likelihood`."""
        import pymc as pm

        shape, rate = self._shape(values)
        pm.Gamma("lost_work", alpha=shape, beta=rate, observed=observe("lost_work", self.mean))

    def simulate(self, values: Floats, rng: np.random.Generator) -> dict[str, NDArray[np.generic]]:
        """See :class:`Likelihood`."""
        shape, rate = self._shape(values)
        return {"lost_work": rng.gamma(shape) / rate}

    def log_likelihood(self, values: Floats) -> dict[str, Floats]:
        """See :class:`Likelihood`."""
        return {"lost_work": log_gamma(self.mean, *self._shape(values))}


def _log_sum(first: Value, second: Value) -> Value:
    """log(e^first + e^second)."""
    larger = maximum(first, second)
    return larger + log(exp(first - larger) + exp(second - larger))
