"""Switching values: where the recommendation flips as one parameter moves.

Shapes: n draws, K options, G values of the parameter. The recommendation is the option with the
largest expected gain over the draws. A parameter is *set* to a value in every draw, the others as
they are: what if we made it so. Where parameters depend on each other it can also be *learnt* to
have the value, the others moving along: what if we measured it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from studies.drivers.copula import Copula
from studies.drivers.effects import CONFIDENCE
from studies.drivers.streams import stream
from studies.drivers.targets import Evaluate, require_finite

SET, LEARNT = "set", "learnt"

VALUES = 25
"""Values of a parameter that are tried before its flips are refined."""

TAIL = 0.005
"""Share of draws left out at either end of a parameter's range."""

RESAMPLES = 400
BLOCK = 20
"""Consecutive draws of a chain that are resampled together."""

TOLERANCE = 1e-4
"""Flips are found to this share of the parameter's range."""

type Gains = Callable[[np.ndarray], np.ndarray]
"""Values (G,) to gains (G, n, K)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flip:
    """A value at which the recommendation changes.

    Parameters
    ----------
    value
        The value.
    low, high
        Bootstrap interval of 95%; it ends at the range where a resample has no flip.
    found
        Share of resamples in which the same two options change places within the range.
    below, above
        The options recommended on either side.
    """

    value: float
    low: float
    high: float
    found: float
    below: str
    above: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Switching:
    """Recommendations over the range of one parameter.

    Parameters
    ----------
    parameter
        Dotted path.
    reading
        ``set`` or ``learnt``.
    low, high
        The range: 99% of the draws.
    flips
        In ascending order; empty: never within its range.
    holding
        Option and share of draws on each stretch between flips, in ascending order.
    values, gains
        Values tried (G,) and the expected gain of each option there (G, K).
    """

    parameter: str
    reading: str
    low: float
    high: float
    flips: tuple[Flip, ...]
    holding: tuple[tuple[str, float], ...]
    values: np.ndarray
    gains: np.ndarray


def switching_values(
    evaluate: Evaluate,
    copula: Copula,
    parameters: Sequence[str],
    *,
    options: Sequence[str],
    seed: int,
    chain: np.ndarray | None = None,
    reading: str = SET,
    values: int = VALUES,
) -> tuple[Switching, ...]:
    """Where the recommendation flips along each parameter.

    Parameters
    ----------
    evaluate
        The model.
    copula
        The draws; its correlations matter for ``learnt`` only.
    parameters
        Dotted paths, each with the same random resamples.
    options
        All options, doing nothing first.
    seed
        Seed of the bootstrap, not negative.
    chain
        Chain of each draw, None for independent draws.
    reading
        ``set`` or ``learnt``.
    values
        Values tried of each parameter.

    Returns
    -------
    tuple of Switching
        The interval holds the simulation's error over draws, not what the draws cannot know.
    """
    counts = _resamples(copula.samples.shape[0], chain, seed)
    result = []
    for parameter in parameters:
        index = copula.paths.index(parameter)
        gains = _gains_of(evaluate, copula, index, reading)
        own = copula.sorted_values[:, index]
        grid = np.unique(np.quantile(own, np.linspace(TAIL, 1.0 - TAIL, values)))
        tried = gains(grid)
        means = tried.mean(axis=1)
        best = means.argmax(axis=1)
        flips = []
        for g in np.flatnonzero(best[1:] != best[:-1]).tolist():
            flips += _between(gains, (grid[g], grid[g + 1]), (int(best[g]), int(best[g + 1])))
        curves = _Curves(gains=gains, grid=grid, tried=tried, counts=counts)
        found = tuple(curves.flip(*flip, options) for flip in flips)
        edges = np.searchsorted(own, [flip.value for flip in found]) / own.size
        shares = np.diff([0.0, *edges, 1.0])
        holders = [options[best[0]], *(flip.above for flip in found)]
        result.append(
            Switching(
                parameter=parameter,
                reading=reading,
                low=float(grid[0]),
                high=float(grid[-1]),
                flips=found,
                holding=tuple(zip(holders, map(float, shares), strict=True)),
                values=grid,
                gains=means,
            )
        )
    return tuple(result)


def _gains_of(evaluate: Evaluate, copula: Copula, index: int, reading: str) -> Gains:
    draws = copula.samples.shape[0]
    path = copula.paths[index]

    def gains(values: np.ndarray) -> np.ndarray:
        if reading == LEARNT:
            parts = [copula.learnt(index, float(value)) for value in values]
            columns: Mapping[str, np.ndarray] = {
                name: np.concatenate([part[name] for part in parts]) for name in copula.paths
            }
        else:
            own = copula.columns(copula.samples)
            columns = {name: np.tile(column, values.size) for name, column in own.items()}
            columns = {**columns, path: np.repeat(values, draws)}
        outcomes = evaluate(columns)
        require_finite(outcomes, columns)
        return outcomes.gain.reshape(values.size, draws, -1)

    return gains


def _between(
    gains: Gains, ends: tuple[float, float], best: tuple[int, int]
) -> list[tuple[float, int, int]]:
    """Flips between two values with different recommendations: value, below, above."""
    from scipy import optimize

    (low, high), (below, above) = ends, best

    def difference(value: float) -> float:
        mean = gains(np.array([value]))[0].mean(axis=0)
        return float(mean[below] - mean[above])

    value = float(optimize.brentq(difference, low, high, xtol=TOLERANCE * (high - low)))
    mean = gains(np.array([value]))[0].mean(axis=0)
    third = int(mean.argmax())
    # A third option may be best where the two are equal; it then has a flip on either side.
    rises = mean[third] - max(mean[below], mean[above]) > TOLERANCE * abs(mean[third])
    if third in (below, above) or not rises or not low < value < high:
        return [(value, below, above)]
    return [
        *_between(gains, (low, value), (below, third)),
        *_between(gains, (value, high), (third, above)),
    ]


def _resamples(draws: int, chain: np.ndarray | None, seed: int) -> np.ndarray:
    """How often each draw is in each resample, over draws; (R, n). Rows sum to about 1."""
    generator = stream(seed, "switching values")
    size = 1 if chain is None else min(BLOCK, max(1, draws // BLOCK))
    blocks = -(-draws // size)
    counts = generator.multinomial(blocks, np.full(blocks, 1.0 / blocks), size=RESAMPLES)
    spread = np.repeat(counts, size, axis=1)[:, :draws].astype(np.float64)
    return np.asarray(spread / spread.sum(axis=1, keepdims=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Curves:
    """Gains over the range of a parameter, with resamples of the draws.

    Parameters
    ----------
    gains
        The function.
    grid, tried
        Values (G,) and gains there (G, n, K).
    counts
        Weight of each draw in each resample, (R, n).
    """

    gains: Gains
    grid: np.ndarray
    tried: np.ndarray
    counts: np.ndarray

    def flip(self, value: float, below: int, above: int, options: Sequence[str]) -> Flip:
        """A flip with its bootstrap interval, from the two options' difference on the grid.

        The flip itself is one more grid point, so that on the draws as they are the interpolated
        difference is zero exactly there.
        """
        at = int(np.searchsorted(self.grid, value))
        points = np.insert(self.grid, at, value)
        here = self.gains(np.array([value]))[0]
        difference = np.insert(
            self.tried[:, :, below] - self.tried[:, :, above],
            at,
            here[:, below] - here[:, above],
            axis=0,
        )
        again = self.counts @ difference.T - difference[at].mean()
        crossings = np.array([_nearest_crossing(points, curve, value) for curve in again])
        found = np.isfinite(crossings)
        # Without a crossing the flip lies beyond the end at which the curve is nearer to zero.
        nearer_low = np.abs(again[:, 0]) < np.abs(again[:, -1])
        filled = np.where(found, crossings, np.where(nearer_low, self.grid[0], self.grid[-1]))
        tail = (1.0 - CONFIDENCE) / 2
        low, high = np.quantile(filled, [tail, 1.0 - tail])
        return Flip(
            value=value,
            low=float(min(low, value)),
            high=float(max(high, value)),
            found=float(found.mean()),
            below=options[below],
            above=options[above],
        )


def _nearest_crossing(points: np.ndarray, curve: np.ndarray, value: float) -> float:
    """The zero of a piecewise linear curve that falls through it nearest to a value; or NaN."""
    falls = np.flatnonzero((curve[:-1] > 0) & (curve[1:] <= 0))
    if not falls.size:
        return float("nan")
    left, right = curve[falls], curve[falls + 1]
    zeros = points[falls] + (points[falls + 1] - points[falls]) * left / (left - right)
    return float(zeros[np.argmin(np.abs(zeros - value))])
