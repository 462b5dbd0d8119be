"""The one utility against the ranking it extends, an independent implementation, and SEA."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from decision.costs import Costs, read_costs
from decision.outcomes import Question, evaluate
from decision.utility import Pools, best_index, productive_at, utilities
from model.interventions import Intervention, bundle
from model.ledger import productive_accelerators
from model.scaling import at_scale, replan
from model.scenario import with_values
from tests.decision.test_outcomes import study_draws
from tests.oracles import scalar_model as oracle
from tests.reference import INTERVENTIONS, PUBLISHED, REFERENCE


def ask(*interventions: Intervention, **changes: object) -> Question:
    chosen = interventions or PUBLISHED.interventions
    return Question(**{"scenario": REFERENCE, "interventions": chosen, **changes})


def costs_of(tmp_path: Path, costs: dict[str, object]) -> Costs:
    path = tmp_path / "costs.yaml"
    lines = [f"  {name}: {cost}" for name, cost in costs.items()]
    path.write_text("interventions:\n" + "\n".join(lines) + "\n")
    return read_costs(path, PUBLISHED.interventions)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"scale": 16_384},
        {"scale": 65_536},
        {"scenario": with_values(REFERENCE, {"n_pool": 17_300}, source="test")},
        {"scenario": with_values(REFERENCE, {"scaling_mode": "weak"}, source="test")},
    ],
    ids=["as_described", "re_planned", "large", "with_room", "weak"],
)
def test_without_costs_utility_is_what_is_ranked(changes: dict[str, object]) -> None:
    question, columns = ask(**changes), study_draws(30)
    outcomes = evaluate(question, columns)
    found = utilities(question, columns)
    # The ranking sets differences that are rounding to zero; nothing else may differ.
    expected = outcomes.productive[:, np.newaxis] + outcomes.gain
    assert np.allclose(found.values, expected, rtol=1e-13, atol=0)
    assert found.budget == 0.0
    assert found.feasible.all()


@pytest.mark.parametrize("scale", [None, 4096, 65_536])
def test_choice_between_an_option_and_accelerators_switches_at_its_sea(
    tmp_path: Path, scale: int | None
) -> None:
    """Acceptance: budget equal to the cost, the cost swept; within one accelerator."""
    question = ask(scale=scale)
    outcomes = evaluate(question, {})
    swept = 0
    for index, intervention in enumerate(PUBLISHED.interventions, start=1):
        sea = float(outcomes.sea[0, index])
        if not 1.0 < sea < np.inf:
            continue
        swept += 1
        for cost, best in ((sea - 1.0, intervention.name), (sea + 1.0, "do_nothing")):
            costs = costs_of(tmp_path, {intervention.name: cost})
            found = utilities(ask(intervention, scale=scale), {}, costs, budget=cost)
            assert found.options[best_index(found.values, found.feasible)] == best
    assert swept >= 6


def oracle_utility(scenario: oracle.Scenario, planned: dict[str, object], pool: float) -> float:
    """Π of a scenario at a pool by the scalar implementation: chords between realisable pools.

    The pool as planned stands for its data-parallel size.
    """
    base = planned["parallelism"]["dp"]
    points = {}
    for dp in range(base - 12, base + 13):
        ledger = oracle.evaluate(oracle.replan_to_dp(scenario, dp))
        points[ledger["n_pool"]] = ledger["productive_accelerators"]
    own = oracle.evaluate(planned)["productive_accelerators"]
    replaced = oracle.replan_to_dp(scenario, base)["n_pool"]
    points.pop(replaced)
    points[oracle.pool_size(oracle.REFERENCE)] = own
    pools = sorted(points)
    return float(np.interp(pool, pools, [points[p] for p in pools]))


@pytest.mark.parametrize("name", [one["name"] for one in oracle.INTERVENTIONS])
@pytest.mark.parametrize("added", [-700.0, -1.0, 0.0, 17.5, 132.0, 900.25])
def test_utility_is_that_of_the_scalar_implementation(name: str, added: float) -> None:
    intervention = next(one for one in oracle.INTERVENTIONS if one["name"] == name)
    treated = oracle.apply_intervention(oracle.REFERENCE, intervention)
    pool = oracle.pool_size(oracle.REFERENCE) + added
    pools = Pools.of(ask(INTERVENTIONS[name]), {}, 1)
    for index, scenario in ((0, oracle.REFERENCE), (1, treated)):
        expected = oracle_utility(scenario, scenario, pool)
        found = pools.value(index, np.array([[added]]))[0, 0]
        # Both implementations agree on Π to 1e-9.
        assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", ["bandwidth_2x", "reliability_2x", "fast_checkpoint"])
def test_with_a_larger_budget_it_switches_at_the_root_of_the_two_utilities(
    tmp_path: Path, name: str
) -> None:
    """Acceptance: Π_k(N0 + B − c) = Π_0(N0 + B), the root by the scalar implementation."""
    budget = 1000.0
    intervention = next(one for one in oracle.INTERVENTIONS if one["name"] == name)
    treated = oracle.apply_intervention(oracle.REFERENCE, intervention)
    pool = oracle.pool_size(oracle.REFERENCE)
    bought = oracle_utility(oracle.REFERENCE, oracle.REFERENCE, pool + budget)
    root = brentq(
        lambda cost: oracle_utility(treated, treated, pool + budget - cost) - bought, 1.0, 1500.0
    )
    sea = evaluate(ask(INTERVENTIONS[name]), {}).sea[0, 1]
    # The marginal accelerator is worth less in a larger pool: it is not the SEA at no budget.
    assert abs(root - sea) > 1.0
    for cost, best in ((root - 1.0, name), (root + 1.0, "do_nothing")):
        costs = costs_of(tmp_path, {name: cost})
        found = utilities(ask(INTERVENTIONS[name]), {}, costs, budget=max(budget, cost))
        if cost <= budget:
            assert found.options[best_index(found.values, found.feasible)] == best


def test_realisable_pools_have_their_own_throughput() -> None:
    for accelerators in (128, 8192, 16_384, 32_768):
        planned = at_scale(REFERENCE, accelerators, source="test")
        expected = float(productive_accelerators(planned))
        found = productive_at(REFERENCE, np.array([[float(planned.pool)]]))
        assert found[0, 0] == pytest.approx(expected, rel=1e-12)


def test_between_pools_the_chord_decides() -> None:
    low, high = (replan(REFERENCE, dp) for dp in (150, 151))
    ends = [float(productive_accelerators(one)) for one in (low, high)]
    pools = float(low.pool) + np.linspace(0, 1, 5) * (float(high.pool) - float(low.pool))
    found = productive_at(REFERENCE, pools[np.newaxis, :])[0]
    assert found == pytest.approx(np.linspace(*ends, 5), rel=1e-12)


def test_no_pool_produces_nothing_and_the_largest_stays() -> None:
    largest = replan(REFERENCE, 2048)
    beyond = np.array([[0.0, 66.0, float(largest.pool), float(largest.pool) + 1e6]])
    nothing, half, last, more = productive_at(REFERENCE, beyond)[0]
    assert nothing == 0.0
    one = float(productive_accelerators(replan(REFERENCE, 1)))
    assert half == pytest.approx(66.0 / 132.0 * one)
    assert last == more == pytest.approx(float(productive_accelerators(largest)))


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    scale=st.sampled_from([None, 4096, 16_384]),
    spares=st.booleans(),
)
def test_utility_is_continuous_in_the_pool(seed: int, scale: int | None, spares: bool) -> None:
    generator = np.random.default_rng(seed)
    columns = study_draws(4)
    if spares and scale is not None:
        columns["reliability.spare_fraction"] = generator.uniform(0.0, 0.06, 4)
    option = PUBLISHED.interventions[generator.integers(10)]
    pools = Pools.of(ask(option, scale=scale), columns, 4)
    added = generator.uniform(-3000, 3000) + np.array([[0.0, 1e-6, 1.0]])
    for index in (0, 1):
        here, close, near = pools.value(index, np.repeat(added, 4, axis=0)).T
        assert np.allclose(here, close, rtol=0, atol=1e-4)
        # No accelerator brings or takes more than a few: no step hides between two pools.
        assert (np.abs(near - here) < 5.0).all()


def test_shared_budget_is_spent_on_accelerators() -> None:
    found = utilities(ask(), study_draws(10), None, budget=500.0)
    pools = Pools.of(ask(), study_draws(10), 10)
    for index in range(11):
        expected = pools.value(index, np.full((10, 1), 500.0))[:, 0]
        assert np.array_equal(found.values[:, index], expected)


def test_budget_by_default_is_the_largest_expected_cost(tmp_path: Path) -> None:
    costs = costs_of(
        tmp_path, {"bandwidth_2x": 120, "fast_restart": "{uniform: {low: 200, high: 400}}"}
    )
    question = ask(INTERVENTIONS["bandwidth_2x"], INTERVENTIONS["fast_restart"])
    columns = study_draws(50) | costs.draw(50, 1)
    found = utilities(question, columns, costs)
    assert found.budget == pytest.approx(300.0)
    assert found.expected_costs == pytest.approx([0.0, 120.0, 300.0])
    assert found.feasible.all()
    drawn = columns["cost.fast_restart"]
    assert np.array_equal(found.costs[:, 2], drawn)
    # Where it costs more than the budget, accelerators of the pool pay the difference.
    pools = Pools.of(question, columns, 50)
    over = drawn > 300.0
    assert over.any()
    expected = pools.value(2, (300.0 - drawn)[:, np.newaxis])[:, 0]
    assert np.allclose(found.values[over, 2], expected[over])
    free = pools.value(2, np.zeros((50, 1)))[:, 0]
    assert (found.values[over, 2] < free[over]).all()


def test_option_above_the_budget_is_not_feasible(tmp_path: Path) -> None:
    costs = costs_of(tmp_path, {"bandwidth_2x": 120, "fast_restart": 90})
    question = ask(INTERVENTIONS["bandwidth_2x"], INTERVENTIONS["fast_restart"])
    found = utilities(question, {}, costs, budget=100.0)
    assert found.feasible.tolist() == [True, False, True]
    assert found.admissible.tolist() == [0, 2]
    nothing = utilities(question, {}, costs, budget=0.0)
    assert nothing.feasible.tolist() == [True, False, False]
    assert best_index(nothing.values, nothing.feasible) == 0


def test_late_option_is_a_mixture_of_pools() -> None:
    """Before its day the baseline runs on the same pool, which its cost has already reduced."""
    option = INTERVENTIONS["reliability_2x"]
    late = Intervention(
        name="late",
        overrides=option.overrides,
        multipliers=option.multipliers,
        effective_from_day=365.0,
    )
    columns = study_draws(6)
    pools = Pools.of(ask(option, late), columns, 6)
    added = np.full((6, 1), -400.0)
    idle, whole, mixed = (pools.value(k, added) for k in range(3))
    assert np.allclose(mixed, idle / 3 + whole * 2 / 3, rtol=1e-12)


def test_bundle_of_uncertain_parts_has_a_utility_too() -> None:
    part = Intervention(
        name="part",
        overrides={},
        multipliers={"accelerator.nic_bw_gbps": 2.0},
        probability_of_delivery=0.5,
    )
    both = bundle("both", [part, INTERVENTIONS["add_spares"]], source="test")
    columns = study_draws(8) | {"intervention.part.delivered": np.arange(8) % 2.0}
    outcomes = evaluate(ask(both), columns)
    found = utilities(ask(both), columns)
    expected = outcomes.productive + outcomes.gain[:, 1]
    assert np.allclose(found.values[:, 1], expected, rtol=1e-12)


def test_utility_does_not_depend_on_chunks() -> None:
    question, columns = ask(scale=16_384), study_draws(30)
    columns["reliability.spare_fraction"] = np.linspace(0.0, 0.06, 30)
    whole = utilities(question, columns, None, budget=777.0)
    parts = utilities(question, columns, None, budget=777.0, chunk=7)
    assert whole.values.tobytes() == parts.values.tobytes()
