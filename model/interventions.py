"""Interventions, bundles and regimes: named changes to a scenario, and their YAML form."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from model.documents import read_document
from model.errors import InputError, Problem, nearest
from model.numerics import Value
from model.parameters import BY_PATH, check_value
from model.scaling import replan_to_pool
from model.scenario import Scenario, coerce, substitute, with_values

DO_NOTHING = "do_nothing"
"""Name of the option that changes nothing; it is in every ranking."""

_POOL_FIELDS = ("n_pool", "parallelism.dp", "window_days", "name", "stack", "fleet", "notes")
_REPLANNED = (
    "reliability.spare_fraction",
    "reliability.stranded_fraction",
    "parallelism.tp",
    "parallelism.pp",
    "parallelism.cp",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervention:
    """A named change to a scenario.

    Parameters
    ----------
    name, description
        For people; the name is also part of column names.
    overrides
        Absolute targets by dotted path.
    multipliers
        Factors on what the scenario holds, by dotted path.
    """

    name: str
    description: str = ""
    overrides: Mapping[str, Value]
    multipliers: Mapping[str, float]

    @property
    def paths(self) -> tuple[str, ...]:
        """The fields it changes."""
        return (*self.overrides, *self.multipliers)


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


def read_interventions(name: str | Path) -> InterventionFile:
    """Read a file of interventions, or a shipped one by its stem.

    Raises
    ------
    InputError
        With every problem of the document at once.
    """
    document = read_document(name, package="model.data.interventions", kind="intervention")
    source, content = document.source, document.content
    problems = [
        Problem(
            source=source,
            path=key,
            message="unknown key",
            remedy=nearest(key, ["interventions", "regimes"]),
        )
        for key in content
        if key not in ("interventions", "regimes")
    ]
    interventions = [
        Intervention(
            name=str(entry["name"]),
            description=str(entry.get("description", "")),
            overrides=_changes(entry, "overrides", where, source, problems),
            multipliers=_changes(entry, "multipliers", where, source, problems),
        )
        for where, entry in _entries(
            content,
            "interventions",
            ("name", "description", "overrides", "multipliers"),
            source,
            problems,
        )
    ]
    regimes = [
        Regime(
            name=str(entry["name"]),
            overrides=_changes(entry, "overrides", where, source, problems),
        )
        for where, entry in _entries(
            content, "regimes", ("name", "description", "overrides"), source, problems
        )
    ]
    problems += _unusable(interventions, source)
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


def _entries(
    content: Mapping[str, object],
    key: str,
    known: Sequence[str],
    source: str,
    problems: list[Problem],
) -> Iterable[tuple[str, Mapping[str, object]]]:
    """Well-formed entries of a list with the path to each; the others become problems."""
    entries = content.get(key)
    if entries is None:
        return
    if not isinstance(entries, list):
        problems.append(Problem(source=source, path=key, message="a list is needed"))
        return
    seen: set[str] = {DO_NOTHING} if key == "interventions" else set()
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
        problems.extend(
            Problem(
                source=source,
                path=f"{where} {name}.{inner}",
                message="unknown key",
                remedy=nearest(str(inner), known),
            )
            for inner in entry
            if inner not in known
        )
        yield f"{where} {name}", entry


def _changes(
    entry: Mapping[str, object],
    key: str,
    where: str,
    source: str,
    problems: list[Problem],
) -> dict[str, Value]:
    """Checked values of ``overrides`` or ``multipliers``."""
    changes = entry.get(key) or {}
    if not isinstance(changes, Mapping):
        problems.append(
            Problem(source=source, path=f"{where}.{key}", message="a mapping is needed")
        )
        return {}
    result = {}
    for path, raw in changes.items():
        field = BY_PATH.get(str(path))
        if field is None:
            problems.append(
                Problem(
                    source=source,
                    path=f"{where}.{key}.{path}",
                    message="unknown field",
                    remedy=nearest(str(path), list(BY_PATH)),
                )
            )
            continue
        value = coerce(field, raw)
        if key == "multipliers":
            value = float(value) if isinstance(value, int | float) else value
            if (
                field.kind not in ("real", "integer")
                or not isinstance(value, float)
                or isinstance(raw, bool)
                or not np.isfinite(value)
                or value < 0
            ):
                problems.append(
                    Problem(
                        source=source,
                        path=f"{where}.{key}.{path}",
                        message=f"got {raw!r}, allowed is a finite factor of at least 0 "
                        "on a numeric field",
                    )
                )
                continue
        else:
            problem = check_value(field, value, source=f"{source}: {where}.{key}")
            if problem:
                problems.append(problem)
                continue
        result[str(path)] = value
    return result


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
    each other unless the targets are equal.

    Raises
    ------
    InputError
        If the parts contradict each other.
    """
    overrides: dict[str, Value] = {}
    multipliers: dict[str, float] = {}
    problems = []
    for part in parts:
        for path, value in part.overrides.items():
            if overrides.get(path, value) != value or path in multipliers:
                problems.append(_conflict(name, path, source))
            overrides[path] = value
        for path, factor in part.multipliers.items():
            if path in overrides:
                problems.append(_conflict(name, path, source))
            multipliers[path] = multipliers.get(path, 1.0) * factor
    if problems:
        raise InputError(problems)
    return Intervention(
        name=name,
        description=" and ".join(part.description or part.name for part in parts),
        overrides=overrides,
        multipliers=multipliers,
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
