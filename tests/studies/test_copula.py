import numpy as np
import pytest
from scipy import stats

from studies.drivers.copula import fit_copula, normal_scores
from studies.drivers.gate import check_copula
from studies.drivers.targets import leader_of, targets_of
from tests.studies import driver_cases as cases

R = np.array([[1.0, 0.6, 0.0], [0.6, 1.0, -0.4], [0.0, -0.4, 1.0]])


def test_copula_redraws_given_what_is_kept():
    x = cases.exact_gaussian(R, 4000, seed=1)
    copula = fit_copula(cases.columns_of(np.exp(x)))
    kept = np.array([False, True, False])
    rows = np.arange(4000)
    noise = np.random.default_rng(2).standard_normal((4000, 3))
    again = np.log(copula.given(rows, kept, noise))
    np.testing.assert_allclose(again[:, 1], x[:, 1], rtol=0, atol=1e-12)
    # Regressions of the redrawn on the kept, and their residual, are those of R: errors 1/√4000.
    for i, r in ((0, 0.6), (2, -0.4)):
        slope = np.polyfit(x[:, 1], again[:, i], 1)[0]
        assert slope == pytest.approx(r, abs=4 * np.sqrt((1 - r**2) / 4000) + 0.01)
    residual = again[:, [0, 2]] - x[:, [1]] * [0.6, -0.4]
    partial = (0.0 + 0.6 * 0.4) / np.sqrt((1 - 0.36) * (1 - 0.16))
    assert np.corrcoef(residual.T)[0, 1] == pytest.approx(partial, abs=4 / np.sqrt(4000))


def test_copula_keeps_margins_and_yes_no_columns():
    generator = np.random.default_rng(3)
    delivered = (generator.random(3000) < 0.7) * 1.0
    columns = {"a": generator.gamma(2.0, size=3000), "d": delivered}
    copula = fit_copula(columns)
    noise = generator.standard_normal((3000, 2))
    again = copula.given(np.arange(3000), np.zeros(2, dtype=bool), noise)
    assert stats.ks_2samp(again[:, 0], columns["a"]).pvalue > 1e-3
    assert set(again[:, 1]) == {0.0, 1.0}
    assert again[:, 1].mean() == pytest.approx(0.7, abs=0.05)


def test_copula_of_columns_that_determine_each_other_is_shrunk():
    x = np.random.default_rng(4).random(500)
    copula = fit_copula({"a": x, "b": 2 * x, "c": -x})
    assert 0 < copula.shrinkage < 0.01
    noise = np.random.default_rng(5).standard_normal((500, 3))
    again = copula.given(np.arange(500), np.array([True, False, False]), noise)
    assert np.abs(again[:, 1] - 2 * x).max() < 0.05
    assert np.abs(again[:, 2] + x).max() < 0.05


def test_copula_of_known_independence_takes_no_noise_for_dependence():
    columns = cases.columns_of(np.random.default_rng(6).random((50, 3)))
    np.testing.assert_array_equal(fit_copula(columns, independent=True).correlation, np.eye(3))
    assert np.abs(fit_copula(columns).correlation - np.eye(3)).max() > 0.01


def test_learning_a_value_moves_the_others_along():
    copula = fit_copula(cases.columns_of(cases.exact_gaussian(R, 4000, seed=7)))
    learnt = copula.learnt(1, 1.5)
    assert set(learnt["x1"]) == {1.5}
    # E[x0 | x1] = 0.6 · 1.5 and var = 1 − 0.36; ranks cut the tails a little.
    assert learnt["x0"].mean() == pytest.approx(0.9, abs=0.02)
    assert learnt["x0"].var() == pytest.approx(0.64, abs=0.04)
    assert learnt["x2"].mean() == pytest.approx(-0.6, abs=0.02)


def test_equal_values_share_their_score():
    scores = normal_scores(np.array([[1.0], [2.0], [2.0], [5.0]]))[:, 0]
    assert scores[1] == scores[2] == 0.0
    assert scores[0] == pytest.approx(stats.norm.ppf(0.125))


def checks_of(x, evaluate):
    columns = cases.columns_of(x)
    outcomes = evaluate(columns)
    targets = targets_of(outcomes.options, leader_of(outcomes))
    return check_copula(evaluate, fit_copula(columns), outcomes, targets, chain=None, seed=1)


def test_gate_passes_a_gaussian_dependence():
    evaluate = cases.model_of(lambda x: x @ [1.0, 2.0, 0.5], lambda x: x[:, 2] - 0.3)
    checks = checks_of(np.exp(cases.exact_gaussian(R, 2000, seed=8)), evaluate)
    assert len(checks) > 10
    assert all(check.passed for check in checks), [c.words() for c in checks if not c.passed]


def test_gate_stops_a_dependence_that_no_gaussian_copula_has():
    # Uncorrelated, yet the one determines the other up to its sign: y = ±x.
    generator = np.random.default_rng(9)
    x = generator.standard_normal(2000)
    y = x * generator.choice([-1.0, 1.0], 2000)
    evaluate = cases.model_of(lambda x: np.abs(x[:, 0]) - np.abs(x[:, 1]) - 0.2, lambda x: x[:, 0])
    checks = checks_of(np.column_stack([x, y]), evaluate)
    failed = [check.words() for check in checks if not check.passed]
    assert any("ranks first" in words for words in failed), failed


def test_gate_rarely_stops_what_is_sound():
    evaluate = cases.model_of(lambda x: x @ [1.0, 2.0, 0.5], lambda x: x[:, 2] - 0.3)
    stopped = sum(
        not all(c.passed for c in checks_of(cases.exact_gaussian(R, 500, seed), evaluate))
        for seed in range(20)
    )
    assert stopped <= 1
