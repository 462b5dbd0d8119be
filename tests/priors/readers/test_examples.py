"""The example files: what they give, and the session that the README shows."""

from pathlib import Path

import pytest

from priors.read import main as read
from priors.readers.found import options_for
from priors.readers.registry import read_file
from tests.priors.readers.files import REFERENCE, values_of

EXAMPLES = Path(__file__).parents[3] / "examples"
FILES = [str(EXAMPLES / name) for name in ("nccl.txt", "train.log", "jobs.txt")]


@pytest.fixture(scope="module")
def found():
    return {Path(name).name: read_file(name, options_for(REFERENCE)) for name in FILES}


def test_link_example_is_a_plateau_below_the_line_rate(found):
    values = values_of(found["nccl.txt"])
    # Made with 189.9 GB/s of algorithm bandwidth on 16 ranks, 2·15/16 of it on the bus.
    assert values["ranks"] == 16
    assert values["plateau_busbw_gb_per_s"] == pytest.approx(189.9 * 1.875, rel=0.005)
    assert [draft.raw["kind"] for draft in found["nccl.txt"].drafts] == ["link_efficiency"]


def test_training_example_gives_every_kind_that_a_log_can(found):
    values = values_of(found["train.log"])
    # Made with 5.6 s a step, 0.6% jitter a step in rows of ten, saves of 22 s, an NCCL timeout of
    # ten minutes, and two restarts.
    assert values["step_mean_s"] == pytest.approx(5.6, rel=0.002)
    assert values["step_cv_per_step"] == pytest.approx(0.006, rel=0.2)
    assert values["checkpoint_write_mean_s"] == pytest.approx(22.0, rel=0.1)
    assert 590.0 < values["detection_mean_s"] < 660.0
    assert values["resumes"] == 2
    kinds = [draft.raw["kind"] for draft in found["train.log"].drafts]
    assert kinds == ["step_times", "lost_work", "durations", "durations", "durations"]


def test_accounting_example_counts_attempts_of_one_size(found):
    lines = Path(FILES[2]).read_text().splitlines()
    jobs = [line.split("|") for line in lines[1:] if ".batch" not in line]
    counted = [row for row in jobs if row[2] in ("NODE_FAIL", "REQUEUED")]
    values = values_of(found["jobs.txt"])
    assert values["jobs"] == len(jobs)
    assert values["interruptions"] == len(counted)
    assert {row[7] for row in jobs} == {"2048"}


@pytest.mark.slow
def test_session_of_the_readme_ends_in_a_memo_with_the_planners_evidence(
    tmp_path, monkeypatch, capsys
):
    from decision.rank import main as rank
    from reports.memo import main as memo

    monkeypatch.setenv("FUNDWORTHY_CACHE", str(tmp_path / "cache"))
    own, run = tmp_path / "ours.yaml", tmp_path / "run"
    assert read([*FILES, "--scenario", REFERENCE, "--out", str(own)]) == 0
    shown = capsys.readouterr().out
    assert "observation train_step_times" in shown
    arguments = ["--evidence", "published", "--evidence", str(own)]
    assert rank([*arguments, "--draws", "2000", "--quiet", "--out", str(run)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Predictive check:" in text
    # The fleet fails less often than the published ones, which decides the recommendation.
    assert "Leave one out: Without jobs_interruptions" in text
    assert "the recommendation would be" in text
    assert (run / "figures" / "predictive_checks.png").is_file()
    assert memo([str(run)]) == 0
    assert "reference_405b_16k" in (run / "memo.md").read_text()
