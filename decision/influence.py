"""What each observation does to the ranking: every one left out in turn.

:mod:`priors.left_out` weights the draws for the posterior without an observation. Where its weights
are not to be trusted, that posterior is sampled anew.

Shapes: n draws, K options.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from decision.outcomes import Outcomes
from decision.precision import Layout, mean_error
from decision.ranking import first_place_credit, regret
from priors.importance import LeftOut

type Floats = NDArray[np.float64]
type Method = Literal["reweighted", "refitted", "uncertain"]

NOTABLE_SHIFT = 0.05
"""Change of a share of first places from which an observation is named."""

BEYOND_ERROR = 2.0
"""Standard errors from which simulation tells a change from none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AtCosts:
    """What options are worth at their costs, where a choice is made by that.

    Parameters
    ----------
    values
        Utility of each option on each draw; (n, K).
    feasible
        Whether an option is within the budget; (K,).
    tolerance
        Risk tolerance, None for expected utility.
    """

    values: Floats
    feasible: NDArray[np.bool_]
    tolerance: float | None

    def best(self, weights: Floats) -> int:
        """Index of the choice under weights of the draws."""
        if self.tolerance is None:
            worth = weights @ self.values
        else:
            # −R·log E exp(−u/R), about the mean so that nothing overflows.
            middle = weights @ self.values
            risen = np.exp(-(self.values - middle) / self.tolerance)
            worth = middle - self.tolerance * np.log(weights @ risen)
        return int(np.argmax(np.where(self.feasible, worth, -np.inf)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """Outcomes of draws, with what is computed of them once for all weights.

    Parameters
    ----------
    outcomes
        Options on draws.
    layout
        Chains of the draws.
    credit, loss
        Shares of first place and regret of each option on each draw; (n, K).
    order
        Draws in order of SEA, for each option; (n, K).
    at_costs
        None where the choice is that of least expected regret.
    """

    outcomes: Outcomes
    layout: Layout
    credit: Floats
    loss: Floats
    order: NDArray[np.intp]
    at_costs: AtCosts | None

    @classmethod
    def of(
        cls,
        outcomes: Outcomes,
        chain: NDArray[np.int64] | None,
        at_costs: AtCosts | None = None,
    ) -> "Ranked":
        """Prepare outcomes for weighting."""
        return cls(
            outcomes=outcomes,
            layout=Layout.of(chain, outcomes.draws),
            credit=first_place_credit(outcomes),
            loss=regret(outcomes),
            order=np.argsort(outcomes.sea, axis=0),
            at_costs=at_costs,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Influence:
    """The ranking without one observation, beside that with it.

    Parameters
    ----------
    id
        The observation.
    method
        How it was left out.
    pareto_k, effective_draws
        Of the weights; the effective draws of a refit are its own.
    p_first, gain_mean, sea_p50
        Of each option without the observation, in the order of the options; (K,).
    p_first_change, gain_change
        Those less the figures with it; (K,).
    option
        Index of the option whose share of first places moves most.
    mcse
        Standard error of that move.
    leader, recommended
        Index of the option that most often ranks first, and of the one to choose, without the
        observation.
    leader_changes, recommended_changes
        Whether they are others than with it.
    """

    id: str
    method: Method
    pareto_k: float
    effective_draws: float
    p_first: Floats
    p_first_change: Floats
    gain_mean: Floats
    gain_change: Floats
    sea_p50: Floats
    option: int
    mcse: float
    leader: int
    recommended: int
    leader_changes: bool
    recommended_changes: bool

    @property
    def notable(self) -> bool:
        """Whether a reader must be told: another recommendation, or a large move beyond chance.

        Of an uncertain one nothing is said.
        """
        if self.method == "uncertain":
            return False
        move = abs(float(self.p_first_change[self.option]))
        return self.recommended_changes or move > max(NOTABLE_SHIFT, BEYOND_ERROR * self.mcse)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Figures:
    """What a ranking says of weighted draws; (K,) each."""

    shares: Floats
    gains: Floats
    sea: Floats
    leader: int
    recommended: int

    @classmethod
    def of(cls, ranked: Ranked, weights: Floats | None = None) -> "_Figures":
        """Means and medians over draws, by default of equal weight."""
        outcomes = ranked.outcomes
        if weights is None:
            weights = np.full(outcomes.draws, 1.0 / outcomes.draws)
        shares, gains = weights @ ranked.credit, weights @ outcomes.gain
        if ranked.at_costs is None:
            recommended = int(np.argmin(weights @ ranked.loss))
        else:
            recommended = ranked.at_costs.best(weights)
        # Half, less the rounding of a sum of n terms.
        place = np.argmax(np.cumsum(weights[ranked.order], axis=0) >= 0.5 - 1e-12, axis=0)
        columns = np.arange(shares.size)
        return cls(
            shares=shares,
            gains=gains,
            sea=outcomes.sea[ranked.order[place, columns], columns],
            leader=min(columns.tolist(), key=lambda k: (-shares[k], -gains[k], k)),
            recommended=recommended,
        )


def reweighted(
    ranked: Ranked, left_out: Sequence[LeftOut], moved: Callable[[LeftOut], Ranked]
) -> list[Influence]:
    """The ranking under the weights of each observation left out.

    The error of a change is that of the mean of n·w·(x' − x̄_w) − (x − x̄), x' being x at the place
    that the draw was moved to and w zero for draws that are not used: what both means share
    cancels.

    Parameters
    ----------
    ranked
        With all observations.
    left_out
        Weights of the draws.
    moved
        Ranks the draws that are used at the places they were moved to.
    """
    whole, draws = _Figures.of(ranked), ranked.outcomes.draws
    found, pairs = [], np.empty((draws, len(left_out)))
    for place, one in enumerate(left_out):
        there, weights = ranked, np.zeros(draws)
        weights[one.rows] = one.weights
        if one.moved:
            there, weights = moved(one), one.weights
        without = _Figures.of(there, weights)
        option = _most_moved(whole, without)
        credit = there.credit[:, option] - without.shares[option]
        pairs[:, place] = whole.shares[option] - ranked.credit[:, option]
        rows = one.rows if one.moved else slice(None)
        pairs[rows, place] += draws * weights * credit
        found.append((one, without, option))
    errors = mean_error(pairs, ranked.layout) if found else ()
    return [
        _influence(
            one.id, whole, without, method="reweighted" if one.trusted else "uncertain",
            pareto_k=one.pareto_k,
            effective=one.effective, option=option, mcse=float(error),
        )
        for (one, without, option), error in zip(found, errors, strict=True)
    ]  # fmt: skip


def refitted(name: str, ranked: Ranked, anew: Ranked, *, pareto_k: float) -> Influence:
    """The ranking on draws of a posterior that never saw the observation.

    Parameters
    ----------
    name
        The observation.
    ranked, anew
        With it and without it.
    pareto_k
        Of the weights that were not to be trusted.
    """
    whole, without = _Figures.of(ranked), _Figures.of(anew)
    option = _most_moved(whole, without)
    errors = [float(mean_error(one.credit[:, option], one.layout)) for one in (ranked, anew)]
    return _influence(
        name, whole, without, method="refitted", pareto_k=pareto_k,
        effective=float(anew.layout.effective(anew.credit[:, option])),
        option=option, mcse=float(np.hypot(errors[0], errors[1])),
    )  # fmt: skip


def influences(
    ranked: Ranked,
    left_out: Sequence[LeftOut],
    *,
    own: Collection[str],
    moved: Callable[[LeftOut], Ranked],
    anew: Callable[[str], Ranked],
) -> list[Influence]:
    """Every observation left out, the most influential first.

    Parameters
    ----------
    ranked
        With all observations.
    left_out
        Weights for each.
    own
        The planner's own observations: where weights are not to be trusted, the posterior is
        sampled anew without them. Of published ones the figures stay uncertain.
    moved
        Ranks the draws at the places they were moved to.
    anew
        Ranks a posterior sampled without an observation.
    """
    again = [one for one in left_out if one.id in own and not one.trusted]
    found = reweighted(
        ranked, [one for one in left_out if one.id not in {item.id for item in again}], moved
    )
    found += [refitted(one.id, ranked, anew(one.id), pareto_k=one.pareto_k) for one in again]
    order = [one.id for one in left_out]
    return sorted(
        found,
        key=lambda one: (
            one.method == "uncertain",
            not one.recommended_changes,
            -abs(float(one.p_first_change[one.option])),
            order.index(one.id),
        ),
    )


def _most_moved(whole: _Figures, without: _Figures) -> int:
    return int(np.argmax(np.abs(without.shares - whole.shares)))


def _influence(
    name: str,
    whole: _Figures,
    without: _Figures,
    *,
    method: Method,
    pareto_k: float,
    effective: float,
    option: int,
    mcse: float,
) -> Influence:
    return Influence(
        id=name,
        method=method,
        pareto_k=pareto_k,
        effective_draws=effective,
        p_first=without.shares,
        p_first_change=without.shares - whole.shares,
        gain_mean=without.gains,
        gain_change=without.gains - whole.gains,
        sea_p50=without.sea,
        option=option,
        mcse=mcse,
        leader=without.leader,
        recommended=without.recommended,
        leader_changes=without.leader != whole.leader,
        recommended_changes=without.recommended != whole.recommended,
    )
