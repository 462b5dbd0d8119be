"""Studies that can be ordered before deciding, as data: what each measures, how much, at what cost.

A document lists them::

    price_per_accelerator: 90000        # only where costs are in currency; none ships
    studies:
      - name: timed_restarts
        measures: durations             # interruptions, link_efficiency, durations, step_times
        quantity: restart
        sizes: [1, 2, 5, 10, 20]        # of the study, in its own unit
        cost: {unit: accelerators, fixed: 1, per_unit: 0.2, days: 3, days_per_unit: 0.5}
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from model.documents import read_document
from model.errors import InputError, Problem, nearest

type CostUnit = Literal["accelerators", "accelerator_hours", "currency"]

COST_UNITS: tuple[CostUnit, ...] = ("accelerators", "accelerator_hours", "currency")

HOURS_PER_DAY = 24.0

LARGEST_SIZE = 100_000
"""More units than anybody times or logs; each costs a number per draw where times are single."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One setting of a kind of study: its default, or the values allowed.

    Parameters
    ----------
    default
        None where the document must state it.
    allowed
        Texts to choose from; empty for a number.
    low, high
        Range of a number, inclusive.
    """

    default: float | str | None = None
    allowed: tuple[str, ...] = ()
    low: float = 0.0
    high: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What a kind of study measures, and in which unit its size is.

    Parameters
    ----------
    unit
        Plural.
    keys
        Settings besides those of every study.
    """

    unit: str
    keys: Mapping[str, Key]


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "interruptions": Kind(
            unit="hours of log",
            keys={
                "nodes": Key(low=1.0, high=1e7),
                "counts": Key(
                    default="job_interruption",
                    allowed=("job_interruption", "node_hardware_failure"),
                ),
            },
        ),
        "link_efficiency": Kind(
            unit="runs", keys={"sd": Key(default=0.05), "error_floor": Key(default=0.02)}
        ),
        "durations": Kind(
            unit="timings",
            keys={"quantity": Key(allowed=("detection", "restart", "checkpoint_write"))},
        ),
        "step_times": Kind(
            unit="steps", keys={"noise": Key(default=0.02), "error_floor": Key(default=0.01)}
        ),
    }
)
"""By observation kind of the evidence, so that a study's data have that kind's likelihood."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyCost:
    """What a study costs: accelerators over the decision horizon, and days of waiting.

    Parameters
    ----------
    fixed, per_unit
        In ``unit``.
    unit
        Fully-loaded accelerators over the horizon, hours of them, or currency.
    days, days_per_unit
        Time until the result is there, during which nothing is funded.
    """

    fixed: float
    per_unit: float
    unit: CostUnit
    days: float
    days_per_unit: float

    def accelerators(
        self, size: float, *, horizon_days: float, price_per_accelerator: float | None
    ) -> float:
        """Fully-loaded accelerators over the horizon that a study of some size costs."""
        amount = self.fixed + self.per_unit * size
        if self.unit == "accelerator_hours":
            return amount / (HOURS_PER_DAY * horizon_days)
        if self.unit == "currency":
            assert price_per_accelerator is not None
            return amount / price_per_accelerator
        return amount

    def waiting_days(self, size: float) -> float:
        """Days until a study of some size has its result."""
        return self.days + self.days_per_unit * size


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStudy:
    """A study that can be ordered.

    Parameters
    ----------
    name, description
        For people.
    measures
        Key of :data:`KINDS`.
    settings
        Of its kind.
    sizes
        Sizes compared, ascending.
    cost
        None where none is stated: then the answer is what it may cost.
    """

    name: str
    description: str
    measures: str
    settings: Mapping[str, float | str]
    sizes: tuple[int, ...]
    cost: StudyCost | None

    @property
    def unit(self) -> str:
        """What its size counts."""
        return KINDS[self.measures].unit

    def number(self, key: str) -> float:
        """A setting that is a number."""
        return float(self.settings[key])


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyFile:
    """Studies as read."""

    source: str
    studies: tuple[PlannedStudy, ...]
    price_per_accelerator: float | None
    sha256: str
    text: str


def read_studies(name: str | Path, *, price_per_accelerator: float | None = None) -> StudyFile:
    """Read a list of studies from a file, or a shipped one by its stem.

    Parameters
    ----------
    name
        The document.
    price_per_accelerator
        Currency of a fully-loaded accelerator over the horizon, where another document states it.

    Raises
    ------
    InputError
        With every problem of the document at once.
    """
    document = read_document(name, package="decision.data.studies", kind="list of studies")
    content, source = document.content, document.source
    problems: list[Problem] = []
    note = _noter(source, problems)
    for key in content:
        if key not in ("studies", "price_per_accelerator"):
            note(key, "unknown key", nearest(key, ["studies", "price_per_accelerator"]))
    price = price_per_accelerator
    if "price_per_accelerator" in content:
        price = _number(content, "price_per_accelerator", "", note, low=0.0, above=True)
    entries = content.get("studies")
    studies = []
    if not isinstance(entries, list) or not entries:
        note("studies", "a list of studies is needed", "give each a name and what it measures")
    else:
        studies = [
            study
            for index, entry in enumerate(entries)
            if (study := _read_study(entry, f"studies[{index + 1}]", price, note)) is not None
        ]
    names = [study.name for study in studies]
    for twice in sorted({one for one in names if names.count(one) > 1}):
        note(f"studies {twice}", "this name is there twice", "rename one of them")
    if problems:
        raise InputError(problems)
    return StudyFile(
        source=source,
        studies=tuple(studies),
        price_per_accelerator=price,
        sha256=document.sha256,
        text=document.text,
    )


type _Note = Callable[[str, str, str], None]


def _noter(source: str, problems: list[Problem]) -> _Note:
    def note(path: str, message: str, remedy: str) -> None:
        problems.append(Problem(source=source, path=path, message=message, remedy=remedy))

    return note


def _read_study(entry: object, where: str, price: float | None, note: _Note) -> PlannedStudy | None:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("name"), str):
        note(where, "an entry with a name is needed", "for example name: timed_restarts")
        return None
    where = f"{where} {entry['name']}"
    measures = entry.get("measures")
    if not isinstance(measures, str) or measures not in KINDS:
        message = "this key is missing" if measures is None else f"got {measures!r}"
        note(f"{where}.measures", message, "allowed is one of " + ", ".join(KINDS))
        return None
    keys = KINDS[measures].keys
    known = ("name", "description", "measures", "sizes", "cost", *keys)
    for key in entry:
        if key not in known:
            note(f"{where}.{key}", "unknown key", nearest(str(key), known))
    settings = {key: _setting(entry, key, rule, where, note) for key, rule in keys.items()}
    return PlannedStudy(
        name=entry["name"],
        description=str(entry.get("description", "")),
        measures=measures,
        settings=MappingProxyType(settings),
        sizes=_sizes(entry.get("sizes"), where, note),
        cost=_cost(entry["cost"], f"{where}.cost", price, note) if "cost" in entry else None,
    )


def _setting(
    entry: Mapping[str, object], key: str, rule: Key, where: str, note: _Note
) -> float | str:
    if key not in entry and rule.default is not None:
        return rule.default
    if rule.allowed:
        value = entry.get(key)
        if value not in rule.allowed:
            message = "this key is missing" if value is None else f"got {value!r}"
            note(f"{where}.{key}", message, "allowed is one of " + ", ".join(rule.allowed))
        return str(value)
    return _number(entry, key, f"{where}.", note, low=rule.low, high=rule.high)


def _number(
    entry: Mapping[str, object],
    key: str,
    where: str,
    note: _Note,
    *,
    low: float,
    high: float = float("inf"),
    above: bool = False,
    default: float | None = None,
) -> float:
    """A finite number in its range; 0 with the problem noted where it is not."""
    value = entry.get(key, default)
    usable = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    if usable and low <= value <= high and not (above and value == low):  # type: ignore[operator]
        return float(value)  # type: ignore[arg-type]
    message = "this key is missing" if value is None else f"got {value!r}"
    bound = f"above {low:g}" if above else f"of at least {low:g}"
    limit = "" if high == float("inf") else f" and at most {high:g}"
    note(f"{where}{key}", message, f"allowed is a finite number {bound}{limit}")
    return 0.0


def _sizes(raw: object, where: str, note: _Note) -> tuple[int, ...]:
    listed = raw if isinstance(raw, list) else []
    sizes = {size for size in listed if isinstance(size, int) and 1 <= size <= LARGEST_SIZE}
    if not listed or len(sizes) < len(listed) or any(size is True for size in listed):
        message = "this key is missing" if raw is None else f"got {raw!r}"
        remedy = f"allowed is a list of different integers from 1 to {LARGEST_SIZE}"
        note(f"{where}.sizes", message, remedy)
        return ()
    return tuple(sorted(sizes))


def _cost(raw: object, where: str, price: float | None, note: _Note) -> StudyCost | None:
    known = ("unit", "fixed", "per_unit", "days", "days_per_unit")
    if not isinstance(raw, Mapping):
        note(where, f"got {raw!r}", "allowed is a mapping with unit, fixed, per_unit")
        return None
    for key in raw:
        if key not in known:
            note(f"{where}.{key}", "unknown key", nearest(str(key), known))
    unit = raw.get("unit")
    if unit not in COST_UNITS:
        message = "this key is missing" if unit is None else f"got {unit!r}"
        note(f"{where}.unit", message, "allowed is one of " + ", ".join(COST_UNITS))
    if unit == "currency" and price is None:
        remedy = "state your own price_per_accelerator at the top of the file"
        note(f"{where}.unit", "a cost in currency needs a price per accelerator", remedy)
    amounts = {key: _number(raw, key, f"{where}.", note, low=0.0, default=0.0) for key in known[1:]}
    return StudyCost(unit=unit, **amounts)  # type: ignore[arg-type]
