"""One way to run many tasks: in this process or over several, in a fixed order, inputs at hand.

A task is a function of a module with its arguments, so that it can be sent to another process.
Randomness comes in as a seed among the arguments: results do not depend on engine or job count.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from model.errors import FundworthyError, InputError

type Engine = Literal["in-process", "processes"]

ENGINES: tuple[Engine, ...] = ("in-process", "processes")

SHOWN = 120
"""Characters of an argument that a message shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One piece of a study.

    Parameters
    ----------
    name
        For people, and unique within a run.
    function
        A function of a module.
    arguments
        Its keyword arguments.
    """

    name: str
    function: Callable[..., Any]
    arguments: Mapping[str, Any] = field(default_factory=dict)


class TaskFailedError(FundworthyError):
    """A task that raised, with what it was given.

    Parameters
    ----------
    task
        Its name.
    inputs
        Its arguments, shortened.
    reason
        What it raised.
    """

    def __init__(self, task: str, inputs: str, reason: str) -> None:
        super().__init__(task, inputs, reason)
        self.task, self.inputs, self.reason = task, inputs, reason

    def __str__(self) -> str:
        """Task, reason and inputs in one line."""
        return f"task {self.task} failed: {self.reason}; its inputs: {self.inputs or 'none'}"


def run_tasks(
    tasks: Sequence[Task],
    *,
    engine: Engine = "in-process",
    jobs: int = 1,
    progress: Callable[[Task], None] | None = None,
) -> list[Any]:
    """Run tasks and return their results in the order of the tasks.

    Parameters
    ----------
    tasks
        What to run.
    engine
        ``in-process``: one after the other, ``jobs`` unused. ``processes``: over local processes.
    jobs
        Processes at once; −1 for one a core.
    progress
        Called with each finished task, in the order of the tasks.

    Raises
    ------
    InputError
        If two tasks share a name, or the engine is unknown.
    TaskFailedError
        If a task raises; the others are abandoned.
    """
    names = [task.name for task in tasks]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError.single(message=f"two tasks are named {twice[0]!r}", source="tasks")
    if engine not in ENGINES:
        raise InputError.single(
            message=f"got engine {engine!r}, allowed are {', '.join(ENGINES)}", source="tasks"
        )
    if engine == "in-process":
        stream = map(_run, tasks)
    else:
        from joblib import Parallel, delayed

        parallel = Parallel(n_jobs=jobs, backend="loky", return_as="generator", batch_size=1)
        stream = parallel(delayed(_run)(task) for task in tasks)
    results = []
    for task, result in zip(tasks, stream, strict=True):
        results.append(result)
        if progress is not None:
            progress(task)
    return results


def _run(task: Task) -> Any:
    try:
        return task.function(**task.arguments)
    except Exception as error:
        inputs = ", ".join(f"{key}={_brief(value)}" for key, value in task.arguments.items())
        reason = str(error) if isinstance(error, FundworthyError) else repr(error)
        raise TaskFailedError(task.name, inputs, reason) from error


def _brief(value: object) -> str:
    """An argument on one line, with its shape where it has one."""
    text = " ".join(repr(value).split())
    if len(text) > SHOWN:
        text = f"{text[: SHOWN - 1]}…"
    shape = getattr(value, "shape", None)
    return f"{type(value).__name__}{shape}" if shape else text
