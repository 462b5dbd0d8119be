"""What an engine is, and the one of this process.

An engine takes tasks as it has room for them and gives back what has ended, in any order.
"""

import pickle
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Protocol, Self

from model.errors import InputError
from studies.execution.tables import part_of
from studies.execution.tasks import Failure, Task, failed, packed, telling


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A task on its way.

    Parameters
    ----------
    index
        Its place among the tasks of the study.
    task
        What to run.
    digest
        Of the task, where its result becomes a part; None where it is given back as it is.
    """

    index: int
    task: Task
    digest: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """How a task ended.

    Parameters
    ----------
    index
        Its place among the tasks of the study.
    value
        Its result, as the bytes of its part where it has a digest.
    failure
        None where it ended well.
    """

    index: int
    value: Any = None
    failure: Failure | None = None


class Engine(Protocol):
    """Something that runs tasks."""

    repeated: int
    """Tasks that were given out again because their worker died."""

    @property
    def capacity(self) -> int:
        """Tasks that it should have at hand."""
        ...

    def submit(self, job: Job) -> None:
        """Take a task."""
        ...

    def wait(self) -> list[Reply]:
        """At least one task that has ended; it must have one."""
        ...

    def __enter__(self) -> Self:
        """Start."""
        ...

    def __exit__(self, *_: object) -> None:
        """Stop at once, whatever still runs."""
        ...


def replies(engine: Engine, jobs: Iterator[Job]) -> Iterator[Reply]:
    """Run jobs and yield how each ended, as it ends; few are held at once."""
    held = 0
    more = True
    while more or held:
        while more and held < engine.capacity:
            job = next(jobs, None)
            if job is None:
                more = False
            else:
                engine.submit(job)
                held += 1
        if held:
            for reply in engine.wait():
                held -= 1
                yield reply


def run(job: Job, shared: Mapping[str, Any]) -> Reply:
    """Run a task here; whatever it raises becomes its failure, but for an interruption."""
    try:
        result = job.task.function(**job.task.arguments, **shared)
        value = result if job.digest is None else part_of(result, job.digest)
    except (Exception, SystemExit) as error:
        return Reply(index=job.index, failure=failed(job.task, error))
    return Reply(index=job.index, value=value)


def packed_shared(shared: Mapping[str, Any]) -> bytes:
    """Shared inputs as they are sent, once.

    Raises
    ------
    InputError
        If they cannot be.
    """
    try:
        return packed(dict(shared))
    except Exception as error:
        raise InputError.single(
            message=f"cannot be sent to a worker ({error})", source="shared inputs"
        ) from error


class InProcess:
    """One task after the other, in this process.

    Parameters
    ----------
    shared
        Inputs of every task.
    say
        Told what tasks say they are doing.
    """

    capacity = 1

    def __init__(self, shared: Mapping[str, Any], say: Callable[[str], None]) -> None:
        self.repeated = 0
        self._shared = shared
        self._say = say
        self._held: deque[Job] = deque()
        self._cleanup = ExitStack()

    def __enter__(self) -> Self:
        """Keep libraries to one thread, as on every engine: sums depend on their order."""
        from threadpoolctl import threadpool_limits

        self._cleanup.enter_context(threadpool_limits(limits=1))
        self._cleanup.enter_context(telling(self._say))
        return self

    def __exit__(self, *_: object) -> None:
        """Let libraries have their threads again."""
        self._cleanup.close()

    def submit(self, job: Job) -> None:
        """Take a task."""
        self._held.append(job)

    def wait(self) -> list[Reply]:
        """Run one task."""
        return [run(self._held.popleft(), self._shared)]


def run_packed(index: int, packed: bytes, digest: str | None, shared: Mapping[str, Any]) -> Reply:
    """Unpack a task and run it with one thread a library."""
    from threadpoolctl import threadpool_limits

    function, arguments = pickle.loads(packed)
    # Importing the task's module may have loaded a library that has not been limited yet.
    threadpool_limits(limits=1)
    task = Task(name=str(index), function=function, arguments=arguments)
    return run(Job(index=index, task=task, digest=digest), shared)


def died(job: Job, times: int) -> Reply:
    """The failure of a task whose workers died so many times."""
    task = job.task
    return Reply(
        index=job.index,
        failure=Failure(
            task=task.name,
            inputs=task.inputs(),
            reason=f"its worker died {times} times, killed from outside or out of memory",
        ),
    )


def counted(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def named(reply: Reply, task: Task) -> Reply:
    """A reply whose failure names the task: workers know it by its index."""
    failure = reply.failure
    if failure is None:
        return reply
    whole = Failure(
        task=task.name, inputs=task.inputs(), reason=failure.reason, trace=failure.trace
    )
    return Reply(index=reply.index, failure=whole)
