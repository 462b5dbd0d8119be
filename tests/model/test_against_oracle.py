"""The batched model against the independent scalar one, on random scenarios.

The tolerance is 1e-9 relative: the two associate their sums differently, and the random scenarios
keep running time above 2e-4 of the window, so that rounding is amplified to at most 1e-11.
"""

import random
from collections import defaultdict

import numpy as np
import pytest

from model.interventions import Intervention, apply
from model.ledger import account
from model.placement import place_group
from model.scenario import Scenario, stack
from model.scenario_file import scenario_from_mapping
from model.substitution import substitute_options
from tests.oracles import scalar_model as oracle

COUNT = 1000
FATES = (
    "productive",
    "blocked_comm",
    "blocked_sync",
    "blocked_bubble",
    "blocked_checkpoint",
    "blocked_restart",
    "discarded",
    "unavailable_down",
    "unavailable_spare_stranded",
)


@pytest.fixture(scope="module")
def documents() -> list[dict[str, object]]:
    generator = random.Random(20260805)
    return [oracle.random_scenario(generator) for _ in range(COUNT)]


def model_scenario(document: dict[str, object]) -> Scenario:
    return scenario_from_mapping(document, source="random")[0]


def test_batched_ledger_agrees_with_the_scalar_one(documents: list[dict[str, object]]) -> None:
    groups: dict[tuple[object, ...], list[int]] = defaultdict(list)
    scenarios = [model_scenario(document) for document in documents]
    for index, scenario in enumerate(scenarios):
        key = (scenario.parallelism.recompute, scenario.scaling_mode, scenario.n_pool is None)
        groups[key].append(index)
    compared = 0
    for members in groups.values():
        ledger = account(stack([scenarios[index] for index in members], axis=0))
        batched = {
            "productive": ledger.productive,
            "blocked_comm": ledger.blocked_communication,
            "blocked_sync": ledger.blocked_synchronisation,
            "blocked_bubble": ledger.blocked_bubble,
            "blocked_checkpoint": ledger.blocked_checkpoint,
            "blocked_restart": ledger.blocked_restart,
            "discarded": ledger.discarded,
            "unavailable_down": ledger.unavailable_down,
            "unavailable_spare_stranded": ledger.unavailable_idle,
            "ucf": ledger.ucf,
            "ettr": ledger.ettr,
            "mfu": ledger.mfu,
            "tokens_per_second": ledger.tokens_per_second,
            "t_step_s": ledger.step.total_s,
            "n_failures": ledger.recovery.failures,
            "recovery_pressure": ledger.recovery_pressure,
            "checkpoint_interval_s": ledger.recovery.interval_s,
        }
        expected = [oracle.evaluate(documents[index]) for index in members]
        total = np.array([row["total"] for row in expected])
        for name, values in batched.items():
            scalar = np.array([row[name] for row in expected], dtype=np.float64)
            # A fate is a difference of larger ones: 1e-12 of the whole is its rounding.
            rounding = 1e-12 * (total if name in FATES else 1.0)
            same = np.isclose(values, scalar, rtol=1e-9, atol=rounding)
            assert same.all(), (name, [documents[members[i]] for i in np.flatnonzero(~same)[:1]])
            compared += same.size
    assert compared == len(batched) * COUNT


def test_published_search_agrees_with_the_scalar_one(documents: list[dict[str, object]]) -> None:
    compared = 0
    for document in documents[:200]:
        if document["n_pool"] is not None:
            continue
        scenario = model_scenario(document)
        for entry in oracle.INTERVENTIONS:
            changed = _valid(document, entry)
            if changed is None:
                continue
            expected = oracle.sea_published(document, entry)
            intervention = Intervention(
                name=entry["name"], overrides=entry["overrides"], multipliers=entry["multipliers"]
            )
            before = account(scenario).productive_accelerators.reshape(1, 1)
            after = account(apply(scenario, intervention)).productive_accelerators.reshape(1, 1)
            sea = substitute_options(scenario, before, after, solver="published").sea[0, 0]
            # A crossing amplifies the rounding of Π by the pool over the gain.
            assert sea == pytest.approx(expected["sea"], rel=1e-7, abs=1e-6), (document, entry)
            compared += 1
    assert compared > 1000


def _valid(document: dict[str, object], entry: dict[str, object]) -> object:
    try:
        changed = oracle.apply_intervention(document, entry)
    except ValueError:
        return None
    return changed if oracle.realisable(changed) else None


def test_exact_search_agrees_with_brute_force(documents: list[dict[str, object]]) -> None:
    """Every size from 1 to the ceiling is tried by the oracle; small replicas keep that short."""
    compared, different = 0, []
    small = [d for d in documents if d["parallelism"]["dp"] <= 24 and d["n_pool"] is None][:150]
    for document in small:
        scenario = model_scenario(document)
        before = account(scenario).productive_accelerators.reshape(1, 1)
        for entry in oracle.INTERVENTIONS:
            if _valid(document, entry) is None:
                continue
            intervention = Intervention(
                name=entry["name"], overrides=entry["overrides"], multipliers=entry["multipliers"]
            )
            after = account(apply(scenario, intervention)).productive_accelerators.reshape(1, 1)
            if abs(after - before) <= 1e-12 * before:
                continue
            sea = substitute_options(scenario, before, after, solver="exact").sea[0, 0]
            expected = oracle.sea_exact(document, entry)
            compared += 1
            if not (sea == expected or abs(sea - expected) <= 1e-6 * (1 + abs(expected))):
                different.append((document["name"], entry["name"], sea, expected))
    assert compared > 800
    # Π may dip between two samples of the grid, where a placement gains a pod or a spare node
    # appears; the search then finds a crossing that is not the first.
    assert len(different) <= 0.01 * compared, different


def test_placement_agrees_on_every_small_group() -> None:
    for size in (1, 2, 3, 8, 24, 60, 128):
        for stride in (1, 2, 8, 24, 128):
            for domain in (1, 6, 8, 72):
                for pod in (1, 64, 3072):
                    expected = oracle.placement(size, stride, domain, pod)
                    computed = place_group(size, stride, scaleup_domain=domain, pod_size=pod)
                    assert tuple(int(part) for part in computed) == tuple(expected)
