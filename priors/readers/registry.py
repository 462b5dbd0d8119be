"""Which reader a file is for."""

import re

from priors.readers.dialects import dialects
from priors.readers.failure_table import FailureTable
from priors.readers.found import Found, Reader, ReadOptions, refuse
from priors.readers.goodput import Goodput
from priors.readers.nccl_tests import NcclTests
from priors.readers.slurm import Slurm
from priors.readers.source import Progress, TextSource
from priors.readers.training_log import TrainingLog

COUNTS = re.compile(
    r"[,;|\t]\s*\"?(?:[\w ]*\bcount\b|number of \w+|(?:failure|interruption|event|incident)s?)"
    r"\"?\s*(?:[,;|\t]|\Z)",
    re.IGNORECASE,
)
"""A heading of a table that has one row a cause."""

TITLES = 6


def readers() -> dict[str, Reader]:
    """All readers by name, the most telling first."""
    logs = [TrainingLog(dialect.name) for dialect in dialects()]
    items: list[Reader] = [Slurm(), Goodput(), *logs, NcclTests(), FailureTable()]
    return {reader.name: reader for reader in items}


def recognised(source: TextSource) -> Reader | None:
    """The first reader that knows the head of a file, None where none does."""
    head = source.head()
    return next((reader for reader in readers().values() if reader.recognise(head)), None)


def read_file(
    name: str, options: ReadOptions, *, form: str = "", progress: Progress | None = None
) -> Found:
    """Read one file.

    Parameters
    ----------
    name
        Path, or ``-`` for standard input.
    options
        What the planner says about it.
    form
        Name of a reader; empty to recognise it.
    progress
        Told how far reading has come.

    Raises
    ------
    InputError
        If no reader knows it, or it cannot answer.
    """
    source = TextSource(name, progress=progress)
    # Who names columns has a table.
    form = form or ("failure-table" if options.columns else "")
    reader = readers()[form] if form else recognised(source)
    if reader is None:
        if not any(line.strip() for line in source.head()):
            raise refuse(source, 0, "the file is empty")
        if any(COUNTS.search(line) for line in source.head()[:TITLES]):
            raise refuse(
                source,
                1,
                "a table of counts, without a date or a length a row",
                "write the count with its exposure as an observation of kind interruptions: "
                "docs/evidence.md",
            )
        raise refuse(
            source,
            0,
            f"its first {len(source.head())} lines are of no format that is known",
            "--as names one: "
            + ", ".join(readers())
            + "; of a table of failures --columns node=…,start=…,end=…,cause=… names the columns",
        )
    return reader.read(source, options)
