"""The model and the draws in the forms that estimators take.

Shapes: n draws, K options.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from decision.outcomes import Outcomes, Question, evaluate
from model.errors import InputError
from model.parameters import BY_PATH
from model.scenario import with_values
from priors.catalogue import Catalogue
from priors.draws import Draws
from studies.drivers.copula import dependent_pairs
from studies.drivers.sobol import Quantile
from studies.drivers.targets import Evaluate

CHUNK = 4096
"""Draws of a chunk where gains alone are wanted: fewer and larger than for break-evens."""

type Worth = Callable[[Mapping[str, np.ndarray], Outcomes], np.ndarray]
"""Columns of draws and their outcomes to what options are ranked by, (n, K), in productive
accelerators relative to doing nothing: what a budget brings once each option's cost is paid."""


def model_of(
    question: Question,
    fixed: Mapping[str, float],
    *,
    jobs: int = 1,
    worth: Worth | None = None,
) -> Evaluate:
    """The model of a question for gains alone, some parameters known.

    Parameters
    ----------
    question
        What is asked; its solver does not matter.
    fixed
        Values by dotted path or column.
    jobs
        Threads.
    worth
        What options are ranked by instead of the gain; None for the gain.
    """
    known = {path: value for path, value in fixed.items() if path in BY_PATH}
    others = {path: value for path, value in fixed.items() if path not in BY_PATH}
    scenario = with_values(question.scenario, known, source="draws")
    asked = replace(question, scenario=scenario, solver=None)

    def gains(columns: Mapping[str, np.ndarray]) -> Outcomes:
        count = len(next(iter(columns.values())))
        held = {path: np.full(count, value) for path, value in others.items()}
        whole = {**columns, **held}
        outcomes = evaluate(asked, whole, chunk=CHUNK, jobs=jobs)
        return outcomes if worth is None else replace(outcomes, gain=worth(whole, outcomes))

    return gains


def thin(draws: Draws, most: int) -> Draws:
    """Evenly spaced draws, no more than so many, in their order."""
    if len(draws) <= most:
        return draws
    rows = np.linspace(0, len(draws) - 1, most).round().astype(int)
    return replace(
        draws,
        columns={path: column[rows] for path, column in draws.columns.items()},
        chain=None if draws.chain is None else draws.chain[rows],
    )


def quantiles_of(
    columns: Mapping[str, np.ndarray], catalogue: Catalogue | None
) -> dict[str, Quantile]:
    """Quantile function of each parameter: of its prior, or of its draws where there is none."""

    def of_draws(column: np.ndarray) -> Quantile:
        ordered = np.sort(column)
        return lambda p: ordered[(p * ordered.size).astype(np.int64)]

    entries = {} if catalogue is None else catalogue.entries
    return {
        path: entries[path].prior.quantile if path in entries else of_draws(column)
        for path, column in columns.items()
    }


def require_independent(
    columns: Mapping[str, np.ndarray], chain: np.ndarray | None, *, source: str
) -> None:
    """Refuse Sobol indices for parameters that depend on each other.

    Raises
    ------
    InputError
        With the measured rank correlations and what to do instead.
    """
    pairs = dependent_pairs(columns, chain)
    if pairs:
        measured = "; ".join(
            f"{first} and {second}: {correlation:+.2f}"
            + ("" if what == "values" else f" between their {what}")
            for first, second, correlation, what in pairs[:3]
        )
        more = f" and {len(pairs) - 3} more pairs" if len(pairs) > 3 else ""  # noqa: PLR2004
        raise InputError.single(
            message="Sobol indices need independent parameters, and these are correlated"
            f" (rank correlation of {measured}{more})",
            source=source,
            path="--method sobol",
            remedy="use --method shapley, which redraws parameters as they depend on each other",
        )
