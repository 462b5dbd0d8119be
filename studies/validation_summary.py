"""What a validation found, as one plain mapping for page, terminal and tests."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from studies.fleets.evaluation import FleetEvaluation
from studies.fleets.rows import Excluded as ExcludedFleet
from studies.scoring import LEVELS, Estimate, median_over_groups, over_groups
from studies.systems.batch_series import Series
from studies.systems.cases import Excluded
from studies.systems.evaluation import Evaluation, Gain

BINS: Mapping[str, tuple[str, Sequence[tuple[str, float, float]]]] = {
    "accelerators": (
        "accelerators",
        (
            ("up to 256", 0, 256),
            ("257 to 1,024", 257, 1024),
            ("1,025 to 4,096", 1025, 4096),
            ("above 4,096", 4097, np.inf),
        ),
    ),
    "hidden": (
        "hidden width",
        (
            ("below 8,192", 0, 8191),
            ("8,192 to 14,336", 8192, 14336),
            ("above 14,336", 14337, np.inf),
        ),
    ),
    "pipeline_stages": (
        "pipeline depth",
        (("no pipeline", 0, 1), ("2 to 8", 2, 8), ("above 8", 9, np.inf)),
    ),
    "microbatches": (
        "microbatches a replica",
        (("up to 16", 0, 16), ("17 to 100", 17, 100), ("above 100", 101, np.inf)),
    ),
}
"""Where signed errors are averaged: column, its name, and the bins."""


def rounded(value: float, digits: int = 5) -> float | None:
    """A number for JSON to so many significant digits; None where it is no finite number."""
    number = float(value)
    return float(f"{number:.{digits}g}") if np.isfinite(number) else None


def estimate(found: Estimate) -> dict[str, float | None]:
    """Value and error."""
    return {"value": rounded(found.value), "error": rounded(found.error)}


def scores(table: pd.DataFrame) -> dict[str, Any]:
    """Accuracy, interval score, density and coverage of a table of predictions."""
    groups = [str(group) for group in table["group"]]
    result: dict[str, Any] = {
        "rows": len(table),
        "groups": len(set(groups)),
        "interval_score": estimate(over_groups(table["interval_score"], groups)),
        "log_density": estimate(over_groups(table["log_density"], groups)),
        "coverage": {
            f"{level * 100:.0f}": estimate(
                over_groups(table[f"inside_{level * 100:.0f}"].astype(float), groups)
            )
            for level in LEVELS
        },
    }
    if "error" in table:
        size = table["error"].abs()
        result["median_absolute_error"] = estimate(median_over_groups(size, groups))
        result["p90_absolute_error"] = rounded(size.quantile(0.9))
        log_error = np.log1p(table["error"])
        level = log_error.groupby(table["group"]).transform("mean")
        result["within_systems"] = rounded(np.expm1((log_error - level).abs()).median())
    return result


def signed_errors(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Mean signed error by size, depth, batch, accelerator and recomputation."""
    found = []

    def add(by: str, label: str, part: pd.DataFrame) -> None:
        if len(part):
            found.append(
                {
                    "by": by,
                    "bin": label,
                    "rows": len(part),
                    "mean_error": rounded(part["error"].mean()),
                }
            )

    for column, (name, bins) in BINS.items():
        for label, low, high in bins:
            add(name, label, table[(table[column] >= low) & (table[column] <= high)])
    for column, name in (("accelerator", "accelerator"), ("recompute", "recomputation")):
        for label, part in table.groupby(column, sort=True):
            add(name, str(label), part)
    return found


def form(found: Evaluation) -> dict[str, Any]:
    """A form with its scores."""
    table = found.table
    further = table[table["set"] != "shipped"]
    result = {
        "name": found.name,
        "refinements": list(found.refinements),
        "scores": scores(table),
        "signed_errors": signed_errors(table),
        "constants": {path: rounded(value, 4) for path, value in found.constants.items()},
        "spreads": {name: rounded(value, 3) for name, value in found.spreads.items()},
        "unconverged": rounded(found.unconverged, 2),
    }
    if len(further):
        result["further"] = scores(further)
    return result


def rows(forms: Sequence[Evaluation]) -> list[dict[str, Any]]:
    """Every predicted row with what each form says of it."""
    first = forms[0].table
    found = []
    for place, row in enumerate(first.to_dict("records")):
        entry: dict[str, Any] = {
            key: row[key] for key in ("group", "system", "source", "set", "accelerator")
        }
        entry["accelerators"] = int(row["accelerators"])
        entry["measured_s"] = rounded(row["measured_s"])
        entry["forms"] = {
            item.name: {
                "predicted_s": rounded(item.table["predicted_s"].iloc[place]),
                "lower_s": rounded(item.table["lower_80"].iloc[place]),
                "upper_s": rounded(item.table["upper_80"].iloc[place]),
                "error": rounded(item.table["error"].iloc[place], 4),
            }
            for item in forms
        }
        found.append(entry)
    return found


def gain(found: Gain) -> dict[str, Any]:
    """A gain with its errors."""
    return {
        "log_density": estimate(found.log_density),
        "interval_score": estimate(found.interval_score),
    }


def excluded(items: Sequence[Excluded | ExcludedFleet]) -> list[dict[str, str]]:
    """What is left out, and why."""
    return [
        {
            "system": item.row.name,
            "place": item.row.place,
            "what": getattr(item, "what", "step time"),
            "reason": item.reason,
        }
        for item in items
    ]


def series(found: Series) -> dict[str, Any]:
    """A batch series under one form."""
    return {
        "form": found.form,
        "system": found.system,
        "rows": [
            {
                "name": name,
                "microbatches": count,
                "measured_s": rounded(measured),
                "modelled_s": rounded(modelled),
                "error": rounded(error, 3),
            }
            for name, count, measured, modelled, error in zip(
                found.names,
                found.microbatches,
                found.measured_s,
                found.modelled_s,
                found.errors,
                strict=True,
            )
        ],
        "measured": {
            "fixed_s": rounded(found.measured.fixed_s),
            "each_s": rounded(found.measured.each_s),
        },
        "modelled": {
            "fixed_s": rounded(found.modelled.fixed_s),
            "each_s": rounded(found.modelled.each_s),
        },
        "explained": found.is_explained,
    }


def fleets(found: Sequence[FleetEvaluation]) -> dict[str, Any]:
    """Failures and ETTR under every variant; gains over the first."""
    first = found[0]
    groups = [str(group) for group in first.table["group"]]
    variants = []
    for item in found:
        entry: dict[str, Any] = {
            "name": item.variant.name,
            "scores": scores(item.table),
            "effective_points": rounded(item.effective, 3),
        }
        difference = item.table["log_density"] - first.table["log_density"]
        change = item.table["interval_score"] - first.table["interval_score"]
        entry["gain"] = {
            "log_density": estimate(over_groups(difference, groups)),
            "interval_score": estimate(over_groups(change, groups)),
        }
        entry["rows"] = _records(
            item.table,
            ("system", "group", "counts", "events"),
            ("measured_per_node_day", "predicted_per_node_day", "lower_80", "upper_80"),
        )
        entry["ettr"] = _records(
            item.ettr,
            ("system", "group", "bound", "accelerators"),
            ("stated", "p10", "median", "p90", "chance"),
        )
        variants.append(entry)
    return {"variants": variants}


def _records(
    table: pd.DataFrame, texts: Sequence[str], numbers: Sequence[str]
) -> list[dict[str, Any]]:
    number: Callable[[Any], Any] = rounded
    found = []
    for row in table.to_dict("records"):
        entry = {name: row[name] for name in texts}
        if "events" in entry:
            entry["events"] = None if np.isnan(entry["events"]) else int(entry["events"])
        found.append({**entry, **{name: number(row[name]) for name in numbers}})
    return found
