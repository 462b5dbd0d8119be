"""The benchmark: verdicts of its figures, and its sections."""

import importlib

import pytest

from studies import benchmark
from studies.performance.figure import Absent, Bench, Figure


@pytest.mark.parametrize(
    ("value", "at_least", "holds"),
    [(59.0, False, True), (61.0, False, False), (61.0, True, True), (59.0, True, False)],
)
def test_figure_holds_on_the_right_side_of_its_limit(value, at_least, holds):
    figure = Figure(name="time", value=value, unit="s", limit=60, at_least=at_least)
    assert figure.holds is holds
    assert ("DOES NOT HOLD" in str(figure)) is not holds


def test_figure_without_a_limit_claims_nothing():
    assert Figure(name="time", value=1.0, unit="s").holds is None
    assert "hold" not in str(Figure(name="time", value=1.0, unit="s"))


@pytest.mark.parametrize("name", benchmark.SECTIONS)
def test_section_names_a_module_that_measures(name):
    assert callable(importlib.import_module(benchmark.SECTIONS[name].module).measure)


def test_unknown_section_exits_2(capsys):
    with pytest.raises(SystemExit, match="2"):
        benchmark.main(["--only", "cor"])
    assert "core" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "status", "printed"),
    [
        (Figure(name="fast", value=1.0, unit="s", limit=2), 0, "at most 2: holds"),
        (Figure(name="slow", value=3.0, unit="s", limit=2), 1, "DOES NOT HOLD"),
        (Absent(name="engine", reason="not installed"), 0, "not installed"),
    ],
)
def test_benchmark_fails_where_a_claim_does(monkeypatch, capsys, line, status, printed):
    monkeypatch.setattr(benchmark, "measure", lambda _section, _bench: iter([line]))
    assert benchmark.main(["--only", "core"]) == status
    assert printed in capsys.readouterr().out


def test_core_section_reports_an_absent_yardstick(monkeypatch, tmp_path):
    from studies.performance import core

    monkeypatch.setattr(core, "RANKING_DRAWS", 64)
    lines = list(core.measure(Bench(folder=tmp_path)))
    assert [type(line) for line in lines] == [Figure, Figure, Absent]
    assert lines[0].value * lines[1].value == pytest.approx(1e6)
