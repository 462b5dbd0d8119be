"""Slurm accounting, ``sacct --parsable2``: interruptions of jobs over node-days."""

import re
from collections import Counter
from dataclasses import dataclass

from priors.readers.found import (
    Draft,
    Found,
    Measure,
    ReadOptions,
    Tally,
    identifier,
    refuse,
)
from priors.readers.job_exposure import JobExposure, SizeClass
from priors.readers.source import TextSource
from priors.readers.text import moment_of

STATES = {
    "BF": "BOOT_FAIL",
    "CA": "CANCELLED",
    "CD": "COMPLETED",
    "CF": "CONFIGURING",
    "CG": "COMPLETING",
    "DL": "DEADLINE",
    "F": "FAILED",
    "LF": "LAUNCH_FAILED",
    "NF": "NODE_FAIL",
    "OOM": "OUT_OF_MEMORY",
    "PD": "PENDING",
    "PR": "PREEMPTED",
    "R": "RUNNING",
    "RF": "RECONFIG_FAIL",
    "RQ": "REQUEUED",
    "RS": "RESIZING",
    "RV": "REVOKED",
    "S": "SUSPENDED",
    "TO": "TIMEOUT",
}
KNOWN_STATES = frozenset(STATES.values()) | {"REQUEUE_HOLD", "SPECIAL_EXIT", "STOPPED", "SIGNALING"}

ELAPSED = re.compile(r"(?:(\d+)-)?(\d+):(\d{2}):(\d{2})(?:\.\d+)?\Z")
SHORT_ELAPSED = re.compile(r"(\d+):(\d{2})(?:\.\d+)?\Z")
HOSTS = re.compile(r"([^,\[\]]*)(?:\[([^\]]*)\])?[^,\[\]]*")
FIXED_WIDTH = re.compile(r"\s*JobID\s+(?:\w+%?\s+)*State\b", re.IGNORECASE)
TRES_NODES = re.compile(r"(?:^|,)node=(\d+)")

DAY_S = 86400.0

SEEN = 1 << 20
"""Rows that are remembered to find copies."""


@dataclass(frozen=True, slots=True)
class Slurm:
    """See the module."""

    name: str = "sacct"
    title: str = "Slurm sacct --parsable2"

    def recognise(self, head: list[str]) -> bool:
        """A header with the job's id and state."""
        return any(
            _header(line) is not None or FIXED_WIDTH.match(line) is not None for line in head[:50]
        )

    def read(self, source: TextSource, options: ReadOptions) -> Found:
        """Interruptions by state, with the node-days of all allocations.

        Raises
        ------
        InputError
            If there is no header with JobID, State and a time, or no row with them.
        """
        return _Account(source, options).found()


def _header(line: str) -> tuple[str, list[str]] | None:
    """Delimiter and names of a header."""
    for delimiter in ("|", "\t", ";", ","):
        # --parsable ends each line with a delimiter; some dumps begin with one.
        names = [name.strip().lower() for name in line.strip().strip(delimiter).split(delimiter)]
        if {"jobid", "jobidraw"} & set(names) and "state" in names:
            return delimiter, names
    return None


def elapsed_of(text: str) -> float | None:
    """Seconds of Slurm's ``[D-]HH:MM:SS``, or ``MM:SS``; None for what is no time."""
    match = ELAPSED.match(text)
    if match:
        days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    elif short := SHORT_ELAPSED.match(text):
        days, hours, minutes, seconds = 0, 0, int(short[1]), int(short[2])
    else:
        return None
    if seconds >= 60 or (match and minutes >= 60):  # noqa: PLR2004 - sexagesimal
        return None
    return days * DAY_S + hours * 3600.0 + minutes * 60.0 + seconds


class _Account:
    """One pass over the rows."""

    def __init__(self, source: TextSource, options: ReadOptions) -> None:
        self.source = source
        self.options = options
        self.skipped = Tally()
        self.names: list[str] = []
        self.delimiter = "|"
        self.leads = False
        self.end_note = ""
        self.states: Counter[str] = Counter()
        self.jobs = 0
        self.events = 0
        self.uptime_s = 0.0
        self.job_s = 0.0
        self.node_s = 0.0
        self.without_nodes = 0
        self.disagree = 0
        self.first_missing = 0
        self.seen: dict[tuple[str, str], tuple[str, str, int]] = {}
        self.events_seen: set[tuple[str, ...]] = set()
        self.exposure = JobExposure()

    def found(self) -> Found:
        last = 0
        for number, line in self.source.lines():
            last = number
            if not line.strip():
                continue
            header = _header(line)
            if header is not None:
                self.delimiter, self.names = header
                self.leads = line.strip().startswith(self.delimiter)
            elif (not self.names and FIXED_WIDTH.match(line)) or (
                self.names and set(line.strip()) <= set("-| ")
            ):
                raise refuse(
                    self.source,
                    number,
                    "columns of fixed width cut their values",
                    "run sacct with --parsable2",
                )
            elif not self.names:
                if number > 50:  # noqa: PLR2004 - as far as it is recognised
                    break
            else:
                self._row(number, line)
        if not self.names:
            raise refuse(
                self.source, 1, "no header with JobID and State", "run sacct without --noheader"
            )
        self._check_columns()
        if not self.jobs:
            raise refuse(
                self.source, max(last, 1), f"no job that ran in {last} lines; {self.skipped}"
            )
        return self._result()

    def _check_columns(self) -> None:
        times = {"elapsed", "elapsedraw"} & set(self.names)
        if not times and not {"start", "end"} <= set(self.names):
            raise refuse(
                self.source,
                1,
                "neither Elapsed nor Start and End are among the columns",
                "sacct --parsable2 -D -o JobID,State,Elapsed,Start,End,NNodes",
            )

    def _row(self, number: int, line: str) -> None:
        cells = [cell.strip() for cell in line.split(self.delimiter)]
        count = len(self.names)
        if self.leads and len(cells) > count and not cells[0]:
            cells = cells[1:]
        if len(cells) == count + 1:
            cells = cells[:-1] if not cells[-1] else cells[1:] if not cells[0] else cells
        cut = number == self.source.cut_line
        if len(cells) != count:
            reason = "last row cut" if cut else f"rows without the {count} fields of the header"
            self.skipped.add(reason, number)
            return
        row = dict(zip(self.names, cells, strict=True))
        job = row.get("jobid") or row.get("jobidraw", "")
        if not job:
            self.skipped.add("rows without a job id", number)
            return
        if "." in job:
            self.skipped.add("step rows (.batch, .extern, .0 …): part of their job", number)
            return
        if cut and self.names[-1] not in ("state", "elapsed"):
            self.end_note = (
                f"line {number} has no ending: its last field, {self.names[-1]} {cells[-1]!r}, may "
                "be cut"
            )
        state = self._state(row["state"])
        elapsed = self._elapsed(row, number, cut=cut)
        if cut and (state not in KNOWN_STATES or elapsed is None):
            self.skipped.add("last row cut", number)
            return
        if state not in KNOWN_STATES:
            self.skipped.add(f"rows of the unknown state {state!r}", number)
            return
        start = row.get("start", "")
        if moment_of(start) is not None and self._is_copy(number, row, job, state):
            return
        self._count(number, row, job, state, elapsed)

    def _is_copy(self, number: int, row: dict[str, str], job: str, state: str) -> bool:
        """Whether an earlier row tells of the same attempt: several dumps in one file overlap.

        Raises
        ------
        InputError
            If two rows tell of one attempt differently.
        """
        key, end = (job, row["start"]), row.get("end", "")
        known = self.seen.get(key)
        if known is None:
            if len(self.seen) < SEEN:
                self.seen[key] = (end, state, number)
            return False
        if known[0] == end:
            again = "copies of a row" if known[1] == state else "rows of one attempt in two states"
            self.skipped.add(again, number)
            return True
        raise refuse(
            self.source,
            number,
            f"job {job} of {row['start']} is told of a second time, as {state} after {known[1]} in "
            f"line {known[2]}: dumps of two moments are in this file",
            "hand over the newest dump alone",
        )

    def _state(self, text: str) -> str:
        words = text.upper().replace("+", " ").replace(",", " ").split()
        word = words[0] if words else ""
        if word in STATES:
            return STATES[word]
        if word in KNOWN_STATES:
            return word
        # sacct cuts wide states to the width of a column: CANCELLED+, OUT_OF_ME+.
        long = [state for state in KNOWN_STATES if text.endswith("+") and state.startswith(word)]
        return long[0] if len(long) == 1 else word

    def _elapsed(self, row: dict[str, str], number: int, *, cut: bool) -> float | None:
        raw = row.get("elapsedraw", "")
        value = float(raw) if raw.isdecimal() else elapsed_of(row.get("elapsed", ""))
        if cut and self.names[-1] == "elapsed" and not ELAPSED.match(row["elapsed"]):
            return None
        start, end = moment_of(row.get("start", "")), moment_of(row.get("end", ""))
        if start is not None and end is not None:
            between = end - start
            if value is None and between >= 0.0:
                return between
            if value is not None and abs(between - value) > max(60.0, 0.05 * value):
                self.disagree += 1
                self.skipped.add(
                    "rows whose End − Start is not Elapsed; Elapsed is used", number, 0
                )
        return value

    def _count(
        self, number: int, row: dict[str, str], job: str, state: str, elapsed: float | None
    ) -> None:
        self.states[state] += 1
        counted = state in self.options.counted_states
        if elapsed is None:
            if state != "PENDING":
                self.skipped.add("jobs without an elapsed time", number)
            if not counted:
                return
            elapsed = 0.0
        events = 0
        if counted:
            # Components of one heterogeneous job stop together.
            event = (job.partition("+")[0], row.get("end", ""), str(elapsed))
            if "+" not in job or event not in self.events_seen:
                events = 1
                self.events += 1
                self.uptime_s += elapsed
            if "+" in job:
                self.events_seen.add(event)
        nodes = _nodes(row)
        self.exposure.add(
            nodes or self.options.job_nodes or 1.0,
            max(elapsed, 0.0),
            moment_of(row.get("start", "")),
            events,
        )
        if elapsed <= 0.0:
            if not counted:
                self.skipped.add("jobs that never ran", number)
            else:
                self.jobs += 1
            return
        self.jobs += 1
        self.job_s += elapsed
        if nodes is None:
            self.without_nodes += 1
            self.first_missing = self.first_missing or number
        else:
            self.node_s += nodes * elapsed

    def _result(self) -> Found:
        options = self.options
        counted = ", ".join(sorted(options.counted_states))
        others = ", ".join(
            f"{state} {count}"
            for state, count in self.states.most_common()
            if state not in options.counted_states
        )
        notes = [
            f"interruptions are the states {counted} (--counts-states says otherwise); "
            f"not counted: {others or 'none'}",
            "exposure is the elapsed time of every allocation, whatever its end, times its nodes",
        ]
        if self.end_note:
            notes.append(self.end_note)
        if "REQUEUED" in options.counted_states and not self.states["REQUEUED"]:
            notes.append("no job is REQUEUED: sacct shows requeued attempts only with -D")
        measures = [
            Measure(name="jobs", value=self.jobs, unit="1", meaning="allocations, attempts single"),
            Measure(name="interruptions", value=self.events, unit="1", meaning=f"of {counted}"),
        ]
        if self.events:
            mean = self.uptime_s / self.events
            measures.append(
                Measure(name="mean_uptime_s", value=mean, unit="s", meaning="of interrupted jobs")
            )
        node_days = self._node_days(notes)
        withheld = []
        drafts = []
        if node_days is None:
            withheld.append(
                f"interruptions: {self.without_nodes} jobs (first in line {self.first_missing}) do "
                "not say their nodes: add NNodes to sacct's -o, or give --nodes or --scenario"
            )
        else:
            measures.append(Measure(name="node_days", value=node_days, unit="node-days"))
            classes = self.exposure.classes()
            drafts += [self._draft(item, counted, alone=len(classes) == 1) for item in classes]
            if not classes:
                withheld.append("interruptions: no job has a length, so there is no exposure")
            if len(classes) > 1:
                notes.append(
                    f"jobs of {len(classes)} size classes are counted apart: they tell a rate per "
                    "job from a rate per node"
                )
        return Found(
            format="sacct",
            source=self.source.label,
            drafts=tuple(drafts),
            measures=tuple(measures),
            skipped=self.skipped,
            notes=tuple(notes),
            withheld=tuple(withheld),
        )

    def _node_days(self, notes: list[str]) -> float | None:
        """Exposure; the planner's node count stands in only where no row has its own."""
        if not self.without_nodes:
            return self.node_s / DAY_S
        nodes = self.options.job_nodes
        if nodes is None or self.node_s > 0.0:
            return None
        notes.append(f"no row says its nodes: {nodes:g} are taken, as said")
        return nodes * self.job_s / DAY_S

    def _draft(self, jobs: SizeClass, counted: str, *, alone: bool) -> Draft:
        """The count of one size class; its periods where there are enough."""
        name = "interruptions" if alone else f"interruptions_{jobs.nodes_per_job:.0f}_nodes"
        events = [count for count, _ in jobs.periods]
        node_days = [float(f"{exposure:.6g}") for _, exposure in jobs.periods]
        divided = len(events) > 1
        raw: dict[str, object] = {
            "id": identifier(self.source, name),
            "kind": "interruptions",
            **self.options.place("fleet"),
            "counts": "job_interruption",
            "events": events if divided else events[0],
            "node_days": node_days if divided else node_days[0],
            "nodes_per_job": float(f"{jobs.nodes_per_job:.6g}"),
            "source": f"{self.source.label}: sacct",
        }
        divisions = ("Four weeks or more each, by the start of a job.",) if divided else ()
        return Draft(
            raw=raw,
            comments=(
                f"Attempts that ended as {counted}.",
                "Node-days: elapsed time times nodes of "
                + (
                    f"{self.jobs} allocations."
                    if alone
                    else f"allocations of about {jobs.nodes_per_job:.0f} nodes."
                ),
                *divisions,
            ),
        )


def _nodes(row: dict[str, str]) -> float | None:
    for key in ("nnodes", "allocnodes"):
        if row.get(key, "").isdecimal() and int(row[key]) > 0:
            return float(row[key])
    match = TRES_NODES.search(row.get("alloctres", ""))
    if match:
        return float(match[1])
    return _listed(row.get("nodelist", ""))


def _listed(text: str) -> float | None:
    """Nodes of a list such as ``n[01-03,7],login1``; None for what is no list."""
    if not text or " " in text or text.lower().startswith(("none", "unknown")):
        return None
    count = 0
    for name, inside in HOSTS.findall(text):
        if not name:
            continue
        ranges = [part.split("-") for part in inside.split(",")] if inside else [["0"]]
        if not all(number.isdecimal() for bounds in ranges for number in bounds):
            return None
        count += sum(int(bounds[-1]) - int(bounds[0]) + 1 for bounds in ranges)
    return float(count) if count > 0 else None
