"""What a run holds so that its costs and prices can be moved without it, as plain data.

Shapes: n draws, K options of which the first is "do nothing", P nodes, S pivots, R directions.

The bulk is one block of bytes, compressed and in base64: arrays one after the other as ``arrays``
lists them, little-endian. Whole numbers are kept as planes of bytes, the lowest first, above the
smallest of each column. Break-evens are not among them: they are where the utility of doing nothing
reaches that of the option at no cost, and only those that this rule would miss are listed.
"""

import base64
import gzip
from collections.abc import Mapping
from typing import Any

import numpy as np

from decision.acceptability import MOST_DRAWS, few_rows
from decision.finished import Past
from decision.precision import quantile
from decision.surface import ROOM_BYTES, Surface, fit
from decision.terms import draw_terms
from model.errors import InputError

FORMAT = 1

SHAPE_STEP = 2.0**-32
"""Shapes of uncertain costs are kept to this share of the expected cost."""

NEAR = 1e-5
"""Accelerators within which a break-even must follow from the utilities."""

EVALUATED = 55_000
"""Options times draws that a curve over prices is computed on at each price."""

AGREES = 1e-4
"""Productive accelerators within which the model must still give what the run found."""

SPAN = 3.0
"""The price of an accelerator may fall to a third and rise to three times the run's."""

LARGEST_SHARE = 0.25
"""Share of the pool that costs may reach unless those of the run are larger."""


def what_if(run: Past) -> dict[str, Any]:
    """Everything that moving costs and prices takes.

    Parameters
    ----------
    run
        The run.

    Raises
    ------
    InputError
        If the model no longer gives what the run found, or its pools differ between draws.
    """
    costs, request = run.inputs.costs, run.inputs.request
    return {
        "format": FORMAT,
        "currency": costs.currency if costs else "",
        "price": costs.price_per_accelerator if costs else None,
        "price_over_horizon": costs.price_over_horizon if costs else None,
        "has_costs": costs is not None,
        "budget": request.budget,
        "risk_tolerance": request.risk_tolerance,
        "span": SPAN,
        "answers": [_answer(run, regime, index) for index, regime in enumerate(run.regimes)],
    }


def _answer(run: Past, regime: str, index: int) -> dict[str, Any]:
    question = run.inputs.questions[index][1]
    outcomes = run.outcomes(regime)
    count = run.count
    expected, shapes = _costs(run, regime)
    reach = reach_of(outcomes.sea, expected, run.inputs.request.budget, run.answer(regime))
    planned = float(run.answer(regime)["baseline"]["pool"])
    # A cost above what was expected is taken from the pool, down to nothing.
    over = max(0.0, float(shapes.max(initial=1.0)) - 1.0)
    terms = draw_terms(run.inputs.terms, count, run.inputs.request.seed)
    surface = fit(
        question,
        {**run.draws.columns, **terms},
        count,
        low=-min(planned, reach * over),
        high=reach,
        room_bytes=ROOM_BYTES / len(run.regimes),
    )
    pivots = surface.pivots()
    _require_same(run, regime, surface, pivots)
    missed = _missed(surface, pivots, outcomes.sea, shapes.max(axis=0))
    uncertain = [k for k in range(expected.size) if np.ptp(shapes[:, k]) > 0]
    numbers = np.column_stack(
        [surface.coordinates, np.rint(shapes[:, uncertain] / SHAPE_STEP)]
    ).astype(np.int64)
    lowest = numbers.min(axis=0, initial=0)
    rows = few_rows(count, max(MOST_DRAWS, EVALUATED // expected.size))
    arrays: dict[str, np.ndarray] = {
        "weights": np.concatenate([one.ravel() for one in surface.weights]),
        "directions": surface.directions,
        "missed_sea": outcomes.sea[missed],
        "missed_at": np.ravel_multi_index(missed, outcomes.sea.shape).astype(np.uint32),
        "rows": rows.astype(np.uint32),
    }
    planes, widths = _planes(numbers - lowest)
    data = b"".join(
        array.astype(array.dtype.newbyteorder("<")).tobytes() for array in arrays.values()
    )
    # No time stands in the block: the same run gives the same bytes.
    packed = gzip.compress(data + planes, compresslevel=6, mtime=0)
    return {
        "regime": regime,
        "options": list(surface.options),
        "draws": count,
        "rows": rows.size,
        "horizon_days": question.horizon_days,
        "costs": expected.tolist(),
        "reach": reach,
        "nodes": surface.nodes.tolist(),
        "pivots": np.diff(surface.starts).tolist(),
        "mean": surface.mean.tolist(),
        "step": surface.step,
        "error": surface.error,
        "shape_step": SHAPE_STEP,
        "uncertain": uncertain,
        "lowest": lowest.tolist(),
        "widths": widths,
        "arrays": {name: [array.dtype.name, array.size] for name, array in arrays.items()},
        "data": base64.b64encode(packed).decode("ascii"),
    }


def reach_of(
    sea: np.ndarray, expected: np.ndarray, budget: float | None, answer: Mapping[str, Any]
) -> float:
    """Largest cost that can be set: the largest median break-even, or three times costs and budget.

    Rounded up to two digits.
    """
    middle = quantile(sea, 0.5)
    worth = float(np.max(middle[np.isfinite(middle)], initial=0.0))
    worth = min(worth, LARGEST_SHARE * float(answer["baseline"]["pool"]))
    largest = max(worth, SPAN * float(expected.max()), SPAN * (budget or 0.0), 10.0)
    unit = 10.0 ** (np.floor(np.log10(largest)) - 1)
    return float(np.ceil(largest / unit) * unit)


def _costs(run: Past, regime: str) -> tuple[np.ndarray, np.ndarray]:
    """Expected costs, and draws of each as a multiple of it; (K,) and (n, K)."""
    interventions = run.inputs.questions[0][1].interventions
    expected, shapes = np.zeros(len(interventions) + 1), np.ones((run.count, 1))
    shapes = np.repeat(shapes, expected.size, axis=1)
    costs = run.inputs.costs
    if costs is None:
        return expected, shapes
    columns = {name: run.part(regime, name) for name in run.table}
    for index, option in enumerate(interventions, start=1):
        expected[index] = costs.expected(option)
        amounts = costs.of(option, columns, run.count)
        if expected[index] > 0 and np.ptp(amounts) > 0:
            shapes[:, index] = amounts / expected[index]
    return expected, shapes


def _require_same(run: Past, regime: str, surface: Surface, pivots: np.ndarray) -> None:
    gain = run.outcomes(regime).gain
    nothing = np.zeros(1)
    found = [surface.value(k, nothing, pivots) for k in range(len(surface.options))]
    worst = max(
        float(np.abs(value - found[0] - gain[:, k : k + 1]).max()) for k, value in enumerate(found)
    )
    if not worst <= AGREES + 2 * surface.error:
        raise InputError.single(
            message="the model no longer gives this run's results: gains differ by up to"
            f" {worst:.2g} productive accelerators",
            source="RUN",
            path=str(run.directory),
            remedy="rank again with `python -m decision.rank --force`",
        )


def break_evens(surface: Surface, pivots: np.ndarray, tie: float) -> np.ndarray:
    """SEA where the utility of doing nothing first reaches that of an option at no cost; (n, K).

    0 where the option gains nothing, infinite beyond the nodes.
    """
    nodes = surface.nodes[surface.nodes >= 0]
    bought = surface.value(0, nodes, pivots)
    result = np.zeros((bought.shape[0], len(surface.options)))
    rows = np.arange(bought.shape[0])
    highest = np.maximum.accumulate(bought, axis=1)
    for option in range(1, len(surface.options)):
        target = surface.value(option, np.zeros(1), pivots)
        reached = highest >= target
        first = np.where(reached.any(axis=1), reached.argmax(axis=1), nodes.size)
        inside = (first > 0) & (first < nodes.size)
        high = np.clip(first, 1, nodes.size - 1)
        low = high - 1
        rise = bought[rows, high] - bought[rows, low]
        share = np.divide(
            target[:, 0] - bought[rows, low], rise, out=np.zeros(rows.size), where=inside
        )
        crossing = nodes[low] + share * (nodes[high] - nodes[low])
        found = np.where(inside, crossing, np.where(first == 0, 0.0, np.inf))
        result[:, option] = np.where(target[:, 0] <= bought[:, 0] + tie, 0.0, found)
    return result


def _missed(
    surface: Surface, pivots: np.ndarray, sea: np.ndarray, largest: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Draws and options whose break-even does not follow from the utilities.

    It matters up to the largest cost of any draw, ``largest`` times the largest that can be set.
    """
    top = surface.nodes[-1] * np.maximum(1.0, largest)
    follows = break_evens(surface, pivots, tie_of(surface))
    near = np.abs(np.clip(follows, 0.0, top) - np.clip(sea, 0.0, top)) <= NEAR
    same = near & ((follows > 0) == (sea > 0)) & ((follows > top) == (sea > top))
    same[:, 0] = True
    rows, options = np.nonzero(~same)
    return rows, options


def tie_of(surface: Surface) -> float:
    """Productive accelerators within which two utilities may be one and the same."""
    return 2.0 * surface.error


def _planes(numbers: np.ndarray) -> tuple[bytes, list[int]]:
    """Whole numbers from 0 as planes of bytes, column by column, and how many each has."""
    planes: list[bytes] = []
    widths = []
    for column in numbers.T:
        width = max(1, (int(column.max(initial=0)).bit_length() + 7) // 8)
        raw = column.astype("<u8").view(np.uint8).reshape(-1, 8)
        planes += [raw[:, plane].tobytes() for plane in range(width)]
        widths.append(width)
    return b"".join(planes), widths
