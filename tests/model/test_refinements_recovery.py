"""Refinements of failures and recovery: quadrature, recursion, events one by one, limits."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate

from model.checks import suspicions
from model.failure_process import FailureProcess
from model.forms import NAMES
from model.ledger import account
from model.numerics import erlang_loss
from model.recovery import lost_work, lost_work_with_lag, recover, wait_for_repair
from model.scenario import Scenario, stack, substitute, to_values
from model.timeline import simulate, standard_error
from tests.reference import REFERENCE, reference

FAILURES = ("detection_blocked", "async_checkpoint", "repair_queue")

LIMITS = {
    "detection_blocked": {"reliability.detect_time_s": 0.0},
    "async_checkpoint": {
        "reliability.checkpoint_blocking_fraction": 1.0,
        "reliability.durability_lag_s": 0.0,
    },
    "repair_queue": {"reliability.repair_time_s": 0.0},
}

GENERAL = substitute(
    REFERENCE,
    {
        "reliability.checkpoint_blocking_fraction": 0.2,
        "reliability.durability_lag_s": 300.0,
        "reliability.spare_fraction": 0.003,
        "reliability.repair_time_s": 20_000.0,
    },
)


def in_form(scenario: Scenario, *names: str) -> Scenario:
    return substitute(scenario, {"refinements": names})


@pytest.mark.parametrize("name", FAILURES)
def test_refinement_equals_the_published_formula_in_its_limit(name: str) -> None:
    limit = substitute(GENERAL, LIMITS[name])
    before, after = account(limit), account(in_form(limit, name))
    for fate, share in before.fates.items():
        assert float(after.fates[fate]) == pytest.approx(float(share), rel=1e-12)


@pytest.mark.parametrize("name", FAILURES)
def test_refinement_changes_the_ledger_outside_its_limit(name: str) -> None:
    before, after = account(GENERAL), account(in_form(GENERAL, name))
    assert abs(float(after.discarded + after.blocked) / float(before.discarded) - 1) > 1e-3
    assert abs(float(after.discarded / before.discarded) - 1) > 1e-4


def test_detection_moves_between_fates_and_changes_no_throughput() -> None:
    before, after = account(REFERENCE), account(in_form(REFERENCE, "detection_blocked"))
    waiting = float(before.recovery.failures) * 120.0 * REFERENCE.world
    assert after.productive == before.productive
    assert after.ettr == before.ettr
    assert after.recovery_pressure == pytest.approx(float(before.recovery_pressure), rel=1e-14)
    assert float(before.discarded - after.discarded) == pytest.approx(waiting, rel=1e-10)
    assert float(after.blocked - before.blocked) == pytest.approx(waiting, rel=1e-10)


# Checkpoints that become durable later.


@pytest.mark.parametrize("lag", [0.0, 50.0, 400.0, 2500.0])
@pytest.mark.parametrize("rate", [1e-5, 1e-3])
def test_lost_work_with_lag_agrees_with_its_integral(lag: float, rate: float) -> None:
    """Age of the newest durable checkpoint at an exponential failure, piece by piece."""
    period = 700.0

    def lost(t: float) -> float:
        return t - period * max(0.0, np.floor((t - lag) / period))

    edges = np.concatenate([[0.0], lag + period * np.arange(1, 1 + int(40 / (rate * period)))])
    total = sum(
        integrate.quad(lambda t: lost(t) * rate * np.exp(-rate * t), low + 1e-9, high)[0]
        for low, high in itertools.pairwise(edges)
    )
    found = lost_work_with_lag(np.float64(rate), np.float64(period), np.float64(lag))
    assert float(found) == pytest.approx(total, rel=1e-6)


def test_lag_adds_its_own_length_for_rare_failures() -> None:
    # At λ → 0 the newest durable checkpoint is older by just the lag.
    added = lost_work_with_lag(1e-9, 700.0, 300.0) - lost_work(np.float64(1e-9), np.float64(700.0))
    assert float(added) == pytest.approx(300.0, rel=1e-5)


def test_background_writes_do_not_overlap() -> None:
    free = substitute(
        in_form(REFERENCE, "async_checkpoint"),
        {"reliability.checkpoint_blocking_fraction": 0.0, "reliability.checkpoint_write_s": 900.0},
    )
    assert float(recover(free).interval_s) == 900.0
    quick = substitute(free, {"reliability.checkpoint_write_s": 10.0})
    assert float(recover(quick).interval_s) == 60.0
    mostly = substitute(free, {"reliability.checkpoint_blocking_fraction": 0.01})
    assert float(recover(mostly).interval_s) == pytest.approx(900.0 * 0.99)


# Spares and repair.


@pytest.mark.parametrize("units", [0, 1, 2, 7, 61, 245, 1000])
def test_erlang_loss_agrees_with_its_recursion(units: int) -> None:
    """B(0) = 1, B(k) = a·B(k − 1)/(k + a·B(k − 1)); also where both parts underflow."""
    loads = np.array([1e-6, 0.3, 5.0, 60.0, 300.0, 2000.0, 30_000.0])
    loss = np.ones(loads.size)
    for k in range(1, units + 1):
        loss = loads * loss / (k + loads * loss)
    found = erlang_loss(np.float64(units), loads)
    assert found == pytest.approx(loss, rel=1e-11, abs=1e-20)


def test_erlang_loss_skips_what_never_happens() -> None:
    assert erlang_loss(np.float64(100), np.float64(2.0)) == 0.0
    mixed = erlang_loss(np.array([100.0, 2.0]), 2.0)
    assert mixed == pytest.approx([0.0, 0.4])


def test_wait_for_repair_of_no_spares_is_a_repair() -> None:
    bare = substitute(GENERAL, {"reliability.spare_fraction": 0.0})
    assert float(wait_for_repair(bare, 1e-4, 1e-4)) == 20_000.0


def test_queue_uses_fewer_accelerators_than_a_flat_share_where_spares_suffice() -> None:
    many = substitute(GENERAL, {"reliability.spare_fraction": 0.03})
    flat, queued = account(many), account(in_form(many, "repair_queue"))
    assert flat.unavailable_down > 0
    assert queued.unavailable_down == 0
    assert queued.productive > flat.productive


# Event by event.


CASES = [
    {},
    {"reliability.spare_fraction": 0.0, "reliability.repair_time_s": 3000.0},
    {"reliability.spare_fraction": 0.001, "reliability.repair_time_s": 10_000.0},
    {"reliability.spare_fraction": 0.004, "reliability.repair_time_s": 40_000.0},
    {
        "reliability.checkpoint_blocking_fraction": 0.1,
        "reliability.checkpoint_write_s": 100.0,
        "reliability.durability_lag_s": 900.0,
    },
    {"reliability.checkpoint_blocking_fraction": 0.0, "reliability.checkpoint_write_s": 200.0},
    {"reliability.failure_rate_per_job_day": 5.0, "reliability.spare_fraction": 0.001},
]


def differences(cases: list[Scenario]) -> np.ndarray:
    """Booked less expected time beyond four standard errors, as shares of the window."""
    result = simulate(stack(cases, axis=0), 200, np.random.default_rng(8))
    booked = {
        "running_s": result.running_s,
        "restart_s": result.restart_s + result.detection_s,
        "discarded_s": result.discarded_s,
        "checkpoint_s": result.checkpoint_s,
    }
    expected = [recover(case) for case in cases]
    found = []
    for name, values in booked.items():
        means = np.array([float(getattr(one, name)) for one in expected])
        excess = np.abs(values.mean(axis=1) - means) - 4 * standard_error(values)
        found.append(np.maximum(excess, 0.0) / (60 * 86_400))
    return np.array(found)


def test_queue_and_lag_agree_with_events_one_by_one() -> None:
    """Without detection and restart failures come at random, as Erlang's formula has it.

    A thousandth of the window is left for the empty queue it begins with and for its end.
    """
    still = {"reliability.detect_time_s": 0.0, "reliability.restart_time_s": 0.0}
    cases = [
        substitute(in_form(reference(window_days=60.0), *FAILURES), {**changes, **still})
        for changes in CASES
    ]
    assert differences(cases).max() < 0.001


def test_refined_recovery_agrees_with_events_where_they_pause() -> None:
    """With them failures are more regular than at random, and the queue is shorter than assumed.

    That is worth less than a hundredth of the window, with two spares for a load of one.
    """
    cases = [
        substitute(in_form(reference(window_days=60.0), *FAILURES), changes) for changes in CASES
    ]
    assert differences(cases).max() < 0.01


def test_published_recovery_does_not_agree_with_queued_events() -> None:
    """Negative control: the same events against the flat share and the whole repair."""
    case = substitute(in_form(reference(window_days=60.0), *FAILURES), CASES[3])
    booked = simulate(case, 200, np.random.default_rng(8)).running_s.mean()
    published = float(recover(in_form(case)).running_s)
    assert abs(booked - published) > 3 * 0.01 * 60 * 86_400


def test_repair_queue_refuses_nodes_that_fail_together() -> None:
    with pytest.raises(Exception, match="nodes_per_failure"):
        simulate(
            in_form(REFERENCE, "repair_queue"),
            2,
            np.random.default_rng(0),
            process=FailureProcess(nodes_per_failure=2.0),
        )


# Arrays, and the parameter check.


def test_refined_recovery_on_arrays_agrees_with_single_draws() -> None:
    rng = np.random.default_rng(9)
    columns = {
        "reliability.failure_rate_per_node_day": np.append(rng.uniform(1e-3, 3e-2, 6), 0.0),
        "reliability.repair_time_s": rng.uniform(0, 1e5, 7),
        "reliability.durability_lag_s": rng.uniform(0, 1e3, 7),
        "reliability.checkpoint_blocking_fraction": rng.uniform(0, 1, 7),
    }
    scenario = in_form(GENERAL, *NAMES)
    batched = recover(substitute(scenario, {p: c[:, None] for p, c in columns.items()}))
    for i in range(7):
        single = recover(substitute(scenario, {p: float(c[i]) for p, c in columns.items()}))
        for name in ("running_s", "restart_s", "discarded_s", "checkpoint_s"):
            array = np.broadcast_to(getattr(batched, name), (7, 1))
            assert array[i, 0] == pytest.approx(float(getattr(single, name)), rel=1e-12)


def test_gated_shape_tightens_the_parameter_check() -> None:
    """405B: 126·(2.125 + 3·3.25)·16,384² and two embeddings of 128,256 are 4.059e11."""
    assert suspicions(to_values(in_form(REFERENCE, "gated_shape"))) == []
    off = substitute(REFERENCE, {"model.n_params": 4.4e11})
    assert suspicions(to_values(off)) == []
    found = suspicions(to_values(in_form(off, "gated_shape")))
    assert ["4.06e+11" in text or "4.058e+11" in text for text in found] == [True]
    plain = replace(off, model=replace(off.model, n_params=2.7e11))
    assert suspicions(to_values(plain)) == []
    assert len(suspicions(to_values(in_form(plain, "gated_shape")))) == 1
