"""Posteriors on disk, by the digest of everything that determines them.

An entry is a directory with ``draws.npz`` (what a command needs, read in a fraction of the time of
the netCDF) and ``posterior.nc`` (for people). It is written to a temporary sibling and renamed:
complete or absent.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from importlib import metadata, resources
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from model.errors import InputError

DRAWS_FILE, NETCDF_FILE = "draws.npz", "posterior.nc"

VERSIONED = ("pymc", "pytensor", "nutpie", "numba", "numpy", "scipy")
"""Distributions whose version can change the draws."""

type Columns = Mapping[str, NDArray[np.float64]]


def cache_directory() -> Path:
    """Where posteriors are kept.

    ``$FUNDWORTHY_CACHE``, else ``${XDG_CACHE_HOME:-~/.cache}/fundworthy``.
    """
    chosen = os.environ.get("FUNDWORTHY_CACHE")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path("~/.cache").expanduser()) / "fundworthy"


def prepare(directory: Path) -> None:
    """Make sure entries can be written, before work is spent on one.

    Raises
    ------
    InputError
        If they cannot.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        raise InputError.unwritable(
            error,
            source=str(directory),
            path="cache directory",
            remedy="set FUNDWORTHY_CACHE to a directory that can be written",
        ) from None


def digest_of(content: Mapping[str, object]) -> str:
    """SHA-256 of plain data, the versions that can change draws, and the code behind them."""
    versions = {name: metadata.version(name) for name in VERSIONED}
    whole = {**content, "versions": versions, "code": _code_digest()}
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()


def _code_digest() -> str:
    found = hashlib.sha256()
    for package in ("model", "priors"):
        files = [f for f in resources.files(package).iterdir() if f.name.endswith(".py")]
        for file in sorted(files, key=lambda file: file.name):
            found.update(file.name.encode())
            found.update(file.read_bytes())
    return found.hexdigest()


def load(entry: Path) -> tuple[dict[str, NDArray[np.generic]], dict[str, object]] | None:
    """Arrays and description of an entry; None where there is no such entry.

    Raises
    ------
    ValueError
        If the entry is damaged.
    """
    if not entry.is_dir():
        return None
    try:
        with (entry / DRAWS_FILE).open("rb") as opened, np.load(opened) as file:
            arrays = {name: file[name] for name in file.files}
        description: dict[str, object] = json.loads(bytes(arrays.pop("description")))
        (entry / NETCDF_FILE).stat()
    except Exception as error:
        # Truncated or overwritten archives fail in many ways; all mean the same here.
        message = f"{entry} is damaged ({type(error).__name__})"
        raise ValueError(message) from error
    return arrays, description


def temporary_entry(directory: Path) -> Path:
    """A new directory beside the entries, to be given to :func:`publish`."""
    return Path(tempfile.mkdtemp(prefix=".new-", dir=directory))


def write_arrays(
    directory: Path, arrays: Mapping[str, NDArray[np.generic]], description: Mapping[str, object]
) -> None:
    """Write the fast file of an entry."""
    text = np.frombuffer(json.dumps(description).encode(), dtype=np.uint8)
    with (directory / DRAWS_FILE).open("wb") as file:
        np.savez(file, allow_pickle=False, description=text, **arrays)


def publish(new: Path, entry: Path) -> None:
    """Put a finished entry in its place; a damaged one or one just written by others gives way."""
    new.chmod(0o755)
    try:
        new.rename(entry)
    except OSError:
        discard(entry)
        new.rename(entry)


def discard(directory: Path) -> None:
    """Remove an entry, finished or not."""
    shutil.rmtree(directory, ignore_errors=True)
