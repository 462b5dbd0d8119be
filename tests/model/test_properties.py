"""Invariants of the accounting on random scenarios: conservation, units, monotonicity, limits."""

import itertools
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.ledger import account, productive_accelerators
from model.recovery import daly_interval, lost_work, recover
from model.scenario import Scenario, substitute, to_values, with_values
from model.scenario_file import scenario_from_mapping
from tests.oracles.scenarios import random_scenario
from tests.reference import REFERENCE, reference

seeds = st.integers(0, 2**32 - 1)


def draw(seed: int) -> Scenario:
    return scenario_from_mapping(random_scenario(random.Random(seed)), source="random")[0]


@settings(max_examples=200, deadline=None)
@given(seed=seeds)
def test_every_accelerator_second_meets_one_fate(seed: int) -> None:
    ledger = account(draw(seed))
    assert ledger.total == pytest.approx(ledger.owned, rel=1e-9)
    shares = np.array(list(ledger.fates.values()), dtype=np.float64)
    assert (shares >= -1e-12).all()
    assert shares.sum() == pytest.approx(1.0, rel=1e-9)
    assert 0 <= ledger.ettr <= 1
    assert ledger.productive_accelerators == pytest.approx(
        float(productive_accelerators(ledger.scenario)), rel=1e-12
    )


@settings(max_examples=100, deadline=None)
@given(seed=seeds, factor=st.floats(0.1, 10.0))
def test_another_unit_of_time_changes_no_share(seed: int, factor: float) -> None:
    """Every duration longer by a factor, every rate smaller by it: the same shares.

    Daly's interval has a floor of 60 s that is no ratio, so the interval is given.
    """
    base = substitute(draw(seed), {"reliability.checkpoint_interval_s": 1800.0})
    values = to_values(base)
    longer = (
        "window_days",
        "reliability.detect_time_s",
        "reliability.restart_time_s",
        "reliability.checkpoint_interval_s",
        "reliability.checkpoint_write_s",
        "reliability.repair_time_s",
        "topology.alpha_scaleup_us",
        "topology.alpha_pod_us",
        "topology.alpha_xpod_us",
    )
    slower = (
        "reliability.failure_rate_per_node_day",
        "reliability.failure_rate_per_job_day",
        "accelerator.peak_flops_bf16",
        "accelerator.nic_bw_gbps",
        "accelerator.scaleup_bw_gbps",
    )
    scaled = substitute(
        base,
        {path: values[path] * factor for path in longer}
        | {path: values[path] / factor for path in slower},
    )
    before, after = account(base), account(scaled)
    for fate, share in before.fates.items():
        assert after.fates[fate] == pytest.approx(float(share), rel=1e-9, abs=1e-12)
    assert after.step.total_s == pytest.approx(float(before.step.total_s) * factor, rel=1e-9)


@pytest.mark.parametrize(
    ("path", "worse"),
    [
        ("reliability.failure_rate_per_node_day", 1.3),
        ("reliability.failure_rate_per_job_day", 1.3),
        ("reliability.detect_time_s", 1.3),
        ("reliability.restart_time_s", 1.3),
        ("reliability.straggler_cv", 1.3),
        ("accelerator.nic_bw_gbps", 1 / 1.3),
        ("parallelism.overlap_dp", 1 / 1.3),
        ("topology.oversubscription", 1.3),
        ("topology.net_efficiency", 1 / 1.3),
    ],
)
@settings(max_examples=40, deadline=None)
@given(seed=seeds)
def test_worse_parameter_never_helps(path: str, worse: float, seed: int) -> None:
    # At a given interval: Daly's optimum is first order only, so that a change of it may help.
    scenario = substitute(draw(seed), {"reliability.checkpoint_interval_s": 1800.0})
    changed = substitute(scenario, {path: scenario.value(path) * worse})
    before, after = (float(account(s).productive_accelerators) for s in (scenario, changed))
    assert after <= before * (1 + 1e-12)


@settings(max_examples=100, deadline=None)
@given(seed=seeds)
def test_arrays_and_scalars_agree(seed: int) -> None:
    scenario = draw(seed)
    generator = np.random.default_rng(seed)
    efficiency = generator.uniform(0.1, 1.0, size=7)
    batched = account(with_values(scenario, {"kernel.kernel_efficiency": efficiency}, source="t"))
    for i, value in enumerate(efficiency):
        single = account(
            with_values(scenario, {"kernel.kernel_efficiency": float(value)}, source="t")
        )
        assert batched.productive[i] == float(single.productive)


def test_no_failures_no_recovery() -> None:
    never = account(reference(reliability__failure_rate_per_node_day=0.0))
    assert never.discarded == 0
    assert never.blocked_restart == 0
    assert never.blocked_checkpoint == 0
    assert never.recovery_pressure == 0
    assert never.ettr == 1
    rarely = account(reference(reliability__failure_rate_per_node_day=1e-12))
    assert rarely.productive == pytest.approx(float(never.productive), rel=1e-5)


@given(z=st.floats(1e-9, 50.0), period=st.floats(1.0, 1e6))
def test_lost_work_agrees_with_its_integral(z: float, period: float) -> None:
    """Mean of an exponential gap given that it ends within the period, by quadrature."""
    rate = z / period
    nodes, weights = np.polynomial.legendre.leggauss(60)
    edges = np.linspace(0.0, period, 41)
    x = np.concatenate([(b - a) / 2 * nodes + (a + b) / 2 for a, b in itertools.pairwise(edges)])
    w = np.concatenate([(b - a) / 2 * weights for a, b in itertools.pairwise(edges)])
    density = np.exp(-rate * x)
    expected = np.sum(w * x * density) / np.sum(w * density)
    assert lost_work(np.float64(rate), np.float64(period)) == pytest.approx(expected, rel=1e-10)


def test_daly_interval_is_first_order_optimum() -> None:
    assert daly_interval(np.float64(20.0), 1 / np.float64(8437.5)) == pytest.approx(
        np.sqrt(2 * 20 * 8437.5) - 20
    )
    assert daly_interval(np.float64(10.0), 1 / np.float64(100.0)) == 60
    assert daly_interval(np.float64(0.0), 1 / np.float64(5000.0)) == 5000


def test_conservation_check_notices_a_booking_error(monkeypatch: pytest.MonkeyPatch) -> None:
    import model.recovery as module

    monkeypatch.setattr(module, "maximum", lambda floor, x: x * (1 + 1e-6) if floor == 0 else x)
    with pytest.raises(ArithmeticError, match="not conserved"):
        recover(REFERENCE)
