"""Results as they leave a command: as JSON or as text, where they are, and the exit status."""

import argparse
import json
import shutil
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from model.command import EXIT_UNCONVERGED

NARROWEST, USUAL, WIDEST = 80, 100, 120
"""Columns of text: at least, where there is no terminal, and at most."""


def add_format_option(parser: argparse.ArgumentParser, query: str) -> None:
    """Add ``--format``; its example filters the JSON by a query."""
    parser.add_argument(
        "--format",
        choices=("table", "json"),
        default="table",
        help=f"what is printed (e.g. --format json | jq {query})",
    )


def add_output_options(
    parser: argparse.ArgumentParser, *, query: str, file: str, marked: str = ""
) -> None:
    """Add what is printed, whether progress is told, and what an unconverged sampler means.

    Parameters
    ----------
    parser
        Of the command.
    query, file
        For the examples: a filter of the JSON, and where text may go.
    marked
        What is marked where the sampler did not converge; empty for a command that does not end
        differently then.
    """
    if marked:
        parser.add_argument(
            "--accept-unconverged",
            action="store_true",
            help=f"exit 0 even if the sampler's diagnostics fail (the {marked} stays marked)",
        )
    add_format_option(parser, query)
    parser.add_argument("--quiet", action="store_true", help=f"no progress (e.g. --quiet > {file})")


def as_json(content: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> str:
    """The content as JSON, which has no NaN; ends with a line break."""
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write the content as JSON."""
    path.write_text(as_json(content), encoding="utf-8")


def terminal_width() -> int:
    """Columns that text may take."""
    columns = shutil.get_terminal_size((USUAL, 24)).columns
    return max(NARROWEST, min(columns, WIDEST))


def wrapped(text: str, indent: int = 0) -> list[str]:
    """Lines of a text of the usual width, further ones indented by two more; no word is broken."""
    return textwrap.wrap(
        text,
        USUAL,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + 2),
        break_long_words=False,
        break_on_hyphens=False,
    )


def show(
    content: Mapping[str, Any], text: Callable[[], str], *, form: str, place: str = ""
) -> None:
    """Print results on standard output.

    Parameters
    ----------
    content
        The results as plain data.
    text
        Makes the text of them, ending with a line break.
    form
        ``json`` or ``table``.
    place
        Said after the text: where the results are; empty where they are nowhere.
    """
    if form == "json":
        sys.stdout.write(as_json(content))
        return
    sys.stdout.write(text())
    if place:
        sys.stdout.write(f"\n{place}\n")


def status_of(reasons: Sequence[str], *, accepted: bool, what: str, place: Path) -> int:
    """The exit status by how the sampler fared, with the reason on standard error.

    Parameters
    ----------
    reasons
        Why it did not converge; empty where it did.
    accepted
        Whether that is taken as it is.
    what, place
        What was written, and where.
    """
    if not reasons or accepted:
        return 0
    sys.stderr.write(
        f"error: the posterior did not converge: {'; '.join(reasons)}\n"
        f"the {what} is written and marked: {place}\n"
        "use more draws, or --accept-unconverged to take it as it is\n"
    )
    return EXIT_UNCONVERGED
