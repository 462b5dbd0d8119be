"""Systems and their population."""

import numpy as np
import pytest

from priors.catalogue import read_catalogue
from priors.draws import prior_draws
from priors.evidence import read_evidence
from priors.population import declare, draw_values, inverse, transform
from tests.priors.examples import assemble, evidence_of, small_catalogue

RATE = "reliability.failure_rate_per_node_day"
KERNEL = "kernel.kernel_efficiency"


@pytest.fixture(scope="module")
def population():
    return assemble(small_catalogue(), evidence_of())[0]


def test_only_systems_that_evidence_touches_get_values(population):
    others = [name for name in population.names if "@theirs" in name]

    assert f"{KERNEL}@theirs" in others
    assert f"{RATE}@theirs" in others
    # Restarts are measured on the target, but the other fleet's ETTR depends on its own too.
    assert "reliability.restart_time_s@theirs" in others
    # Links were measured on mine only, but their throughput depends on their links.
    assert "topology.net_efficiency@theirs" in others


def test_target_draws_are_the_prior_draws(population):
    values = draw_values(population, 300, seed=8)
    draws = prior_draws(small_catalogue(), 300, seed=8)

    for path in draws.paths:
        [place] = population.places([path])
        np.testing.assert_array_equal(values[:, place], draws.columns[path])


@pytest.mark.parametrize(
    ("path", "scale"),
    [(KERNEL, lambda x: np.log(x / (1 - x))), (RATE, np.log)],
)
def test_other_systems_differ_from_the_target_by_two_deviations(population, path, scale):
    values = draw_values(population, 4000, seed=2)
    target, other, between = values[
        :, population.places([path, f"{path}@theirs", f"{path}@between"])
    ].T
    score = (scale(other) - scale(target)) / between

    # T(other) − T(target) = tau·(z_other − z_target): sd sqrt(2) in units of tau. The standard
    # error of an sd over 4,000 draws is 1.1%, of a mean 0.022.
    assert score.std() == pytest.approx(np.sqrt(2), rel=0.045)
    assert abs(score.mean()) < 0.09
    # Control: other systems do not share the target's value.
    assert not np.allclose(target, other)


def test_parameters_without_a_scale_are_independent_elsewhere():
    from dataclasses import replace
    from types import MappingProxyType

    catalogue = small_catalogue()
    loose = {p: replace(e, between_systems=None) for p, e in catalogue.entries.items()}
    catalogue = replace(catalogue, entries=MappingProxyType(loose))
    population, _ = assemble(catalogue, evidence_of())
    values = draw_values(population, 3000, seed=2)
    target, other = values[:, population.places([RATE, f"{RATE}@theirs"])].T

    assert population.tied == {}
    assert abs(np.corrcoef(target, other)[0, 1]) < 0.08
    assert np.median(other) == pytest.approx(np.median(target), rel=0.06)


def test_known_value_at_the_edge_of_its_scale_leaves_others_their_prior():
    path = "reliability.straggler_cv"
    catalogue = small_catalogue().with_fixed({path: 0.0})
    population, _ = assemble(catalogue, evidence_of())
    values = draw_values(population, 50, seed=1)
    target, other = values[:, population.places([path, f"{path}@theirs"])].T

    assert path not in population.tied
    assert np.all(target == 0)
    assert np.all(other > 0)


@pytest.mark.parametrize("share", [True, False])
def test_inverse_undoes_transform(share):
    values = np.array([1e-6, 0.03, 0.4, 0.97])
    again = inverse(transform(values, share=share), share=share)

    np.testing.assert_allclose(again, values, rtol=1e-9)


def test_graph_of_values_equals_arrays():
    import pytensor.tensor as pt

    population, _ = assemble(small_catalogue(), evidence_of())
    rng = np.random.default_rng(3)
    own = np.array([prior.quantile(rng.random()) for prior in population.priors.values()])
    z = rng.standard_normal(population.deviations)

    graph = population.values(pt.as_tensor_variable(own), pt.as_tensor_variable(z))
    np.testing.assert_allclose(
        graph.eval(mode="FAST_COMPILE"), population.values(own, z), rtol=1e-12
    )


def test_model_has_the_prior_density_of_the_catalogue():
    import pymc as pm
    from scipy import stats

    catalogue = read_catalogue()
    population, _ = assemble(catalogue, read_evidence(["none"]))
    with pm.Model() as model:
        declare(population)
    at = {
        "uniform": np.array(
            [e.prior.median for e in catalogue.entries.values() if e.prior.family == "uniform"]
        ),
        "triangular": np.array([0.5, 0.5]),
        "lognormal": np.array([0.01]),
    }
    logp = model.logp(jacobian=False).eval(
        {
            model.rvs_to_values[rv]: model.rvs_to_transforms[rv]
            .forward(at[rv.name], *rv.owner.inputs)
            .eval()
            for rv in model.free_RVs
        }
    )
    widths = [
        e.prior.support[1] - e.prior.support[0]
        for e in catalogue.entries.values()
        if e.prior.family == "uniform"
    ]
    expected = (
        -np.log(widths).sum()
        + stats.triang.logpdf(0.5, 0.35 / 0.6, 0.35, 0.6)
        + stats.triang.logpdf(0.5, 0.3 / 0.75, 0.0, 0.75)
        + stats.lognorm.logpdf(0.01, np.log(20) / (2 * stats.norm.ppf(0.95)), scale=np.sqrt(2e-5))
    )

    assert logp == pytest.approx(expected, rel=1e-9)
