"""Claims as data: agreement by kind, verdicts that can fail, tables."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from studies.claims import (
    FAILS,
    HOLDS,
    Claim,
    Findings,
    Quantity,
    claims_table,
    judge,
    quantities_table,
)
from studies.experiments.inputs import published_inputs
from studies.experiments.scale import ledger_by_scale
from studies.published_claims import CLAIMS

INPUTS = published_inputs()


@pytest.mark.parametrize(
    ("comparison", "published", "computed", "agrees"),
    [
        ("equal", 1.0, 1.09, True),
        ("equal", 1.0, 0.89, False),
        ("equal", np.inf, np.inf, True),
        ("equal", np.inf, 1e9, False),
        ("equal", 1.0, np.inf, False),
        ("equal", 1.0, np.nan, False),
        ("at most", 1.0, -50.0, True),
        ("at most", 1.0, 1.2, False),
        ("at least", 1.0, 50.0, True),
        ("at least", 1.0, 0.8, False),
        ("reported", np.nan, 3.0, True),
    ],
)
def test_quantity_agrees_within_its_tolerance(
    comparison: str, published: float, computed: float, agrees: bool
) -> None:
    quantity = Quantity(
        name="x",
        published=published,
        tolerance=0.1,
        digits=1,
        comparison=comparison,  # type: ignore[arg-type]
    )
    assert quantity.agrees(computed) is agrees


def test_claims_are_the_nineteen_published_ones() -> None:
    assert [claim.number for claim in CLAIMS] == list(range(1, 20))
    for claim in CLAIMS:
        assert claim.reason
        assert (claim.refine is None) == (claim.refined_by == "")
        judged = [q for q in claim.quantities if q.comparison != "reported"]
        assert all(np.isfinite(q.tolerance) for q in judged)
        assert judged


def test_claim_fails_where_a_table_is_off_by_one_in_a_thousand() -> None:
    # Negative control: claims 1 and 2 hold on the table as it is, and not on a scaled one.
    table = ledger_by_scale(INPUTS)
    wrong = table.assign(ucf=1.001 * table["ucf"])
    right, off = (
        judge(CLAIMS, Findings(inputs=INPUTS, tables={"e1": frame})) for frame in (table, wrong)
    )
    assert [(j.claim.number, j.verdict) for j in right] == [(1, HOLDS), (2, HOLDS)]
    assert [(j.claim.number, j.verdict) for j in off] == [(1, FAILS), (2, FAILS)]


def test_claims_without_their_tables_are_left_out() -> None:
    assert judge(CLAIMS, Findings(inputs=INPUTS, tables={})) == []


def one_claim(**changes: object) -> Claim:
    claim = Claim(
        number=1,
        text="two numbers",
        quantities=(
            Quantity(name="a", published=1.0, tolerance=0.05, digits=1, unit="%"),
            Quantity(name="b", published=np.inf, tolerance=0.0, digits=0),
        ),
        reason="because",
        needs=(),
        measure=lambda _: (1.04, np.inf),
        refine=lambda _: (1.2, np.nan),
        refined_by="another way",
    )
    return replace(claim, **changes)


def test_tables_of_claims_show_and_keep_every_number() -> None:
    judgements = judge([one_claim()], Findings(inputs=INPUTS, tables={}))
    (shown,) = claims_table(judgements).to_dict("records")
    assert shown["published"] == "a 1.0 %; b unattainable"
    assert shown["computed"] == "a 1.0 %; b unattainable"
    assert shown["tolerance"] == "±0.05 %, exactly"
    assert shown["refined"] == "a 1.2 %"
    assert shown["verdict"] == HOLDS
    numbers = quantities_table(judgements)
    assert list(numbers["computed"]) == [1.04, np.inf]
    assert list(numbers["agrees"]) == [True, True]
    assert pd.isna(numbers["refined"][1])


def test_claim_that_computes_another_count_of_numbers_is_a_fault() -> None:
    claim = one_claim(measure=lambda _: (1.0,))
    with pytest.raises(ValueError, match="claim 1 computes 1 numbers"):
        judge([claim], Findings(inputs=INPUTS, tables={}))
