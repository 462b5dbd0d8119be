"""Interventions, bundles and regimes: named changes to a scenario, and their YAML form.

A strength, the day it takes effect and whether it is delivered at all may be uncertain. The
intervention then holds a value of its own, as a scenario does, and the distribution beside it;
draws replace the value.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from model.documents import read_document
from model.errors import InputError, Problem, unknown_keys
from model.intervention_entries import (
    COLUMN_PREFIX,
    DAY,
    EFFECTIVE_FROM_DAY,
    PROBABILITY,
    Distribution,
    DistributionReader,
    EntryReader,
    well_formed,
)
from model.numerics import Value
from model.parameters import BY_PATH
from model.scaling import replan_to_pool
from model.scenario import Scenario, coerce, substitute, with_values

DO_NOTHING = "do_nothing"
"""Name of the option that changes nothing; it is in every ranking."""

_POOL_FIELDS = (
    "n_pool",
    "parallelism.dp",
    "window_days",
    "name",
    "stack",
    "fleet",
    "refinements",
    "notes",
)
_REPLANNED = (
    "reliability.spare_fraction",
    "reliability.stranded_fraction",
    "parallelism.tp",
    "parallelism.pp",
    "parallelism.cp",
)

DELIVERED = "delivered"
"""Last part of the column that says whether an intervention is delivered, 1 or 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervention:
    """A named change to a scenario.

    Parameters
    ----------
    name, description
        For people; the name is also part of column names.
    overrides
        Absolute targets by dotted path; real ones also as arrays of shape (draws, 1).
    multipliers
        Factors on what the scenario holds, by dotted path; likewise.
    effective_from_day
        Day of the decision horizon from which it takes effect.
    probability_of_delivery
        Chance that it is delivered at all.
    distributions
        Distributions of what is uncertain, by dotted path or ``effective_from_day``; the value
        that stands above is then its median.
    parts
        The interventions of a bundle; empty for a single one.
    """

    name: str
    description: str = ""
    overrides: Mapping[str, Value]
    multipliers: Mapping[str, Value]
    effective_from_day: float = 0.0
    probability_of_delivery: float = 1.0
    distributions: Mapping[str, Distribution] = field(default_factory=dict)
    parts: tuple["Intervention", ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """The fields it changes."""
        return (*self.overrides, *self.multipliers)

    @property
    def is_whole(self) -> bool:
        """Whether it is delivered for certain and in force throughout the horizon."""
        return all(
            part.probability_of_delivery >= 1.0
            and EFFECTIVE_FROM_DAY not in part.distributions
            and part.effective_from_day == 0.0
            for part in self.parts or (self,)
        )

    def column(self, quantity: str) -> str:
        """Name of the column of one of its quantities: ``intervention.<name>.<quantity>``."""
        return f"{COLUMN_PREFIX}{self.name}.{quantity}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Regime:
    """A shift of a scenario in operating space, by absolute values."""

    name: str
    overrides: Mapping[str, Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class InterventionFile:
    """Interventions and regimes as read, in the order of the file."""

    interventions: tuple[Intervention, ...]
    regimes: tuple[Regime, ...]
    sha256: str
    text: str


def read_interventions(
    name: str | Path, read_distribution: DistributionReader | None = None
) -> InterventionFile:
    """Read a file of interventions, or a shipped one by its stem.

    Parameters
    ----------
    name
        Path or stem.
    read_distribution
        Reads what is uncertain; without it only numbers are understood.

    Raises
    ------
    InputError
        With every problem of the document at once.
    """
    document = read_document(name, package="model.data.interventions", kind="intervention")
    source, content = document.source, document.content
    problems = unknown_keys(content, ["interventions", "regimes"], source=source)
    interventions = [
        _intervention(
            EntryReader(
                entry=entry,
                where=where,
                source=source,
                problems=problems,
                read_distribution=read_distribution,
            )
        )
        for where, entry in well_formed(
            content,
            "interventions",
            _KEYS,
            source=source,
            problems=problems,
            taken=(DO_NOTHING,),
        )
    ]
    regimes = [
        Regime(
            name=str(entry["name"]),
            overrides=EntryReader(
                entry=entry, where=where, source=source, problems=problems
            ).changes("overrides"),
        )
        for where, entry in well_formed(
            content,
            "regimes",
            ("name", "description", "overrides"),
            source=source,
            problems=problems,
        )
    ]
    problems += _unusable(interventions, source)
    problems += [
        Problem(
            source=source,
            path=f"{regime.name}.refinements",
            message="a regime cannot change the formulas",
            remedy="state them in the scenario, or use --form",
        )
        for regime in regimes
        if "refinements" in regime.overrides
    ]
    if not content.get("interventions") and not problems:
        problems.append(Problem(source=source, path="interventions", message="the list is empty"))
    if problems:
        raise InputError(problems)
    return InterventionFile(
        interventions=tuple(interventions),
        regimes=tuple(regimes),
        sha256=document.sha256,
        text=document.text,
    )


_KEYS = (
    "name",
    "description",
    "overrides",
    "multipliers",
    "probability_of_delivery",
    EFFECTIVE_FROM_DAY,
)


def _intervention(reader: EntryReader) -> Intervention:
    return Intervention(
        name=reader.name,
        description=str(reader.entry.get("description", "")),
        overrides=reader.changes("overrides"),
        multipliers=reader.changes("multipliers"),
        effective_from_day=reader.number(DAY, 0.0),
        probability_of_delivery=reader.number(PROBABILITY, 1.0),
        distributions=reader.distributions,
    )


def _unusable(interventions: Sequence[Intervention], source: str) -> list[Problem]:
    """Interventions that would change what they are measured in, or one field twice."""
    problems: list[Problem] = []
    for intervention in interventions:
        problems.extend(
            Problem(
                source=source,
                path=f"{intervention.name}.{path}",
                message="an intervention cannot change this field",
                remedy="the value is measured in accelerators of an unchanged pool",
            )
            for path in intervention.paths
            if path in _POOL_FIELDS
        )
        twice = set(intervention.overrides) & set(intervention.multipliers)
        problems.extend(
            Problem(
                source=source,
                path=f"{intervention.name}.{path}",
                message="stands under overrides and under multipliers",
                remedy="keep one of the two",
            )
            for path in sorted(twice)
        )
    return problems


def bundle(name: str, parts: Sequence[Intervention], *, source: str) -> Intervention:
    """Several interventions at once.

    Factors on one field multiply. Two targets for one field, or a target and a factor, contradict
    each other unless the targets are equal numbers.

    Raises
    ------
    InputError
        If the parts contradict each other.
    """
    targets: dict[str, Intervention] = {}
    factors: set[str] = set()
    problems = []
    for part in parts:
        for path, value in part.overrides.items():
            other = targets.get(path)
            agreed = other is None or (
                other.overrides[path] == value
                and path not in part.distributions
                and path not in other.distributions
            )
            if not agreed or path in factors:
                problems.append(_conflict(name, path, source))
            targets[path] = part
        for path in part.multipliers:
            if path in targets:
                problems.append(_conflict(name, path, source))
            factors.add(path)
    if problems:
        raise InputError(problems)
    return join(name, parts)


def join(name: str, parts: Sequence[Intervention]) -> Intervention:
    """Several interventions at once that are known not to contradict each other.

    Their strengths may be arrays of shape (draws, 1). When, and whether, each takes effect stays
    with the parts.
    """
    overrides: dict[str, Value] = {}
    multipliers: dict[str, Value] = {}
    for part in parts:
        overrides |= part.overrides
        for path, factor in part.multipliers.items():
            multipliers[path] = multipliers.get(path, 1.0) * factor
    return Intervention(
        name=name,
        description=" and ".join(part.description or part.name for part in parts),
        overrides=overrides,
        multipliers=multipliers,
        parts=tuple(single for part in parts for single in part.parts or (part,)),
    )


def _conflict(name: str, path: str, source: str) -> Problem:
    return Problem(
        source=source,
        path=f"{name}: {path}",
        message="two parts of the bundle set this field to different targets",
        remedy="leave one of them out",
    )


def apply(scenario: Scenario, intervention: Intervention, *, check: bool = True) -> Scenario:
    """The scenario with the intervention in place, at the scenario's pool.

    One that changes the spare or stranded share, or the shape of a replica, is re-planned at the
    baseline's pool, so that the budget stays fixed.

    Parameters
    ----------
    scenario, intervention
        What is changed, and how.
    check
        Whether the result is checked; to be left out only where all draws passed before.

    Raises
    ------
    InputError
        If the result is not a valid scenario, or no whole replica fits the pool any more.
    """
    source = f"intervention {intervention.name}"
    changes = dict(intervention.overrides)
    for path, factor in intervention.multipliers.items():
        current = scenario.value(path)
        if current is None:
            raise InputError.single(
                message="the scenario holds null, which cannot be multiplied",
                source=source,
                path=path,
                remedy="use an override",
            )
        changes[path] = coerce(BY_PATH[path], current * factor)
    replanned = any(path in changes for path in _REPLANNED)
    if replanned:
        changes["n_pool"] = None
    if check:
        changed = with_values(scenario, changes, source=source)
    else:
        changed = substitute(scenario, changes)
    return replan_to_pool(changed, scenario.pool, source=source) if replanned else changed
