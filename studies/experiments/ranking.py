"""Who ranks first: over a map of regimes (e3) and over draws of what is uncertain (e7)."""

import numpy as np
import pandas as pd

from decision.outcomes import Outcomes, Question, evaluate
from model.substitution import Solver
from studies.experiments.inputs import (
    FAILURE_RATE,
    OVERSUBSCRIPTION,
    SCALE,
    SEED,
    StudyInputs,
    crossed,
)

MAP_RATES = tuple(float(rate) for rate in np.geomspace(1e-3, 3e-2, 12))
MAP_OVERSUBSCRIPTION = (1.0, 2.0, 4.0, 7.0, 12.0, 16.0)
MAP_SCALES = (16_384, 65_536)

DRAWS = 400

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
"""Uniform ranges of the uncertainty study, in the order they are drawn."""


def decision_map(inputs: StudyInputs, *, solver: Solver = "published") -> pd.DataFrame:
    """e3: the best intervention over failure rates, oversubscriptions and two scales."""
    cells = crossed(failure_rate_per_node_day=MAP_RATES, oversubscription=MAP_OVERSUBSCRIPTION)
    parts = []
    for accelerators in MAP_SCALES:
        outcomes = evaluate(
            _question(inputs, accelerators, solver),
            {
                FAILURE_RATE: cells["failure_rate_per_node_day"],
                OVERSUBSCRIPTION: cells["oversubscription"],
            },
        )
        labels = {**cells, "n_accelerators": np.full(outcomes.draws, accelerators)}
        frame = pd.DataFrame({**labels, **_winner(outcomes, solver), **_sea(outcomes)})
        parts.append(frame.assign(cell=np.arange(outcomes.draws)))
    table = pd.concat(parts).sort_values("cell", kind="stable").drop(columns="cell")
    return table.reset_index(drop=True)


def draws() -> dict[str, np.ndarray]:
    """Draws of the uncertainty study: one generator, parameter after parameter in each draw."""
    low, high = np.array(list(RANGES.values())).T
    rows = np.random.default_rng(SEED).uniform(low, high, size=(DRAWS, low.size))
    return dict(zip(RANGES, rows.T, strict=True))


def uncertainty(inputs: StudyInputs, *, solver: Solver = "published") -> pd.DataFrame:
    """e7: SEA of every intervention on 400 draws of nine parameters, typical regime."""
    columns = draws()
    outcomes = evaluate(_question(inputs, SCALE, solver), columns)
    return pd.DataFrame(
        {
            "draw": np.arange(DRAWS),
            **columns,
            **_sea(outcomes),
            **_winner(outcomes, solver),
        }
    )


def _question(inputs: StudyInputs, accelerators: int, solver: Solver) -> Question:
    return Question(
        scenario=inputs.scenario,
        interventions=inputs.interventions,
        scale=accelerators,
        solver=solver,
    )


def _sea(outcomes: Outcomes) -> dict[str, np.ndarray]:
    """A column an intervention; doing nothing, the first option, has none."""
    names = outcomes.options[1:]
    return {f"sea_{name}": outcomes.sea[:, 1 + i] for i, name in enumerate(names)}


def _winner(outcomes: Outcomes, solver: Solver) -> dict[str, np.ndarray]:
    """The best intervention and its SEA.

    As published it is the largest SEA, the first listed of equals, so that the first of several
    unattainable ones "wins"; otherwise the largest gain, which orders those too.
    """
    sea, gain = outcomes.sea[:, 1:], outcomes.gain[:, 1:]
    best = np.argmax(sea if solver == "published" else gain, axis=1)
    names = np.array(outcomes.options[1:], dtype=object)
    return {
        "winner": names[best],
        "winner_sea": sea[np.arange(best.size), best],
        "recovery_pressure": outcomes.recovery_pressure,
        "within_validity_envelope": outcomes.in_scope,
    }
