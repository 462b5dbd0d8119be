"""What is uncertain about interventions, as parameters beside those of the scenario.

Each uncertain strength, delivery and day is a named column of draws with a prior of its own, so
that whatever looks at parameters sees it too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from model.field import Field
from model.intervention_entries import DAY, EFFECTIVE_FROM_DAY, FACTOR
from model.interventions import DELIVERED, Intervention
from model.parameters import BY_PATH
from priors.catalogue import Catalogue, Entry
from priors.distributions import Prior, Range
from priors.draws import Draws, uniforms
from priors.elicitation import read_prior
from priors.families import Floats

_CERTAIN = MappingProxyType({"probability": 1.0})
_EITHER = Range(lower=0.0, upper=1.0, text="0 or 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery(Prior):
    """Whether an intervention is delivered: 1 with its probability, else 0."""

    family: str = "bernoulli"
    parameters: Mapping[str, float] = _CERTAIN
    allowed: Range = _EITHER

    @property
    def support(self) -> tuple[float, float]:
        """Both."""
        return 0.0, 1.0

    def quantile(self, p: ArrayLike) -> Floats:
        """1 where ``p`` is above the probability that it is not delivered."""
        return np.asarray(np.asarray(p) > 1.0 - self.parameters["probability"], dtype=np.float64)

    def cdf(self, x: ArrayLike) -> Floats:
        """Probability of a value of at most ``x``."""
        missed = 1.0 - self.parameters["probability"]
        values = np.asarray(x, dtype=np.float64)
        return np.where(values < 0.0, 0.0, np.where(values < 1.0, missed, 1.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One uncertain quantity of an intervention.

    Parameters
    ----------
    column
        Its name among draws.
    meaning, unit
        What it is, for people.
    prior
        Its distribution.
    """

    column: str
    meaning: str
    unit: str
    prior: Prior


def read_distribution(raw: Mapping[str, object], column: str, of: Field, source: str) -> Prior:
    """Read a distribution of an intervention's strength or day as priors are read.

    Raises
    ------
    InputError
        With every problem found.
    """
    return read_prior(
        raw,
        path=column,
        allowed=Range.of(of),
        source=source,
        documentation={
            "basis": "assumed",
            "source": source,
            "rationale": "what the intervention is expected to deliver",
            "owner": "",
        },
    )


def terms_of(interventions: Sequence[Intervention]) -> tuple[Term, ...]:
    """What is uncertain about some interventions and their parts, each once."""
    terms: dict[str, Term] = {}
    for option in interventions:
        for part in option.parts or (option,):
            for term in _terms(part):
                terms.setdefault(term.column, term)
    return tuple(terms.values())


def _terms(part: Intervention) -> list[Term]:
    terms = []
    for quantity, prior in part.distributions.items():
        if not isinstance(prior, Prior) or prior.is_fixed:
            continue
        field = DAY if quantity == EFFECTIVE_FROM_DAY else BY_PATH[quantity]
        meaning, unit = f"{part.name}: {field.meaning}", field.unit
        if quantity in part.multipliers:
            meaning, unit = f"{part.name}: factor on {quantity}", FACTOR.unit
        terms.append(Term(column=prior.path, meaning=meaning, unit=unit, prior=prior))
    if 0.0 < part.probability_of_delivery < 1.0:
        column = part.column(DELIVERED)
        delivery = Delivery(
            path=column,
            parameters=MappingProxyType({"probability": part.probability_of_delivery}),
            rationale="chance of delivery as stated",
        )
        terms.append(
            Term(
                column=column, meaning=f"{part.name}: delivered (1) or not", unit="", prior=delivery
            )
        )
    return terms


def with_terms(catalogue: Catalogue, terms: Sequence[Term]) -> Catalogue:
    """The catalogue with the uncertain quantities of interventions beside its own."""
    if not terms:
        return catalogue
    entries = dict(catalogue.entries)
    for term in terms:
        entries[term.column] = Entry(
            prior=term.prior, shared_by="fleet", between_systems=None, elsewhere=term.prior
        )
    return replace(catalogue, entries=MappingProxyType(entries))


def draw_terms(terms: Sequence[Term], draws: int, seed: int) -> dict[str, np.ndarray]:
    """Draws of the uncertain quantities by column, the same as those of the joined catalogue."""
    return {term.column: term.prior.quantile(uniforms(term.column, draws, seed)) for term in terms}


def draws_with_terms(draws: Draws, terms: Sequence[Term], seed: int) -> Draws:
    """Draws with those of what is uncertain about interventions beside them."""
    if not terms:
        return draws
    return replace(draws, columns={**draws.columns, **draw_terms(terms, len(draws), seed)})
