"""Tables of published measurements in: shipped documents and CSV files of the same columns.

A cell that cannot be read never ends a run: its row carries the problem and is left out by name.
"""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from model.documents import MAX_BYTES, read_document
from model.errors import InputError

BLANK = frozenset({"", "-", "–", "—", "?", "n/a", "na", "nan", "null", "unknown", "tbd"})
"""Texts that say that a value is not known; ``none`` is a kind of recomputation."""

SHIPPED = "published"

type Cells = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow:
    """One row as read: texts by column, blanks left out.

    Parameters
    ----------
    place
        Where it stands, for messages: file and line, or the shipped set.
    cells
        Text of every cell that says something.
    problems
        What is wrong with the row as such.
    """

    place: str
    cells: Cells
    problems: tuple[str, ...] = ()


def read_shipped(name: str, section: str) -> list[TableRow]:
    """Rows of a shipped document, the facts of their block filled in.

    Parameters
    ----------
    name
        Stem of the document in ``studies.data``.
    section
        Its list: ``systems`` of blocks with ``facts`` and ``rows``, or ``fleets`` of rows.
    """
    document = read_document(name, package="studies.data", kind="table")
    entries: object = document.content[section]
    rows = []
    for entry in entries:  # type: ignore[attr-defined]
        facts = entry.get("facts", {})
        for row in entry.get("rows", [entry]):
            cells = {str(key): _text(value) for key, value in {**facts, **row}.items()}
            rows.append(TableRow(place=SHIPPED, cells=_said(cells.items())))
    return rows


def read_csv(path: Path, *, columns: Sequence[str], option: str) -> list[TableRow]:
    """Rows of a CSV file; commas, semicolons or tabs, in any order of columns.

    Parameters
    ----------
    path
        The file.
    columns
        Columns that are known. Others are ignored, missing ones are unknown in every row.
    option
        The option that named the file, for messages.

    Raises
    ------
    InputError
        If the file cannot be read as a table with any of the columns.
    """
    text = _read_text(path, option)
    first = next((line for line in text.splitlines() if line.strip()), "")
    delimiter = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    try:
        lines = [(reader.line_num, cells) for cells in reader if any(map(str.strip, cells))]
    except csv.Error as error:
        raise InputError.single(
            message=f"line {reader.line_num} is no CSV: {error}", source=option, path=str(path)
        ) from None
    header = [cell.strip().lower() for cell in lines[0][1]] if lines else []
    known = [name for name in header if name in columns]
    twice = sorted({name for name in known if known.count(name) > 1})
    if not known or twice:
        message = f"the column {twice[0]!r} stands twice" if twice else "no column is known"
        raise InputError.single(
            message=message,
            source=option,
            path=str(path),
            remedy="columns: " + ", ".join(columns),
        )
    rows = []
    for number, cells in lines[1:]:
        problems: tuple[str, ...] = ()
        if len(cells) > len(header) and any(cell.strip() for cell in cells[len(header) :]):
            problems = (f"{len(cells)} cells under {len(header)} columns",)
        pairs = zip(header, cells, strict=False)
        said = _said((name, cell) for name, cell in pairs if name in columns)
        rows.append(TableRow(place=f"{path.name}:{number}", cells=said, problems=problems))
    return rows


def _read_text(path: Path, option: str) -> str:
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise InputError.single(
                message=f"the file has {size} bytes, allowed are {MAX_BYTES}",
                source=option,
                path=str(path),
            )
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError.single(
            message=f"cannot be read ({reason})", source=option, path=str(path)
        ) from None
    if b"\0" in data:
        raise InputError.single(
            message="this is a binary file, a CSV table is needed", source=option, path=str(path)
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _said(cells: Iterable[tuple[str, str]]) -> dict[str, str]:
    stripped = ((name, " ".join(cell.split())) for name, cell in cells)
    return {name: cell for name, cell in stripped if cell.lower() not in BLANK}


def _text(value: object) -> str:
    return "" if value is None else str(value)


def number_in(cell: str) -> float | None:
    """The number that a cell is, None where it is none: "1,024" and "4.05e11" are numbers."""
    plain = cell.replace("_", "")
    if "," in plain and all(len(part) == 3 for part in plain.split(".")[0].split(",")[1:]):  # noqa: PLR2004
        plain = plain.replace(",", "")
    try:
        value = float(plain)
    except ValueError:
        return None
    return value if abs(value) < float("inf") else None
