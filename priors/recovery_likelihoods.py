"""Likelihood of the effective training time ratio.

Shapes: as in :mod:`priors.likelihood`.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import special

from model.numerics import Value
from priors.configurations import Configurations, lay_out
from priors.likelihood import Floats, Observe, Observed, Variables, ids_of, log_normal
from priors.observations import Ettr, Evidence
from priors.population import Population


@dataclass(frozen=True, slots=True, kw_only=True)
class EttrLikelihood(Observed):
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
    def variables(self) -> Variables:
        """See :class:`Observed`."""
        return {
            "ettr": (self.ids, self.value),
            "ettr_bounds": (self.bound_ids, np.ones(len(self.bound_ids))),
        }

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
