"""Failure and incident tables (CSV): counted events over the node-days under observation.

Two kinds of table exist. Rows are outages (from a failure to its repair): exposure is nodes times
the window. Or rows are intervals of running, with a column that says which of them were censored:
exposure is their sum, the censored ones included.
"""

import re
from collections import Counter
from dataclasses import dataclass

from model.errors import nearest
from priors.readers.found import (
    Draft,
    Event,
    Found,
    Measure,
    ReadOptions,
    Tally,
    identifier,
    refuse,
)
from priors.readers.source import TextSource
from priors.readers.table_dates import date_of
from priors.readers.table_records import Record, headings, is_header, is_json_table
from priors.readers.table_records import records as read_records

DAY_S = 86400.0

PLANNED = re.compile(r"\b(?:planned|scheduled|maintenance)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FailureTable:
    """See the module."""

    name: str = "failure-table"
    title: str = "failure or incident table, CSV"

    def recognise(self, head: list[str]) -> bool:
        """A header with a start or a duration, and a node or a cause."""
        return any(is_header(line) for line in headings(head)) or is_json_table(head)

    def read(self, source: TextSource, options: ReadOptions) -> Found:
        """The count with its exposure.

        Raises
        ------
        InputError
            If no row can be read, or dates can be read in two ways.
        """
        skipped = Tally()
        table = read_records(source, options, skipped)
        records, notes, intervals = table.records, table.notes, table.intervals
        if not records:
            raise refuse(source, 1, f"no row that can be read; {skipped}")
        counted = [row for row in records if not row.censored]
        events = [row for row in counted if not PLANNED.search(row.cause)]
        if len(events) < len(counted):
            notes.append(f"{len(counted) - len(events)} planned or maintenance rows are no events")
        causes = Counter(row.cause or "no cause given" for row in events)
        notes.append("causes: " + ", ".join(f"{name} {n}" for name, n in causes.most_common(8)))
        usual: Event = "gpu_error" if table.gpu_errors else "job_interruption"
        if "node" in table.places and not table.gpu_errors:
            usual = "node_hardware_failure"
        kind = options.event or usual
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
