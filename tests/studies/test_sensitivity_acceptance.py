"""The study on the real model: against brute force, at twice the size, and its time."""

import os
import time

import numpy as np
import pytest
from scipy import special

from decision.outcomes import Question
from decision.ranking import winners
from priors.catalogue import read_catalogue
from priors.draws import make_draws, prior_draws
from studies.drivers.asking import model_of, quantiles_of
from studies.drivers.copula import fit_copula
from studies.drivers.factors import built_in_groups, singles
from studies.drivers.shapley import shapley_effects
from studies.drivers.sobol import sobol_effects
from studies.drivers.study import Plan, study_question
from studies.drivers.targets import leader_of, targets_of
from tests.reference import PUBLISHED, REFERENCE

pytestmark = pytest.mark.slow

QUESTION = Question(scenario=REFERENCE, interventions=PUBLISHED.interventions)
CATALOGUE = read_catalogue()
PATHS = list(CATALOGUE.entries)
MODEL = model_of(QUESTION, {})
CHECKED = ("reliability.checkpoint_write_s", "reliability.restart_time_s")
LIMIT_S = 30.0


def correlation():
    """Dependence between the checked pair, and as in the published posterior."""
    r = np.eye(len(PATHS))
    for first, second, value in (
        (*CHECKED, 0.6),
        ("kernel.kernel_efficiency", "reliability.straggler_cv", 0.5),
    ):
        i, j = PATHS.index(first), PATHS.index(second)
        r[i, j] = r[j, i] = value
    return r


def winner_of(z):
    """Who ranks first at normal scores, through the priors' quantiles."""
    u = special.ndtr(z)
    columns = {
        path: CATALOGUE.entries[path].prior.quantile(u[:, i]) for i, path in enumerate(PATHS)
    }
    return winners(MODEL(columns))[0]


def redraw(z, kept, r, generator):
    """Scores given some of them, by regression: written apart from the package on purpose."""
    result = z.copy()
    u, v = np.flatnonzero(kept), np.flatnonzero(~kept)
    if v.size:
        slope = np.linalg.lstsq(r[np.ix_(u, u)], r[np.ix_(u, v)], rcond=None)[0]
        spread = r[np.ix_(v, v)] - slope.T @ r[np.ix_(u, v)]
        result[:, v] = z[:, u] @ slope + generator.multivariate_normal(
            np.zeros(v.size), spread, len(z)
        )
    return result


def nested(i, r, seed):
    """Total and Shapley effect of one parameter by nested sampling, with standard errors.

    Total: the chance that two inner draws differ with all others held. Shapley: for a random size
    and set of known others, how much more often two inner draws agree once it is known as well.
    """
    generator = np.random.default_rng([99, seed])
    count = len(PATHS)
    lower = np.linalg.cholesky(r)

    def outer(size):
        return generator.standard_normal((size, count)) @ lower.T

    shares = np.bincount(winner_of(outer(100_000))) / 100_000
    g = 1.0 - (shares**2).sum()
    kept = np.arange(count) != i
    z = outer(20_000)
    differ = winner_of(redraw(z, kept, r, generator)) != winner_of(redraw(z, kept, r, generator))
    total, total_se = differ.mean() / g, differ.std() / np.sqrt(z.shape[0]) / g
    gained = []
    for size in np.repeat(np.arange(count), 60):
        others = generator.permutation(np.flatnonzero(kept))[:size]
        with_it = np.isin(np.arange(count), [*others, i])
        without = np.isin(np.arange(count), others)
        z = outer(100)
        pairs = [
            winner_of(np.concatenate([redraw(z, known, r, generator) for _ in range(2)])).reshape(
                2, -1
            )
            for known in (with_it, without)
        ]
        agree = [(pair[0] == pair[1]).mean() for pair in pairs]
        gained.append((agree[0] - agree[1]) / g)
    by_size = np.reshape(gained, (count, 60))
    shapley = by_size.mean()
    shapley_se = np.sqrt((by_size.var(axis=1, ddof=1) / 60).mean() / count)
    return (total, total_se), (shapley, shapley_se)


def check(estimate, error, brute):
    value, value_error = brute
    assert max(error, value_error) <= 0.02
    assert abs(estimate - value) <= 3 * np.hypot(error, value_error), (estimate, error, brute)


@pytest.fixture(scope="module")
def dependent():
    z = np.random.default_rng(17).multivariate_normal(np.zeros(len(PATHS)), correlation(), 2000)
    u = special.ndtr(z)
    columns = {
        path: CATALOGUE.entries[path].prior.quantile(u[:, i]) for i, path in enumerate(PATHS)
    }
    return make_draws(columns, source="test")


def targets_for(outcomes):
    return targets_of(QUESTION.options, leader_of(outcomes))


def test_dependent_effects_agree_with_brute_force(dependent):
    outcomes = MODEL(dependent.columns)
    targets = targets_for(outcomes)
    effects = shapley_effects(
        MODEL, fit_copula(dependent.columns), outcomes, singles(PATHS), targets, seed=1
    )
    t = targets.names.index("winner")
    for path in CHECKED:
        i = PATHS.index(path)
        total, shapley = nested(i, correlation(), seed=i)
        check(effects.total[t, i], effects.total_se[t, i], total)
        check(effects.shapley[t, i], effects.shapley_se[t, i], shapley)


def test_independent_effects_agree_with_brute_force():
    draws = prior_draws(CATALOGUE, 2000, 3)
    outcomes = MODEL(draws.columns)
    targets = targets_for(outcomes)
    sobol = sobol_effects(
        MODEL,
        quantiles_of(draws.columns, CATALOGUE),
        singles(PATHS),
        targets,
        points=1024,
        seed=1,
        second_order=False,
    )
    shapley = shapley_effects(
        MODEL,
        fit_copula(draws.columns, independent=True),
        outcomes,
        singles(PATHS),
        targets,
        seed=1,
        permutations=40,
    )
    t = targets.names.index("winner")
    for path in CHECKED:
        i = PATHS.index(path)
        brute_total, brute_shapley = nested(i, np.eye(len(PATHS)), seed=20 + i)
        check(sobol.total[t, i], sobol.total_se[t, i], brute_total)
        check(shapley.shapley[t, i], shapley.shapley_se[t, i], brute_shapley)


def test_ranking_of_drivers_does_not_change_at_twice_the_size():
    draws = prior_draws(CATALOGUE, 2000, 3)
    targets = targets_for(MODEL(draws.columns))
    quantiles = quantiles_of(draws.columns, CATALOGUE)
    once, twice = (
        sobol_effects(MODEL, quantiles, singles(PATHS), targets, points=points, seed=seed)
        for points, seed in ((4096, 1), (8192, 2))
    )
    for t, name in enumerate(targets.names):
        if name in once.constant or name in twice.constant:
            continue
        error = np.hypot(once.total_se[t], twice.total_se[t])
        # 280 comparisons of Student's t with 7 degrees of freedom either side: 6 errors.
        assert np.all(np.abs(once.total[t] - twice.total[t]) <= 6 * error + 1e-12), name
        gap = once.total[t][:, np.newaxis] - once.total[t]
        gap_twice = twice.total[t][:, np.newaxis] - twice.total[t]
        allowed = 3 * np.hypot(error[:, np.newaxis], error)
        changed = (gap * gap_twice < 0) & (np.abs(gap - gap_twice) > allowed)
        assert not changed.any(), name
    t = targets.names.index("winner")
    leading = [np.argsort(-effects.total[t])[:6].tolist() for effects in (once, twice)]
    # The third and fourth are within a standard error of each other.
    assert leading[0][:2] == leading[1][:2]
    assert set(leading[0]) == set(leading[1])


def test_study_of_priors_takes_less_than_thirty_seconds():
    draws = prior_draws(CATALOGUE, 5000, 1)
    plan = Plan(methods=("sobol",), groups=built_in_groups(PATHS), jobs=min(2, os.cpu_count() or 1))
    started = time.perf_counter()
    study = study_question(QUESTION, draws, CATALOGUE, plan)
    elapsed = time.perf_counter() - started
    assert study.main.second is not None
    assert elapsed < LIMIT_S


def test_shapley_of_two_thousand_draws_takes_less_than_thirty_seconds(dependent):
    outcomes = MODEL(dependent.columns)
    copula = fit_copula(dependent.columns)
    started = time.perf_counter()
    effects = shapley_effects(
        MODEL, copula, outcomes, singles(PATHS), targets_for(outcomes), seed=1
    )
    elapsed = time.perf_counter() - started
    assert effects.evaluations > 4_000_000
    assert elapsed < LIMIT_S
