"""The decision as plain data, and its cells of ``ranking.csv``."""

import numpy as np

from decision.economics import Appraisal, Economics, Estimate
from decision.plain import finite, sea_status
from decision.risk import CONFIDENCES

ECONOMICS_COLUMNS = (
    "cost",
    "p_pays",
    "p_pays_mcse",
    *(f"break_even_{level:.0%}".rstrip("%") for level in CONFIDENCES),
    "net_value",
    "net_value_mcse",
    "p_best",
    "p_best_mcse",
    "expected_loss",
    "expected_loss_mcse",
)
"""Columns that ``ranking.csv`` has beside the others where there are costs."""


def describe_economics(economics: Economics) -> dict[str, object]:
    """The decision and what it rests on as plain data."""
    curves, offer = economics.curves, economics.offer
    frontier = [curves.options[k] for k in curves.expected]

    def by_option(columns: np.ndarray) -> dict[str, list[float | None]]:
        return {
            option: [finite(value) for value in columns[:, k]]
            for k, option in enumerate(curves.options)
        }

    return {
        "horizon_days": economics.utilities.horizon_days,
        "budget": economics.utilities.budget,
        "stated_budget": economics.stated_budget,
        "risk_tolerance": economics.risk_tolerance,
        "options": [_appraisal(one) for one in economics.appraisals],
        "decision": {
            "verdict": economics.verdict,
            "option": economics.chosen,
            "rival": economics.rival,
            "lead": _estimate(economics.lead),
            "study": None
            if offer is None
            else {
                "name": offer.study,
                "size": offer.size,
                "unit": offer.unit,
                "value": _estimate(offer.value),
                "cost": offer.cost,
            },
        },
        "perfect_information": _estimate(economics.perfect_information),
        "feasible": list(economics.feasible),
        "p_beats": economics.p_beats.tolist(),
        "dominance": [
            {"over": over, "under": under, "order": order, "frequency": frequency}
            for over, under, order, frequency in economics.dominances
        ],
        "curves": {
            "factors": curves.factors.tolist(),
            "p_best": by_option(curves.p_best),
            "frontier": {"option": frontier, "p_best": curves.frontier.tolist()},
            "expected_loss": by_option(curves.expected_loss),
        },
        "own_curves": [
            {
                "option": curve.option,
                "costs": curve.costs.tolist(),
                "p_best": curve.p_best.tolist(),
            }
            for curve in economics.own_curves
        ],
    }


def _estimate(estimate: Estimate | None) -> dict[str, float | None] | None:
    if estimate is None or np.isnan(estimate.value):
        return None
    return {"value": finite(estimate.value), "mcse": finite(estimate.mcse)}


def _appraisal(one: Appraisal) -> dict[str, object]:
    low, middle, high = one.cost_quantiles
    worst, usual, best = one.net_quantiles
    return {
        "option": one.option,
        "feasible": one.feasible,
        "cost": {"mean": one.cost, "p10": low, "p50": middle, "p90": high},
        "p_pays": _estimate(one.p_pays),
        "break_even": {
            f"{level:.0%}": {
                "value": finite(estimate.value),
                "mcse": finite(estimate.mcse),
                "status": sea_status(estimate.value),
            }
            for level, estimate in zip(CONFIDENCES, one.break_even, strict=True)
        },
        "net_value": {
            **(_estimate(one.net_value) or {}),
            "p10": worst,
            "p50": usual,
            "p90": best,
        },
        "utility": _estimate(one.utility),
        "p_best": _estimate(one.p_best),
        "expected_loss": _estimate(one.expected_loss),
        "loss_p90": finite(one.loss_p90),
        "cvar": _estimate(one.tail),
        "certainty_equivalent": _estimate(one.certainty_equivalent),
    }


def economics_row(one: Appraisal) -> dict[str, object]:
    """The cells of one option's costs."""
    row: dict[str, object] = {"cost": one.cost}
    for level, estimate in zip(CONFIDENCES, one.break_even, strict=True):
        row[f"break_even_{level:.0%}".rstrip("%")] = estimate.value
    for name in ("p_pays", "net_value", "p_best", "expected_loss"):
        estimate = getattr(one, name)
        row[name], row[f"{name}_mcse"] = estimate.value, estimate.mcse
    return row
