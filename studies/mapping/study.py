"""A map as a study: tasks of cells, tasks of edges, and the directory of its results."""

import hashlib
import json
import platform
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from decision.origin import code_digest, git_commit, versions
from decision.output import write_json
from decision.progress import Progress
from studies.execution.options import Execution
from studies.execution.study import Outcome, run_study
from studies.execution.tasks import Task
from studies.mapping.boundary import Crossed, trace_edges
from studies.mapping.grid import Cell
from studies.mapping.ranking import RANKED, rank_cells
from studies.mapping.regime import Ground
from studies.mapping.request import MapInputs
from studies.mapping.summary import readable
from studies.output import PROVENANCE

if TYPE_CHECKING:
    import pandas as pd

STUDY = "decision-map"

DRAWS_OF_TASK = 40_000
EDGES_OF_TASK = 4
MOST_CELLS_OF_TASK = 64
"""A task takes some tenths of a second: little is lost when it is interrupted."""


def digest_of(found: MapInputs) -> str:
    """One digest of inputs, axes, code and versions of a map."""
    content = [
        {name: inputs.digest for name, inputs in found.inputs.items()},
        [[a.path, list(a.values), a.spacing, a.shifts] for a in found.grid.axes],
        list(found.request.scales),
        found.doublings,
        found.source,
        code_digest(),
    ]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def cell_tasks(found: MapInputs, cells: Sequence[Cell]) -> list[Task]:
    """Cells in pieces of some tenths of a second."""
    draws = 1 if found.source == "point" else found.first.draws
    size = min(MOST_CELLS_OF_TASK, max(1, DRAWS_OF_TASK // draws))
    return [
        Task(
            name=f"cells {start + 1} to {min(start + size, len(cells))}",
            function=rank_cells,
            arguments={
                "cells": tuple(cells[start : start + size]),
                "doublings": found.doublings,
                "solver": found.first.request.solver,
            },
            table="cells",
        )
        for start in range(0, len(cells), size)
    ]


def edge_tasks(found: MapInputs, cells: Sequence[Cell], table: "pd.DataFrame") -> list[Task]:
    """Edges between cells with different winners, in pieces."""
    rows = table.to_dict("records")
    edges = []
    for edge in found.grid.edges(list(cells)):
        low, high = rows[edge.low.index], rows[edge.high.index]
        if low["status"] != RANKED or high["status"] != RANKED or low["winner"] == high["winner"]:
            continue
        edges.append(
            Crossed(
                axis=edge.axis,
                low=edge.low,
                high=edge.high,
                stage=int(max(low["stage"], high["stage"])),
                along="column" if edge.axis is found.grid.columns else "row",
            )
        )
    return [
        Task(
            name=f"edges {start + 1} to {min(start + EDGES_OF_TASK, len(edges))}",
            function=trace_edges,
            arguments={"edges": tuple(edges[start : start + EDGES_OF_TASK])},
            table="boundaries",
        )
        for start in range(0, len(edges), EDGES_OF_TASK)
    ]


def compute(
    found: MapInputs,
    ground: Ground,
    place: Path,
    *,
    digest: str,
    execution: Execution,
    progress: Progress,
) -> tuple[Outcome, Outcome]:
    """Rank every cell, then trace the boundaries between different winners.

    Raises
    ------
    StudyFailedError
        If a task failed.
    """
    common: dict[str, Any] = {
        "study": STUDY,
        "shared": {"ground": ground},
        "facts": {"digest": digest},
        "execution": execution,
        "progress": progress,
    }
    cells = found.grid.cells()
    progress.say(f"ranking {len(cells):,} regimes")
    ranked = run_study(cell_tasks(found, cells), place / "cells", **common)
    ranked.require_complete()
    edges = edge_tasks(found, cells, ranked.frame("cells"))
    progress.say("tracing where the winner changes")
    traced = run_study(edges, place / "boundaries", **common)
    traced.require_complete()
    return ranked, traced


def write_map(
    target: Path,
    found: MapInputs,
    *,
    ranked: Outcome,
    traced: Outcome,
    content: Mapping[str, Any],
    draw: Callable[[Mapping[str, Any], Path], object],
) -> None:
    """Tables, summary, inputs and figures of a map into a directory."""
    shutil.copyfile(ranked.table("cells"), target / "map.parquet")
    readable(ranked.frame("cells")).to_csv(target / "map.csv", index=False, lineterminator="\n")
    if traced.total:
        shutil.copyfile(traced.table("boundaries"), target / "boundaries.parquet")
        traced.frame("boundaries").to_csv(
            target / "boundaries.csv", index=False, lineterminator="\n"
        )
    write_json(target / "map.json", content)
    write_json(target / PROVENANCE, content["provenance"])
    for index, (name, inputs) in enumerate(found.inputs.items(), start=1):
        folder = target / "inputs" / (f"{index}" if name else "")
        folder.mkdir(parents=True, exist_ok=True)
        for document, text in inputs.documents.items():
            (folder / document).write_text(text, encoding="utf-8")
    draw(content, target / "figures")


def provenance_of(found: MapInputs, digest: str) -> dict[str, Any]:
    """What made the map."""
    return {
        "study": STUDY,
        "digest": digest,
        "inputs": {name: inputs.digests() for name, inputs in found.inputs.items()},
        "versions": {"python": platform.python_version(), **versions()},
        "git_commit": git_commit(),
    }


def finished(directory: Path, digest: str) -> dict[str, Any] | None:
    """The summary of a finished map of the same inputs; None where there is none."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        content: dict[str, Any] = json.loads((directory / "map.json").read_text(encoding="utf-8"))
        if content["provenance"]["digest"] == digest:
            return content
    return None
