"""Rows of nccl-tests: sizes with their bus and algorithm bandwidth, from text or JSON."""

import json
import re
from dataclasses import dataclass, field

from priors.readers.found import Tally, refuse
from priors.readers.source import TextSource
from priors.readers.text import BARE_ANSI, split_rank, without_stamp

SIZE_UNITS = {"": 1, "b": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}
BANDWIDTH_UNITS = {"": 1.0, "gbps": 1.0, "gb/s": 1.0, "mb/s": 1e-3, "mbps": 1e-3, "tb/s": 1e3}

KINDS: tuple[str, ...] = (
    "all_reduce",
    "all_gather",
    "reduce_scatter",
    "alltoall",
    "broadcast",
    "reduce",
)
KINDS += ("sendrecv", "gather", "scatter", "hypercube")
KIND = re.compile(rf"\b({'|'.join(KINDS)})(?:_perf|_perf_mpi)\b")

RANK_LINE = re.compile(r"Rank\s+(\d+)\s+(?:Group\s+\d+\s+)?Pid\s+(\d+)\s+on\s+(\S+)\s+device")

SIZE = re.compile(r"(\d+(?:\.\d+)?)\s?([KMGT]?)(i?B)?\Z", re.IGNORECASE)
TYPES = "int8|uint8|int32|uint32|int64|uint64|half|float|double|bfloat16|f8e4m3|f8e5m2|fp8\\w*"
ROW_START = re.compile(
    rf"#?\s*(\d+(?:\.\d+)?\s?(?:[KMGT]i?B?|B)?)\s+(\d+)\s+({TYPES})\b", re.IGNORECASE
)
WORDS: tuple[str, ...] = (
    "float",
    "half",
    "double",
    " int",
    "\tint",
    " uint",
    "\tuint",
    "f8e",
    "fp8",
)
WORDS += ("Rank ", "Avg bus", "...")
"""A line without any of these is no row and no header that is needed."""

NOISE = re.compile(r"\S+:\d+:\d+ \[\d+\] NCCL \w+.*|\S+ NCCL (?:INFO|WARN|TRACE).*")
VALUE = re.compile(
    r"([-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|nan|inf)|N/A)\s?(GBps|GB/s|MB/s|MBps|TB/s|us)?\Z",
    re.IGNORECASE,
)
AVERAGE = re.compile(r"Avg bus bandwidth\s*:\s*(\S+)")

MOST = 1e15

COMMAS = re.compile(r"(?<=\d),(?=\d{3})")

BANDWIDTHS = 3
"""Time, algorithm and bus bandwidth; the check of results follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One message size: bandwidths in decimal GB/s, None where not measured.

    Parameters
    ----------
    sides
        Pairs of algorithm and bus bandwidth, out of place and in place.
    """

    line: int
    size: int
    sides: tuple[tuple[float, float], ...]
    wrong: bool


@dataclass(slots=True)
class Table:
    """All rows of one run with what its header says."""

    rows: list[Row] = field(default_factory=list)
    kind: str = ""
    operation: str = ""
    hosts: dict[int, str] = field(default_factory=dict)
    average: float | None = None
    skipped: Tally = field(default_factory=Tally)
    by_size: dict[int, Row] = field(default_factory=dict)
    by_position: int = 0


def read_text(source: TextSource) -> Table:
    """Rows of the text form.

    Raises
    ------
    InputError
        If two runs are interleaved or follow each other.
    """
    table = Table()
    broken: tuple[int, str] | None = None
    last_by_prefix: dict[str, int] = {}
    for number, raw in source.lines():
        if broken is None and not any(word in raw for word in WORDS):
            if "_perf" in raw and (match := KIND.search(raw)):
                table.kind = match[1]
            continue
        prefix, line = split_rank(BARE_ANSI.sub("", raw) if "[" in raw else raw)
        line = without_stamp(line)
        if "," in line:
            line = COMMAS.sub("", line)
        if _is_header(table, source, number, line):
            continue
        begin = number
        if broken is not None:
            begin, line, broken = *_continued(broken, number, line), None
        start = ROW_START.search(line)
        if start is None or not _row_begins(line, start):
            continue
        if (second := ROW_START.search(line, start.end())) is not None:
            table.skipped.add("rows glued to the end of another", number)
            line = line[: second.start()]
        cut = number == source.cut_line
        cells, complete = _cells(line[start.end() :])
        if not complete and not cut:
            broken = (begin, line)
            continue
        row = _row(table, begin, start, cells, cut=cut)
        if row is not None and _is_new(table, source, row, prefix, last_by_prefix):
            table.rows.append(row)
    if broken is not None:
        table.skipped.add("rows cut or broken by other output", broken[0])
    return table


def _is_header(table: Table, source: TextSource, number: int, line: str) -> bool:
    """Note what a line that is no row says; False for what may be a row."""
    if "_perf" in line and (match := KIND.search(line)):
        table.kind = match[1]
    if "Rank" in line and (match := RANK_LINE.search(line)):
        _note_rank(table, source, number, int(match[1]), match[3])
        return True
    if "Avg bus bandwidth" in line:
        found = AVERAGE.search(line)
        table.average = _value(found[1])[0] if found else None
        return True
    if line.strip() == "...":
        table.skipped.add("rows left out by whoever pasted the text", number)
        return True
    return False


def _row_begins(line: str, start: re.Match[str]) -> bool:
    """Whether only a log message's tail or nothing stands before the size."""
    before = line[: start.start()].strip(" #")
    return not before or "NCCL" in before or before.endswith((":", "]", ">"))


def _note_rank(table: Table, source: TextSource, number: int, rank: int, host: str) -> None:
    if rank in table.hosts:
        raise refuse(
            source,
            number,
            f"rank {rank} is listed a second time: two runs are in this file",
            "hand over one run a file; processes without MPI, each alone, print so too",
        )
    table.hosts[rank] = host


def _is_new(table: Table, source: TextSource, row: Row, prefix: str, last: dict[str, int]) -> bool:
    """Whether a row is no copy; another measurement of a size seen before is a second run."""
    known = table.by_size.setdefault(row.size, row)
    if row.size < last.get(prefix, 0) or known.sides != row.sides:
        raise refuse(
            source,
            row.line,
            f"size {row.size} comes again after {last.get(prefix, row.size)}: "
            "two runs are in this file",
            "hand over one run a file",
        )
    last[prefix] = row.size
    if known is not row:
        table.skipped.add("copies of a row", row.line)
    return known is row


def _continued(broken: tuple[int, str], number: int, line: str) -> tuple[int, str]:
    """A row whose rest stands on the next line, log messages cut out of both, and its number."""
    if ROW_START.search(line):
        return number, line
    kept = NOISE.sub("", broken[1]).rstrip()
    return broken[0], f"{kept} {NOISE.sub('', line).strip()}"


def _cells(rest: str) -> tuple[list[str], bool]:
    """Values after the type, log messages inside the row removed, and whether all are there."""
    noise = NOISE.search(rest)
    if noise:
        rest = rest[: noise.start()]
    words = [word for word in rest.split() if not re.fullmatch(r"\[\d+\]", word)]
    joined: list[str] = []
    for word in words:
        if word.lower() == "us" or (joined and word.lower() in BANDWIDTH_UNITS):
            continue
        joined.append(word)
    if joined and not VALUE.match(joined[0]):
        joined = joined[1:]  # the reduction
        return joined, len(joined) >= 1 + BANDWIDTHS
    return joined, len(joined) >= BANDWIDTHS


def _value(text: str) -> tuple[float | None, str]:
    match = VALUE.match(text)
    if match is None or match[1].lower() in ("n/a", "nan", "inf", "-inf"):
        return None, ""
    unit = (match[2] or "").lower()
    value = float(match[1]) * BANDWIDTH_UNITS.get(unit, 1.0)
    # No link has a petabyte a second: what is beyond is a broken number.
    return (value if value < MOST else None), unit


def _row(
    table: Table, number: int, start: re.Match[str], cells: list[str], *, cut: bool
) -> Row | None:
    size = _size(start[1])
    rest = start.string[start.end() :].split()
    if rest and not VALUE.match(rest[0]):
        table.operation = rest[0]
    if size == 0:
        table.skipped.add("rows of size 0", number)
        return None
    if cut:
        cells = cells[:-1]
    # The root is a whole number; a time has decimals below 10,000, and algorithm bandwidth has some
    # wherever it is in the plateau.
    cells = _without_root(cells, size)
    sides, wrong = _sides(cells, size)
    if not sides and not cut and (sides := _sides_by_position(cells)):
        table.by_position += 1
    if not sides:
        reason = "rows cut by the end of the file" if cut else "rows without a bandwidth"
        table.skipped.add(reason, number)
        return None
    if len(sides) == 1 and (cut or NOISE.search(start.string)):
        what = "the end of the file" if cut else "other output"
        table.skipped.add(f"in-place halves cut by {what}", number)
    if wrong:
        table.skipped.add("rows with wrong results", number)
        return None
    return Row(line=number, size=size, sides=tuple(sides), wrong=wrong)


def _without_root(cells: list[str], size: int) -> list[str]:
    """Cells from the first time on: the place where time times bandwidth gives the size."""
    for skip in range(min(2, len(cells))):
        if _fits(cells[skip : skip + BANDWIDTHS], size):
            return cells[skip:]
    return cells


def _fits(cells: list[str], size: int) -> bool:
    """Whether time · algorithm bandwidth is the size within the printed digits."""
    if len(cells) < BANDWIDTHS:
        return False
    time, rate = _value(cells[0])[0], _value(cells[1])[0]
    if not time or rate is None or time < 0:
        return False
    expected = size / (time * 1e-6) / 1e9
    return abs(rate - expected) <= 0.02 * expected + 0.011


def _sides(cells: list[str], size: int) -> tuple[list[tuple[float, float]], bool]:
    """Bandwidths where a time begins a side; further columns are passed over."""
    sides: list[tuple[float, float]] = []
    wrong = False
    place = 0
    while place + BANDWIDTHS <= len(cells) and len(sides) < 2:  # noqa: PLR2004 - two sides
        if _fits(cells[place : place + BANDWIDTHS], size):
            algorithm, bus = _value(cells[place + 1])[0], _value(cells[place + 2])[0]
            if algorithm is not None and bus is not None and bus > 0.0:
                sides.append((algorithm, bus))
            check = cells[place + BANDWIDTHS] if place + BANDWIDTHS < len(cells) else ""
            # A whole number counts wrong results; older releases print a rounding error.
            wrong |= check.isdecimal() and int(check) > 0
            place += BANDWIDTHS + 1
        else:
            place += 1
    return sides, wrong


def _sides_by_position(cells: list[str]) -> list[tuple[float, float]]:
    """Bandwidths by their columns, for rows whose time does not agree with them."""
    if len(cells) in (5, 9, 11):  # with the root, with a date and time
        cells = cells[1:]
    if len(cells) not in (4, 8, 10):
        return []
    sides = []
    for place in range(0, min(len(cells), 8), 4):
        algorithm, bus = _value(cells[place + 1])[0], _value(cells[place + 2])[0]
        if algorithm is not None and bus is not None and bus > 0.0:
            sides.append((algorithm, bus))
    return sides


def _size(text: str) -> int:
    match = SIZE.match(text.strip())
    if match is None:
        return 0
    return round(float(match[1]) * SIZE_UNITS[match[2].lower()])


def read_json(source: TextSource) -> Table:
    """Rows of the JSON form.

    Raises
    ------
    InputError
        If it is not whole.
    """
    try:
        content = json.loads(source.text())
    except json.JSONDecodeError as error:
        raise refuse(source, error.lineno, f"not whole JSON: {error.msg}") from None
    except RecursionError:
        raise refuse(source, 1, "JSON nested too deeply") from None
    if not isinstance(content, dict):
        raise refuse(source, 1, "not the JSON of nccl-tests: the top level is no object")
    table = Table()
    name = KIND.search(json.dumps(content.get("args", "")))
    table.kind = name[1] if name else ""
    _hosts_of(table, source, content)
    results = content.get("results")
    if not isinstance(results, list):
        raise refuse(source, 1, "no list of results in this JSON")
    previous = 0
    for position, item in enumerate(results, start=1):
        if not isinstance(item, dict) or not isinstance(item.get("size"), int):
            table.skipped.add("results without a size", position)
            continue
        table.operation = str(item.get("redop", ""))
        row = _json_row(table, position, item)
        if row is None:
            continue
        if row.size < previous:
            raise refuse(
                source, 0, f"result {position}: size {row.size} after {previous}: two runs"
            )
        previous = row.size
        table.rows.append(row)
    return table


def _hosts_of(table: Table, source: TextSource, content: object) -> None:
    """Host of each rank, wherever the document lists them."""
    stack = [content]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            rank, host = item.get("rank"), item.get("hostname")
            if isinstance(rank, int) and isinstance(host, str):
                _note_rank(table, source, 0, rank, host)
            stack += item.values()
        elif isinstance(item, list):
            stack += item


def _json_row(table: Table, position: int, item: dict[str, object]) -> Row | None:
    size = int(item["size"])  # type: ignore[call-overload]
    sides = []
    for key in ("out_of_place", "in_place"):
        side = item.get(key)
        if not isinstance(side, dict):
            continue
        algorithm, bus = _finite(side.get("alg_bw")), _finite(side.get("bus_bw"))
        if algorithm is None or bus is None:
            table.skipped.add(f"{key} without a bandwidth", position)
            continue
        wrong = side.get("nwrong")
        if isinstance(wrong, int | float) and wrong > 0:
            table.skipped.add("results with wrong values", position)
            continue
        sides.append((algorithm, bus))
    if size <= 0 or not sides:
        table.skipped.add("results of size 0 or without a bandwidth", position)
        return None
    return Row(line=position, size=size, sides=tuple(sides), wrong=False)


def _finite(value: object) -> float | None:
    """A positive number of JSON; nan is written as a text."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0.0 < value < float("inf") else None
