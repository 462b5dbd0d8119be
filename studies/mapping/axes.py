"""Axes of a map: what varies from cell to cell, read from ``PATH=lo:hi:n[:log][:shift]``.

An axis pins its parameter by default: in every cell each draw holds the axis value instead of its
own, and the other parameters keep their draws. That asks who ranks first *where* the parameter has
that value; evidence that ties it to others is not asked again. With ``shift`` the draws move so
that their median is the axis value and their spread stays.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from model.errors import InputError, Problem, nearest
from model.field import Field, check_value
from model.parameters import BY_PATH, FIELDS

type Number = float | int
type AxisValue = float | int | str
type Spacing = Literal["linear", "log", "listed"]

SCALE = "scale"
"""Name of the axis of job sizes: accelerators that the job is re-planned to."""

REGIME, SCENARIO = "regime", "scenario"
"""Names of the axes that no option spells: regimes and scenario files asked for."""

MOST_VALUES = 1000
"""Of one axis: more cannot be told apart in a figure."""

FEWEST_VALUES = 2

WHOLE = 1e-9
"""Relative distance from an integer that is rounding of a geometric series."""

DERIVED = {
    "n_pool": "the pool follows from the plan, and accelerators beyond it stay idle whatever is "
    "decided",
    "parallelism.dp": "the replicas follow from the job's size",
}
"""Fields that cannot be chosen beside the job's size, and why."""

KINDS = ("real", "integer", "choice")
"""Kinds of fields that can be an axis."""

SYNTAX = "PATH=lo:hi:n[:log][:shift], or PATH=value,value,...[:shift]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One thing that varies over the map.

    Parameters
    ----------
    path
        Dotted path of a field, or ``scale``, ``regime``, ``scenario``.
    values
        What it takes, rising where they are numbers.
    spacing
        How a place between two values is measured.
    numeric
        Whether there are places between values at all.
    whole
        Whether only integers are.
    shifts
        Whether draws move with it and keep their spread, instead of being pinned.
    """

    path: str
    values: tuple[AxisValue, ...]
    spacing: Spacing = "listed"
    numeric: bool = False
    whole: bool = False
    shifts: bool = False

    @property
    def unit(self) -> str:
        """Unit of the values, empty for a pure number or names."""
        if self.path == SCALE:
            return "accelerators"
        field = BY_PATH.get(self.path)
        return "" if field is None or field.unit == "1" else field.unit

    @property
    def meaning(self) -> str:
        """What the axis is, for people."""
        if self.path == SCALE:
            return "accelerators of the job"
        field = BY_PATH.get(self.path)
        return self.path if field is None else field.meaning

    def place(self, value: Number, index: int) -> float:
        """Where a value lies in cells from the first one, ``index`` being the cell before it."""
        low, high = (float(end) for end in self.values[index : index + 2])
        if self.spacing == "log":
            return index + math.log(value / low) / math.log(high / low)
        return index + (value - low) / (high - low)

    def value_at(self, place: float) -> float:
        """The value at a place in cells, not rounded on axes of integers."""
        index = min(int(place), len(self.values) - 2)
        low, high = (float(end) for end in self.values[index : index + 2])
        if self.spacing == "log":
            return float(low * (high / low) ** (place - index))
        return low + (place - index) * (high - low)


def parse_axes(given: Sequence[tuple[str, str]]) -> list[Axis]:
    """Read axes.

    Parameters
    ----------
    given
        Option and text of each, such as ``("--x", "topology.oversubscription=1:16:6")``.

    Raises
    ------
    InputError
        With the problems of all axes at once.
    """
    problems: list[Problem] = []
    axes = []
    for option, text in given:
        try:
            axes.append(_read(option, text))
        except InputError as error:
            problems += error.problems
    paths = [axis.path for axis in axes]
    problems += [
        Problem(source="axes", path=path, message="stands on two axes", remedy="keep one of them")
        for path in dict.fromkeys(paths)
        if paths.count(path) > 1
    ]
    if SCALE in paths:
        problems += [
            Problem(
                source="axes",
                path=path,
                message=f"cannot stand beside {SCALE}: {DERIVED[path]}",
                remedy="keep one of them",
            )
            for path in paths
            if path in DERIVED
        ]
    if problems:
        raise InputError(problems)
    return axes


def _read(option: str, text: str) -> Axis:
    """One axis."""
    path, sign, rest = (part.strip() for part in text.partition("="))
    if not sign or not path or not rest:
        raise _wrong(option, "", f"got {text!r}", f"{SYNTAX} is needed")
    field = _field(option, path)
    shifts = rest.endswith(":shift")
    rest = rest.removesuffix(":shift")
    if shifts and (field is None or field.kind != "real"):
        message = "only a real field has draws that could shift"
        raise _wrong(option, path, message, "leave out :shift")
    if field is not None and field.kind == "choice":
        return _choices(option, field, rest)
    try:
        values, spacing = _range(rest) if ":" in rest else _listed(rest)
        whole = field is None or field.kind == "integer"
        if whole:
            values = _whole(values)
    except _BadValuesError as error:
        raise _wrong(option, path, *error.args) from None
    for value in values:
        problem = _outside(option, field, value)
        if problem is not None:
            raise InputError([problem])
    return Axis(
        path=path, values=tuple(values), spacing=spacing, numeric=True, whole=whole, shifts=shifts
    )


def _wrong(option: str, path: str, message: str, remedy: str = "") -> InputError:
    return InputError.single(message, source=option, path=path, remedy=remedy)


def _field(option: str, path: str) -> Field | None:
    """The field of an axis; None for the job's size."""
    if path == SCALE:
        return None
    field = BY_PATH.get(path)
    if field is None:
        known = [field.path for field in FIELDS if field.kind in KINDS]
        raise _wrong(option, path, "unknown field", nearest(path, [*known, SCALE]))
    if field.kind not in KINDS:
        raise _wrong(option, path, f"a field of kind {field.kind} cannot be an axis")
    if path == "n_pool":
        remedy = f"use the axis {SCALE} for the size of the job"
        raise _wrong(option, path, DERIVED[path], remedy)
    return field


def _outside(option: str, field: Field | None, value: Number) -> Problem | None:
    if field is not None:
        return check_value(field, value, source=option)
    if value >= 1:
        return None
    return Problem(
        source=option, path=SCALE, message=f"got {value}, allowed is an integer of at least 1"
    )


def _choices(option: str, field: Field, rest: str) -> Axis:
    names = tuple(name.strip() for name in rest.split(","))
    found = [check_value(field, name, source=option) for name in names]
    problems = [problem for problem in found if problem is not None]
    if problems:
        raise InputError(problems)
    if len(names) < FEWEST_VALUES or len(set(names)) < len(names):
        message = f"got {rest!r}, allowed are at least {FEWEST_VALUES} different values"
        raise _wrong(option, field.path, message)
    return Axis(path=field.path, values=names)


class _BadValuesError(ValueError):
    """Values that cannot be read.

    Parameters
    ----------
    message, remedy
        What is wrong, and what to do.
    """

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message, remedy)


def _range(rest: str) -> tuple[list[Number], Spacing]:
    """Values of ``lo:hi:n[:log]``."""
    low_text, high_text, *more = rest.split(":")
    log = more[1:] == ["log"]
    if not more or (len(more) > 1 and not log):
        message = f"got {rest!r}"
        raise _BadValuesError(message, f"{SYNTAX} is needed")
    low, high = _number(low_text), _number(high_text)
    count = int(more[0]) if more[0].strip().isdecimal() else 0
    if not FEWEST_VALUES <= count <= MOST_VALUES:
        allowed = f"allowed is an integer from {FEWEST_VALUES} to {MOST_VALUES}"
        message = f"got n = {more[0]}, {allowed}"
        raise _BadValuesError(message)
    if low >= high:
        message = f"got lo = {low:g} and hi = {high:g}, lo must be below hi"
        raise _BadValuesError(message, "a single value is set with --set")
    if not log:
        return [float(value) for value in np.linspace(low, high, count)], "linear"
    if low <= 0:
        message = f"got lo = {low:g}, a log axis needs lo above 0"
        raise _BadValuesError(message, "leave out :log, or raise lo")
    return [float(value) for value in np.geomspace(low, high, count)], "log"


def _listed(rest: str) -> tuple[list[Number], Spacing]:
    values: list[Number] = [_number(part) for part in rest.split(",")]
    if not FEWEST_VALUES <= len(values) <= MOST_VALUES:
        message = f"got {len(values)} value, allowed are {FEWEST_VALUES} to {MOST_VALUES}"
        raise _BadValuesError(message, f"a single value is set with --set; {SYNTAX} is needed")
    if any(after <= before for before, after in pairwise(values)):
        message = f"got {rest}, values must rise"
        raise _BadValuesError(message)
    return values, "listed"


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        message = f"got {text.strip()!r}, a finite number is needed"
        raise _BadValuesError(message, SYNTAX)
    return value


def _whole(values: Sequence[Number]) -> list[Number]:
    """Values as integers."""
    whole = [round(value) for value in values]
    fractional = [
        value
        for value, near in zip(values, whole, strict=True)
        if abs(value - near) > WHOLE * max(1.0, abs(value))
    ]
    if fractional:
        message = f"got {fractional[0]:.6g}, an integer is needed"
        if len(values) > 1:
            message += f" ({len(fractional)} of {len(values)} values are none)"
        remedy = "choose bounds and n that give integers, or list the values: PATH=8,16,32"
        raise _BadValuesError(message, remedy)
    return list(whole)
