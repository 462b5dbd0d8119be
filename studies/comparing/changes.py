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

NOTES = "notes"
"""Key of a scenario that changes no result."""

LONGEST = 100
"""Characters of a value that are told."""


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
    contents = {
        CODE: _code_of,
        DRAWS: _draws_of,
        SCENARIO: _scenario_of,
        INTERVENTIONS: _interventions_of,
        PRIORS: lambda run: _content(run.inputs.catalogue.text),
        EVIDENCE: _evidence_of,
        COSTS: _costs_of,
    }
    return {
        name: tuple(_differences(content(before), content(after), ""))
        for name, content in contents.items()
    }


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


def _code_of(run: Past) -> Mapping[str, object]:
    code, _ = run.made_with
    return {"code": code[:12], "versions": run.provenance["versions"]}


def _draws_of(run: Past) -> dict[str, object]:
    options = run.provenance["options"]
    shown: dict[str, object] = {"--draws": run.count, "--seed": run.inputs.request.seed}
    if run.from_file:
        shown |= {
            "--parameter-draws": options["parameter_draws"],
            "digest of the draws": run.provenance["digests"].get("parameter draws", "")[:12],
        }
    return shown


def _scenario_of(run: Past) -> Mapping[str, object]:
    request = run.inputs.request
    content = _content(run.inputs.scenario_file.text)
    return {
        **{key: value for key, value in content.items() if key != NOTES},
        **{f"--set {path}": value for path, value in request.settings.items()},
        "--at-scale": request.at_scale,
        "--solver": request.solver,
    }


def _interventions_of(run: Past) -> Mapping[str, object]:
    request = run.inputs.request
    bundles = {f"--bundle {name}": "+".join(parts) for name, parts in request.bundles.items()}
    return {
        **_content(run.inputs.intervention_file.text),
        "--only": ", ".join(request.only) or None,
        **bundles,
    }


def _evidence_of(run: Past) -> Mapping[str, object]:
    observations: list[object] = []
    for text in run.inputs.evidence.texts.values():
        found = _content(text).get("observations")
        observations += found if isinstance(found, list) else []
    return {"observations": observations}


def _costs_of(run: Past) -> Mapping[str, object]:
    inputs = run.inputs
    if inputs.costs is None:
        return {}
    return {
        **_content(inputs.costs.text),
        "--budget": inputs.request.budget,
        "--risk-tolerance": inputs.request.risk_tolerance,
        "--studies": None if inputs.studies is None else _content(inputs.studies.text),
    }


def _content(text: str) -> Mapping[str, object]:
    from ruamel.yaml import YAML

    content: Mapping[str, object] = YAML(typ="safe", pure=True).load(text)
    return content


def _differences(before: object, after: object, path: str) -> Iterator[Change]:
    """Fields of two documents that differ; entries of lists go by their names."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in dict.fromkeys((*before, *after)):
            yield from _differences(before.get(key), after.get(key), f"{path}.{key}".lstrip("."))
    elif _is_list_of_entries(before) and _is_list_of_entries(after):
        yield from _differences(_by_name(before), _by_name(after), path)
    elif before != after:
        yield Change(path=path, before=_text(before), after=_text(after))


def _is_list_of_entries(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(entry, Mapping) for entry in value)


def _by_name(entries: Any) -> dict[str, object]:
    return {_name_of(entry, index): entry for index, entry in enumerate(entries)}


def _name_of(entry: Mapping[str, object], index: int) -> str:
    return next((str(entry[key]) for key in _NAMES if key in entry), str(index + 1))


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, Mapping):
        text = ", ".join(f"{key} {_text(inner)}" for key, inner in value.items())
    elif isinstance(value, list):
        text = ", ".join(map(_text, value))
    else:
        text = f"{value:.12g}" if isinstance(value, float) else str(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1].rstrip()}…"
