"""Who ranks first, how surely, and what it costs to be wrong.

Shapes: n draws, K options, doing nothing first. The rank is by productive accelerators, which
orders unattainable options too; SEA is the reported break-even.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from decision.outcomes import Outcomes
from decision.precision import Layout, mean_error, paired_share_error, quantile, quantile_error
from model.substitution import ROUNDING

QUANTILES = (0.10, 0.50, 0.90)

MATERIAL_SHARE = 1e-3
"""Share of the pool below which a difference in productive accelerators decides nothing: the
published fit reproduces measured throughput to 1.6%, so that a tenth of a percent is beyond any
reader's means to check."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where one option stands, with Monte Carlo standard errors.

    Parameters
    ----------
    p_first, p_first_mcse
        Share of draws in which it ranks first, ties shared.
    p_first_in_scope
        The same over in-scope draws only; NaN where there are none.
    p_tied
        Share of draws in which it ranks first together with another.
    sea_quantiles, sea_mcse
        SEA at the 10th, 50th and 90th percentile and their errors.
    p_unattainable
        Share of draws in which no pool reaches it: it cannot be bought.
    p_positive
        Share of draws in which it gains anything.
    gain_mean, gain_mcse
        Expected gain in productive accelerators.
    expected_regret, expected_regret_mcse
        Expected productive accelerators forgone by choosing it in every draw.
    regret_p90
        90th percentile of that loss.
    ranks
        Share of draws at each rank, best first, ties spread evenly; sums to 1.
    """

    option: str
    p_first: float
    p_first_mcse: float
    p_first_in_scope: float
    p_tied: float
    sea_quantiles: tuple[float, float, float]
    sea_mcse: tuple[float, float, float]
    p_unattainable: float
    p_positive: float
    gain_mean: float
    gain_mcse: float
    expected_regret: float
    expected_regret_mcse: float
    regret_p90: float
    ranks: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Separation:
    """How well two options are told apart.

    Parameters
    ----------
    first, second
        Their names.
    share_difference, share_difference_mcse
        Difference of the shares ranked first, with its paired simulation error: it vanishes with
        draws.
    p_beats, p_beats_mcse
        Probability that the first gains more than the second, equal gains counted half: what the
        evidence cannot separate stays near one half whatever the draws.
    gain_difference, gain_difference_mcse
        Expected difference in productive accelerators.
    material
        Difference below which the two are as good as equal, in productive accelerators.
    """

    first: str
    second: str
    share_difference: float
    share_difference_mcse: float
    p_beats: float
    p_beats_mcse: float
    gain_difference: float
    gain_difference_mcse: float
    material: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """All options, best first.

    Parameters
    ----------
    standings
        Sorted by share ranked first, then by expected gain.
    recommended
        The option a board neutral to risk should take: least expected regret, which is also the
        largest expected gain; it need not be the one that most often ranks first.
    separation
        Of the two that most often rank first; None where doing nothing is the only option.
    separation_recommended
        Of the recommended option from the leader; None where they are the same.
    p_out_of_scope
        Share of draws out of the model's scope.
    p_past_peak
        Share of draws in which one more replica already lowers throughput.
    leader_in_scope
        Who leads when out-of-scope draws are left out; None where none is in scope.
    tied_draws
        Share of draws in which several options rank first.
    effective_draws
        Effective sample size of the leader's share.
    """

    standings: tuple[Standing, ...]
    recommended: Standing
    separation: Separation | None
    separation_recommended: Separation | None
    p_out_of_scope: float
    p_past_peak: float
    leader_in_scope: str | None
    tied_draws: float
    effective_draws: float

    @property
    def leader(self) -> Standing:
        """The option that most often ranks first."""
        return self.standings[0]


def first_place_credit(outcomes: Outcomes) -> np.ndarray:
    """Share of first place of each option in each draw: 1/t to each of t that tie; (n, K)."""
    first = _first(outcomes)
    return np.asarray(first / first.sum(axis=1, keepdims=True))


def winners(outcomes: Outcomes) -> tuple[np.ndarray, np.ndarray]:
    """Index of the first-listed option that ranks first, and whether it ties; both (n,)."""
    first = _first(outcomes)
    return first.argmax(axis=1), first.sum(axis=1) > 1


def _first(outcomes: Outcomes) -> np.ndarray:
    best = outcomes.gain.max(axis=1, keepdims=True)
    return np.asarray(outcomes.gain >= best - ROUNDING * outcomes.productive[:, np.newaxis])


def regret(outcomes: Outcomes) -> np.ndarray:
    """Productive accelerators forgone by each option against the best of the draw; (n, K)."""
    return np.asarray(outcomes.gain.max(axis=1, keepdims=True) - outcomes.gain)


def rank_shares(outcomes: Outcomes) -> np.ndarray:
    """Share of draws in which an option holds a rank; (K, K), option by rank, best first.

    t options that tie over ranks r … r + t − 1 hold each of them with weight 1/t.
    """
    options = outcomes.gain.shape[1]
    tolerance = ROUNDING * outcomes.productive
    shares = np.zeros((options, options))
    for option in range(options):
        ahead = outcomes.gain - outcomes.gain[:, option : option + 1]
        better = (ahead > tolerance[:, np.newaxis]).sum(axis=1)
        equal = (np.abs(ahead) <= tolerance[:, np.newaxis]).sum(axis=1)
        weight = 1.0 / equal
        for rank in range(options):
            holds = (better <= rank) & (rank < better + equal)
            shares[option, rank] = np.mean(np.where(holds, weight, 0.0))
    return shares


def rank_options(outcomes: Outcomes, chain: np.ndarray | None) -> Ranking:
    """Rank options over all draws.

    Parameters
    ----------
    outcomes
        Draws by options.
    chain
        Chain of each draw, None for independent draws.

    Returns
    -------
    Ranking
        A share of 45.8 ± 0.7% says: rerun with another seed it would lie within 0.7 points two
        times in three. It does not say how far the evidence can be trusted.
    """
    layout = Layout.of(chain, outcomes.draws)
    credit = first_place_credit(outcomes)
    tied = _first(outcomes).sum(axis=1) > 1
    loss = regret(outcomes)
    shares, gains = credit.mean(axis=0), outcomes.gain.mean(axis=0)
    share_errors, gain_errors = mean_error(credit, layout), mean_error(outcomes.gain, layout)
    regrets, regret_errors = loss.mean(axis=0), mean_error(loss, layout)
    quantiles = [quantile(outcomes.sea, p) for p in QUANTILES]
    quantile_errors = [quantile_error(outcomes.sea, p, layout) for p in QUANTILES]
    scoped = credit[outcomes.in_scope]
    in_scope = scoped.mean(axis=0) if scoped.size else np.full(shares.shape, np.nan)
    ranks = rank_shares(outcomes)
    order = sorted(range(shares.size), key=lambda k: (-shares[k], -gains[k], k))
    standings = tuple(
        Standing(
            option=outcomes.options[k],
            p_first=float(shares[k]),
            p_first_mcse=float(share_errors[k]),
            p_first_in_scope=float(in_scope[k]),
            p_tied=float(np.mean(tied & (credit[:, k] > 0))),
            sea_quantiles=tuple(float(q[k]) for q in quantiles),  # type: ignore[arg-type]
            sea_mcse=tuple(float(q[k]) for q in quantile_errors),  # type: ignore[arg-type]
            p_unattainable=float(np.mean(np.isposinf(outcomes.sea[:, k]))),
            p_positive=float(np.mean(outcomes.gain[:, k] > 0)),
            gain_mean=float(gains[k]),
            gain_mcse=float(gain_errors[k]),
            expected_regret=float(regrets[k]),
            expected_regret_mcse=float(regret_errors[k]),
            regret_p90=float(quantile(loss[:, k], 0.9)),
            ranks=tuple(float(share) for share in ranks[k]),
        )
        for k in order
    )
    chosen = min(order, key=lambda k: regrets[k])
    separate = partial(_separate, outcomes, credit, layout)
    return Ranking(
        standings=standings,
        recommended=standings[order.index(chosen)],
        separation=separate(*order[:2]) if len(order) > 1 else None,
        separation_recommended=separate(chosen, order[0]) if chosen != order[0] else None,
        p_out_of_scope=float(1.0 - outcomes.in_scope.mean()),
        p_past_peak=float(np.mean(outcomes.marginal < 0)),
        leader_in_scope=outcomes.options[int(np.argmax(in_scope))] if scoped.size else None,
        tied_draws=float(tied.mean()),
        effective_draws=float(layout.effective(credit[:, order[0]])),
    )


def _separate(
    outcomes: Outcomes, credit: np.ndarray, layout: Layout, first: int, second: int
) -> Separation:
    difference = outcomes.gain[:, first] - outcomes.gain[:, second]
    rounding = ROUNDING * outcomes.productive
    beats = np.where(np.abs(difference) <= rounding, 0.5, (difference > 0).astype(np.float64))
    shares = credit.mean(axis=0)
    effective = float(layout.effective(credit[:, first] - credit[:, second]))
    return Separation(
        first=outcomes.options[first],
        second=outcomes.options[second],
        share_difference=float(shares[first] - shares[second]),
        share_difference_mcse=paired_share_error(
            float(shares[first]), float(shares[second]), effective
        ),
        p_beats=float(beats.mean()),
        p_beats_mcse=float(mean_error(beats, layout)),
        gain_difference=float(difference.mean()),
        gain_difference_mcse=float(mean_error(difference, layout)),
        material=float(MATERIAL_SHARE * outcomes.pool.mean()),
    )
