"""Rows that can be predicted: the inclusion rule, and every scenario a row may have been.

What a row leaves unknown is not guessed. Whole-number unknowns are enumerated with weights;
continuous ones (network efficiency, overlap, jitter, NIC, oversubscription) get a prior, see
:mod:`studies.systems.unknowns`.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from model.errors import InputError
from model.scenario import Scenario
from model.scenario_file import scenario_from_mapping
from studies.systems.devices import (
    FUSED_FROM_THE_START,
    MEMORY_RANGE_TB_S,
    kind_of,
    memory_bandwidth_of,
    memory_of,
    peak_of,
    scaleup_of,
)
from studies.systems.flop_counts import seconds_of
from studies.systems.memory import WEIGHT_AND_GRADIENT_BYTES, needed_bytes
from studies.systems.rows import SystemRow

CONVENTION_TOLERANCE = 0.05
"""A row whose possible conventions differ by more measures the convention, not the model."""

SHAPE_RANGE = (0.6, 1.7)
"""Parameters over those of a dense decoder of the same shape; experts lie far above."""

MAX_MICRO_BATCH = 8
MAX_INTERLEAVE = 24
"""Largest values that a row which states none may have used."""

NIC_RANGE_GBPS = (50.0, 400.0)
RECOMPUTE_PRIOR = {"none": 0.45, "selective": 0.45, "full": 0.10}
"""Of a system that does not say: full recomputation costs a quarter of the throughput and is there
for memory, so it is unlikely where a plan fits without."""

INCLUSION_RULE = """\
A row is predicted where (1) every cell that is there can be read; (2) accelerators, their peak, the
plan, the model's shape and the batch are stated, and the plan multiplies to the accelerators; (3)
its seconds are printed, or every FLOP convention it may mean gives the same within 5%; (4) its
parameters are those of a dense decoder of its shape, within a factor of 0.6 to 1.7, in 16-bit
precision; (5) the plan is one the model can evaluate; (6) its step is no faster than the peak
allows. Micro-batch, interleave, recomputation, fused attention, NIC and oversubscription may be
unknown."""

_REQUIRED = (
    "n_accelerators",
    "n_params",
    "n_layers",
    "hidden",
    "seq_len",
    "tp",
    "pp",
    "global_batch_seqs",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """One scenario a row may have been, given its system's unknowns.

    Parameters
    ----------
    scenario
        The scenario.
    log_offset
        Log of the seconds under the row's first convention over those under this one's.
    weight
        Prior probability; those of one row and one recomputation sum to 1.
    """

    scenario: Scenario
    log_offset: float
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A row that is predicted.

    Parameters
    ----------
    row
        The row.
    group
        The system it belongs to: rows of one are left out together.
    accelerator
        Type of accelerator.
    seconds
        Measured seconds of a step, under the first convention.
    configurations
        By recomputation, what the row may have been. Where a system does not state its
        recomputation, all its rows used the same.
    open_paths
        Fields of the scenario that the row leaves to a prior.
    """

    row: SystemRow
    group: str
    accelerator: str
    seconds: float
    configurations: Mapping[str, tuple[Configuration, ...]]
    open_paths: frozenset[str]

    @property
    def scenario(self) -> Scenario:
        """One of its scenarios, for what they all share."""
        return next(iter(self.configurations.values()))[0].scenario

    def configurations_with(self, recompute: str | None) -> tuple[Configuration, ...]:
        """What the row may have been, where its system recomputes like this if it does not say."""
        first = next(iter(self.configurations.values()))
        return self.configurations.get(recompute or "", first)


@dataclass(frozen=True, slots=True, kw_only=True)
class Excluded:
    """A row that is not predicted, and why."""

    row: SystemRow
    reason: str


def judge(rows: Sequence[SystemRow]) -> tuple[list[Case], list[Excluded]]:
    """Apply the inclusion rule to every row, in order."""
    cases, excluded = [], []
    for row in rows:
        reason = _unreadable(row) or _out_of_scope(row)
        case = None if reason else _case(row)
        if isinstance(case, Case):
            cases.append(case)
        else:
            excluded.append(Excluded(row=row, reason=reason or str(case)))
    return cases, excluded


def group_of(row: SystemRow) -> str:
    """The system a row belongs to: the first word of its name, on its type of accelerator.

    Versions and model sizes of one stack are one system, whatever papers they come from. A
    ``group`` column overrides the rule; a name that begins with a number leaves the source.
    """
    kind = kind_of(row)
    stated = row.texts.get("group")
    if stated:
        return f"{stated}, {kind}"
    first = row.name.split()[0] if row.texts.get("system") else ""
    return f"{first if first[:1].isalpha() else row.source}, {kind}"


def _unreadable(row: SystemRow) -> str:
    if row.problems:
        return "; ".join(row.problems)
    missing = [name for name in _REQUIRED if row.number(name) is None]
    if "accelerator" not in row.texts:
        missing.append("accelerator")
    return f"not stated: {', '.join(missing)}" if missing else ""


def _out_of_scope(row: SystemRow) -> str:
    texts = " ".join(row.texts.values()).lower()
    if re.search(r"\bfp8\b|\bint8\b|\bfp4\b", texts):
        return "not in 16-bit precision"
    numbers = row.numbers
    dense = 12.0 * numbers["n_layers"] * numbers["hidden"] ** 2
    dense += numbers.get("vocab", 0.0) * numbers["hidden"]
    ratio = numbers["n_params"] / dense
    if not SHAPE_RANGE[0] <= ratio <= SHAPE_RANGE[1]:
        return f"its parameters are {ratio:.2g} times those of a dense decoder of its shape"
    product = numbers["tp"] * numbers["pp"] * numbers.get("cp", 1.0) * _replicas(row)
    if product != numbers["n_accelerators"] or _replicas(row) % 1:
        return (
            f"tp·pp·cp·dp = {product:,.6g} with dp = {_replicas(row):,.6g} is not its "
            f"{numbers['n_accelerators']:,.0f} accelerators in whole replicas"
        )
    if peak_of(row) is None:
        return "the accelerator's peak is neither stated nor known"
    if scaleup_of(row) is None:
        return "the scale-up link is neither stated nor known"
    return ""


def _case(row: SystemRow) -> Case | str:
    """The case of a row, or why there is none."""
    seconds = seconds_of(row)
    if not seconds.values:
        return seconds.reason
    if seconds.spread > CONVENTION_TOLERANCE:
        return (
            f"FLOP convention not stated: {' and '.join(_ends(seconds.values))} differ by "
            f"{seconds.spread:.0%}"
        )
    measured = next(iter(seconds.values.values()))
    offsets = [math.log(measured / value) for value in seconds.values.values()]
    stated = row.texts.get("recompute")
    try:
        configurations = {
            recompute: _configurations(row, recompute, offsets)
            for recompute in ([stated] if stated else recomputes(row))
        }
    except InputError as error:
        return "; ".join(f"{p.path}: {p.message}" for p in error.problems)
    scenario = next(iter(configurations.values()))[0].scenario
    flops = (
        6.0 * row.numbers["n_params"] * row.numbers["global_batch_seqs"] * scenario.model.seq_len
    )
    least = flops / scenario.accelerator.peak_flops_bf16 / scenario.world
    if measured < least:
        return f"{measured:.4g} s is less than the {least:.4g} s that the peak allows"
    open_paths = set()
    if row.number("nic_gbps") is None:
        open_paths.add("accelerator.nic_bw_gbps")
    # Inside one pod nothing is oversubscribed.
    if row.number("oversubscription") is None and row.number("pod_size") is not None:
        open_paths.add("topology.oversubscription")
    if memory_bandwidth_of(row) is None:
        open_paths.add("accelerator.memory_bw_tb_s")
    if row.number("fused_attention") is None and kind_of(row) not in FUSED_FROM_THE_START:
        open_paths.add("kernel.fused_attention")
    return Case(
        row=row,
        group=group_of(row),
        accelerator=kind_of(row),
        seconds=measured,
        configurations=configurations,
        open_paths=frozenset(open_paths),
    )


def _ends(values: Mapping[str, float]) -> tuple[str, str]:
    ordered = sorted(values, key=values.__getitem__)
    return ordered[0], ordered[-1]


def _configurations(
    row: SystemRow, recompute: str, offsets: Sequence[float]
) -> tuple[Configuration, ...]:
    """Every micro-batch and interleave the row may have used.

    Raises
    ------
    InputError
        If one of them is no scenario.
    """
    choices = [
        (batch, interleave, offset, w1 * w2 / len(offsets))
        for batch, w1 in micro_batches(row, recompute).items()
        for interleave, w2 in interleaves(row).items()
        for offset in offsets
    ]
    return tuple(
        Configuration(
            scenario=_scenario(row, recompute, batch, interleave),
            log_offset=offset,
            weight=weight,
        )
        for batch, interleave, offset, weight in choices
    )


def recomputes(row: SystemRow) -> tuple[str, ...]:
    """Recomputations a row that states none may have used: those that fit into memory."""
    fitting = tuple(
        recompute
        for recompute in RECOMPUTE_PRIOR
        if any(_fits(row, recompute, size) for size in _sizes(row))
    )
    return fitting or ("full",)


def micro_batches(row: SystemRow, recompute: str) -> dict[int, float]:
    """Micro-batches a row may have used, equally likely.

    Powers of two that divide the replica's batch and fit into memory, the smallest where none does.
    """
    stated = row.integer("micro_batch")
    if stated is not None:
        return {stated: 1.0}
    sizes = _sizes(row)
    sizes = [size for size in sizes if _fits(row, recompute, size)] or sizes[:1]
    return {size: 1.0 / len(sizes) for size in sizes}


def _sizes(row: SystemRow) -> list[int]:
    stated = row.integer("micro_batch")
    if stated is not None:
        return [stated]
    sequences = row.numbers["global_batch_seqs"] / _replicas(row)
    sizes = [2**power for power in range(MAX_MICRO_BATCH.bit_length())]
    return [size for size in sizes if sequences % size == 0] or [1]


def _replicas(row: SystemRow) -> float:
    replica = row.numbers["tp"] * row.numbers["pp"] * row.numbers.get("cp", 1.0)
    return row.numbers.get("dp", row.numbers["n_accelerators"] / replica)


def _fits(row: SystemRow, recompute: str, micro_batch: int) -> bool:
    memory = memory_of(row)
    needed = needed_bytes(
        row.numbers,
        dp=_replicas(row),
        recompute=recompute,
        micro_batch=micro_batch,
        sharded=_zero_stage(row) == SHARDED,
    )
    return memory is None or needed <= memory


SHARDED = 3
"""ZeRO stage at which everything is sharded over the replicas."""


def _zero_stage(row: SystemRow) -> int:
    """As stated, else 1, or 3 where weights and gradients alone would not fit."""
    stated = row.integer("zero_stage")
    if stated is not None:
        return stated
    memory = memory_of(row)
    share = row.numbers["n_params"] / (row.numbers["tp"] * row.numbers["pp"])
    fits = memory is None or share * WEIGHT_AND_GRADIENT_BYTES <= memory
    return 1 if fits or _replicas(row) == 1 else SHARDED


def interleaves(row: SystemRow) -> dict[int, float]:
    """Virtual stages a row may have used: the divisors of its layers a stage, equally likely.

    Divisors lie about evenly on the log scale, on which the bubble shrinks. A pipeline of uneven
    stages counts the layers of its fullest.
    """
    stated = row.integer("interleave_factor")
    if stated is not None:
        return {stated: 1.0}
    if row.numbers["pp"] == 1:
        return {1: 1.0}
    layers = math.ceil(row.numbers["n_layers"] / row.numbers["pp"])
    divisors = [v for v in range(1, min(layers, MAX_INTERLEAVE) + 1) if layers % v == 0]
    return {v: 1.0 / len(divisors) for v in divisors}


def _scenario(row: SystemRow, recompute: str, micro_batch: int, interleave: int) -> Scenario:
    numbers = row.numbers
    tp, pp, cp = int(numbers["tp"]), int(numbers["pp"]), int(numbers.get("cp", 1))
    peak, scaleup = peak_of(row), scaleup_of(row)
    if peak is None or scaleup is None:
        raise InputError.single(message="the device is not known", path="accelerator")
    fused = 1.0 if kind_of(row) in FUSED_FROM_THE_START else 0.5
    domain = int(numbers.get("scaleup_domain", 8))
    heads = int(numbers.get("n_heads", tp))
    content: dict[str, object] = {
        "name": row.name,
        "model": {
            "n_layers": int(numbers["n_layers"]),
            "hidden": int(numbers["hidden"]),
            "n_params": numbers["n_params"],
            "seq_len": int(numbers["seq_len"]),
            "n_heads": heads,
            "n_kv_heads": int(numbers.get("n_kv_heads", heads)),
            **({"vocab": int(numbers["vocab"])} if "vocab" in numbers else {}),
        },
        "accelerator": {
            "peak_flops_bf16": peak * 1e12,
            "memory_bw_tb_s": memory_bandwidth_of(row) or math.sqrt(math.prod(MEMORY_RANGE_TB_S)),
            "scaleup_bw_gbps": scaleup,
            "nic_bw_gbps": numbers.get("nic_gbps", math.sqrt(math.prod(NIC_RANGE_GBPS))),
            "accelerators_per_node": int(numbers.get("accelerators_per_node", min(domain, 8))),
        },
        "topology": {
            "scaleup_domain": domain,
            "pod_size": int(numbers.get("pod_size", numbers["n_accelerators"])),
            "oversubscription": numbers.get("oversubscription", 1.0),
        },
        "parallelism": {
            "tp": tp,
            "pp": pp,
            "cp": cp,
            "dp": int(_replicas(row)),
            "micro_batch": micro_batch,
            "global_batch_seqs": int(numbers["global_batch_seqs"]),
            "interleave_factor": interleave,
            "zero_stage": _zero_stage(row),
            "recompute": recompute,
        },
        "kernel": {"fused_attention": numbers.get("fused_attention", fused)},
    }
    return scenario_from_mapping(content, source=row.name)[0]
