"""How the memo speaks: the words of a language with its way of writing numbers and names."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from reports import findings
from reports.numbers import Notation, plain, spread_error
from reports.wording import Run, Wording, Words, capital, joined, runs_of, shipped

LONGEST_NAME, LONGEST_CELL, LONGEST_SOURCE, LONGEST_UNIT = 80, 48, 40, 16
"""Characters of a text from a user's file in a sentence and in a table cell, of a source and of a
unit: longer ones would cost a third page."""


def cut(text: str, longest: int) -> str:
    """A text on one line, cut with an ellipsis."""
    line = plain(text)
    return line if len(line) <= longest else f"{line[: longest - 1].rstrip(' ,;:')}…"


@dataclass(frozen=True, slots=True, kw_only=True)
class Voice:
    """Sentences, numbers and names of one language."""

    wording: Wording
    notation: Notation

    def say(self, key: str, **fields: str | Run | Words) -> Words:
        """The sentence of a key with its figures and names."""
        return self.wording.say(key, **fields)

    def text(self, key: str, **fields: str) -> str:
        """The sentence of a key without styles."""
        return self.wording.text(key, **fields)

    def name(self, text: str, longest: int = LONGEST_NAME) -> Run:
        """A text from a user's file."""
        return Run(text=cut(text, longest), foreign=True)

    def option(self, option: str, longest: int = LONGEST_NAME) -> Words:
        """An option inside a sentence."""
        if option == findings.DO_NOTHING:
            return self.say("common.do_nothing")
        return (self.name(option, longest),)

    def described(self, option: Mapping[str, Any]) -> Words:
        """What an option is, in brackets; empty where nobody said so."""
        text = option["description"].rstrip(". \n")
        return self.say("common.described", description=self.name(text)) if text.strip() else ()

    def regime(self, answer: Mapping[str, Any]) -> Words:
        """The regime, which has no name where the scenario stands as described."""
        if not answer["regime"]:
            return self.say("common.as_described")
        return (self.name(answer["regime"]),)

    def meaning(self, text: str) -> Words:
        """What a parameter means: the model's own words, which may begin a sentence."""
        return (Run(text=cut(text, LONGEST_NAME)),)

    def unit(self, unit: str) -> str:
        """A unit behind a value, with the space before it; empty for a pure number."""
        key = f"units.{unit}"
        shown = self.text(key) if key in self.wording else cut(unit, LONGEST_UNIT)
        return f"\u00a0{shown}" if shown else ""

    def value(self, value: float, unit: str = "") -> str:
        """A parameter's value to three digits with its unit."""
        return f"{self.notation.digits(value)}{self.unit(unit)}"

    def first_place(self, answer: Mapping[str, Any], option: str) -> str:
        """How often an option ranks first, with its simulation error."""
        return tied(findings.first_place(answer, option, self.notation))

    def regret(self, answer: Mapping[str, Any], option: str) -> str:
        """What choosing an option is expected to lose, with the error."""
        return tied(findings.regret_of(answer, option, self.notation))

    def estimate(self, record: Mapping[str, Any] | None) -> str:
        """An amount with its simulation error."""
        if record is None:
            return self.text("numbers.nothing")
        return tied(self.notation.amount_with_error(record["value"], record["mcse"]))

    def share(self, record: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
        """A probability with its simulation error, for a sentence."""
        effective = answer["effective_draws"]
        return tied(self.notation.share_in_words(record["value"], record["mcse"], effective))

    def share_cell(self, record: Mapping[str, Any] | None, answer: Mapping[str, Any]) -> str:
        """The same for a table."""
        if record is None:
            return self.text("numbers.nothing")
        effective = answer["effective_draws"]
        return tied(self.notation.share_with_error(record["value"], record["mcse"], effective))

    def amount_of(
        self, spread: Mapping[str, Any], key: str, effective: float, *, ratio: bool = False
    ) -> str:
        """One figure of a spread."""
        return self.notation.amount(spread[key], spread_error(spread, effective), ratio=ratio)

    def share_of(self, spread: Mapping[str, Any], key: str, effective: float) -> str:
        """One share of a spread."""
        error = spread_error(spread, effective)
        return tied(self.notation.share(spread[key], error, effective))

    def simple_share(self, share: float, effective: float) -> str:
        """A probability without error, for a sentence."""
        return tied(self.notation.spelt(self.notation.estimate(share, effective)))

    def offer(self, study: Mapping[str, Any]) -> dict[str, str | Run | Words]:
        """A study on offer: what it is, what it is worth and what it costs."""
        return {
            "study": self.name(study["name"]),
            "size": self.notation.amount(study["size"]),
            "unit": self.name(study["unit"]),
            "value": self.estimate(study["value"]),
            "cost": self.notation.amount(study["cost"]),
        }

    def opening(self, words: Words) -> Words:
        """Words at the beginning of a sentence."""
        return capital(words)

    def listed(self, parts: Iterable[Words]) -> Words:
        """Parts in one sentence."""
        runs: list[Run] = []
        for part in parts:
            runs += [*runs_of(self.text("common.separator")), *part] if runs else part
        return joined(runs)


def tied(text: str) -> str:
    """A figure with its error or its sign, never torn apart by a line's end."""
    for glued in (" ± ", "< ", "> "):
        text = text.replace(glued, glued.replace(" ", "\u00a0"))
    return text


def voice_of(wording: Wording | None = None) -> Voice:
    """The voice of a wording, English by default."""
    words = wording or shipped()
    return Voice(
        wording=words,
        notation=Notation(
            thousands=words.text("numbers.thousands"),
            decimal=words.text("numbers.decimal"),
            less=words.text("numbers.less"),
            more=words.text("numbers.more"),
            points_name=words.text("numbers.points"),
            cannot=words.text("numbers.cannot"),
            harmful=words.text("numbers.harmful"),
        ),
    )
