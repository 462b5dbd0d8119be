"""Rows of published failures: typed, judged by a stated rule, grouped."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from studies.systems.tables import TableRow, number_in, read_csv, read_shipped

type Counted = Literal["job_interruption", "node_hardware_failure"]
type Bound = Literal["value", "at_least", "at_most"]

NUMBERS = ("accelerators", "nodes", "days", "exposure_node_days", "events", "rate_per_node_day")
TEXTS = (
    "fleet_id",
    "system",
    "source",
    "event_definition",
    "is_measurement",
    "ettr_or_goodput",
    "detection_s",
    "restart_s",
    "checkpoint_write_s",
    "notes",
)
COLUMNS = (*TEXTS, *NUMBERS)

PER_NODE = 8
"""Accelerators of a node where a row does not state its nodes."""

RATE_ERROR = 0.3
"""Error of a printed rate whose exposure is not stated, sd of its log: what the one fleet that
prints two such rates differs by, and a margin for rounding."""

INCLUSION_RULE = """\
Failures: a row is predicted where (1) it was measured; (2) it counts job interruptions or node
hardware failures of all causes, planned removals left out; (3) it states a count with its exposure,
or a rate per node and day. ETTR: where a row states the accelerators of the job and one ratio or
bound of that job, not an availability or a mix of jobs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetRow:
    """One published observation of a fleet.

    Parameters
    ----------
    place
        Where the row stands.
    texts, numbers
        What it says, by column.
    problems
        What cannot be read.
    """

    place: str
    texts: Mapping[str, str]
    numbers: Mapping[str, float]
    problems: tuple[str, ...]

    @property
    def name(self) -> str:
        """What the row is called."""
        return self.texts.get("system") or self.texts.get("fleet_id") or self.place

    @property
    def fleet(self) -> str:
        """Rows of one fleet share its failure rate."""
        return self.texts.get("fleet_id") or self.name

    @property
    def group(self) -> str:
        """Rows left out together: those of one source, else of one fleet."""
        return self.texts.get("source") or self.fleet

    @property
    def nodes(self) -> float | None:
        """Nodes of the job, from its accelerators where not stated."""
        nodes = self.numbers.get("nodes")
        accelerators = self.numbers.get("accelerators")
        if nodes is None and accelerators is not None:
            return max(1.0, accelerators / PER_NODE)
        return nodes


@dataclass(frozen=True, slots=True, kw_only=True)
class Failures:
    """Failures that are predicted.

    Parameters
    ----------
    row
        The row.
    counts
        Which event.
    nodes
        Of the job; infinite where not stated, so that a rate per job says nothing.
    events, node_days
        Count and exposure, None where only a rate is printed.
    rate_per_node_day, relative_error
        Rate, and where only it is printed the sd of its log.
    """

    row: FleetRow
    counts: Counted
    nodes: float
    events: int | None
    node_days: float | None
    rate_per_node_day: float
    relative_error: float


@dataclass(frozen=True, slots=True, kw_only=True)
class EttrRow:
    """An ETTR that is predicted: a value, or a bound on it."""

    row: FleetRow
    accelerators: int
    bound: Bound
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Excluded:
    """What is not predicted of a row, and why."""

    row: FleetRow
    what: Literal["failures", "ETTR"]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Rows after the inclusion rule."""

    failures: tuple[Failures, ...]
    ettr: tuple[EttrRow, ...]
    excluded: tuple[Excluded, ...]


def shipped_rows() -> list[FleetRow]:
    """The rows that ship with the project."""
    return [typed(row) for row in read_shipped("fleets", "fleets")]


def rows_of_file(path: Path) -> list[FleetRow]:
    """The rows of a CSV file of the same columns.

    Raises
    ------
    InputError
        If the file is no such table.
    """
    return [typed(row) for row in read_csv(path, columns=COLUMNS, option="--reliability")]


def typed(row: TableRow) -> FleetRow:
    """Read the cells of a row; what cannot be read becomes a problem of the row."""
    problems = list(row.problems)
    numbers = {}
    for name in NUMBERS:
        cell = row.cells.get(name)
        if cell is None or cell.lower() == "none":
            continue
        value = number_in(cell)
        if value is None:
            problems.append(f"{name} is {cell[:40]!r}, a number is needed")
        elif value < 0 or (value == 0 and name != "events"):
            problems.append(f"{name} is {cell[:40]!r}, it must be above 0")
        elif name == "events" and value != round(value):
            problems.append(f"events is {cell[:40]!r}, a whole number is needed")
        else:
            numbers[name] = value
    texts = {name: row.cells[name] for name in TEXTS if name in row.cells}
    return FleetRow(place=row.place, texts=texts, numbers=numbers, problems=tuple(problems))


def distinct(rows: Sequence[FleetRow]) -> tuple[list[FleetRow], list[tuple[FleetRow, str]]]:
    """Rows without those that stand twice, and those with where they stand first."""
    first: dict[tuple[object, ...], FleetRow] = {}
    repeated = []
    for row in rows:
        key = (row.fleet.lower(), row.name.lower(), *sorted(row.numbers.items()))
        if key in first:
            repeated.append((row, first[key].place))
        else:
            first[key] = row
    return list(first.values()), repeated


def judge(rows: Sequence[FleetRow]) -> Judged:
    """Apply the inclusion rule to every row, in order."""
    failures, ettr, excluded = [], [], []
    for row in rows:
        found = _failures(row)
        if isinstance(found, Failures):
            failures.append(found)
        else:
            excluded.append(Excluded(row=row, what="failures", reason=found))
        if "ettr_or_goodput" not in row.texts:
            continue
        ratio = _ettr(row)
        if isinstance(ratio, EttrRow):
            ettr.append(ratio)
        else:
            excluded.append(Excluded(row=row, what="ETTR", reason=ratio))
    return Judged(failures=tuple(failures), ettr=tuple(ettr), excluded=tuple(excluded))


def counted(definition: str) -> Counted | None:
    """Which event a definition counts, None where it is neither."""
    text = definition.lower()
    if "gpu" in text or "xid" in text or "taken out" in text or "planned removal" in text:
        return None
    if "job" in text and ("interruption" in text or "failure" in text or "restart" in text):
        return "job_interruption"
    if "node" in text and ("failure" in text or "fault" in text):
        return "node_hardware_failure"
    return None


def _failures(row: FleetRow) -> Failures | str:
    """The failures of a row, or why they are not predicted."""
    definition = row.texts.get("event_definition", "")
    counts = counted(definition)
    events, nodes, days = (row.numbers.get(name) for name in ("events", "nodes", "days"))
    exposure = row.numbers.get("exposure_node_days")
    if exposure is None and nodes is not None and days is not None:
        exposure = nodes * days
    rate = row.numbers.get("rate_per_node_day")
    if events is not None and exposure is not None:
        rate = events / exposure
    elif rate is not None:
        events = None
    reason = _why_not(row, definition, counts)
    if not reason and rate is None:
        reason = "a count without its exposure" if events is not None else "neither count nor rate"
    if reason or counts is None or rate is None:
        return reason
    return Failures(
        row=row,
        counts=counts,
        nodes=row.nodes or math.inf,
        events=None if events is None else int(events),
        node_days=exposure,
        rate_per_node_day=rate,
        relative_error=RATE_ERROR,
    )


def _why_not(row: FleetRow, definition: str, counts: Counted | None) -> str:
    """Why a row is no measurement of a known event; empty where it is."""
    measured = row.texts.get("is_measurement", "true").lower()
    if row.problems:
        return "; ".join(row.problems)
    if measured not in ("true", "yes", "1") or "projection" in definition.lower():
        return "a projection, not a measurement"
    if not definition:
        return "what was counted is not stated"
    if counts is None:
        return f"{definition}: neither job interruptions nor node hardware failures"
    return ""


def _ettr(row: FleetRow) -> EttrRow | str:
    text = row.texts["ettr_or_goodput"].lower()
    if "availab" in row.texts.get("notes", "").lower():
        return "an availability of nodes, not the ratio of a job"
    if "for jobs" in text or re.search(r"\d\D+\d*\.?\d+ ?(to|-|–) ?\d", text):
        return "of jobs of several sizes"
    accelerators = row.numbers.get("accelerators")
    if accelerators is None:
        return "the accelerators of the job are not stated"
    match = re.search(r"\d*\.?\d+", text)
    if not match:
        return f"{text[:40]!r} holds no ratio"
    value = float(match.group())
    if "%" in text:
        value /= 100.0
    if not 0.0 < value <= 1.0:
        return f"{value:g} is no ratio"
    bound: Bound = "value"
    if re.match(r"\s*(>|≥|at least|more than|over)", text):
        bound = "at_least"
    elif re.match(r"\s*(<|≤|at most|up to|under)", text):
        bound = "at_most"
    return EttrRow(row=row, accelerators=int(accelerators), bound=bound, value=value)
