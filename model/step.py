"""The healthy step: seconds of compute, exposed communication, bubble and synchronisation wait.

Shapes: everything broadcasts; with fields of shape (draws, 1) and a plan of shape (1, pools) the
results are (draws, pools), and what does not depend on the plan stays (draws, 1).
"""

from dataclasses import dataclass

import numpy as np

from model.collectives import Network, Tier, all_gather, all_reduce
from model.numerics import Value, log, maximum, sqrt, where
from model.placement import place_group
from model.scenario import Scenario

ZERO_STAGE_OF_PARAMETERS = 3
"""The ZeRO stage that shards parameters, which must then be gathered."""

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


def nominal_flops_per_token(scenario: Scenario) -> Value:
    """Model FLOPs of a token: 6·n_params + 12·n_layers·seq_len·hidden·0.5 (causal attention)."""
    model = scenario.model
    return 6.0 * model.n_params + 12.0 * model.n_layers * model.seq_len * model.hidden * 0.5


def microbatches(scenario: Scenario) -> Value:
    """Microbatches of a replica in one step, at least 1, fractions allowed."""
    plan = scenario.parallelism
    return maximum(1.0, plan.global_batch_seqs / plan.dp / plan.micro_batch)


def compute_time(scenario: Scenario) -> Value:
    """Seconds of kernels: FLOPs with recomputation over what all ranks achieve."""
    plan, model = scenario.parallelism, scenario.model
    tokens = plan.global_batch_seqs * model.seq_len
    flops = nominal_flops_per_token(scenario) * tokens * RECOMPUTE_FACTOR[plan.recompute]
    achieved = scenario.accelerator.peak_flops_bf16 * scenario.kernel.kernel_efficiency
    return flops / achieved / scenario.world


def exposed_communication(scenario: Scenario) -> Value:
    """Seconds of communication that computation does not hide.

    Each kind of traffic is exposed by 1 − its overlap:

    TP: 4·(n_layers/pp)·m all-reduces of A; CP: 3·(n_layers/pp)·m all-gathers of
    2·A·n_kv_heads/n_heads; PP: 2·m transfers of A; DP: one all-reduce of the gradients, with
    ZeRO 3 also an all-gather of the parameters. A = micro_batch·(seq_len/cp)·hidden·act_bytes.

    References
    ----------
    Nanyonga 2026, section 2 of the published definitions.
    """
    plan, model, topology = scenario.parallelism, scenario.model, scenario.topology
    network = network_of(scenario)
    where_ = {"scaleup_domain": topology.scaleup_domain, "pod_size": topology.pod_size}
    layers, batches = model.n_layers / plan.pp, microbatches(scenario)
    activation = plan.micro_batch * (model.seq_len / plan.cp) * model.hidden * plan.act_bytes
    shard = model.n_params / (plan.tp * plan.pp)

    tensor = 4.0 * layers * all_reduce(activation, place_group(plan.tp, 1, **where_), network)
    context = (
        3.0
        * layers
        * all_gather(
            2.0 * activation * model.n_kv_heads / model.n_heads,
            place_group(plan.cp, plan.tp, **where_),
            network,
        )
    )
    pipeline = pipeline_handoff(scenario, activation, network)
    placed = place_group(plan.dp, scenario.replica, **where_)
    data = all_reduce(shard * plan.grad_bytes, placed, network)
    if np.any(plan.zero_stage >= ZERO_STAGE_OF_PARAMETERS):
        parameters = all_gather(shard * plan.act_bytes, placed, network)
        data = data + where(plan.zero_stage >= ZERO_STAGE_OF_PARAMETERS, parameters, 0.0)

    per_microbatch = (
        tensor * (1.0 - plan.overlap_tp)
        + context * (1.0 - plan.overlap_cp)
        + pipeline * (1.0 - plan.overlap_pp)
    )
    return per_microbatch * batches + data * (1.0 - plan.overlap_dp)


def pipeline_handoff(scenario: Scenario, activation: Value, network: Network) -> Value:
    """Seconds of one microbatch's hand-offs: 2·(A/b + alpha), nothing without a pipeline.

    The tier is the pod's, even inside one scale-up domain, or the cross-pod one where the
    pipeline spans pods.
    """
    plan, topology = scenario.parallelism, scenario.topology
    placed = place_group(
        plan.pp,
        plan.tp * plan.cp,
        scaleup_domain=topology.scaleup_domain,
        pod_size=topology.pod_size,
    )
    within, across = (
        activation / tier.bandwidth + tier.latency for tier in (network.pod, network.cross_pod)
    )
    return where(plan.pp > 1, 2.0 * where(placed.cross_pod > 1, across, within), 0.0)


def synchronisation_tax(scenario: Scenario) -> Value:
    """Step time with the slowest rank over step time without, at least 1.

    (1 + cv·sqrt(2 ln world))·(1 + (slowdown − 1)(1 − (1 − p)^nodes)), nodes whole.
    """
    reliability = scenario.reliability
    world = scenario.world
    straggler = 1.0 + reliability.straggler_cv * sqrt(2.0 * log(world))
    nodes = world // scenario.accelerator.accelerators_per_node
    slow = 1.0 - (1.0 - reliability.failslow_prob_per_node) ** nodes
    return straggler * (1.0 + (reliability.failslow_slowdown - 1.0) * slow)


def healthy_step(scenario: Scenario) -> Step:
    """Time of a step in which nothing fails, split by what it is spent on."""
    plan = scenario.parallelism
    compute = compute_time(scenario)
    communication = exposed_communication(scenario)
    interleave = maximum(1, plan.interleave_factor)
    bubble = compute * ((plan.pp - 1) / (microbatches(scenario) * interleave))
    untaxed = compute + communication + bubble
    total = untaxed * synchronisation_tax(scenario)
    return Step(
        compute_s=compute,
        communication_s=communication,
        bubble_s=bubble,
        synchronisation_s=total - untaxed,
        total_s=total,
    )
