"""Dates and durations as people and tools write them in tables."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from priors.readers.text import moment_of, number_of, seconds_of

ZONES = {
    "z": 0.0, "utc": 0.0, "gmt": 0.0, "est": -5.0, "edt": -4.0, "mst": -7.0, "mdt": -6.0,
    "pst": -8.0, "pdt": -7.0, "cet": 1.0, "cest": 2.0, "jst": 9.0, "kst": 9.0, "sgt": 8.0,
}  # fmt: skip
"""Hours from UTC; names that several zones share (CST, IST, BST) are not read."""

ZONE = r"(?P<zone>Z|[+-]\d{2}(?::?\d{2})?|[A-Za-z]{2,5})"
CLOCK = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?P<part>[.,]\d{1,9})?)?"
    r"\s*(?P<half>[AaPp]\.?[Mm]\.?)?"
)
AFTER = rf"(?:[ T,]+{CLOCK}\s*{ZONE}?)?\Z"
DAY_NAME = r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*[.,]*\s+)?"
NAME = r"(?P<name>[A-Za-z]{3,9})\.?"

YEAR_FIRST = re.compile(
    r"(?P<year>\d{4})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})" + AFTER, re.IGNORECASE
)
COMPACT = re.compile(
    r"(?P<year>(?:19|20)\d{2})(?P<month>\d{2})(?P<day>\d{2})"
    r"(?:[T ]?(?P<hour>\d{2})(?P<minute>\d{2})(?P<second>\d{2})?\s*(?P<zone>Z)?)?\Z"
)
SLASHED = re.compile(
    r"(?P<first>\d{1,2})[/.-](?P<other>\d{1,2})[/.-](?P<year>\d{4}|\d{2})" + AFTER, re.IGNORECASE
)
NAMED = (
    re.compile(
        DAY_NAME + r"(?P<day>\d{1,2})[ /-]?" + NAME + r"[ ,/-]+(?P<year>\d{4}|\d{2})" + AFTER,
        re.IGNORECASE,
    ),
    re.compile(DAY_NAME + NAME + r" +(?P<day>\d{1,2}),? +(?P<year>\d{4})" + AFTER, re.IGNORECASE),
    re.compile(
        DAY_NAME + NAME + rf" +(?P<day>\d{{1,2}}) +{CLOCK}\s+(?:{ZONE}\s+)?(?P<year>\d{{4}})\Z",
        re.IGNORECASE,
    ),
)
"""Months by their English names: never two dates."""

MONTHS = {
    name: number
    for number, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1
    )
}
ISO_DURATION = re.compile(
    r"P(?:(\d+(?:\.\d+)?)D)?(?:T(?:(\d+(?:\.\d+)?)H)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)S)?)?\Z"
)
TWO_PARTS = re.compile(r"(\d+):([0-5]\d)\Z")
HOUR_S, MINUTE_S = 3600.0, 60.0

EPOCHS = ((1e8, 1e11, 1.0), (1e11, 1e14, 1e-3), (1e14, 1e17, 1e-6), (1e17, 1e20, 1e-9))
"""From, below, and the factor of numbers that count from 1970: seconds down to nanoseconds."""

SERIAL = re.compile(r"[2-7]\d{4}(?:\.\d+)?\Z")
SERIAL_OF_1970 = 25569.0
"""Days that a spreadsheet counts from the end of 1899, where its dates lost their form."""

ZONED = re.compile(rf"\d:\d{{2}}(?::\d{{2}}(?:[.,]\d+)?)?\s*(?:[AaPp][Mm]\s*)?{ZONE}\Z")

CENTURY = 70
"""Years of two digits from here on are of the last century."""


def order_in(headings: Iterable[str]) -> str:
    """``dmy`` or ``mdy`` where a heading spells the order out, as ``(mm/dd/yy hh:mm)``."""
    found = {
        "mdy" if match[1].lower().startswith("m") else "dmy"
        for text in headings
        for match in re.finditer(r"\b(mm?[/.-]dd?|dd?[/.-]mm?)[/.-]yy", text, re.IGNORECASE)
    }
    return found.pop() if len(found) == 1 else ""


def date_order(texts: Iterable[str]) -> str:
    """``dmy``, ``mdy``, ``mixed`` or, where no date tells, nothing."""
    day_first = month_first = False
    for text in texts:
        match = SLASHED.match(text.strip())
        if match:
            day_first |= int(match["first"]) > 12  # noqa: PLR2004 - no month
            month_first |= int(match["other"]) > 12  # noqa: PLR2004
    if day_first and month_first:
        return "mixed"
    return "dmy" if day_first else "mdy" if month_first else ""


def has_two_readings(text: str) -> bool:
    """Whether a date could be day first or month first."""
    return SLASHED.match(text.strip()) is not None


def date_of(text: str, order: str) -> float | None:
    """Seconds since 1970; None for what is no date, or could be two."""
    text = " ".join(text.split())
    for pattern in (YEAR_FIRST, COMPACT):
        if match := pattern.match(text):
            month, day = int(match["month"]), int(match["day"])
            return _moment(match, int(match["year"]), month, day)
    if match := SLASHED.match(text):
        return _slashed(match, order)
    for pattern in NAMED:
        if match := pattern.match(text):
            named = MONTHS.get(match["name"][:3].lower())
            year = _year(match["year"])
            return None if named is None else _moment(match, year, named, int(match["day"]))
    if SERIAL.match(text):
        return (float(text) - SERIAL_OF_1970) * 86400.0
    value = number_of(text)
    if value is None:
        return moment_of(text)
    return next(
        (value * factor for low, high, factor in EPOCHS if low <= value < high),
        None,
    )


def _slashed(match: re.Match[str], order: str) -> float | None:
    first, second = int(match["first"]), int(match["other"])
    if first > 12 or (order == "dmy" and second <= 12):  # noqa: PLR2004 - no month
        day, month = first, second
    elif second > 12 or order == "mdy" or first == second:  # noqa: PLR2004
        day, month = second, first
    else:
        return None
    return _moment(match, _year(match["year"]), month, day)


def _year(text: str) -> int:
    year = int(text)
    if len(text) > 2:  # noqa: PLR2004 - two digits
        return year
    return year + (1900 if year >= CENTURY else 2000)


def _moment(match: re.Match[str], year: int, month: int, day: int) -> float | None:
    """The date with its clock and zone; None where they are none."""
    parts = match.groupdict()
    hour, minute = int(parts["hour"] or 0), int(parts["minute"] or 0)
    if half := parts.get("half"):
        if not 1 <= hour <= 12:  # noqa: PLR2004 - hours of half a day
            return None
        hour = hour % 12 + (12 if half.lower().startswith("p") else 0)
    try:
        whole = datetime(year, month, day, hour, minute, int(parts["second"] or 0), tzinfo=UTC)
    except ValueError:
        return None
    offset = _offset_s(parts["zone"] or "Z")
    if offset is None:
        return None
    fraction = parts.get("part")
    return whole.timestamp() + (float(f"0.{fraction[1:]}") if fraction else 0.0) - offset


def _offset_s(zone: str) -> float | None:
    """Seconds from UTC; None for a name that is unknown or means several zones."""
    if zone[0] in "+-":
        digits = zone[1:].replace(":", "")
        size = int(digits[:2]) * HOUR_S + int(digits[2:] or 0) * MINUTE_S
        return size if zone[0] == "+" else -size
    hours = ZONES.get(zone.lower())
    return None if hours is None else hours * HOUR_S


def duration_of(text: str, unit: float | None) -> float | None:
    """Seconds of a duration; a number alone is in the column's unit, and none without it."""
    text = text.strip()
    if match := TWO_PARTS.match(text):
        # 2:30 is hours and minutes or minutes and seconds: only the column can tell.
        if unit not in (HOUR_S, MINUTE_S):
            return None
        return (int(match[1]) + int(match[2]) / 60.0) * unit
    if (seconds := seconds_of(text)) is not None:
        return seconds
    if (match := ISO_DURATION.match(text)) and any(match.groups()):
        days, hours, minutes, rest = (float(part or 0.0) for part in match.groups())
        return days * 86400.0 + hours * HOUR_S + minutes * MINUTE_S + rest
    value = number_of(text)
    if value is None or unit is None or value < 0.0:
        return None
    return value * unit
