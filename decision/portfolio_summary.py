"""Programs as plain data, and as rows of a table."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from decision.further import summary_of
from decision.inputs import Inputs
from decision.plain import finite
from decision.program_choice import BudgetPoint, Chooser, Chosen, Pair, Share
from decision.rules import Rules
from priors.draws import Draws

if TYPE_CHECKING:
    from priors.conditioned import Posterior

CSV_COLUMNS = (
    "regime",
    "budget",
    "criterion",
    "program",
    "cost",
    "bought",
    "expected",
    "expected_error",
    "gain",
    "gain_error",
    "p_beats",
    "tail",
    "tail_error",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Portfolio:
    """Programs of one regime.

    Parameters
    ----------
    chooser
        What was chosen from.
    frontier
        The best programs along budgets.
    at_budget
        The best programs at the budget asked for.
    pairs
        How every two interventions go together.
    shares
        Shares of the best program's gain.
    gap
        Largest shortfall of the search where all can be tried, over the gain; None where all were
        tried.
    """

    chooser: Chooser
    frontier: tuple[BudgetPoint, ...]
    at_budget: BudgetPoint
    pairs: tuple[Pair, ...]
    shares: tuple[Share, ...]
    gap: float | None


def describe(
    inputs: Inputs,
    draws: Draws,
    rules: Rules,
    answers: Sequence[Portfolio],
    posterior: "Posterior | None",
) -> dict[str, Any]:
    """The whole answer as plain data.

    Parameters
    ----------
    inputs, draws
        What was asked, of which draws.
    rules
        Which interventions go together.
    answers
        One a regime.
    posterior
        What the draws are of; None for priors alone or a file.
    """
    free = "No costs are given: interventions are free, and the budget buys accelerators."
    return summary_of(
        inputs,
        draws,
        posterior,
        particulars={
            "rules": rules.source,
            "exclusions": [sorted(one) for one in rules.exclusions],
            "prerequisites": {name: sorted(all_) for name, all_ in rules.prerequisites.items()},
        },
        notes=[free] if inputs.costs is None else [],
        answers=[
            _answer(regime, question.horizon_days, answer)
            for (regime, question), answer in zip(inputs.questions, answers, strict=True)
        ],
    )


def _answer(regime: str, horizon_days: float, answer: Portfolio) -> dict[str, Any]:
    names = answer.chooser.programs.names

    def program(chosen: Chosen) -> dict[str, Any]:
        return {
            "program": [name for index, name in enumerate(names) if chosen.mask >> index & 1],
            "cost": chosen.cost,
            "bought": chosen.bought,
            "expected": chosen.expected,
            "expected_error": chosen.expected_error,
            "gain": chosen.gain,
            "gain_error": chosen.gain_error,
            "p_beats": chosen.p_beats,
            "tail": chosen.tail,
            "tail_error": chosen.tail_error,
        }

    def point(one: BudgetPoint) -> dict[str, Any]:
        return {
            "budget": one.budget,
            "considered": one.considered,
            "best": program(one.best),
            "careful": program(one.careful),
            "buying": program(one.buying),
        }

    return {
        "regime": regime,
        "horizon_days": horizon_days,
        "budget": answer.at_budget.budget,
        "interventions": list(names),
        "considered": answer.at_budget.considered,
        "optimality_gap": answer.gap,
        "programs": [program(one) for one in answer.at_budget.listed],
        "careful": program(answer.at_budget.careful),
        "buying": program(answer.at_budget.buying),
        "frontier": [point(one) for one in answer.frontier],
        "pairs": [
            {
                "first": pair.first,
                "second": pair.second,
                "kind": pair.kind,
                "interaction": pair.interaction,
                "interaction_error": pair.interaction_error,
                "additivity_error": finite(pair.additivity_error),
            }
            for pair in answer.pairs
        ],
        "shares": [
            {
                "name": share.name,
                "shapley": share.shapley,
                "shapley_error": share.shapley_error,
                "alone": share.alone,
                "last": share.last,
            }
            for share in answer.shares
        ],
    }


def write_csv(summary: Mapping[str, Any], path: Path) -> None:
    """Write ``programs.csv``: for each budget the best program by expectation and by CVaR."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, CSV_COLUMNS, lineterminator="\n")
        writer.writeheader()
        for answer in summary["answers"]:
            for point in answer["frontier"]:
                for criterion in ("best", "careful", "buying"):
                    chosen = point[criterion]
                    writer.writerow(
                        {
                            "regime": answer["regime"],
                            "budget": point["budget"],
                            "criterion": criterion,
                            **chosen,
                            "program": "+".join(chosen["program"]),
                        }
                    )
