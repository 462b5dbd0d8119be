"""Each family: quantiles, PyMC variable and density are one distribution."""

import numpy as np
import pytest
from scipy import stats

from model.errors import InputError
from model.parameters import BY_PATH
from priors.distributions import POSITIVE, Range
from priors.elicitation import fixed_prior, read_prior

ANYWHERE = Range(lower=-np.inf, upper=np.inf, text="a finite number")

# Asymmetric examples: a symmetric one hides a sign error.
EXAMPLES = {
    "uniform": ({"low": 0.45, "high": 0.70}, stats.uniform(0.45, 0.25)),
    "normal": ({"mean": 1.5, "sd": 0.4}, stats.norm(1.5, 0.4)),
    "truncated_normal": (
        {"mean": 0.9, "sd": 0.3, "low": 0.2, "high": 1.0},
        stats.truncnorm((0.2 - 0.9) / 0.3, (1.0 - 0.9) / 0.3, 0.9, 0.3),
    ),
    "lognormal": ({"median": 4e-3, "sigma": 0.9}, stats.lognorm(0.9, scale=4e-3)),
    "beta": ({"alpha": 2.0, "beta": 5.0}, stats.beta(2.0, 5.0)),
    "gamma": ({"shape": 2.5, "rate": 0.5}, stats.gamma(2.5, scale=2.0)),
    "triangular": (
        {"low": 0.1, "mode": 0.7, "high": 0.9},
        stats.triang(0.75, 0.1, 0.8),
    ),
}


def make(family, parameters, allowed=ANYWHERE, path="quantity"):
    return read_prior({family: parameters}, path=path, allowed=allowed, source="test")


@pytest.mark.parametrize("family", EXAMPLES)
def test_quantile_equals_scipy(family):
    parameters, reference = EXAMPLES[family]
    p = np.array([1e-9, 1e-4, 0.05, 0.3, 0.5, 0.8, 0.99, 1 - 1e-6])

    # Both invert in closed form or to machine precision; 1e-9 leaves room for the far tails.
    np.testing.assert_allclose(make(family, parameters).quantile(p), reference.ppf(p), rtol=1e-9)


@pytest.mark.parametrize("family", EXAMPLES)
def test_cdf_inverts_quantile(family):
    prior = make(family, EXAMPLES[family][0])
    p = np.linspace(0.01, 0.99, 23)

    np.testing.assert_allclose(prior.cdf(prior.quantile(p)), p, rtol=1e-9)


@pytest.mark.parametrize("family", EXAMPLES)
def test_density_of_variable_equals_scipy(family):
    import pymc as pm

    parameters, reference = EXAMPLES[family]
    x = reference.ppf([0.02, 0.2, 0.55, 0.9])
    with pm.Model():
        variable = make(family, parameters).variable()
        found = pm.logp(variable, x).eval(mode="FAST_COMPILE")

    # PyMC's normalising constant of the truncated normal is good to 3e-9; the rest to rounding.
    np.testing.assert_allclose(found, reference.logpdf(x), rtol=1e-10, atol=1e-8)


@pytest.mark.parametrize("family", EXAMPLES)
def test_draws_of_variable_follow_quantile(family):
    import pymc as pm

    prior = make(family, EXAMPLES[family][0])
    with pm.Model():
        draws = pm.draw(prior.variable(), draws=2000, random_seed=4, mode="FAST_COMPILE")

    # A fixed seed: the test is whether it passes for that one, at a false-alarm rate of 1e-3.
    assert stats.kstest(prior.cdf(draws), "uniform").pvalue > 1e-3
    # Control: the same draws shifted by a fifth of their sd are told apart.
    assert stats.kstest(prior.cdf(draws + 0.2 * draws.std()), "uniform").pvalue < 1e-3


def test_truncated_normal_quantile_keeps_digits_in_the_upper_tail():
    # Bounds 8 and 9 sd above the mean, where the normal distribution function is 1 - 6e-16.
    prior = make("truncated_normal", {"mean": 0.0, "sd": 1.0, "low": 8.0, "high": 9.0})
    reference = stats.truncnorm(8.0, 9.0)

    np.testing.assert_allclose(prior.quantile([0.1, 0.5, 0.9]), reference.ppf([0.1, 0.5, 0.9]))


@pytest.mark.parametrize(
    ("family", "low", "high", "mass"),
    [
        ("uniform", 0.2, 0.6, 0.8),
        ("normal", -1.0, 3.0, 0.9),
        ("lognormal", 1e-3, 2e-2, 0.9),
        ("beta", 0.6, 0.95, 0.9),
        ("beta", 0.001, 0.02, 0.5),
        ("gamma", 2.0, 30.0, 0.8),
        ("gamma", 99.0, 101.0, 0.95),
    ],
)
def test_interval_holds_its_mass(family, low, high, mass):
    prior = make("interval", {"low": low, "high": high, "mass": mass, "family": family})

    assert prior.family == family
    np.testing.assert_allclose(
        prior.quantile([(1 - mass) / 2, (1 + mass) / 2]), [low, high], rtol=1e-6
    )
    assert prior.elicited is not None
    assert prior.elicited["mass"] == mass


def test_fixed_prior_is_one_value():
    prior = make("fixed", {"value": 0.57})

    np.testing.assert_array_equal(prior.quantile([0.1, 0.9]), [0.57, 0.57])
    assert prior.is_fixed
    assert prior.variable().eval() == 0.57


def test_normal_of_a_bounded_field_is_sampled_inside_its_range():
    field = BY_PATH["kernel.kernel_efficiency"]
    prior = make("normal", {"mean": 0.57, "sd": 0.02}, allowed=Range.of(field))
    bounded = prior.for_sampling()

    assert bounded.support == (0.0, 1.0)
    p = np.array([1e-3, 0.5, 0.999])
    np.testing.assert_allclose(bounded.quantile(p), prior.quantile(p), rtol=1e-12)


@pytest.mark.parametrize(
    ("content", "fragments"),
    [
        ({"unifrom": {"low": 0, "high": 1}}, ["unknown family", "did you mean 'uniform'?"]),
        ({}, ["got 0 families", "exactly one"]),
        ({"uniform": {"low": 0, "high": 1}, "normal": {"mean": 0, "sd": 1}}, ["got 2 families"]),
        ({"uniform": [0, 1]}, ["uniform", "a mapping of parameters"]),
        ({"uniform": {"low": 0.5}}, ["uniform.high", "missing"]),
        ({"uniform": {"low": 0.9, "high": 0.2}}, ["low = 0.9, high = 0.2", "low <= high"]),
        ({"uniform": {"low": 0.5, "high": 0.5}}, ["not all equal"]),
        ({"uniform": {"low": ".nan", "high": 1}}, ["uniform.low", "a finite number"]),
        ({"uniform": {"low": "little", "high": True}}, ["'little'", "True"]),
        ({"normal": {"mean": 0, "sd": -1}}, ["normal.sd", "got -1", "above 0"]),
        ({"normal": {"mean": 0, "sd": 1, "skew": 2}}, ["normal.skew", "unknown key"]),
        ({"triangular": {"low": 0, "mode": 2, "high": 1}}, ["low <= mode <= high"]),
        ({"truncated_normal": {"mean": 0, "sd": 1e-3, "low": 1, "high": 2}}, ["30 sd"]),
        (
            {"interval": {"low": 1, "high": 2, "mass": 90, "family": "lognormal"}},
            ["interval.mass", "got 90", "(0, 1)"],
        ),
        (
            {"interval": {"low": 1, "high": 2, "mass": 0.9, "family": "triangular"}},
            ["interval.family", "triangular"],
        ),
        (
            {"interval": {"low": 0.5, "high": 1.5, "mass": 0.9, "family": "beta"}},
            ["0 < low < high < 1"],
        ),
    ],
)
def test_read_prior_names_what_is_wrong(content, fragments):
    with pytest.raises(InputError) as caught:
        read_prior(content, path="kernel.kernel_efficiency", allowed=ANYWHERE, source="p.yaml")

    message = str(caught.value)
    for fragment in ["p.yaml: kernel.kernel_efficiency", *fragments]:
        assert fragment in message


@pytest.mark.parametrize(
    ("family", "parameters"),
    [
        ("uniform", {"low": 0.5, "high": 1.2}),
        ("normal", {"mean": 0.8, "sd": 0.1}),
        ("lognormal", {"median": 0.5, "sigma": 0.5}),
        ("gamma", {"shape": 2.0, "rate": 4.0}),
        ("fixed", {"value": 0.0}),
    ],
)
def test_prior_that_leaves_the_range_is_refused(family, parameters):
    allowed = Range.of(BY_PATH["kernel.kernel_efficiency"])
    with pytest.raises(InputError, match=r"allowed is a finite number in \(0, 1\]"):
        make(family, parameters, allowed=allowed)


def test_prior_inside_the_range_is_accepted():
    allowed = Range.of(BY_PATH["kernel.kernel_efficiency"])

    assert make("beta", {"alpha": 8, "beta": 4}, allowed=allowed).support == (0.0, 1.0)
    assert make("lognormal", {"median": 2.0, "sigma": 1.0}, allowed=POSITIVE).support[0] == 0.0


def test_fixed_prior_outside_the_range_is_refused():
    allowed = Range.of(BY_PATH["topology.net_efficiency"])
    prior = make("uniform", {"low": 0.7, "high": 0.9}, allowed=allowed)

    with pytest.raises(InputError, match=r"--set: quantity\.fixed: got 1\.5"):
        fixed_prior(prior, 1.5, source="--set")
