"""Sobol indices of independent parameters, over independent scrambles of SALib's design.

Shapes: N base points, F factors, D parameters, T targets, S scrambles.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from model.errors import InputError
from studies.drivers.bootstrap import Moments, moments, resample_counts
from studies.drivers.effects import SOBOL, Effects
from studies.drivers.factors import Factor, membership
from studies.drivers.targets import (
    ROUNDING_VARIANCE,
    Evaluate,
    Targets,
    constant_words,
    require_finite,
)

SCRAMBLES = 8
"""Fewest independent scrambles for an interval of Student's t."""

RESAMPLES = 200
"""Bootstrap resamples where there are fewer scrambles."""

SMALLEST = 2.0**-33
"""Uniform numbers stay this far from 0 and 1, where a quantile may be infinite: the design's own
are multiples of 2^-30 or coarser."""

type Quantile = Callable[[np.ndarray], np.ndarray]


def require_power_of_two(points: int, *, source: str = "--samples") -> None:
    """Refuse a number of base points that breaks the balance of a Sobol sequence.

    Raises
    ------
    InputError
        Naming the nearest powers of two.
    """
    exponent = max(points, 1).bit_length() - 1
    if points < 2 or points != 2**exponent:  # noqa: PLR2004 - one point has no variance
        below, above = max(2, 2**exponent), max(4, 2 ** (exponent + 1))
        raise InputError.single(
            message=f"got {points:,}, a power of two is needed: a Sobol sequence is balanced at"
            " no other length",
            source=source,
            remedy=f"the nearest are {below:,} and {above:,}",
        )


def design(
    factors: Sequence[Factor], paths: Sequence[str], points: int, *, seed: int, second_order: bool
) -> np.ndarray:
    """Saltelli's design by SALib on the unit cube, shape (N, rows, D).

    A row of the second axis is A, A with one factor from B …, B with one factor from A …, B; there
    are 2F + 2 of them with second order and F + 2 without.

    Raises
    ------
    InputError
        If the points are no power of two, or factors and parameters do not fit.
    """
    from SALib.sample import sobol

    require_power_of_two(points)
    held = membership(factors, paths)
    # SALib orders groups by their first parameter: parameters go to it factor by factor.
    order = [i for row in held for i in np.flatnonzero(row).tolist()]
    owner = [factor.name for factor in factors for _ in factor.paths]
    problem: dict[str, Any] = {
        "num_vars": len(paths),
        "names": [paths[i] for i in order],
        "bounds": [[0.0, 1.0]] * len(paths),
    }
    if len(factors) < len(paths):
        problem["groups"] = owner
    sample = sobol.sample(problem, points, calc_second_order=second_order, seed=seed)
    uniform = np.empty_like(sample)
    uniform[:, order] = sample
    clipped: np.ndarray = np.clip(uniform, SMALLEST, 1.0 - SMALLEST)
    return clipped.reshape(points, -1, len(paths))


def sobol_effects(
    evaluate: Evaluate,
    quantiles: Mapping[str, Quantile],
    factors: Sequence[Factor],
    targets: Targets,
    *,
    points: int,
    seed: int,
    scrambles: int = SCRAMBLES,
    second_order: bool = True,
    advance: Callable[[int], None] | None = None,
) -> Effects:
    """First, total and second order of every target.

    An index is the ratio of the means of numerator and variance over scrambles; its standard error
    is that of the residual, numerator − index · variance, over scrambles. Bootstrap intervals are
    too wide for a scrambled sequence and used only below ``SCRAMBLES`` scrambles.

    Parameters
    ----------
    evaluate
        The model.
    quantiles
        Quantile function of each parameter, by dotted path.
    factors
        Each parameter is in one of them.
    targets
        What indices are of.
    points
        N, a power of two.
    seed
        Seed, not negative.
    scrambles
        S.
    second_order
        Whether to estimate what pairs do together.
    advance
        Called with the number of draws evaluated.

    Raises
    ------
    InputError
        If an output is not finite, or the points are no power of two.
    """
    paths = list(quantiles)
    streams = np.random.SeedSequence(seed).generate_state(scrambles)
    count = len(factors)
    found, ranges, evaluations = [], [], 0
    values: np.ndarray = np.empty(0)
    for stream in streams:
        uniform = design(factors, paths, points, seed=int(stream), second_order=second_order)
        columns = {
            path: np.ascontiguousarray(quantiles[path](uniform[..., i]).ravel())
            for i, path in enumerate(paths)
        }
        outcomes = evaluate(columns)
        require_finite(outcomes, columns)
        values = targets.values(outcomes).reshape(points, uniform.shape[1], -1)
        ranges.append((values.min(axis=(0, 1)), values.max(axis=(0, 1)), (values**2).mean((0, 1))))
        found.append(moments(values, targets.starts, count, second_order=second_order))
        evaluations += outcomes.draws
        if advance is not None:
            advance(outcomes.draws)
    low, high, square = (np.array(part) for part in zip(*ranges, strict=True))
    varies = np.add.reduceat(high.max(axis=0) > low.min(axis=0), targets.starts) > 0
    spread = np.array([m.variance[0] for m in found])
    varies &= spread.mean(axis=0) > ROUNDING_VARIANCE * targets.total(square.mean(axis=0))
    if scrambles >= SCRAMBLES:
        estimates, degrees = over_scrambles(found), scrambles - 1.0
    else:
        counts = resample_counts(points, RESAMPLES, int(streams[-1]) or 1)
        resampled = moments(values, targets.starts, count, second_order=second_order, counts=counts)
        estimates, degrees = _over_resamples(found, resampled), np.inf
    shape = (len(targets.names), count)
    first, first_se = _masked(estimates["first"], varies)
    total, total_se = _masked(estimates["total"], varies)
    second = second_se = None
    if second_order:
        second, second_se = (_squared(part, count) for part in _masked(estimates["second"], varies))
    ends = np.append(targets.starts, values.shape[-1])
    return Effects(
        method=SOBOL,
        targets=targets.names,
        factors=tuple(factors),
        first=first,
        first_se=first_se,
        total=total,
        total_se=total_se,
        shapley=np.full(shape, np.nan),
        shapley_se=np.full(shape, np.nan),
        second=second,
        second_se=second_se,
        degrees=degrees,
        constant={
            name: constant_words(name, values[0, 0, ends[t] : ends[t + 1]], targets)
            for t, name in enumerate(targets.names)
            if not varies[t]
        },
        support=spread.mean(axis=0) * 2 * points * scrambles,
        evaluations=evaluations,
    )


def _numerators(found: Moments) -> dict[str, np.ndarray]:
    parts = {"first": found.first, "total": found.total}
    if found.second is not None:
        parts["second"] = found.second
    return parts


def over_scrambles(found: Sequence[Moments]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Ratio of means and its standard error from the spread of scrambles."""
    variance = np.array([m.variance[0] for m in found])[..., np.newaxis]
    middle = variance.mean(axis=0)
    result = {}
    for name in _numerators(found[0]):
        part = np.array([_numerators(m)[name][0] for m in found])
        with np.errstate(invalid="ignore", divide="ignore"):
            index = part.mean(axis=0) / middle
            residual = part - index * variance
            error = residual.std(axis=0, ddof=1) / np.sqrt(len(found)) / middle
        result[name] = (index, error)
    return result


def _over_resamples(
    found: Sequence[Moments], resampled: Moments
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Ratio of means and the bootstrap's standard error, conservative under scrambling."""
    result = {}
    variance = np.array([m.variance[0] for m in found]).mean(axis=0)[:, np.newaxis]
    for name, parts in _numerators(resampled).items():
        point = np.array([_numerators(m)[name][0] for m in found]).mean(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            again = parts / resampled.variance[..., np.newaxis]
            error = again.std(axis=0, ddof=1) / np.sqrt(len(found))
            result[name] = (point / variance, error)
    return result


def _masked(
    estimate: tuple[np.ndarray, np.ndarray], varies: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    index, error = estimate
    kept = varies[:, np.newaxis]
    return np.where(kept, index, np.nan), np.where(kept, error, np.nan)


def _squared(pairs: np.ndarray, count: int) -> np.ndarray:
    """Values by pair as matrices, NaN off the upper triangle."""
    square = np.full((pairs.shape[0], count, count), np.nan)
    square[(slice(None), *np.triu_indices(count, k=1))] = pairs
    return square
