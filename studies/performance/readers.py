"""Logs of any size: how fast one is read, plain and compressed, and with how much memory.

A section of the benchmark. The log is made by a rule: seven lines a step, two of them rows of
ranks, so that figures compare from one machine to another. Time is that of the processor.
"""

import gzip
import lzma
import shutil
from collections.abc import Iterator
from pathlib import Path
from time import process_time
from typing import BinaryIO, cast

from studies.performance.clock import run_command
from studies.performance.figure import Absent, Bench, Figure, Line

MEGABYTES, SMALL_MEGABYTES = 2000, 500
"""Sizes of the plain log, as the project claims, and of the compressed ones."""

MEGABYTE = 1e6

READ = """
import sys
from priors.readers.found import ReadOptions
from priors.readers.registry import read_file
print(read_file(sys.argv[1], ReadOptions()).value("step_mean_s"))
"""


def measure(bench: Bench) -> Iterator[Line]:
    """Speed and memory of a plain log and of compressed ones, and of unpacking alone."""
    plain = bench.folder / "big.log"
    write_log(plain, MEGABYTES)
    rate, memory = _read(plain, MEGABYTES)
    yield Figure(
        name=f"log of {MEGABYTES} MB, processor", value=rate, unit="MB/s", limit=50, at_least=True
    )
    yield Figure(name="  peak memory", value=memory * 1024.0, unit="MiB", limit=300)
    write_log(plain, SMALL_MEGABYTES)
    for suffix in (".gz", ".xz", ".zst"):
        packed = plain.with_suffix(f".log{suffix}")
        try:
            _pack(plain, packed)
        except ImportError:
            yield Absent(name=f"log of {SMALL_MEGABYTES} MB as {suffix}", reason="no zstandard")
            continue
        rate, memory = _read(packed, SMALL_MEGABYTES)
        yield Figure(
            name=f"log of {SMALL_MEGABYTES} MB as {suffix}",
            value=rate,
            unit="MB/s",
            limit=None if suffix == ".xz" else 50,
            at_least=True,
        )
        yield Figure(
            name="  unpacking alone", value=SMALL_MEGABYTES / _unpacking_s(packed), unit="MB/s"
        )
        yield Figure(name="  peak memory", value=memory * 1024.0, unit="MiB", limit=300)


def write_log(path: Path, megabytes: float) -> None:
    """A log of Megatron-LM on two ranks with NCCL's messages between, of about this size."""
    noise = "".join(
        f"n{k}:991:1200 [{k}] NCCL INFO Channel 0{k}/0 : 3[3] -> 4[0] via NET/IB/{k}\n"
        for k in range(5)
    )
    written, first = 0, 1
    with path.open("w", encoding="ascii") as file:
        while written < megabytes * MEGABYTE:
            parts = []
            for step in range(first, first + 1000):
                row = _row(step)
                parts.append(f"[default0]:{row}[default7]:{row}{noise}")
            first += 1000
            written += file.write("".join(parts))


def _row(step: int) -> str:
    # Digits that no packer foresees: logs shrink to a fifth, not to a hundredth.
    figures = f"{(step * 2654435761) % 1_000_003:06d}"
    return (
        f" iteration {step:8d}/ 9000000 | consumed samples: {64 * step:12d} |"
        f" elapsed time per iteration (ms): {5600 + step % 7}.{figures[0]} |"
        f" throughput per GPU (TFLOP/s/GPU): {400 + step % 7}.{figures[1]} |"
        f" learning rate: 1.000000E-05 |"
        f" global batch size:    64 | lm loss: 2.{figures}E+00 | loss scale: 1.0 |"
        f" grad norm: 0.{figures[3:]} | number of skipped iterations:   0 |"
        f" number of nan iterations:   0 |\n"
    )


def _read(path: Path, megabytes: float) -> tuple[float, float]:
    """Megabytes of text a second of the processor, and peak memory in GiB, of a fresh process."""
    import resource

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _, memory = run_command(["-c", READ, str(path)], {})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return megabytes / spent, memory


def _pack(plain: Path, packed: Path) -> None:
    """Compress piece by piece: what this process holds would count as the reader's memory.

    Raises
    ------
    ImportError
        If the package for it is not installed.
    """
    with plain.open("rb") as source, packed.open("wb") as raw:
        if packed.suffix == ".zst":
            import zstandard

            zstandard.ZstdCompressor().copy_stream(source, raw)
            return
        if packed.suffix == ".gz":
            with gzip.GzipFile(fileobj=raw, mode="wb", compresslevel=6) as into:
                shutil.copyfileobj(source, into, 1 << 20)
        else:
            with lzma.LZMAFile(raw, "wb", preset=1) as target:
                shutil.copyfileobj(source, target, 1 << 20)


def _unpacking_s(packed: Path) -> float:
    """Processor time of unpacking alone."""
    start = process_time()
    with packed.open("rb") as raw:
        stream = _stream(raw, packed.suffix)
        while stream.read(1 << 20):
            pass
    return process_time() - start


def _stream(raw: BinaryIO, suffix: str) -> BinaryIO:
    if suffix == ".gz":
        return cast(BinaryIO, gzip.GzipFile(fileobj=raw))
    if suffix == ".xz":
        return cast(BinaryIO, lzma.LZMAFile(raw))
    import zstandard

    return cast(BinaryIO, zstandard.ZstdDecompressor().stream_reader(raw))
