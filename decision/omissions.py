"""Leaving observations out of a run: draws by their weights, or a posterior sampled anew."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from decision.influence import AtCosts, Influence, Ranked, influences
from decision.inputs import Inputs
from decision.outcomes import Outcomes, Question, evaluate
from decision.terms import draws_with_terms

if TYPE_CHECKING:
    from decision.economics import Economics
    from model.scenario import Scenario
    from priors.catalogue import Catalogue
    from priors.draws import Draws
    from priors.importance import LeftOut
    from priors.observations import Evidence

REFIT_DRAWS = 2000
"""Of a posterior without one observation: shares of first place to about one percent."""


class Omissions:
    """Every observation left out in turn, for every regime of a run.

    Parameters
    ----------
    inputs
        What was asked.
    draws
        Of the posterior, with what is uncertain about interventions.
    left_out
        Weights of the draws without each observation.
    say
        Told what is being done.
    """

    def __init__(
        self,
        inputs: Inputs,
        draws: "Draws",
        left_out: "Sequence[LeftOut]",
        *,
        say: Callable[[str], None],
    ) -> None:
        self.inputs = inputs
        self.draws = draws
        self.left_out = left_out
        self.say = say
        self._anew: dict[str, Draws] = {}

    def influences(
        self, question: Question, outcomes: Outcomes, economics: "Economics | None"
    ) -> list[Influence]:
        """What each observation does to the ranking of one regime, the most influential first."""
        at_costs = None
        if economics is not None:
            found = economics.utilities
            at_costs = AtCosts(
                values=found.values,
                feasible=found.feasible,
                tolerance=self.inputs.request.risk_tolerance,
            )

        def moved(one: "LeftOut") -> Ranked:
            columns = {path: column[one.rows] for path, column in self.draws.columns.items()}
            draws = replace(self.draws, columns={**columns, **one.moved}, chain=None)
            return self._ranked(question, draws)

        def anew(name: str) -> Ranked:
            return self._ranked(question, self._draws_without(name))

        whole = Ranked.of(outcomes, self.draws.chain, at_costs)
        own = self.inputs.evidence.own if self.inputs.request.refits else frozenset()
        return influences(whole, self.left_out, own=own, moved=moved, anew=anew)

    def _ranked(self, question: Question, draws: "Draws") -> Ranked:
        """Other draws, ranked as those of the run."""
        inputs = self.inputs
        outcomes = evaluate(question, draws.columns)
        if inputs.costs is None:
            return Ranked.of(outcomes, draws.chain)
        from decision.utility import utilities

        costs = inputs.costs.draw(len(draws), inputs.request.seed)
        columns = {**draws.columns, **costs}
        worth = utilities(question, columns, inputs.costs, inputs.request.budget)
        return Ranked.of(
            outcomes,
            draws.chain,
            AtCosts(
                values=worth.values,
                feasible=worth.feasible,
                tolerance=inputs.request.risk_tolerance,
            ),
        )

    def _draws_without(self, name: str) -> "Draws":
        """Draws of the posterior that never saw an observation, sampled once for all regimes."""
        if name not in self._anew:
            from joblib import Parallel, cpu_count, delayed

            inputs, seed = self.inputs, self.inputs.request.seed
            own = inputs.evidence.own
            names = [one.id for one in self.left_out if one.id in own and not one.trusted]
            self.say(f"sampling anew without {', '.join(names)}: no weights can leave these out")
            posteriors = Parallel(n_jobs=min(len(names), cpu_count()))(
                delayed(_conditioned_without)(
                    inputs.scenario_catalogue, inputs.evidence, inputs.scenario, left_out, seed
                )
                for left_out in names
            )
            self._anew = {
                left_out: draws_with_terms(draws, inputs.terms, seed)
                for left_out, draws in zip(names, posteriors, strict=True)
            }
        return self._anew[name]


def _conditioned_without(
    catalogue: "Catalogue", evidence: "Evidence", scenario: "Scenario", name: str, seed: int
) -> "Draws":
    from priors.conditioning import condition

    without = evidence.without(name)
    return condition(catalogue, without, scenario, draws=REFIT_DRAWS, seed=seed).draws
