"""The comparison as text: inputs, decision, and the values that moved with what moved them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from decision.output import USUAL, wrapped
from model.interventions import DO_NOTHING
from studies.comparing.changes import CODE, COSTS, DRAWS, EVIDENCE, INTERVENTIONS, PRIORS, SCENARIO

SHOWN = 8
"""Fields of an input that are listed one by one."""

TINY = 1e-6
"""Accelerators: an error below it is rounding."""

BEYOND_ERROR = 2.0
"""Standard errors from which simulation tells a change from none."""

CALLED = {
    CODE: "code and versions",
    DRAWS: "draws and seed",
    SCENARIO: "scenario",
    INTERVENTIONS: "interventions",
    PRIORS: "priors",
    EVIDENCE: "evidence",
    COSTS: "costs",
}


def render(content: Mapping[str, Any]) -> str:
    """The whole comparison as text.

    Parameters
    ----------
    content
        The comparison as plain data, as in ``comparison.json``.
    """
    lines = [_headline(content), ""]
    for note in content["notes"]:
        lines += wrapped(note)
    if content["notes"]:
        lines.append("")
    lines += _inputs(content)
    for answer in content["answers"]:
        lines.append("")
        if len(content["answers"]) > 1:
            lines += [f"regime: {_plain(answer['regime']) or 'as described'}", "─" * USUAL]
        lines += _answer(answer, content["parts_of"])
    return "\n".join(line.rstrip() for line in lines) + "\n"


def called(label: str) -> str:
    """Inputs that were swapped together, in words."""
    return " and ".join(CALLED[name] for name in label.split("+"))


def _headline(content: Mapping[str, Any]) -> str:
    older, newer = content["other"], content["run"]
    return f"What changed from {_plain(older['path'])} to {_plain(newer['path'])}"


def _inputs(content: Mapping[str, Any]) -> Iterator[str]:
    if not any(one["changed"] for one in content["inputs"]):
        yield "No input differs."
        return
    yield "Inputs that differ"
    for one in content["inputs"]:
        if not one["changed"]:
            continue
        yield f"  {CALLED[one['input']]}"
        for change in one["changes"][:SHOWN]:
            before, after = (_plain(change[end]) or "none" for end in ("before", "after"))
            unit = "" if change["unit"] in ("", "1") else f" {change['unit']}"
            yield from wrapped(f"{_plain(change['path'])}: {before} → {after}{unit}", indent=4)
        more = len(one["changes"][SHOWN:]) + one["left_out"]
        if more:
            yield f"    and {more} more"


def _answer(answer: Mapping[str, Any], parts_of: Sequence[str]) -> Iterator[str]:
    yield from wrapped(_decision(answer))
    for one in answer["decisive"]:
        yield from wrapped(_decisive(one, answer), indent=2)
    yield ""
    economics = answer["after"]["verdict"] is not None and answer["before"]["verdict"] is not None
    quantity = "net_value" if economics else "gain"
    yield from _table(answer, quantity, parts_of)


def _decision(answer: Mapping[str, Any]) -> str:
    before, after = (_choice(answer[end]) for end in ("before", "after"))
    if before == after:
        return f"Decision: unchanged, {after}."
    return f"Decision: {before} before, {after} now."


def _choice(outcome: Mapping[str, Any]) -> str:
    option = _plain(outcome["option"])
    words = {
        None: f"{option} is recommended",
        "fund": f"fund {option}",
        "do_not_fund": "fund nothing",
        "measure_first": f"measure first (without that: {option})",
    }
    return words[outcome["verdict"]]


def _decisive(one: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    before, after = answer["before"]["option"], answer["after"]["option"]
    label = called(one["input"])
    if one["alone"] is None:
        return f"{label}: not swapped alone"
    alone = "leaves the choice" if one["alone"] == before else "makes it"
    text = f"{label}: new alone, {alone} {_plain(one['alone'])}"
    if one["without"] is None:
        return text
    rest = "still" if one["without"] == after else "it would be"
    return f"{text}; all new but this, {rest} {_plain(one['without'])}"


def _table(answer: Mapping[str, Any], quantity: str, parts_of: Sequence[str]) -> Iterator[str]:
    titles = {
        "net_value": "Net value: productive accelerators more than the budget buys",
        "gain": "Gain in productive accelerators",
    }
    yield f"{titles[quantity]}; what each input changed of it (± is simulation error)"
    both = [
        one
        for one in answer["options"]
        # Doing nothing is what the others are measured against.
        if quantity in one["values"] and one["option"] != DO_NOTHING
    ]
    wide = max((len(_plain(one["option"])) for one in both), default=6)
    heads = ["before", "now", "change", *(called(label) for label in parts_of)]
    room = [max(11, len(head) + 2) for head in heads]
    yield " " * (wide + 2) + "".join(f"{h:>{w}}" for h, w in zip(heads, room, strict=True))
    for one in both:
        value = one["values"][quantity]
        cells = [
            _amount(value["before"]["value"]),
            _amount(value["after"]["value"]),
            _with_error(value["change"]),
            *(_with_error(part) for part in value["parts"]),
        ]
        yield f"  {_plain(one['option']):<{wide}}" + "".join(
            f"{cell:>{w}}" for cell, w in zip(cells, room, strict=True)
        )
    for status, words in (("new", "only in the newer run"), ("gone", "only in the older run")):
        names = [_plain(one["option"]) for one in answer["options"] if one["status"] == status]
        if names:
            yield from wrapped(f"{words}: {', '.join(names)}", indent=2)
    together = [
        f"{_plain(one['option'])} {_amount(one['values'][quantity]['interaction'])}"
        for one in both
        if abs(one["values"][quantity]["interaction"])
        > BEYOND_ERROR * max(1.0, one["values"][quantity]["change"]["mcse"])
    ]
    if together:
        yield from wrapped(
            "what inputs do only together, shared out among them: " + ", ".join(together), indent=2
        )


def _amount(value: float) -> str:
    return f"{value:,.0f}".replace("-", "−") if round(value) else "0"


def _with_error(record: Mapping[str, float]) -> str:
    text = _amount(record["value"])
    if record["mcse"] < TINY:
        return text
    return f"{text} ± {max(1.0, record['mcse']):,.0f}"


def _plain(text: object) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in str(text)).split())
