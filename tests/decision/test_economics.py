"""From costs to a decision: hand-computed choices, the frontier, and what the note calls a trap."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decision import risk
from decision.acceptability import POINTS, Curves, few_rows, price_factors, scale_all, scale_one
from decision.costs import Costs, read_costs
from decision.economics import Economics, Estimate, Offer, appraise, order_of_merit
from decision.outcomes import Question, evaluate
from decision.utility import Pools, Utilities, utilities
from model.interventions import Intervention
from tests.decision.test_outcomes import study_draws
from tests.reference import INTERVENTIONS, PUBLISHED, REFERENCE

CHOSEN = ("bandwidth_2x", "reliability_2x", "fast_checkpoint")
DRAWS = 60


def costs_of(tmp_path: Path, costs: dict[str, object], more: str = "") -> Costs:
    path = tmp_path / "costs.yaml"
    lines = [f"  {name}: {cost}" for name, cost in costs.items()]
    path.write_text("interventions:\n" + "\n".join(lines) + "\n" + more)
    return read_costs(path, PUBLISHED.interventions)


def ask(*names: str, **changes: object) -> Question:
    options = tuple(INTERVENTIONS[name] for name in names or CHOSEN)
    return Question(**{"scenario": REFERENCE, "interventions": options, **changes})


def decide(costs: Costs, question: Question, **options: object) -> Economics:
    columns = study_draws(DRAWS) | costs.draw(DRAWS, 1)
    return appraise(question, columns, evaluate(question, columns), costs, **options)


def test_appraisal_is_what_its_words_say(tmp_path: Path) -> None:
    costs = costs_of(
        tmp_path,
        {"bandwidth_2x": 120, "reliability_2x": "{uniform: {low: 500, high: 900}}",
         "fast_checkpoint": 300},
    )  # fmt: skip
    question = ask()
    columns = study_draws(DRAWS) | costs.draw(DRAWS, 1)
    outcomes = evaluate(question, columns)
    found = appraise(question, columns, outcomes, costs)
    values = utilities(question, columns, costs).values
    assert found.utilities.budget == pytest.approx(700.0)
    drawn = np.column_stack(
        [np.zeros(DRAWS), np.full(DRAWS, 120), columns["cost.reliability_2x"], np.full(DRAWS, 300)]
    )
    best = values.max(axis=1)
    for k, one in enumerate(found.appraisals):
        assert one.feasible
        assert one.utility.value == pytest.approx(values[:, k].mean())
        assert one.net_value.value == pytest.approx((values[:, k] - values[:, 0]).mean())
        assert one.p_best.value == pytest.approx((values[:, k] == best).mean())
        assert one.expected_loss.value == pytest.approx((best - values[:, k]).mean())
        if k:
            assert one.p_pays.value == pytest.approx((drawn[:, k] < outcomes.sea[:, k]).mean())
        half, most, nearly = (e.value for e in one.break_even)
        assert half >= most >= nearly
        assert half == np.quantile(outcomes.sea[:, k], 0.5, method="inverted_cdf")
    assert found.chosen == question.options[int(values.mean(axis=0).argmax())]
    losses = [one.expected_loss.value for one in found.appraisals]
    assert found.perfect_information.value == pytest.approx(min(losses))
    assert found.of(found.chosen).expected_loss.value == pytest.approx(min(losses))
    assert found.verdict == "fund"


def test_nothing_is_funded_where_accelerators_bring_more(tmp_path: Path) -> None:
    costs = costs_of(tmp_path, dict.fromkeys(CHOSEN, 9000))
    found = decide(costs, ask())
    assert found.chosen == "do_nothing"
    assert found.verdict == "do_not_fund"
    assert all(one.net_value.value < 0 for one in found.appraisals[1:])


def test_zero_costs_leave_the_ranking_as_it_is(tmp_path: Path) -> None:
    costs = costs_of(tmp_path, dict.fromkeys(CHOSEN, 0))
    question = ask()
    columns = study_draws(DRAWS)
    outcomes = evaluate(question, columns)
    found = appraise(question, columns, outcomes, costs)
    assert found.utilities.budget == 0.0
    for k, one in enumerate(found.appraisals):
        assert one.net_value.value == pytest.approx(outcomes.gain[:, k].mean(), rel=1e-9, abs=1e-9)
    assert found.own_curves == ()


def test_budget_of_zero_leaves_what_is_free(tmp_path: Path) -> None:
    costs = costs_of(tmp_path, {"bandwidth_2x": 0, "reliability_2x": 1, "fast_checkpoint": 300})
    found = decide(costs, ask(), budget=0.0)
    assert found.feasible == ("do_nothing", "bandwidth_2x")
    assert found.chosen == "bandwidth_2x"
    out = found.of("reliability_2x")
    assert not out.feasible
    assert np.isnan([out.p_best.value, out.expected_loss.value, out.loss_p90]).all()
    # Whether it would pay at its cost does not depend on the budget.
    assert out.p_pays.value == 1.0


def test_option_that_is_never_attainable_pays_at_any_cost(tmp_path: Path) -> None:
    question = ask("reliability_2x", scale=131_072)
    outcomes = evaluate(question, {})
    assert np.isposinf(outcomes.sea[0, 1])
    costs = costs_of(tmp_path, {"reliability_2x": 9_000_000})
    found = appraise(question, {}, outcomes, costs, budget=100.0)
    one = found.of("reliability_2x")
    assert one.p_pays.value == 1.0
    assert [estimate.value for estimate in one.break_even] == [np.inf] * 3
    assert found.chosen == "do_nothing"


def test_option_that_is_never_delivered_does_not_pay(tmp_path: Path) -> None:
    never = replace(INTERVENTIONS["reliability_2x"], probability_of_delivery=0.0)
    question = Question(scenario=REFERENCE, interventions=(never,))
    found = decide(costs_of(tmp_path, {"reliability_2x": 10}), question)
    one = found.of("reliability_2x")
    assert one.p_pays.value == 0.0
    assert one.net_value.value < 0
    assert found.verdict == "do_not_fund"


def test_undelivered_option_is_paid_all_the_same(tmp_path: Path) -> None:
    part = replace(INTERVENTIONS["reliability_2x"], probability_of_delivery=0.5)
    question = Question(scenario=REFERENCE, interventions=(part,))
    columns = study_draws(20) | {"intervention.reliability_2x.delivered": np.arange(20) % 2.0}
    costs = costs_of(tmp_path, {"reliability_2x": 500})
    outcomes = evaluate(question, columns)
    found = appraise(question, columns, outcomes, costs)
    pools = Pools.of(question, columns, 20)
    assert np.array_equal(found.utilities.values[::2, 1], pools.value(0, np.zeros((20, 1)))[::2, 0])
    assert found.of("reliability_2x").p_pays.value == np.mean(outcomes.sea[:, 1] > 500)


def test_rounding_does_not_decide_between_options_that_bring_the_same() -> None:
    """The third brings 1e-15 more of its own than the second: the first listed is chosen."""
    values = np.array([[900.0, 1000.0, 1000.0 * (1 + 1e-15), 1100.0]])
    found = Utilities(
        options=("do_nothing", "second", "third", "dear"),
        values=values,
        costs=np.zeros((1, 4)),
        expected_costs=np.zeros(4),
        budget=0.0,
        feasible=np.array([True, True, True, False]),
        horizon_days=1095.0,
    )
    assert values[0, 2] > values[0, 1]
    assert order_of_merit(found, None) == [1, 2, 0]
    clear = replace(found, values=values + np.array([[0.0, 0.0, 1e-6, 0.0]]))
    assert order_of_merit(clear, None) == [2, 1, 0]


def test_risk_tolerance_decides_by_the_certainty_equivalent(tmp_path: Path) -> None:
    """What more often helps in bad draws wins where risk counts: the choice is the largest CE."""
    costs = costs_of(tmp_path, {"reliability_2x": 900, "fast_checkpoint": 100})
    question = ask("reliability_2x", "fast_checkpoint")
    neutral = decide(costs, question)
    averse = decide(costs, question, risk_tolerance=300.0)
    assert neutral.appraisals[0].certainty_equivalent is None
    assert neutral.chosen == "fast_checkpoint"
    assert averse.chosen == "reliability_2x"
    sure = {one.option: one.certainty_equivalent.value for one in averse.appraisals}
    assert max(sure, key=sure.__getitem__) == averse.chosen
    # The expected lead of the choice is then negative: it is the price of less risk.
    assert averse.lead.value < 0
    # A tolerance far beyond the stakes is neutral.
    assert decide(costs, question, risk_tolerance=1e9).chosen == neutral.chosen


def test_study_comes_first_where_it_is_worth_more_than_it_costs(tmp_path: Path) -> None:
    found = decide(costs_of(tmp_path, dict.fromkeys(CHOSEN, 100)), ask())

    def offer(value: float, cost: float, mcse: float = 1.0) -> Offer:
        return Offer(
            study="s", size=10, unit="runs", value=Estimate(value=value, mcse=mcse), cost=cost
        )

    assert found.with_offer(offer(50.0, 10.0)).verdict == "measure_first"
    assert found.with_offer(offer(10.0, 50.0)).verdict == "fund"
    assert found.with_offer(offer(11.0, 10.0, mcse=5.0)).verdict == "fund"
    assert found.with_offer(None).verdict == "fund"
    both = found.with_offer(offer(50.0, 10.0)).with_offer(offer(90.0, 10.0))
    assert both.offer.value.value == 90.0
    assert both.with_offer(offer(60.0, 10.0)).offer.value.value == 90.0
    assert both.chosen == found.chosen


class Tabulated:
    """Utilities written down: what Pools gives, for hand-computed cases."""

    def __init__(self, worth: np.ndarray) -> None:
        self.worth = worth

    def value(self, option: int, added: np.ndarray) -> np.ndarray:
        """Each accelerator brings one: U = worth + added."""
        return self.worth[:, option : option + 1] + added


def tabulated(worth: np.ndarray, costs: np.ndarray, budget: float) -> tuple[Tabulated, Utilities]:
    spread = np.broadcast_to(costs, worth.shape)
    return Tabulated(worth), Utilities(
        options=("do_nothing", *(f"o{k}" for k in range(1, worth.shape[1]))),
        values=worth + budget - spread,
        costs=spread,
        expected_costs=costs,
        budget=budget,
        feasible=costs <= budget,
        horizon_days=1095.0,
    )


def test_frontier_is_not_the_upper_envelope() -> None:
    """o1 is best in three draws of five and loses much in the others; o2 has the larger mean.

    Worth of o1: 10 10 10 0 0 (mean 6), of o2: 7 7 7 9 9 (mean 7.8), nothing: 0. At no cost o2 has
    the larger expectation, and P(best) 0.4 against 0.6. With costs of 4 and 8: o1 6 6 6 −4 −4
    (mean 2), o2 −1 −1 −1 1 1 (mean −0.2): o1 leads, best in 0.6.
    """
    worth = np.array([[0, 10, 7], [0, 10, 7], [0, 10, 7], [0, 0, 9], [0, 0, 9]], dtype=float)
    pools, found = tabulated(worth, np.array([0.0, 4.0, 8.0]), 8.0)
    curves = scale_all(pools, found, np.array([0.0, 1.0, 2.0]), stated_budget=False)
    assert [curves.options[k] for k in curves.expected] == ["o2", "o1", "do_nothing"]
    assert curves.p_best[0].tolist() == [0.0, 0.6, 0.4]
    assert curves.frontier.tolist() == [0.4, 0.6, 0.4]
    assert curves.frontier[0] < curves.p_best[0].max()
    # Expected loss at no cost: nothing 9.6; o1 9·2/5; o2 3·3/5.
    assert curves.expected_loss[0] == pytest.approx([9.6, 3.6, 1.8])
    # At twice the costs o1 is worth 2 2 2 −8 −8, o2 −9 −9 −9 −7 −7.
    assert curves.expected_loss[2] == pytest.approx([1.2, 3.2, 9.4])


def test_stated_budget_stays_while_costs_scale() -> None:
    worth = np.array([[0.0, 10.0], [0.0, 12.0]])
    pools, found = tabulated(worth, np.array([0.0, 4.0]), 8.0)
    factors = np.array([0.0, 2.0, 2.1])
    stated = scale_all(pools, found, factors, stated_budget=True)
    assert stated.p_best[:, 1].tolist() == [1.0, 1.0, 0.0]
    assert np.isnan(stated.expected_loss[2, 1])
    # A budget that is the largest cost grows with it.
    default = scale_all(pools, found, factors, stated_budget=False)
    assert default.p_best[:, 1].tolist() == [1.0, 1.0, 1.0]


def test_own_cost_decides_whether_an_option_is_best() -> None:
    worth = np.array([[0.0, 4.1, 5.0], [0.0, 4.1, 5.0], [0.0, 9.1, 5.0]])
    pools, found = tabulated(worth, np.array([0.0, 2.0, 3.0]), 10.0)
    curve = scale_one(pools, found, 1)
    assert curve.costs[[0, -1]].tolist() == [0.0, 10.0]
    # o2 nets 2: o1 beats it below a cost of 2.1 in all draws, below 7.1 in one of three.
    expected = np.select([curve.costs < 2.1, curve.costs < 7.1], [1.0, 1 / 3], 0.0)
    assert curve.p_best == pytest.approx(expected)


def test_price_factors_reach_beyond_the_break_evens() -> None:
    factors = price_factors(np.array([0.0, 300.0, np.inf]), np.array([0.0, 100.0, 10.0]))
    assert factors[0] == 0.0
    assert factors.size == POINTS
    assert factors[-1] == pytest.approx(1.25 * 3)
    assert price_factors(np.array([0.0, 5.0]), np.array([0.0, 0.0]))[-1] == 2.0
    assert price_factors(np.array([0.0, 1e9]), np.array([0.0, 1.0]))[-1] == 50.0


def test_curves_at_the_stated_costs_are_the_appraisal(tmp_path: Path) -> None:
    costs = costs_of(
        tmp_path,
        {"bandwidth_2x": 120, "reliability_2x": "{uniform: {low: 500, high: 900}}",
         "fast_checkpoint": 300},
    )  # fmt: skip
    question = ask()
    columns = study_draws(DRAWS) | costs.draw(DRAWS, 1)
    found = utilities(question, columns, costs)
    pools = Pools.of(question, columns, DRAWS)
    curves = scale_all(pools, found, np.array([1.0]), stated_budget=False)
    assert curves.p_best[0] == pytest.approx(risk.best_credit(found.values).mean(axis=0))
    assert curves.expected_loss[0] == pytest.approx(
        risk.opportunity_loss(found.values).mean(axis=0)
    )
    own = scale_one(pools, found, 2)
    # Its expected cost of 700 is the budget, the last point of its own curve.
    assert own.p_best[-1] == pytest.approx(curves.p_best[0, 2])


def test_few_rows_are_spread_over_all_draws() -> None:
    assert few_rows(3).tolist() == [0, 1, 2]
    rows = few_rows(100_000)
    assert rows.size == 2000
    assert rows[[0, -1]].tolist() == [0, 99_999]


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), factor=st.floats(0.0, 4.0))
def test_curves_stay_within_their_bounds(seed: int, factor: float) -> None:
    generator = np.random.default_rng(seed)
    worth = np.hstack([np.zeros((30, 1)), generator.normal(5, 4, (30, 3))])
    pools, found = tabulated(worth, np.append(0.0, generator.uniform(0, 8, 3)), 6.0)
    for stated in (True, False):
        curves: Curves = scale_all(pools, found, np.array([factor]), stated_budget=stated)
        assert ((curves.p_best >= 0) & (curves.p_best <= 1)).all()
        assert curves.p_best.sum() == pytest.approx(1.0)
        losses = curves.expected_loss[0]
        assert (losses[~np.isnan(losses)] >= 0).all()
        # Least expected loss is largest expectation.
        assert np.nanargmin(losses) == curves.expected[0]
        assert curves.frontier[0] <= curves.p_best[0].max()


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_dearer_options_pay_less_often(seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    generator = np.random.default_rng(seed)
    low = float(generator.uniform(0, 1500))
    high = low + float(generator.uniform(0, 1500))
    option: Intervention = PUBLISHED.interventions[generator.integers(10)]
    question = Question(scenario=REFERENCE, interventions=(option,))
    columns = study_draws(20)
    outcomes = evaluate(question, columns)
    folder = tmp_path_factory.mktemp("costs")
    cheap, dear = (
        appraise(question, columns, outcomes, costs_of(folder, {option.name: cost}), budget=3000.0)
        for cost in (low, high)
    )
    assert cheap.of(option.name).p_pays.value >= dear.of(option.name).p_pays.value
    assert 0.0 <= dear.of(option.name).p_pays.value <= 1.0
    # At these pools an accelerator more never takes anything away.
    assert cheap.of(option.name).utility.value >= dear.of(option.name).utility.value - 1e-9
