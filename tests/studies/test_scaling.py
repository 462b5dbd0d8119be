"""The scaling section of the benchmark: small, its figures and their claims."""

import pytest

from studies.performance import scaling
from studies.performance.figure import Bench, Figure


@pytest.mark.slow
def test_scaling_measures_every_size_and_finds_the_same_tables(monkeypatch, tmp_path) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(scaling, "STUDY_S", 0.05)
    monkeypatch.setattr(scaling, "DRAWS_OF_TASK", 512)
    monkeypatch.setattr(scaling, "WORKERS", (1, 2))
    figures = {line.name: line for line in scaling.measure(Bench(folder=tmp_path))}
    assert {"1 process", "2 processes", "1 Dask worker", "2 Dask workers"} <= figures.keys()
    assert figures["tables that differ"].holds
    (again,) = (figure for name, figure in figures.items() if "run again" in name)
    assert isinstance(again, Figure)
    assert again.value >= 1
    assert again.holds


@pytest.mark.parametrize(
    ("engine", "jobs", "ratio", "holds"),
    [("dask", 2, 0.55, True), ("dask", 2, 0.65, False), ("dask", 4, 0.9, None)],
)
def test_ratio_is_claimed_of_two_dask_workers(monkeypatch, engine, jobs, ratio, holds) -> None:
    monkeypatch.setattr("joblib.cpu_count", lambda: 2)
    assert scaling.ratio_of(engine, jobs, ratio).holds is holds


def test_blocks_do_not_depend_on_each_other() -> None:
    question = scaling.question_of_reference()
    one, again, other = (scaling.rank_block(seed, 64, question) for seed in (1, 1, 2))
    assert one.equals(again)
    assert not one.equals(other)
    assert one["first"].sum() == 64
