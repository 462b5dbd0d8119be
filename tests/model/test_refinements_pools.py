"""SEA and the marginal accelerator under refinements, against every data-parallel size."""

import numpy as np
import pytest

from model.forms import NAMES, read_forms
from model.interventions import apply
from model.ledger import account, productive_accelerators
from model.scaling import replan, step_sizes
from model.scenario import Scenario, substitute
from model.substitution import substitute_options
from tests.reference import INTERVENTIONS, REFERENCE


def in_form(scenario: Scenario, *names: str) -> Scenario:
    return substitute(scenario, {"refinements": names})


def sea_over_every_size(scenario: Scenario, treated: float) -> float:
    """First crossing of the chords between all realisable sizes."""
    plan = scenario.parallelism
    sizes = np.arange(plan.dp, plan.global_batch_seqs // plan.micro_batch + 1)
    planned = replan(scenario, sizes)
    value, pool = productive_accelerators(planned), planned.pool
    if treated <= value[0]:
        return 0.0
    first = int(np.argmax(value >= treated))
    if value[first] < treated:
        return np.inf
    share = (treated - value[first - 1]) / (value[first] - value[first - 1])
    return float(pool[first - 1] + share * (pool[first] - pool[first - 1]) - pool[0])


@pytest.mark.parametrize(
    "names", [(), read_forms()["refined"].refinements, ("whole_microbatches",), NAMES]
)
@pytest.mark.parametrize("batch", [2048, 1900])
def test_sea_is_the_first_crossing_over_every_size(names: tuple[str, ...], batch: int) -> None:
    scenario = substitute(in_form(REFERENCE, *names), {"parallelism.global_batch_seqs": batch})
    base = float(account(scenario).productive_accelerators)
    treated = np.array(
        [
            float(account(apply(scenario, option)).productive_accelerators)
            for name, option in INTERVENTIONS.items()
            if name != "add_spares"
        ]
    )
    treated = treated[treated > base]
    found = substitute_options(scenario, np.array([[base]]), treated[np.newaxis]).sea[0]
    expected = [sea_over_every_size(scenario, value) for value in treated]
    # Crossings lie on chords: rounding only.
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-6)
    # Without the options that only widen a network whose traffic hides anyway.
    assert len(found) >= 5


def test_marginal_accelerator_of_whole_microbatches_reaches_the_next_step() -> None:
    scenario = in_form(REFERENCE, "whole_microbatches")
    # 2,048 sequences on 128 replicas are 16 each; 15 do from 137 replicas on.
    assert step_sizes(scenario, 128, ceiling=200).tolist() == [137, 147, 158, 171, 187]
    base, later = (account(scenario if dp == 128 else replan(scenario, dp)) for dp in (128, 137))
    rise = float(later.productive_accelerators - base.productive_accelerators)
    expected = rise / (later.scenario.pool - base.scenario.pool)
    value = np.reshape(base.productive_accelerators, (1, 1))
    assert substitute_options(scenario, value, value).marginal[0, 0] == pytest.approx(expected)
