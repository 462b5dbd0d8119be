"""From a ranking to a decision: what options are worth at their costs, and what to do.

Shapes: n draws, K options of which the first is "do nothing". Doing nothing spends the budget on
accelerators.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from decision import risk
from decision.acceptability import (
    Curves,
    OwnCurve,
    few_rows,
    price_factors,
    scale_all,
    scale_one,
)
from decision.costs import Costs
from decision.outcomes import Outcomes, Question
from decision.precision import Layout, mean_error, quantile
from decision.ranking import QUANTILES
from decision.utility import Utilities, pools_of, utilities
from model.substitution import ROUNDING

BEYOND_ERROR = 2.0
"""Standard errors from which simulation tells a net benefit from none."""

MOST_RESAMPLED = 10_000
"""Evenly spaced draws that dominance is tested and resampled on."""

type Verdict = Literal["fund", "do_not_fund", "measure_first"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A number with its Monte Carlo standard error, NaN where there is none."""

    value: float
    mcse: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Appraisal:
    """What one option is worth at its cost.

    Parameters
    ----------
    option
        Its name.
    feasible
        Whether its expected cost is within the budget.
    cost
        Expected cost in accelerators.
    cost_quantiles
        Its 10th, 50th and 90th percentile over draws.
    p_pays
        Probability that it costs less than its SEA.
    break_even
        Largest cost at which it pays with each of :data:`decision.risk.CONFIDENCES`.
    net_value
        Expected productive accelerators more than when the budget buys accelerators.
    net_quantiles
        The same at the 10th, 50th and 90th percentile.
    utility
        Expected productive accelerators.
    p_best
        Probability that it is the best choice, ties shared.
    expected_loss, loss_p90
        Productive accelerators forgone against the best choice of each draw, and their 90th
        percentile.
    tail
        Mean productive accelerators in the worst tenth of draws (CVaR).
    certainty_equivalent
        At the stated risk tolerance; None without one.

    Notes
    -----
    What compares options is NaN for one that is not feasible.
    """

    option: str
    feasible: bool
    cost: float
    cost_quantiles: tuple[float, float, float]
    p_pays: Estimate
    break_even: tuple[Estimate, ...]
    net_value: Estimate
    net_quantiles: tuple[float, float, float]
    utility: Estimate
    p_best: Estimate
    expected_loss: Estimate
    loss_p90: float
    tail: Estimate
    certainty_equivalent: Estimate | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A study that could be made before deciding.

    Parameters
    ----------
    study
        Its name.
    size
        How much of it: hours, runs, restarts, steps.
    unit
        What the size counts.
    value
        EVSI in productive accelerators, over what is left of the horizon after it.
    cost
        What it costs, in productive accelerators too.
    """

    study: str
    size: int
    unit: str
    value: Estimate
    cost: float

    @property
    def net(self) -> float:
        """Value less cost."""
        return self.value.value - self.cost


@dataclass(frozen=True, slots=True, kw_only=True)
class Economics:
    """The decision and what it rests on.

    Parameters
    ----------
    utilities
        Options on draws, their costs and the budget.
    stated_budget
        Whether the user stated the budget.
    risk_tolerance
        As asked.
    appraisals
        In the order of the options, doing nothing first.
    chosen
        The choice: the largest certainty equivalent at a stated risk tolerance, else the largest
        expected utility.
    rival, lead
        The next best feasible option, None where there is none, and the expected difference to it.
    perfect_information
        Smallest expected loss, EVPI: no study that costs more is worth it.
    p_beats
        Probability that the option of the row is better than that of the column, among feasible
        ones.
    dominances
        Over feasible options, as names.
    curves, own_curves
        How the choice depends on costs.
    offer
        The study whose value exceeds its cost by most, None where none does.
    """

    utilities: Utilities
    stated_budget: bool
    risk_tolerance: float | None
    appraisals: tuple[Appraisal, ...]
    chosen: str
    rival: str | None
    lead: Estimate | None
    perfect_information: Estimate
    feasible: tuple[str, ...]
    p_beats: np.ndarray
    dominances: tuple[tuple[str, str, int, float], ...]
    curves: Curves
    own_curves: tuple[OwnCurve, ...]
    offer: Offer | None = None

    @property
    def verdict(self) -> Verdict:
        """Fund the choice, do not fund, or measure first."""
        if self.offer is not None:
            return "measure_first"
        return "do_not_fund" if self.chosen == self.appraisals[0].option else "fund"

    def of(self, option: str) -> Appraisal:
        """The appraisal of an option by name."""
        return next(one for one in self.appraisals if one.option == option)

    def with_offer(self, offer: Offer | None) -> "Economics":
        """The decision where a study may be made first.

        It changes where the study's value exceeds its cost by more than simulation error explains,
        and by more than that of a study offered before.
        """
        if offer is None or offer.net <= BEYOND_ERROR * offer.value.mcse:
            return self
        better = self.offer is None or offer.net > self.offer.net
        return replace(self, offer=offer) if better else self


def appraise(
    question: Question,
    columns: Mapping[str, np.ndarray],
    outcomes: Outcomes,
    costs: Costs,
    *,
    budget: float | None = None,
    risk_tolerance: float | None = None,
    chain: np.ndarray | None = None,
    seed: int = 1,
) -> Economics:
    """Appraise every option at its cost and decide.

    Parameters
    ----------
    question, columns, outcomes
        What was asked, of which draws (costs among the columns), with which result.
    costs, budget, risk_tolerance
        As asked; without a budget it is the largest expected cost.
    chain
        Chain of each draw, None for independent draws.
    seed
        Of the bootstrap.
    """
    found = utilities(question, columns, costs, budget)
    layout = Layout.of(chain, outcomes.draws)
    appraisals = _appraisals(found, outcomes, layout, risk_tolerance)
    admissible = found.admissible
    order = order_of_merit(found, risk_tolerance)
    lead = None
    if len(order) > 1:
        difference = found.values[:, order[0]] - found.values[:, order[1]]
        lead = Estimate(value=float(difference.mean()), mcse=float(mean_error(difference, layout)))
    values = found.values[:, admissible]
    loss = risk.opportunity_loss(values)
    least = loss[:, int(loss.mean(axis=0).argmin())]
    rows = few_rows(outcomes.draws)
    pools = pools_of(question, columns, outcomes.draws).take(rows)
    few = replace(found, values=found.values[rows], costs=found.costs[rows])
    middle = quantile(outcomes.sea, 0.5)
    return Economics(
        utilities=found,
        stated_budget=budget is not None,
        risk_tolerance=risk_tolerance,
        appraisals=appraisals,
        chosen=found.options[order[0]],
        rival=found.options[order[1]] if len(order) > 1 else None,
        lead=lead,
        perfect_information=Estimate(
            value=float(least.mean()), mcse=float(mean_error(least, layout))
        ),
        feasible=tuple(found.options[k] for k in admissible),
        p_beats=risk.beats(values),
        dominances=tuple(
            (
                found.options[admissible[one.over]],
                found.options[admissible[one.under]],
                one.order,
                one.frequency,
            )
            for one in risk.dominances(values[few_rows(outcomes.draws, MOST_RESAMPLED)], seed)
        ),
        curves=scale_all(
            pools,
            few,
            price_factors(middle, found.expected_costs),
            stated_budget=budget is not None,
        ),
        own_curves=tuple(
            scale_one(pools, few, k) for k in admissible if k != 0 and found.budget > 0
        ),
    )


def choose(
    question: Question,
    columns: Mapping[str, np.ndarray],
    costs: Costs,
    budget: float | None,
    risk_tolerance: float | None,
) -> str:
    """The option that :func:`appraise` would choose, and nothing else."""
    found = utilities(question, columns, costs, budget)
    return found.options[order_of_merit(found, risk_tolerance)[0]]


def order_of_merit(found: Utilities, risk_tolerance: float | None) -> list[int]:
    """Options that the budget pays, best first, the first listed where the rest is rounding.

    The largest certainty equivalent at a stated risk tolerance, else the largest expected utility.
    """
    merit = found.values.mean(axis=0)
    if risk_tolerance is not None:
        merit = risk.certainty_equivalent(found.values, risk_tolerance)
    left = [int(k) for k in found.admissible]
    order = []
    while left:
        best = max(merit[k] for k in left)
        first = next(k for k in left if merit[k] >= best - ROUNDING * abs(best))
        left.remove(first)
        order.append(first)
    return order


def _appraisals(
    found: Utilities, outcomes: Outcomes, layout: Layout, risk_tolerance: float | None
) -> tuple[Appraisal, ...]:
    """One an option, in their order."""
    admissible = found.admissible
    net = found.values - found.values[:, :1]
    paying = risk.pays(outcomes.sea, found.costs).astype(np.float64)
    credit, loss = np.full(net.shape, np.nan), np.full(net.shape, np.nan)
    credit[:, admissible] = risk.best_credit(found.values[:, admissible])
    loss[:, admissible] = risk.opportunity_loss(found.values[:, admissible])

    def estimates(samples: np.ndarray) -> list[Estimate]:
        errors = mean_error(samples, layout)
        return [
            Estimate(value=float(value), mcse=float(error))
            for value, error in zip(samples.mean(axis=0), errors, strict=True)
        ]

    def pairs(values: np.ndarray, errors: np.ndarray) -> list[Estimate]:
        return [
            Estimate(value=float(value), mcse=float(error))
            for value, error in zip(values, errors, strict=True)
        ]

    break_even = [
        pairs(
            risk.break_even(outcomes.sea, level), risk.break_even_error(outcomes.sea, level, layout)
        )
        for level in risk.CONFIDENCES
    ]
    tail = pairs(risk.tail_mean(found.values), risk.tail_mean_error(found.values, layout))
    sure: list[Estimate] | None = None
    if risk_tolerance is not None:
        sure = pairs(
            risk.certainty_equivalent(found.values, risk_tolerance),
            risk.certainty_equivalent_error(found.values, risk_tolerance, layout),
        )
    net_value, utility = estimates(net), estimates(found.values)
    p_pays, p_best, losses = estimates(paying), estimates(credit), estimates(loss)
    nothing = Estimate(value=np.nan, mcse=np.nan)
    spreads = [
        tuple(float(quantile(samples[:, k], p)) for p in QUANTILES)
        for samples in (found.costs, net)
        for k in range(len(found.options))
    ]
    count = len(found.options)
    return tuple(
        Appraisal(
            option=option,
            feasible=bool(found.feasible[k]),
            cost=float(found.expected_costs[k]),
            cost_quantiles=spreads[k],  # type: ignore[arg-type]
            p_pays=p_pays[k] if k else nothing,
            break_even=tuple(level[k] for level in break_even),
            net_value=net_value[k],
            net_quantiles=spreads[count + k],  # type: ignore[arg-type]
            utility=utility[k],
            p_best=p_best[k],
            expected_loss=losses[k],
            loss_p90=float(quantile(loss[:, k], 0.9)) if found.feasible[k] else np.nan,
            tail=tail[k],
            certainty_equivalent=None if sure is None else sure[k],
        )
        for k, option in enumerate(found.options)
    )
