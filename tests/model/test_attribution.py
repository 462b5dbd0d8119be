"""Shapley values against their definition and closed cases; additivity with its sign."""

from itertools import permutations

import numpy as np
import pytest

from model.attribution import PUBLISHED_CAP, attribute_gain, attribute_sea, shapley
from model.errors import InputError
from model.interventions import apply, bundle
from model.ledger import account
from tests.reference import INTERVENTIONS, reference, sea

NETWORK = [INTERVENTIONS[name] for name in ("bandwidth_2x", "flat_fabric")]
RECOVERY = [INTERVENTIONS[name] for name in ("fast_detection", "fast_restart", "fast_checkpoint")]


def by_orders(values: np.ndarray) -> np.ndarray:
    """Mean marginal contribution over every order of joining, of one game."""
    members = values.size.bit_length() - 1
    total = np.zeros(members)
    orders = list(permutations(range(members)))
    for order in orders:
        mask = 0
        for member in order:
            total[member] += values[mask | 1 << member] - values[mask]
            mask |= 1 << member
    return total / len(orders)


def test_shapley_is_the_mean_over_orders() -> None:
    values = np.random.default_rng(8).normal(size=(5, 32))
    np.testing.assert_allclose(
        shapley(values), [by_orders(game) for game in values], rtol=1e-12, atol=1e-12
    )


def test_shapley_of_the_glove_game() -> None:
    # Two left gloves and a right one: a pair is worth 1. Shapley (1/6, 1/6, 2/3).
    pairs = np.array([[1.0 if mask & 4 and mask & 3 else 0.0 for mask in range(8)]])
    np.testing.assert_allclose(shapley(pairs), [[1 / 6, 1 / 6, 2 / 3]], rtol=1e-15)


def test_shapley_adds_up_and_gives_a_dummy_its_own_value() -> None:
    rng = np.random.default_rng(9)
    rest = rng.normal(size=(1, 8))
    rest[0, 0] = 0.0
    # Member 3 adds 2.5 to every subset of the others.
    values = np.concatenate([rest, rest + 2.5], axis=1)
    result = shapley(values)
    assert result[0, 3] == pytest.approx(2.5, rel=1e-12)
    assert result.sum() == pytest.approx(values[0, -1], rel=1e-12)


def test_shapley_of_a_value_that_is_not_finite_is_undefined() -> None:
    values = np.array([[0.0, 1.0, 2.0, np.inf], [0.0, 1.0, 2.0, 3.0]])
    result = shapley(values)
    assert np.isnan(result[0]).all()
    np.testing.assert_allclose(result[1], [1.0, 2.0])


def test_shapley_refuses_a_count_of_subsets_that_is_no_power_of_two() -> None:
    with pytest.raises(InputError, match="power of two"):
        shapley(np.zeros((1, 6)))


def test_attribution_of_gain_adds_up_to_the_gain_of_the_bundle() -> None:
    scenario = reference(65_536, reliability__failure_rate_per_node_day=1.5e-2)
    result = attribute_gain(scenario, RECOVERY)
    both = apply(scenario, bundle("all", RECOVERY, source="test"))
    gain = account(both).productive_accelerators - account(scenario).productive_accelerators
    # Beyond the peak nothing of this can be bought, and yet every share is finite.
    assert np.isinf(sea(scenario, "fast_restart"))
    assert result.shapley.sum() == pytest.approx(float(gain), rel=1e-12)
    assert np.isfinite(result.shapley).all()
    assert not result.capped.any()


def test_attribution_of_gain_keeps_losses() -> None:
    result = attribute_gain(reference(), [INTERVENTIONS["add_spares"], *NETWORK])
    assert result.shapley[0, 0] < 0


def test_attribution_of_sea_caps_as_published_only() -> None:
    scenario = reference(65_536)
    published = attribute_sea(scenario, RECOVERY, solver="published")
    exact = attribute_sea(scenario, RECOVERY, solver="exact")
    assert published.capped.all()
    assert published.bundle[0] == PUBLISHED_CAP
    assert np.isposinf(exact.bundle[0])
    assert np.isnan(exact.shapley).all()
    assert np.isnan(exact.additivity_error).all()
    assert not exact.capped.any()


def test_additivity_error_is_positive_for_substitutes_and_negative_for_complements() -> None:
    # Published, typical regime at 16,384: network pair +9.52%, recovery trio −3.85%.
    network = attribute_sea(reference(), NETWORK, solver="published")
    recovery = attribute_sea(reference(), RECOVERY, solver="published")
    assert network.additivity_error[0] == pytest.approx(0.09523934731818806, rel=1e-9)
    assert recovery.additivity_error[0] == pytest.approx(-0.03854542913121621, rel=1e-9)


def test_attribution_does_not_depend_on_the_order_of_members() -> None:
    forth = attribute_gain(reference(), RECOVERY)
    back = attribute_gain(reference(), RECOVERY[::-1])
    np.testing.assert_allclose(forth.shapley[:, ::-1], back.shapley, rtol=1e-12)


def test_attribution_of_rows_is_that_of_each_row() -> None:
    rates = np.array([[2.5e-3], [1.5e-2]])
    rows = attribute_sea(reference(16_384, reliability__failure_rate_per_node_day=rates), RECOVERY)
    for row, rate in enumerate(rates.ravel()):
        one = attribute_sea(
            reference(16_384, reliability__failure_rate_per_node_day=float(rate)), RECOVERY
        )
        np.testing.assert_allclose(rows.shapley[row], one.shapley[0], rtol=1e-9)


@pytest.mark.parametrize("count", [0, 13])
def test_attribution_refuses_too_few_and_too_many_members(count: int) -> None:
    with pytest.raises(InputError, match="1 to 12"):
        attribute_gain(reference(), [INTERVENTIONS["fast_restart"]] * count)
