import numpy as np
import pytest
from scipy import integrate, stats

from studies.scoring import (
    LEVELS,
    central_intervals,
    interval_score,
    median_over_groups,
    over_groups,
)


def expected_score(lower: float, upper: float, level: float) -> float:
    """Expected interval score under a standard normal, by integration."""

    def weighed(y: float) -> float:
        return float(interval_score(lower, upper, y, level)) * stats.norm.pdf(y)

    pieces = [(-12.0, lower), (lower, upper), (upper, 12.0)]
    return sum(integrate.quad(weighed, a, b)[0] for a, b in pieces)


def test_interval_score_by_hand():
    # Gneiting and Raftery 2007, equation 43: width 2, 10% level: penalty 2/0.1 a unit outside.
    assert interval_score(-1.0, 1.0, 0.3, 0.9) == pytest.approx(2.0)
    assert interval_score(-1.0, 1.0, 1.5, 0.9) == pytest.approx(2.0 + 20 * 0.5)
    assert interval_score(-1.0, 1.0, -1.2, 0.9) == pytest.approx(2.0 + 20 * 0.2)


@pytest.mark.parametrize("level", LEVELS)
def test_interval_score_is_proper(level):
    """True quantiles score best; its value there is (2/α)·2·φ(z) for a standard normal."""
    z = stats.norm.ppf(0.5 + level / 2)
    best = expected_score(-z, z, level)
    assert best == pytest.approx(4 / (1 - level) * stats.norm.pdf(z), rel=1e-6)
    for factor, shift in ((0.8, 0.0), (1.25, 0.0), (1.0, 0.2)):
        assert expected_score(-factor * z + shift, factor * z + shift, level) > best * 1.001


def test_central_intervals_hold_what_they_state():
    rng = np.random.default_rng(1)
    intervals = central_intervals(rng.standard_normal((20_000, 1)))
    truth = rng.standard_normal(20_000)
    for level, (low, high) in zip(LEVELS, intervals, strict=True):
        inside = ((low <= truth) & (truth <= high)).mean()
        error = np.sqrt(2 * level * (1 - level) / 20_000)
        assert abs(inside - level) < 4 * error
        # Negative control: intervals of half the width hold far less.
        assert ((low / 2 <= truth) & (truth <= high / 2)).mean() < level - 0.1


def test_group_bootstrap_finds_the_error_of_group_effects():
    """Equal groups of one effect each: sd/√G, where rows as if independent give a fifth of it."""
    rng = np.random.default_rng(2)
    effects = rng.normal(0.0, 1.0, 40)
    values, groups = np.repeat(effects, 25), np.repeat([f"g{i}" for i in range(40)], 25)
    found = over_groups(values, list(groups))
    # 20,000 resamples: 0.5% of the error; 2% allows four times that.
    assert found.error == pytest.approx(effects.std(ddof=1) / np.sqrt(40), rel=0.02)
    assert found.value == pytest.approx(effects.mean())


def test_group_bootstrap_corrects_for_few_groups():
    values, groups = [0.0, 2.0], ["a", "b"]
    # The sample sd of two values is √2, over √2 groups: 1.
    assert over_groups(values, groups).error == pytest.approx(1.0, rel=0.03)


def test_one_group_has_no_error():
    assert over_groups([1.0, 2.0], ["a", "a"]).error == np.inf
    assert median_over_groups([1.0, 2.0], ["a", "a"]).error == np.inf


def test_median_over_groups_is_the_median_of_rows():
    assert median_over_groups([1.0, 2.0, 9.0], ["a", "a", "b"]).value == 2.0
