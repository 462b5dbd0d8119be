"""Training logs as frameworks and services of several years lay them out."""

import json

import pytest

from model.errors import InputError
from tests.priors.readers.files import REFERENCE, megatron_row, reading, values_of

MS = [5000.0 + step % 7 for step in range(1, 30)]
MEAN_S = sum(MS) / len(MS) / 1e3


def lines(rows):
    return "\n".join(rows) + "\n"


MEGATRON = {
    "2020, without samples or batch": " iteration {step:8d}/  500000 | elapsed time per iteration"
    " (ms): {ms:.1f} | learning rate 1.5E-04 | lm loss 9.2E+00 | loss scale 131072.0 |",
    "NeoX": "10.0.0.2:  samples/sec: 6.4 | iteration {step:8d}/  320000 | elapsed time per"
    " iteration (ms): {ms:.1f} | learning rate: 2.2E-05 | approx flops per GPU: 41.5TFLOPS |"
    " lm_loss: 1.0E+01 |",
    "tokens per gpu": " iteration {step:8d}/ 99 | consumed samples: 512 | elapsed time per"
    " iteration (ms): {ms:.1f} | global batch size: 512 | lm loss: 1.1E+01 |"
    " samples per second: 4.457 | tokens per gpu per second (tgs): 142.612 | TFLOPs: 41.5 |",
    "no space before the unit, in JSON": '{{"message": "[2024-02-27 15:45:08] iteration {step} /'
    " 118 | consumed samples: 374 | elapsed time per iteration(ms): {ms:.1f} |"
    ' global batch size: 28 | lm loss: 6.2E-01 | TFLOPs: 41.50 | ", "host": "g1"}}',
    "a container's JSON": '{{"log": " iteration {step:8d}/ 118 | elapsed time per iteration (ms):'
    " {ms:.1f} | throughput per GPU (TFLOP/s/GPU): 41.5 | global batch size:   64 | lm loss: 6.2 |"
    '\\n", "stream": "stdout"}}',
    "energy": " [2026-04-06 02:56:00] iteration {step:8d}/ 100 | elapsed time per iteration (ms):"
    " {ms:.1f} | throughput per GPU (TFLOP/s/GPU): 41.5 | energy per GPU (J/iter/GPU): 3120.1 |"
    " power per GPU (W/GPU): 650.2 | global batch size: 128 | lm loss: 1.9E+00 |",
    "instant and mean": "[20251023 12:39:12][rank-63/64][INFO ] [trainer.py:2382] :  iteration"
    " {step:8d}/ 40000 | consumed samples: 27136 | elapsed time per iteration (ms): {ms:.1f}/5003.1"
    " | hip mem usage/free/total/usage_ratio: 253.38GB/2.60GB/255.98GB/98.98% | compute per GPU"
    " (TFLOP/s/GPU): 41.5 (avg 41.9) | tokens/s/GPU inst/harmonic mean: 246.7/238.1 |"
    " global batch size: 64 | lm loss: 4.4E+00 |",
    "a quotation": "> > [default0]: [2025-05-27 15:23:07] iteration {step:8d}/ 24000 | elapsed time"
    " per iteration (ms): {ms:.1f} | throughput per GPU (TFLOP/s/GPU): 41.5 | lm loss: 1.1E+01 |",
    "rank and local rank": "[Rank 0 | Local Rank 0] 2026-04-11 10:00:00,123 INFO [engine:48] =>"
    " iteration {step:8d}/ 100 | elapsed time per iteration (ms): {ms:.1f} | loss: 1.92E+00 |",
    "TFLOP/s on a line before": "main/0 Step Time : 5.00s GPU utilization: 41.5MODEL_TFLOP/s/GPU\n"
    "\nmain/0  [2025-12-22 15:18:33] iteration {step:8d}/ 50 | consumed samples: 25600 | elapsed"
    " time per iteration (ms): {ms:.1f} | global batch size:   512 | lm loss: 8.1E+00 |",
}


@pytest.mark.parametrize("layout", MEGATRON)
def test_megatron_layout(tmp_path, layout):
    text = lines(MEGATRON[layout].format(step=step, ms=ms) for step, ms in enumerate(MS, 1))
    found = reading(tmp_path, text)
    values = values_of(found)
    assert values["step_mean_s"] == pytest.approx(MEAN_S)
    assert "resumes" not in values
    if "41.5" in text:
        assert values["tflops_logged"] == pytest.approx(41.5)


def test_rest_of_a_wrapped_row_has_its_batch(tmp_path):
    text = lines(
        f" iteration {step}/5000 | consumed samples: {8 * step} | elapsed time per iteration (ms):"
        f" {ms:.1f} |\n throughput per GPU (TFLOP/s/GPU): 41.5 | global batch size: 512 |"
        " lm loss: 5 |\n grad norm: 2.5 | number of nan iterations: 0 |"
        for step, ms in enumerate(MS, 1)
    )
    found = reading(tmp_path, text, scenario=REFERENCE)
    assert values_of(found)["step_mean_s"] == pytest.approx(MEAN_S)
    assert values_of(found)["tflops_logged"] == pytest.approx(41.5)
    assert any("batch of 512" in note for note in found.notes)


def test_steps_of_a_ramp_are_not_those_of_its_end(tmp_path):
    ramp = [megatron_row(step, 500.0 + step % 3, batch=16 * step) for step in range(1, 20)]
    rest = [megatron_row(step, 1000.0 + step % 3, batch=512) for step in range(20, 60)]
    found = reading(tmp_path, lines(ramp + rest), scenario=REFERENCE)
    assert values_of(found)["step_mean_s"] == pytest.approx(1.001, abs=1e-3)
    assert "regimes" not in values_of(found)
    assert found.skipped.reasons["steps of another batch than 512 sequences"][0] == 19
    assert found.drafts[0].raw["overrides"] == {"parallelism.global_batch_seqs": 512}


def test_batches_of_a_thinned_log_stay_with_their_steps(tmp_path, monkeypatch):
    from priors.readers import step_series

    monkeypatch.setattr(step_series, "LIMIT", 64)
    rows = [megatron_row(step, 500.0 + step % 3, batch=16) for step in range(1, 90)]
    rows += [megatron_row(step, 1000.0 + step % 3, batch=512) for step in range(90, 250)]
    found = reading(tmp_path, lines(rows))
    assert values_of(found)["step_mean_s"] == pytest.approx(1.001, abs=1e-3)
    assert "regimes" not in values_of(found)


@pytest.mark.parametrize("form", ["{number}:{row}", "[{number}] {row}", "  {number}\t{row}"])
def test_numbers_of_lines_are_no_ranks(tmp_path, form):
    rows = [megatron_row(step, ms) for step, ms in enumerate(MS, 1)]
    text = lines(form.format(number=120 + 7 * n, row=row) for n, row in enumerate(rows))
    found = reading(tmp_path, text)
    assert values_of(found)["step_mean_s"] == pytest.approx(MEAN_S)
    assert found.skipped.reasons == {}
    # Control: numbers that come again are ranks, each with its rows.
    ranks = lines(form.format(number=rank, row=row) for row in rows for rank in range(4))
    assert values_of(reading(tmp_path, ranks))["step_mean_s"] == pytest.approx(MEAN_S)


def test_newest_line_first_is_refused_with_the_way_out(tmp_path):
    text = lines(megatron_row(step, ms) for step, ms in reversed([*enumerate(MS, 1)]))
    with pytest.raises(InputError, match=r"line 2.*from 29 to 28.*tac"):
        reading(tmp_path, text)


def rounded(number):
    """A number as a progress bar prints it: three digits."""
    return f"{number:#.4g}" if number < 1000 else f"{number:.3g}".replace("e+0", "e+")


def bar(count, timing, *, epoch=0, total=2000, step=None):
    shown = rounded(float(count - 1 if step is None else step))
    return (
        f"Epoch {epoch}: :  {count * 100 // total}%|###   | {count}/{total} [1:03:17<9:00:58,"
        f" v_num=, reduced_train_loss=2.600, global_step={shown},"
        f" consumed_samples=1.28e+6, train_step_timing in s={timing:.3f}]"
    )


def test_bars_print_three_digits_of_a_step_and_count_it_exactly(tmp_path):
    text = "\r".join(bar(count, 1.9 + count % 2 / 100) for count in range(980, 1061))
    found = reading(tmp_path, text + "\r")
    assert values_of(found)["step_mean_s"] == pytest.approx(1.905, abs=1e-3)
    assert "resumes" not in values_of(found)
    assert found.skipped.reasons == {}
    assert "mean of 81 rows" in found.measures[0].meaning


def test_bars_count_on_from_epoch_to_epoch(tmp_path):
    first = [bar(count, 1.9, total=1200) for count in range(1180, 1201)]
    second = [bar(count, 1.9, total=1200, epoch=1, step=1199 + count) for count in range(1, 31)]
    found = reading(tmp_path, "\r".join(first + second) + "\r")
    assert "resumes" not in values_of(found)
    assert "mean of 51 rows" in found.measures[0].meaning


def test_bar_that_began_anew_is_told(tmp_path):
    # A job resumed at step 5,000: its bar counts from 1, its global step does not.
    text = "\r".join(bar(count, 1.9, step=4999 + count) for count in range(1, 31))
    found = reading(tmp_path, text + "\r")
    assert "mean of 30 rows" in found.measures[0].meaning
    assert any("three digits" in reason for reason in found.skipped.reasons)


def test_epochs_without_a_global_step_are_no_copies(tmp_path):
    text = lines(
        f"Training epoch {n // 20}, iteration {n % 20}/19 | lr: 3e-05 | train_step_timing in s:"
        f" {5.1 + n % 4 * 0.01:.4g}"
        for n in range(50)
    )
    found = reading(tmp_path, text)
    assert found.skipped.reasons == {}
    assert "mean of 50 rows" in found.measures[0].meaning


def test_nemo_says_its_batch(tmp_path):
    text = lines(
        f"Training epoch 0, iteration {n}/99 | global_batch_size: 512 | global_step: {n} |"
        f" train_step_timing in s: {5.1 + n % 4 * 0.01:.4g}"
        for n in range(30)
    )
    found = reading(tmp_path, text, scenario=REFERENCE)
    assert found.drafts[0].raw["overrides"] == {"parallelism.global_batch_seqs": 512}


def test_bars_without_timing_say_how_to_have_it(tmp_path):
    text = "\r".join(
        f"Epoch 0:   1%|  | {n}/772 [9:07:58<878:01:48, 41.36s/it, loss=3.1, v_num=,"
        f" reduced_train_loss=3.090, global_step={n - 1}.0]"
        for n in range(1, 20)
    )
    with pytest.raises(InputError, match=r"19 steps without train_step_timing.*log_step_timing"):
        reading(tmp_path, text + "\r")


def test_running_averages_are_undone(tmp_path):
    # 128 samples a step; set-up of 4 s in the first steps, then 1.5 s each, as DeepSpeed to 2022
    # averages them: from the third step on.
    text = lines(
        f"[2022-03-11 02:06:58,985] [INFO] [timer.py:189:stop] 0/{step},"
        f" SamplesPerSec={128 * (step - 2) / (1.5 * (step - 2) + 4.0)}, MemAllocated=0.26GB"
        for step in range(10, 200, 10)
    )
    found = reading(tmp_path, text)
    values = values_of(found)
    assert values["samples_per_s"] == pytest.approx(128 / 1.5)
    assert "regimes" not in values
    assert values["step_cv"] == pytest.approx(0.0, abs=1e-9)
    assert any("mean over 10 steps" in note for note in found.notes)


def test_steps_of_an_epoch_go_on_in_the_next(tmp_path):
    # As above, 100 steps an epoch: the average is that of all of them.
    text = lines(
        f"[timer.py:189:stop] {(step - 1) // 100}/{(step - 1) % 100 + 1},"
        f" SamplesPerSec={128 * (step - 2) / (1.5 * (step - 2) + 4.0)}, MemAllocated=0.26GB"
        for step in range(10, 300, 10)
    )
    values = values_of(reading(tmp_path, text))
    assert values["samples_per_s"] == pytest.approx(128 / 1.5)
    assert "resumes" not in values
    assert values["step_cv"] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    "row",
    [
        "steps: {step} loss: 7.1 iter time (s): {s:.3f} samples/sec: 32.8",
        "steps: {step} loss: 7.1 lm loss: 7.0 moe loss: 0.1 iter time (s): {s:.3f} samples/sec: 32",
        "step: {step:>5} / 1000 loss: 7.1 iter time (s): {s:.3f} samples/sec: 32.8 eta: 1h",
        "[INFO] [logging.py:96:log_dist] [Rank 0] step={step}, skipped=0, iter time (s): {s:.3f}",
    ],
)
def test_pipelines_print_the_time_of_a_step(tmp_path, row):
    text = lines(row.format(step=step, s=3.9 + step % 3 / 100) for step in range(10, 200, 10))
    values = values_of(reading(tmp_path, text))
    assert values["step_mean_s"] == pytest.approx(3.91, abs=1e-3)
    assert values["step_cv_per_step"] == pytest.approx(values["step_cv"] * 10**0.5)


def foundry(head, batch, rate, *, size=256):
    return "\n".join(
        (
            head,
            "\t Train time/epoch: 0",
            f"\t Train time/batch: {batch}",
            f"\t Train time/sample: {batch * size}",
            f"\t Train throughput/batches_per_sec: {rate:.4f}",
            f"\t Train throughput/samples_per_sec: {rate * size:.4f}",
            f"\t Train throughput/tokens_per_sec: {rate * size * 2048:.4f}",
        )
    )


FOUNDRY = {
    "tokens": lambda batch: f"[token={batch * 524288}/200000000000]:",
    "epochs": lambda batch: f"[epoch={1 + (batch - 1) // 150}][batch={(batch - 1) % 150 + 1}/150]:",
    "samples": lambda batch: f"[sample={batch * 256}/1024000]:",
}


@pytest.mark.parametrize("head", FOUNDRY)
def test_foundry_run_whose_length_is_in(tmp_path, head):
    text = lines(foundry(FOUNDRY[head](batch), batch, 0.125) for batch in range(1, 401))
    found = reading(tmp_path, text)
    assert values_of(found)["step_mean_s"] == pytest.approx(8.0)
    assert "copies of a step" not in found.skipped.reasons


def test_rates_of_few_digits_give_way_to_samples(tmp_path):
    # 370.37 s a batch prints as 0.0027 a second, which could be 364 to 377 s.
    text = lines(foundry(f"[batch={n}/900]:", n, 1 / 375.3, size=1024) for n in range(1, 401))
    found = reading(tmp_path, text, scenario=REFERENCE)
    assert values_of(found)["step_mean_s"] == pytest.approx(375.3, rel=1e-4)
    assert any("batch of 1024" in note for note in found.notes)


MAXTEXT = {
    "2023": "completed step: {n}, seconds: {s:.3f}, TFLOP/s: 36.722, loss: 2.191",
    "absl": "I0219 19:34:48.976376 136489015797568 metric_logger.py:181] completed step: {n},"
    " seconds: {s:.3f}, TFLOP/s/device: 36.722, Tokens/s/device: 8672.7, total_weights: 196608",
    "a cloud's export": '{{"textPayload": "completed step: {n}, seconds: {s:.3f}, TFLOP/s/device:'
    ' 36.722, loss: 10.374", "timestamp": "2025-01-01T00:00:00Z"}}',
}


@pytest.mark.parametrize("layout", MAXTEXT)
def test_maxtext_layout(tmp_path, layout):
    text = lines(MAXTEXT[layout].format(n=n, s=2.16 + n % 3 / 1000) for n in range(30))
    values = values_of(reading(tmp_path, text))
    assert values["step_mean_s"] == pytest.approx(2.161)
    assert values["tflops_logged"] == pytest.approx(36.722)


def test_export_of_log_entries_may_be_one_line(tmp_path):
    entries = [
        {"textPayload": f"completed step: {n}, seconds: 2.1{n % 3}, TFLOP/s/device: 36.7, loss: 9"}
        for n in range(30)
    ]
    assert values_of(reading(tmp_path, json.dumps(entries) + "\n"))["step_mean_s"] == pytest.approx(
        2.11
    )


SAVES = {
    "a timer of all ranks": "    save-checkpoint ................: (11000.12, 12345.67)",
    "a timer behind its message": "  successfully saved checkpoint from iteration {i} to /c [ t 1/1"
    ", p 1/1 ] (min, max) time across ranks (ms): save-checkpoint ....: (11000.12, 12345.67)",
    "NeMo": "[NeMo I nemo_logging:393] Global Checkpoint Save : Rank: 0 : Iteration: {i} : Start"
    " time: 1735689600.123s : Save duration: 12.34567s",
    "Orbax": "I0219 19:34:48.976376 1364 checkpointer.py:158] Finished synchronous save in 12.34567"
    " seconds to gs://b/{i}",
    "Orbax, all of an asynchronous write": "I0219 19:34:48.976376 1364 async_checkpointer.py:100]"
    " Finished async_save (blocking + background). Time taken: 12.34567s. directory=gs://b/{i}",
    "a word before the time": "INFO: Saving checkpoint took 12.34567 secs",
}


def with_lines(*more, every=10):
    rows = []
    for step in range(1, 41):
        rows.append(megatron_row(step, 1000.0 + step % 3))
        if step % every == 0:
            rows += [line.replace("{i}", str(step)) for line in more]
    return lines(rows)


@pytest.mark.parametrize("layout", SAVES)
def test_save_time_is_read_from(tmp_path, layout):
    found = reading(tmp_path, with_lines(SAVES[layout]))
    assert values_of(found)["checkpoint_write_mean_s"] == pytest.approx(12.34567)
    [draft] = found.drafts
    assert len(draft.raw["values_s"]) == 4


@pytest.mark.parametrize(
    "line",
    [
        "    load-checkpoint ................................: (17352.38, 17353.07)",
        "[titan] Finished loading the checkpoint in 5.00 seconds.",
        "[process=0] [async] Finished blocking save in 1.23 seconds. checkpoint goes on.",
    ],
)
def test_other_times_are_no_save(tmp_path, line):
    assert reading(tmp_path, with_lines(line)).drafts == ()


def test_save_duration_of_a_scheduled_write_is_staging(tmp_path):
    scheduled = "[NeMo I nemo_logging:393] Scheduled async checkpoint save for /c/step={i}.ckpt"
    found = reading(tmp_path, with_lines(SAVES["NeMo"], scheduled))
    assert found.drafts == ()
    assert any("4 printed times" in text for text in found.withheld)


def test_timers_with_a_line_for_each_rank_are_told(tmp_path):
    timers = "times across ranks (ms):\n    save-checkpoint:\n       rank  0: 12000.12"
    found = reading(tmp_path, with_lines(timers))
    assert found.skipped.reasons["save timers with a line for each rank, not read"][0] == 4


def stamped(date, step, level=1000.0):
    return f" [{date}]{megatron_row(step, level + step % 3)}"


@pytest.mark.parametrize("new_year", [False, True])
def test_watchdogs_print_no_year(tmp_path, new_year):
    # The last row at 10:00:20, or at the end of a year; the watchdog ten minutes later.
    date = "2024-12-31 23:5" if new_year else "2025-03-21 10:0"
    rows = [stamped(f"{date}{n // 60}:{n % 60:02d}", n) for n in range(10, 60)]
    clock = "E101 00:00:59.500000000" if new_year else "E321 10:10:59.500000000"
    rows.append(f"[rank0]:[{clock} ProcessGroupNCCL.cpp:607] [Rank 0] Watchdog caught collective")
    found = reading(tmp_path, lines(rows))
    [draft] = [draft for draft in found.drafts if draft.raw.get("quantity") == "detection"]
    last = 59.0
    passed = (9 * 60 + 60 if new_year else 10 * 60) + 59.5 - last
    assert draft.raw["values_s"] == [pytest.approx(passed - 0.5 * 1.002, abs=0.01)]


TRACE = "Traceback (most recent call last):"


def test_error_that_the_job_outlives_is_no_abort(tmp_path):
    rows = [stamped(f"2025-03-21 10:00:{n:02d}", n) for n in range(1, 60)]
    rows[30:30] = ["[2025-03-21 10:00:30,900] wandb: RuntimeError: retrying", TRACE]
    found = reading(tmp_path, lines(rows))
    assert found.drafts == ()
    assert found.skipped.reasons["errors that the job outlived"] == [1, 31]


def test_first_line_with_a_time_tells_when_a_job_aborted(tmp_path):
    rows = [stamped(f"2025-03-21 10:00:{n:02d}", n) for n in range(1, 60)]
    rows += [TRACE, "slurmstepd: error: *** STEP 1.0 ON n1 CANCELLED AT 2025-03-21T10:05:59 ***"]
    rows += [stamped(f"2025-03-21 10:10:{n - 30:02d}", n, 1010.0) for n in range(31, 80)]
    found = reading(tmp_path, lines(rows))
    values = {draft.raw["quantity"]: draft.raw["values_s"] for draft in found.drafts}
    half = 0.5 * 1.002
    assert values["detection"] == [pytest.approx(300.0 - half, abs=0.01)]
    assert values["restart"] == [pytest.approx(242.0 - 1.011, abs=0.01)]
