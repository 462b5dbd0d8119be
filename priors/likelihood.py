"""What every kind of observation offers: a PyMC likelihood, and a simulation with NumPy.

All observations of a kind are one vector variable. Both sides take the model's predictions from
the same formulas. Shapes: observed data (observations,); values of parameters as in
:mod:`priors.population`; simulated data (draws, observations).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy import special

from model.numerics import Value
from priors.observations import Evidence, Observation
from priors.population import Population

type Floats = NDArray[np.float64]
type Observe = Callable[[str, NDArray[np.generic]], Value]
"""Puts observed data into a model: as they are, or as data that can be exchanged."""


class Likelihood(Protocol):
    """What every kind of observation offers."""

    @classmethod
    def of(cls, evidence: Evidence, population: Population) -> Self | None:
        """The likelihood of the observations of this kind, None without any."""

    @property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """By variable, the id of the observation behind each element."""

    @property
    def observed(self) -> dict[str, NDArray[np.generic]]:
        """By variable, the data, shape (observations,)."""

    def add(self, values: Value, observe: Observe) -> None:
        """Add the likelihood to the PyMC model in context."""

    def simulate(self, values: Floats, rng: np.random.Generator) -> dict[str, NDArray[np.generic]]:
        """Draw one data set for each draw of the parameters."""

    def log_likelihood(self, values: Floats) -> dict[str, Floats]:
        """Log density of each observed element at each draw; by variable, (draws, elements)."""


type Variables = dict[str, tuple[tuple[str, ...], NDArray[np.generic]]]
"""By variable: the id of the observation behind each element, and the data."""


class Observed(ABC):
    """The half of a likelihood that says what was observed, from one table of its variables."""

    __slots__ = ()

    @property
    @abstractmethod
    def variables(self) -> Variables:
        """Every variable of this kind, those without elements too."""

    @property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """See :class:`Likelihood`; variables that no observation is behind are left out."""
        return {name: ids for name, (ids, _) in self.variables.items() if ids}

    @property
    def observed(self) -> dict[str, NDArray[np.generic]]:
        """See :class:`Likelihood`."""
        return {name: data for name, (ids, data) in self.variables.items() if ids}


def ids_of(items: Sequence[Observation]) -> tuple[str, ...]:
    """Ids in order."""
    return tuple(item.id for item in items)


def log_normal(value: Floats, mean: Floats, sd: Floats) -> Floats:
    """Log density of a normal variable."""
    return np.asarray(-0.5 * ((value - mean) / sd) ** 2 - np.log(sd) - 0.5 * np.log(2.0 * np.pi))


def log_lognormal(value: Floats, mean: Floats, sd: Floats) -> Floats:
    """Log density of a variable whose log has this mean and standard deviation."""
    return np.asarray(log_normal(np.log(value), mean, sd) - np.log(value))


def by_observation(likelihoods: Sequence[Likelihood], values: Floats) -> dict[str, Floats]:
    """Log likelihood of each whole observation at each draw, shape (draws,), by its id."""
    found: dict[str, Floats] = {}
    for likelihood in likelihoods:
        for name, density in likelihood.log_likelihood(values).items():
            for place, item in enumerate(likelihood.labels[name]):
                found[item] = found.get(item, 0.0) + density[..., place]
    return found


def log_gamma(value: Floats, shape: Floats, rate: Floats) -> Floats:
    """Log density of a gamma variable."""
    return np.asarray(
        shape * np.log(rate) + (shape - 1.0) * np.log(value) - rate * value - special.gammaln(shape)
    )
