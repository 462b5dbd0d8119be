"""Where tasks run on this machine: in this process, or over joblib's processes.

An engine takes tasks as it has room for them and gives back what has ended, in any order.
"""

import pickle
import signal
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, Self

from model.errors import InputError
from studies.execution.tables import part_of
from studies.execution.tasks import Failure, Task, failed

MOST_DEATHS = 3
"""Times that a task's worker may die before the task counts as failed."""

ONE_THREAD = {
    f"{library}_NUM_THREADS": "1"
    for library in ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB_MAXIMUM", "NUMBA", "NUMEXPR")
}
"""What keeps libraries to one thread a worker: the workers are the parallelism."""

_POLL_S = 3600.0


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
    """Tasks that were run again because their worker died."""

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
        return pickle.dumps(dict(shared), protocol=5)
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
    """

    capacity = 1

    def __init__(self, shared: Mapping[str, Any]) -> None:
        self.repeated = 0
        self._shared = shared
        self._held: deque[Job] = deque()
        self._limits: AbstractContextManager[object] | None = None

    def __enter__(self) -> Self:
        """Keep libraries to one thread, as on every engine: sums depend on their order."""
        from threadpoolctl import threadpool_limits

        self._limits = threadpool_limits(limits=1)
        self._limits.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        """Let libraries have their threads again."""
        if self._limits is not None:
            self._limits.__exit__(None, None, None)

    def submit(self, job: Job) -> None:
        """Take a task."""
        self._held.append(job)

    def wait(self) -> list[Reply]:
        """Run one task."""
        return [run(self._held.popleft(), self._shared)]


class Processes:
    """Processes of this machine, by joblib's executor.

    When one dies, its whole pool is lost. The tasks that were under way then run again one at a
    time, so that a task that kills its worker is told apart from its neighbours.

    Parameters
    ----------
    workers
        Processes at once.
    shared
        Inputs of every task; each process gets them once.
    say
        Told of a process that died.
    """

    def __init__(self, workers: int, shared: Mapping[str, Any], say: Callable[[str], None]) -> None:
        self.repeated = 0
        self._workers = workers
        self._shared = packed_shared(shared)
        self._say = say
        self._executor: Any = None
        self._waiting: deque[Job] = deque()
        self._suspects: deque[Job] = deque()
        self._deaths: dict[int, int] = {}
        self._running: dict[Any, Job] = {}

    @property
    def capacity(self) -> int:
        """One task a process, and one each to go on with."""
        return 2 * self._workers

    def __enter__(self) -> Self:
        """Nothing is started before there is a task."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the processes at once."""
        self._stop()

    def submit(self, job: Job) -> None:
        """Take a task."""
        self._waiting.append(job)

    def wait(self) -> list[Reply]:
        """At least one task that has ended."""
        from concurrent.futures import FIRST_COMPLETED, wait

        while True:
            self._dispatch()
            done, _ = wait(self._running, timeout=_POLL_S, return_when=FIRST_COMPLETED)
            found = [reply for future in done if (reply := self._reply(future)) is not None]
            if found:
                return found

    def _dispatch(self) -> None:
        if self._suspects:
            if not self._running:
                self._start(self._suspects.popleft())
            return
        while self._waiting:
            self._start(self._waiting.popleft())

    def _start(self, job: Job) -> None:
        with deaf_children():
            if self._executor is None:
                from joblib.externals.loky import ProcessPoolExecutor

                self._executor = ProcessPoolExecutor(
                    max_workers=self._workers,
                    initializer=prepare,
                    initargs=(self._shared,),
                    env=ONE_THREAD,
                )
            future = self._executor.submit(run_sent, job.index, job.task.packed(), job.digest)
        self._running[future] = job

    def _reply(self, future: Any) -> Reply | None:
        from concurrent.futures import BrokenExecutor

        job = self._running.pop(future, None)
        if job is None:
            return None
        try:
            reply: Reply = future.result()
        except BrokenExecutor:
            self._running[future] = job
            return self._after_death()
        except Exception as error:
            # The result could not be sent back.
            return Reply(index=job.index, failure=failed(job.task, error))
        return named(reply, job.task)

    def _after_death(self) -> Reply | None:
        """Begin again with those under way; a task that was alone is to blame."""
        from concurrent.futures import wait

        # The executor fails all that it holds; what had ended before keeps its result.
        wait(self._running)
        lost = [job for future, job in self._running.items() if future.exception() is not None]
        self._running = {f: job for f, job in self._running.items() if f.exception() is None}
        self._stop()
        if len(lost) == 1:
            (job,) = lost
            self._deaths[job.index] = self._deaths.get(job.index, 0) + 1
            if self._deaths[job.index] >= MOST_DEATHS:
                return died(job)
        self._suspects.extendleft(reversed(lost))
        self.repeated += len(lost)
        self._say(f"a process died: {counted(len(lost), 'task')} under way or next to run again")
        return None

    def _stop(self) -> None:
        if self._executor is not None:
            self._executor.shutdown(wait=True, kill_workers=True)
            self._executor = None


@contextmanager
def deaf_children() -> Iterator[None]:
    """Start processes that do not hear Ctrl-C: this process ends them in an orderly way.

    Threads and processes inherit the mask of the thread that starts them; an interruption
    meanwhile is delivered at the end.
    """
    from multiprocessing import resource_tracker

    from joblib.externals.loky.backend import resource_tracker as loky_tracker

    # Starting one of these clears the mask: they must be there before.
    resource_tracker.ensure_running()
    loky_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def died(job: Job) -> Reply:
    """The failure of a task whose workers die."""
    task = job.task
    return Reply(
        index=job.index,
        failure=Failure(
            task=task.name,
            inputs=task.inputs(),
            reason=f"its worker died {MOST_DEATHS} times, killed from outside or out of memory",
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


_shared_here: dict[str, Any] = {}
"""Of a worker process: the bytes of the shared inputs, and once used the inputs."""


def prepare(shared: bytes) -> None:
    """Begin a worker process."""
    _shared_here.clear()
    _shared_here["sent"] = shared


def run_sent(index: int, packed: bytes, digest: str | None) -> Reply:
    """Run a task that was sent to this process."""
    try:
        if "inputs" not in _shared_here:
            _shared_here["inputs"] = pickle.loads(_shared_here.pop("sent"))
        return run_packed(index, packed, digest, _shared_here["inputs"])
    except Exception as error:
        return Reply(index=index, failure=failed(Task(name=str(index), function=run_sent), error))


def run_packed(index: int, packed: bytes, digest: str | None, shared: Mapping[str, Any]) -> Reply:
    """Unpack a task and run it with one thread a library."""
    from threadpoolctl import threadpool_limits

    function, arguments = pickle.loads(packed)
    # Importing the task's module may have loaded a library that has not been limited yet.
    threadpool_limits(limits=1)
    task = Task(name=str(index), function=function, arguments=arguments)
    return run(Job(index=index, task=task, digest=digest), shared)
