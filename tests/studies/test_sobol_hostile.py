import numpy as np
import pytest
from SALib.analyze import sobol as salib_analyze
from SALib.sample import sobol as salib_sample
from scipy import stats

from model.errors import InputError
from studies.drivers.asking import quantiles_of, require_independent
from studies.drivers.sobol import require_power_of_two
from tests.studies import driver_cases as cases
from tests.studies.test_sobol_indices import effects_of, row


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_sobol_names_an_output_that_is_no_number(bad):
    def evaluate(columns):
        outcomes = cases.model_of(lambda x: x[:, 0], lambda x: x[:, 1])(columns)
        if outcomes.draws > 1:
            outcomes.gain[17, 2] = bad
        return outcomes

    with pytest.raises(InputError) as caught:
        effects_of(evaluate, cases.uniform_quantiles(2), points=64, scrambles=8)
    [problem] = caught.value.problems
    assert problem.path == "gain of option_2"
    assert problem.message.startswith("1 of 384 values are no finite numbers")
    assert str(bad) in problem.message
    assert "x0 = " in problem.message


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_salib_alone_reads_such_an_output_as_insensitive(bad):
    # The reason for the check: one bad value and every index is zero, without an error.
    problem = {"num_vars": 2, "names": ["a", "b"], "bounds": [[0, 1]] * 2}
    x = salib_sample.sample(problem, 64, seed=1)
    y = x @ [1.0, 2.0]
    y[17] = bad
    found = salib_analyze.analyze(problem, y, seed=1)
    assert found["S1"].tolist() == found["ST"].tolist() == [0.0, 0.0]


def test_sobol_says_what_a_constant_output_means():
    effects = effects_of(
        cases.model_of(lambda x: np.full(len(x), 3.0), lambda x: x[:, 0]),
        cases.uniform_quantiles(2),
        points=64,
        scrambles=8,
        leader="option_1",
    )
    assert np.isnan(effects.total[row(effects, "gain:option_1")]).all()
    assert np.isnan(effects.first_se[row(effects, "winner")]).all()
    assert effects.constant["gain:option_1"] == (
        "option_1 gains 3 productive accelerators in every draw"
    )
    assert effects.constant["winner"] == "option_1 always ranks first"
    assert effects.constant["first:option_2"].startswith("option_2 never ranks first")
    assert effects.constant["in_scope"] == "every draw is in the model's scope"
    assert "gain:option_2" not in effects.constant
    assert effects.ranked("winner") == []


@pytest.mark.parametrize("offset", [1e3, 1e7])
def test_sobol_ignores_a_large_constant_in_an_output(offset):
    quantiles = cases.uniform_quantiles(2)
    shifted, plain = (
        effects_of(cases.model_of(lambda x, add=add: add + x @ [1.0, 2.0]), quantiles, points=64)
        for add in (offset, 1.0)
    )
    t = row(plain, "gain:option_1")
    np.testing.assert_allclose(shifted.total[t], plain.total[t], rtol=1e-6)


def test_sobol_of_a_winner_in_one_percent_of_draws():
    # 1[Δ > c] with P = 1%: C(u) = (P(Δ > c, Δ' > c) − p²)/(p(1 − p)), correlation R²(u).
    beta = np.array([1.0, 2.0])
    limit = stats.norm.isf(0.01) * np.sqrt(5.0)
    effects = effects_of(
        cases.model_of(lambda x: x @ beta - limit), cases.normal_quantiles(2), points=4096
    )
    p = 0.01
    cut = stats.norm.isf(p)

    def worth(r_squared):
        both = stats.multivariate_normal(cov=[[1.0, r_squared], [r_squared, 1.0]])
        return (both.cdf([-cut, -cut]) - p**2) / (p * (1.0 - p))

    t = row(effects, "first:option_1")
    first = np.array([worth(0.2), worth(0.8)])
    cases.within(effects.first[t], first, effects.first_se[t])
    cases.within(effects.total[t], 1.0 - first[::-1], effects.total_se[t])
    assert effects.total_se[t].max() < 0.02
    assert effects.support[t] == pytest.approx(0.0099 * 2 * 4096 * 32, rel=0.02)


def test_sobol_of_a_single_option():
    effects = effects_of(
        cases.model_of(lambda x: x[:, 0] - 0.5), cases.uniform_quantiles(2), points=256
    )
    assert not any(name.startswith("margin") for name in effects.targets)
    t = row(effects, "winner")
    # x1 does nothing: exactly nothing, not nearly.
    assert effects.total[t, 1] == effects.total_se[t, 1] == 0.0
    assert effects.total[t, 0] == pytest.approx(1.0, abs=1e-9)


def test_sobol_of_identical_options_gives_ties_to_the_first_listed():
    same = [lambda x: x[:, 0] - 0.3, lambda x: x[:, 0] - 0.3]
    effects = effects_of(cases.model_of(*same), cases.uniform_quantiles(2), points=256)
    assert "first:option_2" in effects.constant
    assert "ties going to the" in effects.constant["first:option_2"]
    assert effects.constant["margin:option_1 over option_2"].endswith(
        "0 productive accelerators in every draw"
    )
    t = row(effects, "first:option_1")
    cases.within(effects.total[t, 0], 1.0, effects.total_se[t, 0])


def test_sobol_keeps_draws_out_of_scope_as_a_class_of_their_own():
    def evaluate(columns):
        x = np.column_stack(list(columns.values()))
        return cases.outcomes_of(x[:, :1] - 0.5, in_scope=x[:, 1] < 0.7)

    effects = effects_of(evaluate, cases.uniform_quantiles(2), points=1024)
    scope, winner, both = (row(effects, name) for name in ("in_scope", "winner", "winner_in_scope"))
    cases.within(effects.total[scope], [0.0, 1.0], np.maximum(effects.total_se[scope], 1e-9))
    cases.within(effects.total[winner], [1.0, 0.0], np.maximum(effects.total_se[winner], 1e-9))
    # Classes out of scope 0.3, each winner 0.35: G = 1 − 0.09 − 2·0.1225 = 0.665. Redrawing x0
    # alone flips in scope with 0.7 · 0.5, redrawing x1 with 2 · 0.7 · 0.3.
    cases.within(effects.total[both], np.array([0.35, 0.42]) / 0.665, effects.total_se[both])


@pytest.mark.parametrize(
    ("points", "nearest"),
    [(1000, "512 and 1,024"), (4097, "4,096 and 8,192"), (3, "2 and 4"), (1, "2 and 4")],
)
def test_sobol_refuses_a_number_that_is_no_power_of_two(points, nearest):
    with pytest.raises(InputError, match=f"the nearest are {nearest}"):
        require_power_of_two(points)


@pytest.mark.parametrize("points", [2, 64, 4096])
def test_sobol_takes_powers_of_two(points):
    require_power_of_two(points)


def test_sobol_refuses_correlated_draws_with_the_measured_correlation():
    x = cases.exact_gaussian(np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]]), 800, 1)
    with pytest.raises(InputError) as caught:
        require_independent(cases.columns_of(np.exp(x)), None, source="draws.csv")
    [problem] = caught.value.problems
    # Spearman's ρ of a Gaussian pair: (6/π) asin(r/2) = 0.483; the error of 800 draws is 0.035.
    assert "x0 and x1: +0.4" in problem.message or "x0 and x1: +0.5" in problem.message
    assert "x2" not in problem.message
    assert "--method shapley" in problem.remedy


def test_sobol_refuses_draws_that_spread_together():
    generator = np.random.default_rng(2)
    x = generator.standard_normal(2000)
    y = x * generator.choice([-1.0, 1.0], 2000)
    with pytest.raises(InputError, match="distances from the median"):
        require_independent({"x": x, "y": y}, None, source="draws.csv")


def test_sobol_takes_independent_draws_by_their_own_quantiles():
    generator = np.random.default_rng(3)
    columns = cases.columns_of(generator.normal(np.array([0.0, 1.0, 2.0]), size=(4000, 3)))
    require_independent(columns, None, source="draws.csv")
    quantile = quantiles_of(columns, None)["x1"]
    assert quantile(np.array([0.5]))[0] == pytest.approx(1.0, abs=0.1)
    # Only values that occur: a column may hold yes and no.
    yes_no = quantiles_of({"d": np.repeat([0.0, 1.0], [3, 7])}, None)["d"]
    assert yes_no(np.linspace(0.001, 0.999, 1000)).mean() == pytest.approx(0.7, abs=0.002)
    assert set(yes_no(np.linspace(0.001, 0.999, 1000))) == {0.0, 1.0}


def test_independent_columns_are_rarely_called_dependent():
    generator = np.random.default_rng(4)
    refused = 0
    for _ in range(200):
        try:
            require_independent(
                cases.columns_of(generator.random((500, 6))), None, source="draws.csv"
            )
        except InputError:
            refused += 1
    # 1% by construction: more than 9 of 200 has a chance below 1e-4.
    assert refused <= 9
