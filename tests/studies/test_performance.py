"""Sections of the benchmark: the graph of the formulas, its expressions, what is absent."""

import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from model.ledger import productive_accelerators
from studies.mapping import request
from studies.performance import engines, expressions, growth
from studies.performance import map as map_section
from studies.performance.figure import Absent, Bench, Figure

pytest.importorskip("pytensor")


@pytest.fixture(scope="module")
def task():
    return engines.task(32)


def evaluate_with_numpy(text, local_dict, global_dict):
    """What numexpr means by an expression, by NumPy."""
    assert global_dict == {}
    names = {name: getattr(np, name) for name in ("where", "sqrt", "log", "expm1", "exp")}
    return eval(text, {"__builtins__": {}}, {**names, **local_dict})


def test_expressions_of_the_graph_are_the_formulas(task, monkeypatch):
    stand_in = SimpleNamespace(evaluate=evaluate_with_numpy, set_num_threads=lambda count: count)
    monkeypatch.setitem(sys.modules, "numexpr", stand_in)
    inputs, graph = engines.graph_of(task, gamma=False)
    function = expressions.evaluator(inputs, graph)
    # 1e-12: the same operations in another order.
    np.testing.assert_allclose(function(task[1]), productive_accelerators(task[0]), rtol=1e-12)


def test_graph_without_the_gamma_function_holds_none(task):
    from pytensor.graph.traversal import ancestors

    def operations(gamma: bool) -> str:
        _, graph = engines.graph_of(task, gamma=gamma)
        found = {str(node.owner.op).lower() for node in ancestors([graph]) if node.owner}
        return " ".join(sorted(found))

    assert "gammaincc" in operations(True)
    assert "gammaincc" not in operations(False)


def test_unknown_operation_is_named(monkeypatch):
    import pytensor.tensor as pt

    monkeypatch.setitem(
        sys.modules, "numexpr", SimpleNamespace(set_num_threads=lambda count: count)
    )
    x = pt.matrix("x")
    with pytest.raises(expressions.UnknownOperationError, match=r"(?i)gammaincc"):
        expressions.evaluator([x], pt.gammaincc(x, x))


def test_engines_that_are_not_installed_are_named_as_absent(monkeypatch, tmp_path):
    monkeypatch.setattr(engines, "DRAWS", 16)
    monkeypatch.setattr(engines, "MANY_DRAWS", 32)
    monkeypatch.setattr(engines, "find_spec", lambda _: None)
    lines = list(engines.measure(Bench(folder=tmp_path)))
    absent = [line for line in lines if isinstance(line, Absent)]
    assert [line.name for line in absent] == ["Π, Numba", "Π, JAX", "Π, numexpr"]
    assert all("not installed" in str(line) for line in absent)
    assert [type(line) for line in lines[:2]] == [Figure, Figure]


def test_growth_is_measured_over_options_pools_and_draws(monkeypatch, tmp_path):
    monkeypatch.setattr(growth, "DRAWS", 16)
    monkeypatch.setattr(growth, "COUNTS", (8, 16))
    names = [line.name for line in growth.measure(Bench(folder=tmp_path))]
    assert names[0] == "ranking, 1 option"
    assert names[-1] == "ranking, 16 draws"
    assert "ranking, pools up to 4,194,304" in names


def test_map_section_asks_for_the_claimed_sizes(monkeypatch, tmp_path):
    asked = []

    def run(arguments, environment):
        asked.append(arguments)
        return 1.0, 0.5

    monkeypatch.setattr(map_section, "run_command", run)
    monkeypatch.setattr(map_section, "DRAWS", 4)
    few = replace(request.PUBLISHED_ROWS, values=request.PUBLISHED_ROWS.values[:2])
    monkeypatch.setattr(request, "PUBLISHED_ROWS", few)
    lines = list(map_section.measure(Bench(folder=tmp_path)))
    limits = {line.name: line.limit for line in lines if line.limit is not None}
    assert limits == {
        "map, one core": 12,
        "map, 144 cells, two processes": 30,
        "peak memory, 1,000 cells": 1,
    }
    assert all("studies.decision_map" in arguments for arguments in asked)
