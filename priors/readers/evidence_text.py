"""What was found as an evidence file: YAML that a person can read and edit."""

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from model.documents import shipped_names
from priors.readers.found import Found

WIDTH = 98


def evidence_text(found: Sequence[Found], *, directory: Path | None = None) -> str:
    """The document.

    Parameters
    ----------
    found
        What files gave.
    directory
        Where the document will lie: scenario files are named from there.
    """
    lines = [
        "# Evidence read from files. Each observation says its file and the rule that made it;"
    ]
    lines += ["# edit it, or take one out, before it is handed to --evidence.", ""]
    for item in found:
        lines += _comment(f"{item.source}, read as {item.format}.")
        for text in item.notes:
            lines += _comment(f"Note: {text}.")
        if item.skipped.reasons:
            lines += _comment(f"Left out: {item.skipped}.")
        for text in item.withheld:
            lines += _comment(f"No observation of {text}.")
        lines.append("")
    lines.append("observations:")
    seen: Counter[str] = Counter()
    for item in found:
        for draft in item.drafts:
            name = str(draft.raw["id"])
            seen[name] += 1
            # Files of one name in two directories are two measurements.
            unique = name if seen[name] == 1 else f"{name}_{seen[name]}"
            lines += _draft({**draft.raw, "id": unique}, draft.comments, directory)
    return "\n".join(lines) + "\n"


def _comment(text: str, indent: str = "") -> list[str]:
    import textwrap

    # A control character of a log is no part of YAML.
    plain = "".join(letter if letter.isprintable() else "?" for letter in text)
    return textwrap.wrap(
        plain,
        WIDTH,
        initial_indent=f"{indent}# ",
        subsequent_indent=f"{indent}#   ",
        break_long_words=False,
    )


def _draft(raw: Mapping[str, object], comments: Sequence[str], directory: Path | None) -> list[str]:
    lines = []
    for text in comments:
        lines += _comment(text, "  ")
    mark = "-"
    for key, value in raw.items():
        if key == "scenario" and directory is not None:
            value = _from(directory, str(value))  # noqa: PLW2901
        lines.append(f"  {mark} {key}: {_plain(value)}")
        mark = " "
    return lines


def _from(directory: Path, name: str) -> str:
    """A scenario's name as the document in a directory must call it."""
    if name in shipped_names("model.data.scenarios"):
        return name
    return os.path.relpath(name, directory)


def _plain(value: object) -> str:
    """JSON, which is YAML too; words that need no quotes go without."""
    if isinstance(value, str) and value.replace("_", "").isalnum() and not value[0].isdecimal():
        return value
    return json.dumps(value, ensure_ascii=False)
