"""Value of information against closed forms and published examples, and its invariants.

Oracles A to F: ``../shared/oracles.md``. U(μ, v) = v·φ(μ/v) − |μ|·Φ(−|μ|/v) is the value of
learning a quantity that leaves a preposterior standard deviation v of an incremental net benefit of
mean μ.
Estimates are compared within 3 of their own standard errors, which is what a standard error
promises (99.7%); fixed seeds make the outcome the same every time.
"""

from itertools import pairwise
from math import erf, exp, pi, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decision.precision import Layout
from decision.risk import opportunity_loss
from decision.smoothing import bases_of, normal_scores, smooth
from decision.value_of_information import (
    Information,
    increments,
    nested_information,
    outer_points,
    partial_information,
    perfect_information,
    prior_size,
    shrunk_information,
)

DRAWS = 40_000
SIGMAS = 3.0


def independent(draws: int) -> Layout:
    return Layout.of(None, draws)


def closed_form(mean: float, spread: float) -> float:
    z = abs(mean) / spread
    density = exp(-(z**2) / 2.0) / sqrt(2.0 * pi)
    return spread * density - abs(mean) * (1.0 - erf(z / sqrt(2.0))) / 2.0


def agrees(found: Information, expected: float, *, sigmas: float = SIGMAS) -> bool:
    return abs(found.value - expected) <= sigmas * found.error


def two_parameters(scale: float = 1.0, draws: int = DRAWS) -> tuple[np.ndarray, ...]:
    """Oracle A: options {0, scale·p1 − p2}, p1 ~ N(1, 1), p2 ~ N(0, 2)."""
    rng = np.random.default_rng(20)
    p1, p2 = rng.normal(1.0, 1.0, draws), rng.normal(0.0, 2.0, draws)
    return p1, p2, np.column_stack([np.zeros(draws), scale * p1 - p2])


def information_of(values: np.ndarray, *features: np.ndarray) -> Information:
    return partial_information(values, np.column_stack(features), independent(len(values)))


@pytest.mark.parametrize(
    ("scale", "perfect", "of_first", "of_second"),
    [
        (1.0, 0.4798107, 0.0833155, 0.3955931),
        (2.0, 0.3992825, 0.1666309, closed_form(2.0, 2.0)),
        (3.0, 0.4094634, 0.2499464, closed_form(3.0, 2.0)),
    ],
)
def test_information_meets_oracle_a(scale, perfect, of_first, of_second):
    p1, p2, values = two_parameters(scale)
    assert agrees(perfect_information(values, independent(DRAWS)), perfect)
    first, second = information_of(values, p1), information_of(values, p2)
    assert agrees(first, of_first)
    assert agrees(second, of_second)
    assert agrees(information_of(values, p1, p2), perfect)
    # Negative control: with the roles swapped the same tolerance fails, where they differ at all.
    if abs(of_first - of_second) > 0.05:
        assert not agrees(first, of_second)
        assert not agrees(second, of_first)


@pytest.mark.parametrize(
    ("observations", "expected"), [(10, 0.0723251), (100, 0.0821176), (1000, 0.0831946)]
)
def test_information_of_a_sample_meets_oracle_a(observations, expected):
    p1, _, values = two_parameters()
    noise = np.random.default_rng(3).standard_normal(DRAWS) / sqrt(observations)
    assert agrees(information_of(values, p1 + noise), expected)
    # One observation's worth of data is known before: σ = 1 and the prior's deviation is 1.
    gains = increments(values)
    fit = smooth(bases_of(p1[:, np.newaxis]), gains)
    known = prior_size(fit, (p1 + noise)[:, np.newaxis], observations)
    assert known[0] == pytest.approx(1.0, rel=0.1)
    share = observations / (observations + 1.0)
    assert agrees(shrunk_information(gains, fit, share, independent(DRAWS)), expected)


def test_information_of_few_observations_is_less():
    p1, _, values = two_parameters()
    noise = np.random.default_rng(4).standard_normal(DRAWS)
    one, ten = (information_of(values, p1 + noise / sqrt(n)) for n in (1, 10))
    assert agrees(one, closed_form(1.0, sqrt(0.5)))
    assert one.value < ten.value - one.error


def test_information_meets_oracle_b():
    rng = np.random.default_rng(5)
    p1, p2 = rng.normal(0.0, 1.0, DRAWS), rng.normal(0.0, 2.0, DRAWS)
    values = np.column_stack([np.zeros(DRAWS), p1 + p2])
    assert agrees(information_of(values, p1), 0.3989423)
    assert agrees(information_of(values, p2), 0.7978846)
    assert agrees(perfect_information(values, independent(DRAWS)), 0.8920621)


def test_information_of_correlated_parameters_meets_oracle_c():
    rng = np.random.default_rng(6)
    p1 = rng.normal(1.0, 1.0, DRAWS)
    p2 = rng.normal(p1, 2.0)
    values = np.column_stack([np.zeros(DRAWS), p1 + p2])
    assert agrees(information_of(values, p1), 0.1666309)
    assert agrees(perfect_information(values, independent(DRAWS)), 0.3992825)
    # p2 says something about p1, so that it is worth more than its own part of the sum.
    own_part = closed_form(2.0, sqrt(5.0))
    assert information_of(values, p2).value > own_part + 3 * information_of(values, p2).error


@pytest.mark.parametrize(
    ("options", "expected"), [(2, 0.5641896), (3, 0.8462844), (4, 1.0293754), (5, 1.1629645)]
)
def test_perfect_information_of_independent_options_meets_oracle_d(options, expected):
    values = np.random.default_rng(7).standard_normal((DRAWS, options))
    found = perfect_information(values, independent(DRAWS))
    assert agrees(found, expected)
    wins = np.bincount(values.argmax(axis=1), minlength=options) / DRAWS
    error = sqrt((1 / options) * (1 - 1 / options) / DRAWS)
    assert np.all(np.abs(wins - 1 / options) <= SIGMAS * error)


def population(probabilities: np.ndarray, draws: int) -> list[np.ndarray]:
    """State of each variable in draws whose shares are exactly the joint probabilities."""
    counts = np.rint(probabilities * draws).astype(int)
    assert np.allclose(counts, probabilities * draws)
    states = np.indices(probabilities.shape).reshape(probabilities.ndim, -1)
    return [np.repeat(state, counts.ravel()) for state in states]


EXACT = 1e-6
"""Shares of draws are the probabilities themselves, so that nothing is left to chance."""


def test_information_meets_the_oil_wildcatter():
    """Oracle E: SAS/OR PROC DTREE."""
    costs, worth = np.array([150.0, 300.0, 500.0]), np.array([0.0, 700.0, 1200.0])
    seismic = np.array([[0.6, 0.3, 0.1], [0.3, 0.4, 0.3], [0.1, 0.4, 0.5]])
    joint = np.einsum("c,o,os->cos", [0.2, 0.6, 0.2], [0.5, 0.3, 0.2], seismic)
    cost, oil, signal = population(joint, 5000)
    values = np.column_stack([np.zeros(cost.size), worth[oil] - costs[cost]])
    assert values[:, 1].mean() == pytest.approx(140.0, abs=EXACT)
    assert information_of(values, oil).value == pytest.approx(155.0, abs=EXACT)
    assert information_of(values, cost).value == pytest.approx(10.0, abs=EXACT)
    assert information_of(values, signal).value == pytest.approx(40.1, abs=EXACT)
    perfect = perfect_information(values, independent(cost.size))
    assert perfect.value == pytest.approx(155.0, abs=EXACT)


def test_information_meets_raiffa():
    """Oracle F: Raiffa, drilling for 70 with payoffs 0, 120, 270."""
    joint = np.array([[0.3, 0.15, 0.05], [0.09, 0.12, 0.09], [0.02, 0.08, 0.1]])
    state, signal = population(joint, 1000)
    values = np.column_stack([np.zeros(1000), np.array([0.0, 120.0, 270.0])[state] - 70.0])
    assert values[:, 1].mean() == pytest.approx(20.0, abs=EXACT)
    assert information_of(values, state).value == pytest.approx(35.0, abs=EXACT)
    assert information_of(values, signal).value == pytest.approx(12.5, abs=EXACT)
    perfect = perfect_information(values, independent(1000))
    assert perfect.value == pytest.approx(35.0, abs=EXACT)


@pytest.mark.parametrize("scale", [1.0, 2.0, 3.0])
def test_nested_information_meets_oracle_a(scale):
    p1, p2, values = two_parameters(scale, draws=4000)
    layout = independent(4000)
    of_first, of_second = outer_points(p1), outer_points(p2)

    def first_known(q: int) -> np.ndarray:
        return np.column_stack([np.zeros(4000), scale * of_first[q] - p2])

    def second_known(q: int) -> np.ndarray:
        return np.column_stack([np.zeros(4000), scale * p1 - of_second[q]])

    of_p1 = nested_information(first_known, 64, layout, outer_draws=4000)
    of_p2 = nested_information(second_known, 64, layout, outer_draws=4000)
    assert agrees(of_p1, closed_form(scale, scale))
    assert agrees(of_p2, closed_form(scale, 2.0))
    # The regression on the same draws agrees.
    assert agrees(information_of(values, p1), of_p1.value)
    assert agrees(information_of(values, p2), of_p2.value)


def test_nested_information_of_drawn_points_carries_their_error():
    p1, p2, _ = two_parameters(draws=4000)
    points = np.random.default_rng(8).choice(p1, 200)

    def known(q: int) -> np.ndarray:
        return np.column_stack([np.zeros(4000), points[q] - p2])

    layout = independent(4000)
    drawn = nested_information(known, 200, layout, outer_draws=200)
    assert drawn.error > 2 * nested_information(known, 200, layout, outer_draws=4000).error
    assert agrees(drawn, 0.0833155)


def test_information_error_covers_what_reruns_show():
    """The stated error against the spread of 60 reruns, within a third: 3 sd of a spread."""
    found = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        p1, p2 = rng.normal(1.0, 1.0, 2000), rng.normal(0.0, 2.0, 2000)
        found.append(information_of(np.column_stack([np.zeros(2000), p1 - p2]), p2))
    spread = np.std([one.value for one in found])
    stated = np.mean([one.error for one in found])
    assert spread == pytest.approx(stated, rel=0.33)
    bias = np.mean([one.value for one in found]) - 0.3955931
    assert abs(bias) < 3 * spread / sqrt(60)


def test_noise_floor_covers_a_parameter_that_says_nothing():
    p1, _, values = two_parameters(draws=5000)
    noise = np.random.default_rng(9).standard_normal((5000, 10))
    layout = independent(5000)
    floors = [partial_information(values, noise[:, [i]], layout, seed=i) for i in range(10)]
    # One in twenty exceeds a 95th percentile by chance: four of ten would be one in a thousand.
    assert sum(one.value > one.noise_floor for one in floors) <= 3
    assert all(one.value <= 0.02 for one in floors)
    telling = partial_information(values, p1[:, np.newaxis], layout, seed=1)
    assert not telling.is_noise


def test_information_of_a_constant_is_zero():
    _, _, values = two_parameters(draws=1000)
    found = information_of(values, np.full(1000, 3.0))
    assert found.value == 0.0


def test_information_of_one_option_is_zero():
    values = np.random.default_rng(1).standard_normal((500, 1))
    assert perfect_information(values, independent(500)).value == 0.0
    assert information_of(values, values[:, 0]).value == 0.0


@pytest.mark.parametrize("length", [2, 3, 5, 11])
def test_information_works_with_few_draws(length):
    rng = np.random.default_rng(length)
    values = rng.standard_normal((length, 3))
    for features in (values[:, :1], values[:, :2], np.arange(length)[:, np.newaxis] % 2):
        found = partial_information(values, features, independent(length), seed=1)
        assert np.isfinite([found.value, found.error, found.noise_floor]).all()


def test_smooth_follows_a_curve_and_ignores_noise():
    rng = np.random.default_rng(12)
    x = rng.uniform(-3.0, 3.0, 4000)
    truth = np.column_stack([np.sin(2.0 * x), 0.5 * x, np.zeros(4000)])
    fit = smooth(bases_of(x[:, np.newaxis]), truth + rng.normal(0.0, 0.5, truth.shape))
    assert np.sqrt(np.mean((fit.values - truth) ** 2, axis=0)).max() < 0.05
    assert fit.degrees[0] > 6.0 > fit.degrees[2]


def test_smooth_finds_an_interaction_of_two_features():
    rng = np.random.default_rng(13)
    x = rng.standard_normal((4000, 2))
    truth = (x[:, :1] * x[:, 1:]) + 0.3 * x[:, :1]
    fit = smooth(bases_of(x), truth + rng.normal(0.0, 0.5, truth.shape))
    assert np.sqrt(np.mean((fit.values - truth) ** 2)) < 0.15


def test_normal_scores_do_not_depend_on_the_scale():
    x = np.random.default_rng(14).standard_normal((100, 1))
    assert np.array_equal(normal_scores(x), normal_scores(np.exp(x)))


@st.composite
def problems(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Options linear or bent in three parameters of different spread; (n, K) and (n, 3)."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    options = draw(st.integers(2, 4))
    features = rng.standard_normal((1000, 3)) * [0.5, 1.0, 2.0]
    weights = rng.normal(size=(3, options))
    bent = np.where(draw(st.booleans()), np.tanh(features), features)
    return bent @ weights + rng.normal(size=options), features


@settings(max_examples=25, deadline=None)
@given(problems())
def test_information_lies_between_none_and_perfect(problem):
    values, features = problem
    perfect = perfect_information(values, independent(1000))
    for column in range(3):
        one = information_of(values, features[:, column])
        assert one.value >= 0.0
        assert one.value <= perfect.value + SIGMAS * one.error + 1e-9


@settings(max_examples=25, deadline=None)
@given(problems())
def test_information_grows_with_the_parameters_up_to_perfect(problem):
    values, features = problem
    perfect = perfect_information(values, independent(1000))
    chain = [information_of(values, *features[:, :count].T) for count in (1, 2, 3)]
    for fewer, more in pairwise(chain):
        assert more.value >= fewer.value - SIGMAS * fewer.error - 1e-9
    # All parameters together leave nothing open; the smooth fit rounds kinks by a few percent.
    assert chain[-1].value == pytest.approx(perfect.value, abs=SIGMAS * perfect.error + 1e-9)


@settings(max_examples=25, deadline=None)
@given(problems())
def test_perfect_information_is_the_smallest_expected_loss(problem):
    values, _ = problem
    found = perfect_information(values, independent(1000))
    assert found.value == pytest.approx(opportunity_loss(values).mean(axis=0).min(), rel=1e-9)


@settings(max_examples=25, deadline=None)
@given(problems(), st.floats(0.01, 100.0))
def test_information_scales_with_the_values(problem, factor):
    values, features = problem
    for column in range(2):
        before = information_of(values, features[:, column])
        after = information_of(factor * values, features[:, column])
        assert after.value == pytest.approx(factor * before.value, rel=1e-6, abs=1e-9 * factor)
        assert after.error == pytest.approx(factor * before.error, rel=1e-6, abs=1e-9 * factor)


@settings(max_examples=25, deadline=None)
@given(problems(), st.randoms(use_true_random=False))
def test_information_does_not_depend_on_the_order(problem, random):
    values, features = problem
    options, draws = list(range(values.shape[1])), list(range(len(values)))
    random.shuffle(options)
    random.shuffle(draws)
    for chosen in ([0], [0, 1]):
        before = information_of(values, *features[:, chosen].T)
        after = information_of(values[np.ix_(draws, options)], *features[np.ix_(draws, chosen)].T)
        assert after.value == pytest.approx(before.value, rel=1e-6, abs=1e-9)


@settings(max_examples=25, deadline=None)
@given(problems())
def test_information_ignores_what_all_options_share(problem):
    values, features = problem
    shared = np.exp(features[:, 2:])
    before = information_of(values, features[:, 0])
    after = information_of(values + shared, features[:, 0])
    assert after.value == pytest.approx(before.value, rel=1e-6, abs=1e-9)


@settings(max_examples=25, deadline=None)
@given(problems(), st.integers(1, 50))
def test_a_sample_is_worth_at_most_its_parameter(problem, observations):
    values, features = problem
    noise = np.random.default_rng(observations).standard_normal(1000)
    parameter = information_of(values, features[:, 1])
    sample = information_of(values, features[:, 1] + noise / sqrt(observations))
    assert sample.value <= parameter.value + SIGMAS * np.hypot(sample.error, parameter.error) + 1e-9
