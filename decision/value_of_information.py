"""What it is worth to know more before deciding: EVPI, EVPPI, EVSI.

Shapes: n draws, K options, d features, Q points of an outer grid. Values are utilities, larger is
better, in productive accelerators; so is every result. With k* the option of the largest expected
value, everything is computed from increments V_k − V_k*, and

    EVPI = E[max_k V_k] − max_k E[V_k]
    EVPPI(θ) = E[max_k E[V_k | θ]] − max_k E[V_k]
    EVSI(X) = E[max_k E[V_k | X]] − max_k E[V_k],

one formula with ever less known: 0 ≤ EVSI ≤ EVPPI ≤ EVPI.

References
----------
Strong, Oakley & Brennan 2014 and 2015 (regression); Jalal & Alarid-Escudero 2018 (Gaussian shrink).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from decision.precision import Layout, mean_error
from decision.smoothing import Fit, bases_of, one_thread, smooth

PERMUTATIONS = 40
"""Shuffles behind a noise floor."""

FLOOR_QUANTILE = 0.95

OUTER_POINTS = 64
"""Values of a parameter at which nested redraws average: the midpoint rule over its quantiles."""

LEFT_OUT = (
    "The errors are simulation errors, of the draws and of the regression on them. They leave out "
    "how far the fitted curve is from the true one, and what the model and the priors leave out."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Information:
    """A value of information with its Monte Carlo standard error.

    Parameters
    ----------
    value
        In the unit of the values.
    error
        Standard error over draws. It holds what a rerun with other draws would change, the fit
        included; not the fit's own bias, nor that the best option itself is estimated.
    noise_floor
        What a quantity that says nothing would seem to be worth: the 95th percentile over
        shuffled draws. 0 where nothing is fitted.
    """

    value: float
    error: float
    noise_floor: float = 0.0

    @property
    def is_noise(self) -> bool:
        """Whether the value cannot be told from none: below the noise floor, or its own error."""
        return self.value <= max(self.noise_floor, self.error)


def increments(values: np.ndarray) -> np.ndarray:
    """Values less those of the option with the largest expected value; (n, K)."""
    best = int(np.argmax(values.mean(axis=0)))
    return np.asarray(values - values[:, best : best + 1])


def perfect_information(values: np.ndarray, layout: Layout) -> Information:
    """EVPI: the smallest expected regret.

    Parameters
    ----------
    values
        Shape (n, K).
    layout
        How draws fall into chains.
    """
    best = increments(values).max(axis=1)
    return Information(value=float(best.mean()), error=float(mean_error(best, layout)))


def partial_information(
    values: np.ndarray,
    features: np.ndarray,
    layout: Layout,
    *,
    seed: int | None = None,
) -> Information:
    """EVPPI or EVSI by regression of the increments.

    Features are parameters (EVPPI), or summary statistics of one data set simulated from the
    parameters of each draw (EVSI).

    Parameters
    ----------
    values
        Shape (n, K).
    features
        Shape (n, d).
    layout
        How draws fall into chains.
    seed
        Of the shuffles behind the noise floor; None for none.
    """
    gains = increments(values)
    with one_thread():
        bases = bases_of(features)
        fit, floor = smooth(bases, gains), 0.0
        if seed is not None:
            rng = np.random.default_rng(seed)
            shuffled = [
                _plug_in(smooth(bases, gains[rng.permutation(gains.shape[0])]).values)
                for _ in range(PERMUTATIONS)
            ]
            floor = float(np.quantile(shuffled, FLOOR_QUANTILE))
    return of_fit(gains, fit, layout, noise_floor=floor)


def of_fit(gains: np.ndarray, fit: Fit, layout: Layout, *, noise_floor: float = 0.0) -> Information:
    """Value of knowing what fitted increments depend on.

    The estimate is mean(max_k g_k) − max_k mean(g_k). Its influence function is the increment of
    the option that the fit chooses, draw by draw: that is what the error is of.
    """
    fitted = fit.values
    chosen = np.take_along_axis(gains, fitted.argmax(axis=1)[:, np.newaxis], axis=1)[:, 0]
    return Information(
        value=_plug_in(fitted), error=float(mean_error(chosen, layout)), noise_floor=noise_floor
    )


def _plug_in(fitted: np.ndarray) -> float:
    # Its smallest value is 0 by Jensen's inequality; rounding may fall below.
    return max(0.0, float(fitted.max(axis=1).mean() - fitted.mean(axis=0).max()))


def outer_points(column: np.ndarray, points: int = OUTER_POINTS) -> np.ndarray:
    """Quantiles of a parameter at the midpoints (q − ½)/Q; (Q,)."""
    shares = (np.arange(points) + 0.5) / points
    return np.asarray(np.quantile(column, shares))


def nested_information(
    values_at: Callable[[int], np.ndarray], points: int, layout: Layout, *, outer_draws: float
) -> Information:
    """EVPPI by nested redraws, free of any regression.

    At each outer point all draws are redrawn given the point, by the same random numbers, and the
    model is run again: E[V_k | θ_q] is a mean over n draws. The error is that of the inner draws
    and that of the draws which the outer points stand for.

    Parameters
    ----------
    values_at
        Values given the outer point q, shape (n, K).
    points
        Number of outer points Q, all equally likely.
    layout
        How draws fall into chains.
    outer_draws
        Independent draws that the outer points stand for: their own number where they are drawn,
        all draws where they are quantiles of those.
    """
    tables = [values_at(q) for q in range(points)]
    means = np.stack([table.mean(axis=0) for table in tables])
    best = int(np.argmax(means.mean(axis=0)))
    chosen = means.argmax(axis=1)
    rows = np.mean(
        [table[:, k] - table[:, best] for table, k in zip(tables, chosen, strict=True)], axis=0
    )
    inner = float(mean_error(rows, layout))
    worth = means.max(axis=1) - means[:, best]
    outer = float(np.std(worth) / outer_draws**0.5)
    return Information(value=float(rows.mean()), error=float(np.hypot(inner, outer)))


def prior_size(fit: Fit, statistics: np.ndarray, size: float) -> np.ndarray:
    """What is already known, in the unit of a study's size: n0 of the share n/(n + n0); (K,).

    The share of each fitted increment's variance that a study of one size explains gives n0, and
    with it the share at every other size.

    Parameters
    ----------
    fit
        Increments on what the study would know with endless data.
    statistics
        Summary of the data simulated from each draw at that size; (n, s).
    size
        The size n.
    """
    spread = np.var(fit.values, axis=0)
    explained = np.var(smooth(bases_of(statistics), fit.values).values, axis=0)
    share = np.divide(explained, spread, out=np.zeros_like(spread), where=spread > 0)
    share = np.clip(share, np.finfo(float).eps, 1.0)
    return np.asarray(size * (1.0 - share) / share)


def shrunk_information(
    gains: np.ndarray, fit: Fit, share: np.ndarray | float, layout: Layout
) -> Information:
    """EVSI by Gaussian shrink: expectations given the parameter, drawn in by √(n/(n + n0)).

    Exact where the increments are linear in a Gaussian parameter; elsewhere a fast check.

    Parameters
    ----------
    gains
        Increments, (n, K).
    fit
        Their expectations given what the study would know with endless data.
    share
        n/(n + n0), of each option or of all; (K,) or ().
    layout
        How draws fall into chains.
    """
    centre = fit.values.mean(axis=0)
    drawn_in = centre + np.sqrt(share) * (fit.values - centre)
    return of_fit(gains, Fit(values=drawn_in, degrees=fit.degrees), layout)
