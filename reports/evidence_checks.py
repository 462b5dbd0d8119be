"""What became of the evidence, in sentences that the terminal and the memo share.

The figures are the summary's: predictive checks of the run, and the influence of each observation
on the ranking of an answer. Runs of priors alone, or of draws from a file, have neither.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from reports.findings import Answer, named
from reports.numbers import Notation

MOST_NAMED = 5
"""Observations that sentences name; the rest is counted."""

WHOLE = 1000.0
"""From here on three digits would round away whole numbers."""

UNITS = {"1": "", "s": " s"}


def records_of(summary: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The predictive checks of a run; none where it has no posterior."""
    evidence = summary.get("evidence")
    return [] if evidence is None else evidence["checks"]


def failing(summary: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Checks that the model does not explain, the worst first."""
    odd = [one for one in records_of(summary) if one["status"] != "explained"]
    return sorted(odd, key=lambda one: float(one["tail"]))


def check_lines(summary: Mapping[str, Any], notation: Notation) -> list[str]:
    """How many observations the model explains, and one sentence for each that it does not."""
    checks = records_of(summary)
    if not checks:
        return []
    odd = failing(summary)
    total = len({one["id"] for one in checks})
    fine = total - len({one["id"] for one in odd})
    if not odd:
        everything = f"All {total} observations are" if total > 1 else "The one observation is"
        return [f"{everything} as this model expects."]
    lines = [
        f"{fine} of {total} observations {'is' if fine == 1 else 'are'} as this model expects."
    ]
    lines += [check_sentence(one, notation) for one in odd[:MOST_NAMED]]
    if len(odd) > MOST_NAMED:
        lines.append(f"{len(odd) - MOST_NAMED} more are not either; summary.json lists them.")
    return lines


def check_sentence(one: Mapping[str, Any], notation: Notation) -> str:
    """The verdict on one observation, with what was measured and what was predicted."""
    verdict = str(one["verdict"])
    facts = ""
    if one["observed"] is not None:
        low, high = (_number(one[key], one["unit"], notation) for key in ("low", "high"))
        observed = _number(one["observed"], one["unit"], notation)
        facts = f": {observed}, where 90% of predictions lie between {low} and {high}"
    return f"{verdict[0].upper()}{verdict[1:]} ({notation.name(one['id'])}{facts})."


def _number(value: float, unit: str, notation: Notation) -> str:
    """Three significant digits with the unit."""
    text = f"{value:,.3g}" if abs(value) < WHOLE else f"{value:,.0f}"
    return f"{text.replace(',', notation.thousands)}{UNITS.get(unit, f' {unit}')}"


def influence_of(answer: Answer) -> Sequence[Mapping[str, Any]]:
    """Observations by their influence on the ranking; none where draws are of no posterior."""
    influence = answer.get("influence")
    return [] if influence is None else influence["observations"]


def influence_lines(answer: Answer, notation: Notation) -> list[str]:
    """Whether any one observation decides the ranking, and which.

    Parameters
    ----------
    answer
        One regime's answer.
    notation
        Of the medium.
    """
    records = influence_of(answer)
    if not records:
        return []
    notable = [one for one in records if one["notable"]]
    certain = [one for one in records if one["method"] != "uncertain"]
    unsaid = [
        notation.name(one["id"]) for one in records if one["own"] and one["method"] == "uncertain"
    ]
    open_ones = (
        [f"What leaving out {', '.join(unsaid)} would do is not known: it was not sampled anew."]
        if unsaid
        else []
    )
    if not certain:
        return open_ones
    if not notable:
        first = certain[0]
        points = notation.points(abs(first["p_first_change"]), first["p_first_change_mcse"])
        return [
            "No single observation decides this: leaving out any one of the "
            f"{_many(len(certain), len(records))} changes no recommendation, and moves no option's"
            f" share of first places by more than {points} ({notation.name(first['id'])}).",
            *open_ones,
        ]
    lines = [influence_sentence(one, answer, notation) for one in notable[:MOST_NAMED]]
    if len(notable) > MOST_NAMED:
        lines.append(
            f"{len(notable) - MOST_NAMED} more observations move a share of first places by more "
            "than simulation explains; summary.json lists them."
        )
    return lines + open_ones


def _many(certain: int, total: int) -> str:
    """How many observations were left out; published ones cannot all be without sampling anew."""
    if certain == total:
        return str(total)
    return f"{certain} of {total} that can be without sampling anew"


def influence_sentence(one: Mapping[str, Any], answer: Answer, notation: Notation) -> str:
    """What leaving one observation out does."""
    option = named(one["option"], notation)
    effective = answer["effective_draws"]
    before = notation.estimate(one["p_first"], effective)
    after = notation.estimate(one["p_first_without"], one["effective_draws"])
    moves = f"{option} ranks first in {after} of draws instead of {before}"
    source = notation.name(str(one["source"]).partition(":")[0]) if one["own"] else "published"
    without = f"Without {notation.name(one['id'])} ({source})"
    if one["changes_recommendation"]:
        now = named(recommended_of(answer), notation)
        then = named(one["recommended"], notation)
        return f"{without} the recommendation would be {then} instead of {now}: {moves}."
    return f"{without} {moves}; the recommendation stays."


def recommended_of(answer: Answer) -> str:
    """What is recommended: at costs the choice at them."""
    economics = answer.get("economics")
    if economics is not None:
        return str(economics["decision"]["option"])
    return str(answer["recommended"])


def influence_rows(answer: Answer, notation: Notation, limit: int = 8) -> list[tuple[str, ...]]:
    """The most influential observations as a table, its heading first; empty without any."""
    records = influence_of(answer)
    if not records:
        return []
    rows: list[tuple[str, ...]] = [
        ("observation", "most moved", "ranks first", "without it", "recommended without it")
    ]
    rows += [
        (
            notation.name(one["id"]),
            named(one["option"], notation),
            notation.estimate(one["p_first"], answer["effective_draws"]),
            notation.estimate(one["p_first_without"], one["effective_draws"]),
            named(one["recommended"], notation),
        )
        for one in [one for one in records if one["method"] != "uncertain"][:limit]
    ]
    return rows
