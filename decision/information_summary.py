"""Values of information as plain data, and as rows of a table."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from decision.further import summary_of
from decision.inputs import Inputs
from decision.learning import Learnable, Learning, SizeWorth, StudyWorth
from decision.planned_studies import StudyFile
from decision.utility import Utilities
from decision.value_of_information import LEFT_OUT, Information
from priors.draws import Draws

if TYPE_CHECKING:
    from priors.conditioned import Posterior

CSV_COLUMNS = (
    "regime",
    "kind",
    "name",
    "size",
    "unit",
    "value",
    "error",
    "noise_floor",
    "nested_value",
    "nested_error",
    "shrunk_value",
    "cost_accelerators",
    "cost_productive",
    "net_benefit",
)


def describe(
    inputs: Inputs,
    draws: Draws,
    studies: StudyFile,
    answers: Sequence[tuple[Utilities, Learning]],
    posterior: "Posterior | None",
) -> dict[str, Any]:
    """The whole answer as plain data.

    Parameters
    ----------
    inputs, draws
        What was asked, of which draws.
    studies
        Studies on offer.
    answers
        One a regime.
    posterior
        What the draws are of; None for priors alone or a file.
    """
    return summary_of(
        inputs,
        draws,
        posterior,
        particulars={"studies": studies.source},
        notes=[LEFT_OUT],
        answers=[
            {
                "regime": regime,
                "budget": found.budget,
                "horizon_days": found.horizon_days,
                "options": list(learning.options),
                "best": learning.best,
                "perfect": _information(learning.perfect),
                "parameters": [_learnable(one) for one in learning.parameters],
                "groups": [_learnable(one) for one in learning.groups],
                "studies": [_study(one) for one in learning.studies],
            }
            for (regime, _), (found, learning) in zip(inputs.questions, answers, strict=True)
        ],
    )


def _information(one: Information) -> dict[str, Any]:
    return {
        "value": one.value,
        "error": one.error,
        "noise_floor": one.noise_floor,
        "is_noise": one.is_noise,
    }


def _learnable(one: Learnable) -> dict[str, Any]:
    return {
        "name": one.name,
        "paths": list(one.paths),
        **_information(one.regression),
        "nested": None
        if one.nested is None
        else {"value": one.nested.value, "error": one.nested.error},
    }


def _study(one: StudyWorth) -> dict[str, Any]:
    best = one.best
    return {
        "name": one.study.name,
        "description": one.study.description,
        "unit": one.study.unit,
        "paths": list(one.paths),
        "limit": _information(one.limit),
        "sizes": [_size(size) for size in one.sizes],
        "best": None if best is None else best.size,
        "near_best": None if one.near_best is None else list(one.near_best),
    }


def _size(one: SizeWorth) -> dict[str, Any]:
    return {
        "size": one.size,
        "value": one.information.value,
        "error": one.information.error,
        "shrunk": one.shrunk,
        "remaining": one.remaining,
        "cost_accelerators": one.cost_accelerators,
        "cost_productive": one.cost_productive,
        "net_benefit": one.net_benefit,
    }


def write_csv(summary: Mapping[str, Any], path: Path) -> None:
    """Write ``information.csv``: one row a parameter, group, study limit and study size."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, CSV_COLUMNS, restval="", lineterminator="\n")
        writer.writeheader()
        for answer in summary["answers"]:
            for row in _rows(answer):
                writer.writerow(
                    {"regime": answer["regime"]}
                    | {key: value for key, value in row.items() if value is not None}
                )


def _rows(answer: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    perfect = answer["perfect"]
    yield {"kind": "perfect", "value": perfect["value"], "error": perfect["error"]}
    for kind, key in (("parameter", "parameters"), ("group", "groups")):
        for one in answer[key]:
            nested = one["nested"] or {"value": None, "error": None}
            yield {
                "kind": kind,
                "name": one["name"],
                "value": one["value"],
                "error": one["error"],
                "noise_floor": one["noise_floor"],
                "nested_value": nested["value"],
                "nested_error": nested["error"],
            }
    for study in answer["studies"]:
        limit = study["limit"]
        yield {
            "kind": "study with endless data",
            "name": study["name"],
            "value": limit["value"],
            "error": limit["error"],
            "noise_floor": limit["noise_floor"],
        }
        for size in study["sizes"]:
            yield {
                "kind": "study",
                "name": study["name"],
                "size": size["size"],
                "unit": study["unit"],
                "value": size["value"],
                "error": size["error"],
                "shrunk_value": size["shrunk"],
                "cost_accelerators": size["cost_accelerators"],
                "cost_productive": size["cost_productive"],
                "net_benefit": size["net_benefit"],
            }
