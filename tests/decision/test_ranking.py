"""Rankings against hand-computed cases, closed forms and their invariants."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decision.outcomes import Outcomes
from decision.ranking import (
    Ranking,
    first_place_credit,
    rank_options,
    rank_shares,
    regret,
    winners,
)


def outcomes_of(
    gain: np.ndarray, *, in_scope: np.ndarray | None = None, sea: np.ndarray | None = None
) -> Outcomes:
    gain = np.asarray(gain, dtype=np.float64)
    draws = gain.shape[0]
    return Outcomes(
        options=("do_nothing", *(f"option_{k}" for k in range(1, gain.shape[1]))),
        gain=gain,
        sea=gain * 2 if sea is None else np.asarray(sea, dtype=np.float64),
        fates=np.full((draws, 4), 0.25),
        productive=np.full(draws, 1000.0),
        pool=np.full(draws, 2000.0),
        ettr=np.full(draws, 0.9),
        recovery_pressure=np.full(draws, 0.1),
        in_scope=np.ones(draws, dtype=bool) if in_scope is None else in_scope,
        marginal=np.full(draws, 0.5),
    )


def standing(ranking: Ranking, option: str) -> object:
    return next(s for s in ranking.standings if s.option == option)


def test_hand_computed_case() -> None:
    # Four draws; option_1 wins two, option_2 wins one and ties one with doing nothing.
    gain = [[0, 10, 4], [0, 6, 2], [0, 1, 9], [0, -5, 0]]
    ranking = rank_options(outcomes_of(gain), None)
    one, two, nothing = (standing(ranking, name) for name in ("option_1", "option_2", "do_nothing"))
    assert [s.option for s in ranking.standings] == ["option_1", "option_2", "do_nothing"]
    assert (one.p_first, two.p_first, nothing.p_first) == (0.5, 0.375, 0.125)
    assert (one.p_tied, two.p_tied, nothing.p_tied) == (0.0, 0.25, 0.25)
    assert ranking.tied_draws == 0.25
    assert (one.gain_mean, two.gain_mean) == (3.0, 3.75)
    # Best of each draw: 10, 6, 9, 0.
    assert one.expected_regret == pytest.approx((0 + 0 + 8 + 5) / 4)
    assert two.expected_regret == pytest.approx((6 + 4 + 0 + 0) / 4)
    assert nothing.expected_regret == pytest.approx(25 / 4)
    assert one.p_positive == 0.75
    assert one.ranks == (0.5, 0.25, 0.25)
    # Option 2 ranks second twice, first once, and shares the two first places with weight 1/2.
    assert two.ranks == (0.375, 0.625, 0.0)
    # The one that most often ranks first is not the one to take.
    assert ranking.leader.option == "option_1"
    assert ranking.recommended.option == "option_2"
    separation = ranking.separation
    assert (separation.first, separation.second) == ("option_1", "option_2")
    assert separation.p_beats == 0.5
    assert separation.gain_difference == pytest.approx(-0.75)
    assert separation.material == pytest.approx(2.0)
    against = ranking.separation_recommended
    assert (against.first, against.second) == ("option_2", "option_1")
    assert against.gain_difference == pytest.approx(0.75)
    winner, tied = winners(outcomes_of(gain))
    assert winner.tolist() == [1, 1, 2, 0]
    assert tied.tolist() == [False, False, False, True]


def test_scope_shows_both_ways() -> None:
    gain = [[0, 5, 1]] * 3 + [[0, 1, 5]] * 2
    scope = np.array([False, False, False, True, True])
    ranking = rank_options(outcomes_of(gain, in_scope=scope), None)
    assert ranking.leader.option == "option_1"
    assert ranking.leader_in_scope == "option_2"
    assert ranking.p_out_of_scope == pytest.approx(0.6)
    nowhere = rank_options(outcomes_of(gain, in_scope=np.zeros(5, dtype=bool)), None)
    assert nowhere.leader_in_scope is None
    assert np.isnan(nowhere.leader.p_first_in_scope)


def test_unattainable_option_can_lead() -> None:
    gain = [[0, 5, 1]] * 4
    sea = [[0, np.inf, 2]] * 4
    first = rank_options(outcomes_of(gain, sea=sea), None).leader
    assert first.option == "option_1"
    assert first.p_unattainable == 1.0
    assert first.sea_quantiles == (np.inf, np.inf, np.inf)


def test_doing_nothing_alone_is_a_ranking() -> None:
    ranking = rank_options(outcomes_of(np.zeros((3, 1))), None)
    assert ranking.leader.option == "do_nothing"
    assert ranking.separation is None


@pytest.mark.parametrize("options", [2, 3, 4, 5])
def test_independent_normal_options_share_first_place(options: int) -> None:
    """P(best) = 1/K, and the expected regret of each is E[max] (oracles D), within 4 errors."""
    expected_maximum = {2: 0.5641896, 3: 0.8462844, 4: 1.0293754, 5: 1.1629645}[options]
    gain = np.random.default_rng(options).normal(size=(40_000, options))
    ranking = rank_options(outcomes_of(gain), None)
    for s in ranking.standings:
        assert abs(s.p_first - 1 / options) < 4 * s.p_first_mcse
        assert s.p_first_mcse == pytest.approx(
            np.sqrt((1 - 1 / options) / options / 40_000), rel=0.05
        )
        assert abs(s.expected_regret - expected_maximum) < 4 * s.expected_regret_mcse
    # Negative control: a tenth of a standard deviation ahead is seen at this size.
    ahead = gain + np.where(np.arange(options) == 1, 0.1, 0.0)
    s = standing(rank_options(outcomes_of(ahead), None), "option_1")
    assert abs(s.p_first - 1 / options) > 4 * s.p_first_mcse


gains = st.integers(0, 2**32 - 1).map(
    lambda seed: np.round(np.random.default_rng(seed).normal(0, 2, size=(25, 5)))
)


@settings(max_examples=60, deadline=None)
@given(gain=gains)
def test_shares_are_probabilities(gain: np.ndarray) -> None:
    outcomes = outcomes_of(gain)
    credit = first_place_credit(outcomes)
    assert credit.sum(axis=1) == pytest.approx(np.ones(25))
    shares = rank_shares(outcomes)
    assert shares.sum(axis=0) == pytest.approx(np.ones(5))
    assert shares.sum(axis=1) == pytest.approx(np.ones(5))
    assert shares[:, 0] == pytest.approx(credit.mean(axis=0))
    assert (regret(outcomes) >= 0).all()
    assert (regret(outcomes).min(axis=1) == 0).all()


@settings(max_examples=40, deadline=None)
@given(gain=gains, seed=st.integers(0, 2**32 - 1))
def test_order_of_draws_and_options_changes_nothing(gain: np.ndarray, seed: int) -> None:
    generator = np.random.default_rng(seed)
    columns = generator.permutation(5)
    ranking = rank_options(outcomes_of(gain), None)
    shuffled = rank_options(outcomes_of(gain[generator.permutation(25)][:, columns]), None)
    for before in ranking.standings:
        k = _index(before.option)
        after = standing(shuffled, _name(int(np.flatnonzero(columns == k)[0])))
        assert after.p_first == pytest.approx(before.p_first)
        assert after.expected_regret == pytest.approx(before.expected_regret)
        assert after.sea_quantiles == before.sea_quantiles


def _index(option: str) -> int:
    return 0 if option == "do_nothing" else int(option.removeprefix("option_"))


def _name(index: int) -> str:
    return "do_nothing" if index == 0 else f"option_{index}"


@settings(max_examples=40, deadline=None)
@given(gain=gains)
def test_least_regret_is_largest_gain(gain: np.ndarray) -> None:
    ranking = rank_options(outcomes_of(gain), None)
    best = max(s.gain_mean for s in ranking.standings)
    assert ranking.recommended.gain_mean == pytest.approx(best)
