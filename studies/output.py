"""A directory of study results: tables with their provenance, complete or absent."""

import hashlib
import json
import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from decision.origin import git_commit, versions
from decision.output import write_json
from decision.place import beside, put_in_place
from model.errors import InputError

PROVENANCE = "provenance.json"


def check_place(directory: Path, study: str, digest: str, *, force: bool) -> None:
    """Refuse a place that holds something else, before anything is computed.

    Raises
    ------
    InputError
        If it is no run of this study, or one of other inputs or code without ``force``.
    """
    if not directory.exists() or (directory.is_dir() and not any(directory.iterdir())):
        return
    try:
        found = json.loads((directory / PROVENANCE).read_text())
        known, same = found["study"] == study, found["digest"] == digest
    except (OSError, ValueError, KeyError, TypeError):
        known = same = False
    if not known:
        raise InputError.single(
            message=f"this exists and is no run of {study}: it is left alone",
            source="--out",
            path=str(directory),
            remedy="choose another directory",
        )
    if not same and not force:
        raise InputError.single(
            message="this holds results of other inputs, options or code",
            source="--out",
            path=str(directory),
            remedy="choose another directory, or --force to replace them",
        )


@contextmanager
def results(directory: Path, *, force: bool) -> Iterator[Path]:
    """A directory beside its place to write into, moved there when the block ends well.

    Results that are there already stay as they are: the new tables must be the same, byte by
    byte, unless ``force`` replaces them.

    Raises
    ------
    InputError
        If the place cannot be written, or holds other tables.
    """
    with beside(directory) as partial:
        yield partial
        _settle(partial, directory, force=force)


def _settle(partial: Path, directory: Path, *, force: bool) -> None:
    if directory.is_dir() and any(directory.iterdir()):
        if _tables(directory) == _tables(partial):
            return
        if not force:
            raise InputError.single(
                message="the tables differ from those that are there",
                source="--out",
                path=str(directory),
                remedy="choose another directory, or --force to replace them",
            )
    put_in_place(partial, directory)


def _tables(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*.csv"))
    }


def write_table(directory: Path, path: str, table: pd.DataFrame) -> dict[str, Any]:
    """Write a table with all digits, ``inf`` unattainable, empty where there is no value.

    Returns
    -------
    dict
        What its provenance says about it: rows, columns, digest.
    """
    target = directory / path
    target.parent.mkdir(parents=True, exist_ok=True)
    table.to_csv(target, index=False, lineterminator="\n")
    return {
        "rows": len(table),
        "columns": list(table.columns),
        "sha256": hashlib.sha256(target.read_bytes()).hexdigest(),
    }


def write_provenance(
    directory: Path, common: Mapping[str, Any], tables: Mapping[str, Mapping[str, Any]]
) -> None:
    """Write what made the run, and beside each table what made it."""
    common = {
        **common,
        "versions": {"python": platform.python_version(), **versions()},
        "git_commit": git_commit(),
    }
    for path, facts in tables.items():
        sidecar = (directory / path).with_suffix(".meta.json")
        write_json(sidecar, {"table": path, **facts, **common})
    write_json(directory / PROVENANCE, {**common, "tables": tables})
