"""The published reference case and tables, for tests of every package."""

from pathlib import Path

import pytest

from model.interventions import Intervention, apply, read_interventions
from model.ledger import account
from model.scaling import CEILING, Curve, at_scale, sampling_grid, scaling_curve
from model.scenario import Scenario, with_values
from model.scenario_file import read_scenario
from model.substitution import Solver, Substitution, substitute_options

TABLES = Path(__file__).resolve().parents[2] / "shared" / "reference" / "tables"
needs_tables = pytest.mark.skipif(not TABLES.is_dir(), reason="no published tables beside the repo")

REFERENCE = read_scenario("reference_405b_16k").scenario
PUBLISHED = read_interventions("published")
INTERVENTIONS = {intervention.name: intervention for intervention in PUBLISHED.interventions}


def reference(accelerators: int | None = None, **changes: object) -> Scenario:
    """The reference case with fields changed (``section__key``), then re-planned to a scale."""
    values = {path.replace("__", "."): value for path, value in changes.items()}
    scenario = with_values(REFERENCE, values, source="test")
    return scenario if accelerators is None else at_scale(scenario, accelerators, source="test")


def substitute(
    scenario: Scenario, intervention: Intervention, solver: Solver = "published"
) -> Substitution:
    """Substitution of one intervention."""
    baseline, treated = (
        account(case).productive_accelerators.reshape(1, 1)
        for case in (scenario, apply(scenario, intervention))
    )
    return substitute_options(scenario, baseline, treated, solver=solver)


def sea(scenario: Scenario, name: str, solver: Solver = "published") -> float:
    """SEA of a published intervention."""
    return float(substitute(scenario, INTERVENTIONS[name], solver).sea[0, 0])


def published_curve(scenario: Scenario) -> Curve:
    """Π on the published sampling grid."""
    base = int(scenario.parallelism.dp)
    return scaling_curve(scenario, sampling_grid(base, ceiling=CEILING * base))
