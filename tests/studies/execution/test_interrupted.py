"""A command with a study, interrupted and killed from outside at random moments."""

import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from studies.execution.store import unfinished
from studies.execution.study import run_study
from tests.studies.execution.command import RESULT
from tests.studies.execution.test_study import digest
from tests.studies.execution.work import row_tasks, runs

TASKS, WAIT_S = 24, 0.1

LONGEST_S = 120.0

ENGINES = {
    "in-process": [],
    "processes": ["--jobs", "2"],
    "dask": ["--engine", "dask", "--jobs", "2"],
}


def begin(out: Path, marks: Path, engine: str) -> subprocess.Popen[str]:
    """Start the command as the leader of a group of its own, as a terminal does."""
    if engine == "dask" and find_spec("distributed") is None:
        pytest.skip("Dask is an extra")
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "tests.studies.execution.command"),
            *("--out", str(out), "--marks", str(marks)),
            *("--tasks", str(TASKS), "--wait", str(WAIT_S)),
            *ENGINES[engine],
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for_parts(out: Path, count: int) -> None:
    """Wait until so many parts are there."""
    until = time.monotonic() + LONGEST_S
    parts = unfinished(out) / "parts"
    while time.monotonic() < until:
        if parts.is_dir() and len(list(parts.glob("[0-9]*.parquet"))) >= count:
            return
        time.sleep(0.005)
    raise TimeoutError(parts)


def expected(marks: Path, folder: Path) -> str:
    """Digest of the result of a study that nothing disturbs, over one process."""
    tasks = row_tasks(TASKS, wait_s=WAIT_S, marks=marks)
    return digest(run_study(tasks, folder, study="test", facts={"seed": 1}).table())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "seed"),
    [(engine, seed) for engine in ENGINES for seed in (1, 2, 3) if (engine, seed) != ("dask", 3)],
)
def test_killed_study_goes_on_to_the_same_bytes(engine: str, seed: int, tmp_path: Path) -> None:
    out, marks = tmp_path / "out", tmp_path / "marks"
    marks.mkdir()
    generator = np.random.default_rng([seed, *engine.encode()])
    kept: list[str] = []
    for _ in range(2):
        command = begin(out, marks, engine)
        wait_for_parts(out, len(kept) + int(generator.integers(1, 7)))
        # Anywhere within a task and the writing of its part.
        time.sleep(generator.uniform(0.0, WAIT_S))
        command.kill()
        _, messages = command.communicate()
        assert command.returncode == -signal.SIGKILL
        assert ("going on with" in messages) == bool(kept)
        kept = sorted(path.name for path in (unfinished(out) / "parts").glob("[0-9]*.parquet"))
        assert not out.exists()
    command = begin(out, marks, engine)
    text, messages = command.communicate()
    assert command.returncode == 0, messages
    assert text == f"repeated 0, resumed {len(kept)}\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["marks", "out"]
    # Beyond one run each: what was under way, in the windows of two killed commands.
    assert sum(runs(marks).values()) - TASKS <= 2 * 4
    assert digest(out / RESULT) == expected(marks, tmp_path / "whole")


@pytest.mark.parametrize(
    "engine",
    ["in-process", "processes", pytest.param("dask", marks=pytest.mark.slow)],
)
def test_interrupted_command_says_what_is_kept_and_ends_with_130(
    engine: str, tmp_path: Path
) -> None:
    out, marks = tmp_path / "out", tmp_path / "marks"
    marks.mkdir()
    command = begin(out, marks, engine)
    wait_for_parts(out, 3)
    # As a terminal does: every process of the group gets it.
    os.killpg(command.pid, signal.SIGINT)
    text, messages = command.communicate(timeout=LONGEST_S)
    assert command.returncode == 130
    assert text == ""
    last = messages.strip().splitlines()[-1]
    kept = len(list((unfinished(out) / "parts").iterdir()))
    assert last.startswith("interrupted: ")
    assert f"{kept} of {TASKS} tasks are finished and kept; the same command goes on" in last
    # Nothing of the processes that were ended with it.
    ours = ("running ", "Dask's dashboard: ", "interrupted: ")
    assert all(line.startswith(ours) for line in messages.splitlines()), messages


def test_second_command_on_a_study_is_refused(tmp_path: Path) -> None:
    out, marks = tmp_path / "out", tmp_path / "marks"
    marks.mkdir()
    first = begin(out, marks, "in-process")
    wait_for_parts(out, 1)
    second = begin(out, marks, "in-process")
    _, messages = second.communicate()
    assert second.returncode == 2
    assert f"this study is being run (by process {first.pid})" in messages
    _, messages = first.communicate()
    assert first.returncode == 0, messages
