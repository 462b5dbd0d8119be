"""The published reference scenario, interventions and regimes (section 4), and random scenarios.

A scenario is the published YAML as nested dicts; an intervention has a name, ``overrides`` and
``multipliers`` by dotted path.
"""

import math
import random
from typing import Any

Scenario = dict[str, Any]
Intervention = dict[str, Any]

REFERENCE: Scenario = {
    "name": "reference_405b_16k",
    "n_pool": None,
    "window_days": 30.0,
    "scaling_mode": "strong",
    "max_global_batch_seqs": 8192,
    "model": {
        "n_layers": 126,
        "hidden": 16384,
        "n_params": 4.05e11,
        "seq_len": 8192,
        "vocab": 128256,
        "n_heads": 128,
        "n_kv_heads": 8,
        "ffn_multiplier": 3.25,
    },
    "accelerator": {
        "peak_flops_bf16": 9.895e14,
        "memory_gb": 80.0,
        "scaleup_bw_gbps": 3600.0,
        "nic_bw_gbps": 400.0,
        "accelerators_per_node": 8,
    },
    "topology": {
        "scaleup_domain": 8,
        "pod_size": 3072,
        "oversubscription": 7.0,
        "alpha_scaleup_us": 2.0,
        "alpha_pod_us": 6.0,
        "alpha_xpod_us": 15.0,
        "net_efficiency": 0.85,
    },
    "parallelism": {
        "tp": 8,
        "pp": 16,
        "cp": 1,
        "dp": 128,
        "micro_batch": 1,
        "global_batch_seqs": 2048,
        "zero_stage": 1,
        "interleave_factor": 8,
        "sequence_parallel": True,
        "recompute": "selective",
        "overlap_dp": 0.85,
        "overlap_tp": 0.10,
        "overlap_pp": 0.70,
        "overlap_cp": 0.30,
        "grad_bytes": 4,
        "act_bytes": 2,
    },
    "reliability": {
        "failure_rate_per_node_day": 5e-3,
        "failure_rate_per_job_day": 0.0,
        "detect_time_s": 120.0,
        "restart_time_s": 300.0,
        "checkpoint_interval_s": None,
        "checkpoint_write_s": 20.0,
        "checkpoint_blocking_fraction": 1.0,
        "repair_time_s": 3600.0,
        "spare_fraction": 0.03,
        "straggler_cv": 0.02,
        "failslow_prob_per_node": 0.0,
        "failslow_slowdown": 1.0,
        "stranded_fraction": 0.0,
    },
    "kernel": {"kernel_efficiency": 0.5706},
}


def _intervention(
    name: str,
    overrides: dict[str, float] | None = None,
    multipliers: dict[str, float] | None = None,
) -> Intervention:
    return {"name": name, "overrides": overrides or {}, "multipliers": multipliers or {}}


INTERVENTIONS: list[Intervention] = [
    _intervention("bandwidth_2x", multipliers={"accelerator.nic_bw_gbps": 2.0}),
    _intervention("bandwidth_4x", multipliers={"accelerator.nic_bw_gbps": 4.0}),
    _intervention("flat_fabric", overrides={"topology.oversubscription": 1.0}),
    _intervention("scaleup_2x", multipliers={"topology.scaleup_domain": 2}),
    _intervention("reliability_2x", multipliers={"reliability.failure_rate_per_node_day": 0.5}),
    _intervention("fast_detection", overrides={"reliability.detect_time_s": 20.0}),
    _intervention("fast_restart", overrides={"reliability.restart_time_s": 60.0}),
    _intervention("fast_checkpoint", overrides={"reliability.checkpoint_write_s": 5.0}),
    _intervention("add_spares", overrides={"reliability.spare_fraction": 0.05}),
    _intervention("straggler_control", multipliers={"reliability.straggler_cv": 0.5}),
]


def _regime(name: str, failure_rate: float, oversubscription: float) -> dict[str, Any]:
    overrides = {
        "reliability.failure_rate_per_node_day": failure_rate,
        "topology.oversubscription": oversubscription,
    }
    return {"name": name, "overrides": overrides}


REGIMES: list[dict[str, Any]] = [
    _regime("reliable_flat", 0.0025, 1.0),
    _regime("reliable_oversubscribed", 0.0025, 7.0),
    {"name": "typical", "overrides": {}},
    _regime("unreliable_flat", 0.015, 1.0),
    _regime("unreliable_oversubscribed", 0.015, 7.0),
]


def _random_plan(rng: random.Random) -> dict[str, int]:
    """Return tp, pp, cp and dp, powers of two or odd, of at most 65,536 ranks."""
    while True:
        plan = {
            "tp": rng.choice([1, 1, 2, 3, 4, 5, 8, 16, 32]),
            "pp": rng.choice([1, 1, 2, 3, 4, 7, 8, 16]),
            "cp": rng.choice([1, 1, 1, 2, 3, 4, 8]),
            "dp": rng.choice([1, 2, 3, 5, 8, 16, 31, 64, 128, 255, 512, rng.randint(1, 1024)]),
        }
        if math.prod(plan.values()) <= 65536:
            return plan


def _random_failure_rate(rng: random.Random, nodes: float) -> float:
    """Return failures per node-day: none, vanishing, usual or beyond the model's scope."""
    kind = rng.random()
    if kind < 0.15:
        return 0.0
    if kind < 0.3:
        rate = rng.choice([1e-300, 1e-100, 1e-30, 1e-16, 1e-9, 1e-6])
    elif kind < 0.8:
        rate = 10.0 ** rng.uniform(-3.5, -1.5)
    else:
        rate = 10.0 ** rng.uniform(-1.5, 1.0)
    # Below ten minutes between failures what survives is a small difference of large numbers.
    return min(rate, 86400.0 / 600.0 / nodes)


def random_scenario(rng: random.Random) -> Scenario:
    """Return a valid, realisable scenario from anywhere in the space of scenarios."""
    plan = _random_plan(rng)
    tp, pp, cp, dp = plan["tp"], plan["pp"], plan["cp"], plan["dp"]
    kv_heads = rng.choice([1, 2, 4, 8, 6])
    heads = math.lcm(tp, kv_heads) * rng.choice([1, 2, 4])
    micro_batch = rng.choice([1, 1, 2, 3, 4])
    batch = math.floor(dp * micro_batch * rng.choice([1, 2, 16, rng.uniform(1.0, 64.0)]))
    layers = pp * rng.randint(1, 12) if rng.random() < 0.5 else pp + rng.randint(0, 120)
    world = math.prod(plan.values())
    per_node = rng.choice([1, 4, 8, 8, 16, 72])
    failure_rate = _random_failure_rate(rng, world / per_node)
    interval = None
    if rng.random() < 0.4:
        mttf = 86400.0 / failure_rate / (world / per_node) if failure_rate > 0.0 else math.inf
        interval = min(rng.uniform(30.0, 20000.0), 5.0 * mttf)
    scenario: Scenario = {
        "name": "random",
        "n_pool": None,
        "window_days": rng.choice([0.5, 7.0, 30.0, 54.0, rng.uniform(0.1, 120.0)]),
        "scaling_mode": rng.choice(["strong", "weak"]),
        "max_global_batch_seqs": max(8192, batch) * rng.choice([1, 2, 8]),
        "model": {
            "n_layers": layers,
            "hidden": heads * rng.choice([64, 80, 128]),
            "n_params": 10.0 ** rng.uniform(8.0, 12.5),
            "seq_len": cp * rng.choice([256, 1000, 2048, 8192, 32768]),
            "vocab": rng.choice([32000, 128256]),
            "n_heads": heads,
            "n_kv_heads": kv_heads,
            "ffn_multiplier": rng.choice([2.7, 3.25, 4.0]),
        },
        "accelerator": {
            "peak_flops_bf16": 10.0 ** rng.uniform(13.5, 15.7),
            "memory_gb": rng.choice([40.0, 80.0, 192.0]),
            "scaleup_bw_gbps": rng.uniform(200.0, 14400.0),
            "nic_bw_gbps": rng.uniform(10.0, 3200.0),
            "accelerators_per_node": per_node,
        },
        "topology": {
            "scaleup_domain": rng.choice([1, 2, 4, 8, 8, 16, 64, 72, rng.randint(1, 72)]),
            "pod_size": rng.choice([1, 37, 256, 1001, 3072, 4096, rng.randint(1, 20000)]),
            "oversubscription": rng.choice([1.0, 1.5, 4.0, 7.0, rng.uniform(1.0, 16.0)]),
            "alpha_scaleup_us": rng.uniform(0.0, 5.0),
            "alpha_pod_us": rng.uniform(0.0, 15.0),
            "alpha_xpod_us": rng.uniform(0.0, 50.0),
            "net_efficiency": rng.uniform(0.3, 1.0),
        },
        "parallelism": {
            **plan,
            "micro_batch": micro_batch,
            "global_batch_seqs": batch,
            "zero_stage": rng.choice([1, 3]),
            "interleave_factor": rng.choice([1, 2, 8]),
            "sequence_parallel": rng.choice([True, False]),
            "recompute": rng.choice(["none", "selective", "full"]),
            "overlap_dp": rng.choice([0.0, 1.0, rng.random()]),
            "overlap_tp": rng.choice([0.0, rng.random()]),
            "overlap_pp": rng.choice([0.0, rng.random()]),
            "overlap_cp": rng.choice([0.0, rng.random()]),
            "grad_bytes": rng.choice([2, 4]),
            "act_bytes": rng.choice([1, 2, 4]),
        },
        "reliability": {
            "failure_rate_per_node_day": failure_rate,
            "failure_rate_per_job_day": rng.choice([0.0, 0.0, 10.0 ** rng.uniform(-2.0, 0.5)]),
            "detect_time_s": rng.choice([0.0, rng.uniform(1.0, 1000.0)]),
            "restart_time_s": rng.choice([0.0, rng.uniform(1.0, 2000.0)]),
            "checkpoint_interval_s": interval,
            "checkpoint_write_s": rng.choice([0.0, rng.uniform(0.1, 200.0)]),
            "checkpoint_blocking_fraction": rng.choice([0.0, 1.0, rng.random()]),
            "repair_time_s": rng.choice([0.0, 3600.0, 10.0 ** rng.uniform(2.0, 5.0)]),
            "spare_fraction": rng.choice([0.0, 0.03, rng.uniform(0.0, 0.2)]),
            "straggler_cv": rng.choice([0.0, rng.uniform(0.0, 0.1)]),
            "failslow_prob_per_node": rng.choice([0.0, rng.uniform(0.0, 0.02)]),
            "failslow_slowdown": rng.uniform(1.0, 2.0),
            "stranded_fraction": rng.choice([0.0, 0.0, rng.uniform(0.0, 0.1)]),
        },
        "kernel": {"kernel_efficiency": rng.uniform(0.05, 1.0)},
    }
    if rng.random() < 0.25:
        reliability = scenario["reliability"]
        shares = reliability["spare_fraction"] + reliability["stranded_fraction"]
        scenario["n_pool"] = math.ceil(world * (1.0 + shares)) + rng.randint(1, world)
    return scenario
