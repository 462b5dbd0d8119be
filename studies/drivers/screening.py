"""Screening by Morris' elementary effects: which of many parameters deserve an index of their own.

Shapes: D parameters, T trajectories, C columns. A trajectory moves one parameter at a time over a
coarse grid of probabilities; the mean absolute change of an output is a parameter's influence.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from studies.drivers.factors import REST, Factor, singles
from studies.drivers.sobol import Quantile
from studies.drivers.targets import Evaluate, Targets, require_finite

MANY = 20
"""Uncertain parameters from which on they are screened."""

KEPT = 9
"""Parameters that keep an index of their own; with the rest as one they are ten factors."""

TRAJECTORIES = 60
LEVELS = 4
EDGE = 0.05
"""Probabilities range from here to 1 minus this: the far tails of a prior would decide alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Screening:
    """Parameters by influence.

    Parameters
    ----------
    influence
        By dotted path, the largest first: the largest share, over all outputs, of the strongest
        parameter's mean absolute effect.
    factors
        Parameters with an index of their own, and the others as one factor.
    evaluations
        Draws the model was evaluated on.
    """

    influence: Mapping[str, float]
    factors: tuple[Factor, ...]
    evaluations: int

    @property
    def screened(self) -> tuple[str, ...]:
        """Parameters without an index of their own."""
        return next((f.paths for f in self.factors if f.name == REST), ())


def screen(
    evaluate: Evaluate,
    quantiles: Mapping[str, Quantile],
    targets: Targets,
    *,
    seed: int,
    kept: int = KEPT,
    trajectories: int = TRAJECTORIES,
) -> Screening:
    """Screen parameters by Morris' method through SALib.

    Parameters
    ----------
    evaluate
        The model.
    quantiles
        Quantile function of each parameter, by dotted path.
    targets
        What influence is on.
    seed
        Seed, not negative.
    kept
        Parameters to keep.
    trajectories
        T; the model is evaluated on T(D + 1) draws.

    References
    ----------
    Campolongo, Cariboni and Saltelli 2007, Environmental Modelling & Software 22:1509.
    """
    from SALib.analyze import morris as analysis
    from SALib.sample import morris

    paths = list(quantiles)
    problem: dict[str, Any] = {
        "num_vars": len(paths),
        "names": paths,
        "bounds": [[EDGE, 1.0 - EDGE]] * len(paths),
    }
    grid = morris.sample(problem, trajectories, num_levels=LEVELS, seed=seed)
    columns = {path: quantiles[path](grid[:, i]) for i, path in enumerate(paths)}
    outcomes = evaluate(columns)
    require_finite(outcomes, columns)
    values = targets.values(outcomes)
    varying = np.ptp(values, axis=0) > 0
    effects = np.array(
        [
            analysis.analyze(problem, grid, column, num_levels=LEVELS, num_resamples=2, seed=1)[
                "mu_star"
            ]
            for column in values[:, varying].T
        ]
    ).reshape(-1, len(paths))
    strongest = effects.max(axis=1, keepdims=True)
    share = np.divide(effects, strongest, out=np.zeros_like(effects), where=strongest > 0)
    influence = share.max(axis=0, initial=0.0)
    order = np.argsort(-influence, kind="stable")
    own = sorted(order[:kept])
    rest = tuple(path for i, path in enumerate(paths) if i not in own)
    factors = singles([paths[i] for i in own])
    if rest:
        factors = (*factors, Factor(name=REST, paths=rest))
    return Screening(
        influence={paths[i]: float(influence[i]) for i in order},
        factors=factors,
        evaluations=outcomes.draws,
    )
