"""What a piece of text says: numbers, durations, moments, and the rank that a prefix names."""

import math
import re
from datetime import UTC, datetime

RANK = re.compile(
    r"\s*(?:\[(?:rank|default)\s?\d+\]:?|\[\d+\]:?(?=\s|$)"
    r"|\[\d+,\d+\]<std(?:out|err|diag)>:"
    r"|\(?(?:rank|worker|task)\s*[=:]?\s*\d+\)?:"
    r"|\[pod/[^\]\s]+\]"
    r"|\(\w+ pid=\d+(?:, ip=[\d.]+)?\)"
    r"|[A-Za-z][\w.-]*\d[\w.-]*:(?=\s)"
    r"|\d+:(?=\s))",
    re.IGNORECASE,
)
"""One prefix that a launcher puts before a line; several may follow each other."""

STAMP = re.compile(
    r"\s*\[?\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}:\d{2}(?:[.,]\d{1,9})?(?:Z|[+-]\d{2}:?\d{2})?\]?"
    r"(?: std(?:out|err) [FP])?:?(?=\s|$)"
)
"""A date and time that a container's or a launcher's log puts before a line."""

BARE_ANSI = re.compile(r"\[\d{1,3}(?:;\d{1,3})*m")
"""A colour code whose escape character was lost in a paste."""

NUMBER = r"[-+]?(?:\d[\d.,]*(?:[eE][-+]?\d+)?|nan\b|inf(?:inity)?\b|N/A)"
"""A number as logs print it: thousands commas, exponent, nan, inf or N/A."""

THOUSANDS = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?\Z")
DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+\Z")

MOMENT = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})[ T](\d{2}):(\d{2}):(\d{2})(?:[.,](\d{1,6}))?"
    r"\s?(Z|UTC|[+-]\d{2}:?\d{2})?"
)

DAY_TIME = re.compile(
    r"(?:(\d+)(?:-| days?,? *| *d *))?(?:(\d+):)?(\d{1,2}):(\d{1,2}(?:\.\d+)?)\Z", re.IGNORECASE
)
UNIT_TIME = re.compile(
    r"(\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?)\s*"
    r"(milliseconds?|msecs?|ms|microseconds?|us|µs|seconds?|secs?|s|minutes?|mins?|m"
    r"|hours?|hrs?|h|days?|d)\b",
    re.IGNORECASE,
)
SECONDS = {"ms": 1e-3, "milli": 1e-3, "us": 1e-6, "µs": 1e-6, "micro": 1e-6}
SECONDS |= {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def split_rank(line: str) -> tuple[str, str]:
    """Launcher's prefixes of a line, and what follows them; dates between them stay in the text."""
    end, ranks, stamps = 0, "", ""
    while True:
        if found := RANK.match(line, end):
            ranks += found[0]
        elif found := STAMP.match(line, end):
            stamps += found[0]
        else:
            return " ".join(ranks.split()), stamps + line[end:]
        end = found.end()


def without_stamp(line: str) -> str:
    """A line without the dates that stand before it."""
    while found := STAMP.match(line):
        line = line[found.end() :]
    return line


def number_of(text: str, *, thousands: bool = False) -> float | None:
    """A finite number; None for nan, inf, N/A and for a comma that could mean two things.

    Parameters
    ----------
    text
        As printed.
    thousands
        Whether the format itself writes thousands with commas: then ``5,857`` is 5857. Elsewhere
        that could be 5.857 as well, and is not read.
    """
    text = text.strip().rstrip(".,")
    if "," in text:
        if THOUSANDS.match(text) and (thousands or text.count(",") > 1 or "." in text):
            text = text.replace(",", "")
        elif DECIMAL_COMMA.match(text) and not THOUSANDS.match(text):
            text = text.replace(",", ".")
        else:
            return None
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def decimals(text: str) -> int:
    """Digits after the point of a number as printed."""
    return len(text.rpartition(".")[2]) if "." in text else 0


def seconds_of(text: str) -> float | None:
    """A duration in seconds: ``1-02:03:04``, ``02:03:04``, ``03:04.5``, ``90 min``, ``1 h 5 m``.

    A number without a unit is not a duration.
    """
    text = text.strip()
    if match := DAY_TIME.match(text):
        days, hours, minutes, seconds = match.groups()
        if float(seconds) >= 60 or (hours and int(minutes) >= 60):  # noqa: PLR2004 - sexagesimal
            return None
        total = int(days or 0) * 86400.0 + int(hours or 0) * 3600.0
        return total + int(minutes) * 60.0 + float(seconds)
    parts = UNIT_TIME.findall(text)
    if not parts or UNIT_TIME.sub("", text).strip(" ,and"):
        return None
    total = 0.0
    for amount, unit in parts:
        unit = unit.lower()  # noqa: PLW2901
        key = next(
            (key for key in ("milli", "micro", "ms", "us", "µs") if unit.startswith(key)), ""
        )
        total += float(amount.replace(",", "")) * SECONDS[key or unit[0]]
    return total


def moment_of(text: str) -> float | None:
    """Seconds since 1970 of the first ISO date and time in a text; without a zone, UTC is taken."""
    match = MOMENT.search(text)
    if match is None:
        return None
    *parts, fraction, zone = match.groups()
    try:
        moment = datetime(*map(int, parts), tzinfo=UTC)  # type: ignore[arg-type, misc]
    except ValueError:
        return None
    offset = 0.0
    if zone and zone[0] in "+-":
        digits = zone[1:].replace(":", "")
        offset = int(zone[0] + "1") * (int(digits[:2]) * 3600.0 + int(digits[2:]) * 60.0)
    return moment.timestamp() + (float(f"0.{fraction}") if fraction else 0.0) - offset
