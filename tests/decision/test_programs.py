"""Programs: the product of parts against the model itself, costs, choice, pairs, shares."""

import time
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from decision.costs import read_costs
from decision.outcomes import Question
from decision.precision import Layout
from decision.program_choice import (
    Chooser,
    Item,
    ProgramCosts,
    attribute,
    pair_up,
    price_programs,
)
from decision.programs import PLAN_PATHS, Combined, DirectPrograms, Programs, combine
from decision.risk import tail_mean
from decision.rules import Rules, allowed_programs
from decision.utility import Pools, utilities
from model.attribution import attribute_gain, attribute_sea
from model.interventions import Intervention, bundle, read_interventions
from model.ledger import account
from model.parameters import BY_PATH, UNCERTAIN
from model.recovery import recover
from model.scaling import at_scale
from model.scenario import Scenario, substitute, with_values
from model.scenario_file import read_scenario
from model.step import healthy_step
from priors.touched import RECOVERY_PATHS
from tests.decision.test_outcomes import study_draws

DRAWS = 60
EXACT = 1e-12
"""The parts are the model's own formulas; only the order of three multiplications may differ."""


@pytest.fixture(scope="module")
def published() -> tuple[Intervention, ...]:
    return read_interventions("published").interventions


@pytest.fixture(scope="module")
def reference() -> Scenario:
    return read_scenario("reference_405b_16k").scenario


def question_of(scenario: Scenario, *members: Intervention, **changes: object) -> Question:
    return Question(scenario=scenario, interventions=members, solver=None, **changes)


def directly(
    question: Question, columns: dict, members: list[Intervention], added: np.ndarray
) -> np.ndarray:
    """Π by the utility itself, which knows nothing of parts."""
    draws = added.size
    options = (bundle("program", members, source=""),) if members else ()
    pools = Pools.of(replace(question, interventions=options), columns, draws)
    return pools.value(len(options), added[:, np.newaxis])[:, 0]


@pytest.mark.parametrize("added", [0.0, -777.7, 1.0, 128.0, 900.5, 20_000.0, -16_000.0, 2e6])
def test_program_is_what_the_utility_says(reference, published, added):
    columns = study_draws(DRAWS)
    question = question_of(reference)
    programs = combine(question, columns, published, DRAWS)
    assert isinstance(programs, Programs)
    for mask in (0, 1, 1 << 8, 0b1011, 0b1111110000, 0b1101110101):
        expected = directly(question, columns, list(programs.of(mask)), np.full(DRAWS, added))
        assert programs.productive(mask, added) == pytest.approx(expected, rel=EXACT)


def test_program_is_what_the_utility_says_where_each_draw_has_its_own_cost(reference, published):
    columns = study_draws(DRAWS)
    added = np.random.default_rng(1).uniform(-2000.0, 2000.0, DRAWS)
    programs = combine(question_of(reference), columns, published, DRAWS)
    for mask in (0, 0b1000000101, 0b0100110000):
        expected = directly(question_of(reference), columns, list(programs.of(mask)), added)
        assert programs.productive(mask, added) == pytest.approx(expected, rel=EXACT)


@pytest.mark.parametrize("scale", [None, 65_536])
@pytest.mark.parametrize("mode", ["strong", "weak"])
def test_program_is_what_the_utility_says_at_other_plans(reference, published, scale, mode):
    columns = study_draws(DRAWS)
    question = question_of(
        replace(reference, scaling_mode=mode, n_pool=17_000 if scale is None else None),
        scale=scale,
    )
    programs = combine(question, columns, published, DRAWS)
    for mask, added in ((0, 300.0), (0b0100000001, 300.0), (0b1011110000, -500.0)):
        expected = directly(question, columns, list(programs.of(mask)), np.full(DRAWS, added))
        assert programs.productive(mask, added) == pytest.approx(expected, rel=EXACT)


def test_program_with_delays_and_doubt_is_what_the_utility_says(reference, published):
    """Each is in force from its own day, one of them only where it is delivered."""
    late = replace(published[0], effective_from_day=180.0)
    later = replace(published[5], effective_from_day=500.0)
    doubtful = replace(published[7], probability_of_delivery=0.6)
    members = (late, later, doubtful, published[9])
    delivered = (np.arange(DRAWS) % 3 > 0).astype(float)
    columns = {**study_draws(DRAWS), "intervention.fast_checkpoint.delivered": delivered}
    question = question_of(reference, horizon_days=1000.0)
    programs = combine(question, columns, members, DRAWS)
    for mask in range(16):
        chosen = list(programs.of(mask))
        expected = directly(question, columns, chosen, np.full(DRAWS, 250.0))
        assert programs.productive(mask, 250.0) == pytest.approx(expected, rel=1e-10)
    # Half the horizon is lost by being late, and all of it where it is not delivered.
    alone = programs.productive(2, 0.0) - programs.productive(0, 0.0)
    whole = combine(question, columns, (published[5],), DRAWS)
    assert alone == pytest.approx(
        0.5 * (whole.productive(1, 0.0) - whole.productive(0, 0.0)), rel=1e-9
    )
    missing = programs.productive(4, 0.0) == programs.productive(0, 0.0)
    assert np.array_equal(missing, delivered == 0)


def test_programs_of_draws_with_different_plans_are_direct(reference, published):
    columns = {**study_draws(20), "reliability.spare_fraction": np.linspace(0.01, 0.06, 20)}
    programs = combine(question_of(reference), columns, published[:3], 20)
    assert isinstance(programs, DirectPrograms)
    for mask in (0, 5):
        chosen = [published[i] for i in range(3) if mask >> i & 1]
        expected = directly(question_of(reference), columns, chosen, np.full(20, 99.0))
        assert programs.productive(mask, 99.0) == pytest.approx(expected, rel=EXACT)


@pytest.mark.parametrize("path", [path for path in UNCERTAIN if path not in PLAN_PATHS])
def test_field_bears_on_one_part_only(reference, path):
    """What the split into parts rests on, for every field an intervention may change."""
    current, field = reference.value(path), BY_PATH[path]
    changed = field.lower + 1.0 if current in (None, 0.0) else 0.5 * current
    scenario = substitute(reference, {path: min(changed, field.upper)})
    before, after = healthy_step(reference).efficiency, healthy_step(scenario).efficiency
    running, other = recover(reference).running_s, recover(scenario).running_s
    if path in RECOVERY_PATHS:
        assert after == before
    elif path != "window_days":
        assert other == running


@pytest.mark.parametrize("path", ["reliability.spare_fraction", "parallelism.tp"])
def test_plan_field_bears_on_both_parts(reference, path):
    assert path in PLAN_PATHS


# Costs and choice.


def costs_of(*amounts: float) -> ProgramCosts:
    return ProgramCosts(
        items=tuple(Item(needed_by=1 << i, amount=a, expected=a) for i, a in enumerate(amounts))
    )


def chooser_of(programs: Combined, costs: ProgramCosts, rules: Rules | None = None) -> Chooser:
    return Chooser(
        programs=programs,
        costs=costs,
        masks=np.flatnonzero(allowed_programs(rules or Rules(), programs.names)),
        layout=Layout.of(None, programs.draws),
    )


@pytest.fixture(scope="module")
def three(reference, published) -> Programs:
    """bandwidth_2x, fast_restart, fast_checkpoint."""
    members = (published[0], published[6], published[7])
    return combine(question_of(reference), study_draws(DRAWS), members, DRAWS)


def test_best_program_is_that_of_trying_all_by_the_utility(reference, published, three):
    costs, budget = (150.0, 300.0, 500.0), 700.0
    expected = {}
    for size in range(4):
        for chosen in combinations(range(3), size):
            cost = sum(costs[i] for i in chosen)
            if cost <= budget:
                members = [three.members[i] for i in chosen]
                added = np.full(DRAWS, budget - cost)
                values = directly(question_of(reference), study_draws(DRAWS), members, added)
                expected[sum(1 << i for i in chosen)] = values
    found = chooser_of(three, costs_of(*costs)).at(budget)
    best = max(expected, key=lambda mask: expected[mask].mean())
    careful = max(expected, key=lambda mask: tail_mean(expected[mask][:, None])[0])
    assert found.considered == len(expected)
    assert found.best.mask == best
    assert found.careful.mask == careful
    assert found.best.expected == pytest.approx(expected[best].mean(), rel=EXACT)
    assert found.best.gain == pytest.approx((expected[best] - expected[0]).mean(), rel=1e-9)
    assert found.best.tail == pytest.approx(tail_mean(expected[best][:, None])[0], rel=EXACT)
    assert found.best.bought == budget - found.best.cost
    assert found.careful.tail >= found.best.tail
    means = [one.expected for one in found.listed]
    assert means == sorted(means, reverse=True)


def test_program_of_nothing_is_all_a_budget_of_zero_pays(three):
    found = chooser_of(three, costs_of(1.0, 2.0, 3.0)).at(0.0)
    assert [one.mask for one in found.listed] == [0]
    assert found.considered == 1
    assert found.best.gain == 0.0
    assert found.best.gain_error == 0.0
    assert found.best.p_beats == 0.5
    assert found.best.expected == pytest.approx(three.productive(0, 0.0).mean())


def test_free_interventions_are_taken_at_a_budget_of_zero(three):
    found = chooser_of(three, costs_of(0.0, 0.0, 5.0)).at(0.0)
    assert found.best.mask == 0b011
    assert found.best.gain > 0.0


def test_interventions_that_cost_more_than_they_bring_are_left_for_accelerators(three):
    found = chooser_of(three, costs_of(9000.0, 9000.0, 9000.0)).at(9000.0)
    assert found.best.mask == 0
    assert found.best.bought == 9000.0


def test_frontier_never_falls_with_the_budget(three):
    """A larger budget pays every program of a smaller one, and buys more besides."""
    points = chooser_of(three, costs_of(150.0, 300.0, 500.0)).frontier([0.0, 200.0, 500.0, 1000.0])
    for key in ("best", "careful", "buying"):
        expected = [getattr(point, key).expected for point in points]
        if key == "careful":
            expected = [point.careful.tail for point in points]
        assert expected == sorted(expected)


def test_shared_cost_is_paid_once(tmp_path, published):
    path = tmp_path / "costs.yaml"
    path.write_text(
        "interventions: {fast_detection: 10, fast_restart: 20, bandwidth_2x: 40}\n"
        "shared: {telemetry: {cost: 100, needed_by: [fast_detection, fast_restart]}}\n"
    )
    names = ("fast_detection", "fast_restart", "bandwidth_2x")
    found = price_programs(read_costs(path, published), names, {})
    assert [found.expected(mask) for mask in range(8)] == [0, 110, 120, 130, 40, 150, 160, 170]


def test_program_costs_are_those_of_the_bundle(tmp_path, reference, published):
    """Draw by draw, as the ranking of a bundle charges them."""
    path = tmp_path / "costs.yaml"
    path.write_text(
        "interventions:\n  fast_detection: {uniform: {low: 10, high: 60}}\n  fast_restart: 20\n"
        "shared: {telemetry: {cost: 100, needed_by: [fast_detection, fast_restart]}}\n"
    )
    members = (published[5], published[6])
    costs = read_costs(path, published)
    columns = {**study_draws(DRAWS), **costs.draw(DRAWS, 1)}
    names = [one.name for one in members]
    priced = price_programs(costs, names, columns)
    both = bundle("both", members, source="")
    assert priced.of(3) == pytest.approx(costs.of(both, columns, DRAWS))
    assert priced.expected(3) == pytest.approx(costs.expected(both))
    chooser = chooser_of(combine(question_of(reference), columns, members, DRAWS), priced)
    ranked = utilities(question_of(reference, both), columns, costs, 400.0)
    assert chooser.utility(3, 400.0) == pytest.approx(ranked.values[:, 1], rel=EXACT)
    assert chooser.utility(0, 400.0) == pytest.approx(ranked.values[:, 0], rel=EXACT)


def test_programs_without_costs_are_free(three):
    assert price_programs(None, three.names, {}).of(7) == 0.0


def test_program_that_no_pool_replaces_is_valued(published):
    """Halved failures at 131,072 accelerators are unattainable; their productive accelerators are
    not."""
    scenario = at_scale(read_scenario("reference_405b_16k").scenario, 131_072, source="")
    programs = combine(question_of(scenario), {}, published, 1)
    found = chooser_of(programs, costs_of(*[10.0] * 10)).at(100.0, listed=3)
    assert np.isfinite(found.best.expected)
    assert found.best.gain > 8000.0


# Interactions and shares.

NETWORK, RECOVERY = (
    ("bandwidth_2x", "flat_fabric"),
    (
        "fast_detection",
        "fast_restart",
        "fast_checkpoint",
    ),
)
QUAD = ("bandwidth_2x", "flat_fabric", "fast_restart", "reliability_2x")


def named(published: tuple[Intervention, ...], names: tuple[str, ...]) -> list[Intervention]:
    return [next(one for one in published if one.name == name) for name in names]


@pytest.mark.parametrize(("names", "sign"), [(NETWORK, 1), (RECOVERY, -1)])
def test_published_bundles_are_substitutes_and_complements_at_the_reference(
    reference, published, names, sign
):
    members = named(published, names)
    for found in (attribute_gain(reference, members), attribute_sea(reference, members)):
        assert np.sign(found.additivity_error[0]) == sign


@pytest.mark.parametrize(
    ("names", "published_error"), [(NETWORK, 0.065), (RECOVERY, -0.089), (QUAD, 0.120)]
)
def test_additivity_errors_are_the_published_ones(published, names, published_error):
    """Claim 10 of the published study: mean over in-scope attainable rows, regimes × scales."""
    document = read_interventions("published")
    errors = []
    for regime in document.regimes:
        for scale in (16_384, 65_536):
            scenario = read_scenario("reference_405b_16k").scenario
            scenario = with_values(scenario, regime.overrides, source="")
            scenario = at_scale(scenario, scale, source="")
            found = attribute_sea(scenario, named(published, names), solver="published")
            if account(scenario).in_scope and not found.capped[0]:
                errors.append(found.additivity_error[0])
    # Half of the last printed digit.
    assert np.mean(errors) == pytest.approx(published_error, abs=0.0005)


def test_pairs_are_named_by_the_sign_of_their_interaction(reference, published):
    members = named(published, (*NETWORK, *RECOVERY))
    columns = {path: np.full(4, reference.value(path)) for path in study_draws(2)}
    programs = combine(question_of(reference), columns, members, 4)
    pairs = pair_up(programs, np.arange(32), Layout.of(None, 4))
    kinds = {(pair.first, pair.second): pair for pair in pairs}
    assert kinds[NETWORK].kind == "substitutes"
    assert kinds["fast_detection", "fast_restart"].kind == "complements"
    assert kinds["fast_restart", "fast_checkpoint"].kind == "complements"
    gains = attribute_gain(reference, members[:2])
    assert kinds[NETWORK].additivity_error == pytest.approx(gains.additivity_error[0], rel=1e-9)
    sizes = [abs(pair.interaction) for pair in pairs]
    assert sizes == sorted(sizes, reverse=True)


def test_interventions_that_do_not_touch_each_other_are_independent(reference):
    idle = [
        Intervention(name=name, overrides={}, multipliers={path: 0.5})
        for name, path in (("a", "parallelism.overlap_cp"), ("b", "topology.alpha_pod_us"))
    ]
    programs = combine(question_of(reference), study_draws(DRAWS), idle, DRAWS)
    [pair] = pair_up(programs, np.arange(4), Layout.of(None, DRAWS))
    assert pair.kind == "independent"
    assert pair.interaction == 0.0


def test_pairs_that_exclude_each_other_are_left_out(three):
    rules = Rules(exclusions=(frozenset(three.names[:2]),))
    masks = np.flatnonzero(allowed_programs(rules, three.names))
    pairs = pair_up(three, masks, Layout.of(None, DRAWS))
    assert len(pairs) == 2
    assert {three.names[0], three.names[1]} not in [{one.first, one.second} for one in pairs]


def test_shares_add_up_to_the_gain_of_the_program(three):
    shares = attribute(three, 0b111, Layout.of(None, DRAWS))
    gain = (three.productive(7, 0.0) - three.productive(0, 0.0)).mean()
    assert sum(one.shapley for one in shares) == pytest.approx(gain, rel=1e-9)
    assert [one.shapley for one in shares] == sorted((one.shapley for one in shares), reverse=True)
    alone = three.productive(4, 0.0) - three.productive(0, 0.0)
    last = three.productive(7, 0.0) - three.productive(3, 0.0)
    share = next(one for one in shares if one.name == "fast_checkpoint")
    assert share.alone == pytest.approx(alone.mean())
    assert share.last == pytest.approx(last.mean())


def test_program_of_nothing_has_no_shares(three):
    assert attribute(three, 0, Layout.of(None, DRAWS)) == ()


@pytest.mark.slow
def test_4096_programs_on_5000_draws_take_less_than_a_minute(reference, published):
    extra = (
        Intervention(
            name="quick_repair", overrides={"reliability.repair_time_s": 600.0}, multipliers={}
        ),
        Intervention(name="overlap", overrides={}, multipliers={"parallelism.overlap_dp": 1.02}),
    )
    draws = 5000
    started = time.perf_counter()
    programs = combine(question_of(reference), study_draws(draws), (*published, *extra), draws)
    found = chooser_of(programs, costs_of(*[50.0] * 12)).at(1000.0)
    assert time.perf_counter() - started < 60.0
    assert found.considered == 4096
