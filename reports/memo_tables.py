"""The tables of the memo."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reports import findings, verdicts
from reports.document import Table
from reports.numbers import NOTHING
from reports.voice import LONGEST_CELL, LONGEST_SOURCE, Voice, tied
from reports.wording import Words, capital, listed, runs_of

HARDLY_DECIDING = 0.05
"""Share of what decides who ranks first below which an assumption is named only."""

MOST_ASSUMPTIONS = 8
MOST_SWITCHES = 5
"""Rows that leave the memo on two pages; the others are named."""


CEILING_WIDTHS = (3.4, 0.8, 0.8, 0.8, 0.95, 1.1, 1.0)
COST_WIDTHS = (2.75, 0.7, 1.2, 0.8, 0.8, 0.8, 1.05, 1.2, 1.1)
"""Widths of the columns of options: heads take two lines, figures one."""


def _cells(*texts: str) -> tuple[Words, ...]:
    return tuple(runs_of(text) for text in texts)


def _heads(voice: Voice, *keys: str) -> tuple[Words, ...]:
    return tuple(voice.say(f"table.{key}") for key in keys)


def options_table(voice: Voice, answer: Mapping[str, Any]) -> Table:
    """What each option is worth, best first; at its cost where there is one."""
    economics = verdicts.economics_of(answer)
    chosen = economics["decision"]["option"] if economics else answer["recommended"]
    strong = {k for k, one in enumerate(answer["options"]) if one["option"] == chosen}
    heads, rows = _at_costs(voice, answer, economics) if economics else _ceilings(voice, answer)
    return Table(
        caption=voice.text("table.options"),
        heads=heads,
        rows=rows,
        align="l" + "r" * (len(heads) - 1),
        widths=COST_WIDTHS if economics else CEILING_WIDTHS,
        strong_rows=frozenset(strong),
    )


def _named(voice: Voice, option: Mapping[str, Any]) -> Words:
    """An option with what it is."""
    if option["option"] == findings.DO_NOTHING:
        return voice.opening(voice.say("common.do_nothing"))
    name = voice.name(option["option"], LONGEST_CELL)
    description = option["description"].rstrip(". \n")
    if not description.strip():
        return (name,)
    return (name, *runs_of(": "), voice.name(description, LONGEST_CELL))


def _ceilings(
    voice: Voice, answer: Mapping[str, Any]
) -> tuple[tuple[Words, ...], tuple[tuple[Words, ...], ...]]:
    notation, effective = voice.notation, answer["effective_draws"]
    rows = []
    for option in answer["options"]:
        baseline = option["option"] == findings.DO_NOTHING
        rows.append(
            (
                _named(voice, option),
                *_cells(
                    *(
                        NOTHING if baseline else notation.sea(option["sea"][key])
                        for key in ("p10", "p50", "p90")
                    ),
                    NOTHING
                    if baseline
                    else tied(notation.estimate(option["p_unattainable"], effective)),
                    voice.share_cell(
                        {"value": option["p_first"], "mcse": option["p_first_mcse"]}, answer
                    ),
                    voice.regret(answer, option["option"]),
                ),
            )
        )
    keys = ("option", "pays_90", "pays_50", "pays_10", "cannot", "first", "loss")
    return _heads(voice, *keys), tuple(rows)


def _at_costs(
    voice: Voice, answer: Mapping[str, Any], economics: Mapping[str, Any]
) -> tuple[tuple[Words, ...], tuple[tuple[Words, ...], ...]]:
    levels = list(economics["options"][0]["break_even"])
    notation, rows = voice.notation, []
    for option in answer["options"]:
        one = verdicts.appraisal_of(economics, option["option"])
        baseline = option["option"] == findings.DO_NOTHING
        rows.append(
            (
                _named(voice, option),
                *_cells(
                    NOTHING if baseline else notation.amount(one["cost"]["mean"]),
                    voice.share_cell(one["p_pays"], answer),
                    *(
                        NOTHING if baseline else notation.sea(one["break_even"][level])
                        for level in levels
                    ),
                    NOTHING if baseline else voice.estimate(one["net_value"]),
                    voice.share_cell(one["p_best"], answer),
                    voice.estimate(one["expected_loss"])
                    if one["feasible"]
                    else voice.text("numbers.over_budget"),
                ),
            )
        )
    heads = (
        *_heads(voice, "option", "cost", "p_pays"),
        *(voice.say("table.pays_level", level=level) for level in levels),
        *_heads(voice, "net", "best", "loss"),
    )
    return heads, tuple(rows)


def regimes_table(voice: Voice, answers: Sequence[Mapping[str, Any]]) -> Table:
    """Who leads in each regime and what to do there."""
    notation, rows = voice.notation, []
    for answer in answers:
        economics = verdicts.economics_of(answer)
        name = economics["decision"]["option"] if economics else answer["recommended"]
        chosen = findings.option_of(answer, name)
        rows.append(
            (
                voice.opening(voice.regime(answer)),
                _short(voice, answer["leader"]),
                runs_of(voice.first_place(answer, answer["leader"])),
                _decision(voice, answer) if economics else _short(voice, name),
                *_cells(
                    notation.sea(chosen["sea"]["p10"]),
                    notation.sea(chosen["sea"]["p50"]),
                    tied(notation.estimate(answer["p_out_of_scope"], answer["effective_draws"])),
                ),
            )
        )
    last = "decision" if verdicts.economics_of(answers[0]) else "least"
    return Table(
        caption=voice.text("table.regimes"),
        heads=_heads(
            voice, "regime", "leader", "share", last, "ceiling_90", "ceiling_50", "outside"
        ),
        rows=tuple(rows),
        align="llrlrrr",
        widths=(1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0),
    )


def _short(voice: Voice, option: str) -> Words:
    return voice.opening(voice.option(option, LONGEST_CELL))


def _decision(voice: Voice, answer: Mapping[str, Any]) -> Words:
    choice = answer["economics"]["decision"]
    if choice["verdict"] == "measure_first":
        return voice.say("table.measure_first")
    if choice["verdict"] == "do_not_fund":
        return voice.say("table.fund_nothing")
    return voice.say("table.fund", option=voice.option(choice["option"], LONGEST_CELL))


def meanings(voice: Voice, summary: Mapping[str, Any]) -> Mapping[str, Words]:
    """What each parameter is called in a sentence."""
    return {
        parameter["path"]: voice.meaning(parameter["meaning"] or parameter["path"])
        for parameter in summary["parameters"]
    }


def switches_table(voice: Voice, summary: Mapping[str, Any], answer: Mapping[str, Any]) -> Table:
    """Assumptions by how much they decide, with the values at which the choice switches."""
    drivers, effective = answer["drivers"], answer["effective_draws"]
    named = meanings(voice, summary)
    switches = {
        switch["parameter"]: switch for switch in drivers["switching"] if switch["reading"] == "set"
    }
    rows: list[tuple[Words, ...]] = []
    for driver in drivers["winner"][:MOST_SWITCHES]:
        path = driver["factor"]
        if driver["value"] < HARDLY_DECIDING and rows:
            continue
        share = voice.notation.share_with_error(driver["value"], driver["error"], effective)
        rows.append(
            (
                capital(named.get(path, (voice.name(path),))),
                runs_of(tied(share)),
                _steps(voice, switches[path]) if path in switches else runs_of(NOTHING),
            )
        )
    return Table(
        caption=voice.text("table.switches"),
        heads=_heads(voice, "assumption", "decides", "switch"),
        rows=tuple(rows),
        align="lrl",
        widths=(1.0, 0.0, 2.0),
    )


def _steps(voice: Voice, switch: Mapping[str, Any]) -> Words:
    """The choice as a parameter grows."""
    if not switch["flips"]:
        return voice.say(
            "drivers.throughout",
            option=voice.option(switch["holding"][0]["option"], LONGEST_CELL),
            low=voice.value(switch["low"]),
            high=voice.value(switch["high"], switch["unit"]),
        )
    parts = [
        voice.say("drivers.first", option=voice.option(switch["flips"][0]["below"], LONGEST_CELL))
    ]
    parts += [
        voice.say(
            "drivers.then",
            option=voice.option(flip["above"], LONGEST_CELL),
            value=voice.value(flip["value"], switch["unit"]),
            low=voice.value(flip["low"]),
            high=voice.value(flip["high"]),
        )
        for flip in switch["flips"]
    ]
    return listed(parts, voice.text("drivers.step"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumptions:
    """The table of assumptions, None without any, and the sentence that names the others."""

    table: Table | None
    rest: Words


def assumptions_table(voice: Voice, summary: Mapping[str, Any]) -> Assumptions:
    """What is uncertain, before and after the evidence, with basis, source and owner.

    Where it is known what decides who ranks first, assumptions that hardly do are named below the
    table only: two pages hold what a board must look at.
    """
    shown, rest, reason = _told_apart(voice, summary)
    if not shown:
        return Assumptions(table=None, rest=())
    parameters = summary["parameters"]
    after = "posterior" if summary["question"]["source"] == "posterior" else "file"
    columns = [
        (head, key)
        for head, key in (("prior", "prior"), (after, "posterior"))
        if any(parameter[key] for parameter in parameters)
    ]
    if len(columns) == 1 and columns[0][1] == "prior":
        columns = [("prior_only", "prior")]
    rows = []
    for parameter in shown:
        behind = voice.unit(parameter["unit"]).strip()
        unit = runs_of(f", {behind}") if behind else ()
        source = voice.say(
            "table.source",
            basis=voice.name(parameter["basis"], LONGEST_CELL),
            source=voice.name(parameter["source"] or "", LONGEST_SOURCE),
        )
        owner = voice.name(parameter["owner"], LONGEST_CELL)
        rows.append(
            (
                (*capital(voice.meaning(parameter["meaning"] or parameter["path"])), *unit),
                *(runs_of(_quantiles(voice, parameter[key])) for _, key in columns),
                source,
                (owner,) if owner.text else runs_of(NOTHING),
            )
        )
    heads = ("assumption", *(head for head, _ in columns), "basis", "owner")
    table = Table(
        caption=voice.text("table.assumptions"),
        heads=_heads(voice, *heads),
        rows=tuple(rows),
        align="l" * len(heads),
        widths=(1.6, *(1.4 for _ in columns), 1.5, 1.0),
    )
    if not rest:
        return Assumptions(table=table, rest=())
    names = listed(
        (voice.meaning(parameter["meaning"] or parameter["path"]) for parameter in rest), ", "
    )
    return Assumptions(table=table, rest=voice.say("rests.also", reason=reason, names=names))


def _told_apart(
    voice: Voice, summary: Mapping[str, Any]
) -> tuple[Sequence[Mapping[str, Any]], Sequence[Mapping[str, Any]], Words]:
    """Assumptions for the table, those named only, and why."""
    parameters = summary["parameters"]
    found = summary["answers"][0].get("drivers")
    if not found or not found["winner"]:
        return parameters[:MOST_ASSUMPTIONS], parameters[MOST_ASSUMPTIONS:], ()
    deciding = {one["factor"] for one in found["winner"] if one["value"] >= HARDLY_DECIDING}
    shown = [one for one in parameters if one["path"] in deciding][:MOST_ASSUMPTIONS]
    rest = [one for one in parameters if one not in shown]
    if any(one["path"] in deciding for one in rest):
        return shown, rest, ()
    hardly = f"{100 * HARDLY_DECIDING:.0f}%"
    return shown, rest, voice.say("rests.hardly", share=hardly)


def _quantiles(voice: Voice, spread: Mapping[str, Any] | None) -> str:
    if spread is None or spread["p50"] is None:
        return NOTHING
    low, middle, high = (
        voice.notation.beside(spread["p50"], spread[key]) for key in ("p10", "p50", "p90")
    )
    return f"{middle} ({low}–{high})"


def comparison_rows(
    voice: Voice, answer: Mapping[str, Any], most: int
) -> Iterator[tuple[Words, ...]]:
    """One row an option that stands in both runs: rank, value before and now, and why."""
    for option in answer["options"][:most]:
        name = _short(voice, option["option"])
        if option["status"] != "both":
            word = voice.say(f"compared.{'new' if option['status'] == 'new' else 'gone'}")
            yield (name, word, *(runs_of(NOTHING) for _ in range(3)))
            continue
        values = option["values"]
        worth = values.get("net_value") or values["gain"]
        ranks = voice.say(
            "compared.ranks", before=str(option["rank_before"]), after=str(option["rank_after"])
        )
        yield (
            name,
            ranks,
            *_cells(*(voice.estimate(worth[key]) for key in ("before", "after"))),
            _because(voice, worth),
        )


def _because(voice: Voice, worth: Mapping[str, Any]) -> Words:
    """The inputs that moved a value beyond simulation error, the largest first."""
    parts = sorted(worth["parts"], key=lambda part: -abs(part["value"]))
    told = [
        voice.say(
            "compared.part", input=input_name(voice, part["input"]), value=_signed(voice, part)
        )
        for part in parts
        if abs(part["value"]) > findings.BEYOND_ERROR * (part["mcse"] or 0.0) and part["value"]
    ]
    return voice.listed(told) or runs_of(NOTHING)


def _signed(voice: Voice, part: Mapping[str, Any]) -> str:
    amount = voice.estimate(part)
    return f"+{amount}" if part["value"] > 0 else amount


def input_name(voice: Voice, name: str) -> Words:
    """What an input is called in a sentence."""
    key = f"compared.input_{name.replace('+', '_')}"
    if key in voice.wording:
        return voice.say(key)
    return (
        listed((input_name(voice, part) for part in name.split("+")), " + ")
        if "+" in name
        else (voice.name(name),)
    )
