"""Claims of the published study, to their printed digits.

Source: Nanyonga 2026, section 5 of the published definitions. A tolerance is half a unit of the
last printed digit unless a comment says otherwise.
"""

import math

import numpy as np
import pytest
from scipy import optimize

from model.ledger import account, achieved_flops_per_accelerator
from model.recovery import SCOPE_LIMIT, failure_rate_per_s
from model.scenario import with_values
from model.scenario_file import read_scenario
from model.step import healthy_step
from model.substitution import informal_equivalent, marginal_accelerator
from tests.reference import INTERVENTIONS, published_curve, reference, sea, substitute


def rounded(value: float, digits: int) -> float:
    return round(float(value), digits)


def test_claim_1_reference_split_and_ratios() -> None:
    ledger = account(reference())
    shares = {fate: rounded(100 * share, 1) for fate, share in ledger.fates.items()}
    assert shares == {"productive": 62.7, "blocked": 29.9, "discarded": 4.5, "unavailable": 2.9}
    assert rounded(ledger.ettr, 4) == 0.8885
    assert rounded(ledger.ucf, 4) == 0.6274
    assert rounded(100 * (ledger.ettr - ledger.ucf), 1) == 26.1


@pytest.mark.parametrize(
    ("accelerators", "ucf"),
    [
        (1024, 0.781),
        (2048, 0.765),
        (4096, 0.739),
        (8192, 0.696),
        (16384, 0.627),
        (32768, 0.522),
        (65536, 0.382),
    ],
)
def test_claim_2_ucf_falls_with_scale(accelerators: int, ucf: float) -> None:
    assert rounded(account(reference(accelerators)).ucf, 3) == ucf


def test_claim_3_marginal_accelerator_and_doubled_bandwidth() -> None:
    result = substitute(reference(), INTERVENTIONS["bandwidth_2x"])
    treated = with_values(reference(), {"accelerator.nic_bw_gbps": 800}, source="test")
    gain = float(
        account(treated).productive_accelerators - account(reference()).productive_accelerators
    )
    assert rounded(gain, 0) == 141
    assert rounded(result.sea[0, 0], 0) == 281
    assert rounded(gain / result.sea[0, 0], 4) == 0.5019
    assert rounded(marginal_accelerator(reference()), 4) == 0.5028


@pytest.mark.parametrize(
    "changes",
    [{"model__seq_len": 2048}, {"parallelism__global_batch_seqs": 512}],
    ids=["short_sequence", "tiny_batch"],
)
def test_claim_7_doubling_bandwidth_is_worth_roughly_900(changes: dict[str, int]) -> None:
    # "roughly 900" has one significant digit: 850 to 950.
    assert sea(reference(**changes), "bandwidth_2x") == pytest.approx(900, abs=50)


def test_claim_8_perfect_network() -> None:
    scenario = reference(accelerator__nic_bw_gbps=3200, topology__oversubscription=1)
    assert rounded(sea(scenario, "bandwidth_4x"), 0) == 47
    assert rounded(sea(scenario, "reliability_2x"), 0) == 954


def test_claim_9_halved_failures_cannot_be_bought_at_131072() -> None:
    scenario = reference(131_072)
    ledger = account(scenario)
    target = INTERVENTIONS["reliability_2x"]
    curve = published_curve(scenario)
    best = int(np.argmax(curve.productive[0]))
    # The tolerance is the published one, 0.05%: these are read off curves.
    assert curve.productive[0, best] == pytest.approx(31_560, rel=5e-4)
    assert curve.pool[0, best] / scenario.pool == pytest.approx(1.244, abs=5e-4)
    doubled = int(np.argmin(np.abs(curve.pool[0] / scenario.pool - 1.998)))
    assert curve.productive[0, doubled] == pytest.approx(29_628, rel=5e-4)
    assert curve.dp[doubled] == 2046
    halved = with_values(scenario, {"reliability.failure_rate_per_node_day": 0.0025}, source="test")
    assert account(halved).productive_accelerators == pytest.approx(38_650, rel=5e-4)
    for solver in ("published", "exact"):
        assert math.isinf(substitute(scenario, target, solver).sea[0, 0])
    assert rounded(ledger.recovery_pressure, 3) == 0.376
    assert ledger.recovery_pressure >= SCOPE_LIMIT
    assert not ledger.in_scope


def test_claim_11_calibrated_on_8192_predicts_16384() -> None:
    def tflops(name: str, efficiency: float) -> float:
        twin = read_scenario(name).scenario
        twin = with_values(twin, {"kernel.kernel_efficiency": efficiency}, source="test")
        return float(achieved_flops_per_accelerator(twin, healthy_step(twin))) / 1e12

    efficiency = optimize.brentq(lambda k: tflops("llama3_405b_8k", k) - 430.0, 0.3, 0.9)
    assert rounded(efficiency, 4) == 0.5706
    predicted = tflops("llama3_405b_16k", efficiency)
    assert rounded(predicted, 1) == 406.3
    assert rounded(100 * (predicted / 400.0 - 1), 1) == 1.6
    twin = with_values(
        read_scenario("llama3_405b_16k").scenario,
        {"kernel.kernel_efficiency": efficiency},
        source="test",
    )
    assert rounded(100 * account(twin).mfu, 2) == 41.06


@pytest.mark.parametrize(
    ("accelerators", "hours", "digits"), [(16_384, 1.803, 3), (131_072, 0.225, 3), (1024, 28.8, 1)]
)
def test_claim_12_time_to_failure(accelerators: int, hours: float, digits: int) -> None:
    scenario = reference(accelerators, reliability__failure_rate_per_node_day=6.5e-3)
    assert rounded(1 / failure_rate_per_s(scenario) / 3600, digits) == hours


def test_claim_13_interruptions_of_llama_3() -> None:
    failures = account(read_scenario("llama3_405b_16k").scenario).recovery.failures
    assert rounded(failures, 1) == 526.6
    assert rounded(100 * (failures / 419 - 1), 1) == 25.7
    assert rounded(1e3 * 419 / (54 * 2048), 2) == 3.79


def test_claim_17_largest_reliability_value_at_the_failslow_fleet() -> None:
    scenario = reference(
        reliability__failslow_prob_per_node=0.01, reliability__failslow_slowdown=1.5
    )
    names = ("reliability_2x", "fast_detection", "fast_restart", "fast_checkpoint", "add_spares")
    assert rounded(max(sea(scenario, name) for name in names), 1) == 970.5


def test_claim_19_nothing_is_worth_much_at_1024() -> None:
    scenario = reference(1024)
    network = ("bandwidth_2x", "bandwidth_4x", "flat_fabric", "scaleup_2x")
    assert rounded(max(sea(scenario, name) for name in network), 1) == 9.4
    assert rounded(sea(scenario, "reliability_2x"), 1) == 7.3
    assert rounded(100 * account(scenario).ucf, 1) == 78.1


def test_informal_equivalent_understates_doubled_bandwidth() -> None:
    # Table e2, typical regime at 16,384: it equals the gain for an intervention that moves time
    # from blocked to productive only, half of what one would have to buy.
    scenario = reference()
    treated = with_values(scenario, {"accelerator.nic_bw_gbps": 800}, source="test")
    informal = float(informal_equivalent(account(scenario), account(treated)))
    assert rounded(informal, 0) == 141
