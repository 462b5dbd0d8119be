"""Cheap models with known indices, in the form of outcomes of a question."""

from collections.abc import Callable, Mapping
from itertools import combinations
from math import comb

import numpy as np
from scipy import stats

from decision.outcomes import Outcomes

# Ishigami and Homma 1990 with (7, 0.1); Shapley: each parameter's share of the interaction halved.
ISHIGAMI_FIRST = (0.313905, 0.442411, 0.0)
ISHIGAMI_TOTAL = (0.557589, 0.442411, 0.243684)
ISHIGAMI_SECOND = {(0, 1): 0.0, (0, 2): 0.243684, (1, 2): 0.0}
ISHIGAMI_SHAPLEY = (0.435747, 0.442411, 0.121842)

# Sobol's g with a = (0, 1, 4.5, 9, 99, 99, 99, 99): Saltelli and Sobol 1995.
SOBOL_G = (0.0, 1.0, 4.5, 9.0, 99.0, 99.0, 99.0, 99.0)


def outcomes_of(gain: np.ndarray, in_scope: np.ndarray | None = None) -> Outcomes:
    """Outcomes of options with these gains (n, K − 1), doing nothing added first."""
    count = gain.shape[0]
    nothing = np.zeros((count, 1))
    options = ("do_nothing", *(f"option_{k}" for k in range(1, gain.shape[1] + 1)))
    whole = np.hstack([nothing, gain])
    scope = np.ones(count, dtype=bool) if in_scope is None else in_scope
    return Outcomes(
        options=options,
        gain=whole,
        sea=np.full_like(whole, np.nan),
        fates=np.full((count, 4), 0.25),
        productive=np.ones(count),
        pool=np.full(count, 2.0),
        ettr=np.ones(count),
        recovery_pressure=np.where(scope, 0.1, 0.5),
        in_scope=scope,
        marginal=np.full(count, np.nan),
    )


def model_of(*functions: Callable[[np.ndarray], np.ndarray]) -> Callable[..., Outcomes]:
    """A model whose options gain these functions of the parameters as a matrix (n, D)."""

    def evaluate(columns: Mapping[str, np.ndarray]) -> Outcomes:
        x = np.column_stack(list(columns.values()))
        return outcomes_of(np.column_stack([function(x) for function in functions]))

    return evaluate


def ishigami(x: np.ndarray) -> np.ndarray:
    return np.sin(x[:, 0]) + 7.0 * np.sin(x[:, 1]) ** 2 + 0.1 * x[:, 2] ** 4 * np.sin(x[:, 0])


def sobol_g(x: np.ndarray) -> np.ndarray:
    a = np.array(SOBOL_G)
    return np.prod((np.abs(4.0 * x - 2.0) + a) / (1.0 + a), axis=1)


def sobol_g_indices() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """First, total and Shapley of g: partial variances are products of v_i = 1/(3 (1 + a_i)²)."""
    v = 1.0 / (3.0 * (1.0 + np.array(SOBOL_G)) ** 2)
    whole = np.prod(1.0 + v) - 1.0
    first = v / whole
    total = v * np.prod(1.0 + v) / (1.0 + v) / whole
    shapley = shapley_of(lambda u: (np.prod(1.0 + v[list(u)]) - 1.0) / whole, v.size)
    return first, total, shapley


def shapley_of(worth: Callable[[tuple[int, ...]], float], count: int) -> np.ndarray:
    """Shapley values of a function of subsets, by their definition."""
    result = np.zeros(count)
    for i in range(count):
        others = [j for j in range(count) if j != i]
        for size in range(count):
            for u in combinations(others, size):
                with_i = tuple(sorted((*u, i)))
                gain = worth(with_i) - worth(u)
                result[i] += gain / (count * comb(count - 1, size))
    return result


def explained(beta: np.ndarray, covariance: np.ndarray, u: tuple[int, ...]) -> float:
    """R² of βᵀx given x_u: c_uᵀ Σ_uu⁻¹ c_u / V with c = Σβ."""
    if not u:
        return 0.0
    c = covariance @ beta
    held = list(u)
    inner = np.linalg.solve(covariance[np.ix_(held, held)], c[held])
    return float(c[held] @ inner / (beta @ covariance @ beta))


def sign_explained(r_squared: float) -> float:
    """C(u) of 1[Δ > 0] for zero-mean Gaussian Δ: (2/π) asin R²."""
    return 2.0 / np.pi * float(np.arcsin(min(1.0, r_squared)))


def exact_gaussian(covariance: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Gaussian draws whose sample covariance is exactly the one given.

    Errors of effects hold the simulation, not how well draws determine a correlation.
    """
    z = np.random.default_rng(seed).standard_normal((count, covariance.shape[0]))
    z -= z.mean(axis=0)
    z = z @ np.linalg.inv(np.linalg.cholesky(np.cov(z.T, ddof=0))).T
    return z @ np.linalg.cholesky(covariance).T


def columns_of(x: np.ndarray) -> dict[str, np.ndarray]:
    return {f"x{i}": np.ascontiguousarray(x[:, i]) for i in range(x.shape[1])}


def normal_quantiles(count: int) -> dict[str, Callable[[np.ndarray], np.ndarray]]:
    return {f"x{i}": stats.norm.ppf for i in range(count)}


def uniform_quantiles(
    count: int, low: float = 0.0, high: float = 1.0
) -> dict[str, Callable[[np.ndarray], np.ndarray]]:
    return {f"x{i}": lambda p: low + (high - low) * p for i in range(count)}


def within(estimate: np.ndarray, truth: np.ndarray, error: np.ndarray, errors: float = 3.0) -> None:
    """Assert that estimates are within so many of their standard errors."""
    distance = np.abs(estimate - truth) / error
    assert np.all(distance <= errors), f"{distance} standard errors from {truth}"
