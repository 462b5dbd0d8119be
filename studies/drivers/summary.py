"""A study as plain data: what ``drivers.csv``, the figures and the table are made from.

JSON has no NaN: an index that does not exist is null.
"""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from decision.inputs import Inputs
from decision.outcomes import baseline_of
from model.parameters import BY_PATH
from priors.draws import Draws
from studies.drivers.effects import Effects
from studies.drivers.study import PARAMETERS, Study
from studies.drivers.switching import Switching
from studies.drivers.targets import WINNER, first_column
from studies.drivers.tree import Region

COLUMNS = (
    "target",
    "parameter",
    "method",
    "first",
    "first_se",
    "total",
    "total_se",
    "shapley",
    "shapley_se",
)

INDICES = COLUMNS[3:]

FEWEST = 10
"""Draws in which an option must rank first for a driver of that to be named."""


def finite(value: float) -> float | None:
    """The value, or None where JSON has no word for it."""
    return float(value) if np.isfinite(value) else None


def unit_of(path: str) -> str:
    """Unit of a parameter, empty for a pure number or what is no field."""
    unit = BY_PATH[path].unit if path in BY_PATH else ""
    return "" if unit == "1" else unit


def content_of(
    inputs: Inputs,
    draws: Draws,
    answers: Sequence[Mapping[str, Any]],
    *,
    source: str,
    reasons: Sequence[str],
    provenance: Mapping[str, Any],
) -> dict[str, Any]:
    """The content of ``drivers.json``: everything figures and table are made from."""
    words = {
        "prior": "from the priors alone, independent",
        "posterior": "from the posterior",
        "file": f"from {draws.source}",
    }
    notes = list(inputs.notes)
    if reasons:
        notes.insert(0, "NOT CONVERGED, do not act on this: " + "; ".join(reasons))
    baseline = baseline_of(inputs.questions[0][1], {})
    return {
        "format": 1,
        "question": {
            "scenario": inputs.scenario.name,
            "accelerators": int(baseline.world),
            "draws": len(draws),
            "form": inputs.form.name,
            "refinements": list(inputs.form.refinements),
            "source": source,
            "source_words": words[source],
            "seed": inputs.request.seed,
        },
        "converged": not reasons,
        "notes": notes,
        "answers": list(answers),
        "provenance": dict(provenance),
    }


def describe_study(study: Study, *, regime: str) -> dict[str, Any]:
    """One regime's study as plain data.

    Returns
    -------
    dict
        ``effects`` holds one entry a method and kind (``parameters`` or ``groups``) with all
        indices as target by factor; ``drivers`` the drivers of who ranks first and the top driver
        of each option, by the method fit for the draws.
    """
    main = study.main
    return {
        "regime": regime,
        "options": [
            {
                "option": option,
                "p_first": study.shares[option],
                "gain_mean": study.gains[option],
                "driver": option_driver(main, option),
            }
            for option in sorted(study.shares, key=lambda name: -study.shares[name])
        ],
        "leader": study.leader,
        "recommended": study.recommended,
        "winner": factors_of(main, WINNER),
        "effects": [_effects(kind, effects) for kind, effects in study.effects],
        "switching": [describe_switching(switch) for switch in study.switching],
        "regions": [_region(region, study.question.options) for region in study.regions],
        "fixed": dict(study.fixed),
        "screening": None
        if study.screening is None
        else {
            "influence": dict(study.screening.influence),
            "screened": list(study.screening.screened),
        },
        "copula": None
        if not study.checks
        else {
            "passed": all(check.passed for check in study.checks),
            "checks": len(study.checks),
            "failed": [check.words() for check in study.checks if not check.passed],
        },
        "notes": list(study.notes),
    }


def factors_of(effects: Effects, target: str) -> list[dict[str, Any]]:
    """Drivers of a target, the strongest first, with their index and standard error."""
    return [
        {"factor": name, "value": value, "error": error}
        for name, value, error in effects.ranked(target)
    ]


def option_driver(effects: Effects, option: str) -> dict[str, Any] | None:
    """The strongest driver of whether an option ranks first, else of its gain.

    Where it ranks first in a handful of draws only, they do not tell by what.

    Returns
    -------
    dict or None
        ``target`` says which; ``rival`` names the second driver where the two are not told apart
        by two standard errors of their difference; None for an option that nothing moves.
    """
    for target in (first_column(option), f"gain:{option}"):
        if target not in effects.targets:
            continue
        ranked = effects.ranked(target)
        enough = not target.startswith("first:") or (
            effects.support[effects.targets.index(target)] >= FEWEST
        )
        if enough and ranked and ranked[0][1] > 0:
            (name, value, error), *others = ranked
            rival = None
            if others and value - others[0][1] < 2 * float(np.hypot(error, others[0][2])):
                rival = others[0][0]
            return {
                "target": target.partition(":")[0],
                "factor": name,
                "value": value,
                "error": error,
                "rival": rival,
            }
    return None


def _effects(kind: str, effects: Effects) -> dict[str, Any]:
    found: dict[str, Any] = {
        "kind": kind,
        "method": effects.method,
        "index": effects.index,
        "targets": list(effects.targets),
        "factors": [factor.name for factor in effects.factors],
        "members": {factor.name: list(factor.paths) for factor in effects.factors},
        "half_width": effects.half_width,
        "evaluations": effects.evaluations,
        "constant": dict(effects.constant),
        "second": None,
        "second_se": None,
    }
    for name in INDICES:
        found[name] = _nested(getattr(effects, name))
    if effects.second is not None and effects.second_se is not None:
        found["second"] = _nested(effects.second)
        found["second_se"] = _nested(effects.second_se)
    return found


def _nested(values: np.ndarray) -> list[Any]:
    if values.ndim == 1:
        return [finite(value) for value in values]
    return [_nested(row) for row in values]


def describe_switching(switch: Switching) -> dict[str, Any]:
    """Recommendations along one parameter as plain data; no flips: never within its range."""
    return {
        "parameter": switch.parameter,
        "unit": unit_of(switch.parameter),
        "reading": switch.reading,
        "low": switch.low,
        "high": switch.high,
        "flips": [
            {
                "value": flip.value,
                "low": flip.low,
                "high": flip.high,
                "found": flip.found,
                "below": flip.below,
                "above": flip.above,
            }
            for flip in switch.flips
        ],
        "holding": [{"option": option, "share": share} for option, share in switch.holding],
    }


def _region(region: Region, options: Sequence[str]) -> dict[str, Any]:
    return {
        "option": options[region.winner],
        "splits": [
            {"parameter": path, "threshold": threshold, "above": above, "unit": unit_of(path)}
            for path, threshold, above in region.splits
        ],
        "bounds": [
            {
                "parameter": path,
                "low": finite(low),
                "high": finite(high),
                "unit": unit_of(path),
            }
            for path, (low, high) in region.bounds.items()
        ],
        "share": region.share,
        "density": finite(region.density),
        "density_se": finite(region.density_se),
        "coverage": finite(region.coverage),
    }


def write_csv(path: Path, answers: Sequence[Mapping[str, Any]]) -> None:
    """Write ``drivers.csv``: a row a target, factor and method; empty where there is no index.

    Groups follow the parameters, their names in the same column. A column ``regime`` comes first
    where there are several.
    """
    several = len(answers) > 1
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*(["regime"] if several else []), *COLUMNS])
        for answer in answers:
            for effects in sorted(answer["effects"], key=lambda e: e["kind"] != PARAMETERS):
                for t, target in enumerate(effects["targets"]):
                    for f, factor in enumerate(effects["factors"]):
                        indices = [effects[name][t][f] for name in INDICES]
                        writer.writerow(
                            [
                                *([answer["regime"]] if several else []),
                                target,
                                factor,
                                effects["method"],
                                *("" if value is None else repr(value) for value in indices),
                            ]
                        )
