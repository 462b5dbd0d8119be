"""Whether the model fits what was measured, and which form of it was used: told where known."""

from collections.abc import Iterator, Mapping
from typing import Any

from reports import verdicts
from reports.document import Block, Callout, Heading, Paragraph
from reports.voice import Voice
from reports.wording import Words, sentences

LONGEST_VERDICT = 200
"""Characters: the longest sentence of a check has room, what a damaged run holds has not."""

MOST_TOLD = 3
"""Observations that do not fit, and ones that matter, told of; the run holds the others."""


def checks(voice: Voice, summary: Mapping[str, Any]) -> Iterator[Block]:
    """Predictive checks and what single observations decide; nothing where neither was made."""
    found = summary.get("evidence") or {}
    influence = summary["answers"][0].get("influence") or {}
    told = sentences(*_fit(voice, found), *_influence(voice, summary, influence))
    if told:
        yield Heading(text=voice.say("heading.checks"))
        yield Paragraph(text=told)


def any_drawn(summary: Mapping[str, Any]) -> bool:
    """Whether the run holds a picture of what was observed against what was predicted."""
    found = summary.get("evidence") or {}
    return any(one["observed"] is not None for one in found.get("checks") or ())


def _fit(voice: Voice, found: Mapping[str, Any]) -> Iterator[Words]:
    made = found.get("checks") or ()
    if not made:
        return
    failing = sorted(
        (one for one in made if one["status"] != "explained"), key=lambda one: float(one["tail"])
    )
    observations = {one["id"] for one in made}
    yield voice.say(
        "checks.count",
        fit=voice.notation.amount(len(observations - {one["id"] for one in failing})),
        all=voice.notation.amount(len(observations)),
    )
    for one in failing[:MOST_TOLD]:
        yield voice.say(
            "checks.beyond",
            observation=voice.name(one["id"]),
            verdict=voice.name(one["verdict"].rstrip(". "), LONGEST_VERDICT),
        )
    if len(failing) > MOST_TOLD:
        yield voice.say("checks.more", count=voice.notation.amount(len(failing) - MOST_TOLD))


def _influence(
    voice: Voice, summary: Mapping[str, Any], influence: Mapping[str, Any]
) -> Iterator[Words]:
    observations = influence.get("observations") or ()
    if not observations:
        return
    answer = summary["answers"][0]
    notable = [one for one in observations if one["notable"]]
    if not notable:
        shift = voice.notation.share(influence["notable_shift"], 0.0, answer["effective_draws"])
        yield voice.say("checks.none_decides", shift=shift.rstrip("%"))
    for one in notable[:MOST_TOLD]:
        effective = one["effective_draws"] or answer["effective_draws"]
        shares: dict[str, Any] = {
            "option": voice.option(one["option"]),
            "share": voice.simple_share(one["p_first"], answer["effective_draws"]),
            "without": voice.simple_share(one["p_first_without"], effective),
        }
        if one["method"] == "uncertain":
            yield voice.say("checks.uncertain", observation=voice.name(one["id"]))
        elif one["changes_recommendation"]:
            yield voice.say(
                "checks.changes",
                observation=voice.name(one["id"]),
                now=voice.option(one["recommended"]),
                recommended=voice.option(answer["recommended"]),
            )
        else:
            yield voice.say("checks.shifts", observation=voice.name(one["id"]), **shares)


def forms(voice: Voice, summary: Mapping[str, Any]) -> Iterator[Block]:
    """A warning where another form of the model leads to another option."""
    answer = summary["answers"][0]
    form = answer.get("form")
    if not form:
        return
    used = voice.name(form["used"])
    for other in form["others"]:
        name = voice.name(other["form"])
        if not form["same_leader"] and other["leader"] != answer["leader"]:
            share = {"value": other["p_first"], "mcse": other["p_first_mcse"]}
            yield Callout(
                text=voice.say(
                    "alarm.form_leader",
                    used=used,
                    leader=voice.option(answer["leader"]),
                    other=name,
                    other_leader=voice.option(other["leader"]),
                    share=voice.share(share, answer),
                )
            )
        elif (chosen := _chosen_by(other)) != _chosen(answer):
            yield Callout(
                text=voice.say(
                    "alarm.form_choice",
                    used=used,
                    option=voice.option(_chosen(answer)),
                    other=name,
                    other_option=voice.option(chosen),
                )
            )


def _chosen(answer: Mapping[str, Any]) -> str:
    """What the memo asks for."""
    economics = verdicts.economics_of(answer)
    return str(economics["decision"]["option"] if economics else answer["recommended"])


def _chosen_by(other: Mapping[str, Any]) -> str:
    """What would be asked for by another form."""
    return str(other["decision"] or other["recommended"])


def form_used(voice: Voice, summary: Mapping[str, Any]) -> Words:
    """Which form of the model was used; empty where the run does not say."""
    answer = summary["answers"][0]
    form = answer.get("form")
    if not form:
        return ()
    told = [voice.say("rests.form", used=voice.name(form["used"]))]
    for other in form["others"]:
        chosen = _chosen_by(other)
        same = "rests.form_same" if chosen == _chosen(answer) else "rests.form_other"
        told.append(voice.say(same, other=voice.name(other["form"]), option=voice.option(chosen)))
    return sentences(*told)
