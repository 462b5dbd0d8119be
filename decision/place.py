"""A directory of results that is complete or absent: written beside its place, then moved there."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from model.errors import InputError


def below_runs(name: str, digest: str, *, kind: str = "") -> Path:
    """Where results go unless told: named by scenario, kind and digest, below ``runs``."""
    safe = "".join(c if c.isalnum() or c in "-_" else "_" for c in name)[:60]
    return Path("runs") / "-".join(part for part in (safe, kind, digest[:12]) if part)


def check_writable(directory: Path) -> None:
    """Find out that results cannot be written before they are computed.

    Raises
    ------
    InputError
        If no directory can be made there.
    """
    parent = directory.absolute().parent
    while not parent.exists():
        parent = parent.parent
    try:
        with tempfile.TemporaryDirectory(prefix=f".{directory.name}-", dir=parent):
            pass
    except OSError as error:
        raise _unwritable(directory, error) from None


@contextmanager
def beside(directory: Path) -> Iterator[Path]:
    """A new directory beside a place, gone after the block unless it was moved.

    Raises
    ------
    InputError
        If something in the block cannot be written.
    """
    directory = directory.absolute()
    partial = None
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f".{directory.name}-", dir=directory.parent))
        partial.chmod(0o777 & ~_umask())
        yield partial
    except OSError as error:
        raise _unwritable(directory, error) from None
    finally:
        if partial is not None:
            shutil.rmtree(partial, ignore_errors=True)


def write_file(file: Path, text: str) -> None:
    """Write a file beside its place and move it there: it is complete or as it was.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    file = file.absolute()
    partial = None
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=file.parent, prefix=f".{file.name}-", delete=False
        ) as handle:
            partial = Path(handle.name)
            handle.write(text)
        partial.chmod(0o666 & ~_umask())
        partial.replace(file)
    except OSError as error:
        raise InputError.unwritable(
            error,
            source="--out",
            path=str(file),
            remedy="name a file in a directory you may write to",
        ) from None
    finally:
        if partial is not None:
            partial.unlink(missing_ok=True)


def put_in_place(partial: Path, directory: Path) -> None:
    """Move a whole directory to its place, instead of nothing or of an older one."""
    directory = directory.absolute()
    older = None
    if directory.exists():
        older = Path(tempfile.mkdtemp(prefix=f".{directory.name}-old-", dir=directory.parent))
        directory.rename(older / directory.name)
    partial.rename(directory)
    if older is not None:
        shutil.rmtree(older, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _unwritable(directory: Path, error: OSError) -> InputError:
    return InputError.unwritable(
        error,
        source="--out",
        path=str(directory),
        remedy="choose a directory you may write to",
    )
