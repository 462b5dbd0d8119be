"""Refinements of the healthy step: closed forms, integration, simulation, published limits."""

from collections.abc import Mapping

import numpy as np
import pytest
from scipy import integrate, stats

from model.forms import NAMES, read_forms, unread_fields
from model.scenario import Scenario, substitute, with_values
from model.step import (
    attention_flops_per_token,
    compute_time,
    healthy_step,
    microbatches,
    nominal_flops_per_token,
    recompute_factor,
    size_factor,
    stage_pace,
)
from model.stragglers import asymptotic_maximum, expected_maximum, synchronised
from model.traffic import communication, exposed_communication
from tests.reference import REFERENCE

GENERAL = substitute(
    REFERENCE,
    {
        "model.n_layers": 120,
        "model.vocab": 128256,
        "parallelism.tp": 4,
        "parallelism.pp": 16,
        "parallelism.cp": 2,
        "parallelism.dp": 100,
        "parallelism.micro_batch": 2,
        "parallelism.global_batch_seqs": 1500,
        "parallelism.interleave_factor": 3,
        "parallelism.recompute": "full",
        "parallelism.overlap_tp": 0.3,
        "topology.pod_size": 1000,
        "topology.scaleup_domain": 8,
    },
)
"""A plan on which every refinement of the step but one changes something."""

LIMITS: dict[str, Mapping[str, object]] = {
    "kernel_size": {
        "kernel.half_hidden": 0.0,
        "kernel.half_width": 0.0,
        "kernel.half_tokens": 0.0,
    },
    "memory_traffic": {
        "model.n_layers": 126,
        "parallelism.tp": 8,
        "parallelism.recompute": "none",
    },
    "exact_maximum": {"reliability.straggler_cv": 0.0},
    "persistent_ranks": {"reliability.persistent_share": 0.0},
    "overlap_window": {
        "parallelism.overlap_tp": 1.0,
        "parallelism.overlap_cp": 1.0,
        "parallelism.overlap_pp": 1.0,
        "parallelism.overlap_dp": 1.0,
        "accelerator.nic_bw_gbps": 1e6,
        "accelerator.scaleup_bw_gbps": 1e6,
    },
    "sharded_gradients": {"parallelism.act_bytes": 4.0},
    "pipeline_handoff": {
        "parallelism.tp": 1,
        "parallelism.interleave_factor": 1,
        "parallelism.cp": 8,
        "topology.pod_size": 100_000,
    },
    "context_parallel": {"parallelism.cp": 1, "parallelism.dp": 200, "parallelism.tp": 1},
    "rank_map": {"topology.pod_size": 1024, "parallelism.dp": 128},
    "recompute_collectives": {"parallelism.recompute": "selective"},
    "selective_recompute": {"parallelism.recompute": "none"},
    "bubble_communication": {"parallelism.pp": 1},
    "uneven_stages": {"model.vocab": None, "model.n_layers": 128},
    "whole_microbatches": {"parallelism.global_batch_seqs": 1600},
}
"""Where each refinement equals the published formula."""


def in_form(scenario: Scenario, *names: str) -> Scenario:
    return substitute(scenario, {"refinements": names})


def parts(scenario: Scenario) -> list[float]:
    step = healthy_step(scenario)
    return [
        float(value)
        for value in (step.compute_s, step.communication_s, step.bubble_s, step.synchronisation_s)
    ]


@pytest.mark.parametrize("name", LIMITS)
def test_refinement_equals_the_published_formula_in_its_limit(name: str) -> None:
    limit = substitute(GENERAL, LIMITS[name])
    # Sums in another order: a few roundings of 1e-16.
    assert parts(in_form(limit, name)) == pytest.approx(parts(limit), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("name", LIMITS)
def test_refinement_changes_the_step_outside_its_limit(name: str) -> None:
    scenario = GENERAL
    if name == "selective_recompute":
        scenario = substitute(scenario, {"parallelism.recompute": "selective"})
    if name == "overlap_window":
        # Few microbatches, so that gradients do not fit under the last ones.
        scenario = substitute(
            scenario, {"parallelism.interleave_factor": 1, "parallelism.overlap_dp": 0.95}
        )
    before, after = (healthy_step(one).total_s for one in (scenario, in_form(scenario, name)))
    assert abs(after / before - 1) > 1e-4


def test_every_refinement_of_the_step_is_tested_in_its_limit() -> None:
    others = {"detection_blocked", "async_checkpoint", "repair_queue", "gated_shape"}
    assert set(LIMITS) == set(NAMES) - others


def test_all_refinements_work_on_arrays_as_on_single_draws() -> None:
    scenario = in_form(GENERAL, *NAMES)
    rng = np.random.default_rng(3)
    columns = {
        "kernel.kernel_efficiency": rng.uniform(0.4, 0.8, 5),
        "kernel.half_hidden": rng.uniform(0, 3000, 5),
        "parallelism.overlap_dp": rng.uniform(0, 1, 5),
        "reliability.persistent_share": rng.uniform(0, 1, 5),
        "topology.net_efficiency": rng.uniform(0.5, 1, 5),
    }
    sizes = np.array([[100, 101, 150, 375]])
    batched = healthy_step(
        substitute(
            scenario,
            {p: c[:, None] for p, c in columns.items()} | {"parallelism.dp": sizes},
        )
    ).total_s
    for i in range(5):
        for j, dp in enumerate(sizes[0].tolist()):
            single = substitute(
                scenario, {p: float(c[i]) for p, c in columns.items()} | {"parallelism.dp": dp}
            )
            assert batched[i, j] == pytest.approx(float(healthy_step(single).total_s), rel=1e-12)


# Kernel efficiency by size.


def test_size_factor_is_one_at_the_sizes_of_the_reference() -> None:
    assert size_factor(REFERENCE) == 1.0
    assert float(compute_time(in_form(REFERENCE, "kernel_size"))) == compute_time(REFERENCE)


def test_size_factor_is_a_product_of_half_performance_curves() -> None:
    # n/(n + half) at 8,192, 8,192/8 and 2·4,096/1, over the same at 16,384, 2,048 and 8,192.
    scenario = with_values(
        REFERENCE,
        {
            "model.hidden": 8192,
            "model.seq_len": 4096,
            "parallelism.micro_batch": 2,
            "kernel.half_hidden": 1000.0,
            "kernel.half_width": 300.0,
            "kernel.half_tokens": 500.0,
        },
        source="test",
    )
    expected = (8192 / 9192) / (16384 / 17384) * (1024 / 1324) / (2048 / 2348)
    assert size_factor(scenario) == pytest.approx(expected, rel=1e-14)


# Stragglers.


@pytest.mark.parametrize("ranks", [1, 2, 3, 8, 100, 16_384, 1_000_000, 1_000_000_000])
def test_expected_maximum_agrees_with_adaptive_integration(ranks: int) -> None:
    def density(x: float) -> float:
        return float(x * ranks * np.exp(stats.norm.logpdf(x) + (ranks - 1) * stats.norm.logcdf(x)))

    middle = np.sqrt(2 * np.log(ranks))
    integral = sum(
        integrate.quad(density, *ends, epsabs=1e-12, limit=400)[0]
        for ends in ((-12.0, 0.0), (0.0, middle), (middle, 12.0))
        if ends[0] < ends[1]
    )
    # The series is fitted to 1e-9; quadrature leaves 1e-11.
    assert float(expected_maximum(ranks)) == pytest.approx(integral, abs=2e-9)


def test_expected_maximum_has_its_closed_forms() -> None:
    # Two and three normals: 1/√π and 3/(2√π) (David & Nagaraja 2003, section 3.2).
    few = expected_maximum(np.array([2, 3]))
    assert few == pytest.approx(np.array([1.0, 1.5]) / np.sqrt(np.pi), abs=2e-9)


def test_asymptote_exceeds_the_exact_maximum_as_the_study_says() -> None:
    # Section 6 of the published definitions: 11% at 16,384 ranks and 43% at 8.
    excess = asymptotic_maximum(np.array([16_384, 8])) / expected_maximum(np.array([16_384, 8])) - 1
    assert [round(float(one), 2) for one in excess] == [0.11, 0.43]
    assert np.diff(excess)[0] > 0
    many = 10 ** np.arange(1, 10)
    assert (np.diff(asymptotic_maximum(many) / expected_maximum(many)) < 0).all()


def test_exact_tax_agrees_with_simulated_ranks() -> None:
    scenario = substitute(
        REFERENCE, {"parallelism.dp": 1, "parallelism.pp": 4, "reliability.straggler_cv": 0.04}
    )
    ranks = 1.0 + 0.04 * np.random.default_rng(4).standard_normal((20_000, scenario.world))
    slowest = ranks.max(axis=1)
    tax = float(synchronised(in_form(scenario, "exact_maximum"), 1.0, 0.0))
    error = slowest.std() / np.sqrt(slowest.size)
    assert abs(tax - slowest.mean()) < 4 * error
    # Negative control: the asymptote is many errors away.
    assert abs(float(synchronised(scenario, 1.0, 0.0)) - slowest.mean()) > 20 * error


def test_persistent_lag_agrees_with_simulated_ranks() -> None:
    scenario = substitute(
        in_form(REFERENCE, "exact_maximum", "persistent_ranks"),
        {
            "parallelism.dp": 1,
            "parallelism.pp": 4,
            "reliability.straggler_cv": 0.04,
            "reliability.persistent_share": 0.7,
        },
    )
    rng = np.random.default_rng(5)
    shape = (20_000, scenario.world)
    lasting = 0.04 * np.sqrt(0.7) * rng.standard_normal(shape)
    fresh = 0.04 * np.sqrt(0.3) * rng.standard_normal(shape)
    untaxed, wire = 6.0, 2.0
    slowest = (untaxed * (1 + fresh) + (untaxed - wire) * lasting).max(axis=1)
    error = slowest.std() / np.sqrt(slowest.size)
    assert abs(float(synchronised(scenario, untaxed, wire)) - slowest.mean()) < 4 * error
    jitter = substitute(scenario, {"reliability.persistent_share": 0.0})
    assert abs(float(synchronised(jitter, untaxed, wire)) - slowest.mean()) > 20 * error


# Communication.


def exposed(scenario: Scenario) -> float:
    return float(healthy_step(scenario).communication_s)


def test_window_leaves_what_does_not_fit() -> None:
    """What stays of the gradients is max(0, communication − window), by hand."""
    scenario = substitute(
        in_form(REFERENCE, "overlap_window"),
        {
            "parallelism.tp": 1,
            "parallelism.pp": 1,
            "parallelism.dp": 1024,
            "parallelism.global_batch_seqs": 2048,
            "parallelism.interleave_factor": 1,
            "parallelism.recompute": "none",
            "topology.oversubscription": 1.0,
        },
    )
    for bandwidth in (10.0, 400.0, 20_000.0):
        narrow = substitute(scenario, {"accelerator.nic_bw_gbps": bandwidth})
        raw = float(communication(narrow).reduced)
        # The backward pass, two thirds, of the last of two microbatches.
        window = float(compute_time(narrow)) / 2 * 2 / 3
        assert exposed(narrow) == pytest.approx(max(0.0, raw - window), rel=1e-12, abs=1e-12)
    assert raw < window


def test_window_of_interleaved_gradients_agrees_with_the_schedule() -> None:
    """Backward slots of the last group of microbatches, chunk by chunk, as 1F1B runs them.

    A rank ends with v chunks of min(m, pp) backward slots each. The gradients of a chunk are final
    after its last slot; those of the first chunk to end have the others' slots to hide under, and
    each chunk's own last slot overlaps as well.
    """
    for stages, batches, virtual in ((16, 64, 8), (4, 2, 3), (8, 8, 1), (8, 32, 2)):
        slot = 1.0 / virtual
        group = min(stages, batches)
        ends = [(chunk + 1) * group * slot for chunk in range(virtual)]
        hidden_under = ends[-1] - ends[0] + slot
        formula = (1.0 + (virtual - 1.0) * min(batches, stages)) / virtual
        assert formula == pytest.approx(hidden_under)


def test_window_does_not_read_the_shares_it_replaces() -> None:
    found = {
        exposed(
            in_form(
                substitute(
                    GENERAL, {"parallelism.overlap_dp": share, "parallelism.overlap_tp": share}
                ),
                "overlap_window",
            )
        )
        for share in (0.0, 0.4, 1.0)
    }
    assert len(found) == 1
    assert unread_fields(["overlap_window"]) >= {"parallelism.overlap_dp", "parallelism.overlap_tp"}


def test_sharded_gradients_move_each_byte_by_half_an_all_reduce() -> None:
    before, after = (communication(one) for one in (REFERENCE, in_form(REFERENCE, *SHARDED)))
    assert after.reduced == pytest.approx(before.reduced / 2, rel=1e-14)
    # Two bytes of a parameter instead of four of a gradient; latencies are those of half a ring.
    topology = substitute(
        REFERENCE,
        {"topology.alpha_pod_us": 0.0, "topology.alpha_xpod_us": 0.0},
    )
    free = communication(in_form(topology, *SHARDED))
    assert free.gathered == pytest.approx(float(free.reduced) / 2, rel=1e-14)
    unsharded = in_form(substitute(REFERENCE, {"parallelism.zero_stage": 0}), *SHARDED)
    assert exposed(unsharded) == pytest.approx(exposed(REFERENCE), rel=1e-14)


SHARDED = ("sharded_gradients",)


def test_context_gather_moves_the_bytes_of_all_keys_and_values() -> None:
    """Bytes counted by tensor shapes: 2 of [micro_batch, seq_len, kv_heads/tp, head], gathered."""
    scenario = substitute(
        in_form(GENERAL, "context_parallel"),
        {
            "topology.alpha_scaleup_us": 0.0,
            "topology.scaleup_domain": 8,
            "model.n_kv_heads": 8,
        },
    )
    model, plan = scenario.model, scenario.parallelism
    head = model.hidden // model.n_heads
    keys = plan.micro_batch * model.seq_len * (model.n_kv_heads // plan.tp) * head * plan.act_bytes
    received = 2 * keys * (plan.cp - 1) / plan.cp
    bandwidth = scenario.accelerator.scaleup_bw_gbps * 1e9 / 8 * scenario.topology.net_efficiency
    layers = model.n_layers / plan.pp
    # Keys and values are gathered forward and backward, their gradients scattered: three times.
    expected = 3 * layers * received / bandwidth
    assert float(communication(scenario).context) == pytest.approx(expected, rel=1e-12)


def test_full_recomputation_repeats_two_of_four_collectives() -> None:
    before = communication(GENERAL).tensor
    after = communication(in_form(GENERAL, "recompute_collectives")).tensor
    assert after == pytest.approx(float(before) * 6 / 4, rel=1e-14)


def test_selective_recomputation_counts_scores_and_values_once_more() -> None:
    """Multiply-adds of the attention core of one layer, counted by matrix shapes, causal."""
    scenario = in_form(REFERENCE, "selective_recompute")
    model = scenario.model
    scores = 2 * model.seq_len * model.hidden / 2
    values = 2 * model.seq_len * model.hidden / 2
    again = model.n_layers * (scores + values)
    assert attention_flops_per_token(scenario) == pytest.approx(3 * again)
    expected = 1 + again / nominal_flops_per_token(scenario)
    assert recompute_factor(scenario) == pytest.approx(expected, rel=1e-14)
    assert recompute_factor(REFERENCE) == 1.10


# Bubble.


def slots_of_1f1b(stages: int, batches: int, pace: list[float]) -> float:
    """End of a pipeline schedule, one microbatch at a time, by explicit simulation.

    Forward and backward together are one slot of a stage; a stage starts a microbatch when it is
    free and the stage before has handed it over. This is the fill and steady phase of 1F1B with
    the drain folded onto the fill, which has the same length.
    """
    free = [0.0] * stages
    for _ in range(batches):
        ready = 0.0
        for stage in range(stages):
            free[stage] = max(free[stage], ready) + pace[stage]
            ready = free[stage]
    return free[-1]


def test_bubble_with_communication_agrees_with_a_simulated_pipeline() -> None:
    names = ("bubble_communication",)
    scenario = substitute(
        in_form(GENERAL, *names),
        {"parallelism.interleave_factor": 1, "parallelism.global_batch_seqs": 1600},
    )
    step = healthy_step(scenario)
    batches = int(microbatches(scenario))
    within = float(exposed_communication(scenario, batches).within)
    slot = float(step.compute_s) / batches + within
    end = slots_of_1f1b(scenario.parallelism.pp, batches, [slot] * scenario.parallelism.pp)
    gradients = float(exposed_communication(scenario, batches).total) - within * batches
    total = float(step.compute_s + step.communication_s + step.bubble_s)
    assert total == pytest.approx(end + gradients, rel=1e-12)


def test_uneven_stages_are_paced_by_the_slowest_one() -> None:
    """126 layers on 16 stages, the output layer on the last: layers dealt out and counted."""
    scenario = in_form(REFERENCE, "uneven_stages")
    model = scenario.model
    head = 6.0 * model.hidden * model.vocab
    per_layer = (nominal_flops_per_token(scenario) - head) / model.n_layers
    layers = [8] * 14 + [7, 7]
    assert sum(layers) == model.n_layers
    work = [count * per_layer for count in layers]
    work[-1] += head
    expected = max(work) / np.mean(work)
    assert stage_pace(scenario) == pytest.approx(expected, rel=1e-12)
    # Two layers a stage and an output layer of about a sixth of one, as in the 1T model.
    large = substitute(
        scenario,
        {
            "model.n_layers": 128,
            "model.hidden": 25_600,
            "model.n_params": 1.008e12,
            "model.vocab": 51_200,
            "parallelism.pp": 64,
        },
    )
    head = 6.0 * 25_600 * 51_200
    share = head / ((nominal_flops_per_token(large) - head) / 128)
    assert stage_pace(large) == pytest.approx((2 + share) * 64 / (128 + share), rel=1e-12)


def test_whole_microbatches_wait_for_the_busiest_replica() -> None:
    """1,500 sequences on 100 replicas, two at a time: 7.5 each, so that half of them run 8."""
    scenario = substitute(
        in_form(GENERAL, "whole_microbatches"),
        {
            "parallelism.overlap_tp": 1.0,
            "parallelism.overlap_cp": 1.0,
            "parallelism.overlap_pp": 1.0,
            "parallelism.overlap_dp": 1.0,
        },
    )
    step = healthy_step(scenario)
    microbatch = float(step.compute_s) / 7.5
    slots = 8 + 15 / 3
    assert float(step.compute_s + step.bubble_s) == pytest.approx(slots * microbatch, rel=1e-12)


def test_refined_form_is_a_set_of_known_refinements() -> None:
    forms = read_forms()
    assert forms["published"].refinements == ()
    assert set(forms["refined"].refinements) <= set(NAMES)
    assert sum(form.weight for form in forms.values()) == pytest.approx(1.0)
