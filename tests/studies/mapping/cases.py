"""Grounds and grids that tests of the map share."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from decision.outcomes import Question
from model.interventions import read_interventions
from model.scenario_file import read_scenario
from model.substitution import Solver
from studies.experiments.ranking import RANGES
from studies.mapping.axes import parse_axes
from studies.mapping.boundary import Crossed
from studies.mapping.grid import Grid
from studies.mapping.ranking import rank_cells
from studies.mapping.regime import Ground
from studies.mapping.sample import Sample, own_values

RATE = "reliability.failure_rate_per_node_day"
OVERSUBSCRIPTION = "topology.oversubscription"

QUESTION = Question(
    scenario=read_scenario("reference_405b_16k").scenario,
    interventions=read_interventions("published").interventions,
)

POINT = Ground(questions={("", ""): QUESTION}, samples={"": Sample(columns={})}, shifting={})


def drawn(count: int, *, doublings: int = 0, seed: int = 1, **shifting: bool) -> Ground:
    """Draws over the published ranges, so many of them in the first stage."""
    generator = np.random.default_rng(seed)
    total = count * 2**doublings
    columns = {path: generator.uniform(*bounds, size=total) for path, bounds in RANGES.items()}
    sample = Sample(
        columns=columns, doublings=doublings, own=own_values(QUESTION.scenario, columns)
    )
    named = {path.replace("__", "."): factor for path, factor in shifting.items()}
    return Ground(questions={("", ""): QUESTION}, samples={"": sample}, shifting=named)


def grid(*, x: str | None = None, y: str | None = None, scales: Sequence[int] = ()) -> Grid:
    given = [("--x", x), ("--y", y)]
    texts = [(option, text) for option, text in given if text is not None]
    if scales:
        texts.append(("--scale", f"scale={','.join(map(str, scales))}"))
    found = dict(zip([option for option, _ in texts], parse_axes(texts), strict=True))
    panels = (found["--scale"],) if scales else ()
    return Grid(panels=panels, rows=found.get("--y"), columns=found.get("--x"))


def ranked(shape: Grid, ground: Ground, *, doublings: int = 0, solver: Solver = "exact"):
    return rank_cells(shape.cells(), doublings, solver, ground=ground)


def crossed(shape: Grid, table: pd.DataFrame) -> list[Crossed]:
    """Edges between cells with different winners."""
    return [
        Crossed(
            axis=edge.axis,
            low=edge.low,
            high=edge.high,
            stage=int(max(table["stage"][edge.low.index], table["stage"][edge.high.index])),
            along="column" if edge.axis is shape.columns else "row",
        )
        for edge in shape.edges(shape.cells())
        if table["winner"][edge.low.index] != table["winner"][edge.high.index]
    ]
