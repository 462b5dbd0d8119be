"""The result of a method: an index with its standard error for each target and factor.

Shapes: T targets, F factors.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from studies.drivers.factors import Factor

SOBOL = "sobol"
SHAPLEY = "shapley"
SHAPLEY_NEIGHBOURS = "shapley_neighbours"

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """Indices of one method over one set of factors.

    Parameters
    ----------
    method
        ``sobol`` on independent parameters; ``shapley`` on draws as they depend on each other,
        ``shapley_neighbours`` where the copula does not describe them.
    targets
        Names, (T,).
    factors
        What effects are assigned to, (F,).
    first, first_se
        Share of the target's variation that knowing the factor alone would remove; (T, F).
    total, total_se
        Share that is left if all others are known; (T, F). For ``winner`` the chance that redrawing
        the factor changes who ranks first, relative to redrawing everything.
    shapley, shapley_se
        Fair share of the variation; they sum to 1 over factors; (T, F), NaN for ``sobol``.
    second, second_se
        What two factors do together beyond what each does alone; (T, F, F) above the diagonal, NaN
        elsewhere; None where not estimated.
    degrees
        Degrees of freedom of the standard errors, inf for normal intervals.
    constant
        What is said of targets that do not vary, by name; their indices are NaN, not zero.
    support
        Independent draws by variance, (T,): for whether an option ranks first about the number of
        draws in which it does, or does not if that is less.
    evaluations
        Draws the model was evaluated on.
    """

    method: str
    targets: tuple[str, ...]
    factors: tuple[Factor, ...]
    first: np.ndarray
    first_se: np.ndarray
    total: np.ndarray
    total_se: np.ndarray
    shapley: np.ndarray
    shapley_se: np.ndarray
    second: np.ndarray | None
    second_se: np.ndarray | None
    degrees: float
    constant: Mapping[str, str]
    support: np.ndarray
    evaluations: int

    @property
    def index(self) -> str:
        """The index that factors are ranked by: total for independent ones, else Shapley."""
        return "total" if self.method == SOBOL else "shapley"

    @property
    def leading(self) -> tuple[np.ndarray, np.ndarray]:
        """Values and standard errors of that index, both (T, F)."""
        if self.method == SOBOL:
            return self.total, self.total_se
        return self.shapley, self.shapley_se

    @property
    def half_width(self) -> float:
        """Standard errors either side of an interval of 95%."""
        from scipy import stats

        upper = 0.5 + CONFIDENCE / 2
        if np.isinf(self.degrees):
            return float(stats.norm.ppf(upper))
        return float(stats.t.ppf(upper, self.degrees))

    def ranked(self, target: str) -> list[tuple[str, float, float]]:
        """Factors of a target, the strongest first, with index and standard error."""
        row = self.targets.index(target)
        values, errors = self.leading
        order = np.argsort(-values[row], kind="stable")
        return [
            (self.factors[k].name, float(values[row, k]), float(errors[row, k]))
            for k in order
            if np.isfinite(values[row, k])
        ]
