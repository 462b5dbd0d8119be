"""Numbers of a log's row by their keys, a torn end of the file known as such."""

import re
from dataclasses import dataclass, field
from math import nan

from priors.readers.found import Tally
from priors.readers.text import NUMBER, decimals, number_of

CREDIBLE = (1e-12, 1e18)
"""Range of a time or a speed in any unit that a log prints; FLOP/s are the largest."""


@dataclass(slots=True)
class Fields:
    """Reads numbers after their keys and knows how they were printed so far.

    A cut last line may end inside a number: it is trusted only with the decimals that the same
    field had before.
    """

    skipped: Tally
    places: dict[str, int] = field(default_factory=dict)

    def take(
        self,
        key: str,
        match: re.Match[str] | None,
        line: int,
        *,
        cut: bool,
        thousands: bool = False,
    ) -> float:
        """Time or speed in the group ``n``, nan where it is none, which the tally then says."""
        if match is None:
            return nan
        text = match["n"]
        value = number_of(text, thousands=thousands)
        if value is None:
            what = "with a comma that could be a decimal or a thousands mark" if "," in text else ""
            self.skipped.add(f"{key} {what or 'not a finite number'}", line)
            return nan
        ends = cut and match.end("n") >= len(match.string.rstrip(" .,+-eE"))
        if ends and (self.places.get(key, 0) == 0 or decimals(text) != self.places[key]):
            self.skipped.add(f"{key} cut by the end of the file", line)
            return nan
        self.places[key] = decimals(text)
        if value <= 0.0:
            self.skipped.add(f"{key} of zero or less", line)
            return nan
        if not CREDIBLE[0] <= value <= CREDIBLE[1]:
            self.skipped.add(f"{key} outside {CREDIBLE[0]:g} to {CREDIBLE[1]:g}", line)
            return nan
        return value


def keyed_number(key: str, flags: re.RegexFlag = re.IGNORECASE) -> re.Pattern[str]:
    """The number after a key, which JSON quotes, and a colon or equals sign."""
    return re.compile(rf"(?:{key})\"?\s*[:=]\s*(?P<n>{NUMBER})", flags)
