"""The published accounting model in plain scalar Python, one scenario at a time.

Written from sections 1 to 4 of the reference text alone, to be read beside it line by line. It
shares no code with the product, keeps the published clamps and tie rules, and trades all speed
for plainness: no arrays, no caches, every curve sampled anew.

A scenario is the published YAML as nested dicts. Times are seconds per accelerator until
``evaluate`` multiplies them by the accelerators they hold for; ``T`` is the window.
"""

import math
from typing import Any

from tests.oracles.scenarios import (
    INTERVENTIONS,
    REFERENCE,
    REGIMES,
    Intervention,
    Scenario,
    random_scenario,
)

__all__ = [
    "INTERVENTIONS",
    "REFERENCE",
    "REGIMES",
    "Intervention",
    "Scenario",
    "all_gather",
    "all_reduce",
    "apply_intervention",
    "at_scale",
    "evaluate",
    "expected_lost_work",
    "healthy_step",
    "informal_equivalent",
    "placement",
    "planned_pool",
    "poisson_cdf",
    "pool_size",
    "published_grid",
    "random_scenario",
    "rank_published",
    "realisable",
    "recovery",
    "replan_to_dp",
    "replan_to_pool",
    "sampled_curve",
    "sea_exact",
    "sea_published",
    "with_values",
    "world_size",
]

Tier = tuple[int, float, float]  # members, bytes/s, seconds of latency a hop

RECOMPUTE_FACTOR = {"none": 1.0, "selective": 1.10, "full": 4.0 / 3.0}
SECONDS_PER_DAY = 86400.0
PRESSURE_LIMIT = 0.25
INTEGER_FIELDS = {"topology.scaleup_domain", "topology.pod_size"}  # kept whole when multiplied
POOL_SHARES = {"reliability.spare_fraction", "reliability.stranded_fraction"}


def with_values(scenario: Scenario, values: dict[str, Any]) -> Scenario:
    """Return a new scenario with the fields at these dotted paths replaced."""
    changed = {k: dict(v) if isinstance(v, dict) else v for k, v in scenario.items()}
    for path, value in values.items():
        section, _, field = path.rpartition(".")
        target = changed[section] if section else changed
        if field not in target:
            raise KeyError(path)
        target[field] = value
    return changed


# --- Section 2: the healthy step -----------------------------------------------------------


def placement(size: int, stride: int, scaleup_domain: int, pod_size: int) -> tuple[int, int, int]:
    """Return members per scale-up domain, domains per pod and pods of a group of ranks."""
    if size == 1:
        return 1, 1, 1
    g = scaleup_domain
    q = max(g, pod_size)
    per_scaleup = min(size, max(1, g // stride)) if stride <= g else 1
    domains = math.ceil(size / per_scaleup)
    domain_stride = max(1, stride * per_scaleup // g) if stride * per_scaleup >= g else 1
    per_pod = min(domains, max(1, (q // g) // domain_stride))
    pods = math.ceil(domains / per_pod)
    return per_scaleup, per_pod, pods


def link(scenario: Scenario, tier: str) -> tuple[float, float]:
    """Return bandwidth (bytes/s) and latency (s) of tier ``scaleup``, ``pod`` or ``xpod``."""
    accelerator, topology = scenario["accelerator"], scenario["topology"]
    line_gbps = accelerator["scaleup_bw_gbps" if tier == "scaleup" else "nic_bw_gbps"]
    bandwidth = line_gbps * 1e9 * topology["net_efficiency"] / 8.0
    if tier == "xpod":
        bandwidth /= max(1.0, topology["oversubscription"])
    return bandwidth, topology[f"alpha_{tier}_us"] * 1e-6


def present_tiers(scenario: Scenario, size: int, stride: int) -> list[Tier]:
    """Return the tiers, lowest first, on which the group has more than one member."""
    topology = scenario["topology"]
    members = placement(size, stride, topology["scaleup_domain"], topology["pod_size"])
    return [
        (k, *link(scenario, tier))
        for k, tier in zip(members, ("scaleup", "pod", "xpod"), strict=True)
        if k > 1
    ]


def ring_all_reduce(size_bytes: float, tier: Tier) -> float:
    """Seconds of a ring all-reduce on one tier."""
    k, bandwidth, alpha = tier
    return 2.0 * (k - 1) / k * size_bytes / bandwidth + 2.0 * (k - 1) * alpha


def ring_all_gather(size_bytes: float, tier: Tier) -> float:
    """Seconds of a ring all-gather, or reduce-scatter, on one tier: half an all-reduce."""
    return ring_all_reduce(size_bytes, tier) / 2.0


def all_reduce(size_bytes: float, tiers: list[Tier]) -> float:
    """Seconds of an all-reduce over every present tier."""
    if not tiers:
        return 0.0
    lowest, further = tiers[0], tiers[1:]
    seconds = ring_all_gather(size_bytes, lowest)  # the reduce-scatter
    for tier in further:
        seconds += ring_all_reduce(size_bytes / lowest[0], tier)
    return seconds + ring_all_gather(size_bytes, lowest)


def all_gather(size_bytes: float, tiers: list[Tier]) -> float:
    """Seconds of an all-gather over every present tier: S, S/k1, S/(k1 k2) ... summed."""
    seconds = 0.0
    for tier in tiers:
        seconds += ring_all_gather(size_bytes, tier)
        size_bytes /= tier[0]
    return seconds


def world_size(scenario: Scenario) -> int:
    """Return the accelerators the job runs on."""
    plan = scenario["parallelism"]
    return plan["tp"] * plan["pp"] * plan["cp"] * plan["dp"]


def healthy_step(scenario: Scenario) -> dict[str, float]:
    """Return the parts of one step without failures, in seconds, and its MFU."""
    model, accelerator, plan = scenario["model"], scenario["accelerator"], scenario["parallelism"]
    reliability = scenario["reliability"]
    tp, pp, cp, dp = plan["tp"], plan["pp"], plan["cp"], plan["dp"]
    batch, micro_batch = plan["global_batch_seqs"], plan["micro_batch"]
    world = world_size(scenario)
    peak = accelerator["peak_flops_bf16"]

    flops_per_token = (
        6.0 * model["n_params"]
        + 12.0 * model["n_layers"] * model["seq_len"] * model["hidden"] * 0.5
    )
    nominal_flops = flops_per_token * batch * model["seq_len"]
    recompute = RECOMPUTE_FACTOR[plan["recompute"]]
    efficiency = scenario["kernel"]["kernel_efficiency"]
    compute = nominal_flops * recompute / (world * peak * efficiency)

    m = max(1.0, batch / dp / micro_batch)
    activation = micro_batch * (model["seq_len"] / cp) * model["hidden"] * plan["act_bytes"]
    layers_per_stage = model["n_layers"] / pp
    shard_params = model["n_params"] / (tp * pp)

    tp_tiers = present_tiers(scenario, tp, 1)
    raw_tp = 4.0 * layers_per_stage * m * all_reduce(activation, tp_tiers)

    cp_tiers = present_tiers(scenario, cp, tp)
    kv_bytes = 2.0 * activation * model["n_kv_heads"] / model["n_heads"]
    raw_cp = 3.0 * layers_per_stage * m * all_gather(kv_bytes, cp_tiers)

    raw_pp = 0.0
    if pp > 1:
        topology = scenario["topology"]
        pods = placement(pp, tp * cp, topology["scaleup_domain"], topology["pod_size"])[2]
        bandwidth, alpha = link(scenario, "xpod" if pods > 1 else "pod")
        raw_pp = 2.0 * m * (activation / bandwidth + alpha)

    dp_tiers = present_tiers(scenario, dp, tp * cp * pp)
    raw_dp = all_reduce(shard_params * plan["grad_bytes"], dp_tiers)
    if plan["zero_stage"] >= 3:
        raw_dp += all_gather(shard_params * plan["act_bytes"], dp_tiers)

    exposed = (
        raw_tp * (1.0 - plan["overlap_tp"])
        + raw_cp * (1.0 - plan["overlap_cp"])
        + raw_pp * (1.0 - plan["overlap_pp"])
        + raw_dp * (1.0 - plan["overlap_dp"])
    )
    bubble = compute * (pp - 1) / (m * max(1, plan["interleave_factor"]))

    straggler_tax = 1.0 + reliability["straggler_cv"] * math.sqrt(2.0 * math.log(world))
    nodes = world // accelerator["accelerators_per_node"]
    any_slow = 1.0 - (1.0 - reliability["failslow_prob_per_node"]) ** nodes
    failslow_tax = 1.0 + (reliability["failslow_slowdown"] - 1.0) * any_slow
    untaxed = compute + exposed + bubble
    step = untaxed * straggler_tax * failslow_tax
    return {
        "compute": compute,
        "exposed": exposed,
        "bubble": bubble,
        "sync": step - untaxed,
        "step": step,
        "mfu": nominal_flops / (world * peak * step),
    }


# --- Section 3: failures, detection, restart, checkpoints ----------------------------------


def poisson_cdf(k: int, mean: float) -> float:
    """Return the probability of at most ``k`` events: e^-mean (1 + mean + mean^2/2! + ...)."""
    if k < 0:
        return 0.0
    term = total = 1.0
    exponent = mean  # the part of e^-mean not yet multiplied in, so that nothing overflows
    for i in range(1, k + 1):
        term *= mean / i
        total += term
        if i > mean and term < 1e-20 * total:
            break  # the terms only fall from here
        if total > 1e200:
            term *= math.exp(-400.0)
            total *= math.exp(-400.0)
            exponent -= 400.0
    return min(1.0, total * math.exp(-exponent))


def expected_lost_work(failures_per_s: float, period: float) -> float:
    """Return the expected seconds since the last checkpoint when a failure strikes.

    (1/l - (p + 1/l) e^(-lp)) / (1 - e^(-lp)) = 1/l - p/(e^(lp) - 1), a series for small lp.
    """
    z = failures_per_s * period
    if z < 1e-2:
        return period * (0.5 - z / 12.0 + z**3 / 720.0)
    if z > 700.0:
        return 1.0 / failures_per_s
    return 1.0 / failures_per_s - period / math.expm1(z)


def recovery(scenario: Scenario, pool: int) -> dict[str, float]:
    """Return where the wall-clock of one job accelerator goes, in seconds."""
    reliability = scenario["reliability"]
    job = world_size(scenario)
    per_node = scenario["accelerator"]["accelerators_per_node"]
    window = scenario["window_days"] * SECONDS_PER_DAY
    detect, repair = reliability["detect_time_s"], reliability["repair_time_s"]

    node_rate = (job / per_node) * reliability["failure_rate_per_node_day"] / SECONDS_PER_DAY
    rate = node_rate + reliability["failure_rate_per_job_day"] / SECONDS_PER_DAY
    mttf = 1.0 / rate if rate > 0.0 else math.inf
    write = reliability["checkpoint_write_s"] * reliability["checkpoint_blocking_fraction"]

    interval = reliability["checkpoint_interval_s"]
    if interval is None and write <= 0.0:
        interval = max(60.0, mttf)
    elif interval is None:
        interval = max(60.0, math.sqrt(2.0 * write) * math.sqrt(mttf) - write)
    period = interval + write

    spare_nodes = math.floor(reliability["spare_fraction"] * pool / per_node)
    # Only nodes are repaired; a failure is one of a node with probability node_rate / rate.
    spare_is_free = poisson_cdf(spare_nodes - 1, node_rate * repair)
    by_node = node_rate / rate if rate > 0.0 else 0.0
    restart_time = reliability["restart_time_s"] + by_node * (1.0 - spare_is_free) * repair
    down_share = min(0.5, node_rate * repair * per_node / job)
    up = window * (1.0 - down_share)

    if math.isinf(mttf):  # failures never come; their cost is 0, not 0 times an infinite period
        failures = discarded = restart = 0.0
    else:
        failures = up / (mttf + detect + restart_time)
        discarded = failures * (expected_lost_work(rate, period) + detect)
        restart = failures * restart_time
    surviving = max(0.0, up - (discarded + restart))
    checkpoint = surviving * write / period
    return {
        "mttf": mttf,
        "interval": interval,
        "failures": failures,
        "down": down_share * window,
        "discarded": discarded,
        "restart": restart,
        "checkpoint": checkpoint,
        "running": surviving - checkpoint,
    }


# --- Section 1: the ledger -----------------------------------------------------------------


def planned_pool(scenario: Scenario) -> int:
    """Return the accelerators the plan needs, spares and stranded included."""
    return math.ceil(world_size(scenario) * _pool_factor(scenario))


def _pool_factor(scenario: Scenario) -> float:
    reliability = scenario["reliability"]
    return 1.0 + reliability["spare_fraction"] + reliability["stranded_fraction"]


def pool_size(scenario: Scenario) -> int:
    """Return the accelerators owned: given, or as many as the plan needs."""
    return scenario["n_pool"] if scenario["n_pool"] is not None else planned_pool(scenario)


def evaluate(scenario: Scenario) -> dict[str, Any]:
    """Return the ledger in accelerator-seconds and every figure derived from it.

    ``healthy_step`` splits the running time; the keys are the columns of the published table e1,
    plus the totals of the four fates and the model FLOPs utilisation.
    """
    pool, job = pool_size(scenario), world_size(scenario)
    window = scenario["window_days"] * SECONDS_PER_DAY
    step = healthy_step(scenario)
    clock = recovery(scenario, pool)
    running, length = clock["running"], step["step"]
    plan = scenario["parallelism"]
    tokens_per_step = plan["global_batch_seqs"] * scenario["model"]["seq_len"]

    productive = job * running * step["compute"] / length
    comm = job * running * step["exposed"] / length
    sync = job * running * step["sync"] / length
    bubble = job * running * step["bubble"] / length
    checkpoint, restart = job * clock["checkpoint"], job * clock["restart"]
    discarded, down = job * clock["discarded"], job * clock["down"]
    spare_stranded = (pool - job) * window
    blocked = comm + sync + bubble + checkpoint + restart
    unavailable = down + spare_stranded

    total = productive + blocked + discarded + unavailable
    owned = pool * window
    assert abs(total - owned) <= 1e-9 * owned, "an accelerator-second has no fate, or two"

    stopped = clock["discarded"] + clock["restart"]
    pressure = stopped / (stopped + running) if stopped > 0.0 else 0.0
    return {
        "scenario": scenario["name"],
        "n_pool": pool,
        "world_size": job,
        "window_days": scenario["window_days"],
        "productive": productive,
        "blocked": blocked,
        "blocked_comm": comm,
        "blocked_sync": sync,
        "blocked_bubble": bubble,
        "blocked_checkpoint": checkpoint,
        "blocked_restart": restart,
        "discarded": discarded,
        "unavailable": unavailable,
        "unavailable_down": down,
        "unavailable_spare_stranded": spare_stranded,
        "total": total,
        "ucf": productive / owned,
        "productive_accelerators": productive / window,
        "tokens_per_second": running / length * tokens_per_step / window,
        "ettr": (productive + comm + sync + bubble) / (job * window - down),
        "step_efficiency": step["compute"] / length,
        "t_step_s": length,
        "mfu": step["mfu"],
        "job_mttf_hours": clock["mttf"] / 3600.0,
        "checkpoint_interval_s": clock["interval"],
        "n_failures": clock["failures"],
        "recovery_pressure": pressure,
        "within_validity_envelope": pressure < PRESSURE_LIMIT,
    }


# --- Section 3: pools of another size, interventions, substitution --------------------------


def realisable(scenario: Scenario) -> bool:
    """Return whether every replica has at least one microbatch."""
    plan = scenario["parallelism"]
    return plan["dp"] >= 1 and plan["global_batch_seqs"] / plan["dp"] / plan["micro_batch"] >= 1.0


def replan_to_dp(scenario: Scenario, dp: int) -> Scenario:
    """Return the scenario at another data-parallel size, its pool computed anew."""
    plan = scenario["parallelism"]
    batch = plan["global_batch_seqs"]
    if scenario["scaling_mode"] == "weak":
        batch = min(batch * dp // plan["dp"], scenario["max_global_batch_seqs"])
    values = {"parallelism.dp": dp, "parallelism.global_batch_seqs": batch}
    replanned = with_values(scenario, values)
    replanned["n_pool"] = planned_pool(replanned)
    return replanned


def replan_to_pool(scenario: Scenario, pool: int) -> Scenario:
    """Return the scenario with as many replicas as the pool holds."""
    plan = scenario["parallelism"]
    job = math.floor(pool / _pool_factor(scenario))
    dp = job // (plan["tp"] * plan["pp"] * plan["cp"])
    if dp < 1:
        message = f"a pool of {pool} does not hold one replica"
        raise ValueError(message)
    return replan_to_dp(scenario, dp)


def at_scale(scenario: Scenario, n: int) -> Scenario:
    """Return the scenario re-planned to about ``n`` job accelerators."""
    return replan_to_pool(scenario, math.ceil(n * _pool_factor(scenario)))


def apply_intervention(scenario: Scenario, intervention: Intervention) -> Scenario:
    """Return the treated scenario, holding the baseline's pool if spares or stranded change."""
    values = dict(intervention["overrides"])
    for path, factor in intervention["multipliers"].items():
        section, _, field = path.rpartition(".")
        value = scenario[section][field] * factor
        values[path] = round(value) if path in INTEGER_FIELDS else value
    treated = with_values(scenario, values)
    if POOL_SHARES & values.keys():
        treated = replan_to_pool(treated, pool_size(scenario))
    return treated


def published_grid(base_dp: int) -> list[int]:
    """Return the data-parallel sizes the published solver samples."""
    last = 64 * base_dp
    grid = list(range(base_dp, base_dp + 17))
    x = float(base_dp + 16)
    while x < last:
        x *= 1.07
        grid.append(min(round(x), last))
    return grid


def sampled_curve(scenario: Scenario) -> list[tuple[int, float]]:
    """Return (pool, productive accelerators) at every realisable size of the published grid."""
    curve = []
    for dp in published_grid(scenario["parallelism"]["dp"]):
        replanned = replan_to_dp(scenario, dp)
        if realisable(replanned):
            ledger = evaluate(replanned)
            curve.append((ledger["n_pool"], ledger["productive_accelerators"]))
    return curve


def _pool_at(target: float, below: tuple[int, float], above: tuple[int, float]) -> float:
    share = (target - below[1]) / (above[1] - below[1])
    return below[0] + share * (above[0] - below[0])


def informal_equivalent(scenario: Scenario, intervention: Intervention) -> float:
    """Return avoided blocked and discarded time, in accelerators."""
    before, after = evaluate(scenario), evaluate(apply_intervention(scenario, intervention))
    avoided = (before["blocked"] - after["blocked"]) + (before["discarded"] - after["discarded"])
    return avoided / (scenario["window_days"] * SECONDS_PER_DAY)


def sea_published(scenario: Scenario, intervention: Intervention) -> dict[str, Any]:
    """Return a row of the published table e2; the whole curve is sampled at every call."""
    baseline = evaluate(scenario)
    treated = evaluate(apply_intervention(scenario, intervention))
    curve = sampled_curve(scenario)
    pool, held = baseline["n_pool"], baseline["productive_accelerators"]
    target = treated["productive_accelerators"]

    sea = math.inf
    if target <= held:
        sea = 0.0
    else:
        for i, point in enumerate(curve):
            if point[1] >= target:
                sea = (_pool_at(target, curve[i - 1], point) if i > 0 else point[0]) - pool
                break
    return {
        "intervention": intervention["name"],
        "baseline_pool": pool,
        "baseline_productive_accelerators": held,
        "treated_productive_accelerators": target,
        "delta_productive_accelerators": target - held,
        "sea": sea,
        "sea_fraction_of_pool": sea / pool,
        "attainable_by_scaling": math.isfinite(sea),
        "best_throughput_by_scaling": max((point[1] for point in curve), default=held),
        "naive_equivalent": informal_equivalent(scenario, intervention),
        "baseline_ucf": baseline["ucf"],
        "treated_ucf": treated["ucf"],
        "recovery_pressure": baseline["recovery_pressure"],
        "within_validity_envelope": baseline["within_validity_envelope"],
    }


def rank_published(scenario: Scenario, interventions: list[Intervention]) -> list[dict[str, Any]]:
    """Return the rows of ``sea_published``, best first, ties in the order given."""
    rows = [sea_published(scenario, intervention) for intervention in interventions]
    return sorted(rows, key=lambda row: row["sea"], reverse=True)


def sea_exact(scenario: Scenario, intervention: Intervention) -> float:
    """Return the signed SEA by walking every data-parallel size up to 64 times the base.

    A gain is the first crossing above the base, or inf; a loss is minus the reduction to the
    first smaller pool that does no better, or -inf. Both interpolate between neighbours.
    """
    baseline = evaluate(scenario)
    treated = evaluate(apply_intervention(scenario, intervention))
    target, held = treated["productive_accelerators"], baseline["productive_accelerators"]
    if target == held:
        return 0.0
    base_dp = scenario["parallelism"]["dp"]
    gain = target > held
    walk = range(base_dp + 1, 64 * base_dp + 1) if gain else range(base_dp - 1, 0, -1)
    nearer = (baseline["n_pool"], held)
    for dp in walk:
        replanned = replan_to_dp(scenario, dp)
        if not realisable(replanned):
            continue
        ledger = evaluate(replanned)
        point = (ledger["n_pool"], ledger["productive_accelerators"])
        if gain and point[1] >= target:
            return _pool_at(target, nearer, point) - baseline["n_pool"]
        if not gain and point[1] <= target:
            return _pool_at(target, point, nearer) - baseline["n_pool"]
        nearer = point
    return math.inf if gain else -math.inf
