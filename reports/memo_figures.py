"""The two figures that carry the decision: which ones, what they find, and what they show in words.

Without costs: what each option may cost, and who ranks first. With costs: cost against worth, and
what happens as prices move.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from reports import findings, verdicts
from reports.document import Figure
from reports.findings import DO_NOTHING, Answer
from reports.voice import LONGEST_CELL, Voice
from reports.wording import Words, plain_text, sentences

MOST_ROWS = 12
"""Rows of a figure: more would cost a third page; the table holds all."""

SEEN = 0.005
"""Share of draws from which an option has a row among those that rank first."""

SEA, SHARES = "sea_intervals", "shares_first"
BREAK_EVEN, ACCEPTABILITY = "break_even", "acceptability"


def first_figure(voice: Voice, summary: Mapping[str, Any]) -> Figure:
    """What each option may cost; against its cost where there is one."""
    answer = summary["answers"][0]
    priced = verdicts.economics_of(answer) is not None
    return _break_even(voice, answer) if priced else _sea(voice, answer)


def second_figure(voice: Voice, summary: Mapping[str, Any]) -> Figure:
    """How sure the order is; what happens as prices move where there are costs."""
    answer = summary["answers"][0]
    if verdicts.economics_of(answer) is not None:
        return _acceptability(voice, answer)
    return _shares(voice, summary, answer)


def interval_rows(answer: Answer) -> Sequence[Mapping[str, Any]]:
    """Options of the first figure in their order; doing nothing is its zero line."""
    return _limited(
        answer, [one for one in answer["options"] if one["option"] != DO_NOTHING], MOST_ROWS
    )


def share_rows(answer: Answer) -> Sequence[Mapping[str, Any]]:
    """Options that rank first often enough to be seen."""
    seen = [
        one
        for one in answer["options"]
        if max(one["p_first"], one["p_first_prior"] or 0.0) >= SEEN
        or one["option"] == answer["recommended"]
    ]
    return _limited(answer, seen, MOST_ROWS)


def _limited(
    answer: Answer, options: Sequence[Mapping[str, Any]], most: int
) -> Sequence[Mapping[str, Any]]:
    """The first options and, wherever they rank, what is recommended or chosen."""
    economics = verdicts.economics_of(answer)
    kept = {answer["recommended"], economics["decision"]["option"] if economics else ""}
    chosen = [one for one in options if one["option"] in kept]
    first = [one for one in options if one not in chosen][: most - len(chosen)]
    return [one for one in options if one in first or one in chosen]


def _left_out(voice: Voice, shown: int, answer: Answer) -> Words:
    """How many options have no row, doing nothing aside."""
    count = sum(one["option"] != DO_NOTHING for one in answer["options"]) - shown
    return voice.say("figure.others", count=voice.notation.amount(count)) if count > 0 else ()


def _values(parts: Sequence[Words]) -> str:
    return "; ".join(plain_text(part) for part in parts)


def _sea(voice: Voice, answer: Answer) -> Figure:
    chosen = findings.option_of(answer, answer["recommended"])
    label, case = voice.option(chosen["option"]), findings.ceiling_case(chosen)
    low, middle = (voice.notation.sea(chosen["sea"][key]) for key in ("p10", "p50"))
    if chosen["option"] == DO_NOTHING:
        finding = voice.say("figure.sea_none")
    elif case in ("ceiling", "ceiling_open"):
        finding = voice.say("figure.sea_found", option=voice.opening(label), low=low)
    elif case == "ceiling_unattainable":
        finding = voice.say("figure.sea_open", option=voice.opening(label))
    elif case == "ceiling_half":
        finding = voice.say("figure.sea_half", option=voice.opening(label), middle=middle)
    else:
        finding = voice.say("figure.sea_never", option=label)
    shown = interval_rows(answer)
    values = _values(
        [
            voice.say(
                "figure.sea_value",
                option=(voice.name(one["option"], LONGEST_CELL),),
                low=voice.notation.sea(one["sea"]["p10"]),
                middle=voice.notation.sea(one["sea"]["p50"]),
                high=voice.notation.sea(one["sea"]["p90"]),
            )
            for one in shown
        ]
    )
    return Figure(
        name=SEA,
        caption=sentences(
            voice.say("figure.sea", finding=finding), _left_out(voice, len(shown), answer)
        ),
        alternative=voice.text("figure.sea_alternative", values=values),
    )


def compared_with_priors(summary: Mapping[str, Any], answer: Answer) -> bool:
    """Whether draws can be compared with what the priors alone said."""
    return summary["question"]["source"] != "prior" and any(
        one["p_first_prior"] is not None for one in answer["options"]
    )


def _shares(voice: Voice, summary: Mapping[str, Any], answer: Answer) -> Figure:
    shown = share_rows(answer)
    first = answer["options"][0]["option"]
    fields: dict[str, Any] = {
        "first": voice.opening(voice.option(first)),
        "share": voice.first_place(answer, first),
    }
    if len(answer["options"]) > 1:
        second = answer["options"][1]["option"]
        finding = voice.say(
            "figure.shares_found",
            **fields,
            second=voice.option(second),
            second_share=voice.first_place(answer, second),
        )
    else:
        finding = voice.say("figure.shares_one", **fields)
    compared = compared_with_priors(summary, answer)
    posterior = summary["question"]["source"] == "posterior"
    caption = voice.say(
        "figure.shares",
        finding=finding,
        source=voice.say("figure.shares_source") if compared and posterior else (),
        prior=voice.say("figure.shares_prior") if compared else (),
    )
    values = _values(
        [
            voice.say(
                "figure.shares_value",
                option=voice.option(one["option"], LONGEST_CELL),
                share=voice.first_place(answer, one["option"]),
            )
            for one in shown
        ]
    )
    return Figure(
        name=SHARES,
        caption=caption,
        alternative=voice.text("figure.shares_alternative", values=values),
    )


def _break_even(voice: Voice, answer: Answer) -> Figure:
    economics = answer["economics"]
    name = economics["decision"]["option"]
    if name == DO_NOTHING:
        finding = voice.say("figure.break_even_none")
    else:
        one = verdicts.appraisal_of(economics, name)
        finding = voice.say(
            "figure.break_even_found",
            option=voice.opening(voice.option(name)),
            share=voice.share(one["p_pays"], answer),
        )
    shown = interval_rows(answer)
    values = []
    for option in shown:
        one = verdicts.appraisal_of(economics, option["option"])
        values.append(
            voice.say(
                "figure.break_even_value",
                option=(voice.name(option["option"], LONGEST_CELL),),
                cost=voice.notation.amount(one["cost"]["mean"]),
                pays=voice.share(one["p_pays"], answer),
            )
        )
    return Figure(
        name=BREAK_EVEN,
        caption=sentences(
            voice.say("figure.break_even", finding=finding), _left_out(voice, len(shown), answer)
        ),
        alternative=voice.text("figure.break_even_alternative", values=_values(values)),
    )


def _acceptability(voice: Voice, answer: Answer) -> Figure:
    economics = answer["economics"]
    found = verdicts.price_switch(economics)
    fields: dict[str, Any] = {
        "option": voice.opening(voice.option(found.option)),
        "factor": voice.notation.amount(found.factor, 0.1, ratio=True),
    }
    if found.beyond is None:
        finding = voice.say("figure.acceptability_always", **fields)
    else:
        beyond = voice.option(found.beyond)
        finding = voice.say("figure.acceptability_found", **fields, beyond=beyond)
    most = voice.notation.amount(max(economics["curves"]["factors"]), 0.1, ratio=True)
    return Figure(
        name=ACCEPTABILITY,
        caption=voice.say("figure.acceptability", finding=finding),
        alternative=voice.text(
            "figure.acceptability_alternative", factor=most, finding=plain_text(finding)
        ),
    )
