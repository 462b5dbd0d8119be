"""Running tasks in memory: order, engines, failures with their inputs."""

import numpy as np
import pytest

from model.errors import FundworthyError, InputError
from studies.execution.options import Engine, Execution
from studies.execution.study import run_tasks
from studies.execution.tasks import Task, TaskFailedError
from tests.studies.execution.work import broken, drawn, scaled, threads

HERE: tuple[Engine, ...] = ("in-process", "processes")


def over(engine: Engine) -> Execution:
    return Execution(engine=engine, jobs=1 if engine == "in-process" else 2)


@pytest.mark.parametrize("engine", HERE)
def test_tasks_return_in_their_order(engine: Engine) -> None:
    tasks = [
        Task(name=f"task {i}", function=scaled, arguments={"value": float(i)}) for i in range(5)
    ]
    tripled = run_tasks(tasks, shared={"factor": 3.0}, execution=over(engine))
    assert tripled == [0.0, 3.0, 6.0, 9.0, 12.0]


def test_results_do_not_depend_on_the_engine() -> None:
    seeds = np.random.SeedSequence(1).spawn(3)
    tasks = [
        Task(name=str(i), function=drawn, arguments={"seed": seed}) for i, seed in enumerate(seeds)
    ]
    here, there = (run_tasks(tasks, execution=over(engine)) for engine in HERE)
    np.testing.assert_array_equal(here, there)
    assert not np.array_equal(here[0], here[1])


@pytest.mark.parametrize("engine", HERE)
def test_failing_task_is_reported_with_its_inputs(engine: Engine) -> None:
    tasks = [
        Task(name="good", function=scaled, arguments={"value": 1.0}),
        Task(name="bad", function=broken, arguments={"value": np.zeros((4, 2)), "text": "x" * 500}),
    ]
    with pytest.raises(TaskFailedError) as raised:
        run_tasks(tasks, execution=over(engine))
    text = str(raised.value)
    assert "task bad failed" in text
    assert "cannot use 8 values" in text
    assert "value=ndarray(4, 2)" in text
    assert len(text) < 400
    assert "in broken" in raised.value.failure.trace
    assert isinstance(raised.value, FundworthyError)


@pytest.mark.parametrize("engine", HERE)
def test_task_has_one_thread_a_library(engine: Engine) -> None:
    (found,) = run_tasks([Task(name="threads", function=threads)], execution=over(engine))
    assert found
    assert set(found.values()) == {1}


def test_two_tasks_of_one_name_are_refused() -> None:
    with pytest.raises(InputError, match="'same'"):
        run_tasks([Task(name="same", function=scaled)] * 2)


def test_function_that_no_worker_can_import_is_refused() -> None:
    with pytest.raises(InputError, match="no function of a module") as raised:
        run_tasks([Task(name="a", function=lambda: 1), Task(name="b", function=lambda: 2)])
    assert len(raised.value.problems) == 2


def test_unknown_engine_is_refused() -> None:
    with pytest.raises(InputError, match="in-process, processes, dask"):
        run_tasks([], execution=Execution(engine="cluster"))  # type: ignore[arg-type]


def test_task_with_large_arguments_is_refused() -> None:
    tasks = [Task(name="big", function=broken, arguments={"text": "x", "value": np.zeros(10**5)})]
    with pytest.raises(InputError, match=r"task big: value: .* allowed are 262,144.*shared input"):
        run_tasks(tasks, execution=over("processes"))
