"""One field of a scenario: what it may hold, in words and as a check.

Shapes: a value of a field is a scalar or an array with axis 0 the draw.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from model.errors import Problem, nearest
from model.numerics import Value

type Kind = Literal["real", "integer", "text", "choice", "flag", "names"]

REQUIRED = object()
"""Marks a field that a file must state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field of a scenario.

    Parameters
    ----------
    path
        Dotted path, the name used in files, options, priors and draws.
    kind
        ``real`` fields may be uncertain; ``integer`` fields belong to the plan.
    unit
        Unit of the value, ``1`` for a pure number, empty for text.
    meaning
        What the field is, for people.
    lower, upper
        Allowed range, inclusive unless ``lower_open``.
    choices
        Allowed texts of a ``choice``, and of each of the ``names``.
    default
        Value where a file is silent; ``REQUIRED`` where it must not be.
    nullable
        Whether ``null`` is a value of its own, with its meaning in ``meaning``.
    refinement
        Whether the default is the published model without it: a file may well be silent on it.
    """

    path: str
    kind: Kind
    unit: str
    meaning: str
    lower: float = -np.inf
    upper: float = np.inf
    lower_open: bool = False
    choices: tuple[str, ...] = ()
    default: object = REQUIRED
    nullable: bool = False
    refinement: bool = False

    @property
    def section(self) -> str:
        """Section of the file, empty at the top level."""
        return self.path.rpartition(".")[0]

    @property
    def key(self) -> str:
        """Name within the section."""
        return self.path.rpartition(".")[2]

    @property
    def allowed(self) -> str:
        """The allowed values in words."""
        if self.kind == "choice":
            text = "one of " + ", ".join(self.choices)
        elif self.kind == "names":
            text = "a list of names among " + ", ".join(self.choices)
        elif self.kind in ("text", "flag"):
            text = {"text": "text", "flag": "true or false"}[self.kind]
        else:
            number, form = (
                ("an integer", ".0f") if self.kind == "integer" else ("a finite number", "g")
            )
            if np.isfinite(self.lower) and np.isfinite(self.upper):
                bracket = "(" if self.lower_open else "["
                text = f"{number} in {bracket}{self.lower:{form}}, {self.upper:{form}}]"
            elif np.isfinite(self.lower):
                bound = "above" if self.lower_open else "of at least"
                text = f"{number} {bound} {self.lower:{form}}"
            else:
                text = number
        return text + (" or null" if self.nullable else "")


def check_value(field: Field, value: Value, *, source: str) -> Problem | None:
    """Check one value, scalar or array, against the table.

    Parameters
    ----------
    field
        The field.
    value
        Parsed value: a number, an array, a text, a flag or None.
    source
        Where it came from, for the message.

    Returns
    -------
    Problem or None
        What is wrong with it.
    """

    def wrong(shown: str) -> Problem:
        unit = f" ({field.unit})" if field.unit not in ("", "1") else ""
        return Problem(
            source=source,
            path=field.path,
            message=f"got {shown}, allowed is {field.allowed}{unit}",
        )

    if value is None:
        return None if field.nullable else wrong("null")
    if field.kind in ("text", "choice"):
        valid = isinstance(value, str) and (not field.choices or value in field.choices)
        return None if valid else wrong(repr(value))
    if field.kind == "flag":
        return None if isinstance(value, bool) else wrong(repr(value))
    if field.kind == "names":
        return _check_names(field, value, source)
    return _check_number(field, value, wrong)


def _check_names(field: Field, value: Value, source: str) -> Problem | None:
    """Check a list of names."""
    listed = isinstance(value, list | tuple)
    unknown = [name for name in value if name not in field.choices] if listed else [value]
    if not unknown:
        return None
    return Problem(
        source=source,
        path=field.path,
        message=f"got {', '.join(map(repr, unknown))}",
        remedy=nearest(str(unknown[0]), field.choices),
    )


def _check_number(field: Field, value: Value, wrong: Callable[[str], Problem]) -> Problem | None:
    """Check a number or every element of an array."""
    if isinstance(value, bool | str) or not isinstance(
        value, int | float | np.ndarray | np.generic
    ):
        return wrong(repr(value))
    numbers = np.asarray(value)
    if numbers.dtype.kind not in "iuf":
        return wrong(repr(value))
    bad = ~np.isfinite(numbers)
    if field.kind == "integer":
        bad |= numbers != np.floor(numbers)
    bad |= numbers <= field.lower if field.lower_open else numbers < field.lower
    bad |= numbers > field.upper
    if not bad.any():
        return None
    if numbers.ndim == 0:
        return wrong(repr(numbers.item()))
    rows = np.flatnonzero(bad.reshape(numbers.shape[0], -1).any(axis=1))
    first = numbers[bad].ravel()[0].item()
    return wrong(
        f"{first!r} in row {rows[0] + 1} ({rows.size} of {numbers.shape[0]} rows are outside)"
    )
