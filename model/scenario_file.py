"""Scenario files in: YAML documents to scenarios, with every problem named at once."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from model import checks
from model.documents import read_document
from model.errors import InputError, Problem, nearest
from model.field import REQUIRED, check_value
from model.numerics import Value
from model.parameters import FIELDS, SECTIONS
from model.scenario import (
    Accelerator,
    Kernel,
    Model,
    Parallelism,
    Reliability,
    Scenario,
    Topology,
    coerce,
)

_OPTIONAL_SECTIONS = ("reliability", "kernel")

_SECTION_TYPES = {
    "model": Model,
    "accelerator": Accelerator,
    "topology": Topology,
    "parallelism": Parallelism,
    "reliability": Reliability,
    "kernel": Kernel,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioFile:
    """A scenario as read, with what a reader should be told.

    Parameters
    ----------
    scenario
        The scenario.
    defaulted
        Dotted paths the file was silent on, which took the default of the table.
    sha256
        Digest of the document.
    text
        The document.
    """

    scenario: Scenario
    defaulted: tuple[str, ...]
    sha256: str
    text: str


def read_scenario(name: str | Path) -> ScenarioFile:
    """Read a scenario file, or a shipped scenario by its stem.

    Raises
    ------
    InputError
        With every problem of the document at once.
    """
    document = read_document(name, package="model.data.scenarios", kind="scenario")
    scenario, defaulted = scenario_from_mapping(document.content, source=document.source)
    return ScenarioFile(
        scenario=scenario, defaulted=defaulted, sha256=document.sha256, text=document.text
    )


def scenario_from_mapping(
    content: Mapping[str, object], *, source: str
) -> tuple[Scenario, tuple[str, ...]]:
    """Build a scenario from a parsed document.

    Returns
    -------
    tuple of Scenario and tuple of str
        The scenario, and the dotted paths that took their default.

    Raises
    ------
    InputError
        With every problem: unknown keys, missing sections, wrong types, values out of range,
        fields that contradict each other.
    """
    given, problems = _flatten(content, source)
    values: dict[str, Value] = {}
    defaulted = []
    for field in FIELDS:
        if field.path in given:
            value = coerce(field, given[field.path])
            problem = check_value(field, value, source=source)
            if problem:
                problems.append(problem)
            values[field.path] = value
        elif field.default is REQUIRED:
            if field.section in content:
                problems.append(
                    Problem(
                        source=source,
                        path=field.path,
                        message="this field is missing",
                        remedy=f"{field.meaning}; allowed is {field.allowed}",
                    )
                )
        else:
            values[field.path] = field.default
            defaulted.append(field.path)
    if not problems:
        problems += checks.contradictions(values, source=source)
    if problems:
        raise InputError(problems)
    return _build(values), tuple(defaulted)


def _flatten(content: Mapping[str, object], source: str) -> tuple[dict[str, object], list[Problem]]:
    """Dotted paths of a document, and what is wrong with its keys and sections."""
    given: dict[str, object] = {}
    problems = []
    top = [field.key for field in FIELDS if not field.section]
    for key, value in content.items():
        if key in top:
            given[key] = value
        elif key not in SECTIONS:
            problems.append(
                Problem(
                    source=source,
                    path=key,
                    message="unknown key",
                    remedy=nearest(key, [*top, *SECTIONS]),
                )
            )
        elif not isinstance(value, Mapping):
            problems.append(
                Problem(
                    source=source,
                    path=key,
                    message=f"got {value!r}, a section of names and values is needed",
                )
            )
        else:
            known = [field.key for field in FIELDS if field.section == key]
            for inner, inner_value in value.items():
                if inner in known:
                    given[f"{key}.{inner}"] = inner_value
                else:
                    problems.append(
                        Problem(
                            source=source,
                            path=f"{key}.{inner}",
                            message="unknown key",
                            remedy=nearest(str(inner), known),
                        )
                    )
    problems += [
        Problem(
            source=source,
            path=section,
            message="this section is missing",
            remedy="fields: " + ", ".join(f.key for f in FIELDS if f.section == section),
        )
        for section in SECTIONS
        if section not in content and section not in _OPTIONAL_SECTIONS
    ]
    return given, problems


def _build(values: Mapping[str, Value]) -> Scenario:
    if values["model.n_kv_heads"] is None:
        values = {**values, "model.n_kv_heads": values["model.n_heads"]}
    sections = {
        section: kind(**{f.name: values[f"{section}.{f.name}"] for f in fields(kind)})
        for section, kind in _SECTION_TYPES.items()
    }
    top = {f.path: values[f.path] for f in FIELDS if not f.section}
    return Scenario(**top, **sections)
