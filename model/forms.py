"""Forms of the model: the published formulas, and named refinements of them.

A scenario names the refinements it is evaluated with. None is the published model; every other
formula stands as a function beside the published one, and the name selects it. The sets that
``--form`` means stand in ``model/data/forms.yaml``.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from model.documents import read_document
from model.errors import InputError, Problem, nearest

PUBLISHED, REFINED, MIXED = "published", "refined", "mixed"
CUSTOM = "custom"
"""Name of a set of refinements that is no form of the table."""

KERNEL_SIZE = "kernel_size"
MEMORY_TRAFFIC = "memory_traffic"
EXACT_MAXIMUM = "exact_maximum"
PERSISTENT_RANKS = "persistent_ranks"
OVERLAP_WINDOW = "overlap_window"
SHARDED_GRADIENTS = "sharded_gradients"
PIPELINE_HANDOFF = "pipeline_handoff"
CONTEXT_PARALLEL = "context_parallel"
RANK_MAP = "rank_map"
RECOMPUTE_COLLECTIVES = "recompute_collectives"
SELECTIVE_RECOMPUTE = "selective_recompute"
BUBBLE_COMMUNICATION = "bubble_communication"
UNEVEN_STAGES = "uneven_stages"
WHOLE_MICROBATCHES = "whole_microbatches"
DETECTION_BLOCKED = "detection_blocked"
ASYNC_CHECKPOINT = "async_checkpoint"
REPAIR_QUEUE = "repair_queue"
GATED_SHAPE = "gated_shape"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refinement:
    """One named alternative to a published formula.

    Parameters
    ----------
    name
        What a scenario calls it.
    changes
        What it computes, in one sentence.
    source
        Where the formula comes from.
    limit
        Where it equals the published formula.
    parameters
        Dotted paths of fields that nothing else reads.
    replaces
        Dotted paths of fields that are not read with it.
    """

    name: str
    changes: str
    source: str
    limit: str
    parameters: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()


REFINEMENTS: tuple[Refinement, ...] = (
    Refinement(
        name=KERNEL_SIZE,
        changes="kernel efficiency grows with the matrices: a factor n/(n + half) each for hidden "
        "width, hidden/tp and tokens of a microbatch, 1 at the reference's sizes",
        source="saturating roofline of Hockney's half-performance length (Parallel Computing 1, "
        "1983), per dimension",
        limit="all half sizes 0, or the reference's sizes",
        parameters=("kernel.half_hidden", "kernel.half_width", "kernel.half_tokens"),
    ),
    Refinement(
        name=MEMORY_TRAFFIC,
        changes="what lies between matrix products (norms, activations, attention scores, logits) "
        "takes its bytes over the bandwidth of device memory",
        source="bytes of a layer's tensors by Korthikanti et al. 2022, section 4; fused attention "
        "by Dao et al. 2022",
        limit="the reference's model, plan and device without recomputation",
        parameters=(
            "accelerator.memory_bw_tb_s",
            "kernel.memory_efficiency",
            "kernel.fused_attention",
        ),
    ),
    Refinement(
        name=EXACT_MAXIMUM,
        changes="the straggler tax takes the expected maximum of as many normals as there are "
        "ranks, not its asymptote sqrt(2 ln world)",
        source="order statistics of the normal: E max = ∫ x·n·φ(x)·Φ(x)^(n−1) dx (David & "
        "Nagaraja 2003)",
        limit="no jitter, one rank, or ever more ranks",
    ),
    Refinement(
        name=PERSISTENT_RANKS,
        changes="a share of the jitter stays with its rank and slows computation and bubble, not "
        "the wire: sd sqrt((1 − s)·U² + s·(compute + bubble)²)",
        source="variance of a sum of a persistent and a fresh part; persistence in Lin et al. "
        "2025 (What-if analysis of stragglers in LLM training)",
        limit="persistent_share 0, or no exposed communication",
        parameters=("reliability.persistent_share",),
    ),
    Refinement(
        name=OVERLAP_WINDOW,
        changes="traffic hides under the computation that runs beside it, as far as it fits, "
        "instead of by a constant share: exposed = max(0, raw − window)",
        source="a perfect overlap of two streams; windows by the 1F1B schedule (Narayanan et al. "
        "2021)",
        limit="shares of 1 and windows as long as the traffic",
        replaces=(
            "parallelism.overlap_dp",
            "parallelism.overlap_tp",
            "parallelism.overlap_pp",
            "parallelism.overlap_cp",
        ),
    ),
    Refinement(
        name=SHARDED_GRADIENTS,
        changes="from ZeRO 1 on gradients are reduce-scattered in grad_bytes and parameters "
        "gathered in act_bytes, not all-reduced in grad_bytes",
        source="Rajbhandari et al. 2020 (ZeRO), distributed optimiser of Megatron-LM",
        limit="act_bytes = grad_bytes, or ZeRO 0",
    ),
    Refinement(
        name=PIPELINE_HANDOFF,
        changes="a hand-off carries a tp-th of the activation, happens once a virtual stage, and "
        "costs what the tier costs that the boundary crosses",
        source="Narayanan et al. 2021, sections 2.2 and 4.1; boundaries by rank map",
        limit="tp 1, interleave 1, all boundaries on one network tier",
    ),
    Refinement(
        name=CONTEXT_PARALLEL,
        changes="gradients are reduced over context ranks too; keys and values of the whole "
        "sequence are gathered, a tp-th of the heads",
        source="Grattafiori et al. 2024, section 3.3.2; Megatron-Core context parallelism",
        limit="cp 1",
    ),
    Refinement(
        name=RANK_MAP,
        changes="groups are placed by their ranks, so that those that straddle pods or domains "
        "are seen to",
        source="enumeration of ranks in the published nesting",
        limit="replicas that divide pods or are divided by them",
    ),
    Refinement(
        name=RECOMPUTE_COLLECTIVES,
        changes="full recomputation repeats the forward collectives: six a layer, not four",
        source="Korthikanti et al. 2022, section 4",
        limit="no full recomputation",
    ),
    Refinement(
        name=SELECTIVE_RECOMPUTE,
        changes="selective recomputation repeats the forward pass of attention, not a tenth of "
        "all FLOPs",
        source="Korthikanti et al. 2022, section 5",
        limit="attention that is three tenths of the FLOPs, or no selective recomputation",
    ),
    Refinement(
        name=BUBBLE_COMMUNICATION,
        changes="an idle slot of the pipeline lasts as long as a microbatch does, its exposed "
        "communication included",
        source="Narayanan et al. 2021, section 2.2, with communication in the slot",
        limit="no exposed communication inside a microbatch, or pp 1",
    ),
    Refinement(
        name=UNEVEN_STAGES,
        changes="the slowest stage sets the pace: ceil(layers/pp) layers, or the last one with "
        "the output layer",
        source="FLOPs of stages by their layers; 6·hidden·vocab a token for the output layer",
        limit="pp 1, or layers that divide evenly and no stated vocabulary",
    ),
    Refinement(
        name=WHOLE_MICROBATCHES,
        changes="a replica runs whole microbatches: the number is rounded up, replicas with fewer "
        "wait",
        source="ceil(batch/(dp·micro_batch)) of the busiest replica",
        limit="a global batch that dp·micro_batch divides",
    ),
    Refinement(
        name=DETECTION_BLOCKED,
        changes="the wait for detection is blocked time, not discarded work",
        source="fates by what happens: nothing is computed while a hung job waits",
        limit="detection time 0; productive accelerators never differ",
    ),
    Refinement(
        name=ASYNC_CHECKPOINT,
        changes="a checkpoint counts once it is durable, the rest of its write and a lag later: "
        "lost = 1/λ − p·exp(−λL)/(exp(λp) − 1)",
        source="renewal expectation with durability lag L, derived in model.recovery",
        limit="fully blocking writes and no lag",
        parameters=("reliability.durability_lag_s",),
    ),
    Refinement(
        name=REPAIR_QUEUE,
        changes="nodes under repair are spares until none is left, then the job waits for the "
        "first repair: Erlang loss, no flat down share",
        source="Erlang's loss formula, insensitive to the distribution of repairs (Erlang 1917; "
        "Sevastyanov 1957)",
        limit="repair time 0",
    ),
    Refinement(
        name=GATED_SHAPE,
        changes="the parameter check counts a gated feed-forward and grouped queries only, to 2%",
        source="Shazeer 2020 (GLU variants); Ainslie et al. 2023 (GQA)",
        limit="it changes a check, no result",
    ),
)

BY_NAME: dict[str, Refinement] = {refinement.name: refinement for refinement in REFINEMENTS}

NAMES: tuple[str, ...] = tuple(BY_NAME)


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A set of refinements with a name.

    Parameters
    ----------
    name
        ``published`` or ``refined``.
    refinements
        Names, in the order of the table.
    weight
        Stacking weight: the chance of the form under ``--form mixed``.
    basis
        Why these.
    """

    name: str
    refinements: tuple[str, ...]
    weight: float
    basis: str


def ordered(names: Collection[str]) -> tuple[str, ...]:
    """Valid names in the order of the table, each once."""
    return tuple(name for name in NAMES if name in names)


def unread_fields(refinements: Collection[str]) -> frozenset[str]:
    """Dotted paths that no formula reads under some refinements."""
    return frozenset(
        path
        for refinement in REFINEMENTS
        for path in (
            refinement.replaces if refinement.name in refinements else refinement.parameters
        )
    )


def read_forms() -> Mapping[str, Form]:
    """The forms that ``--form`` means.

    Raises
    ------
    InputError
        If the table of the installation is damaged.
    """
    document = read_document("forms", package="model.data", kind="table of forms")
    forms: dict[str, Form] = {}
    problems = []
    entries = document.content.get("forms")
    for name, entry in (entries if isinstance(entries, Mapping) else {}).items():
        listed = entry.get("refinements", []) if isinstance(entry, Mapping) else []
        unknown = [item for item in listed if item not in BY_NAME]
        problems += [
            Problem(
                source=document.source,
                path=f"forms.{name}.refinements",
                message=f"{item!r} is no refinement",
                remedy=nearest(str(item), NAMES),
            )
            for item in unknown
        ]
        if not unknown:
            forms[name] = Form(
                name=name,
                refinements=ordered(listed),
                weight=float(entry.get("weight", 0.0)),
                basis=str(entry.get("basis", "")).strip(),
            )
    weights = sum(form.weight for form in forms.values())
    if not problems and (set(forms) != {PUBLISHED, REFINED} or abs(weights - 1.0) > 1e-9):  # noqa: PLR2004 - rounding
        problems.append(
            Problem(
                source=document.source,
                path="forms",
                message=f"got {', '.join(forms) or 'none'} of total weight {weights:g}",
                remedy="published and refined are needed, of total weight 1",
            )
        )
    if problems:
        raise InputError(problems)
    return MappingProxyType(forms)


def form_name(refinements: Collection[str]) -> str:
    """``published``, ``refined`` or ``custom``."""
    if not refinements:
        return PUBLISHED
    return REFINED if set(refinements) == set(read_forms()[REFINED].refinements) else CUSTOM
