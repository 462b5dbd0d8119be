"""Tasks that tests send to workers: they must be importable there."""

import os
import signal
import time
from pathlib import Path
from typing import NoReturn

import numpy as np
import pandas as pd
import pyarrow as pa

from model.errors import InputError
from studies.execution.tasks import Task, task_seed


def scaled(value: float, factor: float = 2.0) -> float:
    return value * factor


def drawn(seed: np.random.SeedSequence) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=3)


def broken(value: np.ndarray, **_: object) -> float:
    message = f"cannot use {value.size} values"
    raise ArithmeticError(message)


def refused(**_: object) -> NoReturn:
    raise InputError.single(message="got 7, allowed are 1 to 5", source="here", path="there")


def rows(
    index: int,
    seed: np.random.SeedSequence,
    wait_s: float = 0.0,
    marks: str | None = None,
    shift: np.ndarray | None = None,
) -> pd.DataFrame:
    """Some rows; as many marks are left behind as times it is run."""
    mark(marks, index)
    time.sleep(wait_s)
    values = np.random.default_rng(seed).normal(size=1 + index % 4)
    return pd.DataFrame(
        {
            "task": index,
            "value": values if shift is None else values + shift.sum(),
            "text": ["even" if index % 2 == 0 else None] * values.size,
        }
    )


def failing_until(index: int, path: str) -> pd.DataFrame:
    """Fails until a file exists."""
    if not Path(path).exists():
        message = f"{index} needs a file"
        raise RuntimeError(message)
    return pd.DataFrame({"task": [index]})


def deadly(index: int, marks: str, times: int) -> pd.DataFrame:
    """Kills its own process so many times, then ends well."""
    mark(marks, index)
    if runs(marks).get(index, 0) <= times:
        os.kill(os.getpid(), signal.SIGKILL)
    return pd.DataFrame({"task": [index], "value": [0.0], "text": [None]})


def own_process() -> int:
    return os.getpid()


def of_no_table() -> list[int]:
    return [1, 2]


def with_an_index() -> pd.DataFrame:
    return pd.DataFrame({"x": [1, 2]}, index=[7, 8])


def of_kind(index: int) -> pd.DataFrame | pa.Table:
    """The same column with nothing, whole numbers or others in it."""
    match index % 3:
        case 0:
            return pa.table({"x": pa.nulls(2)})
        case 1:
            return pd.DataFrame({"x": [index, index]})
    return pd.DataFrame({"x": [index + 0.5]})


def threads() -> dict[str, int]:
    from threadpoolctl import threadpool_info

    np.linalg.inv(np.eye(3))
    return {info["filepath"]: info["num_threads"] for info in threadpool_info()}


def large(index: int, megabytes: int) -> pd.DataFrame:
    return pd.DataFrame({"x": np.random.default_rng(index).normal(size=megabytes << 17)})


def mark(marks: str | None, index: int) -> None:
    """Leave a mark of one run, which nothing that dies later can take back."""
    if marks is not None:
        name = f"{index}-{os.getpid()}-{time.monotonic_ns()}"
        (Path(marks) / name).touch()


def runs(marks: str | Path, pid: int | None = None) -> dict[int, int]:
    """How often each task was begun, by any process or by one."""
    counts: dict[int, int] = {}
    for path in Path(marks).iterdir():
        index, process, _ = map(int, path.name.split("-"))
        if pid in (None, process):
            counts[index] = counts.get(index, 0) + 1
    return counts


def row_tasks(
    count: int, *, seed: int = 1, wait_s: float = 0.0, marks: Path | None = None
) -> list[Task]:
    """Tasks of a study of random rows."""
    return [
        Task(
            name=f"rows {index}",
            function=rows,
            arguments={
                "index": index,
                "seed": task_seed(seed, f"rows {index}"),
                "wait_s": wait_s,
                "marks": None if marks is None else str(marks),
            },
        )
        for index in range(count)
    ]
