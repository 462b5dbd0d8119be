"""What a healthy step communicates, and how much of it computation does not hide.

The published formulas and, beside each, what refines it. Seconds; shapes as in :mod:`model.step`.
A = micro_batch·(seq_len/cp)·hidden·act_bytes is the activation of a microbatch.
"""

from typing import NamedTuple

import numpy as np

from model.collectives import Network, Tier, all_gather, all_reduce
from model.forms import (
    CONTEXT_PARALLEL,
    PIPELINE_HANDOFF,
    RANK_MAP,
    RECOMPUTE_COLLECTIVES,
    SHARDED_GRADIENTS,
)
from model.numerics import Value, maximum, minimum, where
from model.placement import Placement, place_group
from model.rank_map import boundary_tiers, place_by_rank, place_data_group
from model.scenario import Scenario

ZERO_STAGE_OF_PARAMETERS = 3
"""The ZeRO stage that shards parameters, which must then be gathered."""

COLLECTIVES = 4.0
"""Tensor-parallel all-reduces of a layer: two forward, two backward."""

COLLECTIVES_RECOMPUTED = 6.0
"""The same where the forward pass is run again."""


class Exposed(NamedTuple):
    """Seconds of communication that computation does not hide.

    Parameters
    ----------
    within
        Of one microbatch: tensor, context and pipeline traffic.
    total
        Of the step: that of all microbatches, and data-parallel traffic.
    """

    within: Value
    total: Value


class Raw(NamedTuple):
    """Seconds of communication by kind, hidden or not.

    Parameters
    ----------
    tensor, context, pipeline
        Of one microbatch.
    reduced
        Of the step: gradients, which are final in the backward pass.
    gathered
        Of the step: parameters that the forward pass waits for.
    parameters
        Of the step: parameters that ZeRO 3 gathers throughout.
    """

    tensor: Value
    context: Value
    pipeline: Value
    reduced: Value
    gathered: Value
    parameters: Value


def network_of(scenario: Scenario) -> Network:
    """Achieved bandwidths and latencies of the three tiers."""
    topology, device = scenario.topology, scenario.accelerator
    to_bytes = 1e9 * topology.net_efficiency / 8.0
    nic = device.nic_bw_gbps * to_bytes
    return Network(
        scaleup=Tier(device.scaleup_bw_gbps * to_bytes, topology.alpha_scaleup_us * 1e-6),
        pod=Tier(nic, topology.alpha_pod_us * 1e-6),
        cross_pod=Tier(
            nic / maximum(1.0, topology.oversubscription), topology.alpha_xpod_us * 1e-6
        ),
    )


def exposed_communication(scenario: Scenario, batches: Value) -> Exposed:
    """Published: each kind of traffic is exposed by 1 − its overlap.

    TP: 4·(n_layers/pp)·m all-reduces of A; CP: 3·(n_layers/pp)·m all-gathers of
    2·A·n_kv_heads/n_heads; PP: 2·m transfers of A; DP: one all-reduce of the gradients, with
    ZeRO 3 also an all-gather of the parameters.

    Parameters
    ----------
    scenario
        The scenario.
    batches
        Microbatches of a replica, m.

    References
    ----------
    Nanyonga 2026, section 2 of the published definitions.
    """
    plan, raw = scenario.parallelism, communication(scenario)
    within = (
        raw.tensor * (1.0 - plan.overlap_tp)
        + raw.context * (1.0 - plan.overlap_cp)
        + raw.pipeline * (1.0 - plan.overlap_pp)
    )
    gradients = raw.reduced
    if SHARDED_GRADIENTS in scenario.refinements:
        gradients = gradients + raw.gathered
    if np.any(plan.zero_stage >= ZERO_STAGE_OF_PARAMETERS):
        gradients = gradients + raw.parameters
    return Exposed(within, within * batches + gradients * (1.0 - plan.overlap_dp))


def communication_past_windows(
    scenario: Scenario, microbatch_s: Value, batches: Value, recompute_factor: Value
) -> Exposed:
    """Refined: traffic hides as far as it fits under the computation that runs beside it.

    exposed = max(0, raw − window), whatever shares the scenario states. Tensor and pipeline
    traffic have a microbatch's computation for a window, keys and values its attention. Gradients
    are final in the backward pass of the last microbatches, of each virtual stage its own:
    (1 + (v − 1)·min(m, pp))/v microbatches; parameters are gathered under their forward pass;
    those of ZeRO 3 under all.

    Parameters
    ----------
    scenario
        The scenario.
    microbatch_s
        Computation of one microbatch.
    batches
        Microbatches of a replica, m.
    recompute_factor
        FLOPs with recomputation over those without, the forward pass being a third of these.

    References
    ----------
    Narayanan et al. 2021, section 2.2, for the interleaved schedule.
    """
    plan, model, raw = scenario.parallelism, scenario.model, communication(scenario)
    attention = 12.0 * model.n_layers * model.seq_len * model.hidden * 0.5
    attention = attention / (6.0 * model.n_params + attention)
    within = (
        _past(raw.tensor, microbatch_s)
        + _past(raw.context, microbatch_s * attention)
        + _past(raw.pipeline, microbatch_s)
    )
    virtual = maximum(1, plan.interleave_factor)
    last = microbatch_s * ((1.0 + (virtual - 1.0) * minimum(batches, plan.pp)) / virtual)
    forward = 1.0 / (3.0 * recompute_factor)
    gradients = _past(raw.reduced, last * (1.0 - forward))
    if SHARDED_GRADIENTS in scenario.refinements:
        gradients = gradients + _past(raw.gathered, last * forward)
    if np.any(plan.zero_stage >= ZERO_STAGE_OF_PARAMETERS):
        gradients = gradients + _past(raw.parameters, microbatch_s * batches)
    return Exposed(within, within * batches + gradients)


def _past(raw: Value, window: Value) -> Value:
    return maximum(0.0, raw - window)


def communication(scenario: Scenario) -> Raw:
    """Seconds of communication by kind, by the scenario's form."""
    plan, model, names = scenario.parallelism, scenario.model, scenario.refinements
    network = network_of(scenario)
    layers = model.n_layers / plan.pp
    activation = plan.micro_batch * (model.seq_len / plan.cp) * model.hidden * plan.act_bytes
    shard = model.n_params / (plan.tp * plan.pp)

    repeated = RECOMPUTE_COLLECTIVES in names and plan.recompute == "full"
    collectives = COLLECTIVES_RECOMPUTED if repeated else COLLECTIVES
    tensor = collectives * layers * all_reduce(activation, _placed(scenario, plan.tp, 1), network)

    heads_gathered = 2.0 * activation * model.n_kv_heads / model.n_heads
    if CONTEXT_PARALLEL in names:
        heads_gathered = heads_gathered * (plan.cp / plan.tp)
    context_group = _placed(scenario, plan.cp, plan.tp)
    context = 3.0 * layers * all_gather(heads_gathered, context_group, network)

    handoff = handoff_by_boundary if PIPELINE_HANDOFF in names else pipeline_handoff
    pipeline = handoff(scenario, activation, network)

    placed = _data_group(scenario)
    if CONTEXT_PARALLEL in names:
        placed = joint_group(scenario, context_group, placed)
    reduced = all_reduce(shard * plan.grad_bytes, placed, network)
    gathered: Value = 0.0
    parameters: Value = 0.0
    if SHARDED_GRADIENTS in names:
        reduced, gathered = sharded_gradients(scenario, reduced, shard, placed, network)
    if np.any(plan.zero_stage >= ZERO_STAGE_OF_PARAMETERS):
        parameters = all_gather(shard * plan.act_bytes, placed, network)
        parameters = where(plan.zero_stage >= ZERO_STAGE_OF_PARAMETERS, parameters, 0.0)
    return Raw(tensor, context, pipeline, reduced, gathered, parameters)


def sharded_gradients(
    scenario: Scenario, reduced: Value, shard: Value, placed: Placement, network: Network
) -> tuple[Value, Value]:
    """Refined: reduce-scatter of gradients, all-gather of parameters, from ZeRO 1 on.

    Each is half of an all-reduce: one of shard·grad_bytes, one of shard·act_bytes.

    Returns
    -------
    tuple of Value
        Seconds of the reduce-scatter (the whole all-reduce under ZeRO 0), of the all-gather.
    """
    plan = scenario.parallelism
    scattered = where(plan.zero_stage >= 1, reduced * 0.5, reduced)
    gathered = all_reduce(shard * plan.act_bytes, placed, network) * 0.5
    return scattered, where(plan.zero_stage >= 1, gathered, 0.0)


def pipeline_handoff(scenario: Scenario, activation: Value, network: Network) -> Value:
    """Published seconds of one microbatch's hand-offs: 2·(A/b + alpha), nothing at pp = 1.

    The tier is the pod's, even inside one scale-up domain, or the cross-pod one where the
    pipeline spans pods.
    """
    plan = scenario.parallelism
    placed = _placed(scenario, plan.pp, plan.tp * plan.cp)
    within, across = (
        activation / tier.bandwidth + tier.latency for tier in (network.pod, network.cross_pod)
    )
    return where(plan.pp > 1, 2.0 * where(placed.cross_pod > 1, across, within), 0.0)


def handoff_by_boundary(scenario: Scenario, activation: Value, network: Network) -> Value:
    """Refined seconds of one microbatch's hand-offs: 2·v times the mean over its boundaries.

    Each rank of a tensor group sends its part A/tp over the boundary's own tier; v virtual stages
    hand over v times. Without sequence parallelism the parts are then gathered in the group.

    References
    ----------
    Narayanan et al. 2021, sections 2.2 (interleaving) and 4.1 (scatter and gather).
    """
    plan, topology = scenario.parallelism, scenario.topology
    virtual = maximum(1, plan.interleave_factor)
    shares = boundary_tiers(
        plan.pp,
        plan.tp * plan.cp,
        blocks=plan.dp,
        virtual=virtual,
        scaleup_domain=topology.scaleup_domain,
        pod_size=topology.pod_size,
    )
    part = activation / plan.tp
    costs = (part / tier.bandwidth + tier.latency for tier in network)
    boundary = sum(share * cost for share, cost in zip(shares, costs, strict=True))
    if not plan.sequence_parallel:
        boundary = boundary + all_gather(activation, _placed(scenario, plan.tp, 1), network)
    return where(plan.pp > 1, 2.0 * virtual * boundary, 0.0)


def joint_group(scenario: Scenario, context: Placement, data: Placement) -> Placement:
    """Refined group of the gradients: replicas and the context ranks of each.

    Context ranks lie inside their replica: where a pod holds a replica they add members to its
    domains, not pods.
    """
    topology = scenario.topology
    pod = np.maximum(topology.scaleup_domain, topology.pod_size)
    pods = np.where(scenario.replica <= pod, 1, context.cross_pod)
    return Placement(context.scaleup * data.scaleup, context.pod * data.pod, pods * data.cross_pod)


def _placed(scenario: Scenario, size: Value, stride: Value) -> Placement:
    """Placement of a group inside replicas, by the scenario's form."""
    topology = scenario.topology
    where_ = {"scaleup_domain": topology.scaleup_domain, "pod_size": topology.pod_size}
    if RANK_MAP in scenario.refinements:
        return place_by_rank(size, stride, blocks=scenario.world // (size * stride), **where_)
    return place_group(size, stride, **where_)


def _data_group(scenario: Scenario) -> Placement:
    topology, size = scenario.topology, scenario.parallelism.dp
    where_ = {"scaleup_domain": topology.scaleup_domain, "pod_size": topology.pod_size}
    if RANK_MAP in scenario.refinements:
        return place_data_group(size, scenario.replica, **where_)
    return place_group(size, scenario.replica, **where_)
