"""Uncertain interventions: strengths as drawn, deliveries that fail, days that come late."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decision.delivery import shares_in_force, states_of, with_draws
from decision.outcomes import Question, evaluate
from decision.terms import draw_terms, read_distribution, terms_of
from model.errors import InputError
from model.intervention_entries import Distribution
from model.interventions import Intervention, InterventionFile, bundle, read_interventions
from model.ledger import account
from model.substitution import substitute_options
from tests.decision.test_outcomes import study_draws
from tests.reference import INTERVENTIONS, REFERENCE

HORIZON = 1000.0


def read(tmp_path: Path, text: str) -> InterventionFile:
    path = tmp_path / "options.yaml"
    path.write_text(text)
    return read_interventions(path, read_distribution)


def ask(*interventions: Intervention, **changes: object) -> Question:
    return Question(
        **{
            "scenario": REFERENCE,
            "interventions": interventions,
            "horizon_days": HORIZON,
            **changes,
        }
    )


def faster(**fields: object) -> Intervention:
    return Intervention(
        **{
            "name": "faster",
            "overrides": {},
            "multipliers": {"accelerator.nic_bw_gbps": 2.0},
            **fields,
        }
    )


@pytest.fixture
def uncertain(tmp_path: Path) -> Intervention:
    text = """
interventions:
  - name: faster
    multipliers: {accelerator.nic_bw_gbps: {triangular: {low: 1.6, mode: 2.0, high: 2.0}}}
    overrides: {reliability.detect_time_s: {uniform: {low: 20, high: 40}}}
    probability_of_delivery: 0.8
    effective_from_day: {uniform: {low: 0, high: 400}}
"""
    [intervention] = read(tmp_path, text).interventions
    return intervention


def test_file_holds_medians_and_distributions(uncertain: Intervention) -> None:
    # Median of a triangle whose mode is its end: low + (high − low)·√½.
    assert uncertain.multipliers["accelerator.nic_bw_gbps"] == pytest.approx(1.6 + 0.4 * 0.5**0.5)
    assert uncertain.overrides == {"reliability.detect_time_s": 30.0}
    assert uncertain.effective_from_day == 200.0
    assert [term.column for term in terms_of([uncertain])] == [
        "intervention.faster.reliability.detect_time_s",
        "intervention.faster.accelerator.nic_bw_gbps",
        "intervention.faster.effective_from_day",
        "intervention.faster.delivered",
    ]


def test_columns_are_drawn_from_what_the_file_says(uncertain: Intervention) -> None:
    columns = draw_terms(terms_of([uncertain]), 20_000, 1)
    delivered = columns["intervention.faster.delivered"]
    assert set(np.unique(delivered)) == {0.0, 1.0}
    # Binomial error of 20,000 draws at 0.8, four of them.
    assert abs(delivered.mean() - 0.8) < 4 * np.sqrt(0.8 * 0.2 / 20_000)
    factor = columns["intervention.faster.accelerator.nic_bw_gbps"]
    assert factor.min() >= 1.6
    assert factor.max() <= 2.0
    # Mean of the triangle: (1.6 + 2 + 2)/3; its sd is (2 − 1.6)/√18.
    assert abs(factor.mean() - 5.6 / 3) < 4 * 0.4 / 18**0.5 / 20_000**0.5


def test_one_parameter_more_moves_no_other(uncertain: Intervention) -> None:
    terms = terms_of([uncertain])
    alone = draw_terms(terms[:1], 50, 3)
    together = draw_terms(terms, 50, 3)
    assert np.array_equal(alone[terms[0].column], together[terms[0].column])


def test_each_draw_is_the_intervention_with_its_numbers(uncertain: Intervention) -> None:
    columns = study_draws(12) | draw_terms(terms_of([uncertain]), 12, 5)
    outcomes = evaluate(ask(uncertain), columns)
    names = {
        quantity: columns[uncertain.column(quantity)]
        for quantity in (
            "accelerator.nic_bw_gbps", "reliability.detect_time_s", "delivered",
            "effective_from_day",
        )
    }  # fmt: skip
    assert 0 < names["delivered"].sum() < 12
    for row in range(12):
        own = {
            path: column[row : row + 1] for path, column in columns.items() if "inter" not in path
        }
        fixed = Intervention(
            name="fixed",
            multipliers={"accelerator.nic_bw_gbps": names["accelerator.nic_bw_gbps"][row]},
            overrides={"reliability.detect_time_s": names["reliability.detect_time_s"][row]},
        )
        whole = evaluate(ask(fixed), own).gain[0, 1]
        share = names["delivered"][row] * (1 - names["effective_from_day"][row] / HORIZON)
        assert outcomes.gain[row, 1] == pytest.approx(share * whole, rel=1e-12)


def test_later_effect_earns_for_the_rest_of_the_horizon() -> None:
    columns = study_draws(25)
    whole = evaluate(ask(faster()), columns)
    late = evaluate(ask(faster(effective_from_day=180.0), horizon_days=1095.0), columns)
    share = (1095 - 180) / 1095
    assert np.allclose(late.gain, share * whole.gain, rtol=1e-12)
    assert np.array_equal(late.productive, whole.productive)
    # SEA is that of the throughput averaged over the horizon, not a share of the whole SEA.
    scenario_gain = late.gain[0, 1]
    scenario = REFERENCE
    point = evaluate(ask(faster(effective_from_day=180.0), horizon_days=1095.0), {})
    before = np.reshape(account(scenario).productive_accelerators, (1, 1))
    expected = substitute_options(scenario, before, before + point.gain[:, 1:])
    assert point.sea[0, 1] == pytest.approx(expected.sea[0, 0])
    assert scenario_gain > 0


def test_effect_after_the_horizon_earns_nothing() -> None:
    for day in (HORIZON, HORIZON + 1):
        outcomes = evaluate(ask(faster(effective_from_day=day)), {})
        assert outcomes.gain[0, 1] == outcomes.sea[0, 1] == 0.0


@pytest.mark.parametrize(("probability", "factor"), [(0.0, 0.0), (1.0, 1.0)])
def test_certain_delivery_needs_no_draws(probability: float, factor: float) -> None:
    option = faster(probability_of_delivery=probability)
    assert terms_of([option]) == ()
    gain = evaluate(ask(option), study_draws(5)).gain
    assert np.array_equal(gain, factor * evaluate(ask(faster()), study_draws(5)).gain)


def test_undelivered_option_leaves_the_scenario_as_it_is() -> None:
    columns = study_draws(40) | {"intervention.faster.delivered": np.arange(40) % 2.0}
    option = faster(probability_of_delivery=0.5)
    outcomes = evaluate(ask(option), columns)
    assert (outcomes.gain[::2, 1] == 0).all()
    assert (outcomes.sea[::2, 1] == 0).all()
    whole = evaluate(ask(faster()), study_draws(40))
    assert np.array_equal(outcomes.gain[1::2, 1], whole.gain[1::2, 1])
    assert np.array_equal(outcomes.sea[1::2, 1], whole.sea[1::2, 1])


def test_replanned_option_may_fail_to_be_delivered() -> None:
    spares = Intervention(
        name="spares",
        overrides={"reliability.spare_fraction": 0.05},
        multipliers={},
        probability_of_delivery=0.5,
    )
    columns = study_draws(10) | {"intervention.spares.delivered": np.arange(10) % 2.0}
    outcomes = evaluate(ask(spares, scale=16_384), columns)
    assert (outcomes.gain[::2, 1] == 0).all()
    assert (outcomes.gain[1::2, 1] < 0).all()


def test_bundle_keeps_what_of_it_is_delivered() -> None:
    first = faster(probability_of_delivery=0.5)
    second = INTERVENTIONS["fast_restart"]
    both = bundle("both", [first, second], source="test")
    columns = study_draws(20) | {"intervention.faster.delivered": np.arange(20) % 2.0}
    found = evaluate(ask(both), columns).gain[:, 1]
    whole = bundle("whole", [faster(), second], source="test")
    one, two = (evaluate(ask(o), study_draws(20)).gain[:, 1] for o in (second, whole))
    assert np.allclose(found[::2], one[::2], rtol=1e-12)
    assert np.allclose(found[1::2], two[1::2], rtol=1e-12)


def test_bundle_passes_through_its_parts_one_after_the_other() -> None:
    """Detection from day 250, restart from day 600: each state for its part of the horizon."""
    detection = Intervention(
        name="detection",
        overrides={"reliability.detect_time_s": 20.0},
        multipliers={},
        effective_from_day=250.0,
    )
    restart = Intervention(
        name="restart",
        overrides={"reliability.restart_time_s": 60.0},
        multipliers={},
        effective_from_day=600.0,
    )
    both = bundle("both", [detection, restart], source="test")
    gain = evaluate(ask(both), {}).gain[0, 1]
    alone = evaluate(ask(INTERVENTIONS["fast_detection"]), {}).gain[0, 1]
    joint = bundle(
        "joint", [INTERVENTIONS["fast_detection"], INTERVENTIONS["fast_restart"]], source="test"
    )
    together = evaluate(ask(joint), {}).gain[0, 1]
    assert gain == pytest.approx(0.35 * alone + 0.40 * together, rel=1e-12)
    # Negative control: the parts are complements, so that their sum is another number.
    restart_alone = evaluate(ask(INTERVENTIONS["fast_restart"]), {}).gain[0, 1]
    assert gain != pytest.approx(0.75 * alone + 0.40 * restart_alone, rel=1e-6)


def test_shares_of_states_by_hand() -> None:
    starts = np.array([[180.0, 400.0], [400.0, 180.0], [HORIZON, 300.0], [0.0, 0.0]])
    shares = shares_in_force(starts, HORIZON)
    assert shares[()].tolist() == [0.18, 0.18, 0.30, 0.0]
    assert shares[(0,)].tolist() == [0.22, 0.0, 0.0, 0.0]
    assert shares[(1,)].tolist() == [0.0, 0.22, 0.70, 0.0]
    assert shares[(0, 1)].tolist() == [0.60, 0.60, 0.0, 1.0]


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), parts=st.integers(1, 5))
def test_shares_of_states_fill_the_horizon(seed: int, parts: int) -> None:
    generator = np.random.default_rng(seed)
    starts = generator.uniform(0, 1.3 * HORIZON, (30, parts)).clip(max=HORIZON)
    shares = shares_in_force(starts, HORIZON)
    assert sum(shares.values()) == pytest.approx(np.ones(30))
    for part in range(parts):
        in_force = sum(share for members, share in shares.items() if part in members)
        assert in_force == pytest.approx(1 - starts[:, part] / HORIZON)


def test_plain_option_is_itself() -> None:
    option = INTERVENTIONS["bandwidth_2x"]
    assert with_draws(option, study_draws(3)) is option
    [state] = states_of(option, study_draws(3), HORIZON, 3)
    assert state.change is option
    assert state.share is None


def test_without_columns_medians_stand(uncertain: Intervention) -> None:
    fixed = faster(
        multipliers=dict(uncertain.multipliers),
        overrides=dict(uncertain.overrides),
        effective_from_day=200.0,
    )
    assert np.array_equal(evaluate(ask(uncertain), {}).gain, evaluate(ask(fixed), {}).gain)


@pytest.mark.parametrize(("chunk", "jobs"), [(1, 1), (7, 2), (1000, 1)])
def test_uncertain_outcomes_do_not_depend_on_how_they_are_run(
    uncertain: Intervention, chunk: int, jobs: int
) -> None:
    both = bundle("both", [uncertain, INTERVENTIONS["fast_restart"]], source="test")
    columns = study_draws(40) | draw_terms(terms_of([uncertain]), 40, 2)
    columns["reliability.spare_fraction"] = np.linspace(0.0, 0.06, 40)
    question = ask(uncertain, both, INTERVENTIONS["add_spares"], scale=16_384)
    whole = evaluate(question, columns)
    parts = evaluate(question, columns, chunk=chunk, jobs=jobs)
    assert whole.gain.tobytes() == parts.gain.tobytes()
    assert whole.sea.tobytes() == parts.sea.tobytes()


def test_uncertain_target_conflicts_even_with_an_equal_median(uncertain: Intervention) -> None:
    other = Intervention(
        name="other", overrides={"reliability.detect_time_s": 30.0}, multipliers={}
    )
    with pytest.raises(InputError, match=r"both: reliability\.detect_time_s: two parts"):
        bundle("both", [uncertain, other], source="test")


def test_strength_outside_its_range_is_named_before_anything_runs() -> None:
    option = Intervention(
        name="better",
        overrides={},
        multipliers={"topology.net_efficiency": 1.1},
        distributions={"topology.net_efficiency": _Middle()},
    )
    columns = {
        "topology.net_efficiency": np.array([0.9, 0.9, 0.9]),
        "intervention.better.topology.net_efficiency": np.array([1.0, 1.1, 1.2]),
    }
    with pytest.raises(InputError, match=r"better: topology.net_efficiency: got 1\.08\d* in row 3"):
        evaluate(ask(option), columns)


class _Middle(Distribution):
    median = 1.1


FACTOR = "interventions: [{name: a, multipliers: {accelerator.nic_bw_gbps: %s}}]\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (FACTOR % "{uniform: {low: -1, high: 2}}", "a finite number of at least 0"),
        (FACTOR % "{triangular: {low: 2, mode: 1, high: 3}}", "low <= mode <= high"),
        (FACTOR % "{triangle: {low: 1, mode: 2, high: 3}}", "unknown family 'triangle'"),
        (FACTOR % "{uniform: {low: 1}}", "intervention.a.accelerator.nic_bw_gbps.uniform.high"),
        (FACTOR % "{}", "got 0 families"),
        (
            "interventions: [{name: a, overrides: {topology.net_efficiency:"
            " {uniform: {low: 0.5, high: 1.5}}}}]\n",
            "(0, 1]",
        ),
        (
            "interventions: [{name: a, multipliers: {topology.scaleup_domain:"
            " {uniform: {low: 1, high: 2}}}}]\n",
            "only real fields may be uncertain",
        ),
        ("interventions: [{name: a, probability_of_delivery: 1.2}]\n", "[0, 1]"),
        ("interventions: [{name: a, probability_of_delivery: -0.1}]\n", "[0, 1]"),
        ("interventions: [{name: a, probability_of_delivery: .nan}]\n", "[0, 1]"),
        ("interventions: [{name: a, probability_of_delivery: often}]\n", "[0, 1]"),
        ("interventions: [{name: a, probability_of_delivery: {beta: {}}}]\n", "[0, 1]"),
        ("interventions: [{name: a, effective_from_day: -1}]\n", "at least 0"),
        ("interventions: [{name: a, effective_from_day: soon}]\n", "at least 0"),
        ("interventions: [{name: a, effective_from_day: true}]\n", "at least 0"),
        (
            "interventions: [{name: a}]\nregimes: [{name: r, overrides: {topology.net_efficiency:"
            " {uniform: {low: 0.5, high: 0.9}}}}]\n",
            "a number is needed here",
        ),
    ],
)
def test_bad_distribution_is_named(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert words in str(caught.value)


def test_reader_without_distributions_says_that_a_number_is_needed(tmp_path: Path) -> None:
    path = tmp_path / "options.yaml"
    path.write_text(FACTOR % "{uniform: {low: 1, high: 2}}")
    with pytest.raises(InputError, match="a number is needed here"):
        read_interventions(path)
