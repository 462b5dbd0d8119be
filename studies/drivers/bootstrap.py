"""Sobol estimators as ratios of row means, so that resampling is a matrix product.

Shapes: N base points, F factors, C columns, T targets, R resamples, P = F(F − 1)/2 pairs. A design
row holds A, A with factor i from B (F of them), B with factor i from A (F of them, for the second
order), and B. A resample is how often each base point counts: (R, N) counts times (N, …) products
gives the means of all outputs at once.
"""

from dataclasses import dataclass

import numpy as np

ROWS = 1024
"""Base points whose products are held at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moments:
    """Numerators and denominators of the indices, one set a resample.

    Parameters
    ----------
    variance
        Of the target over A and B, summed over its columns; (R, T).
    first, total
        Numerators; (R, T, F).
    second
        Numerators by pair in the order of ``numpy.triu_indices``; (R, T, P), None without it.
    """

    variance: np.ndarray
    first: np.ndarray
    total: np.ndarray
    second: np.ndarray | None


def resample_counts(points: int, resamples: int, seed: int) -> np.ndarray:
    """How often each base point is in each bootstrap resample, shape (R, N).

    The resamples are those of ``SALib.analyze.sobol`` with the same seed, which may not be 0: there
    SALib takes the global generator.
    """
    chosen = np.random.default_rng(seed).integers(points, size=(points, resamples))
    counts = [np.bincount(chosen[:, r], minlength=points) for r in range(resamples)]
    return np.array(counts, dtype=np.float64)


def moments(
    values: np.ndarray,
    starts: np.ndarray,
    factors: int,
    *,
    second_order: bool,
    counts: np.ndarray | None = None,
) -> Moments:
    """Numerators and denominators of first, total and second order.

    With a, b, a_i, b_i the centred columns of A, B and the crossed matrices, and ⟨⟩ the mean over
    base points, summed over the columns of a target::

        first_i = ⟨b (a_i − a)⟩    total_i = ⟨(a − a_i)²⟩/2
        second_ij = ⟨b_i a_j − a b⟩ − first_i − first_j

    Parameters
    ----------
    values
        Outputs of the design, (N, rows, C).
    starts
        First column of each target, (T,).
    factors
        F.
    second_order
        Whether the design has the rows of the second order.
    counts
        Resamples, (R, N); None for the points as they are, R = 1.

    References
    ----------
    Saltelli et al. 2010, Computer Physics Communications 181:259 (first, total); Saltelli 2002,
    ibid. 145:280 (second); as in SALib 1.6.
    """
    points, _, columns = values.shape
    weights = np.ones((1, points)) if counts is None else counts
    # SALib standardises each output; only the centre matters, the scale divides out.
    centre = values.mean(axis=(0, 1))
    pairs = np.triu_indices(factors, k=1)
    targets, resamples = starts.size, weights.shape[0]
    level = np.zeros((resamples, columns))
    square = np.zeros((resamples, targets))
    first = np.zeros((resamples, targets * factors))
    total = np.zeros((resamples, targets * factors))
    both = np.zeros((resamples, targets * pairs[0].size))
    for start in range(0, points, ROWS):
        part = values[start : start + ROWS] - centre
        weight = weights[:, start : start + ROWS] / points
        size = part.shape[0]

        def average(
            products: np.ndarray, weight: np.ndarray = weight, size: int = size
        ) -> np.ndarray:
            summed = np.add.reduceat(products, starts, axis=-1)
            return np.asarray(weight @ np.moveaxis(summed, -1, 1).reshape(size, -1))

        a, b = part[:, 0], part[:, -1]
        a_i = part[:, 1 : 1 + factors]
        level += weight @ (a + b) / 2
        square += average((a**2 + b**2)[:, np.newaxis] / 2)
        first += average(b[:, np.newaxis] * (a_i - a[:, np.newaxis]))
        total += average((a[:, np.newaxis] - a_i) ** 2 / 2)
        if second_order:
            b_i = part[:, 1 + factors : 1 + 2 * factors]
            both += average(b_i[:, pairs[0]] * a_i[:, pairs[1]] - (a * b)[:, np.newaxis])
    alone = first.reshape(resamples, targets, factors)
    variance = square - np.add.reduceat(level**2, starts, axis=-1)
    interaction = None
    if second_order:
        parts = alone[..., pairs[0]] + alone[..., pairs[1]]
        interaction = both.reshape(resamples, targets, -1) - parts
    return Moments(
        variance=variance,
        first=alone,
        total=total.reshape(resamples, targets, factors),
        second=interaction,
    )
