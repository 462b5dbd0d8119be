"""Rows of Slurm's accounting as sacct prints them: delimited, of fixed width, or as JSON."""

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass

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
FIXED_WIDTH = re.compile(r"\s*JobID(?:Raw)?\s+(?:\w+%?\s+)*State\b", re.IGNORECASE)
TRES_NODES = re.compile(r"(?:^|,)node=(\d+)")

THOUSANDS = re.compile(r"(\d+(?:\.\d+)?)([KM])\Z")
"""A count of nodes from 1,024 on, as sacct shortens it."""

EPOCH = re.compile(r"\d{9,10}\Z")
"""A moment as SLURM_TIME_FORMAT=%s prints it."""


@dataclass(frozen=True, slots=True)
class Header:
    """Names of the columns, and how a line is divided into them.

    Parameters
    ----------
    delimiter
        Between fields; empty for columns of fixed width.
    names
        In small letters.
    leads
        Whether lines begin with a delimiter, or with an index.
    spans
        First and last place of each column of fixed width.
    """

    delimiter: str
    names: tuple[str, ...]
    leads: bool = False
    spans: tuple[tuple[int, int], ...] = ()

    def cells(self, line: str) -> list[str]:
        """Fields of a line: as many as names, or the line is none of this table's."""
        if self.spans:
            return self._fixed(line)
        if self.delimiter == ",":
            cells = [cell.strip() for cell in next(csv.reader([line]), [])]
        else:
            cells = [cell.strip() for cell in line.split(self.delimiter)]
        count = len(self.names)
        if self.leads and len(cells) > count and (not cells[0] or self.delimiter == ","):
            cells = cells[1:]
        if len(cells) == count + 1:
            cells = cells[:-1] if not cells[-1] else cells[1:] if not cells[0] else cells
        return self._joined(cells) if len(cells) > count else cells

    def _joined(self, cells: list[str]) -> list[str]:
        """Fields with a job's name that holds the delimiter put together, if a state results."""
        if "jobname" not in self.names:
            return cells
        place, extra = self.names.index("jobname"), len(cells) - len(self.names)
        name = self.delimiter.join(cells[place : place + extra + 1])
        joined = [*cells[:place], name, *cells[place + extra + 1 :]]
        known = state_of(joined[self.names.index("state")]) in KNOWN_STATES
        return joined if known else cells

    def _fixed(self, line: str) -> list[str]:
        """Fields by their places; one that is cut to its width is empty, but for id and state."""
        cells = []
        for name, (begin, end) in zip(self.names, self.spans, strict=True):
            last = (begin, end) == self.spans[-1]
            cell = line[begin:].strip() if last else line[begin:end].strip()
            cut = cell.endswith("+") and len(cell) >= end - begin
            cells.append("" if cut and name not in ("jobid", "jobidraw", "state") else cell)
        return cells


def header_of(line: str) -> Header | None:
    """The header that a line of delimited fields is; None for any other line."""
    for delimiter in ("|", "\t", ";", ","):
        # --parsable ends each line with a delimiter; some dumps begin with one.
        names = [
            name.strip().strip('"').lower()
            for name in line.strip().strip(delimiter).split(delimiter)
        ]
        if {"jobid", "jobidraw"} & set(names) and "state" in names:
            return Header(delimiter, tuple(names), leads=line.strip().startswith(delimiter))
    return None


def has_no_header(line: str) -> bool:
    """Whether a line is a row of sacct's, which it prints without a header if it is told to."""
    cells = [cell.strip() for cell in line.split("|")]
    return any(ELAPSED.match(cell) for cell in cells) and any(
        state_of(cell) in KNOWN_STATES for cell in cells
    )


def fixed_header(names: str, rule: str) -> Header | None:
    """The header of columns that a rule of dashes marks; None where they do not agree."""
    spans = tuple((match.start(), match.end()) for match in re.finditer("-+", rule))
    cells = [names[begin:end].strip().lower() for begin, end in spans]
    if len(names.split()) != len(spans) or not all(cells) or "state" not in cells:
        return None
    return Header("", tuple(cells), spans=spans)


def state_of(text: str) -> str:
    """Slurm's state, in full, of whatever the text begins with."""
    words = text.upper().replace("+", " ").replace(",", " ").split()
    word = words[0] if words else ""
    if word in STATES:
        return STATES[word]
    if word in KNOWN_STATES:
        return word
    # sacct cuts wide states to the width of a column: CANCELLED+, OUT_OF_ME+.
    long = [state for state in KNOWN_STATES if text.endswith("+") and state.startswith(word)]
    return long[0] if len(long) == 1 else word


def moment(text: str) -> float | None:
    """Seconds since 1970 of a start or an end."""
    return float(text) if EPOCH.match(text) else moment_of(text)


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
    return days * 86400.0 + hours * 3600.0 + minutes * 60.0 + seconds


def nodes_of(row: dict[str, str]) -> float | None:
    """Nodes of a job, by count or by list; None where neither is said."""
    for key in ("nnodes", "allocnodes"):
        if row.get(key, "").isdecimal() and int(row[key]) > 0:
            return float(row[key])
    match = TRES_NODES.search(row.get("alloctres", ""))
    if match:
        return float(match[1])
    listed = _listed(row.get("nodelist", ""))
    if listed is None and (short := THOUSANDS.match(row.get("nnodes", ""))):
        return float(short[1]) * (1024.0 if short[2] == "K" else 1024.0**2)
    return listed


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


def json_rows(content: object) -> Iterator[dict[str, str]]:
    """Jobs of ``sacct --json`` with the names of columns."""
    jobs = content.get("jobs") if isinstance(content, dict) else None
    for item in jobs if isinstance(jobs, list) else []:
        job = item if isinstance(item, dict) else {}  # counted as a row that says nothing
        times = job.get("time")
        times = times if isinstance(times, dict) else {}
        state = job.get("state")
        state = state.get("current") if isinstance(state, dict) else state
        yield {
            "jobid": _json_id(job),
            "state": ",".join(map(str, state)) if isinstance(state, list) else str(state or ""),
            "elapsedraw": _plain(times.get("elapsed")),
            "start": _plain(times.get("start", job.get("start_time"))),
            "end": _plain(times.get("end", job.get("end_time"))),
            "nnodes": _plain(job.get("allocation_nodes")),
            "nodelist": str(job.get("nodes") or ""),
        }


def _json_id(job: dict[str, object]) -> str:
    """The id as sacct prints it: of a task of an array, or a part of a heterogeneous job."""
    for key, part, mark in (("array", "task_id", "_"), ("het", "job_offset", "+")):
        group = job.get(key)
        if isinstance(group, dict) and (whole := _plain(group.get("job_id"))) not in ("", "0"):
            return f"{whole}{mark}{_plain(group.get(part))}"
    return _plain(job.get("job_id"))


def _plain(value: object) -> str:
    """A number, which newer releases wrap with whether it is set."""
    if isinstance(value, dict):
        value = value.get("number") if value.get("set", True) else None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""
