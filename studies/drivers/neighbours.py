"""Redraws without a distribution: what is not kept comes from a draw that is near in what is.

Shapes: n draws, D parameters, m rows. Nearness is Euclidean on normal scores. With few parameters
kept and many draws a neighbour is a fair redraw; with many kept it lies far off and the redraw
varies too much, which makes effects of few parameters look large. It serves as a check on the
copula and in its place where the copula fails.
"""

from dataclasses import dataclass

import numpy as np

from studies.drivers.copula import Copula

NEAREST = 10
"""Neighbours of which one is chosen at random; the draw itself is not among them."""

DISTANCES = 4_000_000
"""Distances held at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """Redraws from neighbouring draws.

    Parameters
    ----------
    copula
        The draws and their scores; its correlations are not used.
    nearest
        Neighbours to choose from.
    """

    copula: Copula
    nearest: int = NEAREST

    def given(self, rows: np.ndarray, kept: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """Draws with the kept parameters as they are and the rest of a neighbour; (m, D).

        Parameters
        ----------
        rows
            Indices of draws, (m,).
        kept
            Which parameters keep their value, (D,).
        noise
            Standard normal, (m, D); the first column chooses the neighbour.
        """
        from scipy import special

        scores = self.copula.scores
        result: np.ndarray = self.copula.samples[rows]
        if kept.all():
            return result
        draws = scores.shape[0]
        nearest = min(self.nearest, draws - 1)
        choice = np.minimum((special.ndtr(noise[:, 0]) * nearest).astype(int), nearest - 1)
        near = scores[:, kept]
        size = (near**2).sum(axis=1)
        chosen = np.empty(rows.size, dtype=np.int64)
        at_once = max(1, DISTANCES // draws)
        for start in range(0, rows.size, at_once):
            part = slice(start, start + at_once)
            mine = rows[part]
            distance = size - 2.0 * near[mine] @ near.T
            distance[np.arange(mine.size), mine] = np.inf
            among = np.argpartition(distance, nearest - 1, axis=1)[:, :nearest]
            chosen[part] = among[np.arange(mine.size), choice[part]]
        result[:, ~kept] = self.copula.samples[np.ix_(chosen, np.flatnonzero(~kept))]
        return result
