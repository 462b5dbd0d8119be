"""A finished run as the input of a study: its question and its draws, as they were."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from decision.finished import OUTCOMES, request_of
from decision.inputs import Inputs, gather
from decision.outcomes import evaluate
from decision.run import PROVENANCE, SUMMARY
from model.errors import InputError
from model.intervention_entries import COLUMN_PREFIX
from priors.draws import Draws, read_draws

WITHOUT_COSTS = (
    "Costs are left out: this says what drives the gain of each option, not whether it pays."
)

COMPARED = 256
"""Draws on which the model must still give the gains of the run."""

TOLERANCE = 1e-6
"""Relative to the baseline: the run's own rounding, not a change of the model."""


def read_run(directory: Path) -> tuple[Inputs, Draws, str]:
    """Inputs, draws and their source (``prior``, ``posterior`` or ``file``) of a run.

    Raises
    ------
    InputError
        If this is no run, or the model no longer gives its gains.
    """
    try:
        provenance = json.loads((directory / PROVENANCE).read_text(encoding="utf-8"))
        summary = json.loads((directory / SUMMARY).read_text(encoding="utf-8"))
        source = summary["question"]["source"]
        count = int(provenance["draws"])
        request = replace(
            request_of(directory, provenance, summary),
            costs=None,
            budget=None,
            risk_tolerance=None,
            studies_on_offer=None,
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError.single(
            message=f"this is not a finished run ({type(error).__name__}: {error})",
            source="--run",
            path=str(directory),
            remedy="give a directory that `python -m decision.rank` wrote",
        ) from None
    inputs = gather(request)
    if provenance["options"].get("costs"):
        # Ranked by what a budget brings, the run may recommend another option than its gains do.
        inputs = replace(inputs, notes=(*inputs.notes, WITHOUT_COSTS))
    draws = read_draws(directory / OUTCOMES)
    draws = replace(draws, columns={**draws.columns, **_of_interventions(directory)})
    # With several regimes the same draws follow each other once a regime.
    draws = replace(
        draws,
        columns={path: column[:count] for path, column in draws.columns.items()},
        chain=None if draws.chain is None else draws.chain[:count],
        source=provenance["draws_source"],
        notes=(),
    )
    _require_same_gains(directory, inputs, draws)
    return inputs, draws, source


def _of_interventions(directory: Path) -> dict[str, np.ndarray]:
    """Draws of what is uncertain about interventions, by column."""
    from pyarrow import parquet

    file = directory / OUTCOMES
    names = [name for name in parquet.read_schema(file).names if name.startswith(COLUMN_PREFIX)]
    table = parquet.read_table(file, columns=names)
    return {name: table[name].to_numpy().astype(np.float64) for name in names}


def _require_same_gains(directory: Path, inputs: Inputs, draws: Draws) -> None:
    import pandas as pd

    question = replace(inputs.questions[0][1], solver=None)
    names = [f"gain_{option}" for option in question.options]
    try:
        table = pd.read_parquet(directory / OUTCOMES, columns=names)
    except (OSError, ValueError, KeyError) as error:
        raise _changed(directory, f"its outcomes cannot be read: {error}") from None
    then = table.to_numpy(dtype=np.float64)[:COMPARED]
    now = evaluate(question, {path: c[:COMPARED] for path, c in draws.columns.items()})
    worst = float(np.max(np.abs(now.gain - then) / now.productive[:, np.newaxis]))
    if not worst <= TOLERANCE:
        raise _changed(directory, f"gains differ by up to {worst:.2g} of the baseline")


def _changed(directory: Path, what: str) -> InputError:
    return InputError.single(
        message=f"the model no longer gives this run's results: {what}",
        source="--run",
        path=str(directory),
        remedy="rank again with `python -m decision.rank --force`",
    )


def sampler_reasons(directory: Path) -> list[str]:
    """Why the sampler of a run did not converge; empty where it did or there was none."""
    summary = json.loads((directory / SUMMARY).read_text(encoding="utf-8"))
    return list((summary["sampler"] or {}).get("reasons", ()))
