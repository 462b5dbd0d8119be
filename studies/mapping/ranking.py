"""The uncertain ranking of one cell, on as many draws as its winner needs.

Shapes: n draws, K options, doing nothing first.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from decision.outcomes import Outcomes
from decision.precision import Layout, mean_error, paired_share_error, quantile_error
from decision.ranking import MATERIAL_SHARE, first_place_credit, regret, winners
from model.errors import InputError
from model.substitution import Solver
from studies.mapping.grid import Cell
from studies.mapping.regime import Ground, outcomes_of

if TYPE_CHECKING:
    import pandas as pd

if TYPE_CHECKING:
    pass

SEPARATED = 3.0
"""Monte Carlo errors by which the two that most often rank first must differ. The rule looks at
each doubling, so that three, not two, keep a false call below one in a hundred."""

QUANTILES = (0.10, 0.50, 0.90)

PER_OPTION = (
    "p_first",
    "p_first_mcse",
    "gain_mean",
    "expected_regret",
    "p_unattainable",
    "sea_p10",
    "sea_p50",
    "sea_p90",
)
"""Columns that a cell has once an option, as ``<column>.<option>``."""

RANKED, IMPOSSIBLE = "ranked", "impossible"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """The two options that most often rank first, and how well they are told apart.

    Parameters
    ----------
    first, second
        Their indices; the second is the first again where there is no other option.
    margin, margin_mcse
        Difference of their shares, with its paired simulation error.
    """

    first: int
    second: int
    margin: float
    margin_mcse: float

    @property
    def separated(self) -> bool:
        """Whether simulation error cannot have put the one before the other."""
        return self.margin > SEPARATED * self.margin_mcse


def lead_of(credit: np.ndarray, gain: np.ndarray, layout: Layout) -> Lead:
    """Who leads, ties in share going to the larger expected gain, then to the first listed."""
    shares, gains = credit.mean(axis=0), gain.mean(axis=0)
    order = sorted(range(shares.size), key=lambda k: (-shares[k], -gains[k], k))
    first, second = order[0], order[min(1, len(order) - 1)]
    effective = float(layout.effective(credit[:, first] - credit[:, second]))
    return Lead(
        first=first,
        second=second,
        margin=float(shares[first] - shares[second]),
        margin_mcse=paired_share_error(float(shares[first]), float(shares[second]), effective),
    )


def joined(parts: Sequence[Outcomes]) -> Outcomes:
    """Outcomes of several sets of draws, one after the other."""
    if len(parts) == 1:
        return parts[0]
    arrays = {
        field.name: np.concatenate([getattr(part, field.name) for part in parts])
        for field in fields(Outcomes)
        if field.name != "options"
    }
    return Outcomes(options=parts[0].options, **arrays)


def without_last(outcomes: Outcomes) -> tuple[Outcomes, str]:
    """Outcomes without the draw that holds the scenario's own values, and who ranks first there."""
    arrays = {
        field.name: getattr(outcomes, field.name)[:-1]
        for field in fields(Outcomes)
        if field.name != "options"
    }
    return Outcomes(options=outcomes.options, **arrays), _first(outcomes)


def _first(outcomes: Outcomes) -> str:
    """Who ranks first in the last draw."""
    best, _ = winners(outcomes)
    return outcomes.options[int(best[-1])]


def rank_cells(
    cells: Sequence[Cell], doublings: int, solver: Solver, *, ground: Ground
) -> "pd.DataFrame":
    """Rank the options of some cells: one row each.

    Parameters
    ----------
    cells
        Which.
    doublings
        How often the draws of a cell may be doubled while its winner is not separated.
    solver
        How SEA is searched.
    ground
        Everything that all cells share.
    """
    import pandas as pd

    return pd.DataFrame([_rank(cell, doublings, solver, ground) for cell in cells])


def _rank(cell: Cell, doublings: int, solver: Solver, ground: Ground) -> dict[str, Any]:
    row: dict[str, Any] = {
        "cell": cell.index,
        "panel": cell.panel,
        "row": cell.row,
        "column": cell.column,
        **cell.values,
    }
    sample = ground.sample(cell.values)
    try:
        parts: list[Outcomes] = []
        point, beside = "", bool(sample.columns)
        for stage in range(doublings + 1):
            rows = sample.rows(stage)
            rows = rows[sum(part.draws for part in parts) :]
            part = outcomes_of(ground, cell.values, rows, solver=solver, point=beside)
            if not parts:
                part, point = without_last(part) if beside else (part, _first(part))
                beside = False
            parts = [joined([*parts, part])]
            [outcomes] = parts
            layout = sample.layout(stage)
            credit = first_place_credit(outcomes)
            lead = lead_of(credit, outcomes.gain, layout)
            if lead.separated:
                break
    except InputError as error:
        return {**row, "status": IMPOSSIBLE, "reason": str(error.problems[0])}
    return {
        **row,
        "status": RANKED,
        "reason": "",
        "stage": stage,
        "point_winner": point,
        **_standing(outcomes, credit, lead, layout),
    }


def _standing(outcomes: Outcomes, credit: np.ndarray, lead: Lead, layout: Layout) -> dict[str, Any]:
    names, gain, loss = outcomes.options, outcomes.gain, regret(outcomes)
    first, second = lead.first, lead.second
    shares, share_errors = credit.mean(axis=0), mean_error(credit, layout)
    regrets, gains = loss.mean(axis=0), gain.mean(axis=0)
    chosen = min(range(regrets.size), key=lambda k: (regrets[k], -shares[k], k))
    difference = gain[:, first] - gain[:, second]
    errors = mean_error(np.column_stack([loss[:, first], difference]), layout)
    material = MATERIAL_SHARE * float(outcomes.pool.mean())
    quantiles = _quantiles(outcomes.sea)
    scoped = credit[outcomes.in_scope]
    ties = np.count_nonzero(credit, axis=1) > 1
    as_good = abs(float(difference.mean())) < material
    standing = {
        "draws": outcomes.draws,
        "effective_draws": float(layout.effective(credit[:, first])),
        "winner": names[first],
        "p_first": float(shares[first]),
        "p_first_mcse": float(share_errors[first]),
        "second": names[second] if second != first else "",
        "p_second": float(shares[second]) if second != first else np.nan,
        "p_second_mcse": float(share_errors[second]) if second != first else np.nan,
        "margin": lead.margin,
        "margin_mcse": lead.margin_mcse,
        "separated": lead.separated,
        "gain_difference": float(difference.mean()),
        "gain_difference_mcse": float(errors[1]),
        "material": material,
        "as_good": as_good,
        "contested": as_good or not lead.separated,
        "expected_regret": float(regrets[first]),
        "expected_regret_mcse": float(errors[0]),
        "recommended": names[chosen],
        "recommended_regret": float(regrets[chosen]),
        "p_tied": float(ties.mean()),
        "p_out_of_scope": float(1.0 - outcomes.in_scope.mean()),
        "winner_in_scope": names[int(scoped.mean(axis=0).argmax())] if scoped.size else "",
        "p_unattainable": float(np.isposinf(outcomes.sea[:, first]).mean()),
        "sea_p10": float(quantiles[0][first]),
        "sea_p50": float(quantiles[1][first]),
        "sea_p90": float(quantiles[2][first]),
        "sea_p50_mcse": float(quantile_error(outcomes.sea[:, first : first + 1], 0.5, layout)[0]),
        "recovery_pressure": float(np.median(outcomes.recovery_pressure)),
        "productive_mean": float(outcomes.productive.mean()),
        "pool_mean": float(outcomes.pool.mean()),
    }
    columns = {
        "p_first": shares,
        "p_first_mcse": share_errors,
        "gain_mean": gains,
        "expected_regret": regrets,
        "p_unattainable": np.isposinf(outcomes.sea).mean(axis=0),
        **dict(zip(("sea_p10", "sea_p50", "sea_p90"), quantiles, strict=True)),
    }
    for column in PER_OPTION:
        for option, value in zip(names, columns[column], strict=True):
            standing[f"{column}.{option}"] = float(value)
    return standing


def _quantiles(sea: np.ndarray) -> np.ndarray:
    """Quantiles of each option by the inverse of its distribution, in one pass; (3, K)."""
    draws = sea.shape[0]
    places = [max(0, int(np.ceil(probability * draws)) - 1) for probability in QUANTILES]
    return np.asarray(np.partition(sea, places, axis=0)[places])
