"""Run many tasks: in memory, or as a study that streams to disk and can be interrupted."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from decision.origin import code_digest
from decision.progress import Progress
from model.errors import FundworthyError, InputError, Problem
from studies.execution.digests import digest_of
from studies.execution.engines import Engine, InProcess, Job, counted, replies
from studies.execution.fingerprint import versions_of_results
from studies.execution.options import ENGINES, Execution
from studies.execution.store import FAILURES, FORMAT, Store
from studies.execution.tasks import (
    LISTED,
    RESULTS,
    Failure,
    Task,
    TaskFailedError,
    check_tasks,
)

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


class StudyFailedError(FundworthyError):
    """A study some of whose tasks failed.

    Parameters
    ----------
    outcome
        What there is of it.
    """

    def __init__(self, outcome: "Outcome") -> None:
        super().__init__(outcome)
        self.outcome = outcome

    def __str__(self) -> str:
        """The first failures, what is kept, and how to go on."""
        failures, total = self.outcome.failures, self.outcome.total
        lines = [f"{len(failures):,} of {counted(total, 'task')} failed:"]
        lines += [f"  {failure}" for failure in failures[:LISTED]]
        if len(failures) > LISTED:
            lines.append(f"  and {len(failures) - LISTED:,} more")
        kept = self.outcome.finished
        lines.append(
            f"all failures with their tracebacks: {self.outcome.directory / FAILURES}\n"
            f"the other {kept:,} {are(kept)} kept: the same command tries only"
            " the failed ones again"
        )
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What there is of a study.

    Parameters
    ----------
    store
        Its parts.
    tasks
        Names and tables of the tasks, in their order.
    done
        Places of those that are finished, ascending.
    failures
        Those that failed, in their order.
    resumed
        How many were finished before this run.
    repeated
        How many were given out again because their worker died.
    """

    store: Store
    tasks: tuple[tuple[str, str], ...]
    done: tuple[int, ...]
    failures: tuple[Failure, ...]
    resumed: int
    repeated: int

    @property
    def directory(self) -> Path:
        """Where it is kept."""
        return self.store.directory

    @property
    def total(self) -> int:
        """Tasks of the study."""
        return len(self.tasks)

    @property
    def finished(self) -> int:
        """Tasks that are finished."""
        return len(self.done)

    def require_complete(self) -> None:
        """Go on only with every task finished.

        Raises
        ------
        StudyFailedError
            If one failed.
        """
        if self.failures:
            raise StudyFailedError(self)

    def table(self, name: str = RESULTS) -> Path:
        """A table of all tasks in their order, as a Parquet file: the same bytes on any engine.

        Raises
        ------
        StudyFailedError
            If a task failed.
        InputError
            If columns of parts do not fit together.
        """
        self.require_complete()
        return self.store.assemble(name)

    def frame(self, name: str = RESULTS) -> "pd.DataFrame":
        """The same as a data frame."""
        import pandas as pd

        return pd.read_parquet(self.table(name))

    def parts(self, name: str = RESULTS) -> "Iterator[tuple[str, pa.Table]]":
        """Each finished task of a table with its rows, in order, one in memory at a time."""
        for index in self.done:
            task, table = self.tasks[index]
            if table == name:
                yield task, self.store.read(index)

    @contextmanager
    def placing(self) -> Iterator[None]:
        """Put results into their place, and then remove the study's directory.

        Raises
        ------
        StudyFailedError
            If a task failed.
        InputError, KeyboardInterrupt
            As in the block, with what is kept.
        """
        self.require_complete()
        with keeping(self.store, self.total):
            yield
            self.store.discard()


def run_tasks(
    tasks: Iterable[Task],
    *,
    shared: Mapping[str, Any] | None = None,
    execution: Execution | None = None,
    progress: Progress | None = None,
) -> list[Any]:
    """Run tasks in memory and return their results in the order of the tasks.

    Parameters
    ----------
    tasks
        What to run.
    shared
        Further keyword arguments of every task, sent once to each worker.
    execution
        Where; by default in this process.
    progress
        Told of each task that has ended.

    Raises
    ------
    InputError
        If two tasks share a name, or the engine is unknown.
    TaskFailedError
        If a task raises; the others are abandoned.
    """
    every = list(tasks)
    check_tasks(every)
    execution = execution or Execution()
    progress = progress or Progress(quiet=True)
    progress.start(f"running {counted(len(every), 'task')}", len(every))
    results: list[Any] = [None] * len(every)
    jobs = (Job(index=index, task=task) for index, task in enumerate(every))
    with engine_of(execution, shared or {}, progress) as engine:
        for reply in replies(engine, jobs):
            if reply.failure is not None:
                raise TaskFailedError(reply.failure)
            results[reply.index] = reply.value
            progress.advance(1)
    return results


def run_study(
    tasks: Iterable[Task],
    directory: Path,
    *,
    study: str,
    shared: Mapping[str, Any] | None = None,
    facts: Mapping[str, Any] | None = None,
    execution: Execution | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """Run a study whose results stream to a directory, or go on with it.

    A task that fails does not stop the others. Whatever ends the study early, finished tasks are
    kept, and the same call goes on with them. Results do not depend on engine or interruptions.

    Parameters
    ----------
    tasks
        What to run: functions that return a data frame or an Arrow table. Iterated over several
        times.
    directory
        Where the study is kept until its results are in their place.
    study
        Its name.
    shared
        Further keyword arguments of every task, sent once to each worker; not to be changed.
    facts
        Plain values that results depend on, named in the refusal to go on with another study.
    execution
        Where; by default in this process.
    progress
        Told of each task that has ended.

    Raises
    ------
    InputError
        If tasks cannot be run or kept, another study is in the directory, or the engine is not
        there or goes away.
    KeyboardInterrupt
        With what is kept, when interrupted.
    """
    shared, facts = shared or {}, facts or {}
    execution = execution or Execution()
    progress = progress or Progress(quiet=True)
    tasks = tasks if iter(tasks) is not tasks else list(tasks)
    check_tasks(tasks)
    digests, described = [], []
    for task in tasks:
        task.packed()
        digests.append(task.digest)
        described.append((task.name, task.table))
    manifest = {
        "format": FORMAT,
        "study": study,
        "facts": dict(facts),
        "tasks": {"count": len(digests), "digest": digest_of(digests, source="tasks")},
        "shared": {key: digest_of(value, source=key) for key, value in shared.items()},
        "code": code_digest(),
        "versions": versions_of_results(),
    }
    store = Store(directory, manifest, [table for _, table in described], digests)
    with store.opened(resume=execution.resume):
        done, damaged = store.done()
        if damaged:
            progress.note(f"damaged and computed again: {counted(damaged, 'part')} in {directory}")
        resumed = len(done)
        if resumed:
            progress.note(
                f"going on with {resumed:,} of {counted(len(digests), 'task')} that are finished"
            )
        progress.start(f"running {counted(len(digests), 'task')}", len(digests), done=resumed)
        failures: dict[int, Failure] = {}
        repeated = 0
        jobs = (
            Job(index=index, task=task, digest=digests[index])
            for index, task in enumerate(tasks)
            if index not in done
        )
        with keeping(store, len(digests)):
            if resumed < len(digests):
                with engine_of(execution, shared, progress) as engine:
                    for reply in replies(engine, jobs):
                        if reply.failure is None:
                            store.put(reply.index, reply.value)
                            done.add(reply.index)
                        else:
                            failures[reply.index] = reply.failure
                            progress.note(str(reply.failure))
                        progress.advance(1)
                    repeated = engine.repeated
            found = [failures[index] for index in sorted(failures)]
            store.put_failures([asdict(failure) for failure in found])
    return Outcome(
        store=store,
        tasks=tuple(described),
        done=tuple(sorted(done)),
        failures=tuple(found),
        resumed=resumed,
        repeated=repeated,
    )


def engine_of(execution: Execution, shared: Mapping[str, Any], progress: Progress) -> Engine:
    """The engine that was asked for.

    Raises
    ------
    InputError
        If there is none of that name, or it cannot be had.
    """
    match execution.engine:
        case "in-process":
            return InProcess(shared, progress.say)
        case "processes":
            from studies.execution.processes import Processes

            return Processes(execution.workers, shared, progress.note)
        case "dask":
            from studies.execution.dask_engine import DaskEngine

            return DaskEngine(execution, shared, progress.note)
    raise InputError.single(
        message=f"got engine {execution.engine!r}, allowed are {', '.join(ENGINES)}",
        source="--engine",
    )


@contextmanager
def keeping(store: Store, total: int) -> Iterator[None]:
    """Say of a study that ends early what is kept; one without results leaves no trace.

    Raises
    ------
    InputError, KeyboardInterrupt
        As in the block, with what is kept.
    """
    try:
        yield
    except (InputError, KeyboardInterrupt) as error:
        # Counted on disk: an interruption may have come between a part and its being noted.
        finished = store.finished()
        if finished == 0:
            with suppress(InputError):
                store.discard()
            raise
        kept = Problem(
            source=str(store.directory),
            message=f"{finished:,} of {counted(total, 'task')} {are(finished)} finished and kept",
            remedy="the same command goes on with them",
        )
        if isinstance(error, InputError):
            raise InputError([*error.problems, kept]) from error
        raise KeyboardInterrupt(str(kept)) from None


def are(number: int) -> str:
    """The verb for so many."""
    return "is" if number == 1 else "are"
