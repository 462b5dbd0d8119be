"""Chains: how many draws are kept, and which samples are refused."""

import numpy as np
import pytest

from priors import sampling
from priors.diagnostics import Thresholds, diagnose


@pytest.mark.parametrize("draws", [1, 2, 3, 5, 399, 5000, 10_001])
def test_kept_draws_are_as_many_as_asked_and_thinned(draws):
    length = sampling.chain_draws_for(draws)
    positions = sampling.kept_positions(draws, length)
    chains = np.arange(4 * length).reshape(4, length, 1).astype(float)
    kept, chain = sampling.keep(chains[:, positions], draws)

    assert kept.shape == (draws, 1)
    assert chain.shape == (draws,)
    np.testing.assert_array_equal(kept[:, 0] // length, chain)
    assert np.all(np.diff(positions) >= sampling.THIN)
    assert positions[-1] < length
    assert len(np.unique(kept)) == draws


def test_default_chains_are_twice_the_kept_draws():
    assert sampling.chain_draws_for(5000) == 2500


def test_good_chains_pass_the_thresholds():
    good = np.random.default_rng(1).standard_normal((4, 1000, 2))
    found = diagnose(good, ["a", "b"], divergences=0, thresholds=Thresholds())

    assert found.converged
    assert found.rhat_max == pytest.approx(1.0, abs=0.005)
    assert found.ess_bulk_min == pytest.approx(4000, rel=0.15)


def test_each_threshold_is_enforced():
    rng = np.random.default_rng(1)
    good = rng.standard_normal((4, 1000))
    apart = good + np.array([0, 0, 0, 0.5])[:, None]
    sticky = np.repeat(rng.standard_normal((4, 50)), 20, axis=1)
    stuck = np.where(np.arange(4)[:, None] == 2, 0.1, good * 1e-3)
    found = diagnose(
        np.stack([good, apart, sticky, stuck], axis=-1),
        ["good", "apart", "sticky", "stuck"],
        divergences=3,
        thresholds=Thresholds(),
    )

    assert not found.converged
    reasons = " ".join(found.reasons)
    for fragment in ("3 divergent", "apart: R-hat", "sticky: bulk ESS", "stuck: R-hat"):
        assert fragment in reasons
    assert "good" not in reasons


def test_known_values_need_no_diagnostics():
    good = np.random.default_rng(1).standard_normal((4, 1000, 2))
    good[:, :, 1] = 0.55
    found = diagnose(good, ["a", "known"], divergences=0, thresholds=Thresholds())

    assert [row.name for row in found.rows] == ["a"]
