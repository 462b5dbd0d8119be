import numpy as np
import pytest

from studies.drivers.copula import fit_copula
from studies.drivers.switching import LEARNT, SET, switching_values
from tests.studies import driver_cases as cases

DRAWS = 2000


def switches(evaluate, x, parameters=("x0",), **options):
    columns = cases.columns_of(x)
    outcomes = evaluate(columns)
    return switching_values(
        evaluate,
        fit_copula(columns),
        parameters,
        options=outcomes.options,
        **{"seed": 1, **options},
    )


def uniform(columns=2, seed=1):
    return np.random.default_rng(seed).random((DRAWS, columns))


def test_switching_value_is_where_expected_gains_are_equal():
    # 2v + E[x1] = 1.5 exactly at v = (1.5 − mean x1)/2; error sd(x1)/√n/2.
    x = uniform()
    evaluate = cases.model_of(lambda x: 2 * x[:, 0] + x[:, 1], lambda x: np.full(len(x), 1.5))
    [found] = switches(evaluate, x)
    [flip] = found.flips
    assert flip.value == pytest.approx((1.5 - x[:, 1].mean()) / 2, abs=1e-5)
    assert (flip.below, flip.above) == ("option_2", "option_1")
    error = x[:, 1].std() / np.sqrt(DRAWS) / 2
    # Ends of a bootstrap interval of 400 resamples wander by some 10%.
    assert flip.high - flip.value == pytest.approx(1.96 * error, rel=0.25)
    assert flip.value - flip.low == pytest.approx(1.96 * error, rel=0.25)
    assert flip.found == 1.0
    shares = dict(found.holding)
    assert shares["option_2"] == pytest.approx((x[:, 0] < flip.value).mean(), abs=1e-3)
    assert sum(shares.values()) == pytest.approx(1.0)


def test_switching_intervals_cover_the_flip_of_the_distribution():
    evaluate = cases.model_of(lambda x: 2 * x[:, 0] + x[:, 1], lambda x: np.full(len(x), 1.5))
    held = 0
    for seed in range(100):
        x = np.random.default_rng(seed).random((200, 2))
        [flip] = switches(evaluate, x)[0].flips
        held += flip.low <= 0.5 <= flip.high
    # 95 expected, sd 2.2.
    assert 87 <= held <= 100


def test_switching_of_curved_gains_is_refined_between_grid_values():
    evaluate = cases.model_of(lambda x: x[:, 0] ** 3, lambda x: np.full(len(x), 0.05))
    [found] = switches(evaluate, uniform(), values=5)
    assert found.flips[0].value == pytest.approx(0.05 ** (1 / 3), abs=1e-4)


def test_switching_names_a_third_option_in_the_middle():
    # Lines 1 − 2v, 0.45 and 2v − 1: the middle one holds between 0.275 and 0.725.
    evaluate = cases.model_of(
        lambda x: 1 - 2 * x[:, 0], lambda x: np.full(len(x), 0.45), lambda x: 2 * x[:, 0] - 1
    )
    for values in (3, 25):
        [found] = switches(evaluate, uniform(), values=values)
        assert [option for option, _ in found.holding] == ["option_1", "option_2", "option_3"]
        np.testing.assert_allclose([f.value for f in found.flips], [0.275, 0.725], atol=1e-4)


def test_switching_never_within_range_is_a_result():
    evaluate = cases.model_of(lambda x: 1 + x[:, 0], lambda x: x[:, 1])
    [found] = switches(evaluate, uniform())
    assert found.flips == ()
    assert found.holding == (("option_1", 1.0),)
    assert found.low == pytest.approx(0.005, abs=0.003)
    assert found.high == pytest.approx(0.995, abs=0.003)


def test_switching_to_doing_nothing_where_the_gain_turns_negative():
    evaluate = cases.model_of(lambda x: x[:, 0] - 0.25)
    [found] = switches(evaluate, uniform())
    [flip] = found.flips
    assert (flip.below, flip.above) == ("do_nothing", "option_1")
    assert flip.value == pytest.approx(0.25, abs=1e-4)
    assert flip.low == pytest.approx(flip.high, abs=1e-9)


def test_setting_and_learning_differ_under_dependence():
    # The gain depends on x1 alone. Setting x0 changes nothing; learning x0 = v moves E[x1] to 0.6v.
    x = cases.exact_gaussian(np.array([[1.0, 0.6], [0.6, 1.0]]), DRAWS, seed=2)
    evaluate = cases.model_of(lambda x: x[:, 1], lambda x: np.full(len(x), 0.3))
    [set_] = switches(evaluate, x, reading=SET)
    [learnt] = switches(evaluate, x, reading=LEARNT)
    assert set_.flips == ()
    assert set_.holding[0][0] == "option_2"
    assert learnt.flips[0].value == pytest.approx(0.5, abs=0.03)
    assert learnt.flips[0].above == "option_1"


def test_switching_intervals_widen_with_what_ties_draws_in_a_chain():
    evaluate = cases.model_of(lambda x: 2 * x[:, 0] + x[:, 1], lambda x: np.full(len(x), 1.5))
    tied = np.repeat(np.random.default_rng(3).random((200, 2)), 10, axis=0)
    widths = []
    for chain in (None, np.zeros(2000, dtype=int)):
        [flip] = switches(evaluate, tied, chain=chain)[0].flips
        widths.append(flip.high - flip.low)
    # Ten equal draws in a row: √10 too narrow when taken as independent.
    assert widths[1] / widths[0] == pytest.approx(np.sqrt(10), rel=0.3)
