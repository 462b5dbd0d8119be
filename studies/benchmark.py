"""The performance figures the project claims, measured in one run."""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from model.command import command
from model.errors import InputError
from studies.experiments.ranking import RANGES

if TYPE_CHECKING:
    from types import ModuleType

    from decision.outcomes import Question

MEMORY_DRAWS = (10_000, 100_000, 1_000_000)
RANKING_DRAWS = 40_000
YARDSTICK_DRAWS = 40
REPEATS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured figure.

    Parameters
    ----------
    name
        What was measured.
    value
        The median of the repeats.
    unit
        Its unit.
    limit
        The most it is claimed to be, or the least where ``at_least``; None where nothing is.
    at_least
        Whether the limit is a lower one.
    """

    name: str
    value: float
    unit: str
    limit: float | None = None
    at_least: bool = False

    @property
    def holds(self) -> bool | None:
        """Whether the claim holds, None where there is none."""
        if self.limit is None:
            return None
        return self.value >= self.limit if self.at_least else self.value <= self.limit


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


def study_draws(count: int) -> dict[str, np.ndarray]:
    """Uniform draws over the ranges of the published uncertainty study."""
    generator = np.random.default_rng(20260805)
    return {path: generator.uniform(*bounds, size=count) for path, bounds in RANGES.items()}


def median_time(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """Median wall-clock seconds of some work, after one run that is not counted."""
    work()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return float(np.median(times))


def yardstick_time(rank_one: Callable[[Mapping[str, float]], object]) -> float:
    """Seconds a draw of the scalar implementation: the median over draws."""
    draws = study_draws(YARDSTICK_DRAWS)
    times = []
    for row in range(YARDSTICK_DRAWS):
        values = {path: float(column[row]) for path, column in draws.items()}
        started = time.perf_counter()
        rank_one(values)
        times.append(time.perf_counter() - started)
    return float(np.median(times))


def core_figures(
    rank: Callable[[Mapping[str, np.ndarray]], object],
    rank_one: Callable[[Mapping[str, float]], object] | None,
) -> Iterator[Figure]:
    """Batched ranking against the scalar yardstick, in turn, on one core."""
    draws = study_draws(RANKING_DRAWS)
    with one_core():
        batched = median_time(lambda: rank(draws)) / RANKING_DRAWS
        yield Figure(name="batched ranking", value=1 / batched, unit="draws/s")
        yield Figure(name="batched ranking", value=batched * 1e6, unit="µs/draw", limit=60)
        if rank_one is not None:
            scalar = yardstick_time(rank_one)
            yield Figure(name="scalar yardstick", value=1 / scalar, unit="draws/s")
            yield Figure(name="scalar yardstick", value=scalar * 1e3, unit="ms/draw", limit=60)
            yield Figure(
                name="batched over scalar",
                value=scalar / batched,
                unit="times",
                limit=1000,
                at_least=True,
            )


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


def command_figures(folder: Path) -> Iterator[Figure]:
    """Whole commands as a user runs them: time of each kind of start, memory against draws."""
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


def build_parser() -> argparse.ArgumentParser:
    """Options of the command."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.benchmark",
        description="Measures the performance figures the project claims: the batched ranking "
        "against the scalar yardstick on one core, then whole commands on all cores.",
        epilog="example: python -m studies.benchmark --only core",
    )
    parser.add_argument(
        "--only",
        choices=("core", "commands"),
        help="measure one part only (e.g. --only core: half a minute)",
    )
    return parser


def shown(figure: Figure) -> str:
    """The figure in one line."""
    text = f"{figure.name:<30} {figure.value:>12,.4g} {figure.unit:<8}"
    if figure.limit is None:
        return text.rstrip()
    bound = "at least" if figure.at_least else "at most"
    verdict = "holds" if figure.holds else "DOES NOT HOLD"
    return f"{text} {bound} {figure.limit:,g}: {verdict}"


def question_of_reference() -> "tuple[Question, Any]":
    """The reference scenario with ten interventions, and the function that ranks on it."""
    from decision.outcomes import Question, evaluate
    from model.interventions import read_interventions
    from model.scenario_file import read_scenario

    question = Question(
        scenario=read_scenario("reference_405b_16k").scenario,
        interventions=read_interventions("published").interventions,
    )
    return question, evaluate


def yardstick_of(scalar_model: "ModuleType") -> Callable[[Mapping[str, float]], object]:
    """The function that ranks one draw by the scalar implementation."""

    def rank_one(values: Mapping[str, float]) -> object:
        scenario = scalar_model.with_values(scalar_model.REFERENCE, dict(values))
        return scalar_model.rank_published(scenario, scalar_model.INTERVENTIONS)

    return rank_one


@command
def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; 0 where every claim holds, 1 where one does not, 2 for an error."""
    options = build_parser().parse_args(argv)
    failed = False
    if options.only != "commands":
        question, evaluate = question_of_reference()
        yardstick = None
        try:
            from tests.oracles import scalar_model
        except ImportError:
            print("the scalar yardstick is part of a checkout's tests: not measured here")
        else:
            yardstick = yardstick_of(scalar_model)
        for figure in core_figures(lambda draws: evaluate(question, draws), yardstick):
            print(shown(figure), flush=True)
            failed |= figure.holds is False
    if options.only != "core":
        with tempfile.TemporaryDirectory() as folder:
            for figure in command_figures(Path(folder)):
                print(shown(figure), flush=True)
                failed |= figure.holds is False
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
