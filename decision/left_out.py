"""Leaving observations out of a run: by weights, and by a posterior anew where those fail."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from decision.influence import AtCosts, Influence, Ranked, influences, weights_without
from decision.inputs import Inputs
from decision.outcomes import Outcomes, Question, evaluate
from decision.terms import draws_with_terms

if TYPE_CHECKING:
    from decision.economics import Economics
    from priors.draws import Draws

REFIT_DRAWS = 2000
"""Of a posterior without one observation: shares of first place to about one percent."""


class LeftOut:
    """Posteriors without one observation each, for every regime of a run.

    Parameters
    ----------
    inputs
        What was asked.
    log_likelihood
        Of each observation at each draw, shape (draws,), by its id.
    say
        Told what is being done.
    """

    def __init__(
        self,
        inputs: Inputs,
        log_likelihood: Mapping[str, NDArray[np.float64]],
        *,
        say: Callable[[str], None],
    ) -> None:
        self.inputs = inputs
        self.say = say
        self.weights = weights_without(log_likelihood)
        self._anew: dict[str, Draws] = {}

    def influences(
        self,
        question: Question,
        outcomes: Outcomes,
        chain: NDArray[np.int64] | None,
        economics: "Economics | None",
    ) -> list[Influence]:
        """What each observation does to the ranking of one regime, the most influential first."""
        inputs = self.inputs
        tolerance = inputs.request.risk_tolerance
        at_costs = None
        if economics is not None:
            found = economics.utilities
            at_costs = AtCosts(values=found.values, feasible=found.feasible, tolerance=tolerance)

        def anew(name: str) -> Ranked:
            draws = self._draws_without(name)
            again = evaluate(question, draws.columns)
            if at_costs is None or inputs.costs is None:
                return Ranked.of(again, draws.chain)
            from decision.utility import utilities

            costs = inputs.costs.draw(len(draws), inputs.request.seed)
            columns = {**draws.columns, **costs}
            worth = utilities(question, columns, inputs.costs, inputs.request.budget)
            return Ranked.of(
                again,
                draws.chain,
                AtCosts(values=worth.values, feasible=worth.feasible, tolerance=tolerance),
            )

        return influences(Ranked.of(outcomes, chain, at_costs), self.weights, anew)

    def _draws_without(self, name: str) -> "Draws":
        """Draws of the posterior that never saw an observation, sampled once for all regimes."""
        if name not in self._anew:
            from priors.posterior import condition

            inputs, seed = self.inputs, self.inputs.request.seed
            distrusted = [item for item, one in self.weights.items() if not one.trusted]
            place = f"{distrusted.index(name) + 1} of {len(distrusted)}"
            self.say(f"sampling anew without {name} ({place}), which no weights can leave out")
            posterior = condition(
                inputs.scenario_catalogue,
                inputs.evidence.without(name),
                inputs.scenario,
                draws=REFIT_DRAWS,
                seed=seed,
            )
            self._anew[name] = draws_with_terms(posterior.draws, inputs.terms, seed)
        return self._anew[name]
