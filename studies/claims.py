"""Claims as data: what was published, how it is computed, how far it may differ, the verdict.

A tolerance is part of a claim's text and fixed before anything is computed.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from studies.experiments.inputs import StudyInputs

type Comparison = Literal["equal", "at most", "at least", "reported"]

HOLDS = "holds"
FAILS = "does not hold"


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What claims are computed from.

    Parameters
    ----------
    inputs
        The study's.
    tables
        Tables of the experiments by key; ``e3`` under the published conventions, ``e3 exact``
        with the exact solver, signed.
    """

    inputs: StudyInputs
    tables: Mapping[str, pd.DataFrame]


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """One number of a claim.

    Parameters
    ----------
    name
        What it is.
    published
        Its value; infinite where a substitution value is unattainable.
    tolerance
        Largest absolute difference that counts as agreement.
    digits
        Decimals it is printed with.
    unit
        Its unit, empty for a pure number.
    comparison
        ``equal``; ``at most`` and ``at least`` for published bounds; ``reported`` where it is
        shown and not judged.
    """

    name: str
    published: float
    tolerance: float
    digits: int
    unit: str = ""
    comparison: Comparison = "equal"

    def agrees(self, computed: float) -> bool:
        """Whether a computed value is the published one."""
        if self.comparison == "reported":
            return True
        if math.isinf(self.published) or math.isinf(computed):
            return computed == self.published
        difference = computed - self.published
        if self.comparison == "at most":
            return difference <= self.tolerance
        if self.comparison == "at least":
            return difference >= -self.tolerance
        return abs(difference) <= self.tolerance

    def shown(self, value: float) -> str:
        """The quantity with a value, as a reader sees it."""
        if math.isnan(value):
            return f"{self.name} —"
        if math.isinf(value):
            return f"{self.name} unattainable"
        number = f"{value:,.{self.digits}f}"
        return f"{self.name} {number}{self.unit and ' ' + self.unit}"

    @property
    def shown_tolerance(self) -> str:
        """The tolerance, as a reader sees it."""
        if self.comparison == "reported":
            return "not judged"
        if math.isinf(self.published):
            return "exactly"
        sign = {"equal": "±", "at most": "≤ +", "at least": "≥ −"}[self.comparison]
        return f"{sign}{self.tolerance:.3g}{self.unit and ' ' + self.unit}"


type Measure = Callable[[Findings], Sequence[float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One row of the page of claims.

    Parameters
    ----------
    number
        As in the published list.
    text
        What is claimed.
    quantities
        Its numbers.
    reason
        Why the tolerances are what they are.
    needs
        Keys of the tables it is computed from.
    measure
        Computes the numbers under the published conventions.
    refine
        The same without them, NaN where there is nothing to add; None where nothing changes.
    refined_by
        What the second computation does differently.
    """

    number: int
    text: str
    quantities: tuple[Quantity, ...]
    reason: str
    needs: tuple[str, ...]
    measure: Measure
    refine: Measure | None = None
    refined_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A claim with its computed numbers.

    Parameters
    ----------
    claim
        The claim.
    computed, refined
        Its numbers under the published conventions and without; ``refined`` is empty where
        nothing changes.
    """

    claim: Claim
    computed: tuple[float, ...]
    refined: tuple[float, ...]

    @property
    def verdict(self) -> str:
        """Whether every number agrees."""
        pairs = zip(self.claim.quantities, self.computed, strict=True)
        return HOLDS if all(quantity.agrees(value) for quantity, value in pairs) else FAILS


def judge(claims: Sequence[Claim], findings: Findings) -> list[Judgement]:
    """Compute the claims whose tables are there.

    Raises
    ------
    ValueError
        If a claim computes another count of numbers than it states: a fault of this code.
    """
    judgements = []
    for claim in claims:
        if not set(claim.needs) <= set(findings.tables):
            continue
        computed = tuple(float(value) for value in claim.measure(findings))
        refined: tuple[float, ...] = ()
        if claim.refine is not None:
            refined = tuple(float(value) for value in claim.refine(findings))
        for values in (computed, refined or computed):
            if len(values) != len(claim.quantities):
                message = f"claim {claim.number} computes {len(values)} numbers"
                raise ValueError(message)
        judgements.append(Judgement(claim=claim, computed=computed, refined=refined))
    return judgements


def claims_table(judgements: Sequence[Judgement]) -> pd.DataFrame:
    """``claims.csv``: one row a claim."""
    rows = []
    for judgement in judgements:
        claim = judgement.claim
        quantities = claim.quantities
        refined = [
            quantity.shown(value)
            for quantity, value in zip(quantities, judgement.refined, strict=False)
            if not math.isnan(value)
        ]
        tolerances = dict.fromkeys(quantity.shown_tolerance for quantity in quantities)
        rows.append(
            {
                "number": claim.number,
                "claim": claim.text,
                "published": "; ".join(q.shown(q.published) for q in quantities),
                "computed": "; ".join(
                    q.shown(value) for q, value in zip(quantities, judgement.computed, strict=True)
                ),
                "tolerance": ", ".join(tolerances),
                "reason": claim.reason,
                "verdict": judgement.verdict,
                "refined": "; ".join(refined),
                "refined_by": claim.refined_by if refined else "",
            }
        )
    return pd.DataFrame(rows)


def quantities_table(judgements: Sequence[Judgement]) -> pd.DataFrame:
    """``claim_quantities.csv``: one row a number, unrounded."""
    rows = []
    for judgement in judgements:
        refined = judgement.refined or (math.nan,) * len(judgement.computed)
        for quantity, computed, second in zip(
            judgement.claim.quantities, judgement.computed, refined, strict=True
        ):
            rows.append(
                {
                    "number": judgement.claim.number,
                    "quantity": quantity.name,
                    "unit": quantity.unit,
                    "published": quantity.published,
                    "computed": computed,
                    "comparison": quantity.comparison,
                    "tolerance": quantity.tolerance,
                    "agrees": quantity.agrees(computed),
                    "refined": second,
                }
            )
    return pd.DataFrame(rows)
