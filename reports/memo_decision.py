"""The decision: what is asked, instead of what, how surely, at what risk, and what would change it.

The figures are the summary's; nothing is estimated here.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from reports import findings, verdicts
from reports.document import Callout, Facts
from reports.findings import DO_NOTHING, Answer
from reports.memo_ask import ask, priced
from reports.voice import Voice
from reports.wording import Words, runs_of, sentences

SWITCHES_TOLD = 3
"""Switching values in the box: the table holds the others."""


def alarms(voice: Voice, summary: Mapping[str, Any]) -> Iterator[Callout]:
    """What a reader must know before the first figure."""
    answer, question, notation = summary["answers"][0], summary["question"], voice.notation
    effective = answer["effective_draws"]
    sampler = summary["sampler"]
    if sampler is not None and not sampler["converged"]:
        reasons = voice.listed((voice.name(reason),) for reason in sampler["reasons"])
        yield Callout(text=voice.say("alarm.unconverged", reasons=reasons))
    if answer["baseline"]["below_indicative"]:
        yield Callout(
            text=voice.say("alarm.small", count=notation.amount(answer["baseline"]["accelerators"]))
        )
    outside = answer["p_out_of_scope"]
    if outside > findings.OUT_OF_SCOPE_ALARM:
        share = voice.simple_share(outside, effective)
        yield Callout(text=voice.say("alarm.outside", share=share))
    inside = answer["leader_in_scope"]
    if inside is not None and inside != answer["leader"]:
        led = findings.option_of(answer, inside)["p_first_in_scope"]
        yield Callout(
            text=voice.say(
                "alarm.scope_leader",
                leader=voice.option(answer["leader"]),
                share=voice.first_place(answer, answer["leader"]),
                inside=voice.option(inside),
                inside_share=voice.simple_share(led, effective * (1.0 - outside)),
            )
        )
    if effective < findings.FEW_EFFECTIVE_DRAWS:
        yield Callout(text=voice.say("alarm.few", count=notation.amount(effective)))
    if not question["evidence"] and not question["draws_file"]:
        yield Callout(text=voice.say("alarm.priors"))


def decision(voice: Voice, summary: Mapping[str, Any]) -> Facts:
    """The box that a director reads first."""
    answer = summary["answers"][0]
    economics = verdicts.economics_of(answer)
    contents = {
        "ask": ask(voice, summary),
        "alternatives": _alternatives_at_costs(voice, answer)
        if economics
        else _alternatives(voice, answer),
        "sure": _sure_at_costs(voice, answer) if economics else _sure(voice, summary, answer),
        "wrong": _wrong_at_costs(voice, answer) if economics else _wrong(voice, answer),
        "change": _change(voice, summary, answer),
    }
    return Facts(rows=tuple((voice.say(f"fact.{key}"), text) for key, text in contents.items()))


def _alternatives(voice: Voice, answer: Answer) -> Words:
    """The option next in line, and doing nothing."""
    leader, chosen = answer["leader"], answer["recommended"]
    others = [
        option["option"]
        for option in answer["options"]
        if option["option"] not in (chosen, DO_NOTHING)
    ]
    if chosen == DO_NOTHING:
        if not others:
            return voice.say("alternatives.none")
        rival = findings.option_of(answer, others[0])
        gain = voice.estimate({"value": rival["gain_mean"], "mcse": rival["gain_mcse"]})
        return voice.say(
            "alternatives.changes",
            rival=voice.option(rival["option"]),
            description=voice.described(rival),
            gain=gain,
        )
    idle = voice.say("alternatives.idle", loss=voice.regret(answer, DO_NOTHING))
    if not others:
        return idle
    name = leader if leader in others else others[0]
    text = voice.say(
        "alternatives.leads" if name == leader else "alternatives.next",
        rival=voice.option(name),
        description=voice.described(findings.option_of(answer, name)),
        share=voice.first_place(answer, name),
        loss=voice.regret(answer, name),
    )
    return sentences(text, idle)


def _alternatives_at_costs(voice: Voice, answer: Answer) -> Words:
    economics = answer["economics"]
    rival = economics["decision"]["rival"]
    if rival is None:
        return voice.say("alternatives.none_affordable")
    idle = verdicts.appraisal_of(economics, DO_NOTHING)
    accelerators = voice.say(
        "alternatives.idle_at_cost", loss=voice.estimate(idle["expected_loss"])
    )
    if rival == DO_NOTHING:
        return accelerators
    one = verdicts.appraisal_of(economics, rival)
    text = voice.say(
        "alternatives.next_at_cost",
        rival=voice.option(rival),
        description=voice.described(findings.option_of(answer, rival)),
        cost=voice.notation.amount(one["cost"]["mean"]),
        share=voice.share(one["p_pays"], answer),
        loss=voice.estimate(one["expected_loss"]),
    )
    return text if economics["decision"]["option"] == DO_NOTHING else sentences(text, accelerators)


def _sure(voice: Voice, summary: Mapping[str, Any], answer: Answer) -> Words:
    chosen = findings.option_of(answer, answer["recommended"])
    name, effective = chosen["option"], answer["effective_draws"]
    before: Words = ()
    prior = chosen["p_first_prior"]
    if prior is not None and summary["question"]["source"] != "prior":
        before = voice.say("sure.before", share=voice.simple_share(prior, effective))
    best = voice.say(
        "sure.best",
        option=voice.opening(voice.option(name)),
        share=voice.first_place(answer, name),
        before=before,
    )
    return sentences(
        best, _disagreement(voice, answer), _told_apart(voice, answer), voice.say("sure.explained")
    )


def _disagreement(voice: Voice, answer: Answer) -> Words:
    """What is said where the leader is not the recommended option."""
    leader = answer["leader"]
    if answer["recommended"] == leader:
        return ()
    text = voice.say(
        "sure.disagree",
        leader=voice.opening(voice.option(leader)),
        share=voice.first_place(answer, leader),
        loss=voice.regret(answer, leader),
    )
    settled = findings.losses_settled(answer)
    return text if settled else sentences(text, voice.say("common.unsettled"))


def _told_apart(voice: Voice, answer: Answer) -> Words:
    """Whether the evidence separates the choice from its rival."""
    separation = answer["separation_recommended"] or answer["separation"]
    if separation is None:
        return ()
    rival = next(
        separation[key] for key in ("second", "first") if separation[key] != answer["recommended"]
    )
    return voice.say(f"sure.{findings.evidence_verdict(separation)}", rival=voice.option(rival))


def _sure_at_costs(voice: Voice, answer: Answer) -> Words:
    economics = answer["economics"]
    one = verdicts.appraisal_of(economics, economics["decision"]["option"])
    best = voice.say(
        "sure.best_at_cost",
        option=voice.opening(priced(voice, economics, one["option"])),
        share=voice.share(one["p_best"], answer),
    )
    leader = verdicts.most_often_best(economics)
    text: Words = ()
    if leader["option"] != one["option"]:
        text = voice.say(
            "sure.disagree_cost" if economics["risk_tolerance"] is None else "sure.disagree_risk",
            leader=voice.opening(priced(voice, economics, leader["option"])),
            share=voice.share(leader["p_best"], answer),
            loss=voice.estimate(leader["expected_loss"]),
        )
    return sentences(best, text, voice.say("sure.explained"))


def _wrong(voice: Voice, answer: Answer) -> Words:
    chosen = findings.option_of(answer, answer["recommended"])
    loss = {"value": chosen["expected_regret"], "mcse": chosen["expected_regret_mcse"]}
    return sentences(_loses(voice, loss, chosen["regret_p90"]), voice.say("wrong.productive"))


def _loses(voice: Voice, loss: Mapping[str, Any], worst: float | None) -> Words:
    if loss["value"] <= 0:
        return voice.say("wrong.never")
    tail: Words = ()
    if worst:
        # A tail quantile is known about half as well as the mean.
        amount = voice.notation.amount(worst, 2 * loss["mcse"])
        tail = voice.say("wrong.tail", worst=amount)
    return voice.say("wrong.loses", loss=voice.estimate(loss), tail=tail)


def _wrong_at_costs(voice: Voice, answer: Answer) -> Words:
    economics = answer["economics"]
    one = verdicts.appraisal_of(economics, economics["decision"]["option"])
    worst: Words = ()
    if one["option"] != DO_NOTHING:
        idle = verdicts.appraisal_of(economics, DO_NOTHING)
        worst = voice.say(
            "wrong.worst_tenth",
            value=voice.estimate(one["cvar"]),
            than=priced(voice, economics, DO_NOTHING),
            idle=voice.estimate(idle["cvar"]),
        )
    loses = _loses(voice, one["expected_loss"], one["loss_p90"])
    return sentences(loses, worst, voice.say("wrong.productive"))


def _change(voice: Voice, summary: Mapping[str, Any], answer: Answer) -> Words:
    """Prices and assumptions at which the choice is another one."""
    drivers, economics = answer.get("drivers"), verdicts.economics_of(answer)
    if not drivers:
        flips = voice.say("change.unknown")
    elif not drivers["winner"]:
        flips = voice.say("change.constant")
    else:
        parts = list(_flips(voice, summary, answer))
        chosen = voice.option(answer["recommended"])
        when = "" if economics is None else "_before"
        flips = _instead(voice, parts, when, option=chosen)
    if economics is None:
        return flips
    return sentences(_prices(voice, economics), flips)


def _instead(voice: Voice, parts: list[Words], when: str = "", option: Words = ()) -> Words:
    """What to choose where; that nothing changes the choice where there is no such place."""
    if not parts:
        return voice.say(f"change.robust{when}", option=option)
    return sentences(
        voice.say(f"change.instead{when}", option=option), (*voice.listed(parts), *runs_of("."))
    )


def _prices(voice: Voice, economics: Mapping[str, Any]) -> Words:
    """Up to how many times the costs the choice stays the same."""
    found = verdicts.price_switch(economics)
    factor = voice.notation.amount(found.factor, 0.1, ratio=True)
    if found.beyond is None:
        option = priced(voice, economics, found.option)
        return voice.say("change.factor_never", option=option, factor=factor)
    beyond = voice.say(
        "change.factor", factor=factor, option=priced(voice, economics, found.beyond)
    )
    return _instead(voice, [beyond])


def _flips(voice: Voice, summary: Mapping[str, Any], answer: Answer) -> Iterator[Words]:
    """Where the recommendation flips as one assumption moves, the others as uncertain as before."""
    parameters = {parameter["path"]: parameter for parameter in summary["parameters"]}
    switches = [one for one in answer["drivers"]["switching"] if one["reading"] == "set"]
    for switch in switches[:SWITCHES_TOLD]:
        parameter = parameters.get(switch["parameter"])
        meaning = (parameter["meaning"] if parameter else "") or switch["parameter"]
        yield from _nearest_flips(voice, answer, switch, meaning)


def _nearest_flips(
    voice: Voice, answer: Answer, switch: Mapping[str, Any], meaning: str
) -> Iterator[Words]:
    """The flips on either side of where the recommended option is the choice."""
    chosen = answer["recommended"]
    for flip in switch["flips"]:
        if flip["below"] == chosen:
            direction, other = "change.above", flip["above"]
        elif flip["above"] == chosen:
            direction, other = "change.below", flip["below"]
        else:
            continue
        yield voice.say(
            "change.flip",
            parameter=voice.meaning(meaning),
            direction=voice.say(direction),
            value=voice.value(flip["value"], switch["unit"]),
            option=voice.option(other),
        )
