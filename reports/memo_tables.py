"""The tables of the memo."""

from collections.abc import Mapping, Sequence
from typing import Any

from reports import findings, verdicts
from reports.markdown import LONGEST_SOURCE, MEMO, cell, escaped, table
from reports.numbers import NOTHING

HARDLY_DECIDING = 0.05
"""Share of what decides who ranks first below which an assumption is named only."""

MOST_ASSUMPTIONS = 14
"""Rows that leave the memo on two pages; the others are named."""


def options_table(answer: Mapping[str, Any]) -> str:
    """What each option is worth, best first; at its cost where there is one."""
    economics = verdicts.economics_of(answer)
    if economics is not None:
        return _at_costs(answer, economics)
    effective = answer["effective_draws"]
    rows = []
    for option in answer["options"]:
        baseline = option["option"] == findings.DO_NOTHING
        unattainable = option["p_unattainable"]
        rows.append(
            [
                f"{cell(option['option'])}: {cell(option['description'])}",
                *(
                    NOTHING if baseline else MEMO.sea(option["sea"][key])
                    for key in ("p10", "p50", "p90")
                ),
                NOTHING if baseline else MEMO.estimate(unattainable, effective),
                MEMO.share_with_error(option["p_first"], option["p_first_mcse"], effective),
                MEMO.amount_with_error(option["expected_regret"], option["expected_regret_mcse"]),
            ]
        )
    heads = (
        "Option",
        "Ceiling, pays in 90%",
        "in 50%",
        "in 10%",
        "Cannot be bought",
        "Ranks first",
        "Expected loss",
    )
    return table(heads, rows, "lrrrrrr")


def _at_costs(answer: Mapping[str, Any], economics: Mapping[str, Any]) -> str:
    levels = list(economics["options"][0]["break_even"])
    rows = []
    for option in answer["options"]:
        one = verdicts.appraisal_of(economics, option["option"])
        baseline = option["option"] == findings.DO_NOTHING
        rows.append(
            [
                f"{cell(option['option'])}: {cell(option['description'])}",
                NOTHING if baseline else MEMO.amount(one["cost"]["mean"]),
                verdicts.share(one["p_pays"], answer, MEMO),
                *(NOTHING if baseline else MEMO.sea(one["break_even"][level]) for level in levels),
                NOTHING if baseline else verdicts.estimate(one["net_value"], MEMO),
                verdicts.share(one["p_best"], answer, MEMO),
                verdicts.estimate(one["expected_loss"], MEMO)
                if one["feasible"]
                else verdicts.OVER_BUDGET,
            ]
        )
    heads = (
        "Option",
        "Cost",
        "P(pays)",
        *(f"Pays in {level} up to" for level in levels),
        "Net value",
        "Best choice",
        "Expected loss",
    )
    return table(heads, rows, "l" + "r" * (len(heads) - 1))


def regimes_table(answers: Sequence[Mapping[str, Any]]) -> str:
    """What changes between regimes, under its heading; empty where there is one only."""
    if len(answers) == 1:
        return ""
    rows = []
    for answer in answers:
        economics = verdicts.economics_of(answer)
        name = economics["decision"]["option"] if economics else answer["recommended"]
        chosen = findings.option_of(answer, name)
        outside, effective = answer["p_out_of_scope"], answer["effective_draws"]
        rows.append(
            [
                findings.regime_name(answer, MEMO),
                cell(answer["leader"]),
                findings.first_place(answer, answer["leader"], MEMO),
                verdicts.short_verdict(answer, MEMO)
                if verdicts.economics_of(answer)
                else cell(chosen["option"]),
                MEMO.sea(chosen["sea"]["p10"]),
                MEMO.sea(chosen["sea"]["p50"]),
                MEMO.estimate(outside, effective),
            ]
        )
    heads = (
        "Regime",
        "Most often first",
        "in",
        "Decision" if verdicts.economics_of(answers[0]) else "Least expected loss",
        "its ceiling, 90%",
        "50%",
        "Out of scope",
    )
    return f"## What changes in other regimes\n\n{table(heads, rows, 'llrlrrr')}\n\n"


def assumptions_table(summary: Mapping[str, Any]) -> str:
    """What is uncertain, before and after the evidence, with basis, source and owner.

    Where it is known what decides who ranks first, assumptions that hardly do are named below the
    table only: two pages hold what a board must look at.
    """
    shown, rest, reason = _told_apart(summary)
    parameters = summary["parameters"]
    after = "After evidence" if summary["question"]["source"] == "posterior" else "In the file"
    columns = [
        (head, key)
        for head, key in (("Before evidence", "prior"), (after, "posterior"))
        if any(parameter[key] for parameter in parameters)
    ]
    heads = ["Assumption", *(f"{head}: P50 (P10–P90)" for head, _ in columns)]
    heads += ["Basis and source", "Owner"]
    rows = []
    for parameter in shown:
        unit = "" if parameter["unit"] in {"", "1"} else f", {escaped(parameter['unit'])}"
        rows.append(
            [
                f"{cell(parameter['meaning'])}{unit}",
                *(_quantiles(parameter[key]) for _, key in columns),
                f"{escaped(parameter['basis'])}: {cell(parameter['source'], LONGEST_SOURCE)}",
                cell(parameter["owner"]) or NOTHING,
            ]
        )
    if not rows:
        return "No parameter of the scenario is uncertain in this run."
    text = table(heads, rows, "l" * len(heads))
    name = "meaning" if reason else "path"
    left_out = [cell(parameter[name]) for parameter in rest]
    return f"{text}\n\nAlso uncertain{reason}: {', '.join(left_out)}." if left_out else text


def _told_apart(
    summary: Mapping[str, Any],
) -> tuple[Sequence[Mapping[str, Any]], Sequence[Mapping[str, Any]], str]:
    """Assumptions for the table, those named only, and why."""
    parameters = summary["parameters"]
    found = summary["answers"][0].get("drivers")
    if not found or not found["winner"]:
        return parameters[:MOST_ASSUMPTIONS], parameters[MOST_ASSUMPTIONS:], ""
    deciding = {one["factor"] for one in found["winner"] if one["value"] >= HARDLY_DECIDING}
    shown = [one for one in parameters if one["path"] in deciding][:MOST_ASSUMPTIONS]
    rest = [one for one in parameters if one not in shown]
    if any(one["path"] in deciding for one in rest):
        return shown, rest, ""
    return shown, rest, f", each deciding less than {100 * HARDLY_DECIDING:.0f}% of who ranks first"


def _quantiles(spread: Mapping[str, Any] | None) -> str:
    if spread is None or spread["p50"] is None:
        return NOTHING
    low, middle, high = (MEMO.beside(spread["p50"], spread[key]) for key in ("p10", "p50", "p90"))
    return f"{middle} ({low}–{high})"
