"""Failure and incident tables (CSV): counted events over the node-days under observation.

Two kinds of table exist. Rows are outages (from a failure to its repair): exposure is nodes times
the window. Or rows are intervals of running, with a column that says which of them were censored:
exposure is their sum, the censored ones included.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from model.errors import nearest
from priors.readers.found import (
    Draft,
    Found,
    Measure,
    ReadOptions,
    Tally,
    identifier,
    refuse,
)
from priors.readers.source import TextSource
from priors.readers.table_columns import columns_of, date_of, date_order, split_unit
from priors.readers.text import number_of, seconds_of

DAY_S = 86400.0
MOST_ROWS = 2_000_000
HEADER_LINES, TITLES = 40, 6

QUOTED_LINES = 64
"""Lines that a quoted cell may take: a quote without its end must not swallow the table."""

PLANNED = re.compile(r"\b(?:planned|scheduled|maintenance)\b", re.IGNORECASE)
CENSORED = re.compile(
    r"^(?:censored|right[- ]censored|still (?:up|running)|running|end of observation)$",
    re.IGNORECASE,
)
TRUE = frozenset({"1", "true", "yes", "y", "censored"})
FALSE = frozenset({"0", "false", "no", "n", "", "uncensored", "observed"})
RUNNING = frozenset({"uptime", "ttf", "timetofailure"})
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


@dataclass(frozen=True, slots=True)
class FailureTable:
    """See the module."""

    name: str = "failure-table"
    title: str = "failure or incident table, CSV"

    def recognise(self, head: list[str]) -> bool:
        """A header with a start or a duration, and a node or a cause."""
        return any(_is_header(line) for line in _headings(head))

    def read(self, source: TextSource, options: ReadOptions) -> Found:
        """The count with its exposure.

        Raises
        ------
        InputError
            If no row can be read, or dates can be read in two ways.
        """
        skipped = Tally()
        records, places, notes, intervals = _records(source, options, skipped)
        if not records:
            raise refuse(source, 1, f"no row that can be read; {skipped}")
        counted = [row for row in records if not row.censored]
        events = [row for row in counted if not PLANNED.search(row.cause)]
        if len(events) < len(counted):
            notes.append(f"{len(counted) - len(events)} planned or maintenance rows are no events")
        causes = Counter(row.cause or "no cause given" for row in events)
        notes.append("causes: " + ", ".join(f"{name} {n}" for name, n in causes.most_common(8)))
        kind = options.event or (
            "node_hardware_failure" if "node" in places else "job_interruption"
        )
        if options.event is None:
            notes.append(f"each row is taken as a {kind}: --event says otherwise")
        measures = [Measure(name="events", value=len(events), unit="1", meaning=kind)]
        lengths = [row.duration for row in records if row.duration]
        if lengths:
            what = "interval" if intervals else "outage"
            mean = sum(lengths) / len(lengths)
            measures.append(Measure(name=f"mean_{what}_s", value=mean, unit="s"))
        withheld: list[str] = []
        drafts: list[Draft] = []
        fleets = sorted({row.fleet for row in records})
        _check_fleets(fleets, options, source)
        if len(fleets) > 1:
            notes.append(
                f"{len(fleets)} fleets are not pooled: each has a level of its own"
                + ("" if options.own_fleet else "; --own-fleet names the scenario's")
            )
        if intervals:
            exposures = _running(records, fleets, notes, skipped)
        else:
            exposures = _observed(records, fleets, options, source, notes=notes, withheld=withheld)
        for fleet, node_days in exposures.items():
            count = sum(1 for row in events if row.fleet == fleet)
            name = fleet if len(fleets) > 1 else ""
            drafts += _draft(source, options, count, node_days, kind=kind, fleet=name)
        if drafts:
            total = sum(float(str(draft.raw["node_days"])) for draft in drafts)
            measures.append(Measure(name="node_days", value=total, unit="node-days"))
        elif not withheld:
            withheld.append("interruptions: no row has a length, so there is no exposure")
        return Found(
            format=self.name,
            source=source.label,
            drafts=tuple(drafts),
            measures=tuple(measures),
            skipped=skipped,
            notes=tuple(notes),
            withheld=tuple(withheld),
        )


def _headings(head: Sequence[str]) -> list[str]:
    """Lines that can be the header: exports put a title or two before it."""
    lines = [line for line in head[:HEADER_LINES] if line.strip() and not line.startswith("#")]
    return lines[:TITLES]


def _is_header(line: str) -> bool:
    names = {split_unit(name)[0] for name in _cells(line, _delimiter(line))}
    return (
        len(names) > 1
        and _known(names, "start", "duration")
        and _known(names, "node", "cause", "censored")
    )


def _known(names: set[str], *whats: str) -> bool:
    from priors.readers.table_columns import NAMES

    return any(name in names for what in whats for name in NAMES[what])


def _delimiter(header: str) -> str:
    return max((",", ";", "\t", "|"), key=header.count)


def _cells(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []


def _records(
    source: TextSource, options: ReadOptions, skipped: Tally
) -> tuple[list[Record], dict[str, int], list[str], bool]:
    """All rows, where columns are, notes, and whether rows are intervals of running."""
    header: list[str] = []
    raw: list[tuple[int, list[str]]] = []
    delimiter = ","
    first = next((line for line in _headings(source.head()) if _is_header(line)), None)
    for number, line in _records_of(source, skipped):
        if not line.strip() or line.startswith("#"):
            continue
        if not header:
            if first is not None and not _is_header(line):
                skipped.add("lines before the header", number)
                continue
            delimiter = _delimiter(line)
            header = [name.strip() for name in _cells(line, delimiter)]
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
    places = columns_of(header, options.columns, source)
    if "start" not in places and "duration" not in places:
        raise refuse(
            source,
            1,
            "neither a start nor a duration is among the columns: " + ", ".join(header),
            "--columns node=…,start=…,end=…,cause=…",
        )
    dates = [places[key] for key in ("start", "end") if key in places]
    order = options.date_order or date_order([cells for _, cells in raw], dates)
    notes = (
        [
            "dates are written both day first and month first: those that could be either are "
            "left out"
        ]
        if order == "mixed"
        else []
    )
    unit = split_unit(header[places["duration"]])[1] if "duration" in places else None
    name = split_unit(header[places["duration"]])[0] if "duration" in places else ""
    records = []
    for number, cells in raw:
        row = _record(number, cells, places, order=order, unit=unit, skipped=skipped, source=source)
        if row is not None:
            records.append(row)
    intervals = "censored" in places or "event" in places or name in RUNNING
    intervals |= any(row.censored for row in records)
    return records, places, notes, intervals


def _records_of(source: TextSource, skipped: Tally) -> Iterator[tuple[int, str]]:
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


def _record(
    line: int,
    cells: list[str],
    places: dict[str, int],
    *,
    order: str,
    unit: float | None,
    skipped: Tally,
    source: TextSource,
) -> Record | None:
    text = {what: cells[place].strip() for what, place in places.items()}
    start = date_of(text.get("start", ""), order)
    end = date_of(text.get("end", ""), order)
    if "start" in places and start is None:
        if not order and re.match(r"\d{1,2}[/.]\d{1,2}[/.]\d", text["start"]):
            raise refuse(
                source,
                line,
                f"{text['start']!r} can be read day first or month first",
                "say --dates dmy or --dates mdy",
            )
        skipped.add("rows without a start that can be read", line)
        return None
    duration = _duration(text.get("duration", ""), unit)
    if start is not None and end is not None:
        between = end - start
        if between < 0.0:
            skipped.add("ends before their start, not used", line)
            end = None
        else:
            if duration is not None and abs(between - duration) > max(60.0, 0.01 * between):
                skipped.add("durations that are not end − start, not used", line)
            duration = between
    if duration == 0.0:
        skipped.add("durations of zero (the event counts)", line)
    cause = text.get("cause", "")
    return Record(
        line=line,
        node=text.get("node", ""),
        fleet=text.get("fleet", ""),
        start=start,
        end=end,
        duration=duration,
        cause="" if CENSORED.match(cause) else cause,
        censored=_censored(text, cause, line, source),
    )


def _duration(text: str, unit: float | None) -> float | None:
    if (seconds := seconds_of(text)) is not None:
        return seconds
    value = number_of(text)
    if value is None or unit is None or value < 0.0:
        return None
    return value * unit


def _censored(text: dict[str, str], cause: str, line: int, source: TextSource) -> bool | None:
    """Whether the interval ended with the observation; None where the table has no such thing."""
    if CENSORED.match(cause):
        return True
    for key, means in (("censored", True), ("event", False)):
        if key in text:
            value = text[key].lower()
            if value in TRUE:
                return means
            if value in FALSE:
                return not means
            raise refuse(source, line, f"{key} is {text[key]!r}: 1 or 0 is needed")
    return None


def _draft(
    source: TextSource,
    options: ReadOptions,
    events: int,
    node_days: float,
    *,
    kind: str,
    fleet: str,
) -> list[Draft]:
    """The count of one fleet of the table, nothing without exposure."""
    if node_days <= 0.0:
        return []
    place = options.place("fleet")
    name = "_".join(word for word in ("interruptions", *re.findall(r"\w+", fleet)))
    if fleet and fleet != options.own_fleet:
        place["fleet"] = f"{place['fleet']}_{fleet}"
    raw: dict[str, object] = {
        "id": identifier(source, name.lower()),
        "kind": "interruptions",
        **place,
        "counts": kind,
        "events": events,
        "node_days": float(f"{node_days:.6g}"),
        "source": f"{source.label}: failure table",
    }
    return [Draft(raw=raw, comments=("One event a row; exposure is nodes times time observed.",))]


def _check_fleets(fleets: list[str], options: ReadOptions, source: TextSource) -> None:
    """Fleets that the planner names must be in the table."""
    for name in (*options.fleet_nodes, options.own_fleet):
        if name and name not in fleets:
            raise refuse(
                source,
                1,
                f"no fleet {name!r} is in the table",
                nearest(name, [f for f in fleets if f]),
            )


def _running(
    records: list[Record], fleets: list[str], notes: list[str], skipped: Tally
) -> dict[str, float]:
    """Node-days of each fleet, rows being intervals of running."""
    notes.append("rows are intervals of running; censored ones are exposure and no event")
    exposures = dict.fromkeys(fleets, 0.0)
    for row in records:
        if row.duration is None:
            skipped.add("intervals without a length: no exposure of theirs", row.line)
        exposures[row.fleet] += (row.duration or 0.0) / DAY_S
    return exposures


def _observed(
    records: list[Record],
    fleets: list[str],
    options: ReadOptions,
    source: TextSource,
    *,
    notes: list[str],
    withheld: list[str],
) -> dict[str, float]:
    """Node-days of each fleet, rows being outages: nodes times the window of observation."""
    days = _window(records, options, notes, source)
    exposures = {}
    several = len(fleets) > 1
    for fleet in fleets:
        listed = len({row.node for row in records if row.node and row.fleet == fleet})
        of = f" of {fleet}" if several else ""
        one = options.job_nodes if not several and not options.fleet_nodes else None
        nodes = options.fleet_nodes.get(fleet, one)
        if nodes is None:
            withheld.append(
                f"interruptions{of}: {listed} nodes have failed; how many were under observation "
                f"is not in the table: --nodes{f' {fleet!r}=N' if several else ''}"
            )
            continue
        if listed > nodes:
            message = f"{listed} nodes{of} are in the table, {nodes:g} are said to exist"
            raise refuse(source, 1, message)
        notes.append(f"{nodes:g} nodes{of} over {days:.4g} days")
        exposures[fleet] = nodes * days
    return exposures


def _window(
    records: list[Record], options: ReadOptions, notes: list[str], source: TextSource
) -> float:
    """Days of observation."""
    moments = [m for row in records for m in (row.start, row.end) if m is not None]
    since, until = (_bound(options.since, source), _bound(options.until, source))
    first = since if since is not None else min(moments, default=0.0)
    last = until if until is not None else max(moments, default=0.0)
    outside = [row for row in records if row.start is not None and not first <= row.start <= last]
    if outside:
        raise refuse(
            source,
            outside[0].line,
            f"{len(outside)} rows start outside the window of observation",
            "widen --since and --until",
        )
    if until is None:
        notes.append("observation is taken to end with the last record: --until names its end")
    if since is None:
        notes.append("observation is taken to begin with the first record: --since names its begin")
    return (last - first) / DAY_S


def _bound(text: str, source: TextSource) -> float | None:
    if not text:
        return None
    value = date_of(text, "")
    if value is None:
        raise refuse(source, 0, f"{text!r} is no date", "write 2025-03-31")
    return value
