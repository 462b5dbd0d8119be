"""Sizes of jobs and periods of sacct, regimes and lost work of training logs, as evidence."""

import numpy as np
import pytest

from priors.observations import LostWork, StepTimes
from tests.priors.readers.files import REFERENCE, megatron_row, reading

HEADER = "JobID|State|Start|Elapsed|NNodes\n"


def jobs(tmp_path, *rows):
    return reading(tmp_path, HEADER + "\n".join(rows) + "\n", name="jobs.txt", form="sacct")


def test_jobs_of_different_size_are_counted_apart_and_rates_add_up(tmp_path):
    found = jobs(
        tmp_path,
        "1|REQUEUED|2025-01-01T00:00:00|1-00:00:00|100",
        "2|COMPLETED|2025-01-01T00:00:00|2-00:00:00|70",
        "3|REQUEUED|2025-01-01T00:00:00|3-00:00:00|4",
    )
    small, large = found.observations
    assert (small.events, small.node_days, small.nodes_per_job) == (1, 12.0, 4.0)
    # 240 node-days over three job-days: with it node-days and job-days are both exact.
    assert (large.events, large.node_days, large.nodes_per_job) == (1, 240.0, 80.0)


def test_periods_are_told_apart_and_sum_to_the_whole(tmp_path):
    rows = [
        f"{n}|{'REQUEUED' if n % 3 else 'COMPLETED'}|2025-{1 + n % 9:02d}-0{1 + n % 7}T00:00:00"
        "|0-12:00:00|8"
        for n in range(60)
    ]
    [observation] = jobs(tmp_path, *rows).observations
    assert len(observation.periods) >= 4
    assert observation.events == sum(bool(n % 3) for n in range(60))
    assert observation.node_days == pytest.approx(60 * 4.0)


def test_jobs_without_a_start_are_one_period(tmp_path):
    rows = [f"{n}|COMPLETED|Unknown|0-12:00:00|8" for n in range(9)]
    [observation] = jobs(tmp_path, *rows).observations
    assert observation.periods == ()
    assert observation.node_days == 36.0


def test_regimes_and_correlation_of_a_log_stand_in_its_evidence(tmp_path):
    rng = np.random.default_rng(2)
    noise = np.zeros(400)
    for n in range(1, 400):
        noise[n] = 0.7 * noise[n - 1] + rng.standard_normal()
    level = np.where(np.arange(400) < 150, 105_000.0, 111_000.0)
    rows = [megatron_row(n + 1, ms, batch=2048) for n, ms in enumerate(level + 200 * noise)]
    found = reading(tmp_path, "\n".join(rows) + "\n", scenario=REFERENCE)
    [observation] = [item for item in found.observations if isinstance(item, StepTimes)]
    means = [mean for mean, _ in observation.regimes]
    assert means == pytest.approx([105, 111], rel=0.005)
    assert observation.correlation == pytest.approx(0.7, abs=0.1)
    assert observation.relative_error == 0.03
    assert observation.degrees < 0.5 * observation.count


def test_steps_done_again_are_lost_work(tmp_path):
    # Saves every 100 steps of 2 s; the job fails after step 260 and 390, rows of ten steps.
    lines = []
    for attempt, (first, last) in enumerate(((0, 260), (200, 390), (300, 400))):
        for step in range(first + 10, last + 1, 10):
            lines.append(megatron_row(step, 2000.0 + step % 7 + attempt, batch=2048))
            if step % 100 == 0:
                lines.append(f"saved checkpoint at iteration {step:7d} in 3.00 s")
    found = reading(tmp_path, "\n".join(lines) + "\n", scenario=REFERENCE)
    [observation] = [item for item in found.observations if isinstance(item, LostWork)]
    # 200 to 260 and half a row, 300 to 390 and half a row.
    assert observation.values_s == pytest.approx((65 * 2.0, 95 * 2.0), rel=0.01)
    interval = observation.setting.scenario.reliability.checkpoint_interval_s
    assert interval == pytest.approx(200.0, rel=0.01)
    assert observation.resolution_s == pytest.approx(20.0, rel=0.01)


def test_lost_work_without_a_checkpoint_interval_is_withheld(tmp_path):
    steps = (*range(10, 60, 10), 30, 40, 50)
    rows = [megatron_row(step, 2000.0 + n, batch=2048) for n, step in enumerate(steps)]
    found = reading(tmp_path, "\n".join(rows) + "\n", scenario=REFERENCE)
    assert not [item for item in found.observations if isinstance(item, LostWork)]
    assert any("how often checkpoints are saved" in text for text in found.withheld)
