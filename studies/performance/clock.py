"""How time and memory are measured: medians of repeats, one core, whole processes."""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from model.errors import InputError

REPEATS = 5


@contextmanager
def one_core() -> Iterator[None]:
    """Confine the process to one core where the system can."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def median_time(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """Median wall-clock seconds of some work, after one run that is not counted."""
    work()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return float(np.median(times))


def processor_time(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """Least processor seconds of some work, after one run that is not counted.

    Of all threads of the process; what else the machine does lengthens it little.
    """
    work()
    times = []
    for _ in range(repeats):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


def run_command(arguments: Sequence[str], environment: Mapping[str, str]) -> tuple[float, float]:
    """Run a Python command; returns its wall-clock seconds and peak memory in GiB.

    Raises
    ------
    InputError
        If it fails.
    """
    with tempfile.TemporaryFile() as output:
        started = time.perf_counter()
        child = os.posix_spawn(
            sys.executable,
            [sys.executable, *arguments],
            {**os.environ, **environment},
            file_actions=[
                (os.POSIX_SPAWN_DUP2, output.fileno(), 1),
                (os.POSIX_SPAWN_DUP2, output.fileno(), 2),
            ],
        )
        _, status, usage = os.wait4(child, 0)
        elapsed = time.perf_counter() - started
        if os.waitstatus_to_exitcode(status) != 0:
            output.seek(0)
            tail = output.read()[-500:].decode(errors="replace")
            raise InputError.single(
                message=f"failed: {tail.strip()}", source=" ".join(arguments[:6])
            )
    # Linux counts kilobytes, macOS bytes.
    unit = 1 if sys.platform == "darwin" else 1024
    return elapsed, usage.ru_maxrss * unit / 2**30
