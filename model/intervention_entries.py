"""Entries of an intervention file: strengths, days and probabilities, checked one by one.

An entry of the file::

    - name: bandwidth_2x
      description: Double the NIC bandwidth of every accelerator
      multipliers:
        accelerator.nic_bw_gbps: {triangular: {low: 1.6, mode: 2.0, high: 2.0}}   # or a number
      probability_of_delivery: 0.8         # default 1
      effective_from_day: {uniform: {low: 90, high: 270}}   # or a number, default 0

This package knows no distributions: whoever reads a file says how to read one.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from model.errors import InputError, Problem, nearest, unknown_keys
from model.field import Field, check_value
from model.numerics import Value
from model.parameters import BY_PATH
from model.scenario import coerce

COLUMN_PREFIX = "intervention."
"""Columns of draws that belong to interventions begin with this."""

EFFECTIVE_FROM_DAY = "effective_from_day"

FACTOR = Field(
    path="factor", kind="real", unit="1", meaning="factor on what the scenario holds", lower=0.0
)
DAY = Field(
    path=EFFECTIVE_FROM_DAY,
    kind="real",
    unit="days",
    meaning="day of the decision horizon from which it takes effect",
    lower=0.0,
)
"""What a distribution is a distribution of, beside the fields of scenarios."""


class Distribution(Protocol):
    """What this module knows of a distribution: it has a middle."""

    @property
    def median(self) -> float:
        """The value that is as likely too low as too high."""


type DistributionReader = Callable[[Mapping[str, object], str, Field, str], Distribution]
"""Reads a distribution from its mapping, the name of its column, its quantity and its source."""

PROBABILITY = Field(
    path="probability_of_delivery",
    kind="real",
    unit="1",
    meaning="chance that it is delivered",
    lower=0.0,
    upper=1.0,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryReader:
    """Reads one entry of a document; what is wrong with it is added to the problems."""

    entry: Mapping[str, object]
    where: str
    source: str
    problems: list[Problem]
    read_distribution: DistributionReader | None = None
    distributions: dict[str, Distribution] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of what is read."""
        return str(self.entry["name"])

    def changes(self, key: str) -> dict[str, Value]:
        """Checked values of ``overrides`` or ``multipliers``."""
        changes = self.entry.get(key) or {}
        if not isinstance(changes, Mapping):
            self._wrong(key, "a mapping is needed")
            return {}
        result: dict[str, Value] = {}
        for path, raw in changes.items():
            known, at = BY_PATH.get(str(path)), f"{key}.{path}"
            if known is None:
                self._wrong(at, "unknown field", nearest(str(path), list(BY_PATH)))
            elif isinstance(raw, Mapping) and known.kind != "real":
                self._wrong(
                    at, f"this field is of kind {known.kind}: only real fields may be uncertain"
                )
            elif isinstance(raw, Mapping):
                quantity = FACTOR if key == "multipliers" else known
                result[str(path)] = self._middle(raw, str(path), quantity, at)
            elif key == "overrides":
                value = coerce(known, raw)
                problem = check_value(known, value, source=f"{self.source}: {self.where}.{key}")
                if problem:
                    self.problems.append(problem)
                else:
                    result[str(path)] = value
            elif _is_factor(known, raw):
                result[str(path)] = float(coerce(known, raw))
            else:
                self._wrong(
                    at,
                    f"got {raw!r}, allowed is a finite factor of at least 0 on a numeric field",
                )
        return result

    def number(self, of: Field, default: float) -> float:
        """A number of the entry, or the middle of its distribution where one may stand."""
        raw = self.entry.get(of.path)
        if raw is None:
            return default
        if isinstance(raw, Mapping) and of is DAY:
            return self._middle(raw, of.path, of, of.path)
        value = coerce(of, raw)
        problem = check_value(of, value, source=f"{self.source}: {self.where}")
        if problem:
            self.problems.append(problem)
            return default
        return float(value)

    def _middle(self, raw: Mapping[str, object], quantity: str, of: Field, at: str) -> float:
        """The median of a distribution, which is kept."""
        if self.read_distribution is None:
            self._wrong(at, f"got {dict(raw)!r}, a number is needed here")
            return np.nan
        column = f"{COLUMN_PREFIX}{self.name}.{quantity}"
        try:
            distribution = self.read_distribution(raw, column, of, self.source)
        except InputError as error:
            self.problems.extend(error.problems)
            return np.nan
        self.distributions[quantity] = distribution
        return float(distribution.median)

    def _wrong(self, path: str, message: str, remedy: str = "") -> None:
        where = f"{self.where}.{path}"
        self.problems.append(
            Problem(source=self.source, path=where, message=message, remedy=remedy)
        )


def _is_factor(known: Field, raw: object) -> bool:
    value = coerce(known, raw)
    return (
        known.kind in ("real", "integer")
        and isinstance(value, int | float)
        and not isinstance(raw, bool)
        and bool(np.isfinite(value))
        and value >= 0
    )


def well_formed(
    content: Mapping[str, object],
    key: str,
    known: Sequence[str],
    *,
    source: str,
    problems: list[Problem],
    taken: Iterable[str] = (),
) -> Iterable[tuple[str, Mapping[str, object]]]:
    """Well-formed entries of a list with the path to each; the others become problems."""
    entries = content.get(key)
    if entries is None:
        return
    if not isinstance(entries, list):
        problems.append(Problem(source=source, path=key, message="a list is needed"))
        return
    seen = set(taken)
    for index, entry in enumerate(entries):
        where = f"{key}[{index + 1}]"
        name = entry.get("name") if isinstance(entry, Mapping) else None
        if not isinstance(entry, Mapping) or not isinstance(name, str) or not name.strip():
            problems.append(
                Problem(source=source, path=where, message="an entry with a name is needed")
            )
            continue
        if name in seen:
            problems.append(
                Problem(source=source, path=where, message=f"the name {name!r} is taken")
            )
        seen.add(name)
        problems += unknown_keys(entry, known, source=source, where=f"{where} {name}")
        yield f"{where} {name}", entry
