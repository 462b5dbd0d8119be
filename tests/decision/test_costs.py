"""Files of costs: hand-computed amounts, and a clear answer to each bad one."""

from pathlib import Path

import numpy as np
import pytest

from decision.costs import Costs, read_costs
from model.errors import InputError
from model.interventions import bundle
from tests.reference import INTERVENTIONS, PUBLISHED


def read(tmp_path: Path, text: str) -> Costs:
    path = tmp_path / "costs.yaml"
    path.write_text(text)
    return read_costs(path, PUBLISHED.interventions)


def test_numbers_are_accelerators(tmp_path: Path) -> None:
    costs = read(
        tmp_path, "interventions: {bandwidth_2x: 120, fast_restart: 0, flat_fabric: 4e2}\n"
    )
    expected = {"bandwidth_2x": 120.0, "fast_restart": 0.0, "flat_fabric": 400.0}
    for name, amount in expected.items():
        assert costs.expected(INTERVENTIONS[name]) == amount
        assert costs.of(INTERVENTIONS[name], {}, 3).tolist() == [amount] * 3
    assert costs.horizon_days == 1095.0
    assert costs.draw(10, 1) == {}


def test_currency_is_divided_by_the_users_own_price(tmp_path: Path) -> None:
    """4.1 million at 41,000 an accelerator over its life of 1,095 days is 100 accelerators."""
    text = """
currency: EUR
price_per_accelerator: 41000
interventions: {bandwidth_2x: 4.1e6}
"""
    assert read(tmp_path, text).expected(INTERVENTIONS["bandwidth_2x"]) == pytest.approx(100.0)
    # A year of an accelerator costs a third of it, so the same money is three times as many.
    year = "decision_horizon_days: 365\n" + text
    costs = read(tmp_path, year)
    assert costs.expected(INTERVENTIONS["bandwidth_2x"]) == pytest.approx(300.0)
    longer = "accelerator_life_days: 1460\n" + text
    assert read(tmp_path, longer).expected(INTERVENTIONS["bandwidth_2x"]) == pytest.approx(
        100.0 * 1460 / 1095
    )


def test_what_outlasts_the_horizon_is_charged_in_proportion(tmp_path: Path) -> None:
    text = "interventions: {fast_checkpoint: {cost: 200, life_days: 1825}}\n"
    costs = read(tmp_path, text)
    assert costs.expected(INTERVENTIONS["fast_checkpoint"]) == pytest.approx(200 * 1095 / 1825)


def test_shared_cost_is_paid_once(tmp_path: Path) -> None:
    text = """
interventions: {fast_detection: 60, fast_restart: 90, bandwidth_2x: 120}
shared:
  telemetry: {cost: 50, needed_by: [fast_detection, fast_restart]}
"""
    costs = read(tmp_path, text)
    detection, restart, network = (
        INTERVENTIONS[name] for name in ("fast_detection", "fast_restart", "bandwidth_2x")
    )
    assert costs.expected(detection) == 110.0
    assert costs.expected(restart) == 140.0
    assert costs.expected(network) == 120.0
    both = bundle("both", [detection, restart], source="test")
    assert costs.expected(both) == 200.0
    assert costs.expected(bundle("all", [detection, restart, network], source="test")) == 320.0
    # A part that a bundle names twice is bought once.
    assert costs.expected(bundle("twice", [restart, restart, detection], source="test")) == 200.0


def test_bundle_may_have_a_price_of_its_own(tmp_path: Path) -> None:
    parts = [INTERVENTIONS["fast_detection"], INTERVENTIONS["fast_restart"]]
    both = bundle("both", parts, source="test")
    path = tmp_path / "costs.yaml"
    path.write_text(
        "interventions: {both: 70}\nshared: {t: {cost: 50, needed_by: [fast_restart]}}\n"
    )
    assert read_costs(path, [*PUBLISHED.interventions, both]).expected(both) == 120.0


def test_uncertain_costs_have_their_own_expectation_and_draws(tmp_path: Path) -> None:
    text = """
decision_horizon_days: 365
currency: EUR
price_per_accelerator: 3000
interventions:
  bandwidth_2x: {triangular: {low: 100000, mode: 200000, high: 600000}}
  flat_fabric: {lognormal: {median: 100000, sigma: 0.5}}
  fast_restart: {cost: {uniform: {low: 0, high: 60000}}, life_days: 730}
"""
    costs = read(tmp_path, text)
    # A year of an accelerator costs 1,000.
    means = {
        "bandwidth_2x": (100 + 200 + 600) / 3,
        "flat_fabric": 100 * np.exp(0.5**2 / 2),
        "fast_restart": 15.0,
    }
    columns = costs.draw(20_000, 7)
    assert set(columns) == {f"cost.{name}" for name in means}
    for name, mean in means.items():
        # The midpoint rule over 20,000 levels cuts a lognormal tail by about 1e-5 of its mean.
        assert costs.expected(INTERVENTIONS[name]) == pytest.approx(mean, rel=5e-5)
        drawn = costs.of(INTERVENTIONS[name], columns, 20_000)
        assert np.array_equal(drawn, columns[f"cost.{name}"])
        assert abs(drawn.mean() - mean) < 4 * drawn.std() / np.sqrt(20_000)
    again = costs.draw(100, 7)
    assert np.array_equal(again["cost.flat_fabric"], columns["cost.flat_fabric"][:100])


def test_without_draws_a_cost_is_its_median(tmp_path: Path) -> None:
    costs = read(tmp_path, "interventions: {flat_fabric: {uniform: {low: 100, high: 300}}}\n")
    assert costs.of(INTERVENTIONS["flat_fabric"], {}, 1).tolist() == [200.0]


def test_missing_cost_is_named(tmp_path: Path) -> None:
    costs = read(tmp_path, "interventions: {fast_restart: 90}\n")
    both = bundle("b", [INTERVENTIONS["fast_restart"], INTERVENTIONS["flat_fabric"]], source="test")
    for option in (INTERVENTIONS["flat_fabric"], both):
        with pytest.raises(InputError, match=r"interventions\.flat_fabric: this cost is missing"):
            costs.expected(option)


ONE = "interventions: {bandwidth_2x: %s}\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (ONE % "-1", "a saving is not"),
        (ONE % ".nan", "got nan, allowed is a finite number of at least 0"),
        (ONE % ".inf", "got inf, allowed is a finite number of at least 0"),
        (ONE % "cheap", "got 'cheap', allowed is a finite number of at least 0"),
        (ONE % "true", "got True, allowed is a finite number of at least 0"),
        (ONE % "null", "interventions.bandwidth_2x: this cost is missing"),
        (ONE % "{life_days: 3}", "interventions.bandwidth_2x: this cost is missing"),
        (ONE % "{cost: 3, life_days: 0}", "life_days: got 0, allowed is a finite number above 0"),
        (ONE % "{cost: 3, years: 2}", "valid names: cost, life_days"),
        (ONE % "{normal: {mean: 10, sd: 10}}", "reaches [-inf, inf]"),
        (ONE % "{uniform: {low: 5, high: 3}}", "low <= high"),
        ("interventions: {bandwith_2x: 3}\n", "did you mean 'bandwidth_2x'"),
        ("interventions: []\n", "a mapping of names to costs is needed"),
        ("interventions: {}\n", "no cost is stated"),
        ("shared: {}\n", "no cost is stated"),
        ("intervention: {bandwidth_2x: 3}\n", "did you mean 'interventions'"),
        (ONE % "3" + "decision_horizon_days: 0\n", "decision_horizon_days: got 0"),
        (ONE % "3" + "decision_horizon_days: .nan\n", "decision_horizon_days: got nan"),
        (ONE % "3" + "accelerator_life_days: -3\n", "accelerator_life_days: got -3"),
        (ONE % "3" + "currency: EUR\n", "no price ships with the program"),
        (ONE % "3" + "price_per_accelerator: 3\n", "a text is needed beside a price"),
        (ONE % "3" + "currency: EUR\nprice_per_accelerator: 0\n", "above 0"),
        (ONE % "3" + "shared: {t: 5}\n", "a mapping with cost and needed_by is needed"),
        (ONE % "3" + "shared: {t: {cost: 5}}\n", "a list of the interventions is needed"),
        (ONE % "3" + "shared: {t: {cost: 5, needed_by: []}}\n", "a list of the interventions"),
        (
            ONE % "3" + "shared: {t: {cost: 5, needed_by: [bandwith_2x]}}\n",
            "there is no intervention 'bandwith_2x'",
        ),
        (ONE % "3" + "shared: {t: {cost: -5, needed_by: [bandwidth_2x]}}\n", "shared.t: got -5"),
    ],
)
def test_bad_file_is_named(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert words in str(caught.value)
    assert "costs.yaml" in str(caught.value)


def test_all_problems_are_reported_together(tmp_path: Path) -> None:
    text = "interventions: {bandwidth_2x: -1, flat_fabric: x}\ndecision_horizon_days: 0\n"
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert len(caught.value.problems) == 3
