"""nccl-tests: the plateau of the largest messages over the line rate of the network cards."""

import math
from dataclasses import dataclass
from statistics import median, stdev

from priors.readers.found import (
    Draft,
    Found,
    Measure,
    ReadOptions,
    identifier,
    refuse,
)
from priors.readers.nccl_json import read_json
from priors.readers.nccl_rows import ROW_START, Row, Table, read_text
from priors.readers.source import TextSource
from priors.readers.text import split_rank, without_stamp

PLATEAU = 8
"""The plateau is looked for in sizes from the largest down to an eighth of it."""

RISING, CREEPING = 1.25, 1.05
"""Bandwidth at the largest size over that at an eighth: from here on there is no plateau, or only
in the upper half."""

LEAST_SIZE = 8 << 20
"""Smaller messages measure latency."""

OUTLIER = 1.5
"""Times the plateau: sizes beyond it are named."""

ONE_SIZE_FLOOR = 0.03
"""Error of a plateau that one size alone shows."""

FLOOR = 0.01

RING = {"all_reduce": 2.0, "all_gather": 1.0, "reduce_scatter": 1.0}
"""Bus over algorithm bandwidth, times n/(n − 1)."""

MI_B = 1 << 20


@dataclass(frozen=True, slots=True)
class NcclTests:
    """See the module."""

    name: str = "nccl-tests"
    title: str = "nccl-tests, text or JSON"

    def recognise(self, head: list[str]) -> bool:
        """A header of nccl-tests, or a row of one with four values."""
        text = "\n".join(head)
        if text.lstrip().startswith("{"):
            return '"bus_bw"' in text or ('"nccl_version"' in text and '"args"' in text)
        if "nccl-tests version" in text or "# nThread" in text:
            return True
        lines = (without_stamp(split_rank(line)[1]) for line in head)
        return any(
            (start := ROW_START.match(line)) is not None and len(line[start.end() :].split()) > 3  # noqa: PLR2004
            for line in lines
        ) or ("algbw" in text and "busbw" in text)

    def read(self, source: TextSource, options: ReadOptions) -> Found:
        """The plateau; a link efficiency where the cards' rate is known and was tested."""
        is_json = "\n".join(source.head()).lstrip().startswith("{")
        table = read_json(source) if is_json else read_text(source)
        if not table.rows:
            seen = f", {table.skipped}" if table.skipped.reasons else ""
            raise refuse(
                source,
                1,
                f"no row with a bandwidth{seen}",
                "the test ended before its first size: see what it printed" if table.runs else "",
            )
        kind = _kind(table, source)
        ranks = _ranks(table, kind)
        sizes, values, notes = _plateau(table, source)
        plateau = median([value for rows in values for value in rows])
        measures = [
            Measure(
                name="plateau_busbw_gb_per_s",
                value=plateau,
                unit="GB/s",
                meaning=f"{kind} bus bandwidth, median of {sizes}",
            )
        ]
        if ranks:
            measures.append(
                Measure(name="ranks", value=ranks, unit="1", meaning="from busbw / algbw")
            )
        withheld: list[str] = []
        drafts: list[Draft] = []
        per_node, reason = _ranks_per_node(table, ranks, options)
        if reason:
            withheld.append(reason)
        elif kind not in RING:
            withheld.append(
                f"{kind} is no ring collective: its bus bandwidth is not what the model's link "
                "efficiency means; run all_reduce_perf"
            )
        elif (nic := _nic(options)) is None:
            withheld.append(
                "link efficiency: the cards' line rate is needed: --nic-gbps or --scenario"
            )
        else:
            line_rate = nic * per_node / 8.0
            ratio = plateau / line_rate
            measures.append(
                Measure(
                    name="of_line_rate",
                    value=ratio,
                    unit="1",
                    meaning=f"of {line_rate:g} GB/s: {per_node} cards of {nic:g} Gb/s a node",
                )
            )
            if ratio > 1.0:
                withheld.append(
                    f"link efficiency: {ratio:.3f} of the line rate is more than a ring can have "
                    "through these cards (reduction inside the network, or traffic that stays on "
                    "NVLink); it is reported and not clamped"
                )
            else:
                drafts.append(
                    _draft(
                        source,
                        options,
                        values,
                        kind=kind,
                        line_rate=line_rate,
                        sizes=sizes,
                        ranks=ranks,
                    )
                )
        return Found(
            format=self.name,
            source=source.label,
            drafts=tuple(drafts),
            measures=tuple(measures),
            skipped=table.skipped,
            notes=tuple(notes),
            withheld=tuple(withheld),
        )


def _kind(table: Table, source: TextSource) -> str:
    """The collective: as named, else as its ratio and its reduction tell.

    Raises
    ------
    InputError
        If neither tells.
    """
    if table.kind:
        return table.kind
    if (name := next((kind for kind in RING if kind in source.label), "")) != "":
        return name
    algorithm, bus = max(side for row in table.rows[-3:] for side in row.sides)
    ratio = bus / algorithm if algorithm else 0.0
    reduces = table.operation not in ("", "none")
    if ratio > 1.02:  # noqa: PLR2004 - 2(n − 1)/n from three ranks on
        return "all_reduce"
    if 0.0 < ratio < 0.995 and reduces:  # noqa: PLR2004 - (n − 1)/n, as printed
        return "reduce_scatter"
    raise refuse(
        source,
        table.rows[-1].line,
        f"busbw / algbw is {ratio:.3f}, which several collectives share, and none is named",
        "keep the line that starts the test, or name the file after it (all_gather.txt)",
    )


def _ranks(table: Table, kind: str) -> int:
    """Ranks that busbw / algbw tells: 2(n − 1)/n or (n − 1)/n; 0 where it does not.

    Each row bounds n by the digits it prints; the header decides only among what is left.
    """
    if kind not in (*RING, "alltoall"):
        return len(table.hosts)
    factor = RING.get(kind, 1.0)
    low, high = 2.0, math.inf
    for row in table.rows:
        for algorithm, bus in row.sides:
            if algorithm < 1.0 or bus < 1.0:
                continue
            half = 0.0051
            least = (bus - half) / (algorithm + half) / factor
            most = (bus + half) / (algorithm - half) / factor
            low = max(low, 1.0 / (1.0 - least)) if least < 1.0 else low
            high = min(high, 1.0 / (1.0 - most)) if most < 1.0 else high
    listed = len(table.hosts)
    first, last = math.ceil(low - 1e-9), math.floor(high + 1e-9) if high < math.inf else 0
    if listed and first <= listed <= (last or listed):
        return listed
    if last < first:
        return 0
    # Beyond a few hundred ranks the digits leave a range; a whole power of two in it is likely, but
    # the middle claims nothing.
    return first if first == last else round(2.0 / (1.0 / low + 1.0 / high))


def _plateau(table: Table, source: TextSource) -> tuple[str, list[list[float]], list[str]]:
    """Sizes in words, their bus bandwidths, and notes.

    Raises
    ------
    InputError
        If messages are small, or bandwidth still rises with size.
    """
    by_size: dict[int, list[float]] = {}
    for row in table.rows:
        by_size.setdefault(row.size, []).extend(bus for _, bus in row.sides)
    largest = max(by_size)
    last = _row_of(table, largest)
    if largest < LEAST_SIZE:
        raise refuse(
            source,
            last.line,
            f"the largest message has {largest} bytes: that measures latency, not the link",
            "run with -e 8G",
        )
    chosen = sorted(size for size in by_size if size * PLATEAU >= largest)
    levels = {size: median(by_size[size]) for size in by_size}
    notes = []
    middle = median(levels[size] for size in chosen)
    if len(chosen) > 1 and levels[largest] > RISING * max(levels[chosen[0]], 1e-9):
        raise refuse(
            source,
            last.line,
            f"bus bandwidth still rises from {levels[chosen[0]]:.4g} to {levels[largest]:.4g} GB/s "
            f"between {_bytes(chosen[0])} and {_bytes(largest)}: there is no plateau yet",
            "run with larger messages (-e 16G)",
        )
    if len(chosen) > 1 and levels[largest] > CREEPING * levels[chosen[0]]:
        notes.append(
            f"bus bandwidth still rises by {levels[largest] / levels[chosen[0]] - 1.0:.0%} between "
            f"{_bytes(chosen[0])} and {_bytes(largest)}: the upper half is taken"
        )
        chosen = [size for size in chosen if 2 * size >= largest]
    outliers = [size for size in levels if levels[size] > OUTLIER * middle]
    notes += [
        f"{_bytes(size)} shows {levels[size]:.4g} GB/s, {levels[size] / middle:.1f} times the "
        f"plateau: not used (line {_row_of(table, size).line})"
        for size in outliers
    ]
    if table.by_position:
        notes.append(
            f"{table.by_position} rows: time and bandwidth do not agree with the size; bandwidth "
            "is taken from its column"
        )
    if table.average is not None:
        notes.append(
            f"Avg bus bandwidth ({table.average:g} GB/s) averages all sizes: not an efficiency"
        )
    words = _bytes(largest) if len(chosen) == 1 else f"{_bytes(chosen[0])} to {_bytes(largest)}"
    if table.cycles > 1:
        notes.append(f"sizes were run {table.cycles} times: each time is a repeat")
    rows = [row for row in table.rows if row.size in chosen]
    return words, [[bus for _, bus in row.sides] for row in rows], notes


def _row_of(table: Table, size: int) -> Row:
    return next(row for row in table.rows if row.size == size)


def _bytes(size: int) -> str:
    return f"{size // MI_B} MiB" if size % MI_B == 0 else f"{size} B"


def _nic(options: ReadOptions) -> float | None:
    if options.nic_gbps is not None or options.scenario is None:
        return options.nic_gbps
    return float(options.scenario.accelerator.nic_bw_gbps)


def _ranks_per_node(table: Table, ranks: int, options: ReadOptions) -> tuple[int, str]:
    """Ranks that share a node, and why the run says nothing about the cards."""
    hosts = set(table.hosts.values())
    size, reason = options.node_size or 0, ""
    if hosts and len(table.hosts) == ranks:
        size, rest = divmod(ranks, len(hosts))
        if len(hosts) == 1:
            reason = f"all {ranks} ranks ran on {hosts.pop()}: one node"
        elif rest:
            reason = f"{ranks} ranks on {len(hosts)} nodes, unevenly"
    elif not size:
        reason = "accelerators of a node are needed: --scenario or --gpus-per-node"
    elif not ranks:
        reason = "neither the rows nor the header tell how many ranks ran"
    elif ranks <= size:
        reason = (
            f"{ranks} ranks fit on one node of {size}: no statement about the network between nodes"
        )
    return size, f"link efficiency: {reason}" if reason else ""


def _draft(
    source: TextSource,
    options: ReadOptions,
    values: list[list[float]],
    *,
    kind: str,
    line_rate: float,
    sizes: str,
    ranks: int,
) -> Draft:
    means = [sum(row) / len(row) / line_rate for row in values]
    centre = median([value / line_rate for row in values for value in row])
    spread = stdev(means) if len(means) > 1 else 0.0
    raw: dict[str, object] = {
        "id": identifier(source, "link_efficiency"),
        "kind": "link_efficiency",
        **options.place("stack"),
        "mean": round(centre, 6),
        "sd": round(spread, 6),
        "repeats": len(means),
        "error_floor": FLOOR if " to " in sizes else ONE_SIZE_FLOOR,
        "source": f"{source.label}: {kind} on {ranks} ranks",
    }
    return Draft(
        raw=raw,
        comments=(
            f"Median bus bandwidth of {sizes} over {line_rate:g} GB/s of network cards a node.",
            "sd is that between sizes; in place and out of place of one size are one repeat.",
        ),
    )
