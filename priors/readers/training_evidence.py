"""Observations out of a scanned training log, and why some quantities gave none."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from model.errors import InputError
from model.scenario import Scenario, with_values
from priors.observation_reader import MAX_CORRELATION
from priors.readers.dialects import FOUNDRY_WINDOW, Dialect
from priors.readers.flop_conventions import (
    CONVENTIONS,
    contradicts,
    nearest_convention,
    to_model,
)
from priors.readers.found import Draft, Found, Measure, ReadOptions, identifier, refuse
from priors.readers.recovery_evidence import lost_work_evidence, recovery_evidence, rounded
from priors.readers.recovery_marks import Marks
from priors.readers.source import TextSource
from priors.readers.step_analysis import StepLevel, analyse
from priors.readers.step_series import Series

LEVEL_ERROR = 0.03
"""Relative error of a level: that of the shipped published throughputs."""

CORRELATED = 0.3

TELLING_ROWS = 20
"""Fewer rows show no correlation."""

CHECKSUM = 0.01

type Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """A scanned log."""

    source: TextSource
    dialect: Dialect
    series: Series
    marks: Marks


class Account:
    """Collects what a log gives."""

    def __init__(self, log: Log, options: ReadOptions) -> None:
        self.log = log
        self.options = options
        self.drafts: list[Draft] = []
        self.measures: list[Measure] = []
        self.notes: list[str] = []
        self.withheld: list[str] = []
        self.overrides: dict[str, object] = {}
        self.scenario = self._matched()

    def measure(self, name: str, value: float, unit: str, meaning: str = "") -> None:
        """Add one number."""
        self.measures.append(Measure(name=name, value=float(value), unit=unit, meaning=meaning))

    def _matched(self) -> Scenario | None:
        """The scenario with the log's own batch; None where it does not take it."""
        scenario, batches = self.options.scenario, self.log.series.batches
        if scenario is None or not batches:
            return scenario
        [(batch, count)] = batches.most_common(1)
        total = sum(batches.values())
        if count < total:
            self.notes.append(
                f"{total - count} of {total} steps have another batch than {batch} sequences "
                "(a ramp): their times are among the rest"
            )
        if batch == scenario.parallelism.global_batch_seqs:
            return scenario
        self.overrides = {"parallelism.global_batch_seqs": batch}
        try:
            changed = with_values(scenario, {**self.overrides}, source=self.log.source.label)
        except InputError as error:
            self.withheld.append(f"step times: the log's batch does not fit the scenario ({error})")
            return None
        self.notes.append(
            f"the log's batch of {batch} sequences stands in for the scenario's "
            f"{scenario.parallelism.global_batch_seqs}"
        )
        return changed


def evidence_of(log: Log, options: ReadOptions) -> Found:
    """Everything the log says.

    Raises
    ------
    InputError
        If no step has a finite speed.
    """
    account = Account(log, options)
    seconds, unit = _step_seconds(account)
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
    stride = max(1, FOUNDRY_WINDOW // max(1, log.series.interval * log.series.stride))
    return rows[::-1][::stride][::-1]


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
    _observe(account, level, interval, unit=unit, per_token=per_token)
    return level, interval


def _averaged(account: Account) -> float:
    """Steps that a logged time is a mean of."""
    log, series = account.log, account.log.series
    if log.dialect.name == "llm-foundry":
        account.notes.append(
            f"throughput is a rolling mean over {FOUNDRY_WINDOW} batches (Composer's default): one "
            "row a window is used"
        )
        return float(FOUNDRY_WINDOW)
    if log.dialect.name in ("megatron", "torchtitan"):
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
    flops = np.array(series.tflops, dtype=float)
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


def _observe(
    account: Account, level: StepLevel, interval: float, *, unit: str, per_token: float | None
) -> None:
    scenario = account.scenario
    if account.options.scenario is None:
        account.withheld.append(
            "step times: they are those of a plan, and none is named: --scenario"
        )
        return
    if scenario is None:
        return
    if per_token is not None and not _same_job(account, scenario, per_token):
        return
    if unit == "1/(TFLOP/s)":
        _throughput_of_flops(account, scenario)
        return
    common: dict[str, object] = {
        **account.options.place("stack", "fleet"),
        "scenario": account.options.scenario_name,
    }
    if account.overrides:
        common["overrides"] = dict(account.overrides)
    source = f"{account.log.source.label}: {account.log.dialect.title} log"
    running = "RunningAvg" if account.log.dialect.name == "deepspeed" else ""
    if level.rows > 1 and level.sd_s > 0.0:
        raw: dict[str, object] = {
            "id": identifier(account.log.source, "step_times"),
            "kind": "step_times",
            **common,
            "mean_s": rounded(level.mean_s),
            "sd_s": rounded(level.sd_s),
            "count": level.rows,
            "averaging_interval": interval,
            "relative_error": LEVEL_ERROR,
            "source": source,
        }
        if level.rows > TELLING_ROWS and level.correlation > CORRELATED:
            raw["correlation"] = round(min(level.correlation, MAX_CORRELATION), 3)
        if len(level.regimes) > 1:
            raw["regimes"] = [
                {"mean_s": rounded(item.mean_s), "rows": item.rows} for item in level.regimes
            ]
        account.drafts.append(
            Draft(
                raw=raw,
                comments=(
                    f"Mean of {level.rows} rows, spread inside {len(level.regimes)} regime(s); "
                    "warm-up and checkpoint steps left out, other outliers kept.",
                    "relative_error is the model's; levels of regimes and correlation of rows are "
                    "told apart from it.",
                ),
            )
        )
        if running:
            account.notes.append("CurrSamplesPerSec is of the last step before each report")
        if per_token is not None:
            account.notes.append("TFLOP/s say the same as step times and are no second observation")
        return
    tokens = float(scenario.parallelism.global_batch_seqs) * float(scenario.model.seq_len)
    error = math.hypot(LEVEL_ERROR, level.between_sd_s / level.mean_s)
    raw = {
        "id": identifier(account.log.source, "throughput"),
        "kind": "throughput",
        **common,
        "value": rounded(tokens / level.mean_s),
        "unit": "tokens_per_second",
        "relative_error": round(error, 4),
        "source": source,
    }
    comment = f"{level.rows} row(s) without a spread: a level, and no jitter."
    account.drafts.append(Draft(raw=raw, comments=(comment,)))


def _same_job(account: Account, scenario: Scenario, per_token: float) -> bool:
    """Whether the log's FLOPs of a token are the scenario's, by some convention."""
    name, ratio = nearest_convention(scenario, per_token)
    if contradicts(ratio):
        account.withheld.append(
            f"step times: the log counts {per_token:.3g} FLOPs a token, the scenario's model needs "
            f"{per_token / ratio:.3g} ({name}): it is the log of another job; name its own "
            "--scenario"
        )
        return False
    account.notes.append(
        f"TFLOP/s convention: nearest is {name} ({CONVENTIONS[name][0]}), {ratio:.3f} of it"
    )
    logged = float(np.nanmedian(np.array(account.log.series.tflops, dtype=float)))
    share = CONVENTIONS["causal_attention"][1](scenario) / per_token
    account.measure("tflops_model", logged * share, "TFLOP/s", "as this model counts")
    return True


def _throughput_of_flops(account: Account, scenario: Scenario) -> None:
    """TFLOP/s alone: their convention cannot be checked and is stated."""
    convention = account.options.flop_convention or account.log.dialect.convention
    flops = np.array(account.log.series.tflops, dtype=float)
    value = to_model(scenario, float(np.nanmedian(flops)), convention)
    raw: dict[str, object] = {
        "id": identifier(account.log.source, "throughput"),
        "kind": "throughput",
        **account.options.place("stack", "fleet"),
        "scenario": account.options.scenario_name,
        "value": rounded(value),
        "unit": "tflops_per_accelerator",
        "relative_error": LEVEL_ERROR,
        "source": f"{account.log.source.label}: {account.log.dialect.title} log",
    }
    if account.overrides:
        raw["overrides"] = dict(account.overrides)
    comment = f"Read as {convention}: {CONVENTIONS[convention][0]}; given here as the model counts."
    account.drafts.append(Draft(raw=raw, comments=(comment,)))


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
