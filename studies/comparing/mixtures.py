"""Results with some inputs of a newer run and the others of an older one.

Shapes: n draws, K options of which the first is "do nothing".
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from decision.economics import order_of_merit
from decision.finished import Past
from decision.inputs import Inputs, gather
from decision.outcomes import Outcomes, Question, evaluate
from decision.rank import draw
from decision.ranking import first_place_credit, regret
from decision.risk import best_credit, opportunity_loss, pays
from decision.terms import draw_terms
from decision.utility import Utilities, utilities
from model.interventions import Regime
from priors.draws import Draws
from studies.comparing.changes import COSTS, EVIDENCE, INTERVENTIONS, PRIORS, SCENARIO

FIELDS = {
    SCENARIO: ("scenario", "at_scale", "settings", "solver"),
    INTERVENTIONS: ("interventions", "only", "bundles"),
    PRIORS: ("priors",),
    EVIDENCE: ("evidence",),
    COSTS: ("costs", "budget", "risk_tolerance"),
}
"""What a request holds of each input."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One set of results.

    Parameters
    ----------
    options
        Names, doing nothing first.
    values
        Draws of each quantity whose mean is reported, NaN for an option that has none; (n, K).
    chain
        Chain of each draw, None for independent draws.
    choice
        Option that is funded at these costs; without costs the one of least expected regret.
    """

    options: tuple[str, ...]
    values: Mapping[str, np.ndarray]
    chain: np.ndarray | None
    choice: str

    @property
    def draws(self) -> int:
        """Number of draws."""
        return len(self.values["gain"])

    def of(self, option: str) -> Mapping[str, np.ndarray]:
        """Draws of one option by quantity; (n,) each."""
        index = self.options.index(option)
        return {name: values[:, index] for name, values in self.values.items()}


def sample_of(
    outcomes: Outcomes,
    found: Utilities | None,
    risk_tolerance: float | None,
    chain: np.ndarray | None,
) -> Sample:
    """The reported quantities draw by draw."""
    loss = regret(outcomes)
    values = {"gain": outcomes.gain, "p_first": first_place_credit(outcomes), "regret": loss}
    choice = outcomes.options[int(loss.mean(axis=0).argmin())]
    if found is not None:
        shape = found.values.shape
        credit, forgone = np.full(shape, np.nan), np.full(shape, np.nan)
        chosen = found.admissible
        credit[:, chosen] = best_credit(found.values[:, chosen])
        forgone[:, chosen] = opportunity_loss(found.values[:, chosen])
        paying = pays(outcomes.sea, found.costs).astype(np.float64)
        paying[:, 0] = np.nan
        values |= {
            "cost": np.broadcast_to(found.expected_costs, shape),
            "net_value": found.values - found.values[:, :1],
            "p_pays": paying,
            "p_best": credit,
            "expected_loss": forgone,
        }
        choice = found.options[order_of_merit(found, risk_tolerance)[0]]
    return Sample(options=outcomes.options, values=values, chain=chain, choice=choice)


def stored(run: Past, regime: str) -> Sample:
    """What a run itself found."""
    outcomes, inputs, draws = run.outcomes(regime), run.inputs, run.draws
    found = None
    if inputs.costs is not None:
        economics = run.answer(regime)["economics"]
        columns = {name: run.part(regime, name) for name in run.table}
        interventions = inputs.questions[0][1].interventions
        amounts = np.zeros(outcomes.gain.shape)
        expected = np.zeros(amounts.shape[1])
        for index, option in enumerate(interventions, start=1):
            amounts[:, index] = inputs.costs.of(option, columns, run.count)
            expected[index] = inputs.costs.expected(option)
        found = Utilities(
            options=outcomes.options,
            values=np.column_stack(
                [run.part(regime, f"utility_{name}") for name in outcomes.options]
            ),
            costs=amounts,
            expected_costs=expected,
            budget=economics["budget"],
            feasible=expected <= economics["budget"],
            horizon_days=economics["horizon_days"],
        )
    return sample_of(outcomes, found, inputs.request.risk_tolerance, draws.chain)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixtures:
    """Results that today's code gives on inputs of two runs.

    Parameters
    ----------
    before, after
        The runs.
    say
        Told what is being done.
    kept
        Draws by what determines them.
    read
        Inputs by what is taken from the newer run and whose draws they have.
    """

    before: Past
    after: Past
    say: Callable[[str], None]
    kept: dict[tuple[object, ...], Draws] = field(default_factory=dict)
    read: dict[tuple[frozenset[str], Path], Inputs] = field(default_factory=dict)

    @property
    def by_file(self) -> bool:
        """Whether draws of one run cannot be made again."""
        return not (self.before.redrawable and self.after.redrawable)

    def inputs(self, taken: Iterable[str], draws_of: Past) -> Inputs:
        """Inputs with those taken from the newer run, drawn as often and with the seed as a run.

        Raises
        ------
        InputError
            If they do not go together.
        """
        key = (frozenset(taken), draws_of.directory)
        if key not in self.read:
            old, new, drawn = (run.inputs.request for run in (self.before, self.after, draws_of))
            changes = {name: getattr(new, name) for part in key[0] for name in FIELDS[part]}
            self.read[key] = gather(
                replace(
                    old,
                    **changes,
                    regime=None,
                    draws=drawn.draws,
                    seed=drawn.seed,
                    # Told of, not swapped: no study changes what is funded without it.
                    studies_on_offer=None,
                )
            )
        return self.read[key]

    def sample(self, taken: Iterable[str], regime: str, draws_of: Past | None = None) -> Sample:
        """Results with the inputs taken from the newer run.

        Parameters
        ----------
        taken
            Inputs of the newer run; the others are those of the older.
        regime
            Name of the regime, empty for the scenario as described.
        draws_of
            Whose number of draws and seed it has, by default those of the newer run.
        """
        draws_of = draws_of or self.after
        inputs = self.inputs(taken, draws_of)
        question = replace(inputs.questions[0][1], regime=_regime(inputs, regime))
        draws = self._draws(inputs, draws_of)
        count, seed = len(draws), inputs.request.seed
        columns = {**draws.columns, **draw_terms(inputs.terms, count, seed)}
        outcomes = evaluate(question, columns)
        found = None
        if inputs.costs is not None:
            found = self._utilities(question, columns, inputs, count)
        return sample_of(outcomes, found, inputs.request.risk_tolerance, draws.chain)

    @staticmethod
    def _utilities(
        question: Question, columns: Mapping[str, np.ndarray], inputs: Inputs, count: int
    ) -> Utilities | None:
        if inputs.costs is None:
            return None
        costs = inputs.costs.draw(count, inputs.request.seed)
        return utilities(question, {**columns, **costs}, inputs.costs, inputs.request.budget)

    def _draws(self, inputs: Inputs, draws_of: Past) -> Draws:
        """Draws of the parameters: those that a run keeps where they are the same ones."""
        if self.by_file:
            return draws_of.draws
        key = _key(inputs)
        for run in (self.before, self.after):
            if key == _key(run.inputs) and is_current(run):
                return run.draws
        if key not in self.kept:
            self.say("drawing parameters given a mixture of the inputs")
            self.kept[key] = draw(inputs, self.say)[0]
        draws = self.kept[key]
        # What is uncertain about interventions is drawn for each mixture anew.
        terms = {term.column for term in inputs.terms}
        own = {path: column for path, column in draws.columns.items() if path not in terms}
        return replace(draws, columns=own)


def is_current(run: Past) -> bool:
    """Whether the code and versions of now made a run."""
    return run.made_with == _made_now(run)


def _made_now(run: Past) -> tuple[str, str]:
    digests = run.inputs.digests()
    return digests["code"], digests["versions"]


def _key(inputs: Inputs) -> tuple[object, ...]:
    """What determines the draws of the parameters."""
    return (
        inputs.source,
        inputs.scenario_catalogue.digest,
        inputs.evidence.digest,
        inputs.scenario.stack,
        inputs.scenario.fleet,
        inputs.draws,
        inputs.request.seed,
    )


def _regime(inputs: Inputs, name: str) -> Regime | None:
    if not name:
        return None
    return next(one for one in inputs.intervention_file.regimes if one.name == name)
