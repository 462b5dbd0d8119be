"""What can be lost: measures of risk on draws × options of the one utility.

Shapes: n draws, K options of which the first is "do nothing"; utilities are productive
accelerators, of which more is better. Options that the budget does not pay are left out before.
"""

from dataclasses import dataclass

import numpy as np

from decision.precision import Layout, mean_error, quantile, quantile_error
from model.substitution import ROUNDING

CONFIDENCES = (0.50, 0.80, 0.95)
"""At which a break-even is stated."""

TAIL = 0.10
"""Share of the worst draws that the conditional value at risk is the mean of."""

RESAMPLES = 100
"""Of the bootstrap of dominance: a frequency is known to 5 points at worst."""


def best_credit(values: np.ndarray) -> np.ndarray:
    """Share of being best in each draw: 1/t to each of t options that tie; (n, K)."""
    best = values.max(axis=1, keepdims=True)
    first = values >= best - ROUNDING * np.abs(best)
    return np.asarray(first / first.sum(axis=1, keepdims=True))


def opportunity_loss(values: np.ndarray) -> np.ndarray:
    """Utility forgone by each option against the best of the draw, max_j U_j − U_k; (n, K)."""
    return np.asarray(values.max(axis=1, keepdims=True) - values)


def pays(sea: np.ndarray, costs: np.ndarray) -> np.ndarray:
    """Whether an option costs less than its SEA, in each draw; (n, K).

    What costs exactly its SEA does not pay. An option that no pool replaces pays at any cost.
    """
    return np.asarray(costs < sea)


def break_even(sea: np.ndarray, confidence: float) -> np.ndarray:
    """Cost below which an option pays with a probability of at least ``confidence``; (K,).

    The (1 − confidence) quantile of SEA by the inverse of its distribution, which is defined with
    infinite draws too.
    """
    return quantile(sea, 1.0 - confidence)


def break_even_error(sea: np.ndarray, confidence: float, layout: Layout) -> np.ndarray:
    """Monte Carlo standard error of a break-even; (K,)."""
    return quantile_error(sea, 1.0 - confidence, layout)


def tail_mean(values: np.ndarray, share: float = TAIL) -> np.ndarray:
    """CVaR: mean of the worst ``share`` of draws, the draw at its border with its fraction; (K,).

    (Σ_{i<=m} x_(i) + (αn − m)·x_(m+1))/(αn), m = floor(αn).

    References
    ----------
    Rockafellar and Uryasev 2002, "Conditional value-at-risk for general loss distributions",
    proposition 8.
    """
    draws = values.shape[0]
    count = share * draws
    # Products such as 0.1·50 are not exact.
    whole = min(draws, int(np.floor(count + 1e-9 * draws)))
    ordered = np.sort(values, axis=0)
    total = ordered[:whole].sum(axis=0)
    if whole < draws:
        total = total + max(0.0, count - whole) * ordered[whole]
    return np.asarray(total / count)


def tail_mean_error(values: np.ndarray, layout: Layout, share: float = TAIL) -> np.ndarray:
    """Monte Carlo standard error of the tail mean; (K,).

    CVaR = q − E[(q − X)⁺]/α with q the quantile, whose own error is of second order.
    """
    border = quantile(values, share)
    return mean_error(np.maximum(border - values, 0.0) / share, layout)


def certainty_equivalent(values: np.ndarray, tolerance: float) -> np.ndarray:
    """Sure utility as good as the option, at a risk tolerance R: −R·ln E[exp(−U/R)]; (K,)."""
    lowest = values.min(axis=0)
    return np.asarray(lowest - tolerance * np.log(_discounts(values, tolerance).mean(axis=0)))


def certainty_equivalent_error(values: np.ndarray, tolerance: float, layout: Layout) -> np.ndarray:
    """Monte Carlo standard error of the certainty equivalent by the delta method; (K,)."""
    discounts = _discounts(values, tolerance)
    return np.asarray(tolerance * mean_error(discounts, layout) / discounts.mean(axis=0))


def _discounts(values: np.ndarray, tolerance: float) -> np.ndarray:
    """exp(−(U − min U)/R), at most 1: the minimum is taken out so that none overflows."""
    return np.asarray(np.exp(-(values - values.min(axis=0)) / tolerance))


def beats(values: np.ndarray) -> np.ndarray:
    """Probability that the option of the row is better than that of the column; (K, K).

    Equal utilities count half, so that p_ij + p_ji = 1.
    """
    options = values.shape[1]
    result = np.full((options, options), 0.5)
    tolerance = ROUNDING * np.abs(values.max(axis=1))
    for first in range(options):
        for second in range(first + 1, options):
            ahead = values[:, first] - values[:, second]
            credit = np.where(np.abs(ahead) <= tolerance, 0.5, ahead > 0)
            result[first, second] = credit.mean()
            result[second, first] = 1.0 - result[first, second]
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class Dominance:
    """One option is at least as good as another for everybody of a kind.

    Parameters
    ----------
    over, under
        Indices of the better and of the worse option.
    order
        1: for everybody who prefers more; 2: for everybody who also dislikes risk.
    frequency
        Share of bootstrap resamples of the draws in which it holds.
    """

    over: int
    under: int
    order: int
    frequency: float


def dominances(values: np.ndarray, seed: int, resamples: int = RESAMPLES) -> tuple[Dominance, ...]:
    """Stochastic dominance of first and second order that holds on the draws.

    Of first order where every quantile is at least as large, of second where every mean of the
    worst share is; the highest that holds is named.

    Parameters
    ----------
    values
        Utilities; (n, K).
    seed
        Of the resampling.
    resamples
        Resamples of whole draws, so that what moves options together stays together.
    """
    draws, options = values.shape
    orders = _orders(values)
    pairs = [
        (over, under) for over in range(options) for under in range(options) if orders[over, under]
    ]
    if not pairs:
        return ()
    counts = np.zeros((options, options), dtype=np.int64)
    wanted = np.where(orders == 0, np.iinfo(np.int64).max, orders)
    generator = np.random.default_rng(seed)
    for _ in range(resamples):
        found = _orders(values[generator.integers(draws, size=draws)])
        counts += (found > 0) & (found <= wanted)
    return tuple(
        Dominance(
            over=over,
            under=under,
            order=int(orders[over, under]),
            frequency=float(counts[over, under] / resamples),
        )
        for over, under in pairs
    )


def _orders(values: np.ndarray) -> np.ndarray:
    """Lowest order at which the row's option dominates the column's, 0 where none; (K, K)."""
    options = values.shape[1]
    ordered = np.sort(values, axis=0).T
    sums = np.cumsum(ordered, axis=1)
    tolerance = ROUNDING * np.abs(ordered).max()
    result = np.zeros((options, options), dtype=np.int64)
    total = sums[:, -1]
    for over in range(options):
        for under in range(options):
            # Dominance of either order orders the means too; equal ones differ by rounding.
            if over == under or total[over] < total[under] - tolerance * values.shape[0]:
                continue
            for order, curves, width in (
                (1, ordered, tolerance),
                (2, sums, tolerance * values.shape[0]),
            ):
                ahead = curves[over] - curves[under]
                if ahead.min() >= -width and ahead.max() > width:
                    result[over, under] = order
                    break
    return result
