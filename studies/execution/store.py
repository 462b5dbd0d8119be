"""The directory of an unfinished study: what it is, and the parts that are done.

``manifest.json`` says what determines the results; ``parts/`` holds one Parquet file a finished
task, each written beside its place, forced to disk and renamed; ``tables/`` the tables made of
them in the order of the tasks. Nothing here is ever unpickled: who can write to the directory can
falsify results, but runs no code.
"""

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from model.errors import InputError, Problem
from studies.execution.tables import ROWS_OF_A_GROUP, read_part, schema_of, unified

if TYPE_CHECKING:
    import pyarrow as pa

MANIFEST, PARTS, TABLES, FAILURES, LOCK = (
    "manifest.json",
    "parts",
    "tables",
    "failures.json",
    "lock",
)

FORMAT = 1

UNFINISHED = ".unfinished"

ANEW = "--no-resume starts anew and discards its finished tasks, or choose another --out"

type Manifest = Mapping[str, Any]


def unfinished(directory: Path) -> Path:
    """Where a study is kept until its results are in their place: beside it."""
    return directory.with_name(directory.name + UNFINISHED)


class Store:
    """Parts of one study.

    Parameters
    ----------
    directory
        Its directory, which is made.
    manifest
        What determines the results, as plain JSON.
    tables
        The table of each task, in their order.
    digests
        The digest of each task.
    """

    def __init__(
        self,
        directory: Path,
        manifest: Manifest,
        tables: Sequence[str],
        digests: Sequence[str],
    ) -> None:
        self.directory = directory
        # As it is read back: a tuple becomes a list.
        self._manifest: Manifest = json.loads(json.dumps(manifest))
        self._tables = tables
        self._digests = digests

    def part(self, index: int) -> Path:
        """File of a task."""
        return self.directory / PARTS / f"{index:06d}.parquet"

    @contextmanager
    def opened(self, *, resume: bool) -> Iterator[None]:
        """Make the directory, or find the same study there; nobody else may run it meanwhile.

        Raises
        ------
        InputError
            If something else is there, it is being run, or it cannot be written.
        """
        found = self._read_manifest()
        with writing(self.directory):
            self.directory.mkdir(parents=True, exist_ok=True)
            opened = (self.directory / LOCK).open("a+", encoding="utf-8")
        with opened:
            self._lock(opened)
            if found is not None and not resume:
                self._clear()
                found = None
            differences = [] if found is None else list(differing(found, self._manifest))
            if differences:
                raise InputError(
                    Problem(
                        source=str(self.directory),
                        message=f"an unfinished study of another kind is here: {difference}",
                        remedy=ANEW,
                    )
                    for difference in differences
                )
            with writing(self.directory):
                if found is None:
                    text = json.dumps(self._manifest, indent=1, ensure_ascii=False) + "\n"
                    replace_file(self.directory / MANIFEST, text.encode())
                (self.directory / PARTS).mkdir(exist_ok=True)
                sync_directory(self.directory)
                sync_directory(self.directory.parent)
            yield

    def _read_manifest(self) -> dict[str, Any] | None:
        """What the directory is; None where there is none, or nothing in it yet."""
        if not self.directory.exists():
            return None
        if self.directory.is_dir() and {p.name for p in self.directory.iterdir()} <= {LOCK}:
            return None
        try:
            found = json.loads((self.directory / MANIFEST).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            found = None
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise InputError.single(
                message="this exists and is no unfinished study: it is left alone",
                source=str(self.directory),
                remedy="choose another --out, or remove it",
            )
        return found

    def _lock(self, opened: TextIO) -> None:
        """Keep a second run of the same study out; the lock goes with the process."""
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            opened.seek(0)
            raise InputError.single(
                message=f"this study is being run (by process {opened.read() or 'unknown'})",
                source=str(self.directory),
                remedy="wait for it, stop it, or choose another --out",
            ) from None
        opened.truncate(0)
        opened.write(str(os.getpid()))
        opened.flush()

    def done(self) -> tuple[set[int], int]:
        """Tasks whose part is there and whole, and how many parts were not."""
        found, damaged = set(), 0
        for index, digest in enumerate(self._digests):
            part = self.part(index)
            if not part.exists():
                continue
            if read_part(part, digest) is None:
                damaged += 1
                part.unlink()
            else:
                found.add(index)
        return found, damaged

    def finished(self) -> int:
        """Parts that are in their place."""
        return sum(1 for _ in (self.directory / PARTS).glob("[0-9]*.parquet"))

    def put(self, index: int, content: bytes) -> None:
        """Keep the part of a task: whole on disk when this returns.

        Raises
        ------
        InputError
            If it cannot be written.
        """
        with writing(self.directory):
            replace_file(self.part(index), content)

    def put_failures(self, failures: Sequence[Mapping[str, str]]) -> None:
        """Write what failed, or nothing where nothing did."""
        path = self.directory / FAILURES
        with writing(self.directory):
            if failures:
                text = json.dumps(failures, indent=1, ensure_ascii=False) + "\n"
                replace_file(path, text.encode())
            else:
                path.unlink(missing_ok=True)

    def read(self, index: int) -> "pa.Table":
        """The rows of a finished task.

        Raises
        ------
        InputError
            If its part has been damaged.
        """
        table = read_part(self.part(index), self._digests[index])
        if table is None:
            raise self._damaged(index)
        return table

    def _damaged(self, index: int) -> InputError:
        return InputError.single(
            message="this part is damaged or gone",
            source=str(self.part(index)),
            remedy="run the same command again: it computes what is missing",
        )

    def _schema(self, name: str, members: Sequence[int]) -> "pa.Schema":
        """The columns that all parts of a table share."""
        found = None
        for index in members:
            schema = schema_of(self.part(index), self._digests[index])
            if schema is None:
                raise self._damaged(index)
            found = unified(found, schema, name, self.part(index).name)
        return found

    def assemble(self, name: str) -> Path:
        """Write a table of all parts in the order of the tasks.

        Raises
        ------
        InputError
            If columns do not fit together, or it cannot be written.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        members = [index for index, table in enumerate(self._tables) if table == name]
        if not members:
            raise InputError.single(message=f"no task belongs to table {name!r}", source="tasks")
        schema = self._schema(name, members)
        target = self.directory / TABLES / f"{name}.parquet"
        partial = target.with_name(f".{target.name}")
        with writing(self.directory):
            target.parent.mkdir(exist_ok=True)
            try:
                with pq.ParquetWriter(partial, schema, compression="zstd") as writer:
                    held: list[pa.Table] = []
                    for index in members:
                        held.append(self.read(index).select(schema.names).cast(schema))
                        if sum(table.num_rows for table in held) >= ROWS_OF_A_GROUP:
                            writer.write_table(pa.concat_tables(held).combine_chunks())
                            held = []
                    if held:
                        writer.write_table(pa.concat_tables(held).combine_chunks())
                _settle(partial, target)
            finally:
                partial.unlink(missing_ok=True)
        return target

    def discard(self) -> None:
        """Remove the directory."""
        with writing(self.directory):
            self._clear()
            shutil.rmtree(self.directory, ignore_errors=True)

    def _clear(self) -> None:
        """Remove all but the lock; the manifest last, so that what is left is known for a study."""
        with writing(self.directory):
            for path in (self.directory / PARTS, self.directory / TABLES):
                shutil.rmtree(path, ignore_errors=True)
            for name in (FAILURES, MANIFEST):
                (self.directory / name).unlink(missing_ok=True)


def differing(found: Manifest, wanted: Manifest, path: str = "") -> Iterator[str]:
    """What of a manifest is another than what is asked for, in words."""
    for key in sorted({*found, *wanted}):
        name = f"{path}{key}"
        old, new = found.get(key), wanted.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            yield from differing(old, new, f"{name} ")
        elif old != new:
            yield f"{name} was {_shown(old)} and is now {_shown(new)}"


def _shown(value: object) -> str:
    text = "absent" if value is None else str(value)
    # Digests say that something differs, not what: their beginning is enough to tell them apart.
    return f"{text[:12]}…" if len(text) == 64 else text  # noqa: PLR2004 - a SHA-256


@contextmanager
def writing(directory: Path) -> Iterator[None]:
    """Say in plain words that something cannot be written.

    Raises
    ------
    InputError
        If it cannot.
    """
    try:
        yield
    except OSError as error:
        raise InputError.unwritable(
            error,
            source=str(directory),
            remedy="make room there, or choose an --out you may write to",
        ) from error


def replace_file(path: Path, content: bytes) -> None:
    """Write a file beside its place, force it to disk and rename it: whole or absent."""
    partial = path.with_name(f".{path.name}")
    try:
        with partial.open("wb") as file:
            file.write(content)
        _settle(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def _settle(partial: Path, path: Path) -> None:
    with partial.open("rb") as file:
        os.fsync(file.fileno())
    partial.replace(path)
    sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """Force names of a directory to disk."""
    opened = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
