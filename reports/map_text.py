"""A decision map as text for a terminal: a grid of letters a panel, boundaries in words."""

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reports.map_words import (
    RANKED,
    alarm,
    axis_label,
    axis_value,
    basis,
    caveat,
    cells_of,
    headline,
    is_out_of_scope,
    short_names,
    winners_of,
    words,
)

WIDTH = 100
MOST_PANELS, MOST_ROWS = 12, 40
"""More are in the tables and figures only, and the text says so."""

SURE = 0.995
"""Share that would be printed as 100%."""

LISTED = 6


def render(content: Mapping[str, Any], *, width: int = WIDTH) -> str:
    """The map as lines no longer than ``width``.

    Parameters
    ----------
    content
        The map's summary.
    width
        Columns of the terminal, at least 80.
    """
    lines: list[str] = []

    def say(text: str, indent: str = "") -> None:
        lines.extend(textwrap.wrap(text, width, subsequent_indent=indent) or [""])

    warning = alarm(content)
    if warning:
        say(warning)
        lines.append("")
    say(headline(content) + ".")
    say(f"{caveat(content)}.")
    say(f"{basis(content)}.")
    shorts = short_names(content["question"]["options"])
    panels = content["panels"]
    for panel in panels[:MOST_PANELS]:
        lines.append("")
        lines.extend(_grid(content, panel, shorts, width))
    if len(panels) > MOST_PANELS:
        lines.append("")
        say(f"{len(panels) - MOST_PANELS} more panels are in map.csv and the figures.")
    lines.append("")
    lines.extend(_legend(content, shorts, width))
    boundaries = list(_boundaries(content))
    if boundaries:
        lines.append("")
        sure = content["question"]["source"] == "point"
        error = "" if sure else ", with the 95% interval of simulation error"
        say(f"Where the winner changes{error}:")
        for text in boundaries:
            say(f"  {text}", indent="    ")
    untraced = [reason for panel in content["panels"] for reason in panel["untraced"]]
    for number, reason in _counted(untraced):
        say(f"  not traced between {number:,} pairs of regimes: {reason}", indent="    ")
    impossible = [
        cell["reason"]
        for panel in content["panels"]
        for cell in panel["cells"]
        if cell["status"] != RANKED
    ]
    for number, reason in _counted(impossible):
        lines.append("")
        say(f"× impossible, {number:,} of the regimes: {reason}", indent="  ")
    for text in [*content["warnings"], *content["notes"]]:
        lines.append("")
        say(text)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _grid(
    content: Mapping[str, Any], panel: Mapping[str, Any], shorts: Mapping[str, str], width: int
) -> Iterator[str]:
    """One panel: rows of cells, the largest value of the row axis on top as in the figure."""
    rows, columns = content["rows"], content["columns"]
    if panel["title"]:
        yield panel["title"]
    marks = {(cell["row"], cell["column"]): _mark(cell, shorts) for cell in panel["cells"]}
    down = [axis_value(rows, value) for value in rows["values"]] if rows else [""]
    across = [axis_value(columns, value) for value in columns["values"]] if columns else [""]
    order = list(range(len(down)))
    if rows and not isinstance(rows["values"][0], str):
        order.reverse()
    side = max(map(len, down))
    cell = 2 + max(*(len(mark) for mark in marks.values()), *(len(name) for name in across))
    every_column = -(-cell * len(across) // (width - side))
    every_row = -(-len(down) // MOST_ROWS)
    order = order[::every_row]
    shown = range(0, len(across), every_column)
    if every_column > 1 or every_row > 1:
        steps = [(every_row, "rows"), (every_column, "columns")]
        told = " and ".join(f"one in {step} {name}" for step, name in steps if step > 1)
        yield f"({told}; map.csv has all)"
    if rows and axis_label(rows):
        yield f"{axis_label(rows)}, down; {axis_label(columns)}, across".removesuffix("; , across")
    elif columns:
        yield f"{' ' * side}  {axis_label(columns)}"
    for y in order:
        line = "".join(f"{marks[y, x]:>{cell}}" for x in shown)
        yield f"{down[y]:>{side}}{line}"
    if columns:
        yield " " * side + "".join(f"{across[x]:>{cell}}" for x in shown)


def _mark(cell: Mapping[str, Any], shorts: Mapping[str, str]) -> str:
    """Winner and its share in percent, ~ contested, brackets out of scope, × impossible."""
    if cell["status"] != RANKED:
        return "×"
    share = 100 * cell["p_first"]
    number = (
        "" if cell["draws"] == 1 else f" {'>99' if SURE <= cell['p_first'] < 1 else f'{share:.0f}'}"
    )
    text = f"{shorts[cell['winner']]}{number}{'~' if cell['contested'] else ''}"
    return f"({text})" if is_out_of_scope(cell) else text


def _legend(content: Mapping[str, Any], shorts: Mapping[str, str], width: int) -> Iterator[str]:
    winners = winners_of(content)
    cells = list(cells_of(content))
    if not winners:
        return
    name = max(len(words(option)) for option, _ in winners)
    short = max(len(shorts[option]) for option, _ in winners)
    yield f"{'':{short}}  {'ranks first':{name}}  regimes  share where first  expected regret"
    for option, number in winners:
        own = [cell for cell in cells if cell["winner"] == option]
        shares = [cell["p_first"] for cell in own]
        losses = [cell["expected_regret"] for cell in own]
        yield (
            f"{shorts[option]:{short}}  {words(option):{name}}  {number:>7,}"
            f"  {_range([100 * s for s in shares], '.0f'):>16}%"
            f"  {_range(losses, ',.0f'):>15}"
        )
    explained = (
        "The number is the winner's share of draws in percent, its error at most "
        f"{_worst(cells)} points. ~: too close to call. (…): out of the model's scope in most "
        "draws. Expected regret: productive accelerators lost on average by following the map "
        "where another option is better."
    )
    if all(cell["draws"] == 1 for cell in cells):
        explained = (
            "~: too close to call, within a thousandth of the pool. (…): out of the model's scope."
        )
    yield from textwrap.wrap(explained, width)


def _worst(cells: Sequence[Mapping[str, Any]]) -> str:
    """Largest simulation error of a winner's share, in percentage points."""
    return f"{max(100 * cell['p_first_mcse'] for cell in cells):.1f}"


def _range(values: Sequence[float], form: str) -> str:
    low, high = f"{min(values):{form}}", f"{max(values):{form}}"
    return low if low == high else f"{low} to {high}"


def _boundaries(content: Mapping[str, Any]) -> Iterator[str]:
    """Each boundary of each panel: between whom, along which axis, over what range."""
    for panel in content["panels"][:MOST_PANELS]:
        groups: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
        for crossing in panel["crossings"]:
            key = crossing["first"], crossing["second"], crossing["along"]
            groups.setdefault(key, []).append(crossing)
        where = f"{panel['title']}: " if panel["title"] else ""
        for (first, second, along), found in groups.items():
            axis = content["columns"] if along == "column" else content["rows"]
            low = min(found, key=lambda crossing: crossing["value"])
            high = max(found, key=lambda crossing: crossing["value"])
            ends = [low]
            if axis_value(axis, low["value"]) != axis_value(axis, high["value"]):
                ends.append(high)
            sure = content["question"]["source"] == "point"
            texts = [axis_value(axis, e["value"]) if sure else _interval(axis, e) for e in ends]
            yield (
                f"{where}{words(first)} → {words(second)} at {' to '.join(texts)} "
                f"{axis_label(axis)}"
            )


def _interval(axis: Mapping[str, Any], crossing: Mapping[str, Any]) -> str:
    low = "…" if crossing["low_open"] else axis_value(axis, crossing["value_low"])
    high = "…" if crossing["high_open"] else axis_value(axis, crossing["value_high"])
    return f"{axis_value(axis, crossing['value'])} [{low}, {high}]"


def _counted(reasons: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Reasons with how often each is given, most often first; what is left over as one."""
    counts = Counter(reasons).most_common()
    for reason, number in counts[:LISTED]:
        yield number, reason
    if len(counts) > LISTED:
        rest = sum(number for _, number in counts[LISTED:])
        yield rest, "other reasons, which map.csv and boundaries.csv give"
