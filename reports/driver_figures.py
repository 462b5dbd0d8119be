"""What drives a ranking, as pictures: a study as plain data in, Matplotlib figures out.

Drawn for print at full text width in the style of the memo's figures; what colour tells, a number
or a name tells too.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reports.canvas import DPI, Setting, house_style, page, short, styled
from reports.palette import ALARM, GRID, INK, NEUTRAL, colours_of

WINNER = "winner"
INTERVENTION = "intervention."
DO_NOTHING = "do_nothing"
INDEX_NAMES = {"total": "total order", "shapley": "Shapley effect"}
METHOD_NAMES = {
    "sobol": "Sobol, independent parameters",
    "shapley": "Shapley, parameters as they depend on each other",
    "shapley_neighbours": "Shapley by neighbouring draws",
}
SHOWN = 0.005
"""Cells below this share are left blank."""

CLOSE, EDGE = 40.0, 20.0
"""Percent of the axis: labels nearer to each other, or to an end, give way."""

DARK = 0.55
"""Cells above this share carry white figures."""


def setting_of_study(content: Mapping[str, Any], answer: Mapping[str, Any]) -> Setting:
    """Caption and colours: an option has the colour it has in the memo's figures."""
    question = content["question"]
    names = (option["option"] for one in content["answers"] for option in one["options"])
    colours = colours_of(names)
    caption = (
        f"{question['scenario']}, {question['accelerators']:,} accelerators, regime"
        f" {answer['regime'] or 'as described'}, {question['draws']:,} draws"
        f" {question['source_words']}"
    )
    if not content["converged"]:
        caption = f"NOT CONVERGED: do not act on this. {caption}"
    return Setting(
        caption=caption,
        caption_colour=NEUTRAL if content["converged"] else ALARM,
        colours=colours,
        source=question["source"],
    )


def main_effects(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    """Effects of single parameters by the method fit for the draws."""
    return next(effects for effects in answer["effects"] if effects["kind"] == "parameters")


def brief_path(path: str) -> str:
    """The last part of a dotted path: it is the field's name."""
    if path.startswith(INTERVENTION):
        return path.removeprefix(INTERVENTION)
    return path.rpartition(".")[2]


def percent(value: float | None) -> str:
    """A share as a whole percent; empty for nothing and for what is negligible."""
    negligible = value is None or value < SHOWN
    return "" if negligible else f"{100 * (value or 0.0):.0f}"


@styled
def drivers_heatmap(answer: Mapping[str, Any], setting: Setting) -> Figure:
    """Parameters by rankings: the leading index in percent."""
    effects = main_effects(answer)
    columns = list(_ranking_columns(answer, effects))
    order = _by_winner(effects)
    index = INDEX_NAMES[effects["index"]]
    figure = page(
        len(order) + 2.5, f"{_title(answer, effects)}; {index} by ranking, percent", setting
    )
    axes = figure.add_subplot()
    cells = [[effects[effects["index"]][row][f] for _, row in columns] for f in order]
    _cells(axes, cells)
    axes.set_xticks(
        range(len(columns)), [short(name) for name, _ in columns], rotation=45, ha="right"
    )
    axes.set_yticks(range(len(order)), [brief_path(effects["factors"][f]) for f in order])
    axes.tick_params(length=0)
    return figure


def _ranking_columns(
    answer: Mapping[str, Any], effects: Mapping[str, Any]
) -> Iterator[tuple[str, int]]:
    """Rankings that vary: who ranks first, that in scope, scope, then each option being first."""
    names = {
        WINNER: "who ranks first",
        "winner_in_scope": "who, in scope",
        "in_scope": "in scope or not",
    } | {f"first:{option['option']}": option["option"] for option in answer["options"]}
    for target, name in names.items():
        if target in effects["targets"] and target not in effects["constant"]:
            yield name, effects["targets"].index(target)


def _cells(axes: Axes, cells: Sequence[Sequence[float | None]], top: float = 1.0) -> None:
    """Shares as shades of blue, darkest at the top, with their percent."""
    from numpy import array, nan

    shades = array([[nan if value is None else value for value in row] for row in cells])
    axes.imshow(shades, cmap="Blues", vmin=0.0, vmax=top, aspect="auto")
    for y, row in enumerate(cells):
        for x, value in enumerate(row):
            colour = "white" if value is not None and value > DARK * top else INK
            axes.text(x, y, percent(value), ha="center", va="center", color=colour)
    axes.spines[:].set_visible(False)


def _by_winner(effects: Mapping[str, Any]) -> list[int]:
    """Factors by their index for who ranks first, the strongest first."""
    row = effects["targets"].index(WINNER)
    values = effects[effects["index"]][row]
    return sorted(range(len(values)), key=lambda f: -(values[f] or 0.0))


def _title(answer: Mapping[str, Any], effects: Mapping[str, Any]) -> str:
    if not answer["winner"]:
        return str(effects["constant"].get(WINNER, "Nothing decides who ranks first"))
    names = [brief_path(driver["factor"]) for driver in answer["winner"][:2]]
    return " and ".join(names) + (" decide" if len(names) > 1 else " decides") + " who ranks first"


@styled
def drivers_bars(answer: Mapping[str, Any], setting: Setting) -> Figure:
    """Drivers of who ranks first with intervals of 95%."""
    effects = main_effects(answer)
    order = _by_winner(effects)
    row = effects["targets"].index(WINNER)
    shown = ["first", effects["index"]]
    figure = page(1.4 * len(order) + 0.6, _title(answer, effects), setting)
    axes = figure.add_subplot()
    fills = {"first": "#9ECAE1", effects["index"]: "#08519C"}
    height = 0.38
    for offset, name in enumerate(shown):
        values = [100 * (effects[name][row][f] or 0.0) for f in order]
        errors = [
            100 * effects["half_width"] * (effects[f"{name}_se"][row][f] or 0.0) for f in order
        ]
        axes.barh(
            [y + (0.5 - offset) * height for y in range(len(order))],
            values,
            height=height,
            xerr=errors,
            color=fills[name],
            hatch="///" if offset == 0 else "",
            edgecolor="white",
            error_kw={"elinewidth": 1.0, "ecolor": INK, "capsize": 2.0},
            label=INDEX_NAMES.get(name, "first order"),
        )
    axes.set_yticks(range(len(order)), [brief_path(effects["factors"][f]) for f in order])
    axes.set_ylim(len(order) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=GRID, linewidth=0.6)
    axes.axvline(0.0, color=NEUTRAL, linewidth=0.8)
    axes.set_xlabel(
        f"of what decides who ranks first (%), intervals of 95%\n{METHOD_NAMES[effects['method']]}"
    )
    axes.legend(frameon=False, loc="lower right")
    return figure


@styled
def drivers_interactions(answer: Mapping[str, Any], setting: Setting) -> Figure:
    """What pairs of parameters do together to who ranks first."""
    effects = main_effects(answer)
    order = _by_winner(effects)
    row = effects["targets"].index(WINNER)
    names = [brief_path(effects["factors"][f]) for f in order]
    second, errors = effects["second"][row], effects["second_se"][row]

    def pair(i: int, j: int) -> float | None:
        low, high = sorted((order[i], order[j]))
        known = i > j and second[low][high] > 2.0 * errors[low][high]
        return second[low][high] if known else None

    cells = [[pair(i, j) for j in range(len(order))] for i in range(len(order))]
    strongest = max(
        (
            (value, names[i], names[j])
            for i, r in enumerate(cells)
            for j, value in enumerate(r)
            if value is not None
        ),
        default=None,
    )
    title = "No pair of parameters does more together than each alone"
    if strongest is not None:
        title = (
            f"{strongest[1]} and {strongest[2]} together explain {100 * strongest[0]:.0f}% beyond"
            " what each does alone"
        )
    figure = page(len(order) + 2.5, title, setting)
    axes = figure.add_subplot()
    _cells(axes, cells, top=1.5 * strongest[0] if strongest is not None else 1.0)
    axes.set_xticks(range(len(order)), names, rotation=45, ha="right")
    axes.set_yticks(range(len(order)), names)
    axes.tick_params(length=0)
    axes.set_xlabel(
        "second order of who ranks first (%); blank: below 0.5% or within two standard errors"
    )
    return figure


@styled
def drivers_switching(answer: Mapping[str, Any], setting: Setting) -> Figure:
    """Which option is recommended as one parameter moves over its range."""
    rows = [switch for switch in answer["switching"] if switch["reading"] == "set"]
    figure = page(2.6 * len(rows) + 1.2, _switching_title(answer, rows), setting)
    axes = figure.add_subplot()
    named: dict[str, None] = {}
    for y, switch in enumerate(rows):
        left, labelled, above = 0.0, -CLOSE, True
        for held, flip in zip(switch["holding"], [*switch["flips"], None], strict=True):
            width = 100 * held["share"]
            option = held["option"]
            axes.barh(
                y,
                width,
                left=left,
                height=0.42,
                color=setting.colours.get(option, NEUTRAL),
                edgecolor="white",
                label="" if option in named else option,
            )
            named[option] = None
            left += width
            if flip is not None:
                # Labels of neighbouring flips stand above and below in turn.
                above = not above if left - labelled < CLOSE else True
                labelled = left
                axes.plot([left, left], [y - 0.26, y + 0.26], color=INK, linewidth=1.0)
                axes.annotate(
                    f"{flip['value']:.3g} [{flip['low']:.3g}–{flip['high']:.3g}]",
                    (left, y - 0.26 if above else y + 0.26),
                    ha="left" if left < EDGE else "right" if left > 100.0 - EDGE else "center",
                    va="bottom" if above else "top",
                )
    axes.set_yticks(
        range(len(rows)),
        [
            f"{brief_path(switch['parameter'])}\n"
            f"{switch['low']:.3g} to {switch['high']:.3g} {switch['unit']}".rstrip()
            for switch in rows
        ],
    )
    axes.set_ylim(len(rows) - 0.6, -0.8)
    axes.set_xlim(0.0, 100.0)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(
        "share of draws below the value (%)\nlines: values where the recommendation flips, with"
        " intervals of 95%"
    )
    axes.legend(
        frameon=False, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, borderaxespad=0.2
    )
    return figure


def _switching_title(answer: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    flips = [(switch, flip) for switch in rows for flip in switch["flips"]]
    if not flips:
        return f"{answer['recommended']} stays recommended whatever one parameter turns out to be"
    switch, flip = flips[0]
    return (
        f"The recommendation flips from {flip['below']} to {flip['above']} where"
        f" {brief_path(switch['parameter'])} passes {flip['value']:.3g} {switch['unit']}".rstrip()
    )


@styled
def drivers_tree(answer: Mapping[str, Any], setting: Setting) -> Figure:
    """Where each option ranks first: a tree whose leaves are regions of the draws."""
    regions = answer["regions"]
    surest = max(regions, key=lambda region: region["density"] or 0.0)
    title = (
        f"Where each option ranks first: {surest['option']} in"
        f" {100 * (surest['density'] or 0.0):.0f}% of the draws of its surest region"
    )
    figure = page(2.0 * len(regions) + 0.6, title, setting)
    axes = figure.add_subplot()
    depth = max((len(region["splits"]) for region in regions), default=0)
    _branch(axes, list(enumerate(regions)), 0, depth)
    for y, region in enumerate(regions):
        colour = setting.colours.get(region["option"], NEUTRAL)
        axes.plot(depth, y, "s", markersize=9.0, color=colour)
        axes.annotate(
            f"{short(region['option'])}\n{100 * (region['density'] or 0.0):.0f}% first,"
            f" {100 * region['share']:.0f}% of draws",
            (depth + 0.12, y),
            va="center",
        )
    axes.set_xlim(-0.3, depth + 1.35)
    axes.set_ylim(len(regions) - 0.4, -0.6)
    axes.set_axis_off()
    return figure


def _branch(
    axes: Axes, leaves: list[tuple[int, Mapping[str, Any]]], level: int, depth: int
) -> float:
    """Draw the tree above some leaves; returns the height of its root."""
    if len(leaves) == 1:
        y = float(leaves[0][0])
        axes.plot([level, depth], [y, y], color=NEUTRAL, linewidth=1.0, zorder=0)
        return y
    split = leaves[0][1]["splits"][level]
    sides = [
        [leaf for leaf in leaves if leaf[1]["splits"][level]["above"] is above]
        for above in (False, True)
    ]
    heights = [_branch(axes, side, level + 1, depth) for side in sides]
    middle = sum(heights) / 2
    for y, sign in zip(heights, ("≤", ">"), strict=True):
        axes.plot([level, level, level + 1], [middle, y, y], color=NEUTRAL, linewidth=1.0, zorder=0)
        axes.annotate(sign, (level + 0.04, y), va="bottom", color=INK)
    axes.annotate(
        f"{brief_path(split['parameter'])}\n{split['threshold']:.3g} {split['unit']}".rstrip(),
        (level, middle),
        va="center",
        ha="center",
        fontsize=7.0,
        bbox={"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": NEUTRAL},
    )
    return middle


type Draw = Callable[[Mapping[str, Any], Setting], Figure]

FIGURES: Mapping[str, Draw] = {
    "drivers_heatmap": drivers_heatmap,
    "drivers_bars": drivers_bars,
    "drivers_interactions": drivers_interactions,
    "drivers_switching": drivers_switching,
    "drivers_tree": drivers_tree,
}


def figures_of(answer: Mapping[str, Any]) -> dict[str, Draw]:
    """Figures that an answer has something to show in."""
    effects = main_effects(answer)
    left_out = set()
    if WINNER in effects["constant"]:
        left_out |= {"drivers_bars", "drivers_interactions"}
    if effects["second"] is None or len(effects["factors"]) < 2:  # noqa: PLR2004 - a pair has two
        left_out.add("drivers_interactions")
    if not answer["switching"]:
        left_out.add("drivers_switching")
    return {name: draw for name, draw in FIGURES.items() if name not in left_out}


def write_driver_figures(content: Mapping[str, Any], directory: Path) -> None:
    """Write the figures of a study's first answer as PNG; same content, same bytes.

    Parameters
    ----------
    content
        The study, as in ``drivers.json``.
    directory
        Where to; created where it is missing.
    """
    answer = content["answers"][0]
    setting = setting_of_study(content, answer)
    directory.mkdir(parents=True, exist_ok=True)
    for name, draw in figures_of(answer).items():
        figure = draw(answer, setting)
        with house_style():
            # The library's version would otherwise stand in the file.
            figure.savefig(directory / f"{name}.png", dpi=DPI, metadata={"Software": None})
