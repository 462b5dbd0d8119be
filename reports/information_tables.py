"""Values of information and programs as text for a terminal."""

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from reports.numbers import MINUS, NOTHING, TERMINAL

WIDTH = 100
LISTED = 15
"""Parameters and pairs listed; the rest are counted."""

NEGLIGIBLE = 0.005
"""Interactions below this share of the largest gain are left out."""

BUYING_ONLY = "accelerators only"


def render_information(summary: Mapping[str, Any]) -> str:
    """Every answer of ``decision.information`` as text."""
    lines = _headline(summary)
    for answer in summary["answers"]:
        lines += ["", *_information(answer)]
    return _closed(lines, summary)


def render_portfolio(summary: Mapping[str, Any]) -> str:
    """Every answer of ``decision.portfolio`` as text."""
    lines = _headline(summary)
    for answer in summary["answers"]:
        lines += ["", *_portfolio(answer)]
    return _closed(lines, summary)


def _headline(summary: Mapping[str, Any]) -> list[str]:
    question = summary["question"]
    scale = "" if question["scale"] is None else f" at {question['scale']:,} accelerators"
    text = (
        f"{TERMINAL.name(question['scenario'])}{scale} · {question['draws']:,} draws of the"
        f" {question['source']} · costs: {question['costs'] or 'none given'}"
    )
    return textwrap.wrap(text, WIDTH)


def _closed(lines: list[str], summary: Mapping[str, Any]) -> str:
    for word, key in (("Note", "notes"), ("Warning", "warnings")):
        for text in summary[key]:
            lines += ["", *textwrap.wrap(f"{word}: {TERMINAL.name(text)}", WIDTH)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _estimate(value: float | None, error: float | None) -> str:
    return NOTHING if value is None else TERMINAL.amount_with_error(value, error)


def _table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], *, words_last: bool = False
) -> Iterator[str]:
    """Columns as wide as they need: words first and numbers to the right of them.

    With the words last they may take several lines, so that no name is cut.
    """
    listed = [list(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(heads, *listed, strict=True)]
    if words_last:
        indent = sum(widths[:-1]) + 2 * (len(widths) - 1)
        widths[-1] = min(widths[-1], WIDTH - indent)
    for row in (heads, ["─" * width for width in widths], *listed):
        cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        if not words_last:
            yield "  ".join([row[0].ljust(widths[0]), *cells[1:]])
            continue
        first, *others = textwrap.wrap(row[-1], widths[-1])
        yield "  ".join([*cells[:-1], first])
        yield from (" " * indent + line for line in others)


def _regime(answer: Mapping[str, Any]) -> Iterator[str]:
    if answer["regime"]:
        yield f"Regime {TERMINAL.name(answer['regime'])}"


def _information(answer: Mapping[str, Any]) -> Iterator[str]:
    yield from _regime(answer)
    perfect = answer["perfect"]
    budget = f" with a budget of {TERMINAL.amount(answer['budget'])}" if answer["budget"] else ""
    yield from textwrap.wrap(
        f"Best option now{budget}: {TERMINAL.name(answer['best'])}. Knowing everything before"
        f" deciding is worth {_estimate(perfect['value'], perfect['error'])} productive"
        f" accelerators over {answer['horizon_days']:,.0f} days: no study that costs more pays.",
        WIDTH,
    )
    nested = any(one["nested"] for one in (*answer["parameters"], *answer["groups"]))
    for title, key in (("knowing one parameter", "parameters"), ("knowing a group", "groups")):
        if not answer[key]:
            continue
        yield ""
        heads = [title, "is worth", "noise floor", *(["nested"] if nested else [])]
        yield from _table(heads, (_learnable(one, nested) for one in answer[key][:LISTED]))
        rest = len(answer[key]) - LISTED
        if rest > 0:
            yield f"and {rest} more, worth less"
    if answer["studies"]:
        yield ""
        heads = ["study", "size", "is worth", "costs", "net benefit"]
        yield from _table(heads, (row for one in answer["studies"] for row in _study(one)))
        for one in answer["studies"]:
            yield from textwrap.wrap(_verdict(one), WIDTH)


def _learnable(one: Mapping[str, Any], nested: bool) -> list[str]:
    value = _estimate(one["value"], one["error"])
    row = [TERMINAL.name(one["name"]), "none" if one["is_noise"] else value]
    row.append(TERMINAL.amount(one["noise_floor"]))
    if nested:
        inner = one["nested"] or {"value": None, "error": None}
        row.append(_estimate(inner["value"], inner["error"]))
    return row


def _study(one: Mapping[str, Any]) -> Iterator[list[str]]:
    for index, size in enumerate(one["sizes"]):
        worth = _estimate(size["value"], size["error"])
        yield [
            TERMINAL.name(one["name"]) if index == 0 else "",
            f"{size['size']:,} {one['unit']}",
            worth,
            TERMINAL.amount(size["cost_productive"]),
            NOTHING
            if size["net_benefit"] is None
            else TERMINAL.amount(size["net_benefit"], size["error"]),
        ]


def _verdict(one: Mapping[str, Any]) -> str:
    name = TERMINAL.name(one["name"])
    if one["limit"]["is_noise"]:
        return f"{name}: teaches nothing that could change the choice."
    if one["sizes"][0]["net_benefit"] is None:
        return (
            f"{name}: with endless data worth"
            f" {_estimate(one['limit']['value'], one['limit']['error'])}; no cost is stated."
        )
    if one["best"] is None:
        return f"{name}: costs more than it is worth at every size."
    low, high = one["near_best"]
    span = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    return f"{name}: best at {one['best']:,} {one['unit']}; as good within 5%: {span}."


def program_name(chosen: Mapping[str, Any]) -> str:
    """Interventions of a program, or that it only buys accelerators."""
    return " + ".join(TERMINAL.name(name) for name in chosen["program"]) or BUYING_ONLY


def _portfolio(answer: Mapping[str, Any]) -> Iterator[str]:
    yield from _regime(answer)
    best, buying = answer["programs"][0], answer["buying"]
    yield from textwrap.wrap(
        f"Best program for {TERMINAL.amount(answer['budget'])} accelerators:"
        f" {program_name(best)}; the rest buys {TERMINAL.amount(best['bought'])} accelerators."
        f" It brings {_estimate(best['gain'], best['gain_error'])} productive accelerators more"
        f" than buying accelerators for all of it, out of"
        f" {_estimate(buying['expected'], buying['expected_error'])}.",
        WIDTH,
    )
    if best["program"] != answer["careful"]["program"]:
        careful = answer["careful"]
        yield from textwrap.wrap(
            f"In the worst tenth of draws another is best: {program_name(careful)}, with"
            f" {_estimate(careful['tail'], careful['tail_error'])} productive accelerators against"
            f" {_estimate(best['tail'], best['tail_error'])}.",
            WIDTH,
        )
    yield ""
    yield from _table(
        ["cost", "bought", "more than buying", "worst tenth", "programs for the budget"],
        (
            [
                TERMINAL.amount(one["cost"]),
                TERMINAL.amount(one["bought"]),
                _estimate(one["gain"], one["gain_error"]),
                TERMINAL.amount(one["tail"], one["tail_error"]),
                program_name(one),
            ]
            for one in answer["programs"]
        ),
        words_last=True,
    )
    yield ""
    yield from _table(
        ["budget", "more than buying", "best program"],
        (
            [
                TERMINAL.amount(point["budget"]),
                _estimate(point["best"]["gain"], point["best"]["gain_error"]),
                program_name(point["best"]),
            ]
            for point in answer["frontier"]
        ),
        words_last=True,
    )
    yield ""
    yield from _pairs(answer)
    if answer["shares"]:
        yield ""
        yield from _table(
            ["share of the best program's gain", "Shapley", "alone", "added last"],
            (
                [
                    TERMINAL.name(one["name"]),
                    _estimate(one["shapley"], one["shapley_error"]),
                    TERMINAL.amount(one["alone"]),
                    TERMINAL.amount(one["last"]),
                ]
                for one in answer["shares"]
            ),
        )
    if answer["optimality_gap"] is not None:
        yield ""
        yield from textwrap.wrap(
            f"{len(answer['interventions'])} interventions are too many to try all programs: the"
            " best were searched, and stand beside single ones and pairs. Where all can be tried,"
            " on ten of the interventions at a time, the search missed at most"
            f" {100 * answer['optimality_gap']:.2g}% of the best gain.",
            WIDTH,
        )


def _pairs(answer: Mapping[str, Any]) -> Iterator[str]:
    scale = max((abs(one["alone"]) for one in answer["shares"]), default=0.0)
    named = [
        pair
        for pair in answer["pairs"]
        if pair["kind"] != "independent" and abs(pair["interaction"]) > NEGLIGIBLE * scale
    ]
    if not named:
        yield "No two interventions strengthen or weaken each other noticeably."
        return
    yield from _table(
        ["two interventions", "are", "together − apart", "additivity error"],
        (
            [
                f"{TERMINAL.name(pair['first'])} + {TERMINAL.name(pair['second'])}",
                pair["kind"],
                _estimate(pair["interaction"], pair["interaction_error"]),
                f"{100 * pair['additivity_error']:+.1f}%".replace("-", MINUS)
                if pair["additivity_error"] is not None
                else NOTHING,
            ]
            for pair in named[:LISTED]
        ),
    )
