"""Rows of nccl-tests: sizes with their bus and algorithm bandwidth, from text or JSON."""

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
    rf"#?\s*(\d+(?:\.\d+)?\s?(?:[KMGT]i?B?|B)?)\s+(\d+(?:\.\d+)?(?:e\+?\d+)?)\s+({TYPES})\b",
    re.IGNORECASE,
)
CSV_ROW = re.compile(rf'\s*"?\d+"?,\s*"?\d+"?,\s*"?(?:{TYPES})"?,', re.IGNORECASE)
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
WORDS += ("Rank ", "Avg bus", "minBytes", "...")
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
    variant
        Type, reduction and root: one run may try several.
    """

    line: int
    size: int
    sides: tuple[tuple[float, float], ...]
    variant: tuple[str, str, str] = ("", "", "")


@dataclass(slots=True)
class Table:
    """All rows of one run with what its header says."""

    rows: list[Row] = field(default_factory=list)
    kind: str = ""
    operation: str = ""
    hosts: dict[int, str] = field(default_factory=dict)
    average: float | None = None
    skipped: Tally = field(default_factory=Tally)
    by_position: int = 0
    runs: int = 0
    cycles: int = 1


type Variant = tuple[str, str, str]


@dataclass(slots=True)
class Sweep:
    """Sizes of one variant as they pass."""

    first: int = 0
    last: dict[str, int] = field(default_factory=dict)
    by_size: dict[int, Row] = field(default_factory=dict)
    cycles: int = 1


def read_text(source: TextSource) -> Table:
    """Rows of the text form.

    Raises
    ------
    InputError
        If two runs are interleaved or follow each other.
    """
    table = Table()
    broken: tuple[int, str] | None = None
    sweeps: dict[Variant, Sweep] = {}
    for number, raw in source.lines():
        if broken is None and not any(word in raw for word in WORDS):
            if "_perf" in raw and (match := KIND.search(raw)):
                table.kind = match[1]
            continue
        prefix, line = split_rank(BARE_ANSI.sub("", raw) if "[" in raw else raw)
        line = without_stamp(line)
        line = _plain(line)
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
        if row is not None and is_new(table, source, row, prefix, sweeps):
            table.rows.append(row)
    choose(table)
    if broken is not None:
        table.skipped.add("rows cut or broken by other output", broken[0])
    return table


def _is_header(table: Table, source: TextSource, number: int, line: str) -> bool:
    """Note what a line that is no row says; False for what may be a row."""
    if "_perf" in line and (match := KIND.search(line)):
        table.kind = match[1]
    if "minBytes" in line:
        table.runs += 1
        return True
    if "Rank" in line and (match := RANK_LINE.search(line)):
        note_rank(table, source, number, int(match[1]), match[3])
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


def note_rank(table: Table, source: TextSource, number: int, rank: int, host: str) -> None:
    """Note the host of a rank.

    Raises
    ------
    InputError
        If the rank has one: there are two runs.
    """
    if rank in table.hosts:
        raise refuse(
            source,
            number,
            f"rank {rank} is listed a second time: two runs are in this file",
            "hand over one run a file; processes without MPI, each alone, print so too",
        )
    table.hosts[rank] = host


def _plain(line: str) -> str:
    """A row without the bars, commas and quotes of a table that it was pasted into."""
    if "|" in line:
        line = line.replace("|", " ")
    if "," not in line:
        return line
    if CSV_ROW.match(line):
        return line.replace(",", " ").replace('"', "")
    return COMMAS.sub("", line)


def is_new(
    table: Table, source: TextSource, row: Row, prefix: str, sweeps: dict[Variant, Sweep]
) -> bool:
    """Whether a row is no copy.

    Raises
    ------
    InputError
        If a size is measured again, or another way, and nothing says that one run did it.
    """
    one = table.runs == 1 and table.average is None
    strange = bool(sweeps) and row.variant not in sweeps and not one
    sweep = sweeps.setdefault(row.variant, Sweep(first=row.size))
    last = sweep.last.get(prefix, 0)
    known = sweep.by_size.get(row.size)
    again = strange or row.size < last or (known is not None and known.sides != row.sides)
    # One program that repeats its sizes (-N) says so by one header and no average in between.
    whole = row.size == sweep.first and last >= max(sweep.by_size, default=0)
    if again and whole and one:
        sweep.by_size = {}
        sweep.cycles += 1
        table.cycles = max(table.cycles, sweep.cycles)
        known = None
    elif again:
        what = f"{' '.join(row.variant)} begins" if strange else f"size {row.size} comes again"
        raise refuse(
            source,
            row.line,
            f"{what} after {last or row.size}: two runs are in this file",
            "hand over one run a file",
        )
    sweep.last[prefix] = row.size
    if known is not None:
        table.skipped.add("copies of a row", row.line)
        return False
    sweep.by_size[row.size] = row
    return True


def choose(table: Table) -> None:
    """Keep one of the types, reductions and roots that a run tried: a sum of floats if it can."""
    variants = list(dict.fromkeys(row.variant for row in table.rows))
    if len(variants) < 2:  # noqa: PLR2004 - the usual run
        return
    best = max(variants, key=lambda variant: (variant[1] == "sum", variant[0] == "float"))
    name = " ".join(word for word in best if word not in ("", "-1"))
    others = [row for row in table.rows if row.variant != best]
    table.skipped.add(
        f"rows of other types, reductions or roots than {name}", others[0].line, len(others)
    )
    table.rows = [row for row in table.rows if row.variant == best]


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
    operation = rest[0] if rest and not VALUE.match(rest[0]) else ""
    table.operation = operation or table.operation
    if size == 0:
        table.skipped.add("rows of size 0", number)
        return None
    if cut:
        cells = cells[:-1]
    # The root is a whole number; a time has decimals below 10,000, and algorithm bandwidth has some
    # wherever it is in the plateau.
    timed = _without_root(cells, size)
    root = cells[0] if len(timed) < len(cells) else ""
    cells = timed
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
    return Row(
        line=number, size=size, sides=tuple(sides), variant=(start[3].lower(), operation, root)
    )


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
            # A copy may lack the check: then the other side's time follows at once.
            bare = _fits(cells[place + BANDWIDTHS : place + 2 * BANDWIDTHS], size)
            # A whole number counts wrong results; older releases print a rounding error.
            wrong |= not bare and check.isdecimal() and int(check) > 0
            place += BANDWIDTHS if bare else BANDWIDTHS + 1
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
