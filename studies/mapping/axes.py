"""Axes of a map: what varies from cell to cell, read from ``PATH=lo:hi:n[:log][:shift]``.

An axis pins its parameter by default: in every cell each draw holds the axis value instead of its
own, and the other parameters keep their draws. That asks who ranks first *where* the parameter has
that value; evidence that ties it to others is not asked again. With ``shift`` the draws move so
that their median is the axis value and their spread stays.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from model.errors import InputError, Problem, nearest
from model.parameters import BY_PATH, FIELDS, Field, check_value

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


type Wrong = Callable[[str, str], None]
"""Notes what is wrong and what to do."""


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

    def between(self, low: Number, high: Number, share: float) -> Number:
        """The value at a share of the way from one value to another; whole on whole axes."""
        if self.spacing == "log":
            value = float(low) * (float(high) / float(low)) ** share
        else:
            value = float(low) + share * (float(high) - float(low))
        return round(value) if self.whole else value

    def place(self, value: Number, index: int) -> float:
        """Where a value lies in cells from the first one, ``index`` being the value before it."""
        low, high = self.values[index], self.values[index + 1]
        assert not isinstance(low, str) and not isinstance(high, str)  # noqa: S101, PT018
        if self.spacing == "log":
            return index + math.log(value / low) / math.log(high / low)
        return index + (value - low) / (high - low)


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
    axes = [axis for option, text in given if (axis := _read(option, text, problems)) is not None]
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


def _read(option: str, text: str, problems: list[Problem]) -> Axis | None:
    """One axis; None with its problems noted where it cannot be read."""

    def wrong(message: str, remedy: str = "", path: str = "") -> None:
        problems.append(Problem(source=option, path=path, message=message, remedy=remedy))

    path, sign, rest = (part.strip() for part in text.partition("="))
    if not sign or not path or not rest:
        wrong(f"got {text!r}", f"{SYNTAX} is needed")
        return None
    field = BY_PATH.get(path)
    if field is None and path != SCALE:
        known = [field.path for field in FIELDS if field.kind in KINDS]
        wrong("unknown field", nearest(path, [*known, SCALE]), path)
        return None
    if field is not None and field.kind not in KINDS:
        wrong(f"a field of kind {field.kind} cannot be an axis", path=path)
        return None
    if path == "n_pool":
        wrong(DERIVED[path], f"use the axis {SCALE} for the size of the job", path)
        return None
    shifts = rest.endswith(":shift")
    rest = rest.removesuffix(":shift")
    if shifts and (field is None or field.kind != "real"):
        wrong("only a real field has draws that could shift", "leave out :shift", path)
        return None
    if field is not None and field.kind == "choice":
        return _choices(option, field, rest, problems)
    found = _numbers(rest, wrong=lambda message, remedy: wrong(message, remedy, path))
    if found is None:
        return None
    values, spacing = found
    whole = field is None or field.kind == "integer"
    if whole:
        values, fractional = _whole(values)
        if fractional:
            wrong(
                f"got {fractional[0]:.6g}, an integer is needed ({len(fractional)} of "
                f"{len(values) + len(fractional)} values are none)",
                "choose bounds and n that give integers, or list the values: PATH=8,16,32",
                path,
            )
            return None
    outside = [_outside(field, value, option) for value in values]
    first = next((problem for problem in outside if problem is not None), None)
    if first is not None:
        problems.append(first)
        return None
    return Axis(
        path=path, values=tuple(values), spacing=spacing, numeric=True, whole=whole, shifts=shifts
    )


def _outside(field: Field | None, value: Number, option: str) -> Problem | None:
    if field is not None:
        return check_value(field, value, source=option)
    if value >= 1:
        return None
    return Problem(
        source=option, path=SCALE, message=f"got {value}, allowed is an integer of at least 1"
    )


def _choices(option: str, field: Field, rest: str, problems: list[Problem]) -> Axis | None:
    names = tuple(name.strip() for name in rest.split(","))
    found = [check_value(field, name, source=option) for name in names]
    found = [problem for problem in found if problem is not None]
    if not found and (len(names) < FEWEST_VALUES or len(set(names)) < len(names)):
        found = [
            Problem(
                source=option,
                path=field.path,
                message=f"got {rest!r}, allowed are at least {FEWEST_VALUES} different values",
            )
        ]
    problems += [problem for problem in found if problem is not None]
    return None if found else Axis(path=field.path, values=names)


def _numbers(rest: str, wrong: Wrong) -> tuple[list[Number], Spacing] | None:
    """Values of ``lo:hi:n[:log]`` or of a list; None with the problem told."""
    if ":" not in rest:
        return _listed(rest, wrong)
    parts = rest.split(":")
    log = parts[3:] == ["log"]
    if len(parts) not in (3, 4) or (len(parts) == 4 and not log):  # noqa: PLR2004 - lo, hi, n, log
        wrong(f"got {rest!r}", f"{SYNTAX} is needed")
        return None
    low, high = _number(parts[0]), _number(parts[1])
    if low is None or high is None:
        wrong(f"got {rest!r}: lo and hi must be finite numbers", "")
        return None
    try:
        count = int(parts[2])
    except ValueError:
        count = 0
    if not FEWEST_VALUES <= count <= MOST_VALUES:
        allowed = f"allowed is an integer from {FEWEST_VALUES} to {MOST_VALUES}"
        wrong(f"got n = {parts[2]}, {allowed}", "")
        return None
    if low >= high:
        wrong(f"got lo = {low:g} and hi = {high:g}, lo must be below hi", "swap them")
        return None
    if not log:
        return [float(value) for value in np.linspace(low, high, count)], "linear"
    if low <= 0:
        wrong(f"got lo = {low:g}, a log axis needs lo above 0", "leave out :log, or raise lo")
        return None
    return [float(value) for value in np.geomspace(low, high, count)], "log"


def _listed(rest: str, wrong: Wrong) -> tuple[list[Number], Spacing] | None:
    values = [_number(part) for part in rest.split(",")]
    numbers = [value for value in values if value is not None]
    if len(numbers) < len(values):
        bad = rest.split(",")[values.index(None)]
        wrong(f"got {bad.strip()!r}, a finite number is needed", f"{SYNTAX} is needed")
        return None
    if not FEWEST_VALUES <= len(numbers) <= MOST_VALUES:
        wrong(
            f"got {len(numbers)} value, allowed are {FEWEST_VALUES} to {MOST_VALUES}",
            "a single value is set with --set",
        )
        return None
    if any(after <= before for before, after in zip(numbers, numbers[1:], strict=False)):
        wrong(f"got {rest}, values must rise", "")
        return None
    return list(numbers), "listed"


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _whole(values: Sequence[Number]) -> tuple[list[Number], list[Number]]:
    """Values as integers, and those that are none."""
    whole, fractional = [], []
    for value in values:
        near = round(value)
        if abs(value - near) <= WHOLE * max(1.0, abs(value)):
            whole.append(near)
        else:
            fractional.append(value)
    return whole, fractional
