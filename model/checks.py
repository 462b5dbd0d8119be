"""Rules that span several fields: contradictions are errors, oddities are warnings."""

from collections.abc import Mapping

import numpy as np

from model.errors import Problem
from model.forms import GATED_SHAPE, MEMORY_TRAFFIC
from model.numerics import Value

MAX_WORLD = 1_000_000_000
"""More accelerators than this is a slip of the keyboard, and integers stay exact below it."""

PARAMETER_COUNT_TOLERANCE = 0.15
"""Published counts differ from the shape's by biases, norms and tied embeddings: a few percent."""

GATED_COUNT_TOLERANCE = 0.02
"""What is left to biases, norms and tied embeddings once the feed-forward is known to be gated."""

FLOPS_PER_BYTE = (120.0, 400.0)
"""Peak over memory bandwidth; data sheets from V100 to B200 have 139 to 312."""


def contradictions(values: Mapping[str, Value], *, source: str) -> list[Problem]:
    """Fields that cannot be true together.

    Parameters
    ----------
    values
        Every field by its dotted path, each within its own range.
    source
        For messages.
    """
    problems = []

    def wrong(path: str, message: str, remedy: str = "") -> None:
        problems.append(Problem(source=source, path=path, message=message, remedy=remedy))

    heads, kv_heads = values["model.n_heads"], values["model.n_kv_heads"]
    if values["model.hidden"] % heads:
        wrong(
            "model.n_heads",
            f"got {heads}, which does not divide model.hidden = {values['model.hidden']}",
        )
    if kv_heads is not None and heads % kv_heads:
        wrong("model.n_kv_heads", f"got {kv_heads}, which does not divide model.n_heads = {heads}")
    tp = values["parallelism.tp"]
    if heads % tp:
        wrong("parallelism.tp", f"got {tp}, which does not divide model.n_heads = {heads}")
    if values["parallelism.pp"] > values["model.n_layers"]:
        wrong(
            "parallelism.pp",
            f"got {values['parallelism.pp']}, allowed is at most "
            f"model.n_layers = {values['model.n_layers']}",
        )

    replica = tp * values["parallelism.pp"] * values["parallelism.cp"]
    world = replica * values["parallelism.dp"]
    if np.any(world > MAX_WORLD):
        wrong(
            "parallelism",
            f"tp·pp·cp·dp = {world} accelerators, allowed is at most {MAX_WORLD}",
        )
        return problems
    batch, micro = values["parallelism.global_batch_seqs"], values["parallelism.micro_batch"]
    if np.any(batch < values["parallelism.dp"] * micro):
        wrong(
            "parallelism.global_batch_seqs",
            f"got {batch}, fewer than one microbatch for each replica",
            f"allowed is at least dp·micro_batch = {values['parallelism.dp'] * micro}",
        )
    pool = values["n_pool"]
    if pool is not None:
        overhead = 1.0 + (
            values["reliability.spare_fraction"] + values["reliability.stranded_fraction"]
        )
        needed = int(np.max(np.ceil(world * overhead)))
        if np.any(pool < needed):
            wrong(
                "n_pool",
                f"got {pool}, but the plan needs {world} accelerators for the job and "
                f"{needed} with its spares and stranded share",
                f"set n_pool to at least {needed}, or to null",
            )
    return problems


def suspicions(values: Mapping[str, Value]) -> list[str]:
    """What a careful reader would question, one sentence each; empty where nothing is odd.

    Parameters
    ----------
    values
        Every field of a valid scenario of scalars by its dotted path.
    """
    found = []
    expected = _parameter_counts(values)
    stated = values["model.n_params"]
    if expected and GATED_SHAPE in values["refinements"]:
        if abs(expected[1] / stated - 1) > GATED_COUNT_TOLERANCE:
            found.append(
                f"model.n_params is {stated:.4g}, but the shape with gated feed-forward and "
                f"{values['model.n_kv_heads']} key-value heads gives {expected[1]:.4g}"
            )
    elif expected and all(
        abs(count / stated - 1) > PARAMETER_COUNT_TOLERANCE for count in expected
    ):
        found.append(
            f"model.n_params is {stated:.3g}, but the shape gives {expected[0]:.3g} "
            f"(gated feed-forward {expected[1]:.3g})"
        )
    tp, domain = values["parallelism.tp"], values["topology.scaleup_domain"]
    if tp > domain:
        found.append(
            f"parallelism.tp is {tp}, beyond the scale-up domain of {domain}: "
            "tensor-parallel traffic crosses the NIC"
        )
    need_gb, memory_gb = _memory_floor_gb(values), values["accelerator.memory_gb"]
    if memory_gb is not None and need_gb > memory_gb:
        found.append(
            f"parameters, gradients and optimiser state need at least {need_gb:.0f} GB an "
            f"accelerator, accelerator.memory_gb is {memory_gb:g}"
        )
    peak, bandwidth = values["accelerator.peak_flops_bf16"], values["accelerator.memory_bw_tb_s"]
    per_byte = peak / (bandwidth * 1e12)
    low, high = FLOPS_PER_BYTE
    if MEMORY_TRAFFIC in values["refinements"] and not low <= per_byte <= high:
        found.append(
            f"accelerator.memory_bw_tb_s is {bandwidth:g} beside a peak of {peak / 1e12:.4g} "
            f"TFLOP/s: {per_byte:.0f} FLOPs a byte, where data sheets have 139 to 312"
        )
    pool = values["n_pool"]
    if pool is not None:
        overhead = 1.0 + (
            values["reliability.spare_fraction"] + values["reliability.stranded_fraction"]
        )
        replica = tp * values["parallelism.pp"] * values["parallelism.cp"]
        fits = int(np.floor(np.floor(pool / overhead) / replica))
        if fits > values["parallelism.dp"]:
            found.append(
                f"n_pool is {pool}: that is room for dp = {fits}, the plan uses "
                f"{values['parallelism.dp']}; the rest stays idle and counts as unavailable"
            )
    return found


def _parameter_counts(values: Mapping[str, Value]) -> tuple[float, float] | None:
    """Parameters by shape, plain and gated feed-forward; None where the vocabulary is unknown."""
    vocab = values["model.vocab"]
    if vocab is None:
        return None
    hidden = float(values["model.hidden"])
    kv_share = (values["model.n_kv_heads"] or values["model.n_heads"]) / values["model.n_heads"]
    attention = hidden * hidden * (2 + 2 * kv_share)
    matrix = hidden * hidden * values["model.ffn_multiplier"]
    embeddings = 2 * vocab * hidden
    plain, gated = (
        values["model.n_layers"] * (attention + n * matrix) + embeddings for n in (2, 3)
    )
    return plain, gated


def _memory_floor_gb(values: Mapping[str, Value]) -> float:
    """Bytes without activations: weights, gradients and 12 bytes of Adam state a parameter."""
    share = values["model.n_params"] / (values["parallelism.tp"] * values["parallelism.pp"])
    dp, stage = values["parallelism.dp"], values["parallelism.zero_stage"]
    # ZeRO shards the optimiser first, then the gradients, then the weights.
    optimiser, gradients, weights = (
        size / (dp if stage >= first_stage else 1)
        for first_stage, size in enumerate(
            (12, values["parallelism.grad_bytes"], values["parallelism.act_bytes"]), start=1
        )
    )
    return float(share * (weights + gradients + optimiser) / 1e9)
