"""Options of every command that runs a study: how, on how much, and whether to go on."""

import argparse
from dataclasses import dataclass
from typing import Literal

from model.errors import InputError, Problem

type Engine = Literal["in-process", "processes", "dask"]

ENGINES: tuple[Engine, ...] = ("in-process", "processes", "dask")

EVERY_CORE = -1

_MOST_JOBS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """How tasks are run; no result depends on it.

    Parameters
    ----------
    engine
        ``in-process``: one after the other, here. ``processes``: over processes of this machine.
        ``dask``: over the workers of a Dask cluster.
    jobs
        Processes, or workers of a local cluster; −1 for one a core.
    scheduler
        Address of a Dask scheduler; None for a cluster on this machine.
    resume
        Whether to go on with an unfinished study; otherwise it is discarded.
    """

    engine: Engine = "in-process"
    jobs: int = 1
    scheduler: str | None = None
    resume: bool = True

    @property
    def workers(self) -> int:
        """Tasks at once on this machine."""
        if self.jobs != EVERY_CORE:
            return self.jobs
        from joblib import cpu_count

        # It minds affinity and the quota of a container.
        count: int = cpu_count()
        return count


def add_execution_options(parser: argparse.ArgumentParser) -> None:
    """Add engine, jobs, scheduler and resumption."""
    group = parser.add_argument_group("execution", "how the work is run; no result depends on it")
    add = group.add_argument
    add(
        "--engine",
        choices=ENGINES,
        help="in-process: one task after the other; processes: over processes of this machine; "
        "dask: over a Dask cluster; default processes with --jobs, dask with --scheduler "
        "(e.g. --engine dask)",
    )
    add(
        "--jobs",
        type=int,
        default=1,
        metavar="N",
        help="processes, or workers of a local Dask cluster; -1: one a core; default 1 "
        "(e.g. --jobs 2)",
    )
    add(
        "--scheduler",
        metavar="ADDRESS",
        help="a Dask scheduler that is running, instead of a local cluster "
        "(e.g. --scheduler tcp://10.0.0.1:8786)",
    )
    add(
        "--resume",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="go on with the finished tasks of an interrupted study; --no-resume discards them "
        "(default: --resume)",
    )


def execution_of(options: argparse.Namespace) -> Execution:
    """The options as a way to run tasks.

    Raises
    ------
    InputError
        If they do not go together.
    """
    engine: Engine | None = options.engine
    if engine is None:
        if options.scheduler is not None:
            engine = "dask"
        else:
            engine = "in-process" if options.jobs == 1 else "processes"
    problems = []
    if options.jobs != EVERY_CORE and not 1 <= options.jobs <= _MOST_JOBS:
        problems.append(
            Problem(
                source="--jobs",
                message=f"got {options.jobs}, allowed are counts from 1 to {_MOST_JOBS}, and"
                f" {EVERY_CORE} for every core",
            )
        )
    elif engine == "in-process" and options.jobs != 1:
        problems.append(
            Problem(
                source="--jobs",
                message=f"got {options.jobs}, but in-process one task runs after the other",
                remedy="choose --engine processes, or leave out --jobs",
            )
        )
    if engine != "dask" and options.scheduler is not None:
        problems.append(
            Problem(
                source="--scheduler",
                message=f"a scheduler is of no use to the engine {engine}",
                remedy="choose --engine dask, or leave out --scheduler",
            )
        )
    if options.scheduler is not None and options.jobs != 1:
        problems.append(
            Problem(
                source="--jobs",
                message="the workers are those of the scheduler",
                remedy="leave out --jobs or --scheduler",
            )
        )
    if problems:
        raise InputError(problems)
    return Execution(
        engine=engine, jobs=options.jobs, scheduler=options.scheduler, resume=options.resume
    )
