"""Studies over a Dask cluster: the same bytes, lost workers and schedulers, other versions."""

import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from decision.progress import Progress
from model.errors import InputError
from studies.execution import dask_engine
from studies.execution.options import Execution
from studies.execution.study import run_study, run_tasks
from studies.execution.tasks import Task
from tests.studies.execution.cluster import Cluster
from tests.studies.execution.test_study import digest
from tests.studies.execution.work import deadly, failing_until, row_tasks, runs, scaled

pytest.importorskip("distributed")

LONGEST_S = 120.0
"""Time after which a test goes on, to fail."""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    folder = tmp_path / "cluster"
    folder.mkdir()
    with Cluster(folder) as cluster:
        yield cluster


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    path = tmp_path / "marks"
    path.mkdir()
    return path


class Notes(Progress):
    """What is told of the course of a study."""

    def __init__(self) -> None:
        super().__init__(quiet=True)
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


def at(cluster: Cluster) -> Execution:
    return Execution(engine="dask", scheduler=cluster.address)


def during(
    marks: Path, count: int, act: Callable[[], None], pid: int | None = None
) -> threading.Thread:
    """Do something once so many tasks have been begun, by any process or by one."""

    def wait() -> None:
        until = time.monotonic() + LONGEST_S
        while len(runs(marks, pid)) < count and time.monotonic() < until:
            time.sleep(0.02)
        act()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


def test_study_over_a_cluster_gives_the_same_bytes(cluster: Cluster, tmp_path: Path) -> None:
    for _ in range(2):
        cluster.add_worker()
    # Larger than what Dask warns of.
    shared = {"shift": np.arange(2e6)}
    here = run_study(row_tasks(9), tmp_path / "a", study="test", shared=shared)
    notes = Notes()
    there = run_study(
        row_tasks(9),
        tmp_path / "b",
        study="test",
        shared=shared,
        execution=at(cluster),
        progress=notes,
    )
    assert digest(here.table()) == digest(there.table())
    # A cluster that is running already serves the next study as well, of which one task fails.
    key = str(tmp_path / "absent")
    tasks = row_tasks(4)
    tasks[1] = Task(name="bad", function=failing_until, arguments={"index": 1, "path": key})
    outcome = run_study(tasks, tmp_path / "s", study="test", execution=at(cluster))
    (failure,) = outcome.failures
    assert str(failure).startswith("task bad failed: RuntimeError('1 needs a file'); its inputs: i")
    assert outcome.finished == 3
    # And one in memory.
    tasks = [Task(name=str(i), function=scaled, arguments={"value": float(i)}) for i in range(4)]
    assert run_tasks(tasks, execution=at(cluster)) == [0.0, 2.0, 4.0, 6.0]


@pytest.mark.slow
def test_worker_killed_in_mid_study_costs_only_its_tasks(
    cluster: Cluster, tmp_path: Path, marks: Path
) -> None:
    whole = run_study(row_tasks(24), tmp_path / "whole", study="test")
    doomed = cluster.add_worker()
    cluster.add_worker()
    thread = during(marks, 4, doomed.kill, doomed.pid)
    notes = Notes()
    outcome = run_study(
        row_tasks(24, wait_s=0.3, marks=marks),
        tmp_path / "s",
        study="test",
        shared={},
        execution=at(cluster),
        progress=notes,
    )
    thread.join()
    assert digest(outcome.table()) == digest(whole.table())
    again = sum(runs(marks).values()) - 24
    # One was under way; at most, Dask had handed it one more, and one result was not yet fetched.
    assert 1 <= again <= 3
    assert 1 <= outcome.repeated <= 3
    assert any("was lost" in note for note in notes.notes)


def test_scheduler_that_goes_away_is_said_and_nothing_is_lost(
    cluster: Cluster, tmp_path: Path, marks: Path
) -> None:
    cluster.add_worker()
    tasks = row_tasks(40, wait_s=0.05, marks=marks)
    thread = during(marks, 10, cluster.scheduler.kill)
    with pytest.raises(InputError, match=r"the scheduler has gone") as raised:
        run_study(tasks, tmp_path / "s", study="test", execution=at(cluster))
    thread.join()
    kept = len(list((tmp_path / "s" / "parts").iterdir()))
    assert f"{kept} of 40 tasks" in str(raised.value)
    assert kept >= 5
    outcome = run_study(tasks, tmp_path / "s", study="test")
    assert outcome.resumed == kept
    whole = run_study(row_tasks(40, wait_s=0.05, marks=marks), tmp_path / "whole", study="test")
    assert digest(outcome.table()) == digest(whole.table())


@pytest.mark.slow
def test_shared_inputs_survive_the_death_of_the_only_worker(
    cluster: Cluster, tmp_path: Path, marks: Path
) -> None:
    cluster.add_worker(nanny=True)
    tasks = [
        Task(
            name=f"deadly {i}",
            function=deadly,
            arguments={"index": i, "marks": str(marks), "times": 1 if i == 2 else 0},
        )
        for i in range(5)
    ]
    outcome = run_study(
        row_tasks(8)[5:] + tasks,
        tmp_path / "s",
        study="test",
        shared={},
        execution=at(cluster),
    )
    assert outcome.failures == ()
    assert outcome.finished == 8
    assert runs(marks)[2] == 2


@pytest.mark.slow
def test_task_that_keeps_killing_workers_fails_alone(
    cluster: Cluster, tmp_path: Path, marks: Path
) -> None:
    # With one worker, the task that waits for its turn there dies as often as the one that kills.
    cluster.add_worker(nanny=True)
    tasks = row_tasks(6)
    arguments = {"index": 0, "marks": str(marks), "times": 99}
    tasks[0] = Task(name="deadly", function=deadly, arguments=arguments)
    notes = Notes()
    outcome = run_study(tasks, tmp_path / "s", study="test", execution=at(cluster), progress=notes)
    assert [failure.task for failure in outcome.failures] == ["deadly"]
    assert f"its worker died {runs(marks)[0]} times" in outcome.failures[0].reason
    assert outcome.finished == 5
    alone = [note for note in notes.notes if "runs again, alone" in note]
    assert len(alone) == 2


def other_code(folder: Path) -> Path:
    """A copy of this project that differs in one comment."""
    for package in ("model", "priors", "decision", "studies", "reports", "tests"):
        shutil.copytree(package, folder / package)
    with (folder / "model" / "step.py").open("a") as file:
        file.write("# Another comment.\n")
    return folder


def other_version(folder: Path, name: str) -> Path:
    """A folder where a distribution claims to be another version."""
    info = folder / f"{name}-0.0.7.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.0.7\n")
    return folder


def test_worker_of_another_version_is_refused_with_both(cluster: Cluster, tmp_path: Path) -> None:
    cluster.add_worker(paths=[other_version(tmp_path / "old", "numpy"), Path.cwd()])
    with pytest.raises(InputError) as raised:
        run_study(row_tasks(2), tmp_path / "s", study="test", execution=at(cluster))
    (problem,) = raised.value.problems
    assert problem.source.startswith("worker tcp://127.0.0.1")
    assert f"numpy is 0.0.7 there and {np.__version__} here" in problem.message
    assert not (tmp_path / "s").exists()


@pytest.mark.slow
def test_worker_of_other_code_that_comes_late_computes_nothing(
    cluster: Cluster, tmp_path: Path, marks: Path
) -> None:
    cluster.add_worker()
    late = other_code(tmp_path / "other")
    thread = during(marks, 3, lambda: cluster.add_worker(paths=[late]))
    tasks = row_tasks(60, wait_s=0.5, marks=marks)
    with pytest.raises(InputError, match=r"a worker of tcp.*code of fundworthy is") as raised:
        run_study(tasks, tmp_path / "s", study="test", execution=at(cluster))
    thread.join()
    assert "are finished and kept" in str(raised.value)
    pids = {path.name.split("-")[1] for path in marks.iterdir()}
    assert len(pids) == 1


@pytest.mark.slow
def test_worker_without_fundworthy_is_refused(cluster: Cluster, tmp_path: Path) -> None:
    folder = tmp_path / "broken"
    folder.mkdir()
    (folder / "studies.py").write_text("")
    cluster.add_worker(paths=[folder])
    with pytest.raises(InputError, match=r"worker .* cannot be used there .*'studies"):
        run_study(row_tasks(2), tmp_path / "s", study="test", execution=at(cluster))


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("tcp://127.0.0.1:9", "no scheduler answers"),
        ("nonsense", "missing port number"),
        ("carrier-pigeon://127.0.0.1:8786", "unknown address scheme"),
    ],
)
def test_scheduler_that_is_not_there_is_said(
    address: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_engine, "CONNECT_S", 1.0)
    execution = Execution(engine="dask", scheduler=address)
    with pytest.raises(InputError, match=reason) as raised:
        run_study(row_tasks(2), tmp_path / "s", study="test", execution=execution)
    assert "start one with `dask scheduler`" in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_cluster_without_workers_is_said(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_engine, "WORKERS_S", 0.5)
    with pytest.raises(InputError, match="no worker has come"):
        run_study(row_tasks(2), tmp_path / "s", study="test", execution=at(cluster))


def test_missing_dask_is_said_with_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"Dask is not installed; pip install 'fundworthy\[dask"):
        run_study(row_tasks(2), tmp_path / "s", study="test", execution=Execution(engine="dask"))


@pytest.mark.slow
def test_local_cluster_is_private_and_shows_its_dashboard(tmp_path: Path) -> None:
    notes = Notes()
    whole = run_study(row_tasks(9), tmp_path / "whole", study="test")
    engine = dask_engine.DaskEngine(Execution(engine="dask", jobs=2), {}, notes.note)
    with engine:
        address = engine._client.scheduler.address
        assert engine.capacity == 4
    assert address.startswith("tls://127.0.0.1:")
    (note,) = notes.notes
    assert note.startswith("Dask's dashboard: http://127.0.0.1:")
    outcome = run_study(
        row_tasks(9), tmp_path / "s", study="test", execution=Execution(engine="dask", jobs=2)
    )
    assert digest(outcome.table()) == digest(whole.table())
