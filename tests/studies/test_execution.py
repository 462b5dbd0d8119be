"""Running tasks: order, engines, failures with their inputs."""

import numpy as np
import pytest

from model.errors import FundworthyError, InputError
from studies.execution import ENGINES, Engine, Task, TaskFailedError, run_tasks


def scaled(value: float, factor: float = 2.0) -> float:
    return value * factor


def drawn(seed: np.random.SeedSequence) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=3)


def broken(value: np.ndarray, **_: object) -> float:
    message = f"cannot use {value.size} values"
    raise ArithmeticError(message)


@pytest.mark.parametrize("engine", ENGINES)
def test_tasks_return_in_their_order(engine: Engine) -> None:
    seen: list[str] = []
    tasks = [
        Task(name=f"task {i}", function=scaled, arguments={"value": float(i)}) for i in range(5)
    ]
    results = run_tasks(tasks, engine=engine, jobs=2, progress=lambda task: seen.append(task.name))
    assert results == [0.0, 2.0, 4.0, 6.0, 8.0]
    assert seen == [task.name for task in tasks]


def test_results_do_not_depend_on_the_engine() -> None:
    seeds = np.random.SeedSequence(1).spawn(3)
    tasks = [
        Task(name=str(i), function=drawn, arguments={"seed": seed}) for i, seed in enumerate(seeds)
    ]
    here, there = (run_tasks(tasks, engine=engine, jobs=2) for engine in ENGINES)
    np.testing.assert_array_equal(here, there)
    assert not np.array_equal(here[0], here[1])


@pytest.mark.parametrize("engine", ENGINES)
def test_failing_task_is_reported_with_its_inputs(engine: Engine) -> None:
    tasks = [
        Task(name="good", function=scaled, arguments={"value": 1.0}),
        Task(name="bad", function=broken, arguments={"value": np.zeros((4, 2)), "text": "x" * 500}),
    ]
    with pytest.raises(TaskFailedError) as raised:
        run_tasks(tasks, engine=engine, jobs=2)
    text = str(raised.value)
    assert "task bad failed" in text
    assert "cannot use 8 values" in text
    assert "value=ndarray(4, 2)" in text
    assert len(text) < 400
    assert isinstance(raised.value, FundworthyError)


def test_two_tasks_of_one_name_are_refused() -> None:
    with pytest.raises(InputError, match="'same'"):
        run_tasks([Task(name="same", function=scaled)] * 2)


def test_unknown_engine_is_refused() -> None:
    with pytest.raises(InputError, match="in-process, processes"):
        run_tasks([], engine="cluster")  # type: ignore[arg-type]
