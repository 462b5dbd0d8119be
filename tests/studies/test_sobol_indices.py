import numpy as np
import pytest
from SALib.analyze import sobol as salib_analyze
from SALib.sample import sobol as salib_sample

from studies.drivers.bootstrap import moments, resample_counts
from studies.drivers.factors import Factor, singles
from studies.drivers.sobol import design, sobol_effects
from studies.drivers.targets import targets_of
from tests.studies import driver_cases as cases

POINTS, SCRAMBLES = 1024, 32
"""With 32 scrambles three standard errors are passed by one estimate in two hundred."""


def effects_of(evaluate, quantiles, **options):
    options = {"points": POINTS, "seed": 11, "scrambles": SCRAMBLES, **options}
    probe = evaluate({path: quantile(np.array([0.3])) for path, quantile in quantiles.items()})
    targets = targets_of(probe.options, options.pop("leader", probe.options[1]))
    factors = options.pop("factors", singles(list(quantiles)))
    return sobol_effects(evaluate, quantiles, factors, targets, **options)


def row(effects, target):
    return effects.targets.index(target)


def test_sobol_recovers_ishigami():
    quantiles = cases.uniform_quantiles(3, -np.pi, np.pi)
    effects = effects_of(cases.model_of(cases.ishigami), quantiles)
    t = row(effects, "gain:option_1")
    cases.within(effects.first[t], cases.ISHIGAMI_FIRST, effects.first_se[t])
    cases.within(effects.total[t], cases.ISHIGAMI_TOTAL, effects.total_se[t])
    for (i, j), value in cases.ISHIGAMI_SECOND.items():
        cases.within(effects.second[t, i, j], value, effects.second_se[t, i, j])
    assert effects.total_se[t].max() < 0.005
    assert effects.second_se[t, 0, 2] < 0.01


def test_sobol_recovers_g_function():
    effects = effects_of(cases.model_of(cases.sobol_g), cases.uniform_quantiles(8))
    t = row(effects, "gain:option_1")
    first, total, _ = cases.sobol_g_indices()
    # The published figures, to the digits they are given in.
    np.testing.assert_allclose(first[:5], [0.7162, 0.1790, 0.0237, 0.0072, 0.0001], atol=5e-5)
    np.testing.assert_allclose(total[:5], [0.7871, 0.2422, 0.0343, 0.0105, 0.0001], atol=5e-5)
    cases.within(effects.first[t], first, effects.first_se[t])
    cases.within(effects.total[t], total, effects.total_se[t])
    assert effects.total_se[t].max() < 0.005


def test_sobol_recovers_additive_gaussian():
    beta = np.array([1.0, 2.0, 3.0])
    effects = effects_of(cases.model_of(lambda x: x @ beta), cases.normal_quantiles(3))
    t = row(effects, "gain:option_1")
    truth = beta**2 / 14.0
    cases.within(effects.first[t], truth, effects.first_se[t])
    cases.within(effects.total[t], truth, effects.total_se[t])


def test_sobol_recovers_gaussian_winner():
    # oracles: (2/π) asin R²(u) for 1[Δ > 0], independent β = (1, 2, 3).
    beta = np.array([1.0, 2.0, 3.0])
    effects = effects_of(cases.model_of(lambda x: x @ beta), cases.normal_quantiles(3))
    for target in ("winner", "first:option_1", "first:do_nothing"):
        t = row(effects, target)
        cases.within(effects.first[t], (0.04551, 0.18446, 0.44450), effects.first_se[t])
        cases.within(effects.total[t], (0.24208, 0.49350, 0.76750), effects.total_se[t])
        assert effects.total_se[t].max() < 0.005


def test_sobol_of_wrong_truth_is_told_apart():
    beta = np.array([1.0, 2.0, 3.0])
    effects = effects_of(cases.model_of(lambda x: x @ beta), cases.normal_quantiles(3))
    t = row(effects, "winner")
    with pytest.raises(AssertionError, match="standard errors"):
        cases.within(effects.total[t], effects.total[t] + 0.02, effects.total_se[t])


def salib_problem(count):
    return {
        "num_vars": count,
        "names": [f"x{i}" for i in range(count)],
        "bounds": [[0, 1]] * count,
    }


def test_sobol_design_and_estimates_are_those_of_salib():
    count, points = 4, 256
    problem = salib_problem(count)
    names = problem["names"]
    ours = design(singles(names), names, points, seed=3, second_order=True)
    theirs = salib_sample.sample(problem, points, seed=3)
    np.testing.assert_array_equal(ours.reshape(theirs.shape), theirs)

    x = theirs
    outputs = np.column_stack(
        [x @ [1, 2, 3, 4], np.exp(x[:, 0]) * x[:, 1] - x[:, 3] ** 2, (x.sum(axis=1) > 2.2) * 1.0]
    )
    values = outputs.reshape(points, -1, 3)
    found = moments(values, np.arange(3), count, second_order=True)
    pairs = np.triu_indices(count, k=1)
    for c in range(3):
        expected = salib_analyze.analyze(problem, outputs[:, c], seed=1)
        first, total, second = (
            part[0, c] / found.variance[0, c] for part in (found.first, found.total, found.second)
        )
        np.testing.assert_allclose(first, expected["S1"], atol=1e-12)
        np.testing.assert_allclose(total, expected["ST"], atol=1e-12)
        np.testing.assert_allclose(second, expected["S2"][pairs], atol=1e-12)


def test_sobol_bootstrap_is_the_one_of_salib_with_the_same_seed():
    count, points, resamples = 3, 128, 60
    problem = salib_problem(count)
    x = salib_sample.sample(problem, points, seed=4)
    outputs = np.column_stack([x @ [1, 2, 4] + x[:, 0] * x[:, 2], (x @ [1, 2, 4] > 3.0) * 1.0])
    counts = resample_counts(points, resamples, seed=9)
    assert counts.sum(axis=1).tolist() == [points] * resamples
    values = outputs.reshape(points, -1, 2)
    found = moments(values, np.arange(2), count, second_order=True, counts=counts)
    pairs = np.triu_indices(count, k=1)
    for c in range(2):
        expected = salib_analyze.analyze(
            problem, outputs[:, c], seed=9, num_resamples=resamples, keep_resamples=True
        )
        variance = found.variance[:, c, np.newaxis]
        again = {"S1": found.first[:, c] / variance, "ST": found.total[:, c] / variance}
        for name, values_again in again.items():
            np.testing.assert_allclose(values_again, expected[f"{name}_conf_all"], atol=1e-11)
        widths = 1.959963984540054 * (found.second[:, c] / variance).std(axis=0, ddof=1)
        np.testing.assert_allclose(widths, expected["S2_conf"][pairs], rtol=1e-9)


def test_sobol_of_a_label_is_the_chance_of_a_flip():
    # methods: T_i = P[W(A) ≠ W(A_B^i)]/G, G = 1 − Σp² over A and B, on the very same design.
    generator = np.random.default_rng(8)
    labels = generator.integers(0, 4, size=(512, 5))
    labels[:, 2] = labels[:, 0]
    one_hot = np.eye(4)[labels]
    found = moments(one_hot, np.array([0]), 3, second_order=False)
    shares = one_hot[:, [0, -1]].mean(axis=(0, 1))
    differ = 1.0 - (shares**2).sum()
    flips = [(labels[:, 0] != labels[:, 1 + i]).mean() for i in range(3)]
    np.testing.assert_allclose(found.variance[0, 0], differ, rtol=1e-12)
    np.testing.assert_allclose(found.total[0, 0], flips, rtol=1e-12)
    assert found.total[0, 0, 1] == 0.0


def test_sobol_groups_move_together_in_any_order():
    quantiles = cases.uniform_quantiles(4)
    names = list(quantiles)
    groups = (Factor(name="far", paths=("x2", "x0")), Factor(name="near", paths=("x3", "x1")))
    rows = design(groups, names, 16, seed=1, second_order=True)
    a, b = rows[:, 0], rows[:, -1]
    np.testing.assert_array_equal(rows[:, 1], np.where([True, False, True, False], b, a))
    np.testing.assert_array_equal(rows[:, 2], np.where([False, True, False, True], b, a))
    np.testing.assert_array_equal(rows[:, 3], np.where([True, False, True, False], a, b))

    beta = np.array([1.0, 2.0, 3.0, 5.0])
    effects = effects_of(cases.model_of(lambda x: x @ beta), quantiles, factors=groups)
    t = row(effects, "gain:option_1")
    cases.within(effects.total[t], np.array([10.0, 29.0]) / 39.0, effects.total_se[t])


def test_sobol_numbers_repeat_with_the_seed():
    evaluate, quantiles = cases.model_of(cases.ishigami), cases.uniform_quantiles(3)
    one, same, other = (
        effects_of(evaluate, quantiles, points=64, scrambles=8, seed=seed) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one.total, same.total)
    assert not np.array_equal(one.total, other.total)


def test_sobol_with_few_scrambles_uses_a_bootstrap_and_normal_intervals():
    evaluate, quantiles = cases.model_of(cases.ishigami), cases.uniform_quantiles(3, -3.0, 3.0)
    few = effects_of(evaluate, quantiles, scrambles=2, points=512)
    many = effects_of(evaluate, quantiles, scrambles=8, points=512)
    assert few.half_width == pytest.approx(1.96, abs=1e-3)
    assert many.half_width == pytest.approx(2.365, abs=1e-3)
    assert 0 < few.total_se[0].max() < 0.05
