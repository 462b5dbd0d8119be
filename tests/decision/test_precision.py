"""Monte Carlo errors against closed forms and repeated simulation."""

import numpy as np
import pytest
from scipy import stats

from decision.precision import Layout, mean_error, paired_share_error, quantile, quantile_error


def test_independent_draws_count_in_full() -> None:
    layout = Layout.of(None, 400)
    samples = np.random.default_rng(1).normal(size=(400, 3))
    assert layout.effective(samples).tolist() == [400.0] * 3
    assert mean_error(samples, layout) == pytest.approx(samples.std(axis=0) / 20)


def test_correlated_draws_count_for_less() -> None:
    """AR(1) with coefficient 0.6: ESS/n = (1 − 0.6)/(1 + 0.6) = 0.25, here within 15%.

    The estimate's own relative error at 4 chains of 5,000 is about 5%, so 3 sigma.
    """
    generator = np.random.default_rng(2)
    noise = generator.normal(size=(4, 5000))
    chains = np.empty_like(noise)
    chains[:, 0] = noise[:, 0] / np.sqrt(1 - 0.36)
    for i in range(1, 5000):
        chains[:, i] = 0.6 * chains[:, i - 1] + noise[:, i]
    chain = np.repeat(np.arange(4), 5000)
    effective = float(Layout.of(chain, 20_000).effective(chains.ravel()))
    assert effective == pytest.approx(5000, rel=0.15)
    # Negative control: without the chains the dependence goes unseen.
    assert Layout.of(None, 20_000).effective(chains.ravel()) == 20_000


def test_chains_of_unequal_length_are_cut_to_the_shortest() -> None:
    chain = np.array([0] * 26 + [1] * 25 + [2] * 25 + [3] * 25)
    layout = Layout.of(chain, 101)
    assert layout.chains is not None
    assert layout.chains.shape == (4, 25)
    assert Layout.of(np.arange(8), 8).chains is None


def test_constant_samples_have_no_error() -> None:
    layout = Layout.of(np.repeat(np.arange(4), 50), 200)
    assert mean_error(np.ones((200, 2)), layout).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("probability", [0.1, 0.5, 0.9])
def test_quantile_error_agrees_with_repeated_simulation(probability: float) -> None:
    """Asymptotically √(p(1 − p)/n)/f(q); 400 repetitions fix their sd to 3.5%, so 4 sigma is 14%.

    An exponential, so that the two tails differ.
    """
    generator = np.random.default_rng(5)
    samples = generator.exponential(size=(1000, 400))
    errors = quantile_error(samples, probability, Layout.of(None, 1000))
    q = stats.expon.ppf(probability)
    asymptotic = np.sqrt(probability * (1 - probability) / 1000) / stats.expon.pdf(q)
    assert quantile(samples, probability).std() == pytest.approx(asymptotic, rel=0.14)
    assert np.mean(errors) == pytest.approx(asymptotic, rel=0.1)


def test_quantiles_with_unattainable_draws() -> None:
    samples = np.concatenate([np.arange(80.0), np.full(20, np.inf)])
    layout = Layout.of(None, 100)
    assert quantile(samples, 0.5) == 49
    assert quantile(samples, 0.9) == np.inf
    assert np.isfinite(quantile_error(samples, 0.5, layout))
    assert np.isposinf(quantile_error(samples, 0.8, layout))
    assert np.isnan(quantile_error(samples, 0.9, layout))


def test_paired_share_error_is_that_of_a_multinomial() -> None:
    """Var(p1 − p2) = (p1 + p2 − (p1 − p2)²)/n, by 20,000 multinomial experiments (sd to 0.5%)."""
    counts = np.random.default_rng(9).multinomial(500, [0.45, 0.30, 0.25], size=20_000) / 500
    simulated = np.std(counts[:, 0] - counts[:, 1])
    assert paired_share_error(0.45, 0.30, 500) == pytest.approx(simulated, rel=0.02)
