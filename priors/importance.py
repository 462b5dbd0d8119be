"""Importance weights of draws, and whether they are to be trusted.

Shapes: one weight a draw, (m,).

References
----------
Vehtari, Simpson, Gelman, Yao & Gabry 2024, Pareto smoothed importance sampling.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

type Floats = NDArray[np.float64]

MOST_K = 0.7
"""Above this Pareto shape weights are not to be trusted."""

TRUSTED_SHARE = 0.1
"""Least effective share of the draws: of fewer the tail's shape is itself a guess."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Weighted draws of the posterior without one observation.

    Parameters
    ----------
    id
        The observation.
    rows
        Places of the draws that are used; (m,).
    weights
        Of those draws, summing to 1; (m,).
    pareto_k
        Shape of their tail.
    moved
        Their new values by dotted path, empty where they stay; (m,) each.
    """

    id: str
    rows: NDArray[np.intp]
    weights: Floats
    pareto_k: float
    moved: Mapping[str, Floats]

    @property
    def trusted(self) -> bool:
        """Whether the draws cover the posterior without the observation.

        Draws that had to be moved are no proof of that: even weights may be those of a place that
        is too narrow.
        """
        enough = self.effective >= TRUSTED_SHARE * self.weights.size
        return bool(self.pareto_k <= MOST_K and enough and not self.moved)

    @property
    def effective(self) -> float:
        """How many draws of equal weight they are worth, 1/Σw²."""
        return effective(self.weights)


def effective(weights: Floats) -> float:
    """How many draws of equal weight weighted ones are worth."""
    return float(1.0 / np.sum(weights**2))


def smoothed(log_weights: Floats) -> tuple[Floats, float]:
    """Weights that sum to 1, the largest smoothed by a Pareto tail, and the shape of that tail.

    Equal weights have no tail: their shape is −inf.
    """
    from arviz_stats.base.array import array_stats

    if np.ptp(log_weights) == 0.0:
        return np.full(log_weights.size, 1.0 / log_weights.size), -np.inf
    # It takes log likelihoods and weights by their inverse.
    found, shape = array_stats.psislw(-log_weights)  # type: ignore[no-untyped-call]
    weights = np.exp(np.reshape(found, -1))
    return weights / weights.sum(), float(np.reshape(shape, -1)[0])
