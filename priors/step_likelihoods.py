"""Likelihoods of what healthy steps show: throughput, step times, link efficiency.

Shapes: as in :mod:`priors.likelihood`.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import special

from model.numerics import Value, log
from model.step import nominal_flops_per_token
from priors.configurations import Configurations, lay_out
from priors.likelihood import Floats, Observe, ids_of, log_lognormal, log_normal
from priors.observations import Evidence, LinkEfficiency, StepTimes, Throughput
from priors.population import Population

NET_EFFICIENCY = "topology.net_efficiency"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThroughputLikelihood:
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
    def labels(self) -> dict[str, tuple[str, ...]]:
        """See :class:`Likelihood`."""
        return {"throughput": self.ids}

    @property
    def observed(self) -> dict[str, NDArray[np.generic]]:
        """See :class:`Likelihood`."""
        return {"throughput": self.value}

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
class LinkEfficiencyLikelihood:
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
    def labels(self) -> dict[str, tuple[str, ...]]:
        """See :class:`Likelihood`."""
        return {"link_efficiency": self.ids}

    @property
    def observed(self) -> dict[str, NDArray[np.generic]]:
        """See :class:`Likelihood`."""
        return {"link_efficiency": self.mean}

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
class StepTimesLikelihood:
    """log mean ~ N(log step, relative error); s² ~ Gamma((n − 1)/2, (n − 1)/(2σ²)).

    s is the spread of single steps, σ the model's (see
    :meth:`priors.configurations.Configurations.step`).
    """

    ids: tuple[str, ...]
    configurations: Configurations
    mean: Floats
    error: Floats
    variance: Floats
    degrees: Floats

    @classmethod
    def of(cls, evidence: Evidence, population: Population) -> Self | None:
        """See :class:`Likelihood`."""
        items = evidence.of_kind(StepTimes)
        if not items:
            return None
        return cls(
            ids=ids_of(items),
            configurations=lay_out(items, population),
            mean=np.array([item.mean_s for item in items]),
            error=np.array([item.relative_error for item in items]),
            variance=np.array([item.step_sd_s**2 for item in items]),
            degrees=np.array([item.count - 1.0 for item in items]),
        )

    @property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """See :class:`Likelihood`."""
        return {"step_time_mean": self.ids, "step_time_variance": self.ids}

    @property
    def observed(self) -> dict[str, NDArray[np.generic]]:
        """See :class:`Likelihood`."""
        return {"step_time_mean": self.mean, "step_time_variance": self.variance}

    def add(self, values: Value, observe: Observe) -> None:
        """See :class:`Likelihood`."""
        import pymc as pm

        total, spread = self.configurations.step(values)
        pm.LogNormal(
            "step_time_mean",
            mu=log(total),
            sigma=self.error,
            observed=observe("step_time_mean", self.mean),
        )
        pm.Gamma(
            "step_time_variance",
            alpha=self.degrees / 2.0,
            beta=self.degrees / (2.0 * spread**2),
            observed=observe("step_time_variance", self.variance),
        )

    def simulate(self, values: Floats, rng: np.random.Generator) -> dict[str, NDArray[np.generic]]:
        """See :class:`Likelihood`."""
        total, spread = self.configurations.step(values)
        shape = np.broadcast_shapes(total.shape, spread.shape)
        noise = self.error * rng.standard_normal(shape)
        chi_square = rng.chisquare(np.broadcast_to(self.degrees, shape))
        return {
            "step_time_mean": total * np.exp(noise),
            "step_time_variance": spread**2 * chi_square / self.degrees,
        }

    def log_likelihood(self, values: Floats) -> dict[str, Floats]:
        """See :class:`Likelihood`."""
        total, spread = self.configurations.step(values)
        shape, rate = self.degrees / 2.0, self.degrees / (2.0 * spread**2)
        variance = (
            shape * np.log(rate)
            + (shape - 1.0) * np.log(self.variance)
            - rate * self.variance
            - special.gammaln(shape)
        )
        return {
            "step_time_mean": log_lognormal(self.mean, np.log(total), self.error),
            "step_time_variance": variance,
        }
