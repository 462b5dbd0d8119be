"""Text in characters that the fonts of a file hold: what none holds stands as its code point.

Nothing is lost: the reader sees which character stood there, the memo as HTML and Markdown has it.
"""

import re
import unicodedata
from dataclasses import dataclass, field
from functools import cache

from reports.numbers import code_point

LONGEST_WORD = 18
"""Letters after which a word without a place to break gets one."""

BREAK = "\u200b"
ISOLATE, END_ISOLATE = "\u2068", "\u2069"
UNBROKEN = re.compile(rf"[^\s{BREAK}\u2010-\u2014/-]{{{LONGEST_WORD},}}")
RIGHT_TO_LEFT = {"R", "AL"}


@cache
def _held() -> frozenset[int]:
    """Code points that DejaVu Sans holds, upright and bold."""
    from matplotlib import get_data_path
    from matplotlib.ft2font import FT2Font

    faces = [f"{get_data_path()}/fonts/ttf/DejaVuSans{style}.ttf" for style in ("", "-Bold")]
    upright, bold = (frozenset(FT2Font(face).get_charmap()) for face in faces)
    return upright & bold


def _covered(character: str) -> bool:
    return character.isascii() or ord(character) in _held()


@dataclass(slots=True, kw_only=True)
class Glyphs:
    """Makes texts printable and remembers whether any character had to be spelt out.

    Parameters
    ----------
    missing
        Characters so far that no font holds.
    """

    missing: set[str] = field(default_factory=set)

    def shown(self, text: str) -> str:
        """A text in characters that print."""
        if text.isascii():
            return text
        parts = []
        for character in text:
            if _covered(character):
                parts.append(character)
            else:
                self.missing.add(character)
                parts.append(code_point(character))
        return "".join(parts)


def breakable(text: str) -> str:
    """A text whose long words may break: after ``_`` and ``.`` first, anywhere where need be."""
    return UNBROKEN.sub(_broken, text)


def _broken(match: re.Match[str]) -> str:
    pieces = re.split(r"(?<=[_.:])", match[0])
    return BREAK.join(
        BREAK.join(piece[i : i + LONGEST_WORD] for i in range(0, len(piece), LONGEST_WORD))
        for piece in pieces
        if piece
    )


def isolated(text: str) -> str:
    """A foreign text that reads from right to left, set apart from the sentence around it."""
    if any(unicodedata.bidirectional(character) in RIGHT_TO_LEFT for character in text):
        return f"{ISOLATE}{text}{END_ISOLATE}"
    return text
