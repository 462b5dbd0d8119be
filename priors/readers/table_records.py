"""Rows of a failure table as records in seconds."""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from priors.readers.found import ReadOptions, Tally, refuse
from priors.readers.source import TextSource
from priors.readers.table_columns import (
    CATEGORIES,
    FALSE,
    NAMES,
    TRUE,
    clocks_of,
    columns_of,
    split_unit,
)
from priors.readers.table_dates import (
    SERIAL,
    ZONED,
    date_of,
    date_order,
    duration_of,
    has_two_readings,
    order_in,
)
from priors.readers.table_json import cells_of_json, first_record, is_json

MOST_ROWS = 2_000_000
HEADER_LINES, TITLES = 40, 6

QUOTED_LINES = 64
"""Lines that a quoted cell may take: a quote without its end must not swallow the table."""

CENSORED = re.compile(
    r"^(?:censored|right[- ]censored|still (?:up|running)|running|alive|end of observation)$",
    re.IGNORECASE,
)
NOTHING = re.compile(
    r"(?:|-+|\?|n/?a|nan|nat|null|none|unknown|ongoing|open|still (?:down|open))\Z", re.IGNORECASE
)
"""What stands for an end or a length that there is not, or not yet."""

DONE = re.compile(r"(?:completed|succeeded|success|finished)\Z", re.IGNORECASE)
"""States of jobs that did not fail."""

RUNNING = frozenset({"uptime", "ttf", "timetofailure", "tofailure", "tbf", "timebetweenfailures"})
"""Durations that are of running, not of an outage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One row, in seconds; None where the table does not say."""

    line: int
    node: str
    fleet: str
    start: float | None
    end: float | None
    duration: float | None
    cause: str
    censored: bool | None


@dataclass(slots=True)
class Rows:
    """A table as read.

    Parameters
    ----------
    records
        One a row that can be read.
    places
        Column of each thing that is known.
    notes
        Rules that were applied.
    intervals
        Whether rows are intervals of running, not outages.
    gpu_errors
        Whether the cause is a column of the GPU driver's error numbers.
    """

    records: list[Record] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    intervals: bool = False
    gpu_errors: bool = False


def headings(head: Sequence[str]) -> list[str]:
    """Lines that can be the header: exports put a title or two before it."""
    lines = [
        line
        for line in head[:HEADER_LINES]
        if line.strip() and (not line.startswith("#") or is_header(line))
    ]
    return lines[:TITLES]


def is_header(line: str) -> bool:
    """Whether a line names a start or a length, and a node, a cause or censoring."""
    names = {split_unit(name)[0] for name in _cells(line, _delimiter(line))}
    return (
        len(names) > 1
        and _known(names, "start", "duration")
        and (_known(names, "node", "cause", "censored") or len(names & set(CATEGORIES)) > 1)
    )


def is_json_table(head: Sequence[str]) -> bool:
    """Whether its records have the fields of a failure."""
    return is_json(head) and is_header(",".join(first_record(head)))


def _known(names: set[str], *whats: str) -> bool:
    return any(name in names for what in whats for name in NAMES[what])


def _delimiter(header: str) -> str:
    return max((",", ";", "\t", "|"), key=header.count)


def _cells(line: str, delimiter: str) -> list[str]:
    """Fields of a row; a heading may be a comment."""
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []


def records(source: TextSource, options: ReadOptions, skipped: Tally) -> Rows:
    """All rows that can be read.

    Raises
    ------
    InputError
        If columns or dates can be read in two ways, or the table lists jobs that did not fail.
    """
    header, raw = _cells_of(source, skipped)
    cells = [row for _, row in raw]
    table = Rows(places=columns_of(header, cells, options.columns, source))
    places = table.places
    clocks = clocks_of(header, cells, options.columns)
    places |= {what: day for what, (day, _) in clocks.items()}
    if "start" not in places and "duration" not in places:
        raise refuse(
            source,
            1,
            "neither a start nor a duration is among the columns: " + ", ".join(header),
            "--columns node=…,start=…,end=…,cause=…",
        )
    dates = [places[key] for key in ("start", "end") if key in places]
    order = (
        options.date_order
        or order_in(header[place] for place in dates)
        or date_order(row[place] for row in cells for place in dates)
    )
    if order == "mixed":
        table.notes.append(
            "dates are written both day first and month first: those that could be either are "
            "left out"
        )
    name, unit = split_unit(header[places["duration"]]) if "duration" in places else ("", None)
    table.intervals = "censored" in places or "event" in places or name in RUNNING
    reading = _Reading(source, skipped, places, clocks, order=order, unit=unit)
    plain = [split_unit(text)[0] for text in header]
    table.gpu_errors = "cause" in places and plain[places["cause"]] == "xid"
    if "cause" not in places:
        reading.categories = {
            header[place]: place for place, own in enumerate(plain) if own in CATEGORIES
        }
    reading.status = table.intervals
    raw = _without_availability(raw, plain, places, skipped)
    seen: set[tuple[str, ...]] = set()
    for number, row in raw:
        if "node" in places and row[places["node"]].strip() and "start" in places:
            if tuple(row) in seen:
                skipped.add("copies of a row", number)
                continue
            seen.add(tuple(row))
        record = reading.record(number, row)
        if record is not None:
            table.records.append(record)
    table.notes += _clock_notes(row[place] for row in cells for place in dates)
    if "jobid" in plain:
        _check_jobs(source, raw, places)
    table.intervals |= any(record.censored for record in table.records)
    return table


def _without_availability(
    raw: list[tuple[int, list[str]]], plain: list[str], places: dict[str, int], skipped: Tally
) -> list[tuple[int, list[str]]]:
    """Rows of outages, where an archive of traces lists both states as 0 and 1."""
    if "eventtype" not in plain or "eventendreason" not in plain:
        return raw
    place = plain.index("eventtype")
    if not {row[place].strip() for _, row in raw} <= {"0", "1"}:
        return raw
    places["cause"] = plain.index("eventendreason")
    up = [number for number, row in raw if row[place].strip() == "1"]
    if up:
        skipped.add("rows of availability (event_type 1), no outages", up[0], len(up))
    return [(number, row) for number, row in raw if row[place].strip() == "0"]


def _clock_notes(texts: Iterable[str]) -> list[str]:
    """What is taken for granted of dates: a zone where some have none, days of a spreadsheet."""
    texts = [" ".join(text.split()) for text in texts if ":" in text or SERIAL.match(text.strip())]
    zoned = sum(1 for text in texts if ZONED.search(text))
    serial = sum(1 for text in texts if SERIAL.match(text))
    notes = []
    if 0 < zoned < len(texts):
        notes.append(
            f"{len(texts) - zoned} of {len(texts)} times have no time zone: UTC is taken for them"
        )
    if serial:
        notes.append(
            f"{serial} dates are days as spreadsheets count them (45658 is 1 January 2025)"
        )
    return notes


def _check_jobs(
    source: TextSource, raw: list[tuple[int, list[str]]], places: dict[str, int]
) -> None:
    """Refuse a trace of jobs: most of its rows are no failures."""
    if "status" not in places:
        return
    done = [number for number, row in raw if DONE.match(row[places["status"]].strip())]
    if done:
        raise refuse(
            source,
            done[0],
            f"{len(done)} of {len(raw)} rows are jobs that did not fail: this is a trace of jobs",
            "keep the rows that failed, or write it as sacct does: JobID|State|Elapsed|NNodes",
        )


def _cells_of(source: TextSource, skipped: Tally) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """The header, and the cells of each row of its length."""
    if is_json(source.head()):
        return cells_of_json(source, skipped)
    header: list[str] = []
    raw: list[tuple[int, list[str]]] = []
    delimiter = ","
    first = next((line for line in headings(source.head()) if is_header(line)), None)
    for number, line in _lines(source, skipped):
        if not line.strip() or set(line) <= set("|-+: "):
            continue
        if line.startswith("#") and (header or not is_header(line)):
            continue
        if not header:
            if first is not None and not is_header(line):
                skipped.add("lines before the header", number)
                continue
            delimiter = _delimiter(line)
            header = [name.strip() for name in _cells(line.lstrip("# "), delimiter)]
            continue
        cells = _cells(line, delimiter)
        if len(cells) != len(header):
            cut = number == source.cut_line
            reason = (
                "last row cut" if cut else f"rows without the {len(header)} fields of the header"
            )
            skipped.add(reason, number)
            continue
        raw.append((number, cells))
        if len(raw) > MOST_ROWS:
            raise refuse(source, number, f"more than {MOST_ROWS} rows: this is no failure table")
    return header, raw


def _lines(source: TextSource, skipped: Tally) -> Iterator[tuple[int, str]]:
    """Lines, those of a quoted cell joined, with the number of the first."""
    begun: list[tuple[int, str]] = []
    for number, line in source.lines():
        begun.append((number, line))
        # A doubled quote inside a cell counts twice.
        if sum(text.count('"') for _, text in begun) % 2 == 0:
            yield begun[0][0], " ".join(text for _, text in begun)
            begun = []
        elif len(begun) >= QUOTED_LINES:
            skipped.add("quotes without an end", begun[0][0])
            yield from begun
            begun = []
    if begun:
        skipped.add("quotes without an end", begun[0][0])
        yield from begun


@dataclass(slots=True)
class _Reading:
    """How cells become records."""

    source: TextSource
    skipped: Tally
    places: dict[str, int]
    clocks: dict[str, tuple[int, int]]
    order: str = field(kw_only=True)
    unit: float | None = field(kw_only=True)
    categories: dict[str, int] = field(default_factory=dict)
    status: bool = False

    def record(self, line: int, cells: list[str]) -> Record | None:
        """One row; None where its start cannot be read, which the tally then says."""
        text = {what: cells[place].strip() for what, place in self.places.items()}
        for what, (day, time) in self.clocks.items():
            text[what] = f"{cells[day].strip()} {cells[time].strip()}".strip()
        start = date_of(text.get("start", ""), self.order)
        if "start" in self.places and start is None:
            if not self.order and has_two_readings(text["start"]):
                raise refuse(
                    self.source,
                    line,
                    f"{text['start']!r} can be read day first or month first",
                    "say --dates dmy or --dates mdy",
                )
            self.skipped.add("rows without a start that can be read", line)
            return None
        end, duration = self._length(line, text, start)
        cause = text.get("cause", "")
        told = [
            f"{name}: {cells[place].strip()}"
            for name, place in self.categories.items()
            if cells[place].strip()
        ]
        return Record(
            line=line,
            node=text.get("node", ""),
            fleet=text.get("fleet", ""),
            start=start,
            end=end,
            duration=duration,
            cause="" if CENSORED.match(cause) else cause or ", ".join(told),
            censored=self._censored(line, text, cause),
        )

    def _length(
        self, line: int, text: dict[str, str], start: float | None
    ) -> tuple[float | None, float | None]:
        """End and duration of a row, None where they are not said."""
        end = date_of(text.get("end", ""), self.order)
        if end is None and not NOTHING.match(text.get("end", "")):
            self.skipped.add("ends that cannot be read (the event counts)", line)
        duration = duration_of(text.get("duration", ""), self.unit)
        if start is not None and end is not None:
            between = end - start
            if between < 0.0:
                self.skipped.add("ends before their start, not used", line)
                end = None
            else:
                if duration is not None and abs(between - duration) > max(60.0, 0.01 * between):
                    self.skipped.add("durations that are not end − start, not used", line)
                duration = between
        if duration is None and not NOTHING.match(text.get("duration", "")):
            self.skipped.add("durations without a unit, or that are none, not used", line)
        if duration == 0.0:
            self.skipped.add("durations of zero (the event counts)", line)
        return end, duration

    def _censored(self, line: int, text: dict[str, str], cause: str) -> bool | None:
        """Whether the interval ended with the observation; None where nothing says so."""
        if CENSORED.match(cause) or (self.status and CENSORED.match(text.get("status", ""))):
            return True
        for key, means in (("censored", True), ("event", False)):
            if key in text:
                value = text[key].lower()
                if value in TRUE:
                    return means
                if value in FALSE:
                    return not means
                raise refuse(self.source, line, f"{key} is {text[key]!r}: 1 or 0 is needed")
        return None
