"""Draws as a Gaussian copula: redraw some parameters as they depend on the others.

Shapes: n draws, D parameters. Each column is turned into normal scores z by its own ranks; on that
scale draws are jointly normal with the correlations of the scores, so that what is redrawn given
what is kept is normal too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from decision.precision import Layout

SMALLEST_EIGENVALUE = 1e-6
"""Correlations are shrunk towards none until they are this far from singular."""

MATERIAL_CORRELATION = 0.05
"""Rank correlations below this change no index by more than its error."""

SIGNIFICANCE = 0.01
"""Chance, over all pairs, of calling independent columns dependent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Copula:
    """Draws and the dependence between their columns.

    Parameters
    ----------
    paths
        Parameters, (D,).
    samples
        The draws, (n, D).
    scores
        Their normal scores, (n, D).
    correlation
        Of the scores, (D, D).
    shrinkage
        Share by which correlations were shrunk to be positive definite; 0 where they were.
    sorted_scores, sorted_values
        Both ascending in each column, (n, D): scores back to values.
    """

    paths: tuple[str, ...]
    samples: np.ndarray
    scores: np.ndarray
    correlation: np.ndarray
    shrinkage: float
    sorted_scores: np.ndarray
    sorted_values: np.ndarray

    def given(self, rows: np.ndarray, kept: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """Draws with the kept parameters as they are and the rest redrawn given them.

        z_v = R_vu R_uu⁻¹ z_u + L e with L Lᵀ = R_vv − R_vu R_uu⁻¹ R_uv, then back to values.

        Parameters
        ----------
        rows
            Indices of draws, (m,).
        kept
            Which parameters keep their value, (D,).
        noise
            Standard normal, (m, D).

        Returns
        -------
        numpy.ndarray
            Values, (m, D).
        """
        result: np.ndarray = self.samples[rows]
        u, v = np.flatnonzero(kept), np.flatnonzero(~kept)
        if v.size:
            r = self.correlation
            slope = np.linalg.solve(r[np.ix_(u, u)], r[np.ix_(u, v)])
            left = r[np.ix_(v, v)] - r[np.ix_(v, u)] @ slope
            lower = np.linalg.cholesky(left)
            scores = self.scores[np.ix_(rows, u)] @ slope + noise[:, v] @ lower.T
            for position, i in enumerate(v.tolist()):
                result[:, i] = self.value(i, scores[:, position])
        return result

    def value(self, index: int, scores: np.ndarray) -> np.ndarray:
        """Values of scores of one parameter by its own ranks, never beyond its draws; (m,)."""
        from scipy import special

        count = self.samples.shape[0]
        # Values that occur, not between them: a column may hold yes and no.
        rank = np.minimum((special.ndtr(scores) * count).astype(np.int64), count - 1)
        return np.asarray(self.sorted_values[rank, index])

    def learnt(self, index: int, value: float) -> dict[str, np.ndarray]:
        """All draws given that one parameter has a value: columns by path, each (n,).

        Each draw keeps what the parameter does not explain: z_j + r_ij (z − z_i).
        """
        score = np.interp(value, self.sorted_values[:, index], self.sorted_scores[:, index])
        shift = score - self.scores[:, index]
        scores = self.scores + shift[:, np.newaxis] * self.correlation[index]
        columns = {path: self.value(i, scores[:, i]) for i, path in enumerate(self.paths)}
        columns[self.paths[index]] = np.full(scores.shape[0], value)
        return columns

    def columns(self, values: np.ndarray) -> dict[str, np.ndarray]:
        """Values as columns by dotted path, each (m,)."""
        return {path: np.ascontiguousarray(values[:, i]) for i, path in enumerate(self.paths)}


def normal_scores(values: np.ndarray) -> np.ndarray:
    """Φ⁻¹((rank − ½)/n) of each column, equal values sharing their rank; (n, D)."""
    from scipy import stats

    ranks = stats.rankdata(values, axis=0)
    return np.asarray(stats.norm.ppf((ranks - 0.5) / values.shape[0]))


def fit_copula(columns: Mapping[str, np.ndarray], *, independent: bool = False) -> Copula:
    """The copula of draws.

    Parameters
    ----------
    columns
        Draws by dotted path, each of shape (n,), none of them constant.
    independent
        Whether the draws are known to be independent: then no noise is taken for dependence.
    """
    values = np.column_stack(list(columns.values()))
    scores = normal_scores(values)
    count = values.shape[1]
    correlation = np.eye(count)
    if count > 1 and not independent:
        correlation = np.corrcoef(scores, rowvar=False)
    lowest = float(np.linalg.eigvalsh(correlation)[0])
    shrinkage = 0.0
    if lowest < SMALLEST_EIGENVALUE:
        shrinkage = (SMALLEST_EIGENVALUE - lowest) / (1.0 - lowest)
        correlation = (1.0 - shrinkage) * correlation + shrinkage * np.eye(count)
    return Copula(
        paths=tuple(columns),
        samples=values,
        scores=scores,
        correlation=correlation,
        shrinkage=shrinkage,
        sorted_scores=np.sort(scores, axis=0),
        sorted_values=np.sort(values, axis=0),
    )


def split_constant(
    columns: Mapping[str, np.ndarray],
) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """Columns that vary, and the value of those that do not."""
    varying = {path: column for path, column in columns.items() if np.ptp(column) > 0}
    fixed = {path: float(c[0]) for path, c in columns.items() if path not in varying}
    return varying, fixed


def dependent_pairs(
    columns: Mapping[str, np.ndarray], chain: np.ndarray | None
) -> list[tuple[str, str, float, str]]:
    """Pairs of columns that are not independent, the strongest first.

    Rank correlations of the values, and of their distances from the median, which shows columns
    that spread together, against what independent columns show by chance.

    Parameters
    ----------
    columns
        Draws by dotted path, each of shape (n,).
    chain
        Chain of each draw, None for independent draws.

    Returns
    -------
    list of (path, path, correlation, what)
        Empty where nothing speaks against independence.
    """
    from scipy import stats

    paths: Sequence[str] = list(columns)
    if len(paths) < 2:  # noqa: PLR2004 - a pair has two
        return []
    scores = normal_scores(np.column_stack(list(columns.values())))
    layout = Layout.of(chain, scores.shape[0])
    effective = float(np.min(layout.effective(scores)))
    pairs = np.triu_indices(len(paths), k=1)
    tests = 2 * pairs[0].size
    limit = stats.norm.isf(SIGNIFICANCE / 2 / tests) / np.sqrt(max(effective - 1.0, 1.0))
    found = []
    for what, data in (("values", scores), ("distances from the median", np.abs(scores))):
        ranked = stats.rankdata(data, axis=0)
        correlation = np.corrcoef(ranked, rowvar=False)
        found += [
            (paths[i], paths[j], float(correlation[i, j]), what)
            for i, j in np.transpose(pairs).tolist()
            if abs(correlation[i, j]) > max(limit, MATERIAL_CORRELATION)
        ]
    return sorted(found, key=lambda pair: -abs(pair[2]))
