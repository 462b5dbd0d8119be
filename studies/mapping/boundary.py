"""Where one winner gives way to another: roots along the edges between cells.

Along an edge the draws stay the same, so that the difference of two options' shares of first place
is a function of the place alone. Its root is found by bracketing; the interval holds the places at
which simulation error leaves the order of the two open. That error vanishes with draws; what the
evidence leaves open is the width over which shares change, which the cells show.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from decision.precision import Layout, paired_share_error
from decision.ranking import first_place_credit
from model.errors import InputError
from studies.mapping.axes import Axis, AxisValue
from studies.mapping.grid import Cell
from studies.mapping.ranking import lead_of
from studies.mapping.regime import Ground, outcomes_of

if TYPE_CHECKING:
    import pandas as pd

NORMAL_95 = 1.959963984540054

CLOSE = 1.0 / 256.0
"""Of a cell: roots are found to this, or to a tenth of their simulation error."""

RESOLVED = 0.1
"""Share of its simulation error to which a difference counts as none."""

MOST_STEPS = 40
REACH = 3
"""Cells beyond its edge in which the end of an interval is looked for; farther, it is open."""

DEEPEST = 4
"""Winners between two cells that are told apart on one edge."""

type Function = Callable[[float], tuple[float, float]]
"""Value at a place, and the error below which it counts as none."""

type Snap = Callable[[float], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossed:
    """An edge whose cells have different winners.

    Parameters
    ----------
    axis
        The axis along the edge.
    low, high
        Its cells.
    stage
        Stage of the draws it is traced on: the later one of its cells.
    along
        ``column`` or ``row``: what the axis numbers.
    """

    axis: Axis
    low: Cell
    high: Cell
    stage: int
    along: str


@dataclass(slots=True)
class _Line:
    """The line of the grid that an edge lies on: shares of first place at any place of it.

    Places count cells from the first; places of integers are snapped to them.
    """

    edge: Crossed
    ground: Ground
    layout: Layout
    rows: np.ndarray
    seen: dict[float, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)

    @classmethod
    def of(cls, edge: Crossed, ground: Ground) -> "_Line":
        sample = ground.sample(edge.low.values)
        return cls(edge, ground, sample.layout(edge.stage), sample.rows(edge.stage))

    @property
    def last(self) -> int:
        return len(self.edge.axis.values) - 1

    def value(self, place: float) -> AxisValue:
        axis = self.edge.axis
        if place.is_integer():
            return axis.values[int(place)]
        value = axis.value_at(place)
        return round(value) if axis.whole else value

    def snapped(self, place: float) -> float:
        """The place of the integer nearest to it, on an axis of integers."""
        if not self.edge.axis.whole:
            return place
        return self.edge.axis.place(int(self.value(place)), min(int(place), self.last - 1))

    def at(self, place: float) -> tuple[np.ndarray, np.ndarray]:
        """Credits of first place and gains, (n, K) each."""
        if place not in self.seen:
            values = {**self.edge.low.values, self.edge.axis.path: self.value(place)}
            outcomes = outcomes_of(self.ground, values, self.rows, solver=None)
            self.seen[place] = first_place_credit(outcomes), outcomes.gain
        return self.seen[place]

    def leader(self, place: float) -> int:
        return lead_of(*self.at(place), self.layout).first

    def difference(self, place: float, first: int, second: int) -> tuple[float, float]:
        """By how much one option's share exceeds another's, and its simulation error."""
        credit, _ = self.at(place)
        shares = credit.mean(axis=0)
        effective = float(self.layout.effective(credit[:, first] - credit[:, second]))
        error = paired_share_error(float(shares[first]), float(shares[second]), effective)
        return float(shares[first] - shares[second]), error


def trace_edges(edges: Sequence[Crossed], *, ground: Ground) -> "pd.DataFrame":
    """Crossings between winners on some edges, one row each.

    Parameters
    ----------
    edges
        Edges whose cells have different winners.
    ground
        Everything that all cells share.

    Returns
    -------
    DataFrame
        ``first`` ranks first on the low side, ``second`` on the high side of ``value``;
        ``value_low`` to ``value_high`` is the 95% interval of simulation error, open where
        ``low_open`` or ``high_open``. Places count cells from the first. An edge on which no
        crossing could be traced has a row that says why.
    """
    import pandas as pd

    return pd.DataFrame([row for edge in edges for row in _trace(edge, ground)])


def _trace(edge: Crossed, ground: Ground) -> Iterator[dict[str, Any]]:
    line = _Line.of(edge, ground)
    names = ground.pose(edge.low.values)[0].options
    start = float(getattr(edge.low, edge.along))
    fixed = {
        "panel": edge.low.panel,
        "low_cell": edge.low.index,
        "high_cell": edge.high.index,
        "axis": edge.axis.path,
        "along": edge.along,
        "draws": line.rows.size,
    }
    try:
        before, after = line.leader(start), line.leader(start + 1.0)
        if before == after:
            reason = "on the draws of the more contested cell both have the same winner"
            yield {**fixed, "status": "none", "reason": reason}
            return
        found = _crossings(line, low=start, high=start + 1.0, first=before, second=after)
        for first, second, low, high in found:
            yield {
                **fixed,
                "status": "traced",
                "reason": "",
                "first": names[first],
                "second": names[second],
                **_located(line, low, high, first, second),
            }
    except InputError as error:
        yield {**fixed, "status": "impossible", "reason": str(error.problems[0])}


def _crossings(
    line: _Line, *, low: float, high: float, first: int, second: int, depth: int = DEEPEST
) -> Iterator[tuple[int, int, float, float]]:
    """Options that give way to each other and the bracket of the place, from the low side on.

    Where a third one leads at the root of two, it lies between them.
    """
    left, right = _root(
        low,
        high,
        lambda place: line.difference(place, first, second),
        snapped=line.snapped,
    )
    middle = line.leader(left)
    if middle in (first, second):
        middle = line.leader(right)
    if middle in (first, second) or depth == 0:
        yield first, second, left, right
        return
    place = left if line.leader(left) == middle else right
    deeper = depth - 1
    yield from _crossings(line, low=low, high=place, first=first, second=middle, depth=deeper)
    yield from _crossings(line, low=place, high=high, first=middle, second=second, depth=deeper)


def _root(
    low: float,
    high: float,
    function: Function,
    *,
    snapped: Snap,
    close: float = CLOSE,
) -> tuple[float, float]:
    """Close in on a root from a place where the function is positive to one where it is not.

    The secant with the Illinois rule: an end that stays twice counts half. Ends may be in either
    order. Where the value is within a tenth of its error the two ends are the same place.
    """
    at_low, _ = function(low)
    at_high, _ = function(high)
    stayed = 0
    for _ in range(MOST_STEPS):
        if abs(high - low) <= close:
            break
        share = at_low / (at_low - at_high) if at_low > at_high else 0.5
        place = snapped(low + min(max(share, 0.05), 0.95) * (high - low))
        if place in (low, high):
            # Integers next to each other, or one at the secant's end: try the middle.
            place = snapped(0.5 * (low + high))
            if place in (low, high):
                break
        here, error = function(place)
        if error > 0 and abs(here) <= RESOLVED * error:
            return place, place
        if here > 0:
            low, at_low = place, here
            at_high *= 0.5 if stayed == 1 else 1.0
            stayed = 1
        else:
            high, at_high = place, here
            at_low *= 0.5 if stayed == -1 else 1.0
            stayed = -1
    return low, high


def _located(line: _Line, low: float, high: float, first: int, second: int) -> dict[str, Any]:
    """Value and interval of a crossing, in units of the axis and in cells."""
    below, below_open = _end(line, low, first, second, -1)
    above, above_open = _end(line, high, second, first, +1)
    place = 0.5 * (low + high)
    margin, error = line.difference(low, first, second)
    value = line.edge.axis.value_at

    return {
        "place": place,
        "place_low": below,
        "place_high": above,
        "value": value(place),
        "value_low": value(below),
        "value_high": value(above),
        "low_open": below_open,
        "high_open": above_open,
        "margin": margin,
        "margin_mcse": error,
    }


def _end(line: _Line, root: float, ahead: int, behind: int, direction: int) -> tuple[float, bool]:
    """Where the lead of one option over another exceeds 1.96 errors, and whether it never does.

    Looked for from the root on, cell by cell.
    """

    def excess(place: float) -> tuple[float, float]:
        difference, error = line.difference(place, ahead, behind)
        return difference - NORMAL_95 * error, 0.0

    node = int(np.floor(root)) if direction < 0 else int(np.ceil(root))
    for _ in range(REACH + 1):
        if not 0 <= node <= line.last:
            break
        if excess(float(node))[0] > 0:
            clear, _ = _root(float(node), root, excess, snapped=line.snapped, close=4.0 * CLOSE)
            return clear, False
        node += direction
    return float(min(max(node - direction, 0), line.last)), True
