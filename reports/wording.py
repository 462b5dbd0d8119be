"""Words of the memo, one file a language: sentences with places for figures and names.

A sentence may hold ``{field}`` for what is put in and ``**strong**`` for emphasis. Both are read
before anything is put in, so that a name from a user's file is never taken for either.
"""

import importlib.resources
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any

DEFAULT = "en"
LANGUAGE = "page.language"
UNITS = "units."
TAG = re.compile(r"[a-z]{2,3}(-[A-Z]{2})?", re.ASCII)
STRONG = re.compile(r"\*\*(.+?)\*\*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A stretch of text in one style.

    Parameters
    ----------
    text
        What is shown, character by character: no renderer finds markup in it.
    strong
        Whether it stands out.
    foreign
        Whether it comes from a user's file: set apart, so that a name written from right to left
        does not turn the sentence around it.
    """

    text: str
    strong: bool = False
    foreign: bool = False


type Words = tuple[Run, ...]


class WordingError(ValueError):
    """A wording file that cannot be used; holds every reason."""

    def __init__(self, reasons: Iterable[str]) -> None:
        self.reasons = tuple(reasons)
        super().__init__("; ".join(self.reasons))


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """All sentences of one language by their dotted key."""

    messages: Mapping[str, str]

    def say(self, key: str, **fields: "str | Run | Words") -> Words:
        """A sentence with its figures and names put in; a field of runs keeps their style."""
        runs: list[Run] = []
        for strong, part in _styled(self.messages[key]):
            for literal, field, _, _ in Formatter().parse(part):
                runs.append(Run(text=literal, strong=strong))
                if field is not None:
                    put = runs_of(fields[field])
                    runs += [replace(run, strong=run.strong or strong) for run in put]
        return joined(runs)

    def text(self, key: str, **fields: str) -> str:
        """A sentence without styles: for heads, labels and figures."""
        return plain_text(self.say(key, **fields))

    def __contains__(self, key: str) -> bool:
        """Whether there is such a sentence."""
        return key in self.messages


def _styled(template: str) -> Iterator[tuple[bool, str]]:
    """Parts of a sentence, every second one strong."""
    for index, part in enumerate(STRONG.split(template)):
        yield bool(index % 2), part


def runs_of(value: "str | Run | Words") -> Words:
    """Text, a run or runs as runs."""
    if isinstance(value, str):
        return (Run(text=value),)
    return (value,) if isinstance(value, Run) else value


def joined(runs: Iterable[Run]) -> Words:
    """Runs without empty ones, neighbours of one style made one."""
    kept: list[Run] = []
    for run in runs:
        if not run.text:
            continue
        if kept and not run.foreign and kept[-1] == replace(run, text=kept[-1].text):
            kept[-1] = replace(run, text=kept[-1].text + run.text)
        else:
            kept.append(run)
    return tuple(kept)


def sentences(*parts: Words) -> Words:
    """Sentences one after another; empty ones are left out."""
    runs: list[Run] = []
    for part in parts:
        if part:
            runs += [Run(text=" "), *part] if runs else part
    return joined(runs)


def listed(parts: Iterable[Words], separator: str) -> Words:
    """Parts with a separator between them."""
    runs: list[Run] = []
    for part in parts:
        runs += [Run(text=separator), *part] if runs else part
    return joined(runs)


def capital(words: Words) -> Words:
    """Words as the beginning of a sentence; a name keeps its case."""
    if not words or words[0].foreign:
        return words
    first = words[0]
    return (replace(first, text=first.text[:1].upper() + first.text[1:]), *words[1:])


def plain_text(words: Words) -> str:
    """The text of runs."""
    return "".join(run.text for run in words)


def _flat(content: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, object]]:
    for key, value in content.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _fields(message: str) -> set[str]:
    return {field for _, field, _, _ in Formatter().parse(message) if field is not None}


def languages() -> tuple[str, ...]:
    """Languages that ship."""
    directory = importlib.resources.files("reports").joinpath("templates")
    return tuple(
        sorted(one.name.removesuffix(".toml") for one in directory.iterdir() if _is_words(one.name))
    )


def _is_words(name: str) -> bool:
    return name.endswith(".toml")


@cache
def shipped(language: str = DEFAULT) -> Wording:
    """The wording of a language that ships.

    Raises
    ------
    WordingError
        If there is none.
    """
    if language not in languages():
        known = ", ".join(languages())
        raise WordingError([f"language {language!r} does not ship; known: {known}"])
    path = importlib.resources.files("reports").joinpath(f"templates/{language}.toml")
    return Wording(messages=_checked(tomllib.loads(path.read_text(encoding="utf-8")), None))


def replaced(path: Path, language: str = DEFAULT) -> Wording:
    """The wording of a language with the sentences of a file in place of its own.

    Raises
    ------
    OSError
        If the file cannot be read.
    WordingError
        If it is not TOML, or holds a sentence that the memo has not, or a field that its sentence
        has not.
    """
    base = shipped(language)
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise WordingError([f"not a TOML file ({error})"]) from None
    return Wording(messages={**base.messages, **_checked(content, base)})


def _checked(content: Mapping[str, Any], base: Wording | None) -> dict[str, str]:
    """Sentences by key, all problems reported at once."""
    reasons: list[str] = []
    messages: dict[str, str] = {}
    for key, value in _flat(content):
        if base is not None and key not in base and not key.startswith(UNITS):
            reasons.append(f"{key}: the memo has no such sentence")
        elif not isinstance(value, str):
            reasons.append(f"{key}: {value!r} is not a text")
        else:
            known = None if base is None else _fields(base.messages.get(key, ""))
            reasons += (f"{key}: {reason}" for reason in _wrong(key, value, known))
            messages[key] = value
    if reasons:
        raise WordingError(reasons)
    return messages


def _wrong(key: str, message: str, known: set[str] | None) -> Iterator[str]:
    """What is wrong with a sentence; `known` are the fields that it may have."""
    try:
        parts = [part for part in Formatter().parse(message) if part[1] is not None]
    except ValueError as error:
        yield str(error)
        return
    unknown = set() if known is None else _fields(message) - known
    if unknown:
        wrong, right = (
            ", ".join(f"{{{one}}}" for one in sorted(fields)) for fields in (unknown, known or ())
        )
        yield f"no field {wrong}; there are {right or 'none'}"
    if any(format_spec or conversion for _, _, format_spec, conversion in parts):
        yield "a field is put in as it is: write {field} without : or !"
    if any(ord(character) < ord(" ") for character in message):
        yield "a sentence holds no line break and no control character"
    if key == LANGUAGE and not TAG.fullmatch(message):
        yield f"{message!r} is no language tag such as en or pt-BR"
