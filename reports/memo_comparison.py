"""What changed since the last run, told from a comparison that was computed elsewhere."""

from collections.abc import Iterator, Mapping
from typing import Any

from reports import memo_tables
from reports.document import Block, Heading, Paragraph, Table
from reports.voice import LONGEST_CELL, LONGEST_NAME, Voice
from reports.wording import Words, listed, plain_text, runs_of, sentences

MOST_CHANGES = 3
"""Changes of one input that are told; the others are counted."""

MOST_OPTIONS = 6
DIGEST = 12


def compared(
    voice: Voice, summary: Mapping[str, Any], comparison: Mapping[str, Any] | None
) -> Iterator[Block]:
    """Inputs, choice and values against another run; nothing without a comparison."""
    if comparison is None:
        return
    regime = summary["answers"][0]["regime"]
    answer = next((one for one in comparison["answers"] if one["regime"] == regime), None)
    yield Heading(text=voice.say("heading.compared"))
    lead = voice.say(
        "compared.lead",
        other=voice.name(comparison["other"]["path"]),
        digest=comparison["other"]["digest"][:DIGEST],
    )
    notes = (
        voice.say("footer.note", text=voice.name(note, 3 * LONGEST_NAME))
        for note in comparison["notes"]
    )
    told = voice.say("compared.other_regime") if answer is None else _choice(voice, answer)
    yield Paragraph(text=sentences(lead, told, _inputs(voice, comparison), *map(_ended, notes)))
    if answer is not None:
        yield _values(voice, answer)


def _ended(words: Words) -> Words:
    return words if plain_text(words).endswith((".", "!", "?", "…")) else (*words, *runs_of("."))


def _choice(voice: Voice, answer: Mapping[str, Any]) -> Words:
    """Whether the choice is another one, and which input did it."""
    before, after = answer["before"]["option"], answer["after"]["option"]
    if before == after:
        return voice.say("compared.same", option=voice.option(after))
    text = voice.say("compared.changed", before=voice.option(before), after=voice.option(after))
    alone = [one["input"] for one in answer["decisive"] if one["alone"] not in (None, before)]
    without = [one["input"] for one in answer["decisive"] if one["without"] == before]
    for key, names in (("decisive_one", alone), ("decisive_without", without)):
        if names:
            named = listed((memo_tables.input_name(voice, name) for name in names), ", ")
            why = voice.say(f"compared.{key}", input=named, before=voice.option(before))
            return sentences(text, why)
    if not answer["decisive"]:
        return text
    return sentences(text, voice.say("compared.together"))


def _inputs(voice: Voice, comparison: Mapping[str, Any]) -> Words:
    changed = [one for one in comparison["inputs"] if one["changed"]]
    if not changed:
        return voice.say("compared.inputs_none")
    parts = []
    for one in changed:
        changes = [
            voice.say(
                "compared.change",
                path=voice.name(change["path"], LONGEST_CELL),
                before=_shown(voice, change["before"]),
                after=_shown(voice, change["after"]),
            )
            for change in one["changes"][:MOST_CHANGES]
        ]
        rest = len(one["changes"]) - len(changes) + one["left_out"]
        if rest > 0:
            changes.append(voice.say("compared.more", count=voice.notation.amount(rest)))
        name = memo_tables.input_name(voice, one["input"])
        inside = (*runs_of(" ("), *listed(changes, ", "), *runs_of(")")) if changes else ()
        parts.append((*name, *inside))
    return voice.say("compared.inputs", inputs=voice.listed(parts))


def _shown(voice: Voice, value: str) -> Words:
    return (voice.name(value, LONGEST_CELL),) if value else voice.say("compared.absent")


def _values(voice: Voice, answer: Mapping[str, Any]) -> Table:
    """What options are worth now and before, with the inputs that moved each."""
    priced = any("net_value" in one["values"] for one in answer["options"])
    worth = voice.text("compared.net_value" if priced else "compared.gain")
    heads = (
        voice.say("table.option"),
        voice.say("compared.rank_head"),
        runs_of(f"{worth}, {voice.text('compared.before_head').lower()}"),
        voice.say("compared.now_head"),
        voice.say("compared.because"),
    )
    return Table(
        caption=voice.text("table.compared"),
        heads=heads,
        rows=tuple(memo_tables.comparison_rows(voice, answer, MOST_OPTIONS)),
        align="llrrl",
        widths=(1.2, 0.0, 0.0, 0.0, 2.0),
    )
