"""Simulation-based calibration of the likelihoods, with a misspecified control."""

import pytest

from priors.likelihoods import KINDS
from priors.sampling import compile_posterior
from tests.priors.calibration import calibrate, smallest_pvalue
from tests.priors.examples import assemble, cut, evidence_of, small_catalogue

FALSE_ALARM = 1e-3
"""Chance that a right sampler fails at a new seed; the seeds here are fixed."""

KERNEL = "kernel.kernel_efficiency"


def compiled(catalogue, *ids):
    population, likelihoods = assemble(catalogue, evidence_of(*ids))
    model = compile_posterior(population, likelihoods, exchangeable=True)
    return model, population, likelihoods


def faster_kernels(population):
    """Data of kernels 5% faster than the parameters say."""

    def distort(values):
        values[:, population.places([KERNEL])] *= 1.05
        return values

    return distort


@pytest.fixture(scope="module")
def small():
    return compiled(
        cut(small_catalogue(), KERNEL, "reliability.failure_rate_per_node_day"),
        "speed",
        "own_failures",
    )


def test_small_posterior_is_calibrated(small):
    ranks = calibrate(*small, repetitions=200, seed=1)

    assert smallest_pvalue(ranks) > FALSE_ALARM


def test_misspecified_small_posterior_is_found_out(small):
    ranks = calibrate(*small, repetitions=100, seed=1, distort=faster_kernels(small[1]))

    assert smallest_pvalue(ranks) < FALSE_ALARM


@pytest.fixture(scope="module")
def whole():
    """Every kind of observation in one compiled posterior."""
    return compiled(small_catalogue())


@pytest.mark.slow
def test_every_likelihood_is_calibrated(whole):
    model, population, likelihoods = whole
    assert [type(likelihood) for likelihood in likelihoods] == list(KINDS)

    ranks = calibrate(model, population, likelihoods, repetitions=120, seed=1)

    assert smallest_pvalue(ranks) > FALSE_ALARM


@pytest.mark.slow
def test_misspecified_posterior_of_every_likelihood_is_found_out(whole):
    model, population, likelihoods = whole

    def distort(values):
        values[:, population.places(["reliability.failure_rate_per_node_day"])] *= 2.0
        return values

    ranks = calibrate(model, population, likelihoods, repetitions=60, seed=1, distort=distort)

    assert smallest_pvalue(ranks) < FALSE_ALARM
