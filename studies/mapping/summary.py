"""A finished map as plain data: what the figures, the terminal and other programs read."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from decision.inputs import Inputs
from priors.observations import Interruptions
from studies.mapping.axes import REGIME, SCALE, SCENARIO, Axis, AxisValue
from studies.mapping.grid import Grid
from studies.mapping.lines import points_of, segments
from studies.mapping.ranking import PER_OPTION
from studies.mapping.request import MapInputs

if TYPE_CHECKING:
    import pandas as pd

FORMAT = 1

FAILURE_RATE = "reliability.failure_rate_per_node_day"

JOB_INTERRUPTION = "job_interruption"
"""What an observation must have counted to stand on an axis of the job's failures."""

SHOWN = (
    "cell",
    "status",
    "reason",
    "draws",
    "winner",
    "p_first",
    "p_first_mcse",
    "second",
    "p_second",
    "p_second_mcse",
    "margin",
    "margin_mcse",
    "separated",
    "as_good",
    "contested",
    "expected_regret",
    "expected_regret_mcse",
    "recommended",
    "recommended_regret",
    "p_tied",
    "p_out_of_scope",
    "winner_in_scope",
    "p_unattainable",
    "sea_p10",
    "sea_p50",
    "sea_p90",
    "point_winner",
    "recovery_pressure",
)
"""Columns of a cell that the summary holds; the Parquet table holds all."""


def describe_map(
    found: MapInputs,
    cells: "pd.DataFrame",
    boundaries: "pd.DataFrame | None",
    *,
    reasons: Sequence[str],
    provenance: Mapping[str, Any],
) -> dict[str, Any]:
    """Everything a reader is told about a map; no NaN and no infinity in it.

    Parameters
    ----------
    found
        What was asked.
    cells, boundaries
        The tables; no boundaries where no two cells side by side have different winners.
    reasons
        Why posteriors did not converge, if they did not.
    provenance
        What made the map.
    """
    grid, first = found.grid, found.first
    question = first.questions[0][1]
    panels = [
        _panel(found, number, values, cells, boundaries)
        for number, values in enumerate(grid.panel_values())
    ]
    return {
        "format": FORMAT,
        "provenance": dict(provenance),
        "question": {
            "scenario": first.scenario.name,
            "scenarios": [inputs.scenario.name for inputs in found.inputs.values()],
            "options": list(question.options),
            "source": found.source,
            "evidence": list(first.evidence.sources),
            "draws": 1 if found.source == "point" else first.draws,
            "doublings": found.doublings,
            "solver": first.request.solver,
            "form": first.form.name,
            "refinements": list(first.form.refinements),
            "seed": first.request.seed,
        },
        "columns": _axis(grid.columns),
        "rows": _axis(grid.rows),
        "panel_axes": [_axis(axis) for axis in grid.panels],
        "panels": panels,
        "unconverged": list(reasons),
        "notes": list(dict.fromkeys(n for i in found.inputs.values() for n in i.notes)),
        "warnings": list(dict.fromkeys(w for i in found.inputs.values() for w in i.warnings)),
    }


def _axis(axis: Axis | None) -> dict[str, Any] | None:
    if axis is None:
        return None
    return {
        "path": axis.path,
        "meaning": axis.meaning,
        "unit": axis.unit,
        "values": list(axis.values),
        "spacing": axis.spacing,
        "shifts": axis.shifts,
    }


def _panel(
    found: MapInputs,
    number: int,
    values: Mapping[str, AxisValue],
    cells: "pd.DataFrame",
    boundaries: "pd.DataFrame | None",
) -> dict[str, Any]:
    grid = found.grid
    _, down, across = grid.shape
    part = cells[cells["panel"] == number]
    names = ["row", "column", *(name for name in SHOWN if name in part.columns)]
    traced, untraced = [], []
    if boundaries is not None:
        here = boundaries[boundaries["panel"] == number]
        found_here = here[here["status"] == "traced"].to_dict("records")
        untraced = here.loc[here["status"] != "traced", "reason"].tolist()
        size = down * across
        traced = [
            {**_plain(row), "low_in_panel": int(row["low_cell"]) % size} for row in found_here
        ]
    # Between scenarios or choices there is nothing that a line could pass through.
    plane = all(axis is not None and axis.numeric for axis in (grid.rows, grid.columns))
    lines = segments(points_of(traced, (down, across)), (down, across)) if plane else []
    inputs = found.inputs.get(str(values.get(SCENARIO, "")), found.first)
    return {
        "values": dict(values),
        "title": _title(grid, values, found),
        "cells": [_plain(row) for row in part[names].to_dict("records")],
        "crossings": traced,
        "untraced": untraced,
        "lines": lines,
        "own": _own_place(grid, inputs, values, found.request.scales),
        "measured": _measured(grid, inputs),
    }


def _title(grid: Grid, values: Mapping[str, AxisValue], found: MapInputs) -> str:
    """What is the same in a panel, in words."""
    words = []
    for axis in grid.panels:
        value = values[axis.path]
        if axis.path == SCALE:
            words.append(f"{value:,} accelerators")
        elif axis.path in (SCENARIO, REGIME):
            words.append(str(value) or "as described")
        else:
            shown = f"{value:g}" if isinstance(value, float) else str(value)
            words.append(f"{axis.path.rpartition('.')[2]} {shown} {axis.unit}".strip())
    scales = found.request.scales
    if len(scales) == 1:
        words.append(f"{scales[0]:,} accelerators")
    return ", ".join(words)


def _own_place(
    grid: Grid, inputs: Inputs, values: Mapping[str, AxisValue], scales: Sequence[int]
) -> list[float] | None:
    """Where the scenario itself lies in a panel, in cells; None where it lies in none."""
    scenario = inputs.scenario
    sizes = {SCALE: scenario.world}
    for path, value in values.items():
        own = sizes.get(path) if path == SCALE else None
        if path in (SCENARIO, REGIME):
            continue
        if own is None:
            own = scenario.value(path)
        if own != value:
            return None
    if len(scales) == 1 and scales[0] != scenario.world:
        return None
    place = []
    for axis in (grid.columns, grid.rows):
        if axis is None:
            place.append(0.0)
            continue
        if not axis.numeric:
            return None
        own = scenario.world if axis.path == SCALE else scenario.value(axis.path)
        where = None if own is None else place_of(axis, float(own))
        if where is None:
            return None
        place.append(where)
    return place


def place_of(axis: Axis, value: float) -> float | None:
    """Where a value lies on an axis, in cells; None outside it."""
    numbers = [float(v) for v in axis.values if not isinstance(v, str)]
    if not numbers or not numbers[0] <= value <= numbers[-1]:
        return None
    index = max(i for i in range(len(numbers) - 1) if numbers[i] <= value)
    return axis.place(value, index)


def _measured(grid: Grid, inputs: Inputs) -> list[dict[str, Any]]:
    """Measured rates of job interruptions, where the map has an axis of them."""
    marks = []
    for name, axis in (("column", grid.columns), ("row", grid.rows)):
        if axis is None or axis.path != FAILURE_RATE:
            continue
        for observation in inputs.evidence.of_kind(Interruptions):
            if observation.counts != JOB_INTERRUPTION:
                continue
            rate = observation.rate_per_node_day
            if observation.events is not None and observation.node_days:
                rate = observation.events / observation.node_days
            place = None if rate is None else place_of(axis, float(rate))
            if place is not None:
                marks.append(
                    {"along": name, "place": place, "value": rate, "name": observation.fleet}
                )
    return marks


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row without NumPy types, NaN (null) and infinity (text)."""
    plain: dict[str, Any] = {}
    for name, value in row.items():
        item = value.item() if hasattr(value, "item") else value
        if isinstance(item, float) and not math.isfinite(item):
            item = None if math.isnan(item) else ("inf" if item > 0 else "-inf")
        plain[str(name)] = item
    return plain


def readable(cells: "pd.DataFrame") -> "pd.DataFrame":
    """The table of cells without its columns of single options."""
    single = tuple(f"{column}." for column in PER_OPTION)
    return cells[[name for name in cells.columns if not name.startswith(single)]]
