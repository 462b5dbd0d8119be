"""The one table of every scenario field: kind, unit, allowed range, default, meaning.

Validation, the documentation of the file format and the list of fields that may be uncertain all
derive from this table.
"""

import numpy as np

from model.field import REQUIRED, Field
from model.forms import NAMES


def _real(
    path: str,
    unit: str,
    meaning: str,
    *,
    lower: float = 0.0,
    upper: float = np.inf,
    lower_open: bool = False,
    default: object = REQUIRED,
    nullable: bool = False,
    refinement: bool = False,
) -> Field:
    return Field(
        path=path,
        kind="real",
        unit=unit,
        meaning=meaning,
        lower=lower,
        upper=upper,
        lower_open=lower_open,
        default=default,
        nullable=nullable,
        refinement=refinement,
    )


def _positive(
    path: str,
    unit: str,
    meaning: str,
    upper: float,
    default: object = REQUIRED,
    *,
    nullable: bool = False,
) -> Field:
    return _real(
        path, unit, meaning, upper=upper, lower_open=True, default=default, nullable=nullable
    )


def _duration(path: str, meaning: str, default: float, upper: float = 1e7) -> Field:
    return _real(path, "s", meaning, upper=upper, default=default)


def _fraction(path: str, meaning: str, default: float) -> Field:
    return _real(path, "1", meaning, upper=1.0, default=default)


def _half_size(path: str, of: str, default: float) -> Field:
    return _real(
        path,
        "1",
        f"{of} at which kernels reach half of their efficiency; read by kernel_size",
        upper=1e6,
        default=default,
    )


def _count(
    path: str,
    meaning: str,
    *,
    upper: float = 10_000_000,
    default: object = REQUIRED,
    nullable: bool = False,
) -> Field:
    return Field(
        path=path,
        kind="integer",
        unit="1",
        meaning=meaning,
        lower=1,
        upper=upper,
        default=default,
        nullable=nullable,
    )


FIELDS: tuple[Field, ...] = (
    Field(path="name", kind="text", unit="", meaning="name of the scenario", default="scenario"),
    Field(
        path="stack",
        kind="text",
        unit="",
        meaning="software stack whose efficiencies the scenario runs with; evidence names it",
        default="mine",
    ),
    Field(
        path="fleet",
        kind="text",
        unit="",
        meaning="fleet whose failures and recovery the scenario has; evidence names it",
        default="mine",
    ),
    _count(
        "n_pool",
        "accelerators owned; null: world size with spares and stranded on top",
        upper=1e9,
        default=None,
        nullable=True,
    ),
    _positive("window_days", "d", "accounting window", 36500, 30.0),
    Field(
        path="scaling_mode",
        kind="choice",
        unit="",
        meaning="strong keeps the global batch when the pool grows, weak grows it",
        choices=("strong", "weak"),
        default="strong",
    ),
    _count("max_global_batch_seqs", "ceiling of the batch under weak scaling", default=8192),
    Field(
        path="refinements",
        kind="names",
        unit="",
        meaning="formulas that replace published ones; none: the published model",
        choices=NAMES,
        default=(),
        refinement=True,
    ),
    Field(path="notes", kind="text", unit="", meaning="free text", default=""),
    Field(path="model.name", kind="text", unit="", meaning="name of the model", default=""),
    _count("model.n_layers", "transformer layers", upper=100_000),
    _count("model.hidden", "hidden width"),
    _positive("model.n_params", "1", "parameters", 1e16),
    _count("model.seq_len", "tokens of a sequence"),
    _count("model.vocab", "vocabulary, for the parameter check", default=None, nullable=True),
    _count("model.n_heads", "attention heads"),
    _count(
        "model.n_kv_heads", "key-value heads; null: as many as heads", default=None, nullable=True
    ),
    _positive(
        "model.ffn_multiplier",
        "1",
        "feed-forward width over hidden width, for the parameter check",
        1000,
        4.0,
    ),
    Field(path="accelerator.name", kind="text", unit="", meaning="name of the device", default=""),
    _positive("accelerator.peak_flops_bf16", "FLOP/s", "dense BF16 peak", 1e20),
    _positive(
        "accelerator.memory_gb",
        "GB",
        "device memory, for the memory check",
        1e6,
        None,
        nullable=True,
    ),
    _positive(
        "accelerator.memory_bw_tb_s",
        "TB/s",
        "bandwidth of device memory; read by memory_traffic",
        1e3,
        3.35,
    ),
    _positive("accelerator.scaleup_bw_gbps", "Gb/s", "scale-up line rate", 1e7),
    _positive("accelerator.nic_bw_gbps", "Gb/s", "NIC line rate", 1e7),
    _count("accelerator.accelerators_per_node", "accelerators of a node", upper=100_000),
    _count("topology.scaleup_domain", "accelerators of a scale-up domain"),
    _count("topology.pod_size", "accelerators of a pod with full bisection"),
    _real(
        "topology.oversubscription",
        "1",
        "bandwidth inside a pod over bandwidth between pods",
        lower=1.0,
        upper=1e4,
        default=1.0,
    ),
    _real("topology.alpha_scaleup_us", "us", "latency, scale-up step", upper=1e6, default=2.0),
    _real("topology.alpha_pod_us", "us", "latency, step inside a pod", upper=1e6, default=6.0),
    _real("topology.alpha_xpod_us", "us", "latency, step between pods", upper=1e6, default=15.0),
    _positive("topology.net_efficiency", "1", "achieved share of the line rate", 1.0, 0.85),
    _count("parallelism.tp", "tensor-parallel ranks", upper=1_000_000),
    _count("parallelism.pp", "pipeline stages", upper=1_000_000),
    _count("parallelism.cp", "context-parallel ranks", upper=1_000_000, default=1),
    _count("parallelism.dp", "data-parallel replicas", upper=100_000_000),
    _count("parallelism.micro_batch", "sequences of a microbatch"),
    _count("parallelism.global_batch_seqs", "sequences of a step", upper=1e9),
    Field(
        path="parallelism.zero_stage",
        kind="integer",
        unit="1",
        meaning="ZeRO stage; 3 adds a gather of the parameters",
        lower=0,
        upper=3,
        default=1,
    ),
    _count("parallelism.interleave_factor", "virtual stages a pipeline rank holds", default=1),
    Field(
        path="parallelism.sequence_parallel",
        kind="flag",
        unit="",
        meaning="sequence parallelism; recorded, the published step does not depend on it",
        default=True,
    ),
    Field(
        path="parallelism.recompute",
        kind="choice",
        unit="",
        meaning="activation recomputation",
        choices=("none", "selective", "full"),
        default="selective",
    ),
    _fraction("parallelism.overlap_dp", "hidden share of data-parallel traffic", 0.85),
    _fraction("parallelism.overlap_tp", "hidden share of tensor-parallel traffic", 0.10),
    _fraction("parallelism.overlap_pp", "hidden share of pipeline traffic", 0.70),
    _fraction("parallelism.overlap_cp", "hidden share of context-parallel traffic", 0.30),
    _positive("parallelism.grad_bytes", "B", "bytes of a gradient element", 64, 4.0),
    _positive("parallelism.act_bytes", "B", "bytes of an activation element", 64, 2.0),
    _real(
        "reliability.failure_rate_per_node_day",
        "1/(node d)",
        "job interruptions per node and day",
        upper=100,
        default=5.0e-3,
    ),
    _real(
        "reliability.failure_rate_per_job_day",
        "1/d",
        "job interruptions per day whatever the job's size, beside those of its nodes",
        upper=1e4,
        default=0.0,
        refinement=True,
    ),
    _real(
        "reliability.failure_rate_dispersion",
        "1",
        "squared coefficient of variation of the failure rates from window to window; 0: Poisson",
        upper=10,
        default=0.0,
        refinement=True,
    ),
    _duration("reliability.detect_time_s", "from failure to its detection", 120.0),
    _duration("reliability.restart_time_s", "from detection to the first new step", 300.0),
    _positive(
        "reliability.checkpoint_interval_s",
        "s",
        "time between checkpoints; null: Daly's first-order optimum",
        1e9,
        None,
        nullable=True,
    ),
    _duration("reliability.checkpoint_write_s", "time to write a checkpoint", 20.0),
    _fraction("reliability.checkpoint_blocking_fraction", "share of the write that blocks", 1.0),
    _duration(
        "reliability.durability_lag_s",
        "from the end of a write until it can be restored; read by async_checkpoint",
        0.0,
    ),
    _duration("reliability.repair_time_s", "time to repair a node", 3600.0, upper=1e9),
    _fraction("reliability.spare_fraction", "spares over the job's accelerators", 0.03),
    _real(
        "reliability.straggler_cv",
        "1",
        "jitter of a rank's step time, sd over mean",
        upper=10,
        default=0.02,
    ),
    _fraction(
        "reliability.persistent_share",
        "share of the jitter's variance that stays with a rank; read by persistent_ranks",
        0.5,
    ),
    _fraction("reliability.failslow_prob_per_node", "probability that a node is slow", 0.0),
    _real(
        "reliability.failslow_slowdown",
        "1",
        "step time with a slow node over without",
        lower=1.0,
        upper=1e4,
        default=1.0,
    ),
    _fraction("reliability.stranded_fraction", "stranded over the job's accelerators", 0.0),
    _positive(
        "kernel.kernel_efficiency", "1", "achieved share of the peak in kernels", 1.0, 0.5706
    ),
    _half_size("kernel.half_hidden", "hidden width", 1000.0),
    _half_size("kernel.half_width", "hidden width of a tensor-parallel rank", 370.0),
    _half_size("kernel.half_tokens", "tokens of a microbatch", 50.0),
    _real(
        "kernel.memory_efficiency",
        "1",
        "achieved share of the memory's bandwidth; read by memory_traffic",
        lower=0.1,
        upper=1.0,
        default=0.75,
    ),
    _fraction(
        "kernel.fused_attention",
        "share of attention whose scores stay on chip; read by memory_traffic",
        1.0,
    ),
)

BY_PATH: dict[str, Field] = {field.path: field for field in FIELDS}

SECTIONS: tuple[str, ...] = tuple(dict.fromkeys(field.section for field in FIELDS if field.section))

UNCERTAIN: tuple[str, ...] = tuple(field.path for field in FIELDS if field.kind == "real")
"""Fields that may hold one value per draw."""
