"""The same formulas on several array engines: what each costs, and whether it gives the same.

One task for all: Π of 2,048 draws at 26 pool sizes, as the search for SEA begins. The formulas are
those of :mod:`model`; PyTensor's graph of them is compiled for each engine, so that there is no
second set. The graph always holds the incomplete gamma function that says whether a spare is free;
NumPy leaves it out where the answer is 1 to the last bit, and so does the second line of an engine.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from model.ledger import productive_accelerators
from model.scaling import CEILING, replan, sampling_grid
from model.scenario import Scenario, substitute
from model.substitution import NEAR
from studies.performance.clock import one_core, processor_time
from studies.performance.core import question_of_reference, study_draws
from studies.performance.figure import Absent, Bench, Figure, Line

if TYPE_CHECKING:
    from pytensor.graph.basic import Variable

DRAWS = 2_048
MANY_DRAWS = 40_960
REPEATS = 15
SAME = 1e-12
"""Relative difference from NumPy up to which an engine gives the same."""

BACKENDS = (("Numba", "numba", "NUMBA"), ("JAX", "jax", "JAX"))
"""Name, module and compilation mode of engines that PyTensor compiles for."""

type Arrays = Sequence[np.ndarray]
type Function = Callable[[Arrays], Any]


def measure(bench: Bench) -> Iterator[Line]:
    """Nanoseconds of one core a Π on each engine, its compilation, its difference from NumPy."""
    del bench
    with one_core():
        few, many = task(DRAWS), task(MANY_DRAWS)
        pieces = [task_of(many[0], slice(i, i + DRAWS)) for i in range(0, MANY_DRAWS, DRAWS)]
        count = DRAWS * np.shape(few[0].parallelism.dp)[1]
        spent = processor_time(lambda: productive_accelerators(many[0]), 5) / (MANY_DRAWS / DRAWS)
        yield _cost(f"NumPy, {MANY_DRAWS:,} draws at once", spent, count)
        spent = processor_time(lambda: [productive_accelerators(piece) for piece in pieces], 5)
        yield _cost("NumPy, in pieces of 2,048", spent / len(pieces), count)
        expected = productive_accelerators(few[0])
        for name, module, mode in BACKENDS:
            if find_spec(module) is None or find_spec("pytensor") is None:
                yield Absent(name=f"Π, {name}", reason=f"{module} is not installed")
                continue
            for label, gamma in (("", True), (", spare free for certain", False)):
                started = time.perf_counter()
                function = compiled(few, mode, gamma=gamma)
                function(few[1])
                if gamma:
                    built = time.perf_counter() - started
                    yield Figure(name=f"compilation, {name}", value=built, unit="s")
                yield from _compare(f"{name}{label}", function, few[1], expected)
        if find_spec("numexpr") is None or find_spec("pytensor") is None:
            yield Absent(name="Π, numexpr", reason="numexpr is not installed")
        else:
            from studies.performance.expressions import evaluator

            inputs, graph = graph_of(few, gamma=False)
            function = evaluator(inputs, graph)
            yield from _compare("numexpr, spare free for certain", function, few[1], expected)


def task(draws: int) -> tuple[Scenario, list[np.ndarray]]:
    """The reference at 26 pool sizes on some draws, and the draws."""
    question, columns = question_of_reference(), study_draws(draws)
    base = int(question.scenario.parallelism.dp)
    sizes = sampling_grid(base, ceiling=CEILING * base)[:NEAR]
    arrays = {path: np.ascontiguousarray(column[:, np.newaxis]) for path, column in columns.items()}
    scenario = replan(substitute(question.scenario, arrays), sizes[np.newaxis, :])
    return scenario, list(arrays.values())


def task_of(scenario: Scenario, rows: slice) -> Scenario:
    """Some draws of a task."""
    paths = study_draws(1)
    return substitute(scenario, {path: scenario.value(path)[rows] for path in paths})


def graph_of(
    given: tuple[Scenario, list[np.ndarray]], *, gamma: bool
) -> "tuple[list[Variable[Any, Any]], Variable[Any, Any]]":
    """Inputs and Π as a PyTensor graph, with the incomplete gamma function or with 1 for it."""
    import pytensor.tensor as pt
    from pytensor.graph.replace import clone_replace
    from pytensor.graph.traversal import ancestors

    inputs = {path: pt.matrix(path, shape=(None, 1)) for path in study_draws(1)}
    graph = productive_accelerators(substitute(given[0], inputs))
    if not gamma:
        certain: dict[Any, Any] = {
            node: pt.constant(np.ones([size or 1 for size in node.type.shape]))
            for node in ancestors([graph])
            if node.owner is not None and "gammaincc" in str(node.owner.op).lower()
        }
        graph = clone_replace(graph, replace=certain)
    return list(inputs.values()), graph


def compiled(given: tuple[Scenario, list[np.ndarray]], mode: str, *, gamma: bool) -> Function:
    """Π compiled in one of PyTensor's modes."""
    import pytensor

    inputs, graph = graph_of(given, gamma=gamma)
    function = pytensor.function(  # type: ignore[attr-defined]
        inputs, graph, mode=mode, on_unused_input="ignore"
    )
    function.trust_input = True
    # JAX returns before it is done: reading the result waits for it.
    return lambda arrays: np.asarray(function(*arrays))


def _compare(
    name: str, function: Function, arrays: Arrays, expected: np.ndarray
) -> Iterator[Figure]:
    found = function(arrays)
    spent = processor_time(lambda: function(arrays), REPEATS)
    yield _cost(name, spent, expected.size)
    difference = float(np.max(np.abs(found / expected - 1.0)))
    yield Figure(name=f"difference, {name}", value=difference, unit="", limit=SAME)


def _cost(name: str, spent: float, count: int) -> Figure:
    return Figure(name=f"Π, {name}", value=spent / count * 1e9, unit="ns")
