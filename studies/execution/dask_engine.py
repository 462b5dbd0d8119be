"""Tasks over the workers of a Dask cluster: one of this machine, or one that is running already.

Dask itself runs a task again whose worker died, up to its ``allowed-failures``, and holds each
death against all that its worker had been handed. A task that it gives up runs once more with no
other of the study, so that one that kills its worker is told apart from its neighbours.

Results come back as the bytes of a Parquet part; nothing is kept in the cluster. A worker whose
code or versions are not those of this process computes nothing.
"""

import logging
import pickle
import queue
import time
import uuid
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from typing import Any, Self

from model.errors import InputError, Problem
from studies.execution.engines import (
    Job,
    Reply,
    counted,
    died,
    named,
    packed_shared,
    run_packed,
)
from studies.execution.fingerprint import fingerprint
from studies.execution.options import Execution
from studies.execution.processes import deaf_children
from studies.execution.tasks import LISTED, failed

INSTALL = "pip install 'fundworthy[dask]'"

CONNECT_S = 10.0
"""Time within which a scheduler must answer."""

WORKERS_S = 60.0
"""Time within which a first worker must be there."""

POLL_S = 1.0

LOOK_S = 10.0
"""Time between looks at how many workers there are."""

SETTINGS = {
    # Shared inputs are meant to be sent whole.
    "distributed.admin.large-graph-warning-threshold": "100 GB",
    "distributed.comm.timeouts.connect": f"{CONNECT_S} s",
    # By default a worker gives freed memory back at once: the large temporaries of a ranking then
    # cost a page fault each time they are made again, and a study twice the processor time.
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 256 * 2**20,
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 32 * 2**20,
}


class DaskEngine:
    """Workers of a Dask cluster.

    Parameters
    ----------
    execution
        Workers of the local cluster, or the scheduler's address.
    shared
        Inputs of every task; they go to the cluster once.
    say
        Told of the dashboard and of workers that died.
    """

    def __init__(
        self, execution: Execution, shared: Mapping[str, Any], say: Callable[[str], None]
    ) -> None:
        self.repeated = 0
        self._execution = execution
        self._sent = packed_shared(shared)
        self._say = say
        self._address = execution.scheduler or "the local cluster"
        self._client: Any = None
        self._shared: Any = None
        # Other clients of the cluster have tasks of their own.
        self._token = uuid.uuid4().hex
        self._threads = 1
        self._looked = 0.0
        self._deserted = False
        self._running: dict[str, tuple[Job, Any]] = {}
        self._suspects: deque[Job] = deque()
        self._deaths: dict[int, int] = {}
        self._ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._lost: queue.SimpleQueue[Mapping[str, Any]] = queue.SimpleQueue()
        self._cleanup = ExitStack()

    @property
    def capacity(self) -> int:
        """One task a thread of the workers, and one each to go on with; none beside a suspect."""
        return 0 if self._suspects else 2 * self._threads

    def __enter__(self) -> Self:
        """Connect, compare versions, and send the shared inputs.

        Raises
        ------
        InputError
            If Dask is not installed, no scheduler or worker is there, or versions differ.
        """
        try:
            self._connect()
            self._compare()
            self._look()
            # Not scattered: what is scattered is lost with its worker, what is submitted is not.
            self._shared = self._client.submit(
                pickle.loads, self._sent, key=f"shared-{self._token}", pure=False
            )
        except OSError:
            self._cleanup.close()
            raise self._gone() from None
        except BaseException:
            self._cleanup.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the cluster; one of this machine ends."""
        self._cleanup.close()

    def submit(self, job: Job) -> None:
        """Take a task."""
        tried = "-alone" if job.index in self._deaths else ""
        key = f"task-{self._token}-{job.index}{tried}"
        future = self._client.submit(
            run_there,
            job.index,
            job.task.packed(),
            job.digest,
            self._shared,
            fingerprint(),
            key=key,
            pure=False,
            priority=-job.index,
        )
        self._running[key] = (job, future)
        future.add_done_callback(self._ended.put)

    def wait(self) -> list[Reply]:
        """At least one task that has ended.

        Raises
        ------
        InputError
            If the scheduler has gone, or a worker with other versions has come.
        """
        while True:
            self._tell_lost()
            if self._suspects and not self._running:
                self.submit(self._suspects.popleft())
            if time.monotonic() - self._looked >= LOOK_S:
                # Where the scheduler has gone, that is found out below.
                with suppress(OSError):
                    self._look()
            try:
                future = self._ended.get(timeout=POLL_S)
            except queue.Empty:
                self._require_connected()
                continue
            job, future = self._running.pop(future.key)
            reply = self._reply(job, future)
            if reply is not None:
                return [reply]

    def _reply(self, job: Job, future: Any) -> Reply | None:
        from concurrent.futures import CancelledError

        from distributed import KilledWorker

        try:
            reply = future.result()
        except KilledWorker as error:
            return self._after_deaths(job, error.allowed_failures + 1)
        except (CancelledError, OSError):
            # Dask cancels what it has under way when the scheduler goes.
            raise self._gone() from None
        except Exception as error:
            return Reply(index=job.index, failure=failed(job.task, error))
        finally:
            future.release()
        if isinstance(reply, dict):
            raise InputError(differences({f"a worker of {self._address}": reply}))
        return named(reply, job.task)

    def _after_deaths(self, job: Job, times: int) -> Reply | None:
        """Try a task by itself that Dask has given up; one that was alone is to blame."""
        before = self._deaths.get(job.index, 0)
        self._deaths[job.index] = before + times
        if before:
            return died(job, before + times)
        self._suspects.append(job)
        self.repeated += 1
        self._say(
            f"task {job.task.name}: its worker died {times} times, perhaps by the doing"
            " of another task there: it runs again, alone"
        )
        return None

    def _connect(self) -> None:
        try:
            import dask
            import distributed
        except ImportError:
            raise InputError.single(
                message="Dask is not installed", source="--engine dask", remedy=INSTALL
            ) from None
        self._quiet()
        self._cleanup.enter_context(dask.config.set(SETTINGS))
        cluster: Any = self._execution.scheduler
        if cluster is None:
            cluster = self._local(distributed)
        try:
            if isinstance(cluster, str):
                require_address(cluster)
            self._client = distributed.Client(cluster, timeout=CONNECT_S, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise InputError.single(
                message=f"no scheduler answers ({' '.join(str(error).split()) or repr(error)})",
                source="--scheduler",
                path=str(self._address),
                remedy="start one with `dask scheduler`, or leave out --scheduler for a cluster"
                " on this machine",
            ) from None
        self._cleanup.callback(self._close)
        if self._client.dashboard_link:
            self._say(f"Dask's dashboard: {self._client.dashboard_link}")
        self._client.subscribe_topic("all", self._event)
        try:
            self._client.wait_for_workers(1, timeout=WORKERS_S)
        except TimeoutError:
            raise InputError.single(
                message=f"no worker has come within {WORKERS_S:.0f} s",
                source="--scheduler",
                path=str(self._address),
                remedy="start workers with `dask worker ADDRESS`",
            ) from None

    def _local(self, distributed: Any) -> Any:
        try:
            # Anyone on this machine could else have the workers run code as this user.
            security = distributed.Security.temporary()
        except ImportError:
            raise InputError.single(
                message="the package cryptography is not installed, which keeps others of this"
                " machine out of the cluster",
                source="--engine dask",
                remedy=INSTALL,
            ) from None
        try:
            with deaf_children():
                cluster = distributed.LocalCluster(
                    n_workers=self._execution.workers,
                    threads_per_worker=1,
                    processes=True,
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",
                    security=security,
                    silence_logs=logging.CRITICAL,
                )
        except (OSError, RuntimeError) as error:
            raise InputError.single(
                message=f"no cluster can be started on this machine ({error})",
                source="--engine dask",
                remedy="choose --engine processes, or a scheduler that is running",
            ) from error
        self._cleanup.callback(cluster.close, timeout=CONNECT_S)
        return cluster

    def _quiet(self) -> None:
        """Keep Dask's own log off the terminal: what matters is said in plain words."""
        logger = logging.getLogger("distributed")
        self._cleanup.callback(logger.setLevel, logger.level)
        logger.setLevel(logging.CRITICAL)

    def _close(self) -> None:
        with suppress(Exception):
            self._client.unsubscribe_topic("all")
        with suppress(Exception):
            self._client.cancel([future for _, future in self._running.values()])
        self._client.close(timeout=CONNECT_S)

    def _compare(self) -> None:
        """Refuse a cluster whose code or versions are not those of this process."""
        found = {f"scheduler {self._address}": self._on_scheduler()}
        for address, value in self._client.run(fingerprint, on_error="return").items():
            found[f"worker {address}"] = value
        missing = {place: error for place, error in found.items() if isinstance(error, Exception)}
        if missing:
            raise InputError(
                Problem(
                    source=place,
                    message=f"fundworthy cannot be used there ({error})",
                    remedy="install the same version there as here",
                )
                for place, error in list(missing.items())[:LISTED]
            )
        problems = differences(found)
        if problems:
            raise InputError(problems)

    def _on_scheduler(self) -> Any:
        try:
            return self._client.run_on_scheduler(fingerprint)
        except Exception as error:
            return error

    def _look(self) -> None:
        self._looked = time.monotonic()
        threads = sum(self._client.nthreads().values())
        if threads == 0 and not self._deserted:
            self._say(f"no worker is left at {self._address}: waiting for one")
        self._deserted = threads == 0
        self._threads = max(1, threads)

    def _event(self, event: tuple[float, Mapping[str, Any]]) -> None:
        _, content = event
        if content.get("action") == "remove-worker" and not content.get("expected"):
            self._lost.put(content)

    def _tell_lost(self) -> None:
        while not self._lost.empty():
            event = self._lost.get()
            keys = {*event["processing-tasks"], *event["lost-computed-tasks"]}
            again = len(keys & self._running.keys())
            self.repeated += again
            self._say(
                f"worker {event['worker']} was lost: {counted(again, 'task')} of it run again"
            )

    def _require_connected(self) -> None:
        if self._client.status not in ("running", "connecting"):
            raise self._gone()

    def _gone(self) -> InputError:
        return InputError.single(
            message="the scheduler has gone",
            source="--scheduler",
            path=str(self._address),
            remedy="start it again",
        )


def require_address(address: str) -> None:
    """Refuse what is no address, which a client would trip over as it is taken down.

    Raises
    ------
    ValueError
        Saying what is wrong with it.
    """
    from distributed.comm.addressing import parse_address, parse_host_port
    from distributed.comm.registry import get_backend

    scheme, place = parse_address(address)
    get_backend(scheme)
    parse_host_port(place)


def run_there(
    index: int,
    packed: bytes,
    digest: str | None,
    shared: Mapping[str, Any],
    expected: Mapping[str, str],
) -> Reply | dict[str, str]:
    """Run a task on a worker, or say what the worker is where that is not what is expected."""
    here = fingerprint()
    return run_packed(index, packed, digest, shared) if here == expected else here


def differences(found: Mapping[str, Any]) -> list[Problem]:
    """What is not the same here as elsewhere, each difference once.

    Parameters
    ----------
    found
        What there is elsewhere, by place.
    """
    here = fingerprint()
    places: dict[tuple[str, str], list[str]] = {}
    for place, theirs in found.items():
        for name, value in theirs.items():
            if value != here.get(name):
                places.setdefault((name, str(value)), []).append(place)
    return [
        Problem(
            source=where[0] + (f" and {len(where) - 1} more" if len(where) > 1 else ""),
            message=f"{name} is {value[:12]} there and {here.get(name, 'absent')[:12]} here:"
            " results would not be the same",
            remedy="install the same version there as here",
        )
        for (name, value), where in places.items()
    ]
