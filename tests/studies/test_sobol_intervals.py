"""Whether intervals hold the truth as often as they say, over many cheap repetitions."""

import numpy as np
import pytest
from scipy import stats
from scipy.stats import qmc

from studies.drivers.bootstrap import moments, resample_counts
from studies.drivers.sobol import over_scrambles
from tests.studies import driver_cases as cases

REPETITIONS = 2000
BETA = np.array([1.0, 2.0, 3.0])
FIRST = {"sum": BETA**2 / 14.0, "sign": np.array([0.04551, 0.18446, 0.44450])}
TOTAL = {"sum": BETA**2 / 14.0, "sign": np.array([0.24208, 0.49350, 0.76750])}
TRUTH = np.array([[*FIRST[name], *TOTAL[name]] for name in ("sum", "sign")])


def design_values(uniform):
    """Outputs of Saltelli's design without second order: βᵀx and its sign; (N, 5, 2)."""
    x = stats.norm.ppf(np.clip(uniform, 1e-12, 1 - 1e-12))
    a, b = x[:, :3], x[:, 3:]
    held = np.vstack([np.zeros((1, 3)), np.eye(3), np.ones((1, 3))])[np.newaxis] > 0
    delta = np.where(held, b[:, np.newaxis], a[:, np.newaxis]) @ BETA
    return np.stack([delta, (delta > 0) * 1.0], axis=-1)


def indices_of(found):
    parts = np.concatenate([found.first, found.total], axis=-1)
    return parts / found.variance[..., np.newaxis]


def bootstrap_coverage(draw, points, resamples=150):
    """Share of repetitions in which index ± 1.96 bootstrap errors holds the truth; (2, 6)."""
    held = np.zeros((2, 6))
    counts = resample_counts(points, resamples, seed=1)
    for repetition in range(REPETITIONS):
        values = design_values(draw(repetition, points))
        point = indices_of(moments(values, np.arange(2), 3, second_order=False))[0]
        again = indices_of(moments(values, np.arange(2), 3, second_order=False, counts=counts)).std(
            axis=0, ddof=1
        )
        held += np.abs(point - TRUTH) <= 1.959963984540054 * again
    return held / REPETITIONS


def plain(repetition, points):
    return np.random.default_rng([7, repetition]).random((points, 6))


def scrambled(repetition, points):
    return qmc.Sobol(6, rng=np.random.default_rng([8, repetition])).random(points)


def bound(targets, repetitions=REPETITIONS, level=0.95):
    """Half width of a simultaneous 95% region for the coverage of so many targets."""
    z = stats.norm.isf(0.05 / 2 / targets)
    return z * np.sqrt(level * (1 - level) / repetitions)


@pytest.mark.slow
def test_sobol_bootstrap_intervals_cover_as_they_say_under_plain_sampling():
    coverage = bootstrap_coverage(plain, points=1024)
    assert np.all(np.abs(coverage - 0.95) <= bound(coverage.size)), coverage


@pytest.mark.slow
def test_sobol_bootstrap_intervals_are_too_wide_under_scrambling():
    coverage = bootstrap_coverage(scrambled, points=256)
    assert np.all(coverage >= 0.95 + bound(coverage.size)), coverage


@pytest.mark.slow
@pytest.mark.parametrize("draw", [plain, scrambled])
def test_sobol_intervals_over_scrambles_cover_as_they_say(draw):
    scrambles, points = 8, 128
    width = stats.t.ppf(0.975, scrambles - 1)
    held = np.zeros((2, 6))
    for repetition in range(REPETITIONS):
        found = [
            moments(
                design_values(draw(scrambles * repetition + s, points)),
                np.arange(2),
                3,
                second_order=False,
            )
            for s in range(scrambles)
        ]
        estimates = over_scrambles(found)
        index, error = (
            np.concatenate([estimates[name][part] for name in ("first", "total")], axis=-1)
            for part in (0, 1)
        )
        held += np.abs(index - TRUTH) <= width * error
    coverage = held / REPETITIONS
    assert np.all(np.abs(coverage - 0.95) <= bound(coverage.size)), coverage


def test_bound_tells_a_wrong_coverage_apart():
    # The negative control: intervals 15% too narrow cover 90%, far outside the region.
    narrow = 2 * stats.norm.cdf(0.85 * 1.96) - 1
    assert 0.95 - narrow > bound(12)
    assert cases.sign_explained(1.0) == pytest.approx(1.0)
