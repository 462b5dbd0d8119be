"""Draws weighted for the posterior without an observation, against ones that never saw it."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import special, stats

from priors.conditioning import condition
from priors.importance import MOST_K, effective, smoothed
from priors.left_out import _Latent, leave_out_each
from priors.likelihood import by_observation
from priors.population import draw_values
from tests.priors.examples import SCENARIO, assemble, evidence_of, small_catalogue

LINK = "topology.net_efficiency"


def latent_of(evidence, count=400, seed=3):
    """Prior draws of values, deviations and scores."""
    population, likelihoods = assemble(small_catalogue(), evidence)
    rng = np.random.default_rng(seed)
    latent = _Latent(population, likelihoods)
    scores = rng.standard_normal((count, len(population.priors) + population.deviations))
    return population, likelihoods, latent, scores


def test_scores_give_their_values_back():
    population, _, latent, scores = latent_of(evidence_of())
    values = latent.values(scores)
    deviations = scores[:, len(population.priors) :]
    # A distribution function near 1 keeps few digits: a score of 4 is good to 1e-12.
    np.testing.assert_allclose(latent.scores(values, deviations), scores, atol=1e-8)
    prior = draw_values(population, 400, seed=3)
    assert prior.shape == values.shape


def test_deviation_is_integrated_as_on_a_fine_grid():
    evidence = evidence_of("own_failures", "their_failures", "their_writes")
    _, _, latent, prior = latent_of(evidence, count=40_000)
    # Draws of the posterior, by plain resampling of the prior's.
    total = np.sum(list(latent.densities(prior).values()), axis=0)
    weights = np.exp(total - total.max())
    rng = np.random.default_rng(8)
    scores = prior[rng.choice(len(prior), 400, p=weights / weights.sum())]
    items = {item.id: item for item in evidence.observations}
    for name in ("their_failures", "their_writes"):
        place = latent.private(items[name], items.values())
        found = latent.integrated(evidence, items[name], scores, place)
        grid = np.linspace(-9.0, 9.0, 6001)
        for row in range(0, 400, 80):
            many = np.repeat(scores[row : row + 1], grid.size, axis=0)
            many[:, place] = grid
            log_density = latent.densities(many)[name] + stats.norm.logpdf(grid)
            whole = special.logsumexp(log_density) + np.log(grid[1] - grid[0])
            # A weight to a thousandth: the integrand is nearly, not wholly, Gaussian.
            assert found[row] == pytest.approx(whole, abs=1e-3)


def test_only_a_deviation_of_one_observation_is_private():
    evidence = evidence_of("own_failures", "their_failures", "their_rate", "their_writes")
    population, _, latent, _ = latent_of(evidence)
    items = {item.id: item for item in evidence.observations}
    private = {name: latent.private(item, items.values()) for name, item in items.items()}
    assert private["own_failures"] is None  # of the target itself
    assert private["their_failures"] is private["their_rate"] is None  # shared by the two
    place = population.names.index("reliability.checkpoint_write_s@theirs")
    assert private["their_writes"] == latent.first_pair + place - len(population.priors)


def test_weights_of_a_conjugate_posterior_are_its_closed_form():
    rng = np.random.default_rng(1)
    theta = rng.normal(0.3, 0.5, 20_000)
    density = stats.norm.logpdf(0.4, theta, 1.2)
    weights, shape = smoothed(-density)
    precision = 0.5**-2 - 1.2**-2
    mean = (0.3 / 0.5**2 - 0.4 / 1.2**2) / precision
    assert shape < MOST_K
    error = precision**-0.5 / np.sqrt(effective(weights))
    assert weights @ theta == pytest.approx(mean, abs=4 * error)
    # Control: weighting by the likelihood itself goes the other way.
    wrong, _ = smoothed(density)
    assert abs(wrong @ theta - mean) > 4 * error


def test_equal_weights_have_no_tail():
    weights, shape = smoothed(np.full(100, 3.0))
    assert shape == -np.inf
    assert effective(weights) == pytest.approx(100.0)


OBSERVED = ("own_failures", "their_failures", "own_restarts", "their_writes", "links")


@pytest.fixture(scope="module")
def evidence():
    """Five observations, one of them so exact that it alone says where its parameter is."""
    found = evidence_of(*OBSERVED)
    items = [
        replace(item, mean=0.86, sd=0.01, repeats=9, error_floor=0.004)
        if item.id == "links"
        else item
        for item in found.observations
    ]
    return replace(found, observations=tuple(items))


@pytest.mark.slow
def test_every_observation_left_out_agrees_with_a_posterior_sampled_without_it(evidence):
    ask = partial(condition, small_catalogue(), scenario=SCENARIO, draws=4000, cache=False)
    whole = ask(evidence=evidence, seed=1)
    found = {one.id: one for one in whole.left_out}
    assert set(found) == set(OBSERVED)
    assert found["links"].moved  # plain weights could not leave it out
    far = 0.0
    for seed, name in enumerate(("their_failures", "links"), start=7):
        one = found[name]
        assert one.pareto_k <= MOST_K
        anew = ask(evidence=evidence.without(name), seed=seed).draws.columns
        columns = {path: column[one.rows] for path, column in whole.draws.columns.items()}
        columns |= one.moved
        for path, sample in anew.items():
            # On ranks of the sample without it, so that every path has one scale.
            ranks = np.searchsorted(np.sort(sample), columns[path]) / sample.size
            mean = one.weights @ ranks
            spread = np.sqrt(one.weights @ (ranks - mean) ** 2)
            # 1/√12 each; chains are worth at least a quarter of their draws.
            error = np.sqrt(1 / 12) * np.sqrt(1 / one.effective + 4 / sample.size)
            assert mean == pytest.approx(0.5, abs=4 * error), (name, path)
            assert spread == pytest.approx(np.sqrt(1 / 12), rel=0.2), (name, path)
            before = np.searchsorted(np.sort(sample), whole.draws.columns[path]) / sample.size
            far = max(far, abs(before.mean() - 0.5) / error)
    # Control: with the observations the posterior is another one, by far more than the error.
    assert far > 8


@pytest.mark.slow
def test_most_shipped_evidence_is_left_out_without_sampling_anew():
    from model.scenario_file import read_scenario
    from priors.catalogue import read_catalogue
    from priors.evidence import read_evidence

    found = condition(
        read_catalogue(),
        read_evidence(["published"]),
        read_scenario("reference_405b_16k").scenario,
        draws=4000,
        seed=2,
        cache=False,
    ).left_out
    assert len(found) == len(read_evidence(["published"]).observations)
    # Most of them by weights alone; the rest is told to be uncertain.
    assert sum(one.trusted for one in found) > len(found) / 2


def test_observation_without_effect_is_not_left_out():
    evidence = evidence_of("links", "own_failures")
    population, likelihoods, latent, scores = latent_of(evidence)
    values = latent.values(scores)
    assert set(by_observation(likelihoods, values)) == {"links", "own_failures"}
    found = leave_out_each(
        evidence,
        population,
        likelihoods,
        values=values,
        deviations=scores[:, len(population.priors) :],
        seed=1,
    )
    assert [one.id for one in found] == ["own_failures", "links"]
    for one in found:
        assert one.weights.sum() == pytest.approx(1.0)
