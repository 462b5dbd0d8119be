"""A task, what it is called with, and what is said about it when it fails.

A task is a function of a module with small arguments, so that it can be sent anywhere. Randomness
comes in as a seed among the arguments: results do not depend on engine, job count or order.
"""

import copyreg
import hashlib
import io
import pickle
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from model.errors import FundworthyError, InputError
from studies.execution.digests import digest_of

SHOWN = 120
"""Characters of an argument that a message shows."""

LARGEST_BYTES = 256 * 1024
"""A task's pickled size: what is larger belongs to the shared inputs, which are sent once."""

LISTED = 5
"""Failures that a message lists."""

RESULTS = "results"

_teller: ContextVar[Callable[[str], None] | None] = ContextVar("teller", default=None)

_TABLE = re.compile(r"[a-z0-9_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One piece of a study.

    Parameters
    ----------
    name
        For people, and unique within a study.
    function
        A function of a module.
    arguments
        Its keyword arguments, small; shared inputs are added to them.
    table
        The table that its rows belong to: small letters, digits and underscores.
    """

    name: str
    function: Callable[..., Any]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    table: str = RESULTS

    @property
    def digest(self) -> str:
        """SHA-256 of name, function, arguments and table, by value.

        Raises
        ------
        InputError
            If an argument is no plain data.
        """
        return digest_of(
            (self.name, self.function, self.table, dict(self.arguments)),
            source=f"task {self.name}",
        )

    def packed(self) -> bytes:
        """Function and arguments as they are sent.

        Raises
        ------
        InputError
            If they cannot be sent, or are too large to be sent with each task.
        """
        try:
            sent = packed((self.function, dict(self.arguments)))
        except Exception as error:
            raise InputError.single(
                message=f"cannot be sent to a worker ({error})", source=f"task {self.name}"
            ) from error
        if len(sent) > LARGEST_BYTES:
            sizes = {key: len(packed(value)) for key, value in self.arguments.items()}
            largest = max(sizes, key=lambda key: sizes[key])
            raise InputError.single(
                message=f"its arguments take {len(sent):,} bytes, allowed are {LARGEST_BYTES:,}",
                source=f"task {self.name}",
                path=largest,
                remedy="give what is large as a shared input, which is sent once",
            )
        return sent

    def inputs(self) -> str:
        """The arguments on one line, shortened."""
        return ", ".join(f"{key}={_brief(value)}" for key, value in self.arguments.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A task that did not end well.

    Parameters
    ----------
    task
        Its name.
    inputs
        Its arguments, shortened.
    reason
        What it raised, or that its worker died.
    trace
        The traceback, empty where there is none.
    """

    task: str
    inputs: str
    reason: str
    trace: str = ""

    def __str__(self) -> str:
        """Task, reason and inputs in one line."""
        return f"task {self.task} failed: {self.reason}; its inputs: {self.inputs or 'none'}"


class TaskFailedError(FundworthyError):
    """A task that raised, with what it was given.

    Parameters
    ----------
    failure
        What is known about it.
    """

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure)
        self.failure = failure

    def __str__(self) -> str:
        """The failure in one line."""
        return str(self.failure)


def packed(value: object) -> bytes:
    """Anything as it is sent; read-only mappings too, which pickle does not know."""
    buffer = io.BytesIO()
    pickler = pickle.Pickler(buffer, protocol=5)
    table: dict[type, Any] = {
        **copyreg.dispatch_table,
        MappingProxyType: lambda mapping: (_read_only, (dict(mapping),)),
    }
    pickler.dispatch_table = table
    pickler.dump(value)
    return buffer.getvalue()


def _read_only(mapping: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(mapping)


def say(text: str) -> None:
    """Tell, from within a task, what it is doing: heard where it runs in the study's process."""
    tell = _teller.get()
    if tell is not None:
        tell(text)


@contextmanager
def telling(tell: Callable[[str], None]) -> Iterator[None]:
    """Let tasks be heard."""
    token = _teller.set(tell)
    try:
        yield
    finally:
        _teller.reset(token)


def failed(task: Task, error: BaseException) -> Failure:
    """What a task raised."""
    import traceback

    reason = str(error) if isinstance(error, FundworthyError) else repr(error)
    return Failure(
        task=task.name,
        inputs=task.inputs(),
        reason=reason,
        trace="".join(traceback.format_exception(error)),
    )


def check_tasks(tasks: Iterable[Task]) -> None:
    """Refuse tasks that cannot be told apart, found again or put into a table.

    Raises
    ------
    InputError
        With every task that cannot be used.
    """
    from model.errors import Problem

    problems = []
    seen: set[str] = set()
    for task in tasks:
        if task.name in seen:
            problems.append(Problem(message=f"two tasks are named {task.name!r}", source="tasks"))
        seen.add(task.name)
        function = task.function
        name = getattr(function, "__qualname__", "")
        if "<" in name or not name or getattr(function, "__module__", None) in (None, "__main__"):
            problems.append(
                Problem(
                    message=f"{name or function!r} is no function of a module that a worker can"
                    " import",
                    source=f"task {task.name}",
                    remedy="put it into a module of its own, at the top level",
                )
            )
        if not _TABLE.fullmatch(task.table):
            problems.append(
                Problem(
                    message=f"got table {task.table!r}, small letters, digits and _ are allowed",
                    source=f"task {task.name}",
                )
            )
    if problems:
        raise InputError(problems)


def task_seed(seed: int, name: str) -> np.random.SeedSequence:
    """A seed of its own for a task, keyed by the study's seed and a text.

    It does not depend on how many tasks there are, or in which order.
    """
    key = np.frombuffer(hashlib.sha256(name.encode()).digest()[:16], dtype="<u4")
    return np.random.SeedSequence(seed, spawn_key=tuple(int(word) for word in key))


def _brief(value: object) -> str:
    """An argument on one line, with its shape where it has one."""
    shape = getattr(value, "shape", None)
    if shape:
        return f"{type(value).__name__}{shape}"
    text = " ".join(repr(value).split())
    return f"{text[: SHOWN - 1]}…" if len(text) > SHOWN else text
