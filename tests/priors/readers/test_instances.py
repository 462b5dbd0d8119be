"""The real numbers at the end of the format notes, each as a small file."""

import math

import pytest

from tests.priors.readers.files import (
    MEGATRON_MS,
    MEGATRON_TFLOPS,
    NCCL_16,
    NCCL_24,
    REFERENCE,
    SACCT,
    megatron,
    megatron_row,
    reading,
    values_of,
)


def test_megatron_nine_iterations_give_mean_spread_and_checksum(tmp_path):
    rows = zip(MEGATRON_MS, MEGATRON_TFLOPS, strict=True)
    text = "\n".join(megatron_row(n, ms, tflops=t) for n, (ms, t) in enumerate(rows, start=11))
    found = values_of(reading(tmp_path, text))
    # The stated values have one decimal in ms.
    assert found["step_mean_s"] == pytest.approx(5.6180, abs=5e-5)
    assert found["step_sd_s"] == pytest.approx(0.1865, abs=5e-5)
    assert found["step_tflop"] == pytest.approx(1306, abs=0.5)


def test_ten_iteration_means_leave_the_first_out_and_undo_the_averaging(tmp_path):
    # Eight values with mean 2745.7 and sd 19.4, alternating about the mean.
    half = 19.4 * math.sqrt(7 / 8)
    values = [5837.9] + [2745.7 + half * (-1) ** n for n in range(8)]
    found = values_of(reading(tmp_path, megatron(values, first=10, interval=10)))
    assert found["step_mean_s"] == pytest.approx(2.7457, rel=1e-4)
    # Rows are printed to 0.1 ms, which moves the spread of 19.4 by up to 0.3%.
    assert found["step_cv"] == pytest.approx(19.4 / 2745.7, rel=3e-3)
    assert found["step_cv_per_step"] == pytest.approx(found["step_cv"] * math.sqrt(10))


def test_nccl_plateau_is_not_the_maximum(tmp_path):
    found = reading(tmp_path, NCCL_24, scenario=REFERENCE)
    values = values_of(found)
    assert values["plateau_busbw_gb_per_s"] == pytest.approx(5.3, abs=0.05)
    assert values["ranks"] == 24
    [observation] = found.observations
    # 8 cards of 400 Gb/s a node are 400 GB/s.
    assert observation.mean == pytest.approx(5.3 / 400, rel=0.01)
    assert any("29.5" in note or "28.8" in note for note in found.notes)


def test_nccl_beyond_line_rate_is_reported_and_not_clamped(tmp_path):
    found = reading(tmp_path, NCCL_16, nic_gbps=400.0, accelerators_per_node=8)
    values = values_of(found)
    assert values["ranks"] == 16
    assert values["of_line_rate"] == pytest.approx(1.218, abs=5e-4)
    assert found.observations == ()
    assert any("1.218" in text for text in found.withheld)


def test_sacct_requeues_are_four_interruptions_with_their_uptime(tmp_path):
    found = reading(tmp_path, SACCT)
    values = values_of(found)
    assert values["interruptions"] == 4
    assert values["mean_uptime_s"] == pytest.approx(4159.25)
    [observation] = found.observations
    assert observation.counts == "job_interruption"
    assert observation.events == 4
    assert observation.node_days == pytest.approx(16 * (4 * 4159.25 + 86400) / 86400, rel=1e-5)


def test_resumed_run_has_lost_at_least_seventy_steps(tmp_path):
    steps = (3865, 3870, 3875, 3805, 3810)
    text = "\n".join(megatron_row(step, 5000.0 + step % 7) for step in steps) + "\n"
    found = reading(tmp_path, text)
    assert values_of(found)["lost_steps"] == 70
    assert values_of(found)["resumes"] == 1
    assert any("line 4" in note for note in found.notes)
