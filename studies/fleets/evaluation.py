"""The population of fleets judged on fleets it never saw."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from model.scenario import Scenario
from priors.catalogue import Catalogue
from studies.fleets.ettr import EttrPrediction, foretell_ettr
from studies.fleets.population import (
    VARIANTS,
    Variant,
    effective_points,
    foretell,
    group_log_likelihoods,
    hyper_points,
)
from studies.fleets.rows import EttrRow, Failures
from studies.scoring import LEVELS, central_intervals, interval_score

DRAWS = 4096
SEED = 20261130


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetEvaluation:
    """Predictions of every row under one variant of the population model.

    Parameters
    ----------
    variant
        What it includes.
    table
        One row a published observation.
    ettr
        One row a published ratio.
    effective
        Effective hyperparameter points behind the worst left-out prediction.
    """

    variant: Variant
    table: pd.DataFrame
    ettr: pd.DataFrame
    effective: float


def evaluate_fleets(
    failures: Sequence[Failures],
    ratios: Sequence[EttrRow],
    catalogue: Catalogue,
    template: Scenario,
    refinements: Sequence[str],
) -> list[FleetEvaluation]:
    """Predict every row under every variant, its group left out."""
    results = []
    for variant in VARIANTS:
        hyper = hyper_points(catalogue, variant, seed=SEED)
        logs = group_log_likelihoods(failures, hyper)
        total = np.asarray(sum(logs.values()))
        predictions = foretell(failures, hyper, logs, draws=DRAWS, seed=SEED)
        draws = np.column_stack([found.log_rates for found in predictions])
        density = np.array([found.log_density for found in predictions])
        ettr = foretell_ettr(
            ratios,
            hyper,
            logs,
            catalogue=catalogue,
            template=template,
            refinements=refinements,
            draws=DRAWS,
            seed=SEED,
        )
        results.append(
            FleetEvaluation(
                variant=variant,
                table=_table(failures, variant, draws, density),
                ettr=_ettr_table(ettr, variant),
                effective=min(effective_points(total - own) for own in logs.values()),
            )
        )
    return results


def _table(
    failures: Sequence[Failures], variant: Variant, draws: np.ndarray, density: np.ndarray
) -> pd.DataFrame:
    measured = np.log([_printed(item) for item in failures])
    intervals = central_intervals(draws)
    scores = np.mean(
        [
            interval_score(low, high, measured, level)
            for level, (low, high) in zip(LEVELS, intervals, strict=True)
        ],
        axis=0,
    )
    table = pd.DataFrame(
        {
            "variant": variant.name,
            "group": [item.row.group for item in failures],
            "fleet": [item.row.fleet for item in failures],
            "system": [item.row.name for item in failures],
            "counts": [item.counts for item in failures],
            "events": [np.nan if item.events is None else item.events for item in failures],
            "node_days": [item.node_days or np.nan for item in failures],
            "measured_per_node_day": np.exp(measured),
            "predicted_per_node_day": np.exp(np.median(draws, axis=0)),
            "log_density": density,
            "interval_score": scores,
        }
    )
    for level, (low, high) in zip(LEVELS, intervals, strict=True):
        label = f"{level * 100:.0f}"
        table[f"lower_{label}"], table[f"upper_{label}"] = np.exp(low), np.exp(high)
        table[f"inside_{label}"] = (low <= measured) & (measured <= high)
    return table


def _printed(item: Failures) -> float:
    """The rate a row prints; half an event stands for none."""
    if item.events == 0 and item.node_days is not None:
        return 0.5 / item.node_days
    return item.rate_per_node_day


def _ettr_table(predictions: Sequence[EttrPrediction], variant: Variant) -> pd.DataFrame:
    quantiles = [np.quantile(found.draws, (0.1, 0.5, 0.9)) for found in predictions]
    return pd.DataFrame(
        {
            "variant": variant.name,
            "group": [found.item.row.group for found in predictions],
            "system": [found.item.row.name for found in predictions],
            "accelerators": [found.item.accelerators for found in predictions],
            "bound": [found.item.bound for found in predictions],
            "stated": [found.item.value for found in predictions],
            "p10": [low for low, _, _ in quantiles],
            "median": [middle for _, middle, _ in quantiles],
            "p90": [high for _, _, high in quantiles],
            "chance": [found.chance for found in predictions],
        }
    )
