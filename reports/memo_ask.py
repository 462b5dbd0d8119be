"""What the board is asked for, in one row of the decision.

The figures are the summary's; nothing is estimated here.
"""

from collections.abc import Mapping
from typing import Any

from reports import findings, verdicts
from reports.findings import DO_NOTHING, Answer
from reports.voice import Voice
from reports.wording import Words, runs_of, sentences


def ask(voice: Voice, summary: Mapping[str, Any]) -> Words:
    """What the board is asked for."""
    answer = summary["answers"][0]
    sampler = summary["sampler"]
    failed = sampler is not None and not sampler["converged"]
    economics = verdicts.economics_of(answer)
    return sentences(
        voice.say("ask.unconverged") if failed else (),
        _verdict(voice, answer) if economics else _proposal(voice, answer),
        voice.say("common.regime", regime=voice.regime(answer)),
    )


def _proposal(voice: Voice, answer: Answer) -> Words:
    chosen = findings.option_of(answer, answer["recommended"])
    if chosen["option"] != DO_NOTHING:
        fund = voice.say(
            "ask.fund", option=voice.option(chosen["option"]), description=voice.described(chosen)
        )
        return sentences(fund, _ceiling(voice, chosen))
    leader = findings.option_of(answer, answer["leader"])
    harm: Words = ()
    if leader["option"] != DO_NOTHING:
        harm = voice.say(
            "ask.nothing_harm",
            leader=voice.option(leader["option"]),
            share=voice.first_place(answer, leader["option"]),
            loss=voice.notation.amount(abs(leader["gain_mean"]), leader["gain_mcse"]),
        )
    return sentences(voice.say("ask.nothing"), harm)


def _ceiling(voice: Voice, option: Mapping[str, Any]) -> Words:
    """Up to which price an option is worth funding."""
    low, middle = option["sea"]["p10"], option["sea"]["p50"]
    fields: dict[str, Any] = {
        "option": voice.option(option["option"]),
        "low": voice.notation.sea(low),
        "middle": voice.notation.sea(middle),
        "gain": voice.estimate({"value": option["gain_mean"], "mcse": option["gain_mcse"]}),
    }
    return voice.say(f"ask.{findings.ceiling_case(option)}", **fields)


def _verdict(voice: Voice, answer: Answer) -> Words:
    economics = answer["economics"]
    study = economics["decision"]["study"]
    first: Words = ()
    if study is not None:
        first = voice.say("ask.measure", **voice.offer(study))
    return sentences(first, _choice(voice, answer))


def _choice(voice: Voice, answer: Answer) -> Words:
    economics, notation = answer["economics"], voice.notation
    chosen = economics["decision"]["option"]
    if chosen == DO_NOTHING:
        return _buy_instead(voice, answer)
    one = verdicts.appraisal_of(economics, chosen)
    budget: Words = ()
    if economics["budget"] > 0:
        budget = voice.say("ask.of_budget", budget=notation.amount(economics["budget"]))
    fund = voice.say(
        "ask.fund_at_cost",
        option=voice.option(chosen),
        description=voice.described(findings.option_of(answer, chosen)),
        cost=_cost(voice, one),
        budget=budget,
    )
    return sentences(
        fund,
        voice.say("ask.pays", **_worth(voice, answer, one)),
        _averse(voice, answer, one),
        _close(voice, answer),
    )


def _cost(voice: Voice, one: Mapping[str, Any]) -> Words:
    amount = voice.notation.amount(one["cost"]["mean"])
    certain = one["cost"]["p10"] == one["cost"]["p90"]
    return voice.say("ask.expected", cost=amount) if not certain else runs_of(amount)


def _worth(voice: Voice, answer: Answer, one: Mapping[str, Any]) -> dict[str, Any]:
    """How often an option pays and what it brings, for a sentence."""
    economics, net = answer["economics"], one["net_value"]
    return {
        "share": voice.share(one["p_pays"], answer),
        "net": voice.estimate({"value": abs(net["value"]), "mcse": net["mcse"]}),
        "more": voice.say("ask.more" if net["value"] >= 0 else "ask.less"),
        "than": priced(voice, economics, DO_NOTHING),
    }


def priced(voice: Voice, economics: Mapping[str, Any], option: str) -> Words:
    """An option where there is a budget: funding nothing buys accelerators for it."""
    if option == DO_NOTHING and economics["budget"] > 0:
        return voice.say("ask.than_budget")
    return voice.option(option)


def _averse(voice: Voice, answer: Answer, one: Mapping[str, Any]) -> Words:
    """What a stated risk tolerance decides, and what less risk costs on average."""
    economics = answer["economics"]
    tolerance, choice = economics["risk_tolerance"], economics["decision"]
    if tolerance is None:
        return ()
    text = voice.say(
        "ask.averse",
        tolerance=voice.notation.amount(tolerance),
        value=voice.estimate(one["certainty_equivalent"]),
    )
    lead = choice["lead"]
    if lead is None or lead["value"] >= 0:
        return text
    price = voice.say(
        "ask.averse_price",
        amount=voice.estimate({"value": abs(lead["value"]), "mcse": lead["mcse"]}),
        rival=voice.option(choice["rival"]),
    )
    return sentences(text, price)


def _close(voice: Voice, answer: Answer) -> Words:
    """A warning where simulation does not tell the choice from the next best."""
    if not verdicts.is_close(answer["economics"]):
        return ()
    rival = priced(voice, answer["economics"], answer["economics"]["decision"]["rival"])
    return voice.say("ask.close", rival=voice.opening(rival))


def _buy_instead(voice: Voice, answer: Answer) -> Words:
    economics = answer["economics"]
    key = "ask.nothing_budget" if economics["budget"] > 0 else "ask.nothing_free"
    text = voice.say(key, budget=voice.notation.amount(economics["budget"]))
    rival = economics["decision"]["rival"]
    if rival is None:
        return text
    one = verdicts.appraisal_of(economics, rival)
    fields = _worth(voice, answer, one)
    nearest = voice.say("ask.nearest", rival=voice.opening(voice.option(rival)), **fields)
    return sentences(text, nearest, _close(voice, answer))
