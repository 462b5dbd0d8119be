"""Measures of risk against hand-computed cases, closed forms and their invariants."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from decision import risk
from decision.precision import Layout

INDEPENDENT = 40_000


def layout(values: np.ndarray) -> Layout:
    return Layout.of(None, values.shape[0])


def test_conditional_value_at_risk_by_hand() -> None:
    values = np.array([[5.0], [1.0], [4.0], [2.0], [3.0]])
    # α·n = 1.25: the worst draw, and a quarter of the next.
    assert risk.tail_mean(values, 0.25)[0] == pytest.approx((1.0 + 0.25 * 2.0) / 1.25)
    assert risk.tail_mean(values, 0.4)[0] == pytest.approx(1.5)
    # Less than one draw: the worst alone.
    assert risk.tail_mean(values, 0.1)[0] == 1.0
    assert risk.tail_mean(values, 1.0)[0] == pytest.approx(3.0)


def test_tail_mean_and_certainty_equivalent_of_a_normal() -> None:
    """φ(z)/α below the mean, and μ − σ²/(2R): closed forms, within 4 of the stated errors."""
    values = np.random.default_rng(3).normal(7.0, 2.0, size=(INDEPENDENT, 1))
    # z of 10%: φ(−1.2815516)/0.1 = 1.7549833.
    error = risk.tail_mean_error(values, layout(values))[0]
    assert abs(risk.tail_mean(values)[0] - (7.0 - 2.0 * 1.7549833)) < 4 * error
    sure = risk.certainty_equivalent(values, 5.0)[0]
    sure_error = risk.certainty_equivalent_error(values, 5.0, layout(values))[0]
    assert abs(sure - (7.0 - 4.0 / 10.0)) < 4 * sure_error
    # Negative controls: a tail or tolerance a tenth off is seen.
    assert abs(risk.tail_mean(values, 0.11)[0] - (7.0 - 2.0 * 1.7549833)) > 4 * error
    assert abs(risk.certainty_equivalent(values, 5.5)[0] - (7.0 - 4.0 / 10.0)) > 4 * sure_error


def test_stated_errors_are_those_of_reruns() -> None:
    """The spread over 400 reruns is the stated error, within 15%: its own error is 3.5%."""
    reruns = np.random.default_rng(5).gamma(2.0, 3.0, size=(400, 2000))
    for measure, error in (
        (risk.tail_mean, risk.tail_mean_error),
        (
            lambda values: risk.certainty_equivalent(values, 4.0),
            lambda values, where: risk.certainty_equivalent_error(values, 4.0, where),
        ),
    ):
        found = np.array([measure(run[:, np.newaxis])[0] for run in reruns])
        stated = np.array(
            [error(run[:, np.newaxis], Layout.of(None, 2000))[0] for run in reruns[:50]]
        )
        assert stated.mean() == pytest.approx(found.std(), rel=0.15)


def test_certainty_equivalent_of_a_large_stake_does_not_overflow() -> None:
    values = np.array([[1e6], [2e6]])
    # Of two equal chances the worse decides where the tolerance is small: 1e6 + R·ln 2.
    assert risk.certainty_equivalent(values, 10.0)[0] == pytest.approx(1e6 + 10.0 * np.log(2.0))


def test_break_even_is_the_cost_below_which_it_pays() -> None:
    sea = np.array([[np.inf], [10.0], [20.0], [30.0], [-np.inf]])
    assert risk.break_even(sea, 0.75)[0] == 10.0
    assert risk.break_even(sea, 0.50)[0] == 20.0
    assert risk.break_even(sea, 0.15)[0] == np.inf
    assert risk.break_even(sea, 0.95)[0] == -np.inf


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), confidence=st.floats(0.01, 0.99))
def test_costs_below_the_break_even_pay_and_above_it_do_not(seed: int, confidence: float) -> None:
    sea = np.round(np.random.default_rng(seed).normal(100, 30, size=(37, 1)))
    cost = risk.break_even(sea, confidence)
    assert risk.pays(sea, cost - 0.5).mean() >= confidence
    assert risk.pays(sea, cost).mean() <= confidence + 1e-12


def test_what_costs_its_sea_does_not_pay() -> None:
    sea = np.array([[0.0, 5.0, 5.0, np.inf, -np.inf]])
    costs = np.array([[0.0, 4.0, 5.0, 1e9, 0.0]])
    assert risk.pays(sea, costs).tolist() == [[False, True, False, True, False]]


@pytest.mark.parametrize("options", [2, 3, 4, 5])
def test_independent_options_are_best_equally_often(options: int) -> None:
    """P(best) = 1/K; the smallest expected loss is E[max of K] (oracles D), within 4 errors."""
    expected_maximum = {2: 0.5641896, 3: 0.8462844, 4: 1.0293754, 5: 1.1629645}[options]
    values = np.random.default_rng(options).normal(size=(INDEPENDENT, options))
    shares = risk.best_credit(values).mean(axis=0)
    error = np.sqrt((1 - 1 / options) / options / INDEPENDENT)
    assert (np.abs(shares - 1 / options) < 4 * error).all()
    loss = risk.opportunity_loss(values)
    spread = loss.std(axis=0) / np.sqrt(INDEPENDENT)
    assert (np.abs(loss.mean(axis=0) - expected_maximum) < 4 * spread).all()
    beats = risk.beats(values)
    assert (np.abs(beats - 0.5) < 4 * 0.5 / np.sqrt(INDEPENDENT)).all()
    ahead = risk.beats(values + np.where(np.arange(options) == 1, 0.1, 0.0))
    assert ahead[1, 0] - 0.5 > 4 * 0.5 / np.sqrt(INDEPENDENT)


def test_ties_share_credit_and_count_half() -> None:
    values = np.array([[1.0, 1.0, 0.0], [2.0, 0.0, 2.0], [0.0, 3.0, 1.0]])
    assert risk.best_credit(values).tolist() == [[0.5, 0.5, 0], [0.5, 0, 0.5], [0, 1, 0]]
    assert risk.beats(values) == pytest.approx(
        np.array([[0.5, 0.5, 0.5], [0.5, 0.5, 2 / 3], [0.5, 1 / 3, 0.5]])
    )


def test_more_of_everything_dominates_for_everybody() -> None:
    base = np.random.default_rng(1).normal(size=2000)
    values = np.column_stack([base, base + 0.2])
    [found] = risk.dominances(values, seed=1)
    assert (found.over, found.under, found.order, found.frequency) == (1, 0, 1, 1.0)


def test_a_spread_around_the_same_middle_is_worse_for_who_dislikes_risk() -> None:
    """A mean-preserving spread: dominated in second order, never in first."""
    base = np.linspace(-1.0, 1.0, 4001)
    [found] = risk.dominances(np.column_stack([3.0 * base, base]), seed=1)
    assert (found.over, found.under, found.order) == (1, 0, 2)
    # With equal means a resample shifts one or the other: far from certain.
    assert 0.2 < found.frequency < 0.8


def test_options_that_cross_do_not_dominate() -> None:
    base = np.linspace(-1.0, 1.0, 2001)
    assert risk.dominances(np.column_stack([3.0 * base + 0.5, base]), seed=1) == ()
    assert risk.dominances(np.column_stack([base, base]), seed=1) == ()


def test_dominance_needs_no_pairing_of_draws() -> None:
    """It compares distributions: the same values in another order are neither better nor worse."""
    generator = np.random.default_rng(2)
    base = generator.normal(size=500)
    values = np.column_stack([base, generator.permutation(base) + 0.01])
    [found] = risk.dominances(values, seed=1)
    assert (found.over, found.order) == (1, 1)
    # Resampling pairs breaks it where draws do not move together.
    assert found.frequency < 0.9


utilities = st.integers(0, 2**32 - 1).map(
    lambda seed: np.round(np.random.default_rng(seed).normal(100, 3, size=(40, 5)), 1)
)


@settings(max_examples=60, deadline=None)
@given(values=utilities, factor=st.floats(0.1, 50), shift=st.floats(-50, 50))
def test_measures_scale_with_utility(values: np.ndarray, factor: float, shift: float) -> None:
    other = factor * values + shift
    assert risk.best_credit(other) == pytest.approx(risk.best_credit(values))
    assert risk.beats(other) == pytest.approx(risk.beats(values))
    assert risk.opportunity_loss(other) == pytest.approx(
        factor * risk.opportunity_loss(values), abs=1e-9
    )
    assert risk.tail_mean(other) == pytest.approx(factor * risk.tail_mean(values) + shift)
    assert risk.certainty_equivalent(other, factor * 4.0) == pytest.approx(
        factor * risk.certainty_equivalent(values, 4.0) + shift
    )


@settings(max_examples=60, deadline=None)
@given(values=utilities, seed=st.integers(0, 2**32 - 1))
# Two options of the same mean, which sums in another order round apart.
@example(values=np.round(np.random.default_rng(5237).normal(100, 3, size=(40, 5)), 1), seed=0)
def test_order_of_draws_and_options_changes_nothing(values: np.ndarray, seed: int) -> None:
    generator = np.random.default_rng(seed)
    columns = generator.permutation(5)
    other = values[generator.permutation(40)][:, columns]
    assert risk.best_credit(other).mean(axis=0) == pytest.approx(
        risk.best_credit(values).mean(axis=0)[columns]
    )
    assert risk.tail_mean(other) == pytest.approx(risk.tail_mean(values)[columns])
    assert risk.beats(other) == pytest.approx(risk.beats(values)[np.ix_(columns, columns)])
    pairs = {(columns[d.over], columns[d.under], d.order) for d in risk.dominances(other, 1, 1)}
    assert pairs == {(d.over, d.under, d.order) for d in risk.dominances(values, 1, 1)}


@settings(max_examples=60, deadline=None)
@given(values=utilities, share=st.floats(0.01, 1.0), tolerance=st.floats(0.5, 100))
def test_measures_stay_within_their_bounds(
    values: np.ndarray, share: float, tolerance: float
) -> None:
    credit, beats, loss = (
        risk.best_credit(values), risk.beats(values), risk.opportunity_loss(values),
    )  # fmt: skip
    assert credit.sum(axis=1) == pytest.approx(np.ones(40))
    assert ((beats >= 0) & (beats <= 1)).all()
    assert beats + beats.T == pytest.approx(np.ones((5, 5)))
    assert (loss >= 0).all()
    assert (loss.min(axis=1) == 0).all()
    means, lowest = values.mean(axis=0), values.min(axis=0)
    for measure in (risk.tail_mean(values, share), risk.certainty_equivalent(values, tolerance)):
        assert (measure <= means + 1e-9).all()
        assert (measure >= lowest - 1e-9).all()
    # Dominance implies the order of means and, for both orders, of every tail.
    tails = risk.tail_mean(values, share)
    for found in risk.dominances(values, 1, 1):
        assert means[found.over] >= means[found.under] - 1e-9
        assert tails[found.over] >= tails[found.under] - 1e-9
