"""Records of JSON as rows of a table: a list of them, or one a line."""

import json
from collections.abc import Sequence

from priors.readers.found import Tally
from priors.readers.source import TextSource


def is_json(head: Sequence[str]) -> bool:
    """Whether the head is of JSON: a list of records, or one a line."""
    first = next((line.strip() for line in head if line.strip()), "")
    return first.startswith(("[{", "{")) or first == "["


def first_record(head: Sequence[str]) -> dict[str, object]:
    """The first record; nothing where it is none, or holds more than plain values."""
    text = "\n".join(head).lstrip("[ \n\t")
    try:
        record, _ = json.JSONDecoder().raw_decode(text)
    except (json.JSONDecodeError, RecursionError):
        return {}
    if not isinstance(record, dict) or any(isinstance(v, dict | list) for v in record.values()):
        return {}
    return record


def cells_of_json(
    source: TextSource, skipped: Tally
) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Fields of all records, and each record's values by them."""
    text = source.text()
    try:
        content = json.loads(text)
        items = list(enumerate(content, 1)) if isinstance(content, list) else [(1, content)]
    except (json.JSONDecodeError, RecursionError):
        items = []
        for number, line in enumerate(text.split("\n"), 1):
            try:
                items.append((number, json.loads(line)))
            except (json.JSONDecodeError, RecursionError):
                if line.strip():
                    skipped.add("lines that are no whole JSON", number)
    found = [(number, item) for number, item in items if isinstance(item, dict)]
    header = list(dict.fromkeys(str(key) for _, item in found for key in item))
    rows = [
        (number, ["" if item.get(key) is None else str(item[key]) for key in header])
        for number, item in found
    ]
    return header, rows
