"""Whole commands as a user runs them: time of each kind of start, memory against draws."""

from collections.abc import Iterator

import numpy as np

from studies.performance.clock import REPEATS, run_command
from studies.performance.figure import Bench, Figure, Line

MEMORY_DRAWS = (10_000, 100_000, 1_000_000)


def measure(bench: Bench) -> Iterator[Line]:
    """Start, cold and cached runs, priors alone, and peak memory."""
    folder = bench.folder
    fresh = {
        "FUNDWORTHY_CACHE": str(folder / "cache"),
        "PYTENSOR_FLAGS": f"base_compiledir={folder / 'compile'}",
        "NUMBA_CACHE_DIR": str(folder / "numba"),
    }
    rank = ["-m", "decision.rank"]
    run = [*rank, "--quiet", "--accept-unconverged", "--out"]
    helped = [run_command([*rank, "--help"], fresh)[0] for _ in range(REPEATS)]
    yield Figure(name="--help", value=float(np.median(helped)), unit="s", limit=0.5)
    cold, _ = run_command([*run, str(folder / "run")], fresh)
    yield Figure(name="cold run, 5,000 draws", value=cold, unit="s", limit=75)
    cached = [run_command([*run, str(folder / "run")], fresh)[0] for _ in range(REPEATS)]
    yield Figure(name="cached run", value=float(np.median(cached)), unit="s", limit=1)
    prior = [*run, str(folder / "prior"), "--evidence", "none", "--force"]
    priors = [run_command(prior, fresh)[0] for _ in range(3)]
    yield Figure(name="--evidence none", value=float(np.median(priors)), unit="s", limit=4)
    for count in MEMORY_DRAWS:
        _, memory = run_command([*prior, "--draws", str(count)], fresh)
        yield Figure(
            name=f"peak memory, {count:,} draws",
            value=memory,
            unit="GiB",
            limit=1.5 if count == max(MEMORY_DRAWS) else None,
        )
