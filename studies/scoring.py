"""Scores of predictions: coverage, interval score, log density, with errors over groups.

Shapes: N rows, G groups. Rows of one group are not independent: errors resample whole groups.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

type Floats = NDArray[np.float64]

LEVELS = (0.5, 0.8, 0.9, 0.95)
"""Central intervals that are scored."""

RESAMPLES = 20_000


def interval_score(lower: ArrayLike, upper: ArrayLike, truth: ArrayLike, level: float) -> Floats:
    """Interval score of a central interval, smaller is better.

    (u − l) + 2/α·max(0, l − y) + 2/α·max(0, y − u), α = 1 − level.

    References
    ----------
    Gneiting and Raftery 2007, equation 43.
    """
    low, high, y = (np.asarray(value, dtype=float) for value in (lower, upper, truth))
    penalty = 2.0 / (1.0 - level)
    result: Floats = (high - low) + penalty * (np.maximum(0, low - y) + np.maximum(0, y - high))
    return result


def central_intervals(draws: Floats, levels: Sequence[float] = LEVELS) -> Floats:
    """Central intervals of draws.

    Parameters
    ----------
    draws
        Shape (draws, N).

    Returns
    -------
    ndarray
        Shape (levels, 2, N).
    """
    tails = [(0.5 - level / 2.0, 0.5 + level / 2.0) for level in levels]
    return np.array([[np.quantile(draws, p, axis=0) for p in pair] for pair in tails])


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean over rows with its error over groups."""

    value: float
    error: float


def over_groups(
    values: ArrayLike, groups: Sequence[str], *, seed: int = 0, resamples: int = RESAMPLES
) -> Estimate:
    """Mean over rows, and its standard error when groups are drawn anew.

    Σ_g n_g·v_g / Σ_g n_g over groups resampled with replacement; its standard deviation times
    sqrt(G/(G − 1)), since resampling few groups varies too little. With one group there is no
    error: it is infinite.

    Parameters
    ----------
    values
        One a row, shape (N,).
    groups
        Group of each row.
    seed, resamples
        Of the bootstrap.
    """
    numbers = np.asarray(values, dtype=float)
    totals, sizes = _totals(numbers, groups)
    value = float(numbers.mean())
    count = len(sizes)
    if count == 1:
        return Estimate(value=value, error=float("inf"))
    picks = np.random.default_rng(seed).integers(count, size=(resamples, count))
    means = totals[picks].sum(axis=1) / sizes[picks].sum(axis=1)
    return Estimate(value=value, error=float(means.std() * np.sqrt(count / (count - 1))))


def _totals(numbers: Floats, groups: Sequence[str]) -> tuple[Floats, Floats]:
    """Sum and count of each group."""
    names = list(dict.fromkeys(groups))
    place = np.array([names.index(group) for group in groups])
    return np.bincount(place, numbers), np.bincount(place).astype(float)


def median_over_groups(
    values: ArrayLike, groups: Sequence[str], *, seed: int = 0, resamples: int = 2_000
) -> Estimate:
    """Median over rows, with its error as in :func:`over_groups`."""
    numbers = np.asarray(values, dtype=float)
    names = list(dict.fromkeys(groups))
    members = [numbers[[group == name for group in groups]] for name in names]
    value = float(np.median(numbers))
    if len(names) == 1:
        return Estimate(value=value, error=float("inf"))
    rng = np.random.default_rng(seed)
    picks = rng.integers(len(names), size=(resamples, len(names)))
    medians = np.array([np.median(np.concatenate([members[g] for g in pick])) for pick in picks])
    return Estimate(
        value=value, error=float(medians.std() * np.sqrt(len(names) / (len(names) - 1)))
    )
