"""The decision map: the published 144 regimes with 5,000 draws each, and a thousand regimes."""

import time
from collections.abc import Iterator

from studies.performance.clock import one_core, run_command
from studies.performance.core import question_of_reference, study_draws
from studies.performance.figure import Bench, Figure, Line

DRAWS = 5_000
CELLS = 144

THOUSAND = (
    "--x",
    "topology.oversubscription=1:16:40",
    "--y",
    "reliability.failure_rate_per_node_day=1e-3:3e-2:25:log",
)
"""Axes of 1,000 cells."""


def measure(bench: Bench) -> Iterator[Line]:
    """Cost of a draw on one core, the whole command on two, memory with many cells."""
    yield _draw()
    common = ["-m", "studies.decision_map", "--evidence", "none", "--quiet", "--draws", str(DRAWS)]
    published = [*common, "--refine", "0", "--jobs", "2", "--out", str(bench.folder / "published")]
    elapsed, _ = run_command(published, {})
    name = f"map, {CELLS} cells, two processes"
    yield Figure(name=name, value=elapsed, unit="s", limit=30)
    refined = [*common, "--jobs", "2", "--out", str(bench.folder / "refined")]
    elapsed, _ = run_command(refined, {})
    yield Figure(name="the same, contested cells refined", value=elapsed, unit="s")
    large = [*common, "--refine", "0", *THOUSAND, "--out", str(bench.folder / "large")]
    elapsed, memory = run_command(large, {})
    yield Figure(name="map, 1,000 cells, one process", value=elapsed, unit="s")
    yield Figure(name="peak memory, 1,000 cells", value=memory, unit="GiB", limit=1)


def _draw() -> Figure:
    """Processor time of a draw of a cell with everything that is said about the cell."""
    from studies.experiments.ranking import MAP_SCALES
    from studies.mapping.axes import Axis
    from studies.mapping.grid import Grid
    from studies.mapping.ranking import rank_cells
    from studies.mapping.regime import Ground
    from studies.mapping.request import PUBLISHED_COLUMNS, PUBLISHED_ROWS
    from studies.mapping.sample import Sample, own_values

    question, columns = question_of_reference(), study_draws(DRAWS)
    sample = Sample(columns=columns, own=own_values(question.scenario, columns))
    ground = Ground(questions={("", ""): question}, samples={"": sample}, shifting={})
    scales = Axis(path="scale", values=MAP_SCALES, numeric=True, whole=True)
    cells = Grid(panels=(scales,), rows=PUBLISHED_ROWS, columns=PUBLISHED_COLUMNS).cells()
    with one_core():
        rank_cells(cells[:2], 0, "exact", ground=ground)
        started = time.process_time()
        rank_cells(cells, 0, "exact", ground=ground)
        spent = time.process_time() - started
    cost = spent / (len(cells) * DRAWS)
    return Figure(name="map, one core", value=cost * 1e6, unit="µs/draw", limit=12)
