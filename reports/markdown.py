"""Text of users and tables in Markdown."""

import re
from collections.abc import Sequence
from itertools import groupby

from reports.glyphs import isolated
from reports.wording import Words

HOSTILE = str.maketrans({c: f"&#{ord(c)};" for c in "&<>|`*[]\\~$^"})
"""Characters that mean something in Markdown or HTML, as entities, which mean nothing."""

EMPHASIS = re.compile(r"(?<![^\W_])_|_(?![^\W_])")
"""Underscores other than those inside a word, which are letters."""

BEGINNING = re.compile(r"^(\s*)([-+#=]|\d+(?=[.)](?:\s|$)))")
"""What would make a list, a heading or a rule of a line that begins with it."""

BOUND = re.compile(r"&#(60|62);(?=\u00a0\d)")
"""The sign of a bound before its figure: it opens no tag."""

KEPT = "\u202f\u00a0\u200c\u200d"
"""Spaces of figures and joiners of letters, which Python does not call printable."""


ADDRESS = re.compile(r":(?=//)|(?<=www)\.|@(?=\w)", re.IGNORECASE)
"""What makes a link of an address, or a mention of a name, where Markdown is shown on the web."""


def escaped(text: str) -> str:
    """Text on one line, without any meaning in Markdown."""
    safe = EMPHASIS.sub("&#95;", plain_spaces(text).translate(HOSTILE))
    safe = ADDRESS.sub(lambda match: f"&#{ord(match[0])};", safe)
    return BOUND.sub(lambda match: "<" if match[1] == "60" else ">", safe)


def plain_spaces(text: str) -> str:
    """A text on one line; the narrow and the no-break spaces of figures are kept."""
    return "".join(c if c.isprintable() or c in KEPT else " " for c in text)


def line(words: Words) -> str:
    """Runs as Markdown on one line."""
    parts = []
    for strong, runs in groupby(words, key=lambda run: run.strong):
        safe = "".join(isolated(escaped(run.text)) for run in runs)
        bare = safe.strip(" ")
        if strong and bare:
            # Emphasis does not open before a space nor close behind one.
            before, after = safe[: len(safe) - len(safe.lstrip(" "))], safe[len(safe.rstrip(" ")) :]
            safe = f"{before}**{bare}**{after}"
        parts.append(safe)
    return BEGINNING.sub(_entity, "".join(parts))


def _entity(match: re.Match[str]) -> str:
    mark = match[2]
    return f"{match[1]}{''.join(f'&#{ord(c)};' for c in mark)}"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], align: str) -> str:
    """A pipe table; `align` holds l or r for each column."""
    rule = ["---:" if side == "r" else ":---" for side in align]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, rule, *rows))
