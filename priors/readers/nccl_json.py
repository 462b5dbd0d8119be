"""Results of nccl-tests as JSON (``-J``)."""

import json

from priors.readers.found import refuse
from priors.readers.nccl_rows import KIND, Row, Sweep, Table, Variant, choose, is_new, note_rank
from priors.readers.source import TextSource


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
    table = Table(runs=1)
    name = KIND.search(json.dumps(content.get("args", "")))
    table.kind = name[1] if name else ""
    _hosts_of(table, source, content)
    results = content.get("results")
    if not isinstance(results, list):
        raise refuse(source, 1, "no list of results in this JSON")
    sweeps: dict[Variant, Sweep] = {}
    for position, item in enumerate(results, start=1):
        if not isinstance(item, dict) or not isinstance(item.get("size"), int):
            table.skipped.add("results without a size", position)
            continue
        table.operation = str(item.get("redop", ""))
        row = _json_row(table, position, item)
        if row is None:
            continue
        if is_new(table, source, row, "", sweeps):
            table.rows.append(row)
    choose(table)
    return table


def _hosts_of(table: Table, source: TextSource, content: object) -> None:
    """Host of each rank, wherever the document lists them."""
    stack = [content]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            rank, host = item.get("rank"), item.get("hostname")
            if isinstance(rank, int) and isinstance(host, str):
                note_rank(table, source, 0, rank, host)
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
    variant = (str(item.get("type", "")), str(item.get("redop", "")), str(item.get("root", "")))
    return Row(line=position, size=size, sides=tuple(sides), variant=variant)


def _finite(value: object) -> float | None:
    """A positive number of JSON; nan is written as a text."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0.0 < value < float("inf") else None
