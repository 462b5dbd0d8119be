"""Smooth regression of several targets on one or a few features: conditional expectations.

Shapes: n draws, d features, K targets, m basis functions. Features go through their normal scores:
what is learnt from a quantity does not depend on the scale it is written on. A feature of few
levels gets a mean for each, any other single one a cubic regression spline, several a
Gaussian-process ridge on fixed points; how smooth the fit is, generalised cross-validation decides.
"""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

SPLINE_KNOTS = 20
"""Inner knots: finer detail than a twentieth of the draws carries no decision."""

MOST_LEVELS, DRAWS_PER_LEVEL = 12, 10
"""A feature of so few levels, each of so many draws, is taken level by level."""

POINTS_PER_FEATURE, MOST_POINTS = 50, 200
"""Points a Gaussian process is expanded on."""

LENGTHS = (0.7, 1.5, 3.0, 6.0)
"""Correlation lengths tried, in standard deviations of a feature, times √d."""

PENALTIES = 10.0 ** np.arange(-8.0, 8.01, 0.5)

CONDITION = 1e-10
"""Directions of the basis with less than this share of its squares are left out as rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """Orthonormal functions of the features, from free to wiggly.

    Parameters
    ----------
    free
        Functions that are not penalised, the constant among them; (n, f).
    functions
        The others, orthogonal to them; (n, m).
    roughness
        Penalty of each of them per unit of smoothing, positive; (m,).
    """

    free: np.ndarray
    functions: np.ndarray
    roughness: np.ndarray


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Fitted conditional expectations.

    Parameters
    ----------
    values
        Shape (n, K).
    degrees
        Effective degrees of freedom of each target; (K,).
    """

    values: np.ndarray
    degrees: np.ndarray


def normal_scores(features: np.ndarray) -> np.ndarray:
    """Φ⁻¹((rank − ½)/n) of each column, equal values sharing their rank; (n, d)."""
    from scipy import special, stats

    ranks = stats.rankdata(features, axis=0)
    return np.asarray(special.ndtri((ranks - 0.5) / features.shape[0]))


def bases_of(features: np.ndarray) -> list[Basis]:
    """Bases that suit the features, from which cross-validation chooses.

    Parameters
    ----------
    features
        Shape (n, d); columns that do not vary are left out.
    """
    varying = features[:, np.ptp(features, axis=0) > 0]
    scores = normal_scores(varying) if varying.size else varying
    if scores.shape[1] == 0:
        free = np.full((features.shape[0], 1), features.shape[0] ** -0.5)
        return [Basis(free=free, functions=free[:, :0], roughness=np.empty(0))]
    if scores.shape[1] == 1:
        _, level, counts = np.unique(varying, return_inverse=True, return_counts=True)
        if counts.size <= MOST_LEVELS and counts.min() >= DRAWS_PER_LEVEL:
            return [level_basis(level.ravel(), counts)]
        return [spline_basis(scores[:, 0])]
    return [process_basis(scores, length * scores.shape[1] ** 0.5) for length in LENGTHS]


@cache
def _controller() -> "ThreadpoolController":
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def one_thread() -> AbstractContextManager[object]:
    """Linear algebra on one thread: on matrices this small, threads wait for each other."""
    limit: AbstractContextManager[object] = _controller().limit(limits=1, user_api="blas")
    return limit


def level_basis(level: np.ndarray, counts: np.ndarray) -> Basis:
    """A mean for each level: nothing is smoothed; (n,) levels of (L,) draws each."""
    free = np.zeros((level.size, counts.size))
    free[np.arange(level.size), level] = counts[level] ** -0.5
    return Basis(free=free, functions=free[:, :0], roughness=np.empty(0))


def spline_basis(x: np.ndarray) -> Basis:
    """Cubic regression spline: knots at quantiles, penalty ∫ f″², straight lines free.

    References
    ----------
    Wood 2017, Generalized Additive Models, section 5.3.
    """
    from scipy.interpolate import BSpline

    inner = np.quantile(x, np.linspace(0.0, 1.0, SPLINE_KNOTS + 2))
    knots = np.unique(inner)
    padded = np.concatenate([[knots[0]] * 3, knots, [knots[-1]] * 3])
    design = BSpline.design_matrix(x, padded, 3).toarray()
    # f″ is linear between knots: two Gauss points an interval integrate its square exactly.
    middle, half = (knots[1:] + knots[:-1]) / 2.0, np.diff(knots) / 2.0
    bends = BSpline(padded, np.eye(design.shape[1]), 3).derivative(2)
    points = np.concatenate([middle - half / 3.0**0.5, middle + half / 3.0**0.5])
    weighted = bends(points) * np.sqrt(np.tile(half, 2))[:, np.newaxis]
    line = np.column_stack([np.ones_like(x), x])
    return _orthogonal(line, design, weighted.T @ weighted)


def process_basis(x: np.ndarray, length: float) -> Basis:
    """Gaussian process with a squared-exponential kernel, expanded on Halton points; lines free.

    f(x) = Σ_j a_j k(x, u_j), penalty aᵀ K a: the posterior mean of a process whose covariance is
    approximated by its values on the points u_j.

    References
    ----------
    Quiñonero-Candela & Rasmussen 2005, subset of regressors.
    """
    from scipy import special
    from scipy.spatial.distance import cdist
    from scipy.stats import qmc

    count = min(POINTS_PER_FEATURE * x.shape[1], MOST_POINTS)
    # The first Halton point is the corner 0, which has no normal score.
    points = special.ndtri(qmc.Halton(x.shape[1], scramble=False).random(count + 1)[1:])

    def kernel(one: np.ndarray, other: np.ndarray) -> np.ndarray:
        return np.asarray(np.exp(-cdist(one, other, "sqeuclidean") / (2.0 * length**2)))

    free = np.column_stack([np.ones(x.shape[0]), x])
    return _orthogonal(free, kernel(x, points), kernel(points, points))


def _orthogonal(free: np.ndarray, design: np.ndarray, penalty: np.ndarray) -> Basis:
    """Functions orthonormal over the draws that also diagonalise the penalty."""
    free, ranks, _ = np.linalg.svd(free, full_matrices=False)
    free = free[:, ranks > CONDITION * ranks[0]]
    rest = design - free @ (free.T @ design)
    variance, directions = np.linalg.eigh(rest.T @ rest)
    kept = variance > CONDITION * np.sum(design**2)
    directions = directions[:, kept] / np.sqrt(variance[kept])
    roughness, rotation = np.linalg.eigh(directions.T @ penalty @ directions)
    scale = float(np.median(roughness)) if roughness.size else 1.0
    return Basis(
        free=free,
        functions=rest @ (directions @ rotation),
        roughness=np.maximum(roughness / scale, CONDITION)
        if scale > 0
        else np.ones_like(roughness),
    )


def smooth(bases: list[Basis], targets: np.ndarray) -> Fit:
    """Fit every target on the basis, and with the smoothness, that cross-validates best.

    GCV = n·RSS/(n − degrees)². On orthonormal functions a fit only shrinks coefficients, by
    1/(1 + λ·roughness), so that all smoothnesses of all targets cost one product.

    Parameters
    ----------
    bases
        From :func:`bases_of`.
    targets
        Shape (n, K).
    """
    draws = targets.shape[0]
    best = np.full(targets.shape[1], np.inf)
    values, degrees = np.empty_like(targets), np.empty(targets.shape[1])
    for basis in bases:
        fixed = basis.free @ (basis.free.T @ targets)
        left = targets - fixed
        coefficients = basis.functions.T @ left
        kept = 1.0 / (1.0 + PENALTIES[:, np.newaxis] * basis.roughness)
        used = basis.free.shape[1] + kept.sum(axis=1)
        explained = (2.0 * kept - kept**2) @ coefficients**2
        total = np.einsum("ij,ij->j", left, left)
        score = np.maximum(total - explained, 0.0) / (np.maximum(draws - used, 1.0)[:, None] ** 2)
        # The smoothest of equally good ones: rounding must not choose a wiggly fit.
        chosen = score.shape[0] - 1 - np.argmin(score[::-1], axis=0)
        columns = np.arange(targets.shape[1])
        better = score[chosen, columns] < best
        fitted = fixed + basis.functions @ (kept[chosen].T * coefficients)
        values[:, better] = fitted[:, better]
        degrees[better] = used[chosen[better]]
        best[better] = score[chosen, columns][better]
    return Fit(values=values, degrees=degrees)
