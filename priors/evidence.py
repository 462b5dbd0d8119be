"""Evidence in YAML: a list of observations, each with its kind, place and source.

A document has one key, ``observations``: a list of mappings. Each has ``kind``, ``id`` and
``source``; ``stack`` and ``fleet`` where they apply, by default those of the scenario it names,
else ``mine``. Further keys by kind::

    throughput       scenario, overrides, value, unit, relative_error
    interruptions    counts, events with node_days or nodes and days, lists of them for periods;
                     or rate_per_node_day with relative_error; nodes_per_job
    uptimes          counts, nodes_per_job, values_s, censored_s, entered_s
    durations        quantity, values_s, tails; or quantiles_s with relative_error
    ettr             scenario, overrides, value with error; or at_least or at_most, softness
    link_efficiency  values; or mean, sd, repeats; error_floor
    step_times       scenario, overrides, mean_s, sd_s, count, averaging_interval, relative_error,
                     correlation, regimes
    lost_work        scenario, overrides, values_s, includes_detection, resolution_s

Any other file is recognised by its content and read as :mod:`priors.readers` does: logs of
nccl-tests and of training, Slurm accounting, failure tables, goodput exports.
"""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from model.documents import Document, read_document, shipped_names
from model.errors import InputError, Problem, unknown_keys
from priors.observation_reader import ObservationReader
from priors.observations import Evidence, Observation

DEFAULT = "published"
"""Stem of the shipped evidence."""

NONE = "none"
"""Names no evidence at all."""


def read_evidence(names: Sequence[str | Path], *, scenario: str | Path | None = None) -> Evidence:
    """Read evidence from files, or shipped ones by their stems, into one list.

    Parameters
    ----------
    names
        Documents, or files that a reader knows; ``none`` adds nothing.
    scenario
        The job that files other than documents were measured on; None where it is not said.

    Raises
    ------
    InputError
        With every problem of all documents at once, ids that collide included.
    """
    problems: list[Problem] = []
    observations: list[Observation] = []
    texts: dict[str, str] = {}
    where: dict[str, str] = {}
    own: set[str] = set()
    for name in names:
        if str(name) == NONE:
            continue
        try:
            log = _from_reader(name, scenario)
            document = log or read_document(name, package="priors.data.evidence", kind="evidence")
            if document.source in texts:
                raise InputError.single(
                    message="this evidence is given twice", source=document.source
                )
            texts[document.source] = document.text
            shipped = document.source in shipped_names("priors.data.evidence")
            found = observations_from_mapping(
                document.content,
                source=document.source,
                directory=None if shipped or log else Path(name).parent,
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
        if not shipped:
            own |= {item.id for item in found}
    if problems:
        raise InputError(problems)
    return Evidence(
        sources=tuple(texts),
        observations=tuple(observations),
        texts=MappingProxyType(texts),
        own=frozenset(own),
    )


def _from_reader(name: str | Path, scenario: str | Path | None) -> Document | None:
    """What a log or table says, as the document it stands for; None for documents themselves.

    Raises
    ------
    InputError
        If the file is a log or table that gives no observation.
    """
    path = Path(name)
    if path.suffix in (".yaml", ".yml") or not path.is_file():
        return None
    if str(name) in shipped_names("priors.data.evidence"):
        return None
    from priors.readers.evidence_text import evidence_text
    from priors.readers.found import options_for
    from priors.readers.registry import recognised
    from priors.readers.source import TextSource

    source = TextSource(str(name))
    reader = recognised(source)
    if reader is None:
        return None
    found = reader.read(source, options_for(scenario))
    if not found.drafts:
        raise InputError.single(
            message="no observation comes of this file: " + "; ".join(found.withheld),
            source=str(name),
            remedy="python -m priors.read says what it holds and takes what is missing",
        )
    content: dict[str, object] = {"observations": [dict(draft.raw) for draft in found.drafts]}
    text = evidence_text([found])
    return Document(
        source=str(name),
        content=content,
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        text=text,
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
    problems = unknown_keys(content, ["observations"], source=source)
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
