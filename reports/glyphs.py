"""Text in characters that the fonts of a file hold: what none holds stands as its code point.

Nothing is lost: the reader sees which character stood there, the memo as HTML and Markdown has it.
"""

import re
import unicodedata
from dataclasses import dataclass, field
from functools import cache

from reports.numbers import code_point

LONGEST_WORD, LONGEST_PIECE, BROKEN_AFTER = 18, 12, 6
"""Letters from which a word gets places to break, letters that a piece of it may have, and letters
between places to break in a longer one."""

SEAM = re.compile(r"(?<=[_.:⟩])")

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
    """A long word in pieces: at its own seams first, then wherever a piece is long itself."""
    pieces: list[str] = []
    for piece in filter(None, SEAM.split(match[0])):
        size = BROKEN_AFTER if len(piece) > LONGEST_PIECE else LONGEST_PIECE
        pieces += [piece[i : i + size] for i in range(0, len(piece), size)]
    return BREAK.join(pieces)


def turns(text: str) -> bool:
    """Whether some of a text reads from right to left."""
    return not text.isascii() and any(
        unicodedata.bidirectional(character) in RIGHT_TO_LEFT for character in text
    )


def isolated(text: str) -> str:
    """A text that reads from right to left, set apart from the sentence around it."""
    return f"{ISOLATE}{text}{END_ISOLATE}" if turns(text) else text
