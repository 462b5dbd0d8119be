"""Evidence in YAML: a list of observations, each with its kind, place and source.

A document has one key, ``observations``: a list of mappings. Each has ``kind``, ``id`` and
``source``; ``stack`` and ``fleet`` where they apply, by default those of the scenario it names,
else ``mine``. Further keys by kind::

    throughput       scenario, overrides, value, unit, relative_error
    interruptions    counts, events with node_days or nodes and days;
                     or rate_per_node_day with relative_error
    durations        quantity, values_s; or quantiles_s with relative_error
    ettr             scenario, overrides, value with error; or at_least or at_most, softness
    link_efficiency  values; or mean, sd, repeats; error_floor
    step_times       scenario, overrides, mean_s, sd_s, count, averaging_interval, relative_error
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from model.documents import read_document, shipped_names
from model.errors import InputError, Problem, nearest
from priors.observation_reader import ObservationReader
from priors.observations import Evidence, Observation

DEFAULT = "published"
"""Stem of the shipped evidence."""

NONE = "none"
"""Names no evidence at all."""


def read_evidence(names: Sequence[str | Path]) -> Evidence:
    """Read evidence from files, or shipped ones by their stems, into one list.

    Parameters
    ----------
    names
        Documents; ``none`` adds nothing.

    Raises
    ------
    InputError
        With every problem of all documents at once, ids that collide included.
    """
    problems: list[Problem] = []
    observations: list[Observation] = []
    texts: dict[str, str] = {}
    where: dict[str, str] = {}
    for name in names:
        if str(name) == NONE:
            continue
        try:
            document = read_document(name, package="priors.data.evidence", kind="evidence")
            if document.source in texts:
                raise InputError.single(
                    message="this evidence is given twice", source=document.source
                )
            texts[document.source] = document.text
            shipped = document.source in shipped_names("priors.data.evidence")
            found = observations_from_mapping(
                document.content,
                source=document.source,
                directory=None if shipped else Path(name).parent,
            )
        except InputError as error:
            problems += error.problems
            continue
        for item in found:
            if item.id in where:
                problems.append(
                    Problem(
                        source=document.source,
                        path=item.id,
                        message=f"an observation of this id is already in {where[item.id]}",
                        remedy="ids must differ: one measurement counts once",
                    )
                )
            where[item.id] = document.source
        observations += found
    if problems:
        raise InputError(problems)
    return Evidence(
        sources=tuple(texts), observations=tuple(observations), texts=MappingProxyType(texts)
    )


def observations_from_mapping(
    content: Mapping[str, object], *, source: str, directory: Path | None = None
) -> list[Observation]:
    """Build observations from a parsed document.

    Parameters
    ----------
    content
        The document.
    source
        For messages.
    directory
        Where scenario files are looked for, None for the working directory.

    Raises
    ------
    InputError
        With every problem of the document.
    """
    problems = [
        Problem(
            source=source, path=key, message="unknown key", remedy=nearest(key, ["observations"])
        )
        for key in content
        if key != "observations"
    ]
    items = content.get("observations")
    if not isinstance(items, list) or not items:
        problems.append(
            Problem(
                source=source,
                path="observations",
                message="this list is missing"
                if "observations" not in content
                else f"got {items!r}, a list of at least one observation is needed",
                remedy="each has kind, id, source and what its kind needs",
            )
        )
        raise InputError(problems)
    observations: list[Observation] = []
    seen: set[str] = set()
    for position, raw in enumerate(items, start=1):
        label = f"observations[{position}]"
        if not isinstance(raw, Mapping):
            message = f"got {raw!r}, a mapping is needed"
            problems.append(Problem(source=source, path=label, message=message))
            continue
        if isinstance(raw.get("id"), str) and raw["id"].strip():
            label = raw["id"].strip()
        reader = ObservationReader(raw, label=label, source=source, directory=directory)
        if label in seen:
            reader.wrong("id", "an observation of this id is already in this file")
        seen.add(label)
        item = reader.read()
        problems += reader.problems
        if item is not None:
            observations.append(item)
    if problems:
        raise InputError(problems)
    return observations
