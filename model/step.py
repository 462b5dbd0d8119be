"""The healthy step: seconds of compute, exposed communication, bubble and synchronisation wait.

Shapes: everything broadcasts; with fields of shape (draws, 1) and a plan of shape (1, pools) the
results are (draws, pools), and what does not depend on the plan stays (draws, 1).
"""

from dataclasses import dataclass

from model.device_memory import efficiency_with_memory
from model.forms import (
    BUBBLE_COMMUNICATION,
    KERNEL_SIZE,
    MEMORY_TRAFFIC,
    OVERLAP_WINDOW,
    SELECTIVE_RECOMPUTE,
    UNEVEN_STAGES,
    WHOLE_MICROBATCHES,
)
from model.numerics import Value, ceil, maximum, where
from model.scenario import Scenario
from model.stragglers import synchronised
from model.traffic import communication_past_windows, exposed_communication

REFERENCE_SIZES = (16_384.0, 2_048.0, 8_192.0)
"""Hidden width, hidden/tp and tokens of a microbatch at which kernel efficiency is stated."""

_BUBBLE = frozenset({BUBBLE_COMMUNICATION, UNEVEN_STAGES, WHOLE_MICROBATCHES})

RECOMPUTE_FACTOR = {"none": 1.0, "selective": 1.10, "full": 4.0 / 3.0}
"""FLOPs with recomputed activations over FLOPs without."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Where the seconds of one healthy step go.

    Parameters
    ----------
    compute_s
        Kernels, recomputation included.
    communication_s
        Exposed communication.
    bubble_s
        Pipeline bubble.
    synchronisation_s
        Waiting for stragglers and slow nodes.
    total_s
        Their sum.
    """

    compute_s: Value
    communication_s: Value
    bubble_s: Value
    synchronisation_s: Value
    total_s: Value

    @property
    def efficiency(self) -> Value:
        """Compute over the whole step."""
        return self.compute_s / self.total_s


def nominal_flops_per_token(scenario: Scenario) -> Value:
    """Model FLOPs of a token: 6·n_params + 12·n_layers·seq_len·hidden·0.5 (causal attention)."""
    model = scenario.model
    return 6.0 * model.n_params + 12.0 * model.n_layers * model.seq_len * model.hidden * 0.5


def attention_flops_per_token(scenario: Scenario) -> Value:
    """Those of them that are scores and weighted values: 12·n_layers·seq_len·hidden·0.5."""
    model = scenario.model
    return 12.0 * model.n_layers * model.seq_len * model.hidden * 0.5


def recompute_factor(scenario: Scenario) -> Value:
    """FLOPs with recomputed activations over FLOPs without.

    Published: 1, 1.10 for selective, 4/3 for full. Refined: selective repeats the forward third
    of attention, so that its factor is 1 + attention/(3·all).

    References
    ----------
    Korthikanti et al. 2022, section 5.
    """
    kind = scenario.parallelism.recompute
    if kind == "selective" and SELECTIVE_RECOMPUTE in scenario.refinements:
        share = attention_flops_per_token(scenario) / nominal_flops_per_token(scenario)
        return 1.0 + share / 3.0
    return RECOMPUTE_FACTOR[kind]


def microbatches(scenario: Scenario) -> Value:
    """Published microbatches of a replica in one step, at least 1, fractions allowed."""
    plan = scenario.parallelism
    return maximum(1.0, plan.global_batch_seqs / plan.dp / plan.micro_batch)


def whole_microbatches(scenario: Scenario) -> Value:
    """Refined: microbatches of the busiest replica, whole."""
    plan = scenario.parallelism
    return maximum(1.0, ceil(plan.global_batch_seqs / (plan.dp * plan.micro_batch)))


def compute_time(scenario: Scenario) -> Value:
    """Seconds of kernels: FLOPs with recomputation over what all ranks achieve."""
    plan, model = scenario.parallelism, scenario.model
    tokens = plan.global_batch_seqs * model.seq_len
    flops = nominal_flops_per_token(scenario) * tokens * recompute_factor(scenario)
    efficiency = scenario.kernel.kernel_efficiency
    if KERNEL_SIZE in scenario.refinements:
        efficiency = efficiency * size_factor(scenario)
    if MEMORY_TRAFFIC in scenario.refinements:
        efficiency = efficiency_with_memory(scenario, efficiency, flops / tokens)
    achieved = scenario.accelerator.peak_flops_bf16 * efficiency
    return flops / achieved / scenario.world


def size_factor(scenario: Scenario) -> Value:
    """Refined: kernel efficiency over that of kernels of the reference's sizes.

    The product of n/(n + half) over hidden width, its part on a tensor-parallel rank and tokens of
    a microbatch, divided by the same product at the reference's 16,384, 2,048 and 8,192: so
    ``kernel_efficiency`` keeps its meaning there, and a half size of 0 changes nothing.

    References
    ----------
    Hockney 1983: half-performance length.
    """
    plan, model, kernel = scenario.parallelism, scenario.model, scenario.kernel
    sizes = (
        model.hidden,
        model.hidden / plan.tp,
        plan.micro_batch * (model.seq_len / plan.cp),
    )
    halves = (kernel.half_hidden, kernel.half_width, kernel.half_tokens)
    factor: Value = 1.0
    for size, reference, half in zip(sizes, REFERENCE_SIZES, halves, strict=True):
        factor = factor * ((1.0 + half / reference) / (1.0 + half / size))
    return factor


def stage_pace(scenario: Scenario) -> Value:
    """Refined: work of the slowest pipeline stage over that of the mean stage, at least 1.

    A stage holds floor or ceil(n_layers/pp) layers; the output layer, e layers' worth of FLOPs,
    lies on the last one, which is a short one if there is any:
    max(ceil(n_layers/pp), floor(n_layers/pp) + e)·pp/(n_layers + e). e = 0 without a vocabulary.
    """
    model, stages = scenario.model, scenario.parallelism.pp
    layers, output = model.n_layers, 0.0
    if model.vocab is not None:
        head = 6.0 * model.hidden * model.vocab
        output = layers * head / maximum(nominal_flops_per_token(scenario) - head, head)
    slowest = maximum(-(-layers // stages), layers // stages + output)
    return where(stages > 1, slowest * stages / (layers + output), 1.0)


def refined_bubble(
    scenario: Scenario, compute: Value, within: Value, batches: Value, fractional: Value
) -> Value:
    """Seconds a rank of the pipeline idles, by the refinements of the bubble.

    The busiest rank of the slowest stage runs m slots of one microbatch, (pp − 1)/v of idling
    beside: pace·(m + (pp − 1)/v)·slot, less what the mean rank computes and communicates.

    Parameters
    ----------
    scenario
        The scenario.
    compute
        Computation of the mean rank.
    within
        Exposed communication of a microbatch, part of a slot with ``bubble_communication``.
    batches
        Microbatches of the busiest replica, m.
    fractional
        Microbatches of the mean replica.
    """
    plan, names = scenario.parallelism, scenario.refinements
    slots = batches + (plan.pp - 1) / maximum(1, plan.interleave_factor)
    wire = within if BUBBLE_COMMUNICATION in names else 0.0
    pace = stage_pace(scenario) if UNEVEN_STAGES in names else 1.0
    return pace * slots * (compute / fractional + wire) - (compute + wire * batches)


def healthy_step(scenario: Scenario) -> Step:
    """Time of a step in which nothing fails, split by what it is spent on."""
    plan, names = scenario.parallelism, scenario.refinements
    compute = compute_time(scenario)
    fractional = batches = microbatches(scenario)
    if WHOLE_MICROBATCHES in names:
        batches = whole_microbatches(scenario)
    if OVERLAP_WINDOW in names:
        exposed = communication_past_windows(
            scenario, compute / fractional, batches, recompute_factor(scenario)
        )
    else:
        exposed = exposed_communication(scenario, batches)
    communication = exposed.total
    if _BUBBLE.isdisjoint(names):
        interleave = maximum(1, plan.interleave_factor)
        bubble = compute * ((plan.pp - 1) / (batches * interleave))
    else:
        bubble = refined_bubble(scenario, compute, exposed.within, batches, fractional)
    untaxed = compute + communication + bubble
    total = synchronised(scenario, untaxed, communication)
    return Step(
        compute_s=compute,
        communication_s=communication,
        bubble_s=bubble,
        synchronisation_s=total - untaxed,
        total_s=total,
    )
