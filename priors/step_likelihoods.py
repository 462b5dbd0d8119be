"""Likelihoods of what healthy steps show: throughput, step times, link efficiency.

Shapes: as in :mod:`priors.likelihood`.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from model.numerics import Value, log, sqrt
from model.step import nominal_flops_per_token
from priors.configurations import Configurations, lay_out
from priors.correlation import independent_share
from priors.likelihood import (
    Floats,
    Observe,
    Observed,
    Variables,
    ids_of,
    log_gamma,
    log_lognormal,
    log_normal,
)
from priors.observations import Evidence, LinkEfficiency, StepTimes, Throughput
from priors.population import Population
from priors.touched import NET_EFFICIENCY

REGIME_SPREAD = "regime_spread"
"""Auxiliary quantity: sd of the log of the step between regimes of one job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThroughputLikelihood(Observed):
    """log value ~ N(log prediction, relative error).

    A relative error acts on the log scale, so that a rate and its inverse carry the same.
    """

    ids: tuple[str, ...]
    configurations: Configurations
    value: Floats
    error: Floats
    scale: Floats
    """Unit of each value over model FLOP/s of an accelerator."""

    @classmethod
    def of(cls, evidence: Evidence, population: Population) -> Self | None:
        """See :class:`Likelihood`."""
        items = evidence.of_kind(Throughput)
        if not items:
            return None
        return cls(
            ids=ids_of(items),
            configurations=lay_out(items, population),
            value=np.array([item.value for item in items]),
            error=np.array([item.relative_error for item in items]),
            scale=np.array([_unit_of_flops(item) for item in items]),
        )

    @property
    def variables(self) -> Variables:
        """See :class:`Observed`."""
        return {"throughput": (self.ids, self.value)}

    def _prediction(self, values: Value) -> Value:
        return self.configurations.flops_per_accelerator(values) * self.scale

    def add(self, values: Value, observe: Observe) -> None:
        """See :class:`Likelihood`."""
        import pymc as pm

        data = observe("throughput", self.value)
        pm.LogNormal(
            "throughput", mu=log(self._prediction(values)), sigma=self.error, observed=data
        )

    def simulate(self, values: Floats, rng: np.random.Generator) -> dict[str, NDArray[np.generic]]:
        """See :class:`Likelihood`."""
        centre = self._prediction(values)
        return {"throughput": centre * np.exp(self.error * rng.standard_normal(centre.shape))}

    def log_likelihood(self, values: Floats) -> dict[str, Floats]:
        """See :class:`Likelihood`."""
        centre = np.log(self._prediction(values))
        return {"throughput": log_lognormal(self.value, centre, self.error)}


def _unit_of_flops(item: Throughput) -> float:
    """What one model FLOP/s of an accelerator is in the unit of the observation."""
    scenario = item.setting.scenario
    if item.unit == "tflops_per_accelerator":
        return 1e-12
    if item.unit == "mfu":
        return float(1.0 / scenario.accelerator.peak_flops_bf16)
    return float(scenario.world / nominal_flops_per_token(scenario))


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkEfficiencyLikelihood(Observed):
    """mean ~ N(net_efficiency, sqrt(sd²/repeats + floor²))."""

    ids: tuple[str, ...]
    places: NDArray[np.intp]
    mean: Floats
    error: Floats

    @classmethod
    def of(cls, evidence: Evidence, population: Population) -> Self | None:
        """See :class:`Likelihood`."""
        items = evidence.of_kind(LinkEfficiency)
        if not items or NET_EFFICIENCY not in population.catalogue.entries:
            return None
        return cls(
            ids=ids_of(items),
            places=population.places([population.name_of(NET_EFFICIENCY, i) for i in items]),
            mean=np.array([item.mean for item in items]),
            error=np.sqrt([i.sd**2 / i.repeats + i.error_floor**2 for i in items]),
        )

    @property
    def variables(self) -> Variables:
        """See :class:`Observed`."""
        return {"link_efficiency": (self.ids, self.mean)}

    def add(self, values: Value, observe: Observe) -> None:
        """See :class:`Likelihood`."""
        import pymc as pm

        data = observe("link_efficiency", self.mean)
        centre = values[..., self.places]
        pm.Normal("link_efficiency", mu=centre, sigma=self.error, observed=data)

    def simulate(self, values: Floats, rng: np.random.Generator) -> dict[str, NDArray[np.generic]]:
        """See :class:`Likelihood`."""
        centre = values[..., self.places]
        return {"link_efficiency": centre + self.error * rng.standard_normal(centre.shape)}

    def log_likelihood(self, values: Floats) -> dict[str, Floats]:
        """See :class:`Likelihood`."""
        return {"link_efficiency": log_normal(self.mean, values[..., self.places], self.error)}


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTimesLikelihood(Observed):
    """log mean ~ N(log step, relative error); s² ~ Gamma((n − 1)/2, (n − 1)/(2σ²)).

    s is the spread of single steps, σ the model's (see
    :meth:`priors.configurations.Configurations.step`), n the number of as many independent times.
    Where the log shows K regimes, each has a level of its own, log-normal around the step with an
    sd ω that is learnt: the mean is that of their logs, with the variance (ω² + e²)/K on top, and
    the variance of the logs is Gamma((K − 1)/2, (K − 1)/(2(ω² + e²))), e² what the spread of steps
    leaves in the mean of a regime.
    """

    ids: tuple[str, ...]
    configurations: Configurations
    mean: Floats
    error: Floats
    variance: Floats
    degrees: Floats
    regimes: Floats
    """K of each observation; 0 where it shows one level."""
    within: Floats
    """e² of each observation."""
    regime_ids: tuple[str, ...]
    regime_variance: Floats
    spread: NDArray[np.intp]
    """Place of ω, shape (1,), empty without regimes."""

    @classmethod
    def of(cls, evidence: Evidence, population: Population) -> Self | None:
        """See :class:`Likelihood`."""
        items = evidence.of_kind(StepTimes)
        if not items:
            return None
        shifting = [item for item in items if item.regimes]
        logs = {item.id: np.log([mean for mean, _ in item.regimes]) for item in shifting}
        return cls(
            ids=ids_of(items),
            configurations=lay_out(items, population),
            mean=np.array(
                [np.exp(logs[item.id].mean()) if item.regimes else item.mean_s for item in items]
            ),
            error=np.array([item.relative_error for item in items]),
            variance=np.array([item.step_sd_s**2 for item in items]),
            degrees=np.array([item.degrees for item in items]),
            regimes=np.array([float(len(item.regimes)) for item in items]),
            within=np.array([_within(item) for item in items]),
            regime_ids=ids_of(shifting),
            regime_variance=np.array([logs[item.id].var(ddof=1) for item in shifting]),
            spread=population.places([REGIME_SPREAD] if shifting else []),
        )

    @property
    def variables(self) -> Variables:
        """See :class:`Observed`."""
        return {
            "step_time_mean": (self.ids, self.mean),
            "step_time_variance": (self.ids, self.variance),
            "step_time_regimes": (self.regime_ids, self.regime_variance),
        }

    def _error(self, values: Value) -> Value:
        """Sd of the log of the mean."""
        if not self.spread.size:
            return self.error
        several = self.regimes > 0
        share = several / np.where(several, self.regimes, 1.0)
        return sqrt(self.error**2 + (values[..., self.spread] ** 2 + self.within) * share)

    def _between(self, values: Value) -> tuple[Value, Value]:
        """Shape and rate of the variance of the logs of regimes."""
        several = self.regimes > 0
        shape = (self.regimes[several] - 1.0) / 2.0
        return shape, shape / (values[..., self.spread] ** 2 + self.within[several])

    def add(self, values: Value, observe: Observe) -> None:
        """See :class:`Likelihood`."""
        import pymc as pm

        total, spread = self.configurations.step(values)
        pm.LogNormal(
            "step_time_mean",
            mu=log(total),
            sigma=self._error(values),
            observed=observe("step_time_mean", self.mean),
        )
        pm.Gamma(
            "step_time_variance",
            alpha=self.degrees / 2.0,
            beta=self.degrees / (2.0 * spread**2),
            observed=observe("step_time_variance", self.variance),
        )
        if self.regime_ids:
            shape, rate = self._between(values)
            data = observe("step_time_regimes", self.regime_variance)
            pm.Gamma("step_time_regimes", alpha=shape, beta=rate, observed=data)

    def simulate(self, values: Floats, rng: np.random.Generator) -> dict[str, NDArray[np.generic]]:
        """See :class:`Likelihood`."""
        total, spread = self.configurations.step(values)
        shape = np.broadcast_shapes(total.shape, spread.shape)
        noise = self._error(values) * rng.standard_normal(shape)
        chi_square = rng.chisquare(np.broadcast_to(self.degrees, shape))
        simulated: dict[str, NDArray[np.generic]] = {
            "step_time_mean": total * np.exp(noise),
            "step_time_variance": spread**2 * chi_square / self.degrees,
        }
        if self.regime_ids:
            half, rate = self._between(values)
            simulated["step_time_regimes"] = rng.gamma(np.broadcast_to(half, rate.shape)) / rate
        return simulated

    def log_likelihood(self, values: Floats) -> dict[str, Floats]:
        """See :class:`Likelihood`."""
        total, spread = self.configurations.step(values)
        half = self.degrees / 2.0
        found = {
            "step_time_mean": log_lognormal(self.mean, np.log(total), self._error(values)),
            "step_time_variance": log_gamma(self.variance, half, half / spread**2),
        }
        if self.regime_ids:
            found["step_time_regimes"] = log_gamma(self.regime_variance, *self._between(values))
        return found


def _within(item: StepTimes) -> float:
    """Variance that the spread of steps leaves in the log of a regime's mean, averaged."""
    if not item.regimes:
        return 0.0
    independent = independent_share(item.correlation)
    return float(
        np.mean(
            [(item.sd_s / mean) ** 2 / max(rows * independent, 1.0) for mean, rows in item.regimes]
        )
    )
