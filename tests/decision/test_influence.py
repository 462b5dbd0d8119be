"""Observations left out: closed forms, an actual refit, and what must be told from nothing."""

import numpy as np
import pytest
from scipy import stats

from decision import influence
from decision.influence import AtCosts, Ranked
from decision.inputs import gather
from decision.options import request_of
from decision.rank import build_parser
from decision.ranking import rank_options
from priors.importance import MOST_K, LeftOut, smoothed
from tests.decision.test_ranking import outcomes_of

DRAWS = 20_000


class Conjugate:
    """A normal mean with a standard normal prior, seen with known errors: all in closed form."""

    def __init__(self, values, errors):
        self.values, self.errors = np.array(values), np.array(errors)

    def without(self, *left_out):
        """Mean and standard deviation of the posterior of some of the observations."""
        kept = [place for place in range(self.values.size) if place not in left_out]
        precision = 1.0 + np.sum(self.errors[kept] ** -2.0)
        return np.sum(self.values[kept] / self.errors[kept] ** 2) / precision, precision**-0.5

    def draws(self, *left_out, seed=1):
        mean, sd = self.without(*left_out)
        return np.random.default_rng(seed).normal(mean, sd, DRAWS)

    def log_likelihood(self, theta):
        pairs = zip(self.values, self.errors, strict=True)
        return {f"y{n}": stats.norm.logpdf(v, theta, e) for n, (v, e) in enumerate(pairs)}


def ranked(theta, chain=None):
    """An option that gains theta against one that gains nothing."""
    return Ranked.of(outcomes_of(np.stack([np.zeros_like(theta), theta], axis=1)), chain)


def refuse(name):
    raise AssertionError(name)


def weights_without(log_likelihood):
    found = {name: smoothed(-density) for name, density in log_likelihood.items()}
    return {
        name: LeftOut(
            id=name, rows=np.arange(weights.size), weights=weights, pareto_k=shape, moved={}
        )
        for name, (weights, shape) in found.items()
    }


def reweighted(ranked, weights, moved=refuse):
    return influence.reweighted(ranked, list(weights.values()), moved)


def influences(ranked, weights, anew, moved=refuse):
    found = list(weights.values())
    return influence.influences(ranked, found, own=set(weights), moved=moved, anew=anew)


MILD = Conjugate([0.4, -0.3, 0.9], [1.0, 0.8, 0.9])
# The last observation alone says where theta is.
DECISIVE = Conjugate([0.4, -0.3, 3.0], [2.0, 2.0, 0.05])


def test_weights_give_the_closed_form_without_each_observation():
    theta = MILD.draws()
    weights = weights_without(MILD.log_likelihood(theta))
    for place, one in enumerate(weights.values()):
        mean, sd = MILD.without(place)
        # Four standard errors of so many effective draws; the variance has √2 more.
        error = sd / np.sqrt(one.effective)
        assert one.trusted
        assert one.weights @ theta == pytest.approx(mean, abs=4 * error)
        assert one.weights @ (theta - mean) ** 2 == pytest.approx(sd**2, abs=8 * sd * error)


def test_share_of_first_places_without_an_observation_is_the_closed_form():
    theta = MILD.draws()
    found = reweighted(ranked(theta), weights_without(MILD.log_likelihood(theta)))
    for place, one in enumerate(found):
        mean, sd = MILD.without(place)
        share = stats.norm.cdf(mean / sd)
        whole = stats.norm.cdf(np.divide(*MILD.without()))
        error = np.sqrt(share * (1 - share) / one.effective_draws)
        assert one.p_first[1] == pytest.approx(share, abs=4 * error)
        # The stated error is of the change, which shares its draws with the whole.
        assert one.p_first_change[one.option] == pytest.approx(
            (share - whole) * (1 if one.option == 1 else -1), abs=4 * one.mcse
        )
        assert one.gain_mean[1] == pytest.approx(mean, abs=4 * sd / np.sqrt(one.effective_draws))


def test_stated_error_is_that_of_repeated_simulation():
    changes, errors = [], []
    for seed in range(60):
        theta = MILD.draws(seed=seed)[:2000]
        [one, *_] = reweighted(ranked(theta), weights_without(MILD.log_likelihood(theta)))
        changes.append(one.p_first_change[1])
        errors.append(one.mcse)
    # The sd of 60 repeats has a relative error of 9%.
    assert np.mean(errors) == pytest.approx(np.std(changes, ddof=1), rel=0.3)


def test_observation_that_draws_cannot_leave_out_is_told_and_sampled_anew():
    theta = DECISIVE.draws()
    weights = weights_without(DECISIVE.log_likelihood(theta))
    assert weights["y2"].pareto_k > MOST_K
    assert weights["y0"].trusted

    asked = []

    def anew(name):
        asked.append(name)
        return ranked(DECISIVE.draws(2, seed=2))

    found = {one.id: one for one in influences(ranked(theta), weights, anew)}
    assert asked == ["y2"]
    one = found["y2"]
    assert one.method == "refitted"
    mean, sd = DECISIVE.without(2)
    share = stats.norm.cdf(mean / sd)
    assert one.p_first[1] == pytest.approx(share, abs=4 * one.mcse)
    assert one.notable
    # Control: weights alone would have said otherwise, by far more than any error.
    [naive] = reweighted(ranked(theta), {"y2": weights["y2"]})
    assert abs(naive.p_first[1] - share) > 20 * one.mcse


def test_recommendation_that_hangs_on_one_observation_is_told_first():
    # The first observation speaks against the option, the others for it.
    data = Conjugate([-1.6, 0.6, 0.6], [1.0, 1.0, 1.1])
    theta = data.draws()
    found = influences(ranked(theta), weights_without(data.log_likelihood(theta)), refuse)
    first = found[0]
    assert (first.id, first.recommended_changes, first.notable) == ("y0", True, True)
    assert rank_options(ranked(theta).outcomes, None).recommended.option == "do_nothing"
    assert first.recommended == 1
    assert not any(one.recommended_changes for one in found[1:])


def test_observation_that_says_nothing_changes_nothing():
    theta = MILD.draws()
    flat = {"silent": np.full(DRAWS, -3.0)}
    [one] = influences(ranked(theta), weights_without(flat), refuse)
    assert np.all(one.p_first_change == 0.0)
    assert one.effective_draws == pytest.approx(DRAWS)
    assert not one.notable


def test_unrelated_observation_moves_no_more_than_its_error():
    # Control: its likelihood depends on a quantity that no option depends on.
    theta = MILD.draws()
    other = np.random.default_rng(5).normal(size=DRAWS)
    [one] = influences(
        ranked(theta), weights_without({"other": stats.norm.logpdf(0.5, other, 2.0)}), refuse
    )
    assert one.mcse > 0.0
    assert abs(one.p_first_change[one.option]) < 4 * one.mcse
    assert not one.notable


def test_equal_weights_are_the_ranking_itself():
    rng = np.random.default_rng(3)
    outcomes = outcomes_of(rng.normal(size=(1001, 4)), sea=rng.normal(size=(1001, 4)))
    outcomes.sea[rng.random((1001, 4)) < 0.3] = np.inf
    chain = np.repeat(np.arange(7), 143)
    [one] = reweighted(Ranked.of(outcomes, chain), weights_without({"a": np.zeros(1001)}))
    ranking = rank_options(outcomes, chain)
    names = [f"option_{k}" if k else "do_nothing" for k in range(4)]
    by_name = {item.option: item for item in ranking.standings}
    for place, name in enumerate(names):
        assert one.p_first[place] == pytest.approx(by_name[name].p_first)
        assert one.gain_mean[place] == pytest.approx(by_name[name].gain_mean)
        assert one.sea_p50[place] == by_name[name].sea_quantiles[1]
    assert names[one.leader] == ranking.leader.option
    assert names[one.recommended] == ranking.recommended.option


@pytest.mark.parametrize("tolerance", [None, 0.7])
def test_choice_at_costs_is_that_of_weighted_utility(tolerance):
    rng = np.random.default_rng(4)
    values = rng.normal([0.0, 0.3, 0.5, 9.0], [0.1, 0.2, 2.0, 0.1], (4000, 4))
    weights = rng.dirichlet(np.ones(4000))
    costs = AtCosts(
        values=values, feasible=np.array([True, True, True, False]), tolerance=tolerance
    )
    # Resampled by the weights, the mean and the certainty equivalent are plain ones.
    sample = values[rng.choice(4000, 200_000, p=weights)]
    worth = (
        sample.mean(axis=0)
        if tolerance is None
        else -tolerance * np.log(np.exp(-sample / tolerance).mean(axis=0))
    )
    assert costs.best(weights) == int(np.argmax(worth[:3]))
    # The risky option wins on average and loses with an aversion to risk.
    assert costs.best(weights) == (2 if tolerance is None else 1)


def test_draws_that_were_moved_are_ranked_where_they_are_now():
    # Draws of the posterior with everything, moved by hand onto that without the last observation.
    theta = DECISIVE.draws()
    (mean, sd), (wide_mean, wide_sd) = DECISIVE.without(), DECISIVE.without(2)
    there = (theta - mean) / sd * wide_sd + wide_mean
    # Every fourth of them only: the rest plays no part.
    rows = np.arange(0, DRAWS, 4)
    one = LeftOut(
        id="y2",
        rows=rows,
        weights=np.full(rows.size, 1.0 / rows.size),
        pareto_k=-np.inf,
        moved={"theta": there[rows]},
    )
    [found] = reweighted(ranked(theta), {"y2": one}, lambda one: ranked(one.moved["theta"]))
    share = stats.norm.cdf(wide_mean / wide_sd)
    assert found.p_first[1] == pytest.approx(share, abs=4 * found.mcse)
    # With it theta is surely positive, without it one cannot tell: the change is that of shares.
    error = np.sqrt(share * (1 - share) / rows.size)
    assert found.mcse == pytest.approx(error, rel=0.2)
    assert found.gain_mean[1] == pytest.approx(wide_mean, abs=4 * wide_sd / np.sqrt(DRAWS))


def test_published_observation_that_weights_cannot_leave_out_stays_uncertain():
    theta = DECISIVE.draws()
    found = list(weights_without(DECISIVE.log_likelihood(theta)).values())
    ordered = influence.influences(ranked(theta), found, own=(), moved=refuse, anew=refuse)
    last = ordered[-1]
    assert (last.id, last.method, last.notable) == ("y2", "uncertain", False)


def test_run_without_refits_is_another_run():
    def digest(*more):
        asked = build_parser().parse_args(["--evidence", "none", "--draws", "50", *more])
        return gather(request_of(asked)).digest

    assert digest("--no-refits") != digest()
    assert digest("--no-refits") == digest("--no-refits")
