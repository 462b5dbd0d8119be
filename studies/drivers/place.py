"""Where a study of a run goes: beside the run's own results, which stay as they are."""

import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from model.errors import InputError

DRIVERS_CSV = "drivers.csv"
DRIVERS_JSON = "drivers.json"
FIGURES = "figures"


def find_study(directory: Path, digest: str) -> Mapping[str, Any] | None:
    """The finished study of the same digest in a directory, None where there is none."""
    try:
        content = json.loads((directory / DRIVERS_JSON).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    same = isinstance(content, dict) and content.get("provenance", {}).get("digest") == digest
    return content if same else None


def require_free(directory: Path, *, force: bool) -> None:
    """Refuse a run that has another study already, before anything is computed.

    Raises
    ------
    InputError
        If there is one and it is not to be replaced.
    """
    if (directory / DRIVERS_CSV).exists() and not force:
        raise InputError.single(
            message="this run has a study of other options or versions",
            source="--run",
            path=str(directory),
            remedy="--force to replace it",
        )


def add_to_run(directory: Path, write: Callable[[Path], None]) -> None:
    """Write results beside a run and move them in, the table last; nothing else is touched.

    Parameters
    ----------
    directory
        The run.
    write
        Writes the files into an empty directory; those below ``figures`` join the run's figures.

    Raises
    ------
    InputError
        If the run cannot be written to.
    """
    try:
        partial = Path(tempfile.mkdtemp(prefix=".drivers-", dir=directory))
    except OSError as error:
        raise _unwritable(directory, error) from None
    try:
        write(partial)
        (directory / FIGURES).mkdir(exist_ok=True)
        files = [path.relative_to(partial) for path in partial.rglob("*") if path.is_file()]
        # The table is what says that a study is there.
        for file in sorted(files, key=lambda path: (path.name == DRIVERS_CSV, path)):
            (partial / file).replace(directory / file)
    except OSError as error:
        raise _unwritable(directory, error) from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _unwritable(directory: Path, error: OSError) -> InputError:
    return InputError.unwritable(
        error,
        source="--run",
        path=str(directory),
        remedy="a study is added to its run: make that directory writable",
    )
