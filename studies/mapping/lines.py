"""Boundaries as lines: crossings on the edges around each corner of four cells, joined.

Places count cells from the first, so that a line can be drawn on a grid whatever its axes are.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

type Point = tuple[float, float]


def points_of(
    crossings: Sequence[Mapping[str, Any]], shape: tuple[int, int]
) -> list[dict[str, Any]]:
    """Crossings of one panel as points with the ends of their intervals.

    Parameters
    ----------
    crossings
        Traced rows of the boundary table.
    shape
        Rows and columns of the panel.
    """
    _, across = shape
    points = []
    for row in crossings:
        down, column = divmod(row["low_in_panel"], across)
        pair = tuple(sorted((row["first"], row["second"])))
        ends = (row["place_low"], row["place_high"])
        # The end of the interval on the side of the option that comes first in the pair.
        toward = ends if row["first"] == pair[0] else ends[::-1]

        def at(place: float, *, along: str = row["along"], y: int = down, x: int = column) -> Point:
            return (place, float(y)) if along == "column" else (float(x), place)

        points.append(
            {
                "pair": pair,
                "at": at(row["place"]),
                "ends": (at(toward[0]), at(toward[1])),
                "edge": (down, column, row["along"]),
                "open": bool(row["low_open"] or row["high_open"]),
            }
        )
    return points


def segments(points: Sequence[Mapping[str, Any]], shape: tuple[int, int]) -> list[dict[str, Any]]:
    """Pieces of the lines between the points of a panel.

    Two points of the same pair of options around a corner are joined; three winners that meet are
    joined in the middle of their points.

    Returns
    -------
    list of dict
        ``pair``, ``line`` (two points) and ``band`` (four points, none where three winners meet).
    """
    by_edge: dict[tuple[int, int, str], list[Mapping[str, Any]]] = {}
    for point in points:
        by_edge.setdefault(point["edge"], []).append(point)
    down, across = shape
    pieces: list[dict[str, Any]] = []
    for y in range(down - 1):
        for x in range(across - 1):
            edges = ((y, x, "column"), (y + 1, x, "column"), (y, x, "row"), (y, x + 1, "row"))
            around = [point for edge in edges for point in by_edge.get(edge, [])]
            pieces += _join(around)
    return pieces


def _join(around: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Pieces of one corner."""
    by_pair: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for point in around:
        by_pair.setdefault(point["pair"], []).append(point)
    alone = []
    for pair, found in by_pair.items():
        waiting = list(found)
        while len(waiting) > 1:
            start = waiting.pop(0)
            nearest = min(waiting, key=lambda other: _distance(start["at"], other["at"]))
            waiting.remove(nearest)
            yield _piece(pair, start, nearest)
        alone += waiting
    if len(alone) > 1:
        middle = tuple(sum(point["at"][i] for point in alone) / len(alone) for i in (0, 1))
        for point in alone:
            yield {"pair": point["pair"], "line": [point["at"], middle], "band": []}


def _piece(
    pair: tuple[str, str], start: Mapping[str, Any], stop: Mapping[str, Any]
) -> dict[str, Any]:
    (near, far), (near_too, far_too) = start["ends"], stop["ends"]
    return {
        "pair": pair,
        "line": [start["at"], stop["at"]],
        "band": [near, near_too, far_too, far],
    }


def _distance(one: Point, other: Point) -> float:
    return (one[0] - other[0]) ** 2 + (one[1] - other[1]) ** 2
