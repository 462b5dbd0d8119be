"""Small finished runs with their pages, and what the program says at other costs and prices."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from decision import risk
from decision.economics import order_of_merit
from decision.finished import read_past
from decision.outcomes import evaluate
from decision.utility import Pools, Utilities
from reports import page
from tests.runs import rank_into

COSTS = """\
decision_horizon_days: 1095
interventions:
  bandwidth_2x: 300
  bandwidth_4x: 900
  flat_fabric: 400
  scaleup_2x: 0
  reliability_2x: {triangular: {low: 150, mode: 250, high: 500}}
  fast_detection: 40
  fast_restart: 60
  fast_checkpoint: {triangular: {low: 60, mode: 100, high: 200}}
  add_spares: 350
  straggler_control: 120
"""

IN_MONEY = """\
decision_horizon_days: 730
currency: EUR
price_per_accelerator: 41000
accelerator_life_days: 1095
interventions:
  reliability_2x: 9.0e6
  fast_restart: {cost: {lognormal: {median: 2.0e6, sigma: 0.4}}, life_days: 1095}
  fast_checkpoint: 4.0e6
  straggler_control: 3.5e6
shared:
  telemetry: {cost: {triangular: {low: 5.0e5, mode: 8.0e5, high: 2.0e6}},
    needed_by: [fast_restart, straggler_control]}
"""

TWINS = """\
interventions:
  - {name: first_twin, multipliers: {reliability.failure_rate_per_node_day: 0.5}}
  - {name: second_twin, multipliers: {reliability.failure_rate_per_node_day: 0.5}}
  - {name: idle, multipliers: {reliability.failure_rate_per_node_day: 1.0}}
  - name: late
    multipliers: {reliability.failure_rate_per_node_day: {uniform: {low: 0.3, high: 0.6}}}
    probability_of_delivery: 0.8
    effective_from_day: 180
"""


def with_page(directory: Path, *arguments: str) -> Path:
    """A run with its page."""
    rank_into(directory, *arguments)
    assert page.main([str(directory)]) == 0
    return directory


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """The program's own answer about a run at any costs.

    Parameters
    ----------
    pools
        Utilities of the model itself, draw by draw.
    sea
        Break-evens as searched; (n, K).
    shapes
        Cost draws as multiples of the expected cost; (n, K).
    expected
        Costs of the run in accelerators; (K,).
    """

    options: tuple[str, ...]
    pools: Pools
    sea: np.ndarray
    shapes: np.ndarray
    expected: np.ndarray
    risk_tolerance: float | None

    @classmethod
    def of(cls, directory: Path, regime: str = "") -> "Program":
        run = read_past(directory, "RUN")
        inputs = run.inputs
        question = inputs.questions[run.regimes.index(regime)][1]
        columns = {name: run.part(regime, name) for name in run.table}
        draws = {name: column for name, column in columns.items() if name in run.draws.columns} | {
            name: c for name, c in columns.items() if name.startswith("intervention.")
        }
        expected = np.zeros(len(question.options))
        shapes = np.ones((run.count, expected.size))
        if inputs.costs is not None:
            for k, option in enumerate(question.interventions, start=1):
                expected[k] = inputs.costs.expected(option)
                amounts = inputs.costs.of(option, columns, run.count)
                shapes[:, k] = amounts / expected[k] if expected[k] > 0 else 1.0
        return cls(
            options=question.options,
            pools=Pools.of(question, draws, run.count),
            sea=evaluate(question, draws).sea,
            shapes=shapes,
            expected=expected,
            risk_tolerance=inputs.request.risk_tolerance,
        )

    def decide(self, costs: np.ndarray, budget: float | None, rows: np.ndarray | None = None):
        """The decision and its figures at expected costs in accelerators."""
        pools = self.pools if rows is None else self.pools.take(rows)
        sea = self.sea if rows is None else self.sea[rows]
        shapes = self.shapes if rows is None else self.shapes[rows]
        amounts = costs * shapes
        spent = float(costs.max()) if budget is None else budget
        values = np.column_stack(
            [pools.value(k, spent - amounts[:, k : k + 1])[:, 0] for k in range(costs.size)]
        )
        found = Utilities(
            options=self.options,
            values=values,
            costs=amounts,
            expected_costs=costs,
            budget=spent,
            feasible=costs <= spent,
            horizon_days=0.0,
        )
        paid = found.admissible
        order = order_of_merit(found, self.risk_tolerance)
        best, loss = (np.full(costs.size, np.nan) for _ in range(2))
        best[paid] = risk.best_credit(values[:, paid]).mean(axis=0)
        loss[paid] = risk.opportunity_loss(values[:, paid]).mean(axis=0)
        net = np.where(found.feasible, (values - values[:, :1]).mean(axis=0), np.nan)
        return {
            "choice": self.options[order[0]],
            "lead": float((values[:, order[0]] - values[:, order[1]]).mean())
            if len(order) > 1
            else None,
            "evpi": float(np.nanmin(loss)),
            "pays": risk.pays(sea, amounts).mean(axis=0),
            "net": net,
            "best": best,
            "loss": loss,
        }
