"""Training logs of all frameworks, as they come."""

import numpy as np
import pytest

from model.errors import InputError
from priors.observations import Durations, StepTimes, Throughput
from priors.readers import recovery_evidence, recovery_marks
from tests.priors.readers.files import (
    REFERENCE,
    megatron,
    megatron_row,
    reading,
    titan_row,
    values_of,
)

VALUES = [5000.0, 5020.0, 4990.0, 5010.0, 4980.0, 5000.0]


def durations(found, quantity):
    items = [item for item in found.observations if isinstance(item, Durations)]
    return next((item.values_s for item in items if item.quantity == quantity), ())


@pytest.mark.parametrize(
    "shape",
    [
        "[default7]: iteration {n}/ 100 | elapsed time per iteration (ms): {ms:.1f} |",
        "0: iteration {n}/ 100 | elapsed time per iteration (s): {s:.4f} | TFLOPs: 100.0 |",
        "12: [2025-01-01 10:00:00] iteration={n}/9 | elapsed_time_per_iteration_ms={ms:.1f} | a=1",
        "\x1b[32m iteration {n}/ 100 | elapsed time per iteration (ms): {ms:.1f} |\x1b[0m",
        " iteration {n}/ 100 | elapsed time per iteration (ms): {ms:.1f} | lm loss: nan |[Rank 0] "
        "(after 1 iterations) memory (MB) | allocated: 1 |",
        " iteration {n}/ 100 | elapsed time\n per iteration (ms): {ms:.1f} | lr: 1 |",
        " iteration {n}/ 100 | elapsed time per iter\nation (ms): {ms:.1f} | lr: 1 |",
    ],
)
def test_megatron_forks_say_the_same(tmp_path, shape):
    text = "\n".join(shape.format(n=n, ms=ms, s=ms / 1e3) for n, ms in enumerate(VALUES, 1)) + "\n"
    found = values_of(reading(tmp_path, text))
    assert found["step_mean_s"] == pytest.approx(5.0)
    assert found["step_sd_s"] == pytest.approx(np.std(VALUES, ddof=1) / 1e3)


def test_number_wrapped_at_the_edge_of_a_terminal_is_whole(tmp_path):
    text = "".join(
        f" iteration {n}/ 100 | elapsed time per iteration (ms): {int(ms) // 100}\n"
        f"{int(ms) % 100:02d}.0 | lr: 1 |\n"
        for n, ms in enumerate(VALUES, 1)
    )
    assert values_of(reading(tmp_path, text))["step_mean_s"] == pytest.approx(5.0)


def test_rows_glued_on_one_line_are_two(tmp_path):
    text = megatron(VALUES).replace("\n", "", 3)
    assert values_of(reading(tmp_path, text))["step_mean_s"] == pytest.approx(5.0)


def test_elapsed_time_without_unit_is_not_guessed(tmp_path):
    text = "".join(f"iteration {n}/ 9 | elapsed time per iteration: 5.0 |\n" for n in range(1, 5))
    with pytest.raises(InputError, match="without a unit"):
        reading(tmp_path, text)


def test_regimes_are_levels_and_not_jitter(tmp_path):
    rng = np.random.default_rng(1)
    values = [*rng.normal(105_000, 400, 40), *rng.normal(111_000, 400, 60)]
    found = reading(tmp_path, megatron(values))
    got = values_of(found)
    assert got["regimes"] == 2
    # Four standard errors of a mean of 40 are 0.25 s.
    assert got["regime_1_mean"] == pytest.approx(105.0, abs=0.25)
    assert got["regime_2_mean"] == pytest.approx(111.0, abs=0.25)
    # The whole has a spread of 3 s; four standard errors of an sd from 98 are 0.11.
    assert got["step_sd_s"] == pytest.approx(0.4, abs=0.12)


def test_one_regime_stays_one(tmp_path):
    rng = np.random.default_rng(2)
    found = values_of(reading(tmp_path, megatron(rng.normal(5000, 50, 400))))
    assert "regimes" not in found
    # Four standard errors of an sd from 400: 0.14 of it.
    assert found["step_sd_s"] == pytest.approx(0.05, rel=0.14)


def test_outlier_without_a_cause_stays_in_the_spread(tmp_path):
    rng = np.random.default_rng(3)
    values = rng.normal(5000, 20, 60)
    values[37] = 9000
    found = reading(tmp_path, megatron(values))
    assert values_of(found)["step_sd_s"] == pytest.approx(np.std(values, ddof=1) / 1e3, rel=1e-3)
    assert any("kept as jitter" in note for note in found.notes)


def test_checkpoint_steps_are_no_jitter(tmp_path):
    rng = np.random.default_rng(4)
    lines = []
    for n, ms in enumerate(rng.normal(5000, 20, 60), start=1):
        lines.append(megatron_row(n, ms + (20_000 if n in (21, 38) else 0)))
        if n in (20, 37):
            lines.append(f"saving checkpoint at iteration {n:7d} to /ckpt in torch format")
    found = reading(tmp_path, "\n".join(lines) + "\n")
    assert found.skipped.reasons["rows slow for a checkpoint"][0] == 2
    assert values_of(found)["step_sd_s"] < 0.03


def test_regular_slow_steps_are_checkpoints_although_none_is_named(tmp_path):
    values = [5000.0 + n % 3 + (20_000 if n % 10 == 0 else 0) for n in range(1, 51)]
    found = reading(tmp_path, megatron(values))
    assert found.skipped.reasons["rows slow for a checkpoint"][0] == 5


def test_scenario_makes_step_times_evidence(tmp_path):
    found = reading(tmp_path, megatron(VALUES, interval=5, batch=2048), scenario=REFERENCE)
    [item] = found.observations
    assert isinstance(item, StepTimes)
    assert (item.mean_s, item.count, item.averaging_interval) == (5.0, 6, 5.0)
    assert (item.stack, item.fleet) == ("llama3", "mine")
    assert item.setting.known == frozenset()


def test_batch_of_the_log_stands_in_for_the_scenarios(tmp_path):
    found = reading(tmp_path, megatron(VALUES, batch=1024), scenario=REFERENCE)
    assert found.observations[0].setting.scenario.parallelism.global_batch_seqs == 1024
    assert any("1024" in note for note in found.notes)


def test_batch_that_does_not_fit_the_plan_withholds(tmp_path):
    found = reading(tmp_path, megatron(VALUES, batch=64), scenario=REFERENCE)
    assert found.observations == ()
    assert "batch does not fit" in found.withheld[0]


def test_log_of_another_model_withholds(tmp_path):
    found = reading(tmp_path, megatron(VALUES, batch=2048, tflops=30.0), scenario=REFERENCE)
    assert found.observations == ()
    assert "another job" in found.withheld[0]


def test_flop_convention_is_told_and_mapped_to_the_models(tmp_path):
    # The whole attention square on the reference: 6·4.05e11 + 12·126·8192·16384 FLOPs a token,
    # 2048·8192 tokens, 16,384 accelerators, 5 s.
    full = 6 * 4.05e11 + 12 * 126 * 8192 * 16384
    tflops = full * 2048 * 8192 / 16384 / 5.0 / 1e12
    text = megatron(VALUES, batch=2048, tflops=round(tflops, 1))
    found = reading(tmp_path, text, scenario=REFERENCE)
    half = full - 6 * 126 * 8192 * 16384
    # Rounded to 0.1 of about 540.
    assert values_of(found)["tflops_model"] == pytest.approx(tflops * half / full, rel=1e-3)
    assert any("full_attention" in note for note in found.notes)


def test_titan_ranks_colours_and_commas(tmp_path):
    rows = [titan_row(s, 5800 + s, rank=r, mfu="N/A") for s in (10, 20, 30, 40) for r in range(3)]
    found = reading(tmp_path, "\r\n".join(rows) + "\r\n")
    assert values_of(found)["device_tokens_per_s"] == 5825
    assert found.skipped.reasons["rows of other ranks than [rank0]:"][0] == 8


def test_titan_of_older_releases_prints_wps(tmp_path):
    text = "".join(titan_row(s, 5000).replace("tps:", "wps:") + "\n" for s in (1, 2, 3))
    assert values_of(reading(tmp_path, text))["device_tokens_per_s"] == 5000


def test_nemo_keys_with_spaces_and_first_step(tmp_path):
    rows = [
        f"Training epoch 0, iteration {n}/249 | lr: 1e-6 | global_step: {n} |"
        f" reduced_train_loss: 1.3 | train_step_timing in s: {s} | consumed_samples: 16"
        for n, s in enumerate((7.126, 2.505, 2.515, 2.510))
    ]
    found = values_of(reading(tmp_path, "\n".join(rows) + "\n"))
    assert found["step_mean_s"] == pytest.approx(2.510)


def test_nemo_bars_repeat_a_step_that_counts_once(tmp_path):
    bar = "Epoch 0: :  1%|x| {n}/99 [00:0{n}<05:00, global_step={n}.0, train_step_timing in s={s}]"
    text = "\r".join(bar.format(n=n, s=s) for n, s in ((1, 3.1), (1, 3.1), (2, 3.2), (3, 3.3)))
    found = reading(tmp_path, text + "\r")
    assert values_of(found)["step_mean_s"] == pytest.approx(3.2)
    assert found.skipped.reasons["copies of a step"][0] == 1


def test_deepspeed_infinite_rate_is_told(tmp_path):
    row = "[t] epoch=0/global_step={n}, RunningAvgSamplesPerSec=9, CurrSamplesPerSec={v}, M"
    rates = ("-inf", 200.0, 210.0, 190.0)
    text = "\n".join(row.format(n=n, v=v) for n, v in enumerate(rates, 1)) + "\n"
    found = reading(tmp_path, text, scenario=REFERENCE)
    # 2048 sequences a step: the mean of 2048/200, 2048/210, 2048/190.
    assert values_of(found)["step_mean_s"] == pytest.approx(
        2048 * (1 / 200 + 1 / 210 + 1 / 190) / 3
    )
    assert found.skipped.reasons["samples not a finite number"] == [1, 1]


def test_maxtext_asynchronous_dispatch_is_warm_up(tmp_path):
    seconds = (20.1, 0.2, 3.10, 3.00, 3.05, 3.05)
    text = "".join(
        f"completed step: {n}, seconds: {s}, TFLOP/s/device: 40.0, Tokens/s/device: 1.0, loss: 9\n"
        for n, s in enumerate(seconds)
    )
    found = reading(tmp_path, text)
    assert values_of(found)["step_mean_s"] == pytest.approx(3.05)
    assert found.skipped.reasons["rows after a start, as warm-up"][0] == 2


def test_foundry_rolling_means_are_used_once_a_window(tmp_path):
    text = "".join(
        f"[batch={n}/900]:\n\t Train time/batch: {n}\n"
        + (f"\t Train throughput/batches_per_sec: {0.1 + n // 100 / 1000:.4f}\n" if n > 99 else "")
        for n in range(1, 501)
    )
    found = reading(tmp_path, text, scenario=REFERENCE)
    assert found.observations[0].count == 5
    assert found.observations[0].averaging_interval == 100


def test_values_that_are_no_numbers_drop_their_row_and_are_counted(tmp_path):
    text = (
        megatron(VALUES).replace("5010.0", "nan").replace("4980.0", "-inf").replace("4990.0", "N/A")
    )
    found = reading(tmp_path, text)
    assert values_of(found)["step_mean_s"] == pytest.approx((5.0 + 5.02 + 5.0) / 3)
    assert found.skipped.reasons["elapsed time not a finite number"] == [3, 3]


def test_zero_times_are_no_steps(tmp_path):
    text = "".join(
        f"iteration {n}/ 9 | elapsed time per iteration (ms): 0.0 |\n" for n in (1, 2, 3)
    )
    with pytest.raises(InputError, match="zero or less"):
        reading(tmp_path, text)


@pytest.mark.parametrize(
    ("printed", "reason"),
    [("0.0", "TFLOP/s of zero or less"), ("1e-320", "TFLOP/s outside 1e-12 to 1e+18")],
)
def test_tflops_that_cannot_be_leave_the_times_alone(tmp_path, printed, reason):
    text = megatron(VALUES)
    told = text.replace("|\n", f"| throughput per GPU (TFLOP/s/GPU): {printed} |\n")
    found = reading(tmp_path, told)
    assert "tflops_logged" not in values_of(found)
    assert values_of(found)["step_mean_s"] == values_of(reading(tmp_path, text))["step_mean_s"]
    assert found.skipped.reasons[reason][0] == len(VALUES)


def test_save_timers_are_checkpoint_writes(tmp_path):
    rows = megatron(VALUES).splitlines()
    old = " save-checkpoint: 12000.5 | other: 1.0"
    new = "    save-checkpoint ................................: (17332.36, 17332.50)"
    text = "\n".join([*rows[:2], f"time (ms) |{old}", *rows[2:4], new, *rows[4:]]) + "\n"
    assert durations(reading(tmp_path, text), "checkpoint_write") == (12.0005, 17.3325)


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("in 3.12 seconds", 3.12),
        ("took 1 m 30 s", 90.0),
        ("in 0:02:05", 125.0),
        ("in 250 ms", 0.25),
        ("in 12.5", None),
    ],
)
def test_save_times_in_words_need_a_unit(tmp_path, said, seconds):
    text = megatron(VALUES) + f"Finished saving the checkpoint {said}.\n"
    expected = () if seconds is None else (seconds,)
    assert durations(reading(tmp_path, text), "checkpoint_write") == expected


def test_staging_is_no_write(tmp_path):
    text = (
        megatron(VALUES)
        + "Finished saving the checkpoint (or staging if async is enabled)in 3 s.\n"
    )
    found = reading(tmp_path, text)
    assert durations(found, "checkpoint_write") == ()
    assert any("staging" in text for text in found.withheld)


def test_gaps_around_an_abort_are_detection_and_restart(tmp_path):
    rows = [
        megatron_row(n, 5000.0 + n, prefix=f"[2025-01-01 10:00:{5 * n:02d}]") for n in (1, 2, 3)
    ]
    abort = (
        "[rank3]:[E 2025-01-01 10:10:17,500 ProcessGroupNCCL] Watchdog caught collective timeout"
    )
    again = [megatron_row(n, 5001.0 + n, prefix=f"[2025-01-01 10:2{n}:00]") for n in (2, 3, 4)]
    found = reading(tmp_path, "\n".join([*rows, abort, *again]) + "\n")
    # The last step ended at 10:00:15; the failure was at any moment of the next five seconds.
    assert durations(found, "detection")[0] == pytest.approx(602.5 - 2.5, abs=0.01)
    # From 10:10:17.5 to the end of the first new step at 10:22:00, less that step's five seconds.
    assert durations(found, "restart")[0] == pytest.approx(702.5 - 5.0, abs=0.01)


def test_abort_without_a_clock_gives_no_duration(tmp_path):
    text = megatron(VALUES[:3]) + "Traceback (most recent call last):\n" + megatron(VALUES, first=2)
    found = reading(tmp_path, text)
    assert durations(found, "detection") == ()
    assert found.skipped.reasons["aborts without a time"] == [1, 4]


def test_rate_alone_is_a_throughput_where_steps_do_not_vary(tmp_path):
    found = reading(tmp_path, megatron([5000.0] * 4, batch=2048), scenario=REFERENCE)
    [item] = found.observations
    assert isinstance(item, Throughput)
    assert item.value == pytest.approx(2048 * 8192 / 5.0, rel=1e-5)


def test_log_without_steps_is_refused_with_the_reason(tmp_path):
    with pytest.raises(InputError, match="no step with a time"):
        reading(tmp_path, "iteration 3/ 9 | loss: 1 |\n" * 3, form="megatron")


def test_resume_is_seen_although_coarse_times_repeat(tmp_path):
    row = "iteration {n}/ 9999 | elapsed time per iteration (s): {s} | TFLOPs: 1.0 |"
    before = [row.format(n=n, s="10.1") for n in (3860, 3865, 3870, 3875)]
    again = [row.format(n=n, s=s) for n, s in ((3860, "10.1"), (3865, "10.1"), (3870, "10.2"))]
    found = values_of(reading(tmp_path, "\n".join(before + again) + "\n"))
    assert found["lost_steps"] == 15


def test_copies_without_a_prefix_are_no_resume(tmp_path):
    rows = [row for n in range(1, 9) for row in [megatron_row(n, 5000.0 + n)] * 3]
    found = reading(tmp_path, "\n".join(rows) + "\n")
    assert "resumes" not in values_of(found)
    assert found.skipped.reasons["copies of a step"] == [16, 2]


def test_titan_validation_is_no_step(tmp_path):
    rows = [titan_row(step, 5000 + step) for step in (10, 20, 30)]
    validation = titan_row(20, 900).replace("step:", "validate step:")
    text = "\n".join([*rows[:2], validation, rows[2]]) + "\n"
    assert values_of(reading(tmp_path, text))["device_tokens_per_s"] == 5020


def test_rows_that_ranks_glued_keep_their_own_values(tmp_path):
    rows = [titan_row(step, 5000 + step, rank=0) for step in (10, 20, 30, 40)]
    torn = rows[1][: rows[1].index("tps")]
    text = "\n".join([rows[0], torn + rows[2], rows[3]]) + "\n"
    found = reading(tmp_path, text)
    assert values_of(found)["device_tokens_per_s"] == 5030
    assert found.skipped.reasons["steps cut by another row"] == [1, 2]
    glued = reading(tmp_path, "\n".join([rows[0] + rows[1], *rows[2:]]) + "\n")
    assert values_of(glued)["device_tokens_per_s"] == 5025


def saved(times, *, prefix=""):
    return "".join(f"{prefix}time (ms) | save-checkpoint: {1e3 * value:.1f} |\n" for value in times)


def test_save_times_beyond_what_is_kept_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(recovery_marks, "MOST_SAVES", 2)
    found = reading(tmp_path, megatron(VALUES) + saved([10.0, 11.0, 12.0, 13.0]))
    assert durations(found, "checkpoint_write") == (10.0, 11.0)
    assert found.skipped.reasons["save times of a rank beyond the first 2"][0] == 2


def test_ranks_beyond_what_is_kept_are_counted_and_known_ones_go_on(tmp_path, monkeypatch):
    monkeypatch.setattr(recovery_marks, "MOST_RANKS", 1)
    text = "".join(
        saved([time], prefix=f"[rank{rank}]: ") for rank, time in ((0, 10.0), (1, 99.0), (0, 11.0))
    )
    found = reading(tmp_path, megatron(VALUES, prefix="[rank0]: ") + text)
    assert durations(found, "checkpoint_write") == (10.0, 11.0)
    assert found.skipped.reasons["save times of ranks beyond the first 1"][0] == 1


def test_work_lost_in_more_resumes_than_are_listed_is_spread_evenly(tmp_path, monkeypatch):
    monkeypatch.setattr(recovery_evidence, "MOST_DURATIONS", 3)
    # Resumes that lose 1, 2, 3, 4 and 5 steps of 5 s: of five three are listed.
    text, last = megatron([5000.0] * 10), 10
    for lost in (1, 2, 3, 4, 5):
        text += megatron([5000.0 + lost] * 10, first=last - lost)
        last += 9 - lost
    text += "saving checkpoint at iteration 10\nsaving checkpoint at iteration 20\n"
    found = reading(tmp_path, text, scenario=REFERENCE)
    [draft] = [one for one in found.drafts if one.raw["kind"] == "lost_work"]
    assert len(draft.raw["values_s"]) == 3
    assert draft.raw["values_s"][-1] - draft.raw["values_s"][0] == pytest.approx(20.0, rel=0.01)
    assert "3 of 5, evenly." in draft.comments
