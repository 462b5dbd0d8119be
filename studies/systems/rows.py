"""Rows of published step times: typed, with what each leaves unknown."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from studies.systems.tables import TableRow, number_in, read_csv, read_shipped

NUMBERS = (
    "peak_tflops_bf16",
    "memory_bw_tb_s",
    "n_accelerators",
    "accelerators_per_node",
    "nic_gbps",
    "scaleup_domain",
    "scaleup_gbps",
    "pod_size",
    "oversubscription",
    "n_params",
    "n_layers",
    "hidden",
    "n_heads",
    "n_kv_heads",
    "seq_len",
    "vocab",
    "tp",
    "pp",
    "cp",
    "dp",
    "micro_batch",
    "global_batch_seqs",
    "interleave_factor",
    "zero_stage",
    "fused_attention",
    "seconds_per_step",
    "reported",
)
"""Columns that hold numbers."""

MAY_BE_ZERO = frozenset({"zero_stage", "fused_attention"})

AT_MOST = {"fused_attention": 1.0}
"""A share: 1 where attention keeps its scores on chip, 0 where they pass through memory."""

REAL = frozenset(
    {
        "peak_tflops_bf16",
        "memory_bw_tb_s",
        "fused_attention",
        "nic_gbps",
        "scaleup_gbps",
        "oversubscription",
        "n_params",
        "seconds_per_step",
        "reported",
    }
)
"""Numbers that need not be whole."""

TEXTS = (
    "system",
    "source",
    "accelerator",
    "group",
    "recompute",
    "reported_unit",
    "flop_convention",
    "derived",
)
"""Columns that hold texts; ``group`` names the system where the rule would not find it."""

COLUMNS = (*TEXTS, *NUMBERS)

RECOMPUTES = ("none", "selective", "full")

_DOUBTED = {
    "interleave": "interleave_factor",
    "micro-batch": "micro_batch",
    "micro_batch": "micro_batch",
    "microbatch": "micro_batch",
    "recompute": "recompute",
    "nic": "nic_gbps",
    "fused attention": "fused_attention",
}
"""Words of a doubt in ``derived`` and the column they are about."""


_MEASURED = (
    "n_accelerators",
    "tp",
    "pp",
    "micro_batch",
    "global_batch_seqs",
    "seconds_per_step",
    "reported",
)
"""Numbers in which two measurements of one name can differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemRow:
    """One published step time.

    Parameters
    ----------
    place
        Where the row stands.
    texts, numbers
        What it says, by column; what it does not say is absent.
    doubted
        Columns whose value the row's author assumed: they count as unknown.
    problems
        What cannot be read.
    """

    place: str
    texts: Mapping[str, str]
    numbers: Mapping[str, float]
    doubted: tuple[str, ...]
    problems: tuple[str, ...]

    @property
    def name(self) -> str:
        """What the row is called."""
        return self.texts.get("system", self.place)

    @property
    def source(self) -> str:
        """Where it was published."""
        return self.texts.get("source", "source not stated")

    @property
    def is_shipped(self) -> bool:
        """Whether the row ships with the project."""
        return self.place == "published"

    def number(self, column: str) -> float | None:
        """A number of the row, None where it is unknown."""
        return self.numbers.get(column)

    def integer(self, column: str) -> int | None:
        """A whole number of the row, None where it is unknown."""
        value = self.numbers.get(column)
        return None if value is None else int(value)

    @property
    def identity(self) -> tuple[object, ...]:
        """What makes two rows the same measurement."""
        words = re.sub(r"[^a-z0-9]+", " ", f"{self.name} {self.source}".lower()).split()
        return (*words, self.texts.get("recompute"), *(self.numbers.get(n) for n in _MEASURED))


def shipped_rows() -> list[SystemRow]:
    """The rows that ship with the project."""
    return [typed(row) for row in read_shipped("systems", "systems")]


def rows_of_file(path: Path) -> list[SystemRow]:
    """The rows of a CSV file of the same columns.

    Raises
    ------
    InputError
        If the file is no such table.
    """
    return [typed(row) for row in read_csv(path, columns=COLUMNS, option="--throughput")]


def typed(row: TableRow) -> SystemRow:
    """Read the cells of a row; what cannot be read becomes a problem of the row."""
    texts = {name: row.cells[name] for name in TEXTS if name in row.cells}
    doubted = doubts(texts.get("derived", ""))
    problems = list(row.problems)
    numbers = {}
    for name in NUMBERS:
        if name not in row.cells or name in doubted:
            continue
        cell = row.cells[name]
        if cell.lower() == "none":
            continue
        value = number_in(cell)
        if value is None:
            problems.append(f"{name} is {_brief(cell)}, a number is needed")
        elif name not in REAL and value != round(value):
            problems.append(f"{name} is {_brief(cell)}, a whole number is needed")
        elif value < 0 or (value == 0 and name not in MAY_BE_ZERO):
            problems.append(f"{name} is {_brief(cell)}, it must be above 0")
        elif value > AT_MOST.get(name, value):
            problems.append(f"{name} is {_brief(cell)}, it must be from 0 to {AT_MOST[name]:g}")
        else:
            numbers[name] = value
    if "recompute" in texts:
        texts["recompute"] = texts["recompute"].lower()
        if "recompute" in doubted:
            del texts["recompute"]
        elif texts["recompute"] not in RECOMPUTES:
            allowed = ", ".join(RECOMPUTES)
            problems.append(f"recompute is {_brief(texts['recompute'])}, known are {allowed}")
    return SystemRow(
        place=row.place,
        texts=texts,
        numbers=numbers,
        doubted=doubted,
        problems=tuple(problems),
    )


def doubts(derived: str) -> tuple[str, ...]:
    """Columns that the ``derived`` column says were assumed or are not stated."""
    found = []
    for clause in derived.lower().split(";"):
        if "assumed" in clause or "not stated" in clause:
            found += [column for word, column in _DOUBTED.items() if word in clause]
    return tuple(dict.fromkeys(found))


def distinct(rows: Sequence[SystemRow]) -> tuple[list[SystemRow], list[tuple[SystemRow, str]]]:
    """Rows without those that stand twice, and those with where they stand first."""
    first: dict[tuple[object, ...], SystemRow] = {}
    repeated = []
    for row in rows:
        if row.identity in first:
            repeated.append((row, first[row.identity].place))
        else:
            first[row.identity] = row
    return list(first.values()), repeated


def _brief(cell: str) -> str:
    return repr(cell if len(cell) <= 40 else f"{cell[:39]}…")  # noqa: PLR2004
