"""Which formulas a question is answered with, and what others would answer.

Under ``--form mixed`` every draw has a form of its own: column ``form`` of the draws, 0 for the
published formulas and 1 for the refined ones, is a parameter like any other.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from decision.terms import Delivery, Term
from model.errors import InputError
from model.forms import CUSTOM, MIXED, PUBLISHED, REFINED, Form, form_name, ordered, read_forms
from model.scenario import Scenario, substitute

if TYPE_CHECKING:
    from decision.outcomes import Outcomes, Question
    from priors.conditioned import Posterior
    from priors.diagnostics import Diagnostics

FORM = "form"
"""Column of draws that says which formulas each is evaluated with."""

ORDER = (PUBLISHED, REFINED)
"""Forms by the value of that column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """Formulas of a request.

    Parameters
    ----------
    name
        ``published``, ``refined``, ``mixed``, or ``custom`` for a set of the scenario's own.
    scenario
        The scenario with its refinements; of a mixture those of the likelier form.
    mixture
        Refinements by the value of column ``form``; empty unless mixed.
    terms
        The form as an uncertain parameter; empty unless mixed.
    notes
        What a reader should be told, one sentence each.
    """

    name: str
    scenario: Scenario
    mixture: tuple[tuple[str, ...], ...] = ()
    terms: tuple[Term, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def used(self) -> tuple[tuple[str, ...], ...]:
        """Sets of refinements that some draw has."""
        return self.mixture or (self.scenario.refinements,)

    @property
    def refinements(self) -> tuple[str, ...]:
        """Every refinement that some draw may have."""
        return ordered({name for names in self.used for name in names})


def choose_form(name: str | None, scenario: Scenario, settings: Mapping[str, str]) -> Chosen:
    """The formulas that ``--form`` asks for; without it those of the scenario.

    Raises
    ------
    InputError
        If ``--set refinements=…`` states others.
    """
    if name is None:
        return Chosen(name=form_name(scenario.refinements), scenario=scenario)
    if "refinements" in settings:
        raise InputError.single(
            message="a form is a set of refinements, and --set states another",
            source="--form",
            path=name,
            remedy="leave out the one or the other",
        )
    forms = read_forms()
    mixture: tuple[tuple[str, ...], ...] = ()
    terms: tuple[Term, ...] = ()
    chosen = name
    if name == MIXED:
        mixture = tuple(forms[form].refinements for form in ORDER)
        terms = (form_term(forms),)
        chosen = max(ORDER, key=lambda form: forms[form].weight)
    refinements = forms[chosen].refinements
    notes: tuple[str, ...] = ()
    if scenario.refinements and scenario.refinements != refinements:
        notes = (
            f"The scenario file asks for {', '.join(scenario.refinements)}: "
            f"--form {name} takes precedence.",
        )
    return Chosen(
        name=name,
        scenario=substitute(scenario, {"refinements": refinements}),
        mixture=mixture,
        terms=terms,
        notes=notes,
    )


def form_term(forms: Mapping[str, Form]) -> Term:
    """The form as a parameter: refined with its stacking weight."""
    prior = Delivery(
        path=FORM,
        parameters=MappingProxyType({"probability": forms[REFINED].weight}),
        basis="derived",
        source="stacking weights of the forms on published systems",
        rationale=forms[REFINED].basis,
    )
    meaning = "formulas: 0 the published ones, 1 the refined ones"
    return Term(column=FORM, meaning=meaning, unit="", prior=prior)


def parts_by_form(
    question: "Question", columns: Mapping[str, np.ndarray]
) -> "list[tuple[np.ndarray, Question, dict[str, np.ndarray]]]":
    """Rows of each form with the question and the columns in it; empty unless draws have forms."""
    if not question.forms or FORM not in columns:
        return []
    refined = np.rint(columns[FORM]).astype(np.int64)
    parts = []
    for index, names in enumerate(question.forms):
        rows = np.flatnonzero(refined == index)
        if rows.size:
            scenario = substitute(question.scenario, {"refinements": names})
            asked = replace(question, scenario=scenario, forms=())
            some = {path: column[rows] for path, column in columns.items() if path != FORM}
            parts.append((rows, asked, some))
    return parts


NOT_TOLD = (
    "what each observation does, and whether it is as the model expects, depends on the formulas: "
    "--form published and --form refined each tell"
)


def mixture(posteriors: "Mapping[str, Posterior]", form: np.ndarray) -> "Posterior":
    """The posterior of each form on the draws that have it.

    Parameters
    ----------
    posteriors
        By form; of equally many draws, laid out alike in chains.
    form
        Column ``form``, shape (n,).
    """
    import hashlib

    first, second = (posteriors[name] for name in ORDER)
    refined = form > 0.5  # noqa: PLR2004 - 0 or 1
    columns = {
        path: np.where(refined, second.draws.columns[path], column)
        for path, column in first.draws.columns.items()
    }
    draws = replace(
        first.draws,
        columns=MappingProxyType(columns),
        source=" and ".join(
            f"{posterior.draws.source} ({name} formulas)" for name, posterior in posteriors.items()
        ),
    )
    notes = dict.fromkeys((*first.notes, *second.notes, NOT_TOLD))
    digest = "".join(posterior.digest for posterior in posteriors.values())

    def build() -> Any:
        import xarray as xr

        return xr.DataTree.from_dict(
            {name: posterior.tree() for name, posterior in posteriors.items()}
        )

    return replace(
        first,
        draws=draws,
        diagnostics=_joined(posteriors),
        digest=hashlib.sha256(digest.encode()).hexdigest(),
        notes=tuple(notes),
        netcdf=None,
        build=build,
        left_out=(),
        checks=(),
    )


def _joined(posteriors: "Mapping[str, Posterior]") -> "Diagnostics":
    found = [(name, posterior.diagnostics) for name, posterior in posteriors.items()]
    return replace(
        found[0][1],
        rows=tuple(
            replace(row, name=f"{row.name} ({name})") for name, one in found for row in one.rows
        ),
        divergences=sum(one.divergences for _, one in found),
        reasons=tuple(f"{name} formulas: {text}" for name, one in found for text in one.reasons),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Other:
    """What other formulas say to one question.

    Parameters
    ----------
    form
        Their name.
    weight
        Their stacking weight.
    outcomes
        Options on the draws they are evaluated on.
    chain
        Chain of each of these draws, None for independent ones.
    decision
        What they would decide at the stated costs, None without costs.
    """

    form: str
    weight: float
    outcomes: "Outcomes"
    chain: np.ndarray | None
    decision: str | None


type Decide = Callable[["Question", Mapping[str, np.ndarray], "Outcomes"], str | None]
"""What costs decide on a question, its columns and outcomes."""


def other_forms(
    question: "Question",
    columns: Mapping[str, np.ndarray],
    chain: np.ndarray | None,
    *,
    used: str,
    outcomes: "Outcomes",
    evaluate: "Callable[[Question, Mapping[str, np.ndarray]], Outcomes]",
    decide: Decide,
) -> list[Other]:
    """Answers of the forms that are not used.

    Of a mixture, each form on the draws that have it. Otherwise the other form on the same draws:
    they were conditioned with the formulas that are used.

    Parameters
    ----------
    question, columns, chain
        What was asked, of which draws.
    used
        Name of the form that is used.
    outcomes
        Its outcomes.
    evaluate, decide
        Rank options, and decide at costs.
    """
    forms = read_forms()
    if used == MIXED:
        found = []
        for rows, asked, some in parts_by_form(question, columns):
            name = form_name(asked.scenario.refinements)
            own = outcomes.take(rows)
            found.append(
                Other(
                    form=name,
                    weight=forms[name].weight,
                    outcomes=own,
                    chain=None if chain is None else chain[rows],
                    decision=decide(asked, some, own),
                )
            )
        return found
    others = ORDER if used == CUSTOM else [name for name in ORDER if name != used]
    result = []
    for name in others:
        scenario = substitute(question.scenario, {"refinements": forms[name].refinements})
        # Gains say who ranks first; no break-even is searched.
        asked = replace(question, scenario=scenario, solver=None)
        again = evaluate(asked, columns)
        result.append(
            Other(
                form=name,
                weight=forms[name].weight,
                outcomes=again,
                chain=chain,
                decision=decide(asked, columns, again),
            )
        )
    return result


_KEPT = "; what it alone reads keeps the scenario's values"
BASIS = {
    "posterior": "the other form on the same draws, which were conditioned with the formulas used"
    + _KEPT,
    "prior": "the other form on the same draws of the priors" + _KEPT,
    "file": "the other form on the same draws of the file" + _KEPT,
}
"""How the other form was evaluated, by where draws come from."""

BASIS_MIXED = "each form on the draws that have it, conditioned with its own formulas"


def describe_forms(
    others: Sequence[Other],
    *,
    used: str,
    source: str,
    leader: str,
    recommended: str,
    decision: str | None,
) -> dict[str, object]:
    """What the other forms say, as plain data.

    Parameters
    ----------
    others
        Answers of other forms.
    used, source
        The form that is used, and where draws come from.
    leader, recommended, decision
        What it says: first in most draws, largest expected gain, choice at costs.
    """
    from decision.precision import Layout, mean_error
    from decision.ranking import first_place_credit

    described: list[dict[str, object]] = []
    for other in others:
        outcomes = other.outcomes
        credit, gains = first_place_credit(outcomes), outcomes.gain.mean(axis=0)
        shares = credit.mean(axis=0)
        first = max(range(shares.size), key=lambda k: (shares[k], gains[k], -k))
        error = mean_error(credit[:, first], Layout.of(other.chain, outcomes.draws))
        best = int(gains.argmax())
        index = {name: k for k, name in enumerate(outcomes.options)}
        described.append(
            {
                "form": other.form,
                "weight": other.weight,
                "draws": outcomes.draws,
                "leader": outcomes.options[first],
                "p_first": float(shares[first]),
                "p_first_mcse": float(error),
                "p_first_used": float(shares[index[leader]]),
                "recommended": outcomes.options[best],
                "gain_used": float(gains[index[recommended]]),
                "gain_best": float(gains[best]),
                "decision": other.decision,
                "options": [
                    {
                        "option": outcomes.options[k],
                        "p_first": float(shares[k]),
                        "gain_mean": float(gains[k]),
                    }
                    for k in np.argsort(-gains, kind="stable").tolist()
                ],
            }
        )
    decisions = [one["decision"] == decision for one in described]
    return {
        "used": used,
        "basis": BASIS_MIXED if used == MIXED else BASIS[source],
        "others": described,
        "same_leader": all(one["leader"] == leader for one in described),
        "same_recommendation": all(one["recommended"] == recommended for one in described),
        "same_decision": None if decision is None else all(decisions),
    }
