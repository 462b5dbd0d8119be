"""How the best choice depends on prices: acceptability, its frontier and expected losses.

Shapes: n draws, K options of which the first is "do nothing", G prices.
"""

from dataclasses import dataclass

import numpy as np

from decision.risk import best_credit, opportunity_loss
from decision.utility import AnyPools, Utilities

POINTS = 31
"""Prices of a curve."""

MOST_DRAWS = 2000
"""Evenly spaced draws that curves are computed on: shares are then known to about a point."""

LARGEST_FACTOR = 50.0
LEAST_FACTOR = 2.0
BEYOND = 1.25
"""Curves go this far beyond the last median break-even."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curves:
    """The choice while all costs scale together.

    Parameters
    ----------
    options
        Names, doing nothing first.
    factors
        Factors on all costs; (G,).
    p_best
        Probability that an option is best, ties shared, 0 where the budget does not pay it; (G, K).
    expected
        Option with the largest expected utility at each factor, an index; (G,).
    expected_loss
        Expected utility forgone by an option, NaN where the budget does not pay it; (G, K).
    """

    options: tuple[str, ...]
    factors: np.ndarray
    p_best: np.ndarray
    expected: np.ndarray
    expected_loss: np.ndarray

    @property
    def frontier(self) -> np.ndarray:
        """P(best) of the largest expected utility, which is not the upper envelope; (G,)."""
        return np.asarray(self.p_best[np.arange(self.factors.size), self.expected])


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnCurve:
    """The choice while the cost of one option goes from nothing to the budget.

    Parameters
    ----------
    option
        Its name.
    costs
        Its expected cost in accelerators; (G,).
    p_best
        Probability that it is best, the others at their costs; (G,).
    """

    option: str
    costs: np.ndarray
    p_best: np.ndarray


def few_rows(draws: int, most: int = MOST_DRAWS) -> np.ndarray:
    """Evenly spaced draws, no more than so many."""
    return np.unique(np.linspace(0, draws - 1, min(draws, most)).round().astype(np.int64))


def price_factors(break_even: np.ndarray, expected_costs: np.ndarray) -> np.ndarray:
    """Factors on all costs from nothing to beyond the break-evens, closer where low; (G,).

    Parameters
    ----------
    break_even
        Median SEA of the options, infinite where they cannot be bought; (K,).
    expected_costs
        Expected costs; (K,).
    """
    known = np.isfinite(break_even) & (expected_costs > 0)
    top = float(np.max(break_even[known] / expected_costs[known], initial=0.0)) * BEYOND
    return np.asarray(
        min(max(top, LEAST_FACTOR), LARGEST_FACTOR) * np.linspace(0.0, 1.0, POINTS) ** 2
    )


def scale_all(
    pools: AnyPools, utilities: Utilities, factors: np.ndarray, *, stated_budget: bool
) -> Curves:
    """Choices while all costs scale together.

    Parameters
    ----------
    pools
        Options on some draws.
    utilities
        Options, costs and budget on the same draws.
    factors
        Factors on all costs; (G,).
    stated_budget
        Whether the budget stays as it is. The default one is the largest cost, and so scales too.
    """
    options = len(utilities.options)
    budgets = np.full(factors.shape, utilities.budget)
    if not stated_budget:
        budgets = factors * utilities.budget
    values = np.stack(
        [pools.value(k, budgets - factors * utilities.costs[:, k : k + 1]) for k in range(options)],
        axis=2,
    )
    p_best = np.zeros((factors.size, options))
    loss = np.full((factors.size, options), np.nan)
    expected = np.zeros(factors.size, dtype=np.int64)
    for point, factor in enumerate(factors):
        # The product of a rounded factor may miss the budget it came from.
        paid = factor * utilities.expected_costs <= budgets[point] * (1.0 + 1e-12)
        chosen = np.flatnonzero(paid)
        here = values[:, point, chosen]
        p_best[point, chosen] = best_credit(here).mean(axis=0)
        loss[point, chosen] = opportunity_loss(here).mean(axis=0)
        expected[point] = chosen[here.mean(axis=0).argmax()]
    return Curves(
        options=utilities.options,
        factors=factors,
        p_best=p_best,
        expected=expected,
        expected_loss=loss,
    )


def scale_one(pools: AnyPools, utilities: Utilities, option: int) -> OwnCurve:
    """The chance that one option is best while its own cost goes from nothing to the budget.

    An uncertain cost keeps its shape; one that is zero becomes a number.
    """
    costs = np.linspace(0.0, utilities.budget, POINTS)
    expected = utilities.expected_costs[option]
    shape = np.ones((utilities.values.shape[0], 1))
    if expected > 0:
        shape = utilities.costs[:, option : option + 1] / expected
    own = pools.value(option, utilities.budget - costs * shape)
    others = [k for k in utilities.admissible if k != option]
    rest = utilities.values[:, others]
    p_best = [
        best_credit(np.column_stack([own[:, point], rest]))[:, 0].mean()
        for point in range(costs.size)
    ]
    return OwnCurve(option=utilities.options[option], costs=costs, p_best=np.asarray(p_best))
