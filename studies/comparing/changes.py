"""Which inputs differ between two runs, field by field, in texts ready to be shown."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from decision.finished import Past
from model.parameters import BY_PATH

CODE, DRAWS = "code", "draws"
SCENARIO, INTERVENTIONS, PRIORS, EVIDENCE, COSTS = (
    "scenario",
    "interventions",
    "priors",
    "evidence",
    "costs",
)
SWAPPED = (SCENARIO, INTERVENTIONS, PRIORS, EVIDENCE, COSTS)
"""Inputs that are swapped in every order."""

INPUTS = (CODE, DRAWS, *SWAPPED)

MOST = 40
"""Changes of an input that are told one by one."""

_NAMES = ("name", "id")
"""Keys that tell the entries of a list apart."""

_NOTES = frozenset({"notes"})
"""Keys of a document that change no result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One field that differs.

    Parameters
    ----------
    path
        Where, dotted.
    before, after
        As text, empty where it was or is not there.
    """

    path: str
    before: str
    after: str


def changes_of(before: Past, after: Past) -> dict[str, tuple[Change, ...]]:
    """Every field that differs, by input; an input without any has none."""
    old, new = before.inputs, after.inputs
    found = {
        CODE: _code(before, after),
        DRAWS: _fields(_draws_of(before), _draws_of(after)),
        SCENARIO: _fields(
            {
                **_flat(_content(old.scenario_file.text)),
                **{f"--set {path}": value for path, value in old.request.settings.items()},
                "--at-scale": old.request.at_scale,
                "--solver": old.request.solver,
            },
            {
                **_flat(_content(new.scenario_file.text)),
                **{f"--set {path}": value for path, value in new.request.settings.items()},
                "--at-scale": new.request.at_scale,
                "--solver": new.request.solver,
            },
        ),
        INTERVENTIONS: _fields(_interventions_of(before), _interventions_of(after)),
        PRIORS: _fields(_flat(_content(old.catalogue.text)), _flat(_content(new.catalogue.text))),
        EVIDENCE: _fields(_evidence_of(before), _evidence_of(after)),
        COSTS: _fields(_costs_of(before), _costs_of(after)),
    }
    return {name: tuple(found[name]) for name in INPUTS}


def describe_changes(changes: Mapping[str, Sequence[Change]]) -> list[dict[str, Any]]:
    """The changes as plain data: the first of each input, and how many more there are."""
    return [
        {
            "input": name,
            "changed": bool(found),
            "changes": [
                {
                    "path": one.path,
                    "before": one.before,
                    "after": one.after,
                    **_explained(one.path),
                }
                for one in found[:MOST]
            ],
            "left_out": max(0, len(found) - MOST),
        }
        for name, found in changes.items()
    ]


def _explained(path: str) -> dict[str, str]:
    field = BY_PATH.get(path.removeprefix("--set "))
    return {"unit": field.unit if field else "", "meaning": field.meaning if field else ""}


def _code(before: Past, after: Past) -> list[Change]:
    made = {}
    for run in (before, after):
        code, _ = run.made_with
        versions = {f"version of {name}": v for name, v in run.provenance["versions"].items()}
        made[run.directory] = {**versions, "code": code[:12]}
    return list(_fields(made[before.directory], made[after.directory]))


def _draws_of(run: Past) -> dict[str, object]:
    options = run.provenance["options"]
    shown: dict[str, object] = {"--draws": run.count, "--seed": run.inputs.request.seed}
    if run.from_file:
        shown |= {
            "--parameter-draws": options["parameter_draws"],
            "digest of the draws": run.provenance["digests"].get("parameter draws", "")[:12],
        }
    return shown


def _interventions_of(run: Past) -> dict[str, object]:
    request = run.inputs.request
    bundles = {f"--bundle {name}": "+".join(parts) for name, parts in request.bundles.items()}
    return {
        **_flat(_content(run.inputs.intervention_file.text)),
        "--only": ", ".join(request.only) or None,
        **bundles,
    }


def _evidence_of(run: Past) -> dict[str, object]:
    fields: dict[str, object] = {}
    for text in run.inputs.evidence.texts.values():
        fields |= _flat(_content(text))
    return fields


def _costs_of(run: Past) -> dict[str, object]:
    inputs = run.inputs
    if inputs.costs is None:
        return {}
    studies = {} if inputs.studies is None else _flat(_content(inputs.studies.text))
    return {
        **_flat(_content(inputs.costs.text)),
        "--budget": inputs.request.budget,
        "--risk-tolerance": inputs.request.risk_tolerance,
        **{f"studies on offer: {path}": value for path, value in studies.items()},
    }


def _content(text: str) -> Mapping[str, object]:
    from ruamel.yaml import YAML

    content: Mapping[str, object] = YAML(typ="safe", pure=True).load(text)
    return content


def _flat(content: object, path: str = "") -> dict[str, object]:
    """Values of a document by dotted path; entries of lists go by their names."""
    if isinstance(content, Mapping) and content:
        return {
            where: value
            for key, inner in content.items()
            if path or str(key) not in _NOTES
            for where, value in _flat(inner, f"{path}.{key}".lstrip(".")).items()
        }
    if isinstance(content, list) and any(isinstance(one, Mapping) for one in content):
        return {
            where: value
            for index, one in enumerate(content)
            for where, value in _flat(one, f"{path}.{_name_of(one, index)}").items()
        }
    return {path: content}


def _name_of(entry: object, index: int) -> str:
    if isinstance(entry, Mapping):
        for key in _NAMES:
            if key in entry:
                return str(entry[key])
    return str(index + 1)


def _fields(before: Mapping[str, object], after: Mapping[str, object]) -> Iterator[Change]:
    for path in dict.fromkeys((*before, *after)):
        old, new = before.get(path), after.get(path)
        if old != new:
            yield Change(path=path, before=_text(old), after=_text(new))


def _text(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.12g}" if isinstance(value, float) else str(value)
