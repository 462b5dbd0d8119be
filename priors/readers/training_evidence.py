"""Observations out of a scanned training log, and why some quantities gave none."""

import math

import numpy as np
from numpy.typing import NDArray

from priors.readers.found import Found, ReadOptions, refuse
from priors.readers.foundry import WINDOW
from priors.readers.log_account import Account, Log
from priors.readers.recovery_evidence import lost_work_evidence, recovery_evidence
from priors.readers.step_analysis import StepLevel, analyse
from priors.readers.step_observation import CORRELATED, TELLING_ROWS, observe

CHECKSUM = 0.01

type Floats = NDArray[np.float64]


def evidence_of(log: Log, options: ReadOptions) -> Found:
    """Everything the log says.

    Raises
    ------
    InputError
        If no step has a finite speed.
    """
    account = Account(log, options)
    seconds, unit = _step_seconds(account)
    seconds = _of_one_batch(account, seconds)
    level, interval = _read_steps(account, seconds, _rows(log, seconds), unit)
    _resumes(account, level.mean_s if unit == "s" else None, interval)
    drafts, measures, withheld = recovery_evidence(
        log.marks, log.source, log.dialect.title, options
    )
    account.drafts += drafts
    account.measures += measures
    account.withheld += withheld
    return Found(
        format=log.dialect.name,
        source=log.source.label,
        drafts=tuple(account.drafts),
        measures=tuple(account.measures),
        skipped=log.dialect.skipped,
        notes=tuple(account.notes),
        withheld=tuple(account.withheld),
    )


def _rows(log: Log, seconds: Floats) -> NDArray[np.intp]:
    """Rows with a time that stand for themselves: with rolling means, one a window."""
    rows = np.flatnonzero(np.isfinite(seconds))
    if log.dialect.name != "llm-foundry":
        return rows
    stride = max(1, WINDOW // max(1, log.series.interval * log.series.stride))
    return rows[::-1][::stride][::-1]


def _of_one_batch(account: Account, seconds: Floats) -> Floats:
    """Times of the steps of the usual batch: those of a ramp towards it say nothing of it."""
    series = account.log.series
    sizes = np.array(series.sizes, dtype=np.int64)
    others = (sizes != 0) & (sizes != series.batch) & np.isfinite(seconds)
    if not others.any():
        return seconds
    account.log.dialect.skipped.add(
        f"steps of another batch than {series.batch} sequences", 0, int(others.sum())
    )
    return np.where(others, np.nan, seconds)


def _step_seconds(account: Account) -> tuple[Floats, str]:
    """Seconds a step of each row, and their unit: relative where the scenario is needed for it."""
    series, scenario = account.log.series, account.scenario
    seconds = np.array(series.seconds, dtype=float)
    if np.isfinite(seconds).any():
        return seconds, "s"
    rates = np.array(series.rates, dtype=float)
    if not np.isfinite(rates).any():
        rates = np.array(series.tflops, dtype=float)
        return 1.0 / rates, "1/(TFLOP/s)"
    if scenario is None:
        return 1.0 / rates, f"1/({series.rate_kind} per second)"
    amount = float(scenario.parallelism.global_batch_seqs)
    if series.rate_kind != "samples":
        amount *= float(scenario.model.seq_len)
    if series.rate_kind == "device_tokens":
        amount /= float(scenario.world)
    account.notes.append(
        f"a step's time is {amount:g} {series.rate_kind.replace('_', ' ')} of the scenario over "
        "the log's rate"
    )
    return amount / rates, "s"


def _read_steps(
    account: Account, seconds: Floats, rows: NDArray[np.intp], unit: str
) -> tuple[StepLevel, float]:
    """Level of the steps, and how many of them a row averages."""
    log, series = account.log, account.log.series
    steps = np.array(series.steps, dtype=np.int64)[rows]
    starts = sorted({int(np.searchsorted(rows, start)) for start in series.starts})
    starts = [start for start in starts if start < rows.size] or [0]
    if starts[0] != 0:
        starts = [0, *starts]
    level = analyse(steps.tolist(), seconds[rows].tolist(), starts, sorted(log.marks.saves))
    if level is None:
        raise refuse(log.source, 0, f"no step has a finite speed; {log.dialect.skipped}")
    interval = _averaged(account)
    if unit == "s":
        account.measure("step_mean_s", level.mean_s, "s", f"mean of {level.rows} rows")
        account.measure("step_sd_s", level.sd_s, "s", "inside regimes")
    account.measure("step_cv", level.sd_s / level.mean_s, "1", "sd over mean of logged rows")
    account.measure(
        "step_cv_per_step",
        level.sd_s / level.mean_s * math.sqrt(interval),
        "1",
        f"of single steps if independent: rows average {interval:g}",
    )
    _describe(account, level, interval, unit)
    per_token = _flops_per_token(account, seconds)
    observe(account, level, interval, unit=unit, per_token=per_token)
    return level, interval


def _averaged(account: Account) -> float:
    """Steps that a logged time is a mean of."""
    log, series = account.log, account.log.series
    if log.dialect.name == "llm-foundry":
        account.notes.append(
            f"throughput is a rolling mean over {WINDOW} batches (Composer's default): one "
            "row a window is used"
        )
        return float(WINDOW)
    if log.dialect.averages:
        return float(max(1, series.interval))
    return 1.0


def _describe(account: Account, level: StepLevel, interval: float, unit: str) -> None:
    log = account.log
    if interval > 1:
        account.notes.append(
            f"each row is a mean over {interval:g} steps: a single step varies "
            f"{math.sqrt(interval):.2f} times as much if steps are independent"
        )
    if log.series.stride > 1:
        account.notes.append(f"one row in {log.series.stride} of {log.series.rows} is used")
    for count, what in (
        (level.warm_up, "rows after a start, as warm-up"),
        (level.checkpoint_steps, "rows slow for a checkpoint"),
    ):
        if count:
            log.dialect.skipped.add(what, 0, count)
    if level.outliers:
        account.notes.append(f"{level.outliers} slow rows without a known cause are kept as jitter")
    if len(level.regimes) > 1:
        shown = ", ".join(
            f"{item.mean_s:.4g} {unit} (steps {item.first_step} to {item.last_step})"
            for item in level.regimes[:8]
        )
        account.notes.append(
            f"{len(level.regimes)} regimes: {shown}; the spread is that inside them"
        )
        account.measure("regimes", len(level.regimes), "1")
        for place, item in enumerate(level.regimes[:8], start=1):
            account.measure(f"regime_{place}_mean", item.mean_s, unit, f"{item.rows} rows")
    if level.correlation > CORRELATED and level.rows > TELLING_ROWS:
        account.notes.append(
            f"successive rows are correlated ({level.correlation:.2f}): steps are not independent, "
            "and their spread tells less than its count"
        )


def _flops_per_token(account: Account, seconds: Floats) -> float | None:
    """FLOPs of a token as the log counts them, where it prints TFLOP/s beside a speed."""
    series, scenario = account.log.series, account.scenario
    flops = np.where(np.isfinite(seconds), np.array(series.tflops, dtype=float), np.nan)
    if np.isfinite(flops).any():
        value = float(np.nanmedian(flops))
        account.measure("tflops_logged", value, "TFLOP/s", "an accelerator, the log's convention")
    rates = np.array(series.rates, dtype=float)
    if series.rate_kind and np.isfinite(rates).any():
        name = f"{series.rate_kind}_per_s"
        account.measure(name, float(np.nanmedian(rates)), "1/s", "median of logged rows")
    if series.rate_kind == "device_tokens":
        ratios = flops * 1e12 / rates
        ratios = ratios[np.isfinite(ratios)]
        return float(np.median(ratios)) if ratios.size else None
    products = flops * seconds
    products = products[np.isfinite(products)]
    if not products.size or not np.isfinite(np.array(series.seconds, dtype=float)).any():
        return None
    product = float(np.median(products))
    account.measure(
        "step_tflop", product, "TFLOP", "an accelerator and step: time × TFLOP/s, a checksum"
    )
    spread = float(np.max(np.abs(products / product - 1.0)))
    if spread > CHECKSUM:
        account.notes.append(
            f"time × TFLOP/s varies by up to {spread:.1%}: batches differ, or a row is damaged"
        )
    if scenario is None:
        return None
    tokens = float(scenario.parallelism.global_batch_seqs) * float(scenario.model.seq_len)
    return product * 1e12 * float(scenario.world) / tokens


def _resumes(account: Account, step_s: float | None, interval: float) -> None:
    resumes = account.log.series.resumes
    if not resumes:
        return
    lost = sum(item.lost_steps for item in resumes)
    account.measure("resumes", len(resumes), "1", "times the job went on from an earlier step")
    account.measure("lost_steps", lost, "steps", "at least: done again after a resume")
    first = resumes[0]
    account.notes.append(
        f"line {first.line}: step {first.last_step} is followed by {first.first_step}: at least "
        f"{first.lost_steps} steps lost"
        + (f"; {lost} in {len(resumes)} resumes" if len(resumes) > 1 else "")
    )
    if step_s is None:
        return
    drafts, withheld = lost_work_evidence(
        [item.lost_steps for item in resumes],
        account.log.marks,
        account.log.source,
        account.log.dialect.title,
        account.options,
        step_s=step_s,
        interval=interval,
    )
    account.drafts += drafts
    account.withheld += withheld
