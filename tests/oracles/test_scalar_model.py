"""The scalar oracle against the published tables and claims, and against itself.

Sources are sections 1 to 5 of the reference text and its tables e1, e2 and e7. Tables are held to
1e-9 relative: both sides are float64 and differ by rounding, which subtracting two nearly equal
ledgers amplifies to about 1e-11; figures near zero get 1e-9 accelerators absolute for the same
reason. Claims are held to half a unit of their last printed digit.
"""

import copy
import csv
import math
import random
from collections.abc import Iterator
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any

import pytest

from tests.oracles.scalar_model import (
    INTERVENTIONS,
    REFERENCE,
    REGIMES,
    Scenario,
    apply_intervention,
    at_scale,
    evaluate,
    expected_lost_work,
    placement,
    poisson_cdf,
    pool_size,
    published_grid,
    random_scenario,
    rank_published,
    realisable,
    replan_to_dp,
    replan_to_pool,
    sampled_curve,
    sea_exact,
    sea_published,
    with_values,
    world_size,
)

TABLES = Path(__file__).resolve().parents[3] / "shared" / "reference" / "tables"
needs_tables = pytest.mark.skipif(not TABLES.is_dir(), reason="no published tables beside the repo")
BY_NAME = {intervention["name"]: intervention for intervention in INTERVENTIONS}
REGIME_OVERRIDES = {regime["name"]: regime["overrides"] for regime in REGIMES}


def table_rows(name: str) -> Iterator[dict[str, str]]:
    with (TABLES / name).open(newline="") as file:
        yield from csv.DictReader(file)


def number(text: str) -> float:
    return {"True": 1.0, "False": 0.0}[text] if text in {"True", "False"} else float(text)


def mismatches(row: dict[str, str], computed: dict[str, Any], columns: set[str]) -> list[str]:
    return [
        f"{column}: {computed[column]} for {row[column]}"
        for column in sorted(columns)
        if not math.isclose(
            float(computed[column]), number(row[column]), rel_tol=1e-9, abs_tol=1e-9
        )
    ]


def sea(scenario: Scenario, name: str) -> float:
    return float(sea_published(scenario, BY_NAME[name])["sea"])


# --- Published tables ----------------------------------------------------------------------


@needs_tables
def test_evaluate_reproduces_every_row_of_table_e1() -> None:
    seen = 0
    for row in table_rows("e1_ledger_vs_scale.csv"):
        values = {"topology.oversubscription": float(row["oversubscription"])}
        scenario = at_scale(with_values(REFERENCE, values), int(row["n_accelerators"]))
        labels = {"scenario", "fidelity", "n_accelerators", "oversubscription"}
        assert mismatches(row, evaluate(scenario), row.keys() - labels) == []
        seen += 1
    assert seen == 28


@needs_tables
def test_sea_published_reproduces_every_row_of_table_e2() -> None:
    seen = []
    for row in table_rows("e2_sea_by_regime.csv"):
        shifted = with_values(REFERENCE, REGIME_OVERRIDES[row["regime"]])
        scenario = at_scale(shifted, int(row["n_accelerators"]))
        computed = sea_published(scenario, BY_NAME[row["intervention"]])
        labels = {"intervention", "regime", "n_accelerators"}
        assert mismatches(row, computed, row.keys() - labels) == []
        seen.append((row["regime"], row["intervention"]))
    cells = [(r["name"], i["name"]) for r in REGIMES for _ in range(3) for i in INTERVENTIONS]
    assert seen == cells  # all of them, in the published order


@needs_tables
def test_rank_published_reproduces_every_draw_of_table_e7() -> None:
    seen = 0
    for row in table_rows("e7_uncertainty.csv"):
        drawn = {path: float(text) for path, text in row.items() if "." in path}
        ranked = rank_published(at_scale(with_values(REFERENCE, drawn), 16384), INTERVENTIONS)
        computed = {f"sea_{entry['intervention']}": entry["sea"] for entry in ranked}
        for name in ("recovery_pressure", "within_validity_envelope"):
            computed[name] = ranked[0][name]
        assert mismatches(row, computed, set(computed)) == []
        assert ranked[0]["intervention"] == row["winner"]
        seen += 1
    assert seen == 400


# --- Published claims ----------------------------------------------------------------------


def test_reference_split_matches_claim_1() -> None:
    ledger = evaluate(REFERENCE)
    owned = ledger["total"]
    fates = ("productive", "blocked", "discarded", "unavailable")
    percent = [100.0 * ledger[fate] / owned for fate in fates]
    assert percent == pytest.approx([62.7, 29.9, 4.5, 2.9], abs=0.05)
    assert ledger["ettr"] == pytest.approx(0.8885, abs=5e-5)
    assert ledger["ucf"] == pytest.approx(0.6274, abs=5e-5)
    assert 100.0 * (ledger["ettr"] - ledger["ucf"]) == pytest.approx(26.1, abs=0.05)


def test_ucf_against_scale_matches_claim_2() -> None:
    published = [0.781, 0.765, 0.739, 0.696, 0.627, 0.522, 0.382]
    computed = [evaluate(at_scale(REFERENCE, 1024 * 2**i))["ucf"] for i in range(7)]
    assert computed == pytest.approx(published, abs=5e-4)


def test_marginal_accelerator_matches_claim_3() -> None:
    row = sea_published(REFERENCE, BY_NAME["bandwidth_2x"])
    gain = row["delta_productive_accelerators"]
    assert gain == pytest.approx(141, abs=0.5)
    assert row["sea"] == pytest.approx(281, abs=0.5)
    assert gain / row["sea"] == pytest.approx(0.5019, abs=5e-5)
    (pool, held), (next_pool, next_held) = sampled_curve(REFERENCE)[:2]
    assert (next_held - held) / (next_pool - pool) == pytest.approx(0.5028, abs=5e-5)


@pytest.mark.parametrize(
    "values", [{"model.seq_len": 2048}, {"parallelism.global_batch_seqs": 512}]
)
def test_bandwidth_on_short_steps_matches_claim_7(values: dict[str, int]) -> None:
    # "Roughly 900": to one significant digit.
    assert sea(with_values(REFERENCE, values), "bandwidth_2x") == pytest.approx(900, abs=50)


def test_perfect_network_matches_claim_8() -> None:
    values = {"accelerator.nic_bw_gbps": 3200.0, "topology.oversubscription": 1.0}
    scenario = with_values(REFERENCE, values)
    assert sea(scenario, "bandwidth_4x") == pytest.approx(47, abs=0.5)
    assert sea(scenario, "reliability_2x") == pytest.approx(954, abs=0.5)


def test_huge_job_matches_claim_9() -> None:
    scenario = at_scale(REFERENCE, 131072)
    base_pool = pool_size(scenario)
    curve = sampled_curve(scenario)
    pool, best = max(curve, key=lambda point: point[1])
    assert best == pytest.approx(31560, abs=0.5)
    assert pool / base_pool == pytest.approx(1.244, abs=5e-4)

    every = [evaluate(replan_to_dp(scenario, dp)) for dp in range(1024, 2049)]
    best_of_all = max(every, key=lambda ledger: ledger["productive_accelerators"])
    assert best_of_all["productive_accelerators"] == pytest.approx(31561, abs=0.5)
    assert best_of_all["n_pool"] / base_pool == pytest.approx(1.234, abs=5e-4)

    last_pool, last = curve[-1]
    assert last_pool == pool_size(replan_to_dp(scenario, 2046))
    assert last_pool / base_pool == pytest.approx(1.998, abs=5e-4)
    assert last == pytest.approx(29628, abs=0.5)

    row = sea_published(scenario, BY_NAME["reliability_2x"])
    assert row["treated_productive_accelerators"] == pytest.approx(38650, abs=0.5)
    assert row["sea"] == math.inf
    assert row["recovery_pressure"] == pytest.approx(0.376, abs=5e-4)
    assert not row["within_validity_envelope"]


def llama_twin(dp: int, kernel_efficiency: float) -> Scenario:
    """Return a validation twin of section 4."""
    values = {
        "reliability.straggler_cv": 0.0,
        "kernel.kernel_efficiency": kernel_efficiency,
        "window_days": 54.0,
    }
    return replan_to_dp(with_values(REFERENCE, values), dp)


def test_calibrated_kernel_efficiency_matches_claim_11() -> None:
    peak_tflops = REFERENCE["accelerator"]["peak_flops_bf16"] / 1e12
    low, high = 0.3, 0.9
    for _ in range(60):
        middle = (low + high) / 2.0
        if evaluate(llama_twin(64, middle))["mfu"] * peak_tflops < 430.0:
            low = middle
        else:
            high = middle
    assert low == pytest.approx(0.5706, abs=5e-5)
    predicted = evaluate(llama_twin(128, low))
    assert predicted["mfu"] * peak_tflops == pytest.approx(406.3, abs=0.05)
    assert 100.0 * predicted["mfu"] == pytest.approx(41.06, abs=0.005)


@pytest.mark.parametrize(
    ("n", "hours", "half_digit"), [(16384, 1.803, 5e-4), (131072, 0.225, 5e-4), (1024, 28.8, 0.05)]
)
def test_mttf_matches_claim_12(n: int, hours: float, half_digit: float) -> None:
    scenario = with_values(REFERENCE, {"reliability.failure_rate_per_node_day": 6.5e-3})
    computed = evaluate(at_scale(scenario, n))["job_mttf_hours"]
    assert computed == pytest.approx(hours, abs=half_digit)


def test_failure_count_matches_claim_13() -> None:
    failures = evaluate(llama_twin(128, 0.72))["n_failures"]
    assert failures == pytest.approx(526.6, abs=0.05)
    assert 100.0 * (failures / 419.0 - 1.0) == pytest.approx(25.7, abs=0.05)


def test_fail_slow_fleet_matches_claim_17() -> None:
    values = {"reliability.failslow_prob_per_node": 0.01, "reliability.failslow_slowdown": 1.5}
    assert sea(with_values(REFERENCE, values), "reliability_2x") == pytest.approx(970.5, abs=0.05)


def test_tiny_job_matches_claim_19() -> None:
    scenario = at_scale(REFERENCE, 1024)
    network = ("bandwidth_2x", "bandwidth_4x", "flat_fabric", "scaleup_2x")
    assert max(sea(scenario, name) for name in network) == pytest.approx(9.4, abs=0.05)
    assert sea(scenario, "reliability_2x") == pytest.approx(7.3, abs=0.05)
    assert 100.0 * evaluate(scenario)["ucf"] == pytest.approx(78.1, abs=0.05)


# --- Placement, against counting the ranks one by one ---------------------------------------


def counted_placement(size: int, stride: int, domain: int, pod: int) -> tuple[int, int, int]:
    """Count the first domain's ranks, the first pod's domains, and the pods of a group."""
    pod = max(domain, pod)
    ranks = [i * stride for i in range(size)]
    in_first_domain = sum(rank // domain == 0 for rank in ranks)
    domains_in_first_pod = {rank // domain for rank in ranks if rank // pod == 0}
    return in_first_domain, len(domains_in_first_pod), len({rank // pod for rank in ranks})


def test_placement_matches_counting_when_sizes_divide_each_other() -> None:
    powers = [1, 2, 4, 8, 16, 32]
    for domain in powers:
        for pod in [*powers, 3 * 32, 6 * 32]:
            for stride in [*powers, 64, 128]:
                span = max(stride, domain)
                if max(domain, pod) % span and span % max(domain, pod):
                    continue  # a pod that cuts a stride in two is not aligned
                for size in (1, 2, 3, 5, 8, 16, 31, 64):
                    counted = counted_placement(size, stride, domain, pod)
                    assert placement(size, stride, domain, pod) == counted


def test_placement_is_only_approximate_when_sizes_do_not_divide() -> None:
    # The published pod of 3,072 at stride 128 is aligned, a scale-up domain of 72 is not.
    assert placement(128, 128, 8, 3072) == counted_placement(128, 128, 8, 3072) == (1, 24, 6)
    assert placement(16, 8, 36, 3072) == (4, 4, 1)
    assert counted_placement(16, 8, 36, 3072) == (5, 4, 1)


# --- Formulas and their limits --------------------------------------------------------------


@pytest.mark.parametrize("period", [0.5, 60.0, 4000.0])
def test_expected_lost_work_matches_the_printed_formula_in_50_digits(period: float) -> None:
    with localcontext() as context:
        context.prec = 60
        for z in (1e-12, 1e-6, 9.9e-3, 1.01e-2, 0.3, 2.0, 50.0, 699.0, 701.0):
            rate = z / period
            rate_d, period_d = Decimal(rate), Decimal(period)
            decay = (-rate_d * period_d).exp()
            exact = (1 / rate_d - (period_d + 1 / rate_d) * decay) / (1 - decay)
            # Just above the switch 1/l - p/(e^(lp) - 1) loses two digits of float64's sixteen.
            assert expected_lost_work(rate, period) == pytest.approx(float(exact), rel=1e-13)


@pytest.mark.parametrize(
    ("k", "mean"), [(0, 2.5), (2, 1.7), (63, 1.7), (40, 60.0), (700, 655.0), (2900, 3000.0)]
)
def test_poisson_cdf_matches_a_sum_in_50_digits(k: int, mean: float) -> None:
    with localcontext() as context:
        context.prec = 60
        terms = [Decimal(1)]
        for i in range(1, k + 1):
            terms.append(terms[-1] * Decimal(mean) / i)
        exact = sum(terms) * (-Decimal(mean)).exp()
    assert poisson_cdf(k, mean) == pytest.approx(float(exact), rel=1e-12)
    assert poisson_cdf(-1, mean) == 0.0


@pytest.mark.parametrize("interval", [None, 1800.0])
@pytest.mark.parametrize("write", [0.0, 20.0])
def test_evaluate_tends_to_no_failures_as_the_rate_vanishes(
    interval: float | None, write: float
) -> None:
    def at_rate(rate: float) -> dict[str, Any]:
        values = {
            "reliability.failure_rate_per_node_day": rate,
            "reliability.checkpoint_interval_s": interval,
            "reliability.checkpoint_write_s": write,
        }
        return evaluate(with_values(REFERENCE, values))

    never, hardly = at_rate(0.0), at_rate(1e-300)
    share = write / (interval + write) if interval is not None else 0.0
    job_window = REFERENCE["window_days"] * 86400.0 * never["world_size"]
    assert never["blocked_checkpoint"] == pytest.approx(share * job_window)
    assert never["discarded"] == never["blocked_restart"] == never["unavailable_down"] == 0.0
    assert never["job_mttf_hours"] == math.inf
    assert never["recovery_pressure"] == 0.0
    if write == 0.0 and interval is None:
        # Free writes at the published interval of one MTTF: each failure loses 1 - 1/(e - 1) of
        # it however rare failures are, so only a rate of exactly 0 is free of loss.
        assert hardly["discarded"] / job_window == pytest.approx(1.0 - 1.0 / math.expm1(1.0))
    else:
        assert hardly["recovery_pressure"] < 1e-100
        for fate in ("productive", "blocked", "unavailable"):
            assert hardly[fate] == pytest.approx(never[fate], rel=1e-12)
    assert at_rate(5e-3)["productive"] < 0.99 * never["productive"]


def test_published_grid_steps_by_one_then_by_seven_percent_of_an_unrounded_size() -> None:
    grid = published_grid(1)
    assert grid[:17] == list(range(1, 18))
    # 17 x 1.07 = 18.19, x 1.07 = 19.4633, x 1.07 = 20.825..., x 1.07 = 22.283...
    assert grid[17:21] == [18, 19, 21, 22]
    assert grid[-1] == 64
    assert grid == sorted(set(grid))


def test_productive_accelerators_count_time_computing_and_not_tokens() -> None:
    # Section 1 defines the fate by time, so a slower kernel is "more productive".
    slower = evaluate(with_values(REFERENCE, {"kernel.kernel_efficiency": 0.5706 / 2.0}))
    reference = evaluate(REFERENCE)
    assert slower["productive_accelerators"] > reference["productive_accelerators"]
    assert slower["tokens_per_second"] < reference["tokens_per_second"]


def test_spare_change_holds_the_baseline_pool() -> None:
    treated = apply_intervention(REFERENCE, BY_NAME["add_spares"])
    # floor(floor(16876 / 1.05) / 128) = 125 replicas; 16,000 x 1.05 = 16,800.
    assert (pool_size(REFERENCE), world_size(treated), pool_size(treated)) == (16876, 16000, 16800)
    with pytest.raises(ValueError, match="does not hold one replica"):
        replan_to_pool(REFERENCE, 100)


def test_weak_scaling_grows_the_batch_to_its_limit() -> None:
    weak = with_values(REFERENCE, {"scaling_mode": "weak"})
    batches = {
        dp: replan_to_dp(weak, dp)["parallelism"]["global_batch_seqs"] for dp in (1, 129, 1024)
    }
    assert batches == {1: 16, 129: 2064, 1024: 8192}
    assert realisable(replan_to_dp(weak, 8192))
    assert not realisable(replan_to_dp(weak, 8193))
    assert not realisable(replan_to_dp(REFERENCE, 2049))


# --- Random scenarios -----------------------------------------------------------------------


def test_random_scenarios_conserve_and_stay_in_range() -> None:
    rng = random.Random(20260805)
    for _ in range(300):
        scenario = random_scenario(rng)
        before = copy.deepcopy(scenario)
        ledger = evaluate(scenario)
        assert scenario == before
        assert realisable(scenario)
        fates = [ledger[fate] for fate in ("productive", "blocked", "discarded", "unavailable")]
        owned = pool_size(scenario) * scenario["window_days"] * 86400.0
        assert math.fsum(fates) == pytest.approx(owned, rel=1e-9)
        assert ledger["total"] == pytest.approx(owned, rel=1e-9)
        parts = [v for k, v in ledger.items() if k.startswith(("blocked_", "unavailable_"))]
        assert len(parts) == 7
        assert all(part >= -1e-9 * owned for part in [*fates, *parts])
        assert 0.0 < ledger["ucf"] <= ledger["ettr"] <= 1.0 + 1e-12
        assert 0.0 < ledger["mfu"] <= scenario["kernel"]["kernel_efficiency"] + 1e-12
        assert 0.0 <= ledger["recovery_pressure"] <= 1.0
        assert not any(isinstance(v, float) and math.isnan(v) for v in ledger.values())


def test_random_scenarios_reach_every_branch() -> None:
    rng = random.Random(20260805)
    scenarios = [random_scenario(rng) for _ in range(300)]
    plans = [s["parallelism"] for s in scenarios]
    faults = [s["reliability"] for s in scenarios]
    for kinds, least in (
        ([p["cp"] > 1 for p in plans], 50),
        ([p["zero_stage"] == 3 for p in plans], 50),
        ([p["tp"] % 2 == 1 and p["tp"] > 1 for p in plans], 20),
        ([p["micro_batch"] > 1 for p in plans], 50),
        ([s["model"]["n_layers"] % s["parallelism"]["pp"] > 0 for s in scenarios], 20),
        ([s["n_pool"] is not None for s in scenarios], 30),
        ([f["failure_rate_per_node_day"] == 0.0 for f in faults], 20),
        ([f["stranded_fraction"] > 0.0 for f in faults], 30),
        ([evaluate(s)["recovery_pressure"] >= 0.25 for s in scenarios], 20),
        ([world_size(s) <= 64 for s in scenarios], 10),
        ([world_size(s) > 16384 for s in scenarios], 10),
    ):
        assert sum(kinds) >= least


def test_sea_exact_agrees_with_the_published_solver_within_its_fine_grid() -> None:
    # The first 16 samples are every size there is, so only rounding differs.
    exact = sea_exact(REFERENCE, BY_NAME["bandwidth_2x"])
    assert exact == pytest.approx(sea(REFERENCE, "bandwidth_2x"), rel=1e-9)


def test_sea_exact_is_below_the_published_chord_where_the_curve_is_concave() -> None:
    scenario = with_values(REFERENCE, REGIME_OVERRIDES["unreliable_oversubscribed"])
    exact = sea_exact(scenario, BY_NAME["reliability_2x"])
    published = sea(scenario, "reliability_2x")
    assert published > 16 * 128 * 1.03  # beyond the fine grid
    assert 0.95 * published < exact < published * (1.0 - 1e-6)


def test_sea_exact_reports_a_loss_as_the_pool_given_up() -> None:
    slower = {"name": "slower", "overrides": {}, "multipliers": {"accelerator.nic_bw_gbps": 0.5}}
    lost = sea_exact(REFERENCE, slower)
    # Undo the loss: at the smaller pool, between two sizes, the baseline does as well.
    target = evaluate(apply_intervention(REFERENCE, slower))["productive_accelerators"]
    smaller = [evaluate(replan_to_dp(REFERENCE, dp)) for dp in range(100, 129)]
    pools = [ledger["n_pool"] for ledger in smaller]
    above = next(i for i, pool in enumerate(pools) if pool >= pools[-1] + lost)
    held = [ledger["productive_accelerators"] for ledger in smaller]
    assert held[above - 1] <= target <= held[above]
    share = (pools[-1] + lost - pools[above - 1]) / (pools[above] - pools[above - 1])
    assert held[above - 1] + share * (held[above] - held[above - 1]) == pytest.approx(target)
    assert lost < 0.0 == sea(REFERENCE, "add_spares")
    assert sea_exact(REFERENCE, BY_NAME["scaleup_2x"]) == 0.0


def test_sea_exact_of_what_no_pool_reaches_is_infinite() -> None:
    assert sea_exact(at_scale(REFERENCE, 131072), BY_NAME["reliability_2x"]) == math.inf
    one = replan_to_dp(REFERENCE, 1)
    slower = {"name": "slower", "overrides": {}, "multipliers": {"accelerator.nic_bw_gbps": 0.5}}
    assert sea_exact(one, slower) == -math.inf
