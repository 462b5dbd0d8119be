"""A run: one directory of results with its provenance, complete or absent."""

import csv
import json
import platform
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from decision.inputs import Inputs
from decision.origin import git_commit, versions
from decision.output import write_json
from decision.place import below_runs, beside, put_in_place
from decision.ranking import winners
from decision.summary import Answer, ranking_columns, ranking_rows
from model.errors import InputError
from priors.draws import Draws

if TYPE_CHECKING:
    from priors.conditioned import Posterior

SUMMARY = "summary.json"
PROVENANCE = "provenance.json"
ROW_GROUP = 100_000


def default_directory(inputs: Inputs) -> Path:
    """Where a run goes unless told: named by scenario and digest, below ``runs``."""
    return below_runs(inputs.scenario.name, inputs.digest)


def find_run(directory: Path, digest: str, *, force: bool) -> dict[str, Any] | None:
    """The summary of a finished run of the same inputs; None where there is room for a new one.

    Raises
    ------
    InputError
        If the directory holds something else, or a run of other inputs without ``force``.
    """
    try:
        if not directory.exists() or (directory.is_dir() and not any(directory.iterdir())):
            return None
        provenance = json.loads((directory / PROVENANCE).read_text(encoding="utf-8"))
        found = provenance["digest"]
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError.single(
            message="this exists and is not a run of this program: it is left alone",
            source="--out",
            path=str(directory),
            remedy="choose another directory",
        ) from None
    if force:
        return None
    if found != digest:
        raise InputError.single(
            message="this holds a run of other inputs, options or versions",
            source="--out",
            path=str(directory),
            remedy="choose another directory, or --force to replace the run",
        )
    with suppress(OSError, ValueError):
        summary: dict[str, Any] = json.loads((directory / SUMMARY).read_text(encoding="utf-8"))
        return summary
    return None


def write_run(
    directory: Path,
    *,
    inputs: Inputs,
    answers: Sequence[Answer],
    draws: Draws,
    summary: Mapping[str, Any],
    posterior: "Posterior | None",
    wall_time_s: float,
    render: Callable[[Mapping[str, Any], Path], object],
) -> None:
    """Write a run beside its place and move it there when it is whole.

    Parameters
    ----------
    directory
        Its place; an older run there is replaced.
    inputs, answers, draws, summary
        What is written.
    posterior
        What the draws are of, None where there is none.
    wall_time_s
        Time the results took.
    render
        Writes memo and figures of a summary into a directory.

    Raises
    ------
    InputError
        If the place cannot be written.
    """
    with beside(directory) as partial:
        (partial / "inputs").mkdir()
        for name, text in inputs.documents.items():
            (partial / "inputs" / name).write_text(text, encoding="utf-8")
        write_ranking(partial / "ranking.csv", answers)
        write_outcomes(partial / "outcomes.parquet", answers, draws)
        if posterior is not None:
            posterior.write_netcdf(partial / "posterior.nc")
        write_json(partial / SUMMARY, summary)
        write_json(
            partial / PROVENANCE, provenance(inputs, summary, draws, wall_time_s=wall_time_s)
        )
        render(summary, partial)
        put_in_place(partial, directory)


def write_ranking(path: Path, answers: Sequence[Answer]) -> None:
    """Write ``ranking.csv``: all digits, ``inf`` unattainable, empty where there is no value."""
    rows = ranking_rows(answers)
    names = ranking_columns(answers)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        for row in rows:
            writer.writerow([_cell(row[name]) for name in names])


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "" if np.isnan(value) else repr(value)
    return str(value)


def write_outcomes(path: Path, answers: Sequence[Answer], draws: Draws) -> None:
    """Write ``outcomes.parquet``: one row a draw, for each regime where there are several.

    Columns: each parameter by its dotted path, what is uncertain about an intervention as
    ``intervention.<name>.<quantity>``, ``chain`` for draws of a sampler, ``sea_<option>`` (inf
    where unattainable), ``gain_<option>`` in productive accelerators, ``winner``, ``tied``,
    ``productive_accelerators``, ``recovery_pressure``, ``in_scope``; with costs also
    ``cost.<item>`` where it is uncertain and ``utility_<option>``, the productive accelerators
    that the budget brings.
    """
    import pyarrow as pa
    from pyarrow import parquet

    writer = None
    try:
        for answer in answers:
            columns = _outcome_columns(answer, draws, several=len(answers) > 1)
            for start in range(0, answer.outcomes.draws, ROW_GROUP):
                part = slice(start, start + ROW_GROUP)
                table = pa.table({name: column[part] for name, column in columns.items()})
                if writer is None:
                    writer = parquet.ParquetWriter(path, table.schema, compression="zstd")
                writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()


def _outcome_columns(answer: Answer, draws: Draws, *, several: bool) -> dict[str, Any]:
    """Columns that can be sliced: arrays of numbers, and texts as codes into their names."""
    import pyarrow as pa

    outcomes = answer.outcomes
    winner, tied = winners(outcomes)
    columns: dict[str, Any] = {}
    if several:
        codes = np.zeros(outcomes.draws, dtype=np.int32)
        columns["regime"] = pa.DictionaryArray.from_arrays(codes, [answer.regime])
    columns |= draws.columns
    if draws.chain is not None:
        columns["chain"] = draws.chain
    for prefix, values in (("sea", outcomes.sea), ("gain", outcomes.gain)):
        for index, option in enumerate(outcomes.options):
            columns[f"{prefix}_{option}"] = values[:, index]
    columns["winner"] = pa.DictionaryArray.from_arrays(
        winner.astype(np.int32), list(outcomes.options)
    )
    columns["tied"] = tied
    columns["productive_accelerators"] = outcomes.productive
    columns["recovery_pressure"] = outcomes.recovery_pressure
    columns["in_scope"] = outcomes.in_scope
    if answer.economics is not None:
        columns |= answer.costs
        for index, option in enumerate(outcomes.options):
            columns[f"utility_{option}"] = answer.economics.utilities.values[:, index]
    return columns


def provenance(
    inputs: Inputs, summary: Mapping[str, Any], draws: Draws, *, wall_time_s: float
) -> dict[str, Any]:
    """What produced the run, so that somebody else can produce it again."""
    return {
        "digest": inputs.digest,
        "digests": inputs.digests(),
        "versions": {"python": platform.python_version(), **versions()},
        "git_commit": git_commit(),
        "seed": inputs.request.seed,
        "draws": inputs.draws,
        "draws_source": draws.source,
        "sampler": summary["sampler"],
        "options": {
            "scenario": inputs.request.scenario,
            "at_scale": inputs.request.at_scale,
            "set": dict(inputs.request.settings),
            "interventions": inputs.request.interventions,
            "only": list(inputs.request.only),
            "bundles": {name: list(parts) for name, parts in inputs.request.bundles.items()},
            "priors": inputs.request.priors,
            "evidence": list(inputs.request.evidence),
            "parameter_draws": inputs.request.parameter_draws,
            "regime": inputs.request.regime,
            "solver": inputs.request.solver,
            "form": inputs.form.name,
            "form_given": inputs.request.form,
            "refits": inputs.request.refits,
            "refinements": list(inputs.form.refinements),
            **(
                {}
                if inputs.costs is None
                else {
                    "costs": inputs.request.costs,
                    "budget": inputs.request.budget,
                    "risk_tolerance": inputs.request.risk_tolerance,
                    "studies": inputs.request.studies_on_offer,
                }
            ),
        },
        "wall_time_s": round(wall_time_s, 3),
    }
