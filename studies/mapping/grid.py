"""The cells of a map: panels of rows and columns, and which of them lie side by side."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod

from studies.mapping.axes import SCALE, Axis, AxisValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One regime of a map.

    Parameters
    ----------
    index
        Number in the map, panel by panel, row by row.
    panel, row, column
        Where it lies.
    values
        Value of every axis by its path.
    """

    index: int
    panel: int
    row: int
    column: int
    values: Mapping[str, AxisValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """Two cells side by side.

    Parameters
    ----------
    axis
        The axis they differ in.
    low, high
        The one with the smaller value of it, and the other.
    """

    axis: Axis
    low: Cell
    high: Cell


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Axes of a map.

    Parameters
    ----------
    panels
        Axes of which each combination of values is a panel.
    rows, columns
        Axes within a panel; None where there is one row or column.
    """

    panels: tuple[Axis, ...] = ()
    rows: Axis | None = None
    columns: Axis | None = None

    @property
    def axes(self) -> tuple[Axis, ...]:
        """All axes, the last varying fastest."""
        inner = (axis for axis in (self.rows, self.columns) if axis is not None)
        return (*self.panels, *inner)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Panels, rows, columns."""
        return (
            prod(len(axis.values) for axis in self.panels),
            len(self.rows.values) if self.rows else 1,
            len(self.columns.values) if self.columns else 1,
        )

    def __len__(self) -> int:
        """Number of cells."""
        return prod(self.shape)

    @property
    def has_scale(self) -> bool:
        """Whether the job's size is one of the axes."""
        return any(axis.path == SCALE for axis in self.axes)

    def panel_values(self) -> list[dict[str, AxisValue]]:
        """Values of the panels' axes, panel by panel."""
        return [
            dict(zip((axis.path for axis in self.panels), values, strict=True))
            for values in product(*(axis.values for axis in self.panels))
        ]

    def cells(self) -> list[Cell]:
        """Every cell, in order."""
        across: tuple[AxisValue | None, ...] = self.columns.values if self.columns else (None,)
        down: tuple[AxisValue | None, ...] = self.rows.values if self.rows else (None,)
        result: list[Cell] = []
        for panel, fixed in enumerate(self.panel_values()):
            for (row, y), (column, x) in product(enumerate(down), enumerate(across)):
                values = dict(fixed)
                if self.rows is not None and y is not None:
                    values[self.rows.path] = y
                if self.columns is not None and x is not None:
                    values[self.columns.path] = x
                result.append(
                    Cell(index=len(result), panel=panel, row=row, column=column, values=values)
                )
        return result

    def edges(self, cells: list[Cell]) -> Iterator[Edge]:
        """Every two cells side by side along an axis of numbers."""
        _, down, across = self.shape
        for cell in cells:
            if self.columns is not None and self.columns.numeric and cell.column + 1 < across:
                yield Edge(axis=self.columns, low=cell, high=cells[cell.index + 1])
            if self.rows is not None and self.rows.numeric and cell.row + 1 < down:
                yield Edge(axis=self.rows, low=cell, high=cells[cell.index + across])
