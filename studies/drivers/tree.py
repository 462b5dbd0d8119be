"""Where each option ranks first, in words: a shallow decision tree over the draws.

Shapes: n draws, D parameters, K options. Every split is the best one over all parameters and
thresholds by Gini impurity; the regions are boxes. Coverage and density are counted on draws the
tree was not grown on.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from studies.drivers.streams import stream

DEPTH = 3
SMALLEST_SHARE = 0.04
"""Share of the draws that a region holds at least."""

SMALLEST = 10
"""Draws that it holds at least."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """A box of parameter values in which one option most often ranks first.

    Parameters
    ----------
    splits
        Path, threshold and whether the box lies above it, from the root of the tree to the box; a
        value at the threshold is below.
    winner
        Index of the option.
    share
        Share of all draws inside.
    density, density_se
        Share of the draws inside in which the option ranks first.
    coverage
        Share of the option's first places that lie inside.
    """

    splits: tuple[tuple[str, float, bool], ...]
    winner: int
    share: float
    density: float
    density_se: float
    coverage: float

    @property
    def bounds(self) -> dict[str, tuple[float, float]]:
        """Limits by parameter, lower exclusive, upper inclusive, infinite where open."""
        found: dict[str, tuple[float, float]] = {}
        for path, threshold, above in self.splits:
            low, high = found.get(path, (-np.inf, np.inf))
            found[path] = (max(low, threshold), high) if above else (low, min(high, threshold))
        return found


def find_regions(
    values: np.ndarray,
    winner: np.ndarray,
    paths: Sequence[str],
    *,
    seed: int,
    depth: int = DEPTH,
) -> tuple[Region, ...]:
    """Regions of a tree grown on half of the draws and counted on the other half.

    Parameters
    ----------
    values
        Draws, (n, D).
    winner
        Index of the option that ranks first, (n,).
    paths
        Parameters, (D,).
    seed
        Seed of the halves.
    depth
        Splits from the root to a region at most.

    Returns
    -------
    tuple of Region
        In the order of the tree; the whole space as one region where no split helps. Neighbouring
        regions of one option are not joined: each is one sentence.
    """
    draws = winner.size
    shuffled = stream(seed, "regions").permutation(draws)
    grown, kept = shuffled[: draws // 2], shuffled[draws // 2 :]
    count = int(winner.max()) + 1
    least = max(SMALLEST, int(SMALLEST_SHARE * grown.size))
    tree = _Tree(values=values, winner=winner, count=count, least=least)
    regions = []
    for splits, members in tree.grow(grown, (), depth):
        majority = int(np.bincount(winner[members], minlength=count).argmax())
        inside = kept
        for column, threshold, above in splits:
            inside = inside[(values[inside, column] > threshold) == above]
        hits = int((winner[inside] == majority).sum())
        wins = int((winner[kept] == majority).sum())
        density = hits / inside.size if inside.size else float("nan")
        regions.append(
            Region(
                splits=tuple((paths[column], at, above) for column, at, above in splits),
                winner=majority,
                share=inside.size / kept.size,
                density=density,
                density_se=float(np.sqrt(density * (1.0 - density) / max(1, inside.size))),
                coverage=hits / wins if wins else float("nan"),
            )
        )
    return tuple(regions)


type _Splits = tuple[tuple[int, float, bool], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tree:
    """What every node of a tree is grown from."""

    values: np.ndarray
    winner: np.ndarray
    count: int
    least: int

    def grow(
        self, members: np.ndarray, splits: _Splits, depth: int
    ) -> list[tuple[_Splits, np.ndarray]]:
        """Boxes and their draws below a node, the lower side first."""
        split = None
        if depth:
            split = best_split(self.values[members], self.winner[members], self.count, self.least)
        if split is None:
            return [(splits, members)]
        column, threshold = split
        above = self.values[members, column] > threshold
        return [
            *self.grow(members[~above], (*splits, (column, threshold, False)), depth - 1),
            *self.grow(members[above], (*splits, (column, threshold, True)), depth - 1),
        ]


def best_split(
    values: np.ndarray, winner: np.ndarray, count: int, least: int
) -> tuple[int, float] | None:
    """Parameter and threshold that lower the Gini impurity most; None where none does.

    Impurity of m draws with m_k wins: m − Σ m_k²/m.

    Parameters
    ----------
    values
        Draws of the node, (m, D).
    winner
        Labels, (m,).
    count
        Labels there are.
    least
        Draws either side must have.
    """
    size = winner.size
    one_hot = np.eye(count)[winner]
    whole = size - (one_hot.sum(axis=0) ** 2).sum() / size
    best: tuple[int, float] | None = None
    lowest = whole * (1.0 - 1e-9)
    for column in range(values.shape[1]):
        order = np.argsort(values[:, column], kind="stable")
        ordered = values[order, column]
        left = np.cumsum(one_hot[order], axis=0)[:-1]
        right = left[-1] + one_hot[order[-1]] - left if size > 1 else left
        m = np.arange(1, size)
        impurity = size - (left**2).sum(axis=1) / m - (right**2).sum(axis=1) / (size - m)
        allowed = (ordered[1:] > ordered[:-1]) & (m >= least) & (size - m >= least)
        if not allowed.any():
            continue
        impurity = np.where(allowed, impurity, np.inf)
        at = int(impurity.argmin())
        if impurity[at] < lowest:
            lowest = impurity[at]
            best = (column, float((ordered[at] + ordered[at + 1]) / 2))
    return best
