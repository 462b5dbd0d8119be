"""Text of users and tables in Markdown."""

import re
from collections.abc import Sequence

from reports.numbers import NARROW_NO_BREAK_SPACE, Notation, plain

LONGEST_NAME, LONGEST_CELL, LONGEST_SOURCE = 80, 48, 32
"""Characters of a text from a user's file in a sentence, in a table cell and of a source: longer
ones would cost a third page."""

HOSTILE = str.maketrans({c: f"&#{ord(c)};" for c in "&<>|`*[]\\~$^"})
"""Characters that mean something in Markdown or HTML, as entities, which mean nothing."""

EMPHASIS = re.compile(r"(?<![^\W_])_|_(?![^\W_])")
"""Underscores other than those inside a word, which are letters."""


def escaped(text: str) -> str:
    """Text from a user's file on one line, without any meaning in Markdown."""
    return EMPHASIS.sub("&#95;", plain(text).translate(HOSTILE))


def cut(text: str, longest: int) -> str:
    """A text on one line, cut with an ellipsis."""
    line = plain(text)
    return line if len(line) <= longest else f"{line[: longest - 1].rstrip(' ,;:')}…"


def cell(text: str, longest: int = LONGEST_CELL) -> str:
    """Text from a user's file, cut to the width of a cell."""
    return escaped(cut(text, longest))


def name(text: str) -> str:
    """A name inside a sentence."""
    return cell(text, LONGEST_NAME)


MEMO = Notation(thousands=NARROW_NO_BREAK_SPACE, name=name)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], align: str) -> str:
    """A pipe table; `align` holds l or r for each column."""
    rule = ["---:" if side == "r" else ":---" for side in align]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, rule, *rows))
