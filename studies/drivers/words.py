"""The study as text: a table of drivers with one line that says how to read it."""

from collections.abc import Iterator, Mapping
from math import floor, log10
from typing import Any

from decision.output import USUAL, wrapped
from studies.drivers.factors import REST
from studies.drivers.study import GROUPS, PARAMETERS
from studies.drivers.switching import LEARNT
from studies.drivers.targets import WINNER

SHOWN = 6
"""Drivers of who ranks first that are listed one by one."""

METHODS = {
    "sobol": "Sobol indices of independent parameters",
    "shapley": "Shapley effects of draws as they depend on each other",
    "shapley_neighbours": "Shapley effects by neighbouring draws",
}

MEANINGS = {
    "first": "first: share of that explained if it alone were known",
    "total": "total: redrawing it alone changes who ranks first so often, relative to redrawing"
    " everything",
    "shapley": "Shapley: its fair share of what decides who ranks first; all sum to 100%",
}


def percent(value: float | None, error: float | None) -> str:
    """A share with its standard error in percent, no more digits than the error supports."""
    if value is None or error is None:
        return "—"
    points = 100.0 * error
    decimals = 0 if points <= 0 else max(0, -floor(log10(points)))
    decimals = min(decimals, 1)
    shown = round(100.0 * value, decimals) + 0.0
    least = max(points, 10.0**-decimals) if points > 0 else 0.0
    return f"{shown:.{decimals}f} ± {least:.{decimals}f}%"


def amount(value: float, unit: str = "") -> str:
    """A parameter's value with three figures and its unit."""
    return f"{value:.3g} {unit}".rstrip()


def render(content: Mapping[str, Any]) -> str:
    """The whole study as text.

    Parameters
    ----------
    content
        The study as plain data, as in ``drivers.json``.
    """
    lines: list[str] = []
    question = content["question"]
    lines.append(
        f"{question['scenario']} · {question['draws']:,} draws, {question['source_words']}"
    )
    for note in content["notes"]:
        lines += wrapped(note)
    for answer in content["answers"]:
        lines.append("")
        if len(content["answers"]) > 1:
            lines += [f"regime: {answer['regime']}", "─" * USUAL]
        lines += _answer(answer)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _answer(answer: Mapping[str, Any]) -> Iterator[str]:
    for note in answer["notes"]:
        yield from wrapped(note)
    for effects in answer["effects"]:
        if effects["kind"] == PARAMETERS:
            yield from _winner(answer, effects)
            yield ""
    for effects in answer["effects"]:
        if effects["kind"] == GROUPS:
            yield from _groups(effects)
    yield ""
    yield from _options(answer)
    yield ""
    yield from _switches(answer)
    yield ""
    yield from _regions(answer)
    if answer["fixed"]:
        yield ""
        held = ", ".join(f"{path} ({value:.4g})" for path, value in answer["fixed"].items())
        yield from wrapped(f"Known, so drivers of nothing: {held}.")


def _winner(answer: Mapping[str, Any], effects: Mapping[str, Any]) -> Iterator[str]:
    yield f"What decides who ranks first ({METHODS[effects['method']]})"
    if WINNER in effects["constant"]:
        yield f"  nothing: {effects['constant'][WINNER]}"
        return
    row = effects["targets"].index(WINNER)
    order = _order(effects, row)
    shown = [name for name in ("shapley", "total", "first") if effects[name][row][order[0]]]
    wide = max(len(effects["factors"][f]) for f in order[:SHOWN])
    yield f"  {'parameter':<{wide}}" + "".join(f"{name:>14}" for name in shown)
    for f in order[:SHOWN]:
        cells = [percent(effects[n][row][f], effects[f"{n}_se"][row][f]) for n in shown]
        yield f"  {effects['factors'][f]:<{wide}}" + "".join(f"{cell:>14}" for cell in cells)
    others = order[SHOWN:]
    if others:
        largest = effects[effects["index"]][row][others[0]]
        names = ", ".join(effects["factors"][f] for f in others)
        yield from wrapped(f"at most {100 * largest:.1f}% each: {names}", indent=2)
    if REST in effects["factors"]:
        yield from wrapped(
            f"{REST}: " + ", ".join(effects["members"][REST]) + " together", indent=2
        )
    for name in shown:
        yield from wrapped(MEANINGS[name], indent=2)
    if effects["method"] == "shapley" and answer["copula"] and answer["copula"]["passed"]:
        yield from wrapped(
            f"the redraws reproduce the draws' own shares and margins: {answer['copula']['checks']}"
            " checks passed",
            indent=2,
        )
    pair = _strongest_pair(effects, row)
    if pair:
        yield from wrapped(pair, indent=2)
    if answer["leader"] != answer["recommended"]:
        yield from wrapped(
            f"{answer['leader']} most often ranks first, {answer['recommended']} gains most on"
            " average",
            indent=2,
        )


def _order(effects: Mapping[str, Any], row: int) -> list[int]:
    values = effects[effects["index"]][row]
    return sorted(range(len(values)), key=lambda f: -(values[f] or 0.0))


def _strongest_pair(effects: Mapping[str, Any], row: int) -> str:
    """The pair that does most together, where it is told apart from nothing."""
    if effects["second"] is None:
        return ""
    names = effects["factors"]
    pairs = [
        (effects["second"][row][i][j], effects["second_se"][row][i][j], names[i], names[j])
        for i in range(len(names))
        for j in range(i + 1, len(names))
    ]
    if not pairs:
        return ""
    value, error, first, second = max(pairs)
    if value <= 2 * error:
        return ""
    return (
        f"strongest interaction: {first} with {second}, {percent(value, error)} beyond what each"
        " explains alone"
    )


def _groups(effects: Mapping[str, Any]) -> Iterator[str]:
    if WINNER in effects["constant"]:
        return
    row = effects["targets"].index(WINNER)
    index = effects["index"]
    parts = [
        f"{effects['factors'][f]} {percent(effects[index][row][f], effects[f'{index}_se'][row][f])}"
        for f in _order(effects, row)
    ]
    yield f"By group ({index}, {effects['method']}): " + " · ".join(parts)


def _options(answer: Mapping[str, Any]) -> Iterator[str]:
    yield "Top driver of each option (of whether it ranks first, else of its gain)"
    wide = max(len(option["option"]) for option in answer["options"])
    for option in answer["options"]:
        driver = option["driver"]
        if driver is None:
            text = "nothing moves it"
        else:
            text = f"{driver['factor']}  {percent(driver['value'], driver['error'])}"
            if driver["rival"]:
                text += f", not told apart from {driver['rival']}"
            if driver["target"] == "gain":
                text += "  (of its gain)"
        share = 100 * option["p_first"]
        shown = "never first" if not share else f"first {share:.1f}%"
        yield f"  {option['option']:<{wide}}  {shown:<12} {text}"


def _switches(answer: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"Switching values: where the recommendation ({answer['recommended']}: largest expected"
        " gain) changes"
    )
    for switch in answer["switching"]:
        yield from wrapped(switching_sentence(switch), indent=2)


def switching_sentence(switch: Mapping[str, Any]) -> str:
    """One parameter's switching values in a sentence, as the memo may use it."""
    unit = switch["unit"]
    prefix = switch["parameter"]
    if switch["reading"] == LEARNT:
        prefix += " (if learnt rather than set: the others move along)"
    if not switch["flips"]:
        option = switch["holding"][0]["option"]
        return (
            f"{prefix}: never within its range, {amount(switch['low'])} to"
            f" {amount(switch['high'], unit)}: {option} throughout"
        )
    parts = [f"{switch['holding'][0]['option']} ({100 * switch['holding'][0]['share']:.0f}%)"]
    for flip, held in zip(switch["flips"], switch["holding"][1:], strict=True):
        found = "" if flip["found"] > 0.975 else f", in {100 * flip['found']:.0f}% of resamples"  # noqa: PLR2004
        parts.append(
            f"from {amount(flip['value'], unit)} [{amount(flip['low'])}–{amount(flip['high'])}"
            f"{found}] {held['option']} ({100 * held['share']:.0f}%)"
        )
    return f"{prefix}: {', '.join(parts)} of draws"


def _regions(answer: Mapping[str, Any]) -> Iterator[str]:
    yield "Where each option ranks first (a tree of three splits, counted on draws it has not seen)"
    for region in sorted(answer["regions"], key=lambda r: (r["option"], -r["share"])):
        yield from wrapped(region_sentence(region), indent=2)
    named = {region["option"] for region in answer["regions"]}
    without = [
        option["option"]
        for option in answer["options"]
        if option["p_first"] > 0 and option["option"] not in named
    ]
    if without:
        yield from wrapped(
            "no region of its own, though it ranks first in some draws: " + ", ".join(without),
            indent=2,
        )


def region_sentence(region: Mapping[str, Any]) -> str:
    """One region in a sentence."""
    where = " and ".join(_limit(bound) for bound in region["bounds"]) or "everywhere"
    return (
        f"{region['option']} in {percent(region['density'], region['density_se'])} of draws where"
        f" {where} (holds {100 * region['share']:.0f}% of draws and"
        f" {100 * (region['coverage'] or 0.0):.0f}% of its first places)"
    )


def _limit(bound: Mapping[str, Any]) -> str:
    low, high, unit = bound["low"], bound["high"], bound["unit"]
    if low is None:
        return f"{bound['parameter']} ≤ {amount(high, unit)}"
    if high is None:
        return f"{bound['parameter']} > {amount(low, unit)}"
    return f"{amount(low)} < {bound['parameter']} ≤ {amount(high, unit)}"
