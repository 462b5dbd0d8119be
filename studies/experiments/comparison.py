"""Every intervention against one baseline each: gain, SEA, the informal figure, UCF.

Shapes: n cases of one plan, their real fields scalars or (n, 1); K interventions.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from model.interventions import Intervention, apply
from model.ledger import Ledger, account
from model.numerics import Value
from model.scaling import CEILING, sampling_grid, scaling_curve
from model.scenario import Scenario, stack
from model.substitution import ROUNDING, Solver, informal_equivalent, substitute_options

LEDGER_COLUMNS = ("recovery_pressure", "within_validity_envelope")


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Cases by interventions.

    Parameters
    ----------
    names
        Of the interventions.
    baseline
        Ledger of the cases.
    columns
        By the name they have in the published tables; each of shape (n, K).
    """

    names: tuple[str, ...]
    baseline: Ledger
    columns: dict[str, np.ndarray]

    @property
    def cases(self) -> int:
        """Number of cases n."""
        return int(self.columns["sea"].shape[0])

    def of_baseline(self, value: Value) -> np.ndarray:
        """A baseline quantity for each case and intervention; (n, K)."""
        return np.broadcast_to(np.reshape(value, (-1, 1)), self.columns["sea"].shape)


def compare(
    scenario: Scenario, interventions: Sequence[Intervention], *, solver: Solver
) -> Comparison:
    """Compare interventions with doing nothing on each case."""
    before = account(scenario)
    after = account(stack([apply(scenario, option) for option in interventions], axis=1))
    count = len(interventions)
    baseline = np.reshape(before.productive_accelerators, (-1, 1))
    treated = np.broadcast_to(
        np.atleast_2d(after.productive_accelerators), (baseline.shape[0], count)
    )
    gain = treated - baseline
    counted = np.where(np.abs(gain) <= ROUNDING * baseline, baseline, treated)
    result = substitute_options(scenario, baseline, counted, solver=solver)
    pool = np.reshape(np.asarray(scenario.pool, dtype=np.float64), (-1, 1))
    base = int(np.min(scenario.parallelism.dp))
    curve = scaling_curve(scenario, sampling_grid(base, ceiling=CEILING * base))
    columns = {
        "baseline_pool": pool,
        "baseline_productive_accelerators": baseline,
        "treated_productive_accelerators": treated,
        "delta_productive_accelerators": gain,
        "sea": result.sea,
        "sea_fraction_of_pool": result.sea / pool,
        "attainable_by_scaling": np.isfinite(result.sea).astype(np.float64),
        "best_throughput_by_scaling": curve.productive.max(axis=1, keepdims=True),
        "naive_equivalent": informal_equivalent(before, after),
        "baseline_ucf": before.ucf,
        "treated_ucf": after.ucf,
    }
    shape = (baseline.shape[0], count)
    return Comparison(
        names=tuple(intervention.name for intervention in interventions),
        baseline=before,
        columns={
            name: np.broadcast_to(np.atleast_2d(column), shape) for name, column in columns.items()
        },
    )
