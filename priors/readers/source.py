"""Text of any size as numbered lines: plain or compressed, from a path, a glob or standard input.

Constant memory: one block is held at a time, and a line is cut at a stated length.
"""

import codecs
import glob
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import BinaryIO, cast

from model.errors import InputError

STDIN = "-"

BLOCK_BYTES = 1 << 20
MAX_LINE = 1 << 16
"""Characters of a line that are kept: no row of any format is longer."""

HEAD_LINES, HEAD_CHARACTERS = 20_000, 4 << 20
"""What a format is recognised by: training logs begin with long lists of settings."""

ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
PART_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b]{0,200})?\Z")

AS_LATIN = "latin-1-where-not-utf-8"


def _as_latin(error: UnicodeError) -> tuple[str, int]:
    """Bytes that are no UTF-8 as the Latin letters they mostly are; any other fault as a mark."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    bad = error.object[error.start : error.end]
    return (bad.decode("latin-1") if error.encoding == "utf-8" else "\ufffd"), error.end


codecs.register_error(AS_LATIN, _as_latin)

MAGIC = {
    b"\x1f\x8b": "gz",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zst",
    b"BZh": "bz2",
}
NO_TEXT = {
    b"PK\x03\x04": ("a spreadsheet or a zip archive", "save the sheet as CSV, or unpack it"),
    b"\xd0\xcf\x11\xe0": ("an old spreadsheet or document", "save the sheet as CSV"),
    b"PAR1": ("a Parquet file", "write it as CSV"),
    b"%PDF": ("a PDF document", "export its table as CSV"),
    b"\x89PNG": ("a picture", "hand over the text"),
    b"SQLite": ("a database", "write its table as CSV"),
}
"""First bytes of files that hold no lines of text: what they are, and the way out."""

type Batch = tuple[int, list[str]]
"""Number of a line, and the texts of it and of those that follow."""

type Progress = Callable[[int, int], None]
"""Told bytes read so far and bytes in all, 0 where that is unknown."""


def expand(names: list[str]) -> list[str]:
    """Paths that names stand for: a glob its matches in order, anything else itself.

    Raises
    ------
    InputError
        If a glob matches nothing.
    """
    paths: list[str] = []
    for name in names:
        if name == STDIN or not glob.has_magic(name) or Path(name).exists():
            paths.append(name)
            continue
        found = sorted(glob.glob(name, recursive=True))  # noqa: PTH207 - Path.glob refuses "/"
        if not found:
            raise InputError.single(message="no file matches this pattern", source=name)
        paths += found
    return list(dict.fromkeys(paths))


@dataclass(slots=True)
class TextSource:
    """One file as numbered lines; its head can be looked at before they are read.

    Parameters
    ----------
    name
        Path, or ``-`` for standard input.
    progress
        Told how far reading has come.
    cut_line
        Number of a last line without ending, which a kill may have cut; 0 before it is reached.
    cut_lines_over_length
        Lines of which only the beginning is kept.
    """

    name: str
    progress: Progress | None = None
    cut_line: int = 0
    cut_lines_over_length: int = 0
    _head: list[str] | None = None
    _read: list[Batch] = field(default_factory=list)
    _rest: Iterator[Batch] | None = None

    @property
    def label(self) -> str:
        """What messages call it."""
        return "standard input" if self.name == STDIN else self.name

    def head(self) -> list[str]:
        """The first lines, which :meth:`lines` gives again."""
        if self._head is None:
            self._rest = self._batches()
            self._head, size = [], 0
            for batch in self._rest:
                self._read.append(batch)
                for text in batch[1]:
                    self._head.append(text)
                    size += len(text)
                    if len(self._head) >= HEAD_LINES or size > HEAD_CHARACTERS:
                        return self._head
        return self._head

    def batches(self) -> Iterator[Batch]:
        """Number of the first line, and texts of it and those that follow; once.

        Pieces between carriage returns share a number and come one by one.
        """
        self.head()
        assert self._rest is not None
        return chain(self._read, self._rest)

    def lines(self) -> Iterator[tuple[int, str]]:
        """Number and text of each line, once."""
        for first, texts in self.batches():
            yield from enumerate(texts, first)

    def text(self, limit: int = 64 << 20) -> str:
        """The whole text, for formats that are one document.

        Raises
        ------
        InputError
            If it is longer than the limit.
        """
        parts: list[str] = []
        size = 0
        for _, line in self.lines():
            size += len(line) + 1
            if size > limit:
                raise InputError.single(
                    message=f"longer than {limit >> 20} MiB, too long for one document",
                    source=self.label,
                )
            parts.append(line)
        return "\n".join(parts)

    def _batches(self) -> Iterator[Batch]:
        number, rest, returns = 0, "", None
        for block in self._blocks():
            if returns is None and ("\n" in block or "\r" in block[:-1]):
                returns = "\n" not in block
            if returns:
                block = block.replace("\r", "\n")  # noqa: PLW2901
            *whole, rest = (rest + block).split("\n")
            if "\r" not in block and "\r" not in "".join(whole[:1]) and _short(whole):
                yield number + 1, whole
                number += len(whole)
            else:
                for line in whole:
                    number += 1
                    for piece in self._pieces(line):
                        yield number, [piece]
            if len(rest) > MAX_LINE * 16:
                number += 1
                for piece in self._pieces(rest):
                    yield number, [piece]
                number, rest = number - 1, ""
        if rest:
            pieces = list(self._pieces(rest))
            if not rest.endswith("\r"):
                self.cut_line = number + 1
            for piece in pieces:
                yield number + 1, [piece]

    def _pieces(self, line: str) -> Iterator[str]:
        for piece in line.rstrip("\r").split("\r"):
            if len(piece) > MAX_LINE:
                self.cut_lines_over_length += 1
            yield piece[:MAX_LINE]

    def _blocks(self) -> Iterator[str]:
        """Decoded text without colours and null characters."""
        decoder: codecs.IncrementalDecoder | None = None
        held = ""
        for data in self._bytes():
            if decoder is None:
                decoder = codecs.getincrementaldecoder(_encoding(data))(errors=AS_LATIN)
            text = held + decoder.decode(data)
            held = ""
            if "\r\n" in text:
                text = text.replace("\r\n", "\n")
            if text.endswith("\r"):
                # Its line feed may begin the next block.
                text, held = text[:-1], "\r"
            if "\x1b" in text:
                # A colour code may lie across two blocks.
                if part := PART_ANSI.search(text, max(0, len(text) - 256)):
                    text, held = text[: part.start()], text[part.start() :] + held
                text = ANSI.sub("", text)
            if "\0" in text:
                text = text.replace("\0", "")
            yield text
        if decoder is not None:
            yield held + decoder.decode(b"", final=True)

    def _bytes(self) -> Iterator[bytes]:
        try:
            with _open(self.name) as raw:
                total = 0 if self.name == STDIN else Path(self.name).stat().st_size
                stream = _decompressed(raw, self.label)
                while data := stream.read(BLOCK_BYTES):
                    yield data
                    if self.progress is not None:
                        self.progress(raw.tell() if total else 0, total)
        except InputError:
            raise
        except FileNotFoundError:
            raise InputError.single(message="there is no such file", source=self.label) from None
        except IsADirectoryError:
            raise InputError.single(
                message="this is a directory",
                source=self.label,
                remedy="name files, or give a glob",
            ) from None
        except (OSError, EOFError, ValueError) as error:
            raise InputError.single(
                message=f"cannot be read ({error})", source=self.label
            ) from None


def _short(lines: list[str]) -> bool:
    return not lines or max(map(len, lines)) <= MAX_LINE


def _open(name: str) -> BinaryIO:
    if name == STDIN:
        return cast(BinaryIO, sys.stdin.buffer)
    return Path(name).open("rb")


def _decompressed(raw: BinaryIO, label: str) -> BinaryIO:
    """The stream behind gzip, bzip2, xz or zstd, recognised by its first bytes."""
    start = raw.peek(6)[:6]  # type: ignore[attr-defined]
    for magic, (what, remedy) in NO_TEXT.items():
        if start.startswith(magic):
            raise InputError.single(message=f"this is {what}", source=label, remedy=remedy)
    kind = next((kind for magic, kind in MAGIC.items() if start.startswith(magic)), "")
    if kind == "gz":
        import gzip

        return cast(BinaryIO, gzip.GzipFile(fileobj=raw))
    if kind == "bz2":
        import bz2

        return cast(BinaryIO, bz2.BZ2File(raw))
    if kind == "xz":
        import lzma

        return cast(BinaryIO, lzma.LZMAFile(raw))
    if kind == "zst":
        return _zstandard(raw, label)
    return raw


def _zstandard(raw: BinaryIO, label: str) -> BinaryIO:
    try:
        import zstandard
    except ImportError:
        raise InputError.single(
            message="a zstd file needs the package zstandard",
            source=label,
            remedy="install it, or hand over `zstd -dc FILE` on standard input as `-`",
        ) from None
    reader = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
    return cast(BinaryIO, _ZstdErrors(reader, zstandard.ZstdError))


class _ZstdErrors:
    """A zstd stream whose errors are those of files."""

    def __init__(self, stream: BinaryIO, error: type[Exception]) -> None:
        self.stream = stream
        self.error = error

    def read(self, size: int) -> bytes:
        """Read at most this many bytes."""
        try:
            return self.stream.read(size)
        except self.error as error:
            raise OSError(str(error)) from None


def _encoding(data: bytes) -> str:
    """By the byte-order mark, or by the nulls that UTF-16 puts between Latin letters."""
    if data.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    start = data[:2000]
    if len(start) > 3 and start[1::2].count(0) > 0.4 * len(start):  # noqa: PLR2004
        return "utf-16-le"
    return "utf-8"
