"""Studies that stream to a directory: order, engines, failures, resumption, what is kept."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import studies.execution.engines
from decision.progress import Progress
from model.errors import InputError
from studies.execution.engines import Job
from studies.execution.options import Execution
from studies.execution.processes import Processes
from studies.execution.study import StudyFailedError, run_study
from studies.execution.tasks import Task
from tests.studies.execution.work import (
    deadly,
    failing_until,
    large,
    of_kind,
    of_no_table,
    own_process,
    refused,
    row_tasks,
    rows,
    runs,
    with_an_index,
)

TWO = Execution(engine="processes", jobs=2)


def digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    """Where tasks leave a mark each time they are run."""
    path = tmp_path / "marks"
    path.mkdir()
    return path


def expected_rows(count: int) -> pd.DataFrame:
    """What tasks give when they are simply called in turn."""
    return pd.concat([rows(**task.arguments) for task in row_tasks(count)], ignore_index=True)


def interrupted_after(
    count: int, monkeypatch: pytest.MonkeyPatch, raised: type[BaseException] = KeyboardInterrupt
) -> None:
    """Let the engine of this process stop at a task."""
    run = studies.execution.engines.run
    calls = iter(range(count))

    def stopping(*arguments: object) -> object:
        if next(calls, None) is None:
            raise raised
        return run(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(studies.execution.engines, "run", stopping)


def test_study_gives_rows_in_the_order_of_its_tasks(tmp_path: Path) -> None:
    outcome = run_study(row_tasks(9), tmp_path / "s", study="test")
    found, expected = outcome.frame(), expected_rows(9)
    pd.testing.assert_frame_equal(found[["task", "value"]], expected[["task", "value"]])
    assert list(found["text"].fillna("")) == list(expected["text"].fillna(""))
    assert [name for name, _ in outcome.parts()] == [f"rows {i}" for i in range(9)]
    assert (outcome.finished, outcome.resumed, outcome.repeated) == (9, 0, 0)


def test_study_gives_the_same_bytes_over_processes(tmp_path: Path) -> None:
    shared = {"shift": np.arange(4.0)}
    here = run_study(row_tasks(9), tmp_path / "a", study="test", shared=shared)
    there = run_study(row_tasks(9), tmp_path / "b", study="test", shared=shared, execution=TWO)
    assert digest(here.table()) == digest(there.table())
    # Negative control: another seed gives other bytes.
    other = run_study(row_tasks(9, seed=2), tmp_path / "c", study="test", shared=shared)
    assert digest(other.table()) != digest(here.table())


@pytest.mark.parametrize("at", [1, 4, 8])
def test_interrupted_study_goes_on_to_the_same_bytes(
    at: int, tmp_path: Path, marks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run_study(row_tasks(9), tmp_path / "whole", study="test")
    tasks = row_tasks(9, marks=marks)
    with monkeypatch.context() as patched:
        interrupted_after(at, patched)
        with pytest.raises(KeyboardInterrupt, match=f"{at} of 9 tasks .*same command goes on"):
            run_study(tasks, tmp_path / "s", study="test")
    outcome = run_study(tasks, tmp_path / "s", study="test")
    assert outcome.resumed == at
    assert runs(marks) == dict.fromkeys(range(9), 1)
    assert digest(outcome.table()) == digest(whole.table())


def test_study_interrupted_before_any_result_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted_after(0, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        run_study(row_tasks(3), tmp_path / "s", study="test")
    assert list(tmp_path.iterdir()) == []


def test_finished_study_runs_nothing_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = run_study(row_tasks(4), tmp_path / "s", study="test")
    before = digest(first.table())
    interrupted_after(0, monkeypatch)
    again = run_study(row_tasks(4), tmp_path / "s", study="test")
    assert again.resumed == 4
    assert digest(again.table()) == before


@pytest.mark.parametrize("execution", [Execution(), TWO], ids=["in-process", "processes"])
def test_failing_tasks_do_not_sink_the_rest(
    execution: Execution, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key = tmp_path / "key"
    tasks = [
        Task(name=f"t{i}", function=failing_until, arguments={"index": i, "path": str(key)})
        if i in (1, 4)
        else Task(name=f"t{i}", function=of_kind, arguments={"index": 1}, table="others")
        for i in range(6)
    ]
    tasks.append(Task(name="t6", function=refused, arguments={"number": 7}))
    with Progress(quiet=False) as progress:
        outcome = run_study(
            tasks, tmp_path / "s", study="test", execution=execution, progress=progress
        )
    assert [failure.task for failure in outcome.failures] == ["t1", "t4", "t6"]
    assert outcome.finished == 4
    assert "task t1 failed: RuntimeError('1 needs a file'); its inputs: index=1, path=" in (
        capsys.readouterr().err
    )
    with pytest.raises(StudyFailedError, match="3 of 7 tasks failed") as raised:
        outcome.table("others")
    text = str(raised.value)
    assert "here: there: got 7, allowed are 1 to 5; its inputs: number=7" in text
    assert "the other 4 are kept: the same command tries only the failed ones again" in text
    written = json.loads((outcome.directory / "failures.json").read_text())
    assert [failure["task"] for failure in written] == ["t1", "t4", "t6"]
    assert "in failing_until" in written[0]["trace"]
    with pytest.raises(StudyFailedError), outcome.placing():
        pytest.fail("results of a study that failed are not to be placed")
    # The cause mended, only the failed are tried again; one still fails.
    key.touch()
    again = run_study(tasks, tmp_path / "s", study="test", execution=execution)
    assert again.resumed == 4
    assert [failure.task for failure in again.failures] == ["t6"]


def test_results_that_are_no_table_fail_with_a_reason(tmp_path: Path) -> None:
    tasks = [
        Task(name="list", function=of_no_table),
        Task(name="index", function=with_an_index),
    ]
    outcome = run_study(tasks, tmp_path / "s", study="test")
    reasons = [failure.reason for failure in outcome.failures]
    assert "a data frame or an Arrow table, got <class 'list'>" in reasons[0]
    assert "reset_index() keeps yours" in reasons[1]


def test_columns_of_different_kinds_become_one(tmp_path: Path) -> None:
    tasks = [Task(name=str(i), function=of_kind, arguments={"index": i}) for i in range(5)]
    frame = run_study(tasks, tmp_path / "s", study="test").frame()
    # None none, 1 1, 2.5, none none, 4 4.
    expected = [np.nan, np.nan, 1.0, 1.0, 2.5, np.nan, np.nan, 4.0, 4.0]
    np.testing.assert_array_equal(frame["x"].to_numpy(dtype=float), expected)


def test_columns_that_do_not_fit_are_named(tmp_path: Path) -> None:
    tasks = [row_tasks(1)[0], Task(name="other", function=of_kind, arguments={"index": 1})]
    outcome = run_study(tasks, tmp_path / "s", study="test")
    with pytest.raises(InputError, match=r"table results: .*same columns: task, text, value, x"):
        outcome.table()


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 2])
def test_task_whose_worker_dies_is_run_again(times: int, tmp_path: Path, marks: Path) -> None:
    tasks = row_tasks(12, marks=marks)
    tasks[2] = Task(
        name="deadly",
        function=deadly,
        arguments={"index": 2, "marks": str(marks), "times": times},
    )
    outcome = run_study(tasks, tmp_path / "s", study="test", execution=TWO)
    assert outcome.failures == ()
    assert list(outcome.frame()["task"].drop_duplicates()) == list(range(12))
    counts = runs(marks)
    assert counts[2] == times + 1
    # Lost with it, at most, are the four that two processes have at hand, and once.
    assert max(count for index, count in counts.items() if index != 2) <= 2
    assert sum(counts.values()) - 12 <= outcome.repeated <= times + 3


@pytest.mark.slow
def test_task_that_keeps_killing_its_worker_fails_alone(tmp_path: Path, marks: Path) -> None:
    tasks = row_tasks(5)
    tasks[1] = Task(
        name="deadly", function=deadly, arguments={"index": 1, "marks": str(marks), "times": 99}
    )
    outcome = run_study(tasks, tmp_path / "s", study="test", execution=TWO)
    (failure,) = outcome.failures
    assert failure.task == "deadly"
    assert "its worker died 3 times" in failure.reason
    assert outcome.finished == 4


@pytest.mark.slow
@pytest.mark.parametrize("noticed", [True, False])
def test_process_that_dies_with_nothing_to_do_is_replaced(noticed: bool) -> None:
    told: list[str] = []
    task = Task(name="t", function=own_process)
    seen = set()
    with Processes(1, {}, told.append) as engine:
        for index in range(3):
            engine.submit(Job(index=index, task=task))
            (reply,) = engine.wait()
            assert reply.failure is None
            seen.add(reply.value)
            os.kill(reply.value, signal.SIGKILL)
            time.sleep(1.0 if noticed else 0.0)
    assert len(seen) == 3
    assert engine.repeated <= 2


def full_after(writes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the disk be full after so many files have been forced to it."""
    sync, calls = os.fsync, iter(range(writes))

    def fsync(descriptor: int) -> None:
        if next(calls, None) is None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)


@pytest.mark.parametrize(
    ("writes", "kept"),
    # Four to begin with, two a part (the first before its renaming), two for the table.
    [(0, 0), (1, 0), (3, 0), (4, 0), (6, 1), (9, 3), (15, 6), (21, 9), (22, 9), (23, 9)],
)
def test_full_disk_is_said_and_nothing_is_lost(
    writes: int, kept: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = digest(run_study(row_tasks(9), tmp_path / "whole", study="test").table())

    def run() -> str:
        outcome = run_study(row_tasks(9), tmp_path / "s", study="test")
        with outcome.placing():
            return digest(outcome.table())

    with monkeypatch.context() as patched:
        full_after(writes, patched)
        with pytest.raises(InputError, match=r"No space left on device.*make room") as raised:
            run()
    assert (f"{kept} of 9 tasks" in str(raised.value)) == (kept > 0)
    assert not list(tmp_path.rglob(".*"))
    assert run() == whole


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB, where this user may mount one."""
    place = tmp_path / "small"
    place.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)],
        capture_output=True,
        check=False,
    )
    if made.returncode != 0:
        pytest.skip("only root may mount a small file system")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_small_file_system_fills_and_the_study_goes_on_with_room(mounted: Path) -> None:
    directory = mounted / "s"
    tasks = [
        Task(name=str(i), function=large, arguments={"index": i, "megabytes": 0}) for i in range(2)
    ]
    tasks.append(Task(name="big", function=large, arguments={"index": 2, "megabytes": 1}))
    with pytest.raises(InputError, match=r"No space left on device(.|\n)*2 of 3 tasks"):
        run_study(tasks, directory, study="test")
    subprocess.run(["mount", "-o", "remount,size=64m", str(mounted)], check=True)
    outcome = run_study(tasks, directory, study="test")
    assert outcome.resumed == 2
    assert pq.read_metadata(outcome.table()).num_rows == 1 << 17


def test_read_only_directory_is_said(mounted: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(mounted)], check=True)
    with pytest.raises(InputError, match=r"Read-only file system.*may write to"):
        run_study(row_tasks(2), mounted / "s", study="test")


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_forbidden_directory_is_said(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    with pytest.raises(InputError, match=r"Permission denied.*may write to"):
        run_study(row_tasks(2), tmp_path / "s", study="test")


def test_results_that_cannot_be_placed_are_kept(tmp_path: Path) -> None:
    outcome = run_study(row_tasks(2), tmp_path / "s", study="test")
    with (
        pytest.raises(InputError, match=r"no room(.|\n)*2 of 2 tasks are finished and kept"),
        outcome.placing(),
    ):
        raise InputError.single(message="no room")
    assert run_study(row_tasks(2), tmp_path / "s", study="test").resumed == 2
    with outcome.placing():
        pass
    assert not (tmp_path / "s").exists()


class Told(Progress):
    """What is told of the course of a study."""

    def __init__(self) -> None:
        super().__init__(quiet=True)
        self.started: list[tuple[int, int]] = []
        self.advanced = 0

    def start(self, text: str, total: int, *, done: int = 0) -> None:
        self.started.append((total, done))

    def advance(self, count: int) -> None:
        self.advanced += count


def test_progress_counts_what_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):  # noqa: PT012
        interrupted_after(2, patched)
        run_study(row_tasks(5), tmp_path / "s", study="test")
    told = Told()
    run_study(row_tasks(5), tmp_path / "s", study="test", progress=told)
    assert told.started == [(5, 2)]
    assert told.advanced == 3


PEAK = """
import resource, sys
from pathlib import Path
from studies.execution.study import run_study
from studies.execution.tasks import Task
from tests.studies.execution.work import large
count = int(sys.argv[1])
tasks = [
    Task(name=str(i), function=large, arguments={"index": i, "megabytes": 4}) for i in range(count)
]
run_study(tasks, Path(sys.argv[2]), study="test").table()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def peak_kib(count: int, directory: Path) -> int:
    done = subprocess.run(
        [sys.executable, "-c", PEAK, str(count), str(directory)],
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)


@pytest.mark.slow
def test_memory_does_not_grow_with_tasks(tmp_path: Path) -> None:
    few, many = (peak_kib(count, tmp_path / str(count)) for count in (4, 40))
    # 40 results of 4 MiB are 160 MiB; what is kept of them is none.
    assert many - few < 24 * 1024
