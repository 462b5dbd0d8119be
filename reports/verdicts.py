"""The decision in sentences that the terminal and the memo share.

The figures are the summary's; nothing is estimated here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reports.findings import BEYOND_ERROR, DO_NOTHING, UNSETTLED, Answer, named, opening
from reports.numbers import NOTHING, Notation

OVER_BUDGET = "over budget"


def economics_of(answer: Answer) -> Mapping[str, Any] | None:
    """What options are worth at their costs; None for a run without costs."""
    found: Mapping[str, Any] | None = answer.get("economics")
    return found


def appraisal_of(economics: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The appraisal of the option called `name`."""
    found: Mapping[str, Any] = next(o for o in economics["options"] if o["option"] == name)
    return found


def estimate(record: Mapping[str, Any] | None, notation: Notation) -> str:
    """An amount with its simulation error."""
    if record is None:
        return NOTHING
    return notation.amount_with_error(record["value"], record["mcse"])


def share(record: Mapping[str, Any] | None, answer: Answer, notation: Notation) -> str:
    """A probability with its simulation error, for a table."""
    if record is None:
        return NOTHING
    return notation.share_with_error(record["value"], record["mcse"], answer["effective_draws"])


def share_in_words(record: Mapping[str, Any], answer: Answer, notation: Notation) -> str:
    """A probability with its simulation error, for a sentence."""
    return notation.share_in_words(record["value"], record["mcse"], answer["effective_draws"])


def verdict(answer: Answer, notation: Notation) -> str:
    """What to do at these costs, and why."""
    economics = answer["economics"]
    study = economics["decision"]["study"]
    if study is None:
        return choice(answer, notation)
    return (
        f"Measure first: {notation.name(study['name'])}, {notation.amount(study['size'])}"
        f" {notation.name(study['unit'])}, is worth {estimate(study['value'], notation)}"
        f" productive accelerators to this decision and costs {notation.amount(study['cost'])}."
        f" Without it: {choice(answer, notation)}"
    )


def choice(answer: Answer, notation: Notation) -> str:
    """What to fund if nothing is measured first, and why."""
    economics = answer["economics"]
    decision = economics["decision"]
    if decision["option"] == DO_NOTHING:
        return _nothing(answer, notation)
    one = appraisal_of(economics, decision["option"])
    label = named(one["option"], notation)
    text = (
        f"Fund {label} at {_cost(one, notation)}{_of_budget(economics, notation)}. It costs less"
        f" than it is worth in {share_in_words(one['p_pays'], answer, notation)} of draws, and"
        f" {_brings(one, economics, notation)}."
    )
    tolerance = economics["risk_tolerance"]
    if tolerance is not None:
        text += (
            f" At a risk tolerance of {notation.amount(tolerance)} it has the largest certainty"
            f" equivalent, {estimate(one['certainty_equivalent'], notation)}."
            f"{_given_up(economics, notation)}"
        )
    return f"{text}{_close(economics, notation)}"


def _given_up(economics: Mapping[str, Any], notation: Notation) -> str:
    """What less risk costs on average; empty where the choice is also expected to bring more."""
    decision = economics["decision"]
    lead = decision["lead"]
    if lead is None or lead["value"] >= 0:
        return ""
    amount = notation.amount_with_error(abs(lead["value"]), lead["mcse"])
    rival = named(decision["rival"], notation)
    return f" On average it brings {amount} less than {rival}, which is riskier."


def _nothing(answer: Answer, notation: Notation) -> str:
    economics = answer["economics"]
    text = "Fund nothing on this list: "
    if economics["budget"] > 0:
        budget = notation.amount(economics["budget"])
        text += (
            f"accelerators for the whole budget of {budget} are expected to bring more than any"
            " option at its cost."
        )
    else:
        text += "no option is expected to gain anything within a budget of 0."
    rival = economics["decision"]["rival"]
    if rival is None:
        return text
    one = appraisal_of(economics, rival)
    pays = share_in_words(one["p_pays"], answer, notation)
    return (
        f"{text} {named(rival, notation)} is nearest: it costs less than it is worth in {pays} of"
        f" draws, and {_brings(one, economics, notation)}.{_close(economics, notation)}"
    )


def _cost(one: Mapping[str, Any], notation: Notation) -> str:
    amount = notation.amount(one["cost"]["mean"])
    certain = one["cost"]["p10"] == one["cost"]["p90"]
    return f"{'' if certain else 'an expected '}{amount} accelerators"


def _of_budget(economics: Mapping[str, Any], notation: Notation) -> str:
    if economics["budget"] == 0:
        return ""
    return f" of a budget of {notation.amount(economics['budget'])}"


def _brings(one: Mapping[str, Any], economics: Mapping[str, Any], notation: Notation) -> str:
    """What an option brings beyond accelerators for the same money."""
    net = one["net_value"]
    amount = notation.amount_with_error(abs(net["value"]), net["mcse"])
    than = "accelerators for the whole budget" if economics["budget"] > 0 else "doing nothing"
    more = "more" if net["value"] >= 0 else "less"
    return f"brings {amount} productive accelerators {more} than {than} on average"


def _close(economics: Mapping[str, Any], notation: Notation) -> str:
    """A warning where simulation does not tell the choice from the next best."""
    if not is_close(economics):
        return ""
    rival = named(economics["decision"]["rival"], notation)
    return f" {opening(rival)} is expected to bring about as much. {UNSETTLED}"


def is_close(economics: Mapping[str, Any]) -> bool:
    """Whether the choice's lead over the next best is within simulation error."""
    lead = economics["decision"]["lead"]
    if lead is None or economics["risk_tolerance"] is not None:
        return False
    return bool(abs(lead["value"]) <= BEYOND_ERROR * lead["mcse"])


def most_often_best(economics: Mapping[str, Any]) -> Mapping[str, Any]:
    """The option that is the best choice in the largest share of draws."""
    feasible = [one for one in economics["options"] if one["feasible"]]
    return max(feasible, key=lambda one: one["p_best"]["value"])


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceSwitch:
    """How far all costs may rise together before another option is the one to choose.

    Parameters
    ----------
    option
        What is chosen at these costs.
    factor
        The largest multiple of the costs looked at up to which that holds.
    beyond
        What is chosen at the next multiple, None where none was found.
    """

    option: str
    factor: float
    beyond: str | None


def price_switch(economics: Mapping[str, Any]) -> PriceSwitch:
    """Where the choice switches as all costs scale."""
    frontier, factors = economics["curves"]["frontier"], economics["curves"]["factors"]
    start = next((k for k, factor in enumerate(factors) if factor >= 1.0), len(factors) - 1)
    option = frontier["option"][start]
    for k in range(start, len(factors)):
        if frontier["option"][k] != option:
            return PriceSwitch(option=option, factor=factors[k - 1], beyond=frontier["option"][k])
    return PriceSwitch(option=option, factor=factors[-1], beyond=None)


def confidence(answer: Answer, notation: Notation) -> str:
    """How sure the choice is at these costs, and what it may lose."""
    economics = answer["economics"]
    one = appraisal_of(economics, economics["decision"]["option"])
    label = named(one["option"], notation)
    best = share_in_words(one["p_best"], answer, notation)
    text = opening(
        f"{label} is the best choice at these costs in {best} of draws (± is simulation error only)"
    )
    loss = one["expected_loss"]
    if loss["value"] > 0:
        text += (
            ". Where it is not, another would have been better: over all draws that loses"
            f" {estimate(loss, notation)} productive accelerators on average"
        )
        if one["loss_p90"]:
            # A tail quantile is known about half as well as the mean.
            worst = notation.amount(one["loss_p90"], 2 * loss["mcse"])
            text += f", and {worst} or more in one draw of ten"
    text += "."
    if one["option"] != DO_NOTHING:
        idle = appraisal_of(economics, DO_NOTHING)
        text += (
            f" In the worst tenth of draws it leaves {estimate(one['cvar'], notation)} productive"
            f" accelerators on average, doing nothing {estimate(idle['cvar'], notation)}."
        )
    return text


def information(economics: Mapping[str, Any], notation: Notation) -> str:
    """What any study may cost at most."""
    most = economics["perfect_information"]
    return (
        f"Knowing everything before deciding would be worth {estimate(most, notation)} productive"
        " accelerators: no study that costs more pays."
    )


def horizon(economics: Mapping[str, Any], notation: Notation) -> str:
    """The horizon of costs and benefits, and how far the budget goes."""
    text = (
        "Costs and benefits are counted over"
        f" {notation.amount(economics['horizon_days'])} days; the budget is"
        f" {notation.amount(economics['budget'])} accelerators"
    )
    stated = "as stated" if economics["stated_budget"] else "the largest expected cost"
    return f"{text} ({stated})."


def short_verdict(answer: Answer, notation: Notation) -> str:
    """The decision in a cell."""
    decision = answer["economics"]["decision"]
    if decision["verdict"] == "measure_first":
        return "measure first"
    if decision["verdict"] == "do_not_fund":
        return "fund nothing"
    return f"fund {notation.name(decision['option'])}"
