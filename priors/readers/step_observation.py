"""The observation of a log's step times, or why it gives none."""

import math

import numpy as np

from model.scenario import Scenario
from priors.observation_reader import MAX_CORRELATION
from priors.readers.flop_conventions import (
    CONVENTIONS,
    contradicts,
    nearest_convention,
    to_model,
)
from priors.readers.found import Draft, identifier
from priors.readers.log_account import Account
from priors.readers.recovery_evidence import rounded
from priors.readers.step_analysis import StepLevel

LEVEL_ERROR = 0.03
"""Relative error of a level: that of the shipped published throughputs."""

CORRELATED = 0.3

TELLING_ROWS = 20
"""Fewer rows show no correlation."""


def observe(
    account: Account, level: StepLevel, interval: float, *, unit: str, per_token: float | None
) -> None:
    """Add the observation of the steps' level and jitter, or say why there is none."""
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
