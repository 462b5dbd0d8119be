"""Posterior predictive checks: what they find, and what they leave alone."""

import numpy as np
import pytest
import xarray as xr

from priors.evidence import read_evidence
from priors.predictive_check import EDGE, check_predictions, quantity_of, unit_of, verdict_of
from tests.priors.examples import evidence_of

ITEMS = {item.id: item for item in evidence_of().observations}


def said(check, name="steps", *, own=True):
    return verdict_of(check, ITEMS[name], own=own)


def tree(observed, predicted, *, name="step_time_mean", ids=("own",)):
    """One variable with standard normal or given predictions."""
    dim = f"{name}_observation"
    draws = np.asarray(predicted, dtype=float).reshape(2, -1, len(ids))
    return xr.DataTree.from_dict(
        {
            "/posterior_predictive": xr.Dataset({name: (("chain", "draw", dim), draws)}),
            "/observed_data": xr.Dataset({name: ((dim,), observed)}, coords={dim: list(ids)}),
        }
    )


@pytest.fixture
def normal():
    return np.random.default_rng(1).normal(10.0, 1.0, 20_000)


def test_tail_is_that_of_the_predictions(normal):
    [check] = check_predictions(tree([12.0], normal))
    # P(|z| ≥ 2) = 0.0455; four standard errors of a share of 20,000 are 0.0042 two-sided.
    assert check.tail == pytest.approx(0.0455, abs=0.0085)
    assert check.median == pytest.approx(10.0, abs=0.04)
    assert check.status == "edge"
    # 12 over 10 is a fifth more.
    assert said(check) == (
        "your mean step time is 20% above what this model expects, at the edge of what it can "
        "explain"
    )


@pytest.mark.parametrize(
    ("observed", "words"),
    [
        (10.3, "your mean step time is as this model expects"),
        (
            15.0,
            "your mean step time is 50% above what this model expects: more than it can explain",
        ),
        (5.0, "your mean step time is 50% below what this model expects: less than it can explain"),
        (
            31.0,
            "your mean step time is 3.1 times what this model expects: more than it can explain",
        ),
    ],
)
def test_verdict_says_how_far_and_on_which_side(normal, observed, words):
    [check] = check_predictions(tree([observed], normal))
    assert said(check) == words


def test_verdict_names_what_was_measured_and_by_whom(normal):
    [check] = check_predictions(tree([31.0], normal, name="durations"))
    assert said(check, "own_detection").startswith("your mean detection time is 3.1 times")
    assert said(check, "their_writes", own=False).startswith(
        "the published mean checkpoint write time is"
    )
    [count] = check_predictions(tree([31.0], normal, name="interruptions"))
    assert quantity_of(count, ITEMS["their_failures"]) == "number of node hardware failures"
    units = {unit_of(check, ITEMS["own_detection"]), unit_of(count, ITEMS["their_failures"])}
    assert units == {"s", "events"}


def test_spread_is_compared_as_a_standard_deviation(normal):
    [check] = check_predictions(tree([900.0], normal**2, name="step_time_variance"))
    assert check.observed == 30.0
    assert said(check) == (
        "your step times vary 3 times as much as this model expects: more than it can explain"
    )


def test_values_of_one_observation_are_one_check():
    rng = np.random.default_rng(2)
    draws = np.exp(rng.normal(0.0, 1.0, (4000, 4)))
    # Each value is ordinary; that all four are is not: the mean log of four has an sd of 1/2.
    [check] = check_predictions(tree([4.0] * 4, draws, name="durations", ids=("a",) * 4))
    assert check.observed == pytest.approx(4.0)
    assert check.tail < 0.02


def test_counts_hold_the_observed_value_in_both_tails():
    draws = np.repeat([0.0, 0.0, 0.0, 1.0], 1000)
    [check] = check_predictions(tree([0], draws, name="interruptions"))
    assert check.tail == 1.0


def test_bound_that_the_model_breaks_is_told():
    draws = np.where(np.arange(4000) < 8, 1.0, -1.0)
    [check] = check_predictions(tree([1.0], draws, name="ettr_bounds"))
    assert "0.2% of draws" in said(check, "lower_bound")


def test_data_of_the_model_itself_are_rarely_flagged():
    rng = np.random.default_rng(3)
    count = 400
    data, draws = rng.normal(5, 1, count), rng.normal(5, 1, (4000, count))
    ids = [f"o{n}" for n in range(count)]
    tails = np.array([check.tail for check in check_predictions(tree(data, draws, ids=ids))])
    # 10% expected; four standard errors of a share of 400 are 6%.
    assert np.mean(tails < 0.1) == pytest.approx(0.1, abs=0.06)


def test_published_evidence_is_checked_observation_by_observation(default_posterior):
    evidence = read_evidence(["published"])
    checks = default_posterior.checks
    assert checks == check_predictions(default_posterior.tree())
    assert {check.id for check in checks} == {item.id for item in evidence.observations}
    # What the posterior was drawn from, it explains for the most part.
    assert np.mean([check.tail >= EDGE for check in checks]) > 0.8
