"""Draws by options: the published uncertainty study row by row, and invariance to how it is run."""

import csv

import numpy as np
import pytest

from decision.outcomes import Question, baseline_of, evaluate
from decision.ranking import rank_options
from model.errors import InputError
from model.interventions import Intervention, Regime, apply
from model.ledger import account
from model.parameters import BY_PATH
from model.scenario import with_values
from tests.reference import INTERVENTIONS, PUBLISHED, REFERENCE, TABLES, needs_tables

RANGES = {
    "kernel.kernel_efficiency": (0.45, 0.70),
    "topology.net_efficiency": (0.70, 0.95),
    "parallelism.overlap_dp": (0.60, 0.95),
    "parallelism.overlap_tp": (0.0, 0.35),
    "reliability.failure_rate_per_node_day": (1.5e-3, 1.5e-2),
    "reliability.detect_time_s": (30.0, 400.0),
    "reliability.restart_time_s": (60.0, 900.0),
    "reliability.checkpoint_write_s": (5.0, 90.0),
    "reliability.straggler_cv": (0.0, 0.05),
}


def study_draws(count: int) -> dict[str, np.ndarray]:
    """Draws of the uncertainty study: one generator, parameter after parameter in each draw."""
    generator = np.random.default_rng(20260805)
    rows = [[generator.uniform(*r) for r in RANGES.values()] for _ in range(count)]
    return dict(zip(RANGES, np.array(rows).T, strict=True))


def question(**changes: object) -> Question:
    return Question(**{"scenario": REFERENCE, "interventions": PUBLISHED.interventions, **changes})


@needs_tables
def test_outcomes_reproduce_every_row_of_e7() -> None:
    with (TABLES / "e7_uncertainty.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    columns = {p: np.array([float(row[p]) for row in rows]) for p in rows[0] if p in BY_PATH}
    outcomes = evaluate(question(scale=16_384, solver="published"), columns)
    for name in INTERVENTIONS:
        published = np.array([float(row[f"sea_{name}"]) for row in rows])
        computed = outcomes.sea[:, outcomes.options.index(name)]
        # Both sides conserve accelerator-seconds to 1e-9.
        assert np.allclose(computed, published, rtol=1e-9, atol=1e-9)
    pressure = np.array([float(row["recovery_pressure"]) for row in rows])
    assert np.allclose(outcomes.recovery_pressure, pressure, rtol=1e-9)
    assert [str(flag) for flag in outcomes.in_scope] == [
        row["within_validity_envelope"] for row in rows
    ]
    winners = [outcomes.options[k] for k in outcomes.gain.argmax(axis=1)]
    assert winners == [row["winner"] for row in rows]


def test_shares_are_those_of_claim_6() -> None:
    """Claim 6: seed 20260805, 400 draws of which 323 in scope; and section 6 over all draws."""
    columns = study_draws(400)
    ranking = rank_options(evaluate(question(scale=16_384, solver="published"), columns), None)
    in_scope = {s.option: round(100 * s.p_first_in_scope, 1) for s in ranking.standings}
    published = {
        "fast_checkpoint": 45.8,
        "reliability_2x": 29.1,
        "straggler_control": 15.8,
        "fast_restart": 8.7,
        "bandwidth_4x": 0.6,
    }
    assert {name: share for name, share in in_scope.items() if share > 0} == published
    shares = {s.option: round(100 * s.p_first, 1) for s in ranking.standings}
    assert shares["reliability_2x"] == 35.0
    assert shares["fast_checkpoint"] == 39.0
    assert round(ranking.p_out_of_scope * 400) == 400 - 323


@pytest.mark.parametrize("solver", ["exact", "published"])
@pytest.mark.parametrize(("chunk", "jobs"), [(1, 1), (7, 1), (64, 2), (1000, 1)])
def test_outcomes_do_not_depend_on_how_they_are_run(solver: str, chunk: int, jobs: int) -> None:
    columns = study_draws(97)
    whole = evaluate(question(solver=solver), columns)
    parts = evaluate(question(solver=solver), columns, chunk=chunk, jobs=jobs)
    for name in ("gain", "sea", "fates", "productive", "recovery_pressure", "marginal"):
        assert getattr(whole, name).tobytes() == getattr(parts, name).tobytes()


def test_each_draw_is_the_scenario_with_its_values() -> None:
    columns = study_draws(20)
    outcomes = evaluate(question(), columns)
    for row in range(20):
        scenario = baseline_of(
            question(), {path: column[row : row + 1] for path, column in columns.items()}
        )
        before = float(account(scenario).productive_accelerators[0, 0])
        for k, intervention in enumerate(PUBLISHED.interventions, start=1):
            after = float(account(apply(scenario, intervention)).productive_accelerators[0, 0])
            assert outcomes.gain[row, k] == pytest.approx(after - before, rel=1e-9, abs=1e-7)


def test_uncertain_spares_plan_each_draw_by_itself() -> None:
    """Spares move the plan when the pool is fixed, so that draws fall into several plans."""
    generator = np.random.default_rng(3)
    columns = {
        "reliability.spare_fraction": generator.uniform(0.0, 0.06, 40),
        "reliability.failure_rate_per_node_day": generator.uniform(2e-3, 1e-2, 40),
    }
    asked = question(scale=16_384)
    together = evaluate(asked, columns)
    for row in range(40):
        single = evaluate(asked, {path: column[row : row + 1] for path, column in columns.items()})
        assert np.array_equal(together.sea[row], single.sea[0])
        assert np.array_equal(together.gain[row], single.gain[0])


def test_options_that_differ_in_text_fields_are_evaluated_too() -> None:
    full = Intervention(
        name="recompute_all", overrides={"parallelism.recompute": "full"}, multipliers={}
    )
    asked = question(interventions=(full, INTERVENTIONS["bandwidth_2x"]))
    outcomes = evaluate(asked, {})
    expected = account(apply(REFERENCE, full)).productive_accelerators
    before = account(REFERENCE).productive_accelerators
    assert outcomes.gain[0, 1] == pytest.approx(float(expected - before), rel=1e-9)
    assert outcomes.gain[0, 2] == pytest.approx(141.2297, abs=1e-3)


def test_accelerators_beyond_the_plan_stay_idle_whatever_is_decided() -> None:
    """They dilute the fates; no option and no further accelerator puts them to work."""
    roomy = with_values(REFERENCE, {"n_pool": 30_000}, source="test")
    columns = study_draws(8)
    own, more = (evaluate(question(scenario=s), columns) for s in (REFERENCE, roomy))
    for name in ("gain", "sea", "productive", "marginal"):
        assert np.array_equal(getattr(own, name), getattr(more, name))
    assert more.pool.tolist() == [30_000.0] * 8
    assert np.allclose(more.fates[:, 0], own.fates[:, 0] * 16_876 / 30_000, rtol=1e-12)
    assert np.allclose(more.fates.sum(axis=1), 1.0)


def test_regime_is_applied_after_the_draw() -> None:
    regime = Regime(name="r", overrides={"reliability.failure_rate_per_node_day": 0.0025})
    columns = {"reliability.failure_rate_per_node_day": np.array([1e-3, 2e-2])}
    outcomes = evaluate(question(regime=regime), columns)
    assert outcomes.productive[0] == outcomes.productive[1]


def test_intervention_impossible_on_some_draw_is_named_before_anything_runs() -> None:
    better = Intervention(name="better", overrides={}, multipliers={"topology.net_efficiency": 1.2})
    columns = {"topology.net_efficiency": np.array([0.7, 0.8, 0.9, 0.95])}
    with pytest.raises(InputError, match=r"better: topology.net_efficiency: got 1\.0\d+ in row 3"):
        evaluate(question(interventions=(better,)), columns)


def test_out_of_scope_draws_are_kept() -> None:
    columns = {"reliability.failure_rate_per_node_day": np.array([5e-3, 5e-2])}
    outcomes = evaluate(question(), columns)
    assert outcomes.draws == 2
    assert outcomes.in_scope.tolist() == [True, False]


def test_gains_alone_are_the_same_gains() -> None:
    columns = study_draws(30)
    whole, alone = evaluate(question(), columns), evaluate(question(solver=None), columns)
    assert np.array_equal(whole.gain, alone.gain)
    assert np.isnan(alone.sea).all()


def test_weak_scaling_with_uncertain_spares() -> None:
    weak = with_values(
        REFERENCE,
        {"scaling_mode": "weak", "parallelism.dp": 64, "max_global_batch_seqs": 100_000},
        source="test",
    )
    columns = {"reliability.spare_fraction": np.linspace(0.0, 0.08, 9)}
    asked = question(scenario=weak, scale=16_000)
    together = evaluate(asked, columns)
    for row in range(9):
        single = evaluate(asked, {path: column[row : row + 1] for path, column in columns.items()})
        assert np.array_equal(together.sea[row], single.sea[0])
