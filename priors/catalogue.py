"""The catalogue: a documented prior for every uncertain parameter, in YAML.

A document has the sections ``parameters`` (real fields of the scenario), ``hypotheses`` (such
fields that count only where the evidence can tell of them, see :mod:`priors.hypotheses`) and
``auxiliary`` (quantities of the observations). An entry of the first two::

    kernel.kernel_efficiency:
      uniform: {low: 0.45, high: 0.70}   # one family, or an interval
      shared_by: stack                   # what a system of this parameter is
      between_systems: {lognormal: {median: 0.45, sigma: 0.4}}
      basis: published
      source: ...
      rationale: ...
      owner: ...

``between_systems`` is the prior of the standard deviation between systems, on the logit scale for
fields in [0, 1] and on the log scale for others; without it other systems say nothing about mine.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from model.documents import read_document
from model.errors import InputError, Problem, nearest, unknown_keys
from model.field import Field
from model.parameters import BY_PATH, UNCERTAIN
from priors.distributions import BASES, POSITIVE, Prior, Range
from priors.elicitation import fixed_prior, read_prior
from priors.families import FAMILIES

type SharedBy = Literal["stack", "fleet"]

DEFAULT = "published"
"""Stem of the shipped catalogue."""

AUXILIARY = {
    "failure_dispersion_excess": "variance over mean of failure counts, minus one",
    "interruptions_per_node_failure": "job interruptions over node hardware failures",
    "gpu_errors_per_interruption": "GPU errors over job interruptions",
    "uptime_shape": "Weibull shape of running times; 1: interruptions come at any age alike",
    "detection_spread": "sd of the log of detection times within a fleet",
    "restart_spread": "sd of the log of restart times within a fleet",
    "checkpoint_write_spread": "sd of the log of checkpoint writes within a fleet",
    "detection_slow_share": "share of detections of another, much slower kind",
    "restart_slow_share": "share of restarts of another, much slower kind",
    "checkpoint_write_slow_share": "share of checkpoint writes of another, much slower kind",
    "detection_slow_ratio": "mean of slow detections over that of the others",
    "restart_slow_ratio": "mean of slow restarts over that of the others",
    "checkpoint_write_slow_ratio": "mean of slow checkpoint writes over that of the others",
    "regime_spread": "sd of the log of the step time between regimes of one job",
}
"""Quantities that observations need and scenarios do not have."""

_DOCUMENTATION = ("basis", "source", "rationale", "owner")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One parameter of the catalogue.

    Parameters
    ----------
    prior
        Prior of the target system's value; ``fixed`` where the value is known.
    shared_by
        Whether a system of this parameter is a software stack or a fleet.
    between_systems
        Prior of the spread between systems, None where others say nothing about mine.
    elsewhere
        Prior for other systems where no population ties them to the target: the catalogue's own,
        also after the target's value became known.
    """

    prior: Prior
    shared_by: SharedBy
    between_systems: Prior | None
    elsewhere: Prior

    @property
    def field(self) -> Field:
        """The scenario's field."""
        return BY_PATH[self.prior.path]


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """Documented priors.

    Parameters
    ----------
    source
        What messages call it.
    entries
        By dotted path, in the order of the document.
    hypotheses
        Entries that are set aside: the scenario's own value holds.
    auxiliary
        By name.
    text
        The document as read.
    """

    source: str
    entries: Mapping[str, Entry]
    auxiliary: Mapping[str, Prior]
    text: str
    hypotheses: Mapping[str, Entry] = MappingProxyType({})

    @property
    def uncertain(self) -> tuple[str, ...]:
        """Dotted paths whose value is not known."""
        return tuple(path for path, entry in self.entries.items() if not entry.prior.is_fixed)

    @property
    def digest(self) -> str:
        """SHA-256 of everything that determines draws and densities, comments left out."""
        content = {
            "entries": [
                [
                    path,
                    entry.prior.as_mapping(),
                    entry.shared_by,
                    entry.between_systems and entry.between_systems.as_mapping(),
                    entry.elsewhere.as_mapping(),
                ]
                for path, entry in self.entries.items()
            ],
            "auxiliary": [
                [name, self.auxiliary[name].as_mapping()] for name in sorted(self.auxiliary)
            ],
        }
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()

    def with_fixed(self, values: Mapping[str, float], *, source: str = "--set") -> "Catalogue":
        """The catalogue with some parameters of the target known, hypotheses among them.

        Parameters
        ----------
        values
            Known values by dotted path; paths that are not in the catalogue change nothing.
        source
            Where they come from, for messages.

        Raises
        ------
        InputError
            If values are outside their ranges.
        """
        entries = dict(self.entries)
        problems: list[Problem] = []
        for path, value in values.items():
            entry = entries.get(path) or self.hypotheses.get(path)
            if entry is None:
                continue
            try:
                known = fixed_prior(entry.prior, value, source=source)
            except InputError as error:
                problems += error.problems
            else:
                entries[path] = replace(entry, prior=known)
        if problems:
            raise InputError(problems)
        return replace(self, entries=MappingProxyType(entries))


def read_catalogue(name: str | Path = DEFAULT) -> Catalogue:
    """Read a catalogue from a file, or a shipped one by its stem.

    Auxiliary quantities and hypotheses a document is silent on are those of the shipped catalogue.

    Raises
    ------
    InputError
        With every problem of the document at once.
    """
    document = read_document(name, package="priors.data.priors", kind="catalogue of priors")
    catalogue = catalogue_from_mapping(document.content, source=document.source, text=document.text)
    if document.source == DEFAULT:
        return catalogue
    shipped = read_catalogue(DEFAULT)
    silent = {
        path: entry
        for path, entry in shipped.hypotheses.items()
        if path not in catalogue.entries and path not in catalogue.hypotheses
    }
    return replace(
        catalogue,
        auxiliary=MappingProxyType({**shipped.auxiliary, **catalogue.auxiliary}),
        hypotheses=MappingProxyType({**silent, **catalogue.hypotheses}),
    )


def catalogue_from_mapping(
    content: Mapping[str, object], *, source: str, text: str = ""
) -> Catalogue:
    """Build a catalogue from a parsed document.

    Raises
    ------
    InputError
        With every problem: unknown fields and keys, families, ranges, missing documentation.
    """
    sections = ("parameters", "hypotheses", "auxiliary")
    problems = unknown_keys(content, sections, source=source)
    entries: dict[str, Entry] = {}
    hypotheses: dict[str, Entry] = {}
    auxiliary: dict[str, Prior] = {}
    if "parameters" not in content:
        problems.append(
            Problem(
                source=source,
                path="parameters",
                message="this section is missing",
                remedy="it maps dotted paths of scenario fields to priors",
            )
        )
    for section in sections:
        given = content.get(section, {})
        if not isinstance(given, Mapping) or (section == "parameters" and not given):
            if section in content:
                problems.append(
                    Problem(
                        source=source,
                        path=section,
                        message=f"got {given!r}, a mapping of names to priors is needed",
                    )
                )
            continue
        for raw_key, raw in given.items():
            key = str(raw_key)
            try:
                if section == "parameters":
                    entries[key] = _read_entry(key, raw, source=source)
                elif section == "hypotheses":
                    hypotheses[key] = _read_entry(key, raw, source=source)
                else:
                    auxiliary[key] = _read_auxiliary(key, raw, source=source)
            except InputError as error:
                problems += error.problems
    problems += [
        Problem(
            source=source,
            path=f"hypotheses.{path}",
            message="this field is among the parameters too",
            remedy="parameters always count, hypotheses only where the evidence tells of them",
        )
        for path in hypotheses
        if path in entries
    ]
    if problems:
        raise InputError(problems)
    return Catalogue(
        source=source,
        entries=MappingProxyType(entries),
        auxiliary=MappingProxyType(auxiliary),
        text=text,
        hypotheses=MappingProxyType(hypotheses),
    )


def _read_entry(path: str, raw: object, *, source: str) -> Entry:
    if path not in UNCERTAIN:
        known = BY_PATH.get(path)
        raise InputError.single(
            message=f"this field is of kind {known.kind}, only real fields have priors"
            if known
            else "unknown field",
            source=source,
            path=path,
            remedy="" if known else nearest(path, UNCERTAIN),
        )
    field = BY_PATH[path]
    extra = ("shared_by", "between_systems")
    family, documentation, rest, problems = _split(raw, path=path, extra=extra, source=source)
    prior = between = None
    try:
        prior = read_prior(
            family, path=path, allowed=Range.of(field), source=source, documentation=documentation
        )
    except InputError as error:
        problems += error.problems
    shared_by = rest.get("shared_by")
    if shared_by not in ("stack", "fleet"):
        problems.append(
            Problem(
                source=source,
                path=f"{path}.shared_by",
                message="this key is missing" if shared_by is None else f"got {shared_by!r}",
                remedy="allowed is stack or fleet: whose systems share a value",
            )
        )
    scale = rest.get("between_systems")
    if scale is not None:
        where = f"{path}.between_systems"
        try:
            if not isinstance(scale, Mapping):
                raise InputError.single(
                    message=f"got {scale!r}, a mapping of one family to its parameters is needed",
                    source=source,
                    path=where,
                )
            between = read_prior(scale, path=where, allowed=POSITIVE, source=source)
        except InputError as error:
            problems += error.problems
    if problems or prior is None:
        raise InputError(problems)
    return Entry(
        prior=prior,
        shared_by=shared_by,  # type: ignore[arg-type]
        between_systems=between,
        elsewhere=prior,
    )


def _read_auxiliary(name: str, raw: object, *, source: str) -> Prior:
    path = f"auxiliary.{name}"
    if name not in AUXILIARY:
        raise InputError.single(
            message="unknown quantity",
            source=source,
            path=path,
            remedy=nearest(name, list(AUXILIARY)),
        )
    family, documentation, _, problems = _split(raw, path=path, extra=(), source=source)
    try:
        prior = read_prior(
            family, path=name, allowed=POSITIVE, source=source, documentation=documentation
        )
    except InputError as error:
        problems += error.problems
    if problems:
        raise InputError(problems)
    return prior


def _split(
    raw: object, *, path: str, extra: tuple[str, ...], source: str
) -> tuple[dict[str, object], dict[str, str], dict[str, object], list[Problem]]:
    """Separate an entry into family, documentation and the other keys."""
    families = (*FAMILIES, "interval")
    if not isinstance(raw, Mapping):
        raise InputError.single(
            message=f"got {raw!r}, a mapping is needed",
            source=source,
            path=path,
            remedy="for example uniform: {low: 0, high: 1} with basis, source, rationale, owner",
        )
    problems = []
    family: dict[str, object] = {}
    rest: dict[str, object] = {}
    documentation = {}
    for raw_key, value in raw.items():
        key = str(raw_key)
        if key in families:
            family[key] = value
        elif key in extra:
            rest[key] = value
        elif key not in _DOCUMENTATION:
            problems.append(
                Problem(
                    source=source,
                    path=f"{path}.{key}",
                    message="unknown key",
                    remedy=nearest(key, [*families, *extra, *_DOCUMENTATION]),
                )
            )
    for key in _DOCUMENTATION:
        text = raw.get(key)
        valid = isinstance(text, str) and bool(text.strip())
        if key == "basis":
            valid = text in BASES
        if valid:
            documentation[key] = str(text).strip()
        else:
            allowed = "one of " + ", ".join(BASES) if key == "basis" else "a text"
            problems.append(
                Problem(
                    source=source,
                    path=f"{path}.{key}",
                    message="this key is missing" if text is None else f"got {text!r}",
                    remedy=f"allowed is {allowed}",
                )
            )
    return family, documentation, rest, problems
