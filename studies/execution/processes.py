"""Tasks over processes of this machine, by joblib's executor."""

import os
import pickle
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self

from studies.execution.engines import (
    Job,
    Reply,
    counted,
    died,
    named,
    packed_shared,
    run_packed,
)
from studies.execution.tasks import Task, failed

MOST_DEATHS = 3
"""Times that a task's worker may die before the task counts as failed."""

ONE_THREAD = {
    f"{library}_NUM_THREADS": "1"
    for library in ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB_MAXIMUM", "NUMBA", "NUMEXPR")
}
"""What keeps libraries to one thread a worker: the workers are the parallelism."""

_HANDED_S, _WATCH_S = 2.0, 0.5


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
            done, _ = wait(self._running, return_when=FIRST_COMPLETED)
            found = [reply for future in done if (reply := self._reply(future)) is not None]
            if found:
                return found

    def _dispatch(self) -> None:
        """Hand out what may run now; of suspects one at a time."""
        queue = self._suspects or self._waiting
        most = 1 if self._suspects else self.capacity
        while queue and len(self._running) < most and self._start(queue[0]):
            queue.popleft()

    def _start(self, job: Job) -> bool:
        """Hand out a task; whether the processes were there to take it."""
        from concurrent.futures import BrokenExecutor

        with deaf_children():
            if self._executor is None:
                from joblib.externals.loky import ProcessPoolExecutor

                self._executor = ProcessPoolExecutor(
                    max_workers=self._workers,
                    initializer=prepare,
                    initargs=(self._shared, os.getpid()),
                    env=ONE_THREAD,
                )
            try:
                future = self._executor.submit(run_sent, job.index, job.task.packed(), job.digest)
            except BrokenExecutor:
                broken = True
            else:
                broken = False
                self._running[future] = job
        if broken and not self._running:
            # A process died with nothing to do.
            self._stop()
            return self._start(job)
        return not broken

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
                return died(job, MOST_DEATHS)
        self._suspects.extendleft(reversed(lost))
        self.repeated += len(lost)
        self._say(f"a process died: {counted(len(lost), 'task')} under way or next to run again")
        return None

    def _stop(self) -> None:
        if self._executor is not None:
            # The executor's thread trips over what it has not yet handed to a process.
            until = time.monotonic() + _HANDED_S
            while time.monotonic() < until and not all(
                f.running() or f.done() for f in self._running
            ):
                time.sleep(0.001)
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


_shared_here: dict[str, Any] = {}
"""Of a worker process: the bytes of the shared inputs, and once used the inputs."""


def prepare(shared: bytes, parent: int) -> None:
    """Begin a worker process: one that ends when its parent is gone, however that ended."""
    import threading

    _shared_here.clear()
    _shared_here["sent"] = shared

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_WATCH_S)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def run_sent(index: int, packed: bytes, digest: str | None) -> Reply:
    """Run a task that was sent to this process."""
    try:
        if "inputs" not in _shared_here:
            _shared_here["inputs"] = pickle.loads(_shared_here.pop("sent"))
        return run_packed(index, packed, digest, _shared_here["inputs"])
    except Exception as error:
        return Reply(index=index, failure=failed(Task(name=str(index), function=run_sent), error))
