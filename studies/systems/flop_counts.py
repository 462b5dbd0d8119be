"""Seconds of a step out of what was reported, whatever FLOPs the report counts.

A rate of FLOP/s is seconds only under a convention. Where the convention is not stated every
common one is an alternative; a row is usable where they differ by little.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from studies.systems.rows import SystemRow

type Count = Callable[[SystemRow], float]

_NEEDED = ("n_params", "n_layers", "hidden", "seq_len")


def _parameters(row: SystemRow) -> float:
    return 6.0 * row.numbers["n_params"]


def _attention(row: SystemRow) -> float:
    """Attention of a token over the whole square, forward and backward."""
    return 12.0 * row.numbers["n_layers"] * row.numbers["seq_len"] * row.numbers["hidden"]


def _logits(row: SystemRow) -> float:
    return 6.0 * row.numbers["hidden"] * row.numbers["vocab"]


def _layers(row: SystemRow) -> float:
    """Dense layers of a token, 72·L·h²: 12 h² parameters a layer, 6 FLOPs each."""
    return 72.0 * row.numbers["n_layers"] * row.numbers["hidden"] ** 2


def _megatron_2021(row: SystemRow) -> float:
    """96·L·h²·(1 + s/6h + V/16Lh) a token: full recomputation repeats the forward pass."""
    return 4.0 / 3.0 * (_layers(row) + _attention(row)) + _logits(row)


CONVENTIONS: dict[str, Count] = {
    "6N": _parameters,
    "6N + causal attention": lambda row: _parameters(row) + _attention(row) / 2.0,
    "6N + full attention": lambda row: _parameters(row) + _attention(row),
    "layers + full attention + logits": lambda row: _layers(row) + _attention(row) + _logits(row),
    "8N": lambda row: 4.0 / 3.0 * _parameters(row),
    "with recomputation": lambda row: 4.0 / 3.0 * (_parameters(row) + _attention(row)),
    "Megatron 2021, with recomputation": _megatron_2021,
}
"""FLOPs of a token by convention."""

UNSTATED_MODEL = ("6N", "6N + causal attention", "6N + full attention")
UNSTATED = (*UNSTATED_MODEL, "with recomputation")

_DAY_S = 86400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Seconds:
    """Seconds of a step under each convention that the report may mean.

    Parameters
    ----------
    values
        By convention, equally likely; empty where nothing can be made of the report.
    reason
        Why there are none.
    """

    values: dict[str, float]
    reason: str = ""

    @property
    def spread(self) -> float:
        """Largest over smallest, minus one."""
        return max(self.values.values()) / min(self.values.values()) - 1.0


def seconds_of(row: SystemRow) -> Seconds:
    """Read the seconds of a step out of a row."""
    stated = row.number("seconds_per_step")
    if stated is not None:
        return Seconds(values={"seconds as printed or derived": stated})
    reported = row.number("reported")
    if reported is None:
        return Seconds(values={}, reason="neither seconds nor a reported rate")
    return _from_report(row, reported, row.texts.get("reported_unit", "").lower())


def _from_report(row: SystemRow, reported: float, unit: str) -> Seconds:
    """Seconds out of a reported figure; the row states batch, length and accelerators."""
    world, batch = row.numbers["n_accelerators"], row.numbers["global_batch_seqs"]
    tokens = batch * row.numbers["seq_len"]
    each = world if re.search(r"per (accelerator|gpu|device|chip)|/gpu|/device", unit) else 1.0
    rate = "/s" in unit or "per s" in unit
    if re.fullmatch(r"(s|sec|secs|second|seconds)(( ?/ ?| per )(step|iteration|iter))?", unit):
        found = Seconds(values={"seconds as reported": reported})
    elif re.match(r"(ms|milliseconds?)\b", unit):
        found = Seconds(values={"seconds as reported": reported / 1e3})
    elif "token" in unit and rate:
        found = Seconds(values={"tokens per second": tokens / (reported * each)})
    elif ("sample" in unit or "sequence" in unit) and rate:
        found = Seconds(values={"sequences per second": batch / (reported * each)})
    elif "flop" in unit and (rate or "flops" in unit):
        scale = 1e15 if unit.startswith(("pflop", "peta")) else 1e12
        found = _under_conventions(row, reported * scale * each, tokens)
    elif re.search(r"mfu|hfu|utili|% of peak", unit):
        peak = row.number("peak_tflops_bf16")
        share = reported / 100.0 if reported > 1.0 else reported
        if peak is None:
            found = Seconds(values={}, reason="a utilisation without the accelerator's peak")
        else:
            found = _under_conventions(row, share * peak * 1e12 * world, tokens)
    else:
        found = Seconds(values={}, reason=f"the unit {unit!r} is none that gives seconds")
    return found


def _under_conventions(row: SystemRow, flops_per_s: float, tokens: float) -> Seconds:
    missing = [name for name in _NEEDED if row.number(name) is None]
    if missing:
        return Seconds(values={}, reason=f"FLOPs cannot be counted without {', '.join(missing)}")
    names = conventions_meant(row)
    if any("logits" in name or "Megatron 2021" in name for name in names) and (
        row.number("vocab") is None
    ):
        return Seconds(values={}, reason="the convention counts logits, no vocabulary is stated")
    return Seconds(values={name: CONVENTIONS[name](row) * tokens / flops_per_s for name in names})


def conventions_meant(row: SystemRow) -> tuple[str, ...]:
    """Conventions that the row's ``flop_convention`` can mean."""
    text = row.texts.get("flop_convention", "").lower()
    compact = text.replace(" ", "")
    model = "model flop" in text
    names: tuple[str, ...]
    if not model and re.search(r"hardware|recomput|hfu", text):
        if row.texts.get("recompute") != "full":
            names = UNSTATED
        elif "96" in text:
            names = ("Megatron 2021, with recomputation",)
        else:
            names = ("8N", "with recomputation")
    elif re.search(r"non-?causal|full attention", text):
        names = ("layers + full attention + logits" if "logit" in text else "6N + full attention",)
    elif "6n+attention" in compact or ("6n" in compact and "notstated" not in compact):
        names = ("6N + causal attention", "6N + full attention")
        if re.search(r"causal|half", text):
            names = ("6N + causal attention",)
        elif "attention" not in text or "without attention" in text:
            names = ("6N",)
    else:
        names = UNSTATED_MODEL if model or "mfu" in text else UNSTATED
    return names
