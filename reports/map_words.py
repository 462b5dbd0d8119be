"""What a decision map says, in words that its figure and the terminal share."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

DO_NOTHING = "do_nothing"

AXES = {
    "reliability.failure_rate_per_node_day": (1000.0, "failures per 1,000 node-days"),
    "topology.oversubscription": (1.0, "oversubscription"),
    "scale": (1.0, "accelerators of the job"),
    "scenario": (1.0, ""),
    "regime": (1.0, ""),
}
"""Factor on the values of an axis, and what it is then called; others keep unit and meaning."""

OUT_OF_SCOPE = 0.5
"""Share of draws out of the model's scope from which a cell is marked."""

RANKED = "ranked"

THOUSAND, BILLION = 1e3, 1e9
"""Between these numbers are written out."""

Cell = Mapping[str, Any]


def words(name: str) -> str:
    """An option for a reader."""
    return name.replace("_", " ").replace(" 2x", " ×2").replace(" 4x", " ×4")


def short_names(options: Sequence[str]) -> dict[str, str]:
    """An abbreviation for each option: initials and figures, told apart by a number."""
    taken: dict[str, str] = {}
    for option in options:
        parts = [part for part in option.replace("-", "_").split("_") if part]
        short = "".join(part[0] for part in parts).upper() or "?"
        if option == DO_NOTHING:
            short = "–"
        base, number = short, 2
        while short in taken.values():
            short, number = f"{base}{number}", number + 1
        taken[option] = short
    return taken


def axis_label(axis: Mapping[str, Any] | None) -> str:
    """What an axis is, with its unit."""
    if axis is None:
        return ""
    if axis["path"] in AXES:
        label = AXES[axis["path"]][1]
    else:
        label = axis["meaning"] + (f" ({axis['unit']})" if axis["unit"] else "")
    return f"{label}, median" if axis["shifts"] else label


def axis_value(axis: Mapping[str, Any], value: object) -> str:
    """A value of an axis as its label counts it."""
    if isinstance(value, str):
        return words(value) or "as described"
    number = float(value) * AXES.get(axis["path"], (1.0, ""))[0]  # type: ignore[arg-type]
    if number.is_integer() or abs(number) >= THOUSAND:
        return f"{number:,.0f}" if abs(number) < BILLION else f"{number:.3g}"
    return f"{number:.3g}"


def cells_of(content: Mapping[str, Any]) -> Iterator[Cell]:
    """Every cell that was ranked."""
    for panel in content["panels"]:
        yield from (cell for cell in panel["cells"] if cell["status"] == RANKED)


def winners_of(content: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Options that rank first somewhere, with the number of their cells, most first."""
    counts = Counter(cell["winner"] for cell in cells_of(content))
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def is_out_of_scope(cell: Cell) -> bool:
    """Whether most of the draws of a cell are out of the model's scope."""
    return bool(cell["p_out_of_scope"] >= OUT_OF_SCOPE)


def headline(content: Mapping[str, Any]) -> str:
    """What the map shows, in one sentence."""
    winners = winners_of(content)
    total = sum(number for _, number in winners)
    if not total:
        return "No regime of this map is possible"
    first, rest = winners[0], winners[1:3]
    text = f"{words(first[0])} ranks first in {first[1]:,} of {total:,} regimes"
    text += "".join(f", {words(name)} in {number:,}" for name, number in rest)
    if len(winners) > len(rest) + 1:
        others = sum(number for _, number in winners[len(rest) + 1 :])
        text += f", another in {others:,}"
    return text[0].upper() + text[1:]


def caveat(content: Mapping[str, Any]) -> str:
    """How many regimes are too close to call, out of scope, impossible, or decided otherwise."""
    cells = list(cells_of(content))
    every = sum(len(panel["cells"]) for panel in content["panels"])
    counted = [
        (sum(cell["contested"] for cell in cells), "too close to call"),
        (sum(is_out_of_scope(cell) for cell in cells), "out of the model's scope in most draws"),
        (
            sum(cell["point_winner"] != cell["winner"] for cell in cells),
            "won by another option at the scenario's own values",
        ),
        (every - len(cells), "impossible"),
    ]
    told = [f"{number:,} {what}" for number, what in counted if number]
    if not told:
        return f"All {every:,} regimes are settled"
    return f"Of {every:,} regimes these are not plain: " + ", ".join(told)


def basis(content: Mapping[str, Any]) -> str:
    """What the map stands on: scenario, draws, and where they come from."""
    question = content["question"]
    scenarios = question["scenarios"]
    named = f"Scenario {scenarios[0]}" if len(scenarios) == 1 else f"{len(scenarios)} scenarios"
    if question["source"] == "point":
        return f"{named}, at its own values" if len(scenarios) == 1 else f"{named}, own values"
    source = {
        "prior": "of the priors",
        "posterior": "of the posterior",
        "file": "from a file",
    }[question["source"]]
    draws = f"{question['draws']:,} draws {source}"
    if question["doublings"]:
        most = question["draws"] * 2 ** question["doublings"]
        draws += f", up to {most:,} where the winner needs them"
    return f"{named}, {draws}"


def alarm(content: Mapping[str, Any]) -> str:
    """What must not be overlooked; empty where there is nothing."""
    if not content["unconverged"]:
        return ""
    return "NOT CONVERGED: do not act on this map: " + "; ".join(content["unconverged"])
