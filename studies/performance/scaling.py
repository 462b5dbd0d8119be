"""One study over 1 and 2 processes and over 1, 2 and 4 Dask workers, and with a worker killed.

Whole studies are timed, with starting workers and writing results. The same draws are ranked each
time: what differs is where, and the tables must not.
"""

import hashlib
import os
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from studies.execution.options import Engine, Execution
from studies.execution.study import run_study, run_tasks
from studies.execution.tasks import Task
from studies.performance.core import question_of_reference, study_draws
from studies.performance.figure import Absent, Bench, Figure, Line

if TYPE_CHECKING:
    import pandas as pd

    from decision.outcomes import Question

STUDY_S = 75.0
"""Time that the study is to take one worker: a minute at least, where the speed of a machine drifts
by a fifth."""

DRAWS_OF_TASK = 40_000
"""As many as a task of a map ranks."""

PROBES = 20
"""Blocks that are timed to know how many a study needs."""

MOST_OF_ONE = 0.6
"""Claimed of two Dask workers: their time over that of one."""

MOST_AGAIN = 3
"""Claimed of a worker that is killed: it has one task under way and is handed one more, and one
result may not have been fetched."""

PROCESSES, WORKERS = (1, 2), (1, 2, 4)


def rank_block(
    seed: int, draws: int, question: "Question", marks: str | None = None, deadly: bool = False
) -> "pd.DataFrame":
    """How often each option ranks first on draws of a seed, and what it gains.

    Parameters
    ----------
    seed, draws
        Which draws, and how many.
    question
        What is asked of them.
    marks
        A directory that gets one file each time the block is begun; None for none.
    deadly
        Kill the process that runs it, the first time.
    """
    import signal

    import pandas as pd

    from decision.outcomes import evaluate

    if marks is not None:
        folder = Path(marks)
        (folder / f"{seed}-{os.getpid()}-{time.monotonic_ns()}").touch()
        if deadly and len(list(folder.glob(f"{seed}-*"))) == 1:
            os.kill(os.getpid(), signal.SIGKILL)
    generator = np.random.default_rng(seed)
    columns = {
        path: generator.choice(column, size=draws) for path, column in study_draws(draws).items()
    }
    outcomes = evaluate(question, columns)
    first = np.bincount(outcomes.gain.argmax(axis=1), minlength=len(question.options))
    return pd.DataFrame(
        {
            "block": seed,
            "option": list(question.options),
            "first": first,
            "gain": outcomes.gain.mean(axis=0),
        }
    )


def tasks_of(count: int, draws: int, *, marks: Path | None = None) -> list[Task]:
    """Blocks of a study; with marks, the middle one kills its worker once."""
    return [
        Task(
            name=f"block {seed}",
            function=rank_block,
            arguments={
                "seed": seed,
                "draws": draws,
                "marks": None if marks is None else str(marks),
                "deadly": marks is not None and seed == count // 2,
            },
        )
        for seed in range(count)
    ]


def measure(bench: Bench) -> Iterator[Line]:
    """Times and their ratios, tables that differ, and what a killed worker costs."""
    question = question_of_reference()
    shared = {"question": question}
    count = int(np.ceil(STUDY_S / seconds_of_block(shared)))
    yield Figure(name="study", value=count * DRAWS_OF_TASK, unit="draws")
    digests = []
    for engine, sizes in sizes_of_engines():
        times: dict[int, float] = {}
        for jobs in sizes:
            tasks = tasks_of(count, DRAWS_OF_TASK)
            name = f"{jobs} {named(engine, jobs)}"
            times[jobs], digest = timed(tasks, bench.folder / name, engine, jobs, shared)
            digests.append(digest)
            yield Figure(name=name, value=times[jobs], unit="s")
            if jobs != sizes[0]:
                yield ratio_of(engine, jobs, times[jobs] / times[sizes[0]])
    if find_spec("distributed") is None:
        yield Absent(name="Dask workers", reason="Dask is not installed")
    else:
        yield from after_a_kill(bench.folder, count, shared)
    yield Figure(name="tables that differ", value=len({*digests}) - 1, unit="", limit=0)


def seconds_of_block(shared: dict[str, Any]) -> float:
    """Of the fastest of some, on a worker: its memory is set up otherwise than this process's."""
    tasks = [
        Task(name=str(seed), function=rank_timed, arguments={"seed": seed, "draws": DRAWS_OF_TASK})
        for seed in range(PROBES)
    ]
    execution = Execution(engine="processes", jobs=1)
    return float(min(run_tasks(tasks, shared=shared, execution=execution)))


def rank_timed(seed: int, draws: int, question: "Question") -> float:
    """Seconds that a block takes."""
    started = time.perf_counter()
    rank_block(seed, draws, question)
    return time.perf_counter() - started


def sizes_of_engines() -> Iterator[tuple[Engine, tuple[int, ...]]]:
    """What is measured: engines with their numbers of workers."""
    yield "processes", PROCESSES
    if find_spec("distributed") is not None:
        yield "dask", WORKERS


def named(engine: Engine, jobs: int) -> str:
    """What workers of an engine are called."""
    noun = {"processes": "process", "dask": "Dask worker"}[engine]
    plural = {"processes": "processes", "dask": "Dask workers"}[engine]
    return noun if jobs == 1 else plural


def ratio_of(engine: Engine, jobs: int, ratio: float) -> Figure:
    """Time of several workers over that of one; claimed of two, where there are two cores."""
    claimed = engine == "dask" and jobs == WORKERS[1] and Execution(jobs=-1).workers >= jobs
    return Figure(
        name=f"{jobs} {named(engine, jobs)} over 1",
        value=ratio,
        unit="times",
        limit=MOST_OF_ONE if claimed else None,
    )


def timed(
    tasks: list[Task], directory: Path, engine: Engine, jobs: int, shared: dict[str, Any]
) -> tuple[float, str]:
    """Seconds of a whole study, and the digest of its table."""
    started = time.perf_counter()
    outcome = run_study(
        tasks,
        directory,
        study="studies.benchmark",
        shared=shared,
        execution=Execution(engine=engine, jobs=jobs),
    )
    with outcome.placing():
        content = outcome.table().read_bytes()
    return time.perf_counter() - started, hashlib.sha256(content).hexdigest()


def after_a_kill(folder: Path, count: int, shared: dict[str, Any]) -> Iterator[Line]:
    """Blocks begun more than once where one of two workers is killed in mid-study."""
    marks = folder / "marks"
    marks.mkdir()
    few = max(8, count // 4)
    tasks = tasks_of(few, DRAWS_OF_TASK // 4, marks=marks)
    timed(tasks, folder / "killed", "dask", 2, shared)
    begun = len(list(marks.iterdir()))
    name = f"tasks of {few} run again after a kill"
    yield Figure(name=name, value=begun - few, unit="tasks", limit=MOST_AGAIN)
