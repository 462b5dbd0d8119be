import numpy as np
import pytest

from model.errors import InputError
from studies.drivers.copula import fit_copula, split_constant
from studies.drivers.factors import Factor, singles
from studies.drivers.neighbours import Neighbours
from studies.drivers.shapley import shapley_effects
from studies.drivers.targets import targets_of
from tests.studies import driver_cases as cases

DRAWS = 4000


def covariance_of(scales, correlations):
    r = np.eye(len(scales))
    for (i, j), value in correlations.items():
        r[i, j] = r[j, i] = value
    return r * np.outer(scales, scales)


HALF = covariance_of([1.0, 1.0], {(0, 1): 0.5})
NINE = covariance_of([1.0, 1.0, 2.0], {(1, 2): 0.9})
THREE = covariance_of([1.0, 1.0, 1.0], {(0, 1): 0.5, (0, 2): 0.2, (1, 2): -0.3})


def effects_of(evaluate, x, factors=None, **options):
    columns = cases.columns_of(x)
    outcomes = evaluate(columns)
    targets = targets_of(outcomes.options, outcomes.options[1])
    return shapley_effects(
        evaluate,
        fit_copula(columns),
        outcomes,
        factors or singles(list(columns)),
        targets,
        **{"seed": 1, **options},
    )


def linear(beta):
    return cases.model_of(lambda x: x @ np.asarray(beta))


def row(effects, target):
    return effects.targets.index(target)


@pytest.mark.parametrize(
    ("beta", "covariance", "published"),
    [
        ((1.0, 2.0), HALF, (0.339286, 0.660714)),
        ((1.0, 1.0, 1.0), NINE, (0.104167, 0.418229, 0.477604)),
        ((1.0, 2.0, 3.0), THREE, (0.288939, 0.197687, 0.513374)),
    ],
)
def test_shapley_recovers_linear_gaussian(beta, covariance, published):
    x = cases.exact_gaussian(covariance, DRAWS, seed=1)
    effects = effects_of(linear(beta), x)
    t = row(effects, "gain:option_1")

    def worth(u):
        return cases.explained(np.array(beta), covariance, u)

    count = len(beta)
    shapley = cases.shapley_of(worth, count)
    # Iooss and Prieur 2019, to the digits that are published.
    np.testing.assert_allclose(shapley, published, atol=5e-7)
    cases.within(effects.shapley[t], shapley, effects.shapley_se[t])
    first = [worth((i,)) for i in range(count)]
    total = [1.0 - worth(tuple(j for j in range(count) if j != i)) for i in range(count)]
    cases.within(effects.first[t], first, effects.first_se[t])
    cases.within(effects.total[t], total, effects.total_se[t])
    assert effects.shapley_se[t].max() < 0.012


def test_shapley_first_order_may_exceed_total_under_dependence():
    effects = effects_of(linear((1.0, 2.0)), cases.exact_gaussian(HALF, DRAWS, seed=2))
    t = row(effects, "gain:option_1")
    cases.within(effects.first[t], (0.571429, 0.892857), effects.first_se[t])
    cases.within(effects.total[t], (0.107143, 0.428571), effects.total_se[t])
    gap = effects.first[t] - effects.total[t]
    assert np.all(gap > 5 * np.hypot(effects.first_se[t], effects.total_se[t]))


def test_shapley_recovers_gaussian_winner_under_dependence():
    beta = np.array([1.0, 2.0, 3.0])
    effects = effects_of(linear(beta), cases.exact_gaussian(THREE, DRAWS, seed=3))
    for target in ("winner", "first:option_1"):
        t = row(effects, target)
        cases.within(effects.shapley[t], (0.259051, 0.246853, 0.494096), effects.shapley_se[t])
        first = [cases.sign_explained(cases.explained(beta, THREE, (i,))) for i in range(3)]
        cases.within(effects.first[t], first, effects.first_se[t])
        assert effects.shapley[t].sum() == pytest.approx(1.0, abs=1e-9)


def test_shapley_recovers_independent_winner():
    effects = effects_of(linear((1.0, 2.0, 3.0)), cases.exact_gaussian(np.eye(3), DRAWS, seed=4))
    t = row(effects, "winner")
    cases.within(effects.shapley[t], (0.11420, 0.30939, 0.57641), effects.shapley_se[t])
    cases.within(effects.first[t], (0.04551, 0.18446, 0.44450), effects.first_se[t])
    cases.within(effects.total[t], (0.24208, 0.49350, 0.76750), effects.total_se[t])


def test_shapley_recovers_ishigami_and_g():
    generator = np.random.default_rng(5)
    x = generator.uniform(-np.pi, np.pi, size=(DRAWS, 3))
    found = effects_of(cases.model_of(cases.ishigami), x)
    t = row(found, "gain:option_1")
    cases.within(found.shapley[t], cases.ISHIGAMI_SHAPLEY, found.shapley_se[t])
    found = effects_of(cases.model_of(cases.sobol_g), generator.random((2000, 8)))
    t = row(found, "gain:option_1")
    shapley = cases.sobol_g_indices()[2]
    np.testing.assert_allclose(shapley[:4], [0.7515, 0.2105, 0.0289, 0.0088], atol=5e-5)
    cases.within(found.shapley[t], shapley, found.shapley_se[t])


def test_shapley_by_orders_agrees_with_all_subsets():
    beta = np.array([1.0, 2.0, 3.0])
    x = cases.exact_gaussian(THREE, DRAWS, seed=6)
    effects = effects_of(linear(beta), x, permutations=2)
    t = row(effects, "winner")
    cases.within(effects.shapley[t], (0.259051, 0.246853, 0.494096), effects.shapley_se[t])
    assert effects.half_width > 1.96
    # Three orders of three factors cost as much as all subsets, which are then taken.
    assert effects_of(linear(beta), x, permutations=3).half_width < 1.97


def test_shapley_of_more_parameters_than_subsets_allow():
    # Independent parameters beside the correlated three: each adds β²/V of its own.
    count = 14
    covariance = np.eye(count)
    covariance[:3, :3] = THREE
    beta = np.array([1.0, 2.0, 3.0, *np.linspace(0.2, 2.0, count - 3)])
    effects = effects_of(
        linear(beta), cases.exact_gaussian(covariance, 2000, seed=7), permutations=8
    )
    own = beta[:3] @ THREE @ beta[:3]
    whole = beta @ covariance @ beta
    three = cases.shapley_of(lambda u: cases.explained(beta[:3], THREE, u), 3) * own / whole
    truth = np.array([*three, *(beta[3:] ** 2 / whole)])
    t = row(effects, "gain:option_1")
    cases.within(effects.shapley[t], truth, effects.shapley_se[t], errors=3.5)
    assert effects.shapley_se[t].max() < 0.02
    assert effects.shapley[t].sum() == pytest.approx(1.0, abs=1e-9)


def test_shapley_of_groups_is_that_of_their_members_together():
    beta = np.array([1.0, 2.0, 3.0])
    groups = (Factor(name="pair", paths=("x2", "x0")), Factor(name="one", paths=("x1",)))
    effects = effects_of(linear(beta), cases.exact_gaussian(THREE, DRAWS, seed=8), groups)
    members = [(0, 2), (1,)]

    def worth(u):
        return cases.explained(beta, THREE, tuple(sorted(i for g in u for i in members[g])))

    t = row(effects, "gain:option_1")
    cases.within(effects.shapley[t], cases.shapley_of(worth, 2), effects.shapley_se[t])


def test_shapley_of_a_parameter_that_does_nothing():
    effects = effects_of(linear((1.0, 0.0)), cases.exact_gaussian(np.eye(2), DRAWS, seed=9))
    t = row(effects, "winner")
    assert effects.total[t, 1] == effects.total_se[t, 1] == 0.0
    assert abs(effects.shapley[t, 1]) <= 3 * effects.shapley_se[t, 1]


def test_shapley_of_one_parameter_is_all():
    effects = effects_of(linear((1.0,)), np.random.default_rng(1).standard_normal((200, 1)))
    t = row(effects, "winner")
    for index in (effects.first, effects.total, effects.shapley):
        assert index[t, 0] == pytest.approx(1.0, abs=1e-12)


def test_shapley_says_what_a_constant_output_means():
    effects = effects_of(
        cases.model_of(lambda x: 1.0 + x[:, 0] ** 2),
        cases.exact_gaussian(np.eye(2), 500, seed=1),
    )
    assert effects.constant["winner"] == "option_1 always ranks first"
    assert np.isnan(effects.shapley[row(effects, "winner")]).all()
    assert np.isfinite(effects.shapley[row(effects, "gain:option_1")]).all()


def test_shapley_names_an_output_that_is_no_number():
    def evaluate(columns):
        return cases.outcomes_of(np.log(columns["x0"])[:, np.newaxis])

    x = np.abs(cases.exact_gaussian(np.eye(2), 100, seed=1))
    x[3, 0] = 0.0
    with (
        np.errstate(divide="ignore"),
        pytest.raises(InputError, match=r"gain of option_1: 1 of 100"),
    ):
        effects_of(evaluate, x)


def test_shapley_errors_grow_with_what_ties_draws_in_a_chain():
    generator = np.random.default_rng(10)
    x = generator.standard_normal((1000, 2))
    tied = np.repeat(x, 4, axis=0)
    chain = np.repeat([0, 1], 2000)
    free = effects_of(linear((1.0, 2.0)), tied)
    known = effects_of(linear((1.0, 2.0)), tied, chain=chain)
    t = row(free, "gain:option_1")
    assert np.all(known.first_se[t] > 1.15 * free.first_se[t])


def test_neighbours_explain_as_much_as_the_copula_where_it_holds():
    beta = np.array([1.0, 2.0, 3.0])
    x = cases.exact_gaussian(THREE, 2000, seed=11)
    columns = cases.columns_of(x)
    effects = effects_of(
        linear(beta), x, redraw=Neighbours(copula=fit_copula(columns)), permutations=10
    )
    t = row(effects, "winner")
    # Neighbours of 2,000 draws in three parameters lie a fifth of a standard deviation away: a
    # bias of about their squared distance, hence 0.03 beside the error.
    truth = np.array((0.259051, 0.246853, 0.494096))
    assert np.all(np.abs(effects.shapley[t] - truth) <= 0.03 + 3 * effects.shapley_se[t])


def test_constant_columns_are_split_off_with_their_value():
    varying, fixed = split_constant({"a": np.array([1.0, 2.0]), "b": np.array([3.0, 3.0])})
    assert list(varying) == ["a"]
    assert fixed == {"b": 3.0}
