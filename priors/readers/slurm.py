"""Slurm accounting, ``sacct --parsable2``: interruptions of jobs over node-days."""

import json
from collections import Counter
from dataclasses import dataclass

from model.errors import InputError
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
from priors.readers.slurm_rows import (
    ELAPSED,
    FIXED_WIDTH,
    KNOWN_STATES,
    Header,
    elapsed_of,
    fixed_header,
    has_no_header,
    header_of,
    json_rows,
    moment,
    nodes_of,
    state_of,
)
from priors.readers.source import TextSource

DAY_S = 86400.0

HEAD = 50
"""Lines that may stand before the header."""

SEEN = 1 << 20
"""Rows that are remembered to find copies."""


@dataclass(frozen=True, slots=True)
class Slurm:
    """See the module."""

    name: str = "sacct"
    title: str = "Slurm sacct --parsable2"

    def recognise(self, head: list[str]) -> bool:
        """A header with the job's id and state, or sacct's JSON."""
        return any(
            header_of(line) is not None
            or FIXED_WIDTH.match(line) is not None
            or has_no_header(line)
            for line in head[:HEAD]
        ) or _is_json(head)

    def read(self, source: TextSource, options: ReadOptions) -> Found:
        """Interruptions by state, with the node-days of all allocations.

        Raises
        ------
        InputError
            If there is no header with JobID, State and a time, or no row with them.
        """
        return _Account(source, options).found()


class _Account:
    """One pass over the rows."""

    def __init__(self, source: TextSource, options: ReadOptions) -> None:
        self.source = source
        self.options = options
        self.skipped = Tally()
        self.header = Header("|", ())
        self.names: tuple[str, ...] = ()
        self.end_note = ""
        self.states: Counter[str] = Counter()
        self.jobs = 0
        self.events = 0
        self.uptime_s = 0.0
        self.without_uptime = 0
        self.job_s = 0.0
        self.node_s = 0.0
        self.without_nodes = 0
        self.rounded = 0
        self.first_missing = 0
        self.seen: dict[tuple[str, str], tuple[str, str, int]] = {}
        self.events_seen: set[tuple[str, ...]] = set()
        self.exposure = JobExposure()

    def found(self) -> Found:
        """Everything that the dump says."""
        last = self._read_json() if _is_json(self.source.head()) else self._read_lines()
        self._check_columns()
        if not self.jobs:
            raise refuse(
                self.source, max(last, 1), f"no job that ran in {last} lines; {self.skipped}"
            )
        return self._result()

    def _read_json(self) -> int:
        try:
            content = json.loads(self.source.text())
        except json.JSONDecodeError as error:
            raise refuse(self.source, error.lineno, f"not whole JSON: {error.msg}") from None
        except RecursionError:
            raise refuse(self.source, 1, "JSON nested too deeply") from None
        jobs = list(json_rows(content))
        self.names = tuple(jobs[0]) if jobs else ("start", "end")
        for row in jobs:
            self._take(0, row, cut=False)
        return len(jobs)

    def _read_lines(self) -> int:
        last, wide = 0, ""
        for number, line in self.source.lines():
            last = number
            if not line.strip():
                continue
            header = header_of(line)
            if header is None and set(line.strip()) <= set("-| "):
                header = fixed_header(wide, line)
                if header is None:
                    raise self._cut_columns(number - 1 if wide else number)
            if header is not None:
                self.header, self.names = header, header.names
            elif not self.names and FIXED_WIDTH.match(line):
                wide = line
            elif not self.names:
                if wide:
                    raise self._cut_columns(number - 1)
                if number > HEAD:
                    break
            else:
                self._row(number, line)
        if not self.names:
            if wide:
                raise self._cut_columns(1)
            raise refuse(
                self.source,
                1,
                "no header with JobID and State",
                "run sacct without -n (--noheader)",
            )
        return last

    def _cut_columns(self, number: int) -> InputError:
        return refuse(
            self.source,
            number,
            "columns of fixed width cut their values, and no rule of dashes tells their places",
            "run sacct with --parsable2",
        )

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
        cells = self.header.cells(line)
        cut = number == self.source.cut_line
        count = len(self.names)
        if len(cells) != count:
            reason = "last row cut" if cut else f"rows without the {count} fields of the header"
            self.skipped.add(reason, number)
            return
        self._take(number, dict(zip(self.names, cells, strict=True)), cut=cut)

    def _take(self, number: int, row: dict[str, str], *, cut: bool) -> None:
        """Count one row."""
        job = row.get("jobid") or row.get("jobidraw", "")
        if not job:
            self.skipped.add("rows without a job id", number)
            return
        if "." in job:
            self.skipped.add("step rows (.batch, .extern, .0 …): part of their job", number)
            return
        if job.endswith("+"):
            self.skipped.add("rows whose JobID is cut to the width of its column", number)
            return
        if cut and self.names[-1] not in ("state", "elapsed"):
            self.end_note = (
                f"line {number} has no ending: its last field, {self.names[-1]} "
                f"{row[self.names[-1]]!r}, may be cut"
            )
        state = state_of(row["state"])
        elapsed = self._elapsed(row, number, cut=cut)
        if cut and (state not in KNOWN_STATES or elapsed is None):
            self.skipped.add("last row cut", number)
            return
        if state not in KNOWN_STATES:
            self.skipped.add(f"rows of the unknown state {state!r}", number)
            return
        start = row.get("start", "")
        if moment(start) is not None and self._is_copy(number, row, job, state):
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

    def _elapsed(self, row: dict[str, str], number: int, *, cut: bool) -> float | None:
        raw = row.get("elapsedraw", "")
        value = float(raw) if raw.isdecimal() else elapsed_of(row.get("elapsed", ""))
        if cut and self.names[-1] == "elapsed" and not ELAPSED.match(row["elapsed"]):
            return None
        start, end = moment(row.get("start", "")), moment(row.get("end", ""))
        if start is not None and end is not None:
            between = end - start
            if value is None and between >= 0.0:
                return between
            if value is not None and abs(between - value) > max(60.0, 0.05 * value):
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
            self.without_uptime += 1
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
        nodes = nodes_of(row)
        self.rounded += row.get("nnodes", "").endswith(("K", "M"))
        self.exposure.add(
            nodes or self.options.job_nodes or 1.0,
            elapsed,
            moment(row.get("start", "")),
            events,
        )
        if elapsed == 0.0:
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
        if self.rounded:
            notes.append(
                f"{self.rounded} jobs print their nodes as 1.5K does 1,536, to three digits: sacct "
                "--noconvert prints them whole"
            )
        if self.end_note:
            notes.append(self.end_note)
        if "REQUEUED" in options.counted_states and not self.states["REQUEUED"]:
            notes.append("no job is REQUEUED: sacct shows requeued attempts only with -D")
        measures = [
            Measure(name="jobs", value=self.jobs, unit="1", meaning="allocations, attempts single"),
            Measure(name="interruptions", value=self.events, unit="1", meaning=f"of {counted}"),
        ]
        if self.events > self.without_uptime:
            mean = self.uptime_s / (self.events - self.without_uptime)
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


def _is_json(head: list[str]) -> bool:
    """Whether the head is of sacct's JSON."""
    text = "\n".join(head[:2000])
    return text.lstrip().startswith("{") and '"jobs"' in text and '"job_id"' in text
