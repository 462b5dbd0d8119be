"""Columns of a failure table: which is which, and how its dates are written."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from priors.readers.found import refuse
from priors.readers.source import TextSource
from priors.readers.text import moment_of, number_of

NAMES: dict[str, tuple[str, ...]] = {
    "node": (
        "node",
        "nodename",
        "nodeid",
        "nodenum",
        "nodenumber",
        "host",
        "hostname",
        "machine",
        "server",
        "servername",
        "instance",
        "instanceid",
    ),
    "start": (
        "start",
        "starttime",
        "started",
        "probstarted",
        "begin",
        "failuretime",
        "failedat",
        "timestamp",
        "time",
        "date",
        "occurred",
        "eventtime",
        "opened",
        "downat",
        "startdate",
        "startedat",
        "detected",
        "detectedat",
        "detectiontime",
        "created",
        "createdat",
        "openedat",
        "occurredat",
        "reported",
        "reportedat",
        "failure",
        "failuredate",
        "failurestart",
        "incidentstart",
        "outagestart",
        "downsince",
    ),
    "end": (
        "end",
        "endtime",
        "ended",
        "probfixed",
        "fixed",
        "resolved",
        "recovered",
        "closed",
        "repaired",
        "upat",
        "enddate",
        "restored",
        "endedat",
        "resolvedat",
        "closedat",
        "recoveredat",
        "restoredat",
        "fixedat",
        "repairedat",
        "failureend",
        "incidentend",
        "outageend",
        "upsince",
    ),
    "duration": (
        "duration",
        "downtime",
        "uptime",
        "ttr",
        "timetorepair",
        "ttf",
        "timetofailure",
        "length",
        "outage",
    ),
    "cause": ("cause", "reason", "rootcause", "category", "failuretype", "type", "error", "fault"),
    "fleet": ("fleet", "cluster", "system", "machinetype", "generation", "partition"),
    "censored": ("censored", "iscensored", "censor"),
    "event": ("event", "observed", "isfailure", "failed"),
}
UNITS = {
    "ms": 1e-3, "s": 1.0, "sec": 1.0, "secs": 1.0, "seconds": 1.0, "m": 60.0, "min": 60.0,
    "mins": 60.0, "minutes": 60.0, "h": 3600.0, "hr": 3600.0, "hrs": 3600.0, "hours": 3600.0,
    "d": 86400.0, "day": 86400.0, "days": 86400.0,
}  # fmt: skip
SLASHED = re.compile(
    r"(\d{1,2})[/.](\d{1,2})[/.](\d{4}|\d{2})"
    r"(?:[ T,]+(\d{1,2}):(\d{2})(?::(\d{2}))?\s*([AaPp][Mm])?)?\Z"
)
MONTHS = {
    name: number
    for number, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1
    )
}
CLOCK = r"(?:[ T,]+(\d{1,2}):(\d{2})(?::(\d{2}))?\s*([AaPp][Mm])?)?\Z"
DAY_MONTH = re.compile(
    r"(?:[A-Z][a-z]{2},? +)?(\d{1,2})[ -]([A-Za-z]{3,9})\.?,?[ -](\d{4})" + CLOCK
)
MONTH_DAY = re.compile(r"(?:[A-Z][a-z]{2},? +)?([A-Za-z]{3,9})\.? +(\d{1,2}),? +(\d{4})" + CLOCK)
"""Months by their English names: never two dates."""

ISO_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})\Z")
SHORT_ISO = re.compile(r"(\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2})\s?(Z|[+-]\d{2}:?\d{2})?\Z")
EPOCH_S, EPOCH_MS = 1e8, 1e11
"""From here on a number is seconds or milliseconds since 1970."""


def split_unit(name: str) -> tuple[str, float | None]:
    """A column's name without its unit, and the unit in seconds: ``Down Time (min)``."""
    words = re.findall(r"[A-Za-z]+", name)
    if len(words) > 1 and words[-1].lower() in UNITS:
        return "".join(words[:-1]).lower(), UNITS[words[-1].lower()]
    return "".join(words).lower(), None


def columns_of(
    header: Sequence[str], given: Mapping[str, str], source: TextSource
) -> dict[str, int]:
    """Place of each known column.

    Raises
    ------
    InputError
        If a column that was named is not there, or two could be meant.
    """
    places: dict[str, int] = {}
    plain = [split_unit(name)[0] for name in header]
    for what, name in given.items():
        wanted = name.strip().lower()
        matches = [i for i, own in enumerate(header) if own.strip().lower() == wanted]
        if not matches:
            raise refuse(
                source, 1, f"there is no column {name!r}", "columns are: " + ", ".join(header)
            )
        places[what] = matches[0]
    for what, names in NAMES.items():
        if what in places:
            continue
        for name in names:
            matches = [i for i, own in enumerate(plain) if own == name and i not in places.values()]
            if len(matches) > 1:
                raise refuse(
                    source,
                    1,
                    f"{len(matches)} columns could be the {what}",
                    f"--columns {what}=NAME",
                )
            if matches:
                places[what] = matches[0]
                break
    return places


def date_order(rows: Sequence[Sequence[str]], places: Sequence[int]) -> str:
    """``dmy``, ``mdy``, ``mixed`` or, where no date tells, nothing."""
    day_first = month_first = False
    for row in rows:
        for place in places:
            match = SLASHED.match(row[place].strip()) if place < len(row) else None
            if match:
                day_first |= int(match[1]) > 12  # noqa: PLR2004 - no month
                month_first |= int(match[2]) > 12  # noqa: PLR2004
    if day_first and month_first:
        return "mixed"
    return "dmy" if day_first else "mdy" if month_first else ""


def date_of(text: str, order: str) -> float | None:
    """Seconds since 1970; None for what is no date, or could be two."""
    text = text.strip()
    if (moment := moment_of(text)) is not None:
        return moment
    return _other_date(text, order)


def _other_date(text: str, order: str) -> float | None:
    """What is no ISO date and time to the second."""
    if short := SHORT_ISO.match(text):
        return moment_of(f"{short[1]}:00{short[2] or ''}")
    if ISO_DATE.match(text):
        return moment_of(f"{text} 00:00:00")
    if match := SLASHED.match(text):
        return _slashed(match, order)
    if named := DAY_MONTH.match(text) or MONTH_DAY.match(text):
        return _named_month(named)
    value = number_of(text)
    if value is None or value < EPOCH_S:
        return None
    return value / 1000.0 if value >= EPOCH_MS else value


def _slashed(match: re.Match[str], order: str) -> float | None:
    first, second = int(match[1]), int(match[2])
    if first > 12 or (order == "dmy" and second <= 12):  # noqa: PLR2004 - no month
        day, month = first, second
    elif second > 12 or order == "mdy" or first == second:  # noqa: PLR2004
        day, month = second, first
    else:
        return None
    year = int(match[3]) + (2000 if len(match[3]) == 2 else 0)  # noqa: PLR2004 - two digits
    return _utc(year, month, day, *_clock(match))


def _named_month(match: re.Match[str]) -> float | None:
    day, name = sorted(match.groups()[:2], key=str.isalpha)
    month = MONTHS.get(name[:3].lower())
    return None if month is None else _utc(int(match[3]), month, int(day), *_clock(match))


def _clock(match: re.Match[str]) -> tuple[int, int, int]:
    """Hour, minute and second of the last four groups."""
    hour = int(match[4] or 0)
    if match[7]:
        hour = hour % 12 + (12 if match[7].lower() == "pm" else 0)
    return hour, int(match[5] or 0), int(match[6] or 0)


def _utc(*parts: int) -> float | None:
    try:
        return datetime(*parts, tzinfo=UTC).timestamp()  # type: ignore[arg-type, misc]
    except ValueError:
        return None
