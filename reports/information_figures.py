"""Pictures of what knowing more is worth, and of what a budget is best spent on."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reports.canvas import DPI, NOTATION, Setting, brief, house_style, page, short, styled
from reports.numbers import NOTHING
from reports.palette import ALARM, INK, NEUTRAL, PALETTE

MOST_ROWS = 16
MOST_STUDIES = 6
PANEL_ROWS = 6.0
MOST_PROGRAMS = 14
LINE = "#E3E3E3"


def setting_of(summary: Mapping[str, Any], answer: Mapping[str, Any]) -> Setting:
    """Caption of the figures of one answer."""
    question = summary["question"]
    parts = [
        brief(question["scenario"]),
        f"regime {brief(answer['regime'])}" if answer["regime"] else "no regime shift",
        f"{NOTATION.amount(question['draws'])} draws of the {question['source']}",
        f"budget {NOTATION.amount(answer['budget'])} accelerators",
        f"horizon {NOTATION.amount(answer['horizon_days'])} days",
    ]
    alarm = any("did not converge" in warning for warning in summary["warnings"])
    caption = ", ".join(parts)
    return Setting(
        caption=f"NOT CONVERGED: do not act on this. {caption}" if alarm else caption,
        caption_colour=ALARM if alarm else NEUTRAL,
        colours={},
        source="",
    )


@styled
def information_values(answer: Mapping[str, Any], setting: Setting) -> Figure:
    """EVPPI of groups and parameters: bar, error, noise floor; EVPI as the limit."""
    listed = [(True, one) for one in answer["groups"]]
    listed += [(False, one) for one in answer["parameters"][: MOST_ROWS - len(listed)]]
    figure = page(len(listed) + 1.0, _values_title(answer), setting)
    axes = figure.add_subplot()
    for row, (is_group, one) in enumerate(listed):
        colour = PALETTE[4] if is_group else PALETTE[0]
        axes.barh(row, one["value"], height=0.55, color=colour, alpha=0.7)
        axes.errorbar(one["value"], row, xerr=one["error"], color=INK, elinewidth=1, capsize=2.5)
        axes.plot([one["noise_floor"]] * 2, [row - 0.4, row + 0.4], color=ALARM, linewidth=1.2)
        words = "none" if one["is_noise"] else NOTATION.amount(one["value"], one["error"])
        axes.annotate(words, (1.02, row), xycoords=("axes fraction", "data"), va="center")
    perfect = answer["perfect"]
    axes.axvline(perfect["value"], color=INK, linewidth=1.0, linestyle="--")
    axes.set_yticks(range(len(listed)), [_short_path(one["name"]) for _, one in listed])
    axes.set_ylim(len(listed) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(0.0, 1.05 * max(perfect["value"], 1e-9))
    axes.grid(axis="x", color=LINE, linewidth=0.6)
    axes.set_xlabel(
        "worth of knowing it, productive accelerators (± simulation error;\n"
        "dashed: of knowing everything; red: what a quantity that says nothing would show)"
    )
    return figure


def _short_path(name: str) -> str:
    # Spaces, so that a long name breaks between its words.
    return short(name.rpartition(".")[2].replace("_", " ") if name.count(".") == 1 else name)


def _values_title(answer: Mapping[str, Any]) -> str:
    perfect, known = answer["perfect"], answer["parameters"]
    text = (
        f"Knowing everything is worth"
        f" {NOTATION.amount_with_error(perfect['value'], perfect['error'])}"
        " productive accelerators"
    )
    if known and not known[0]["is_noise"]:
        worth = NOTATION.amount(known[0]["value"], known[0]["error"])
        text += f"; {brief(known[0]['name'].rpartition('.')[2])} alone {worth}"
    return text


@styled
def study_benefits(answer: Mapping[str, Any], setting: Setting) -> Figure:
    """EVSI, cost and net benefit against the size of each study."""
    studies = answer["studies"][:MOST_STUDIES]
    columns = min(2, len(studies))
    rows = -(-len(studies) // columns)
    figure = page(PANEL_ROWS * rows, _studies_title(answer), setting)
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, study in zip(panels, studies, strict=False):
        _study_panel(axes, study)
    for axes in panels[len(studies) :]:
        axes.set_axis_off()
    panels[0].legend(loc="best", framealpha=0.85, edgecolor="none", fontsize=7.0)
    figure.supylabel("productive accelerators", fontsize=8.0)
    return figure


def _study_panel(axes: Axes, study: Mapping[str, Any]) -> None:
    sizes = [one["size"] for one in study["sizes"]]
    axes.errorbar(
        sizes,
        [one["value"] for one in study["sizes"]],
        yerr=[one["error"] for one in study["sizes"]],
        color=PALETTE[0],
        marker="o",
        markersize=3.5,
        capsize=2.0,
        label="worth (EVSI)",
    )
    axes.axhline(study["limit"]["value"], color=NEUTRAL, linestyle="--", label="endless data")
    if study["sizes"][0]["net_benefit"] is not None:
        costs = [one["cost_productive"] for one in study["sizes"]]
        axes.plot(sizes, costs, color=PALETTE[1], linestyle=":", label="cost")
        net = [one["net_benefit"] for one in study["sizes"]]
        axes.plot(sizes, net, color=PALETTE[2], marker="s", markersize=3.0, label="net benefit")
        axes.axhline(0.0, color=INK, linewidth=0.6)
        if study["best"] is not None:
            axes.axvspan(*study["near_best"], color=PALETTE[2], alpha=0.12)
    axes.set_xscale("log")
    ticks = [size for index, size in enumerate(sizes) if index % (1 + len(sizes) // 5) == 0]
    axes.set_xticks(ticks, [f"{size:,}" for size in ticks])
    axes.minorticks_off()
    if study["best"] is None:
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    axes.set_title(short(study["name"]), fontsize=8.0, loc="left")
    axes.set_xlabel(study["unit"])
    axes.grid(color=LINE, linewidth=0.6)


def _studies_title(answer: Mapping[str, Any]) -> str:
    priced = [one for one in answer["studies"] if one["best"] is not None]
    if not priced:
        worth = max(answer["studies"], key=lambda one: one["limit"]["value"])
        limit = NOTATION.amount(worth["limit"]["value"], worth["limit"]["error"])
        return f"{brief(worth['name'])} could be worth up to {limit} productive accelerators"

    def net(study: Mapping[str, Any]) -> float:
        return max(float(one["net_benefit"]) for one in study["sizes"])

    best = max(priced, key=net)
    [size] = [one for one in best["sizes"] if one["size"] == best["best"]]
    return (
        f"{best['best']:,} {best['unit']} of {brief(best['name'])} are worth"
        f" {NOTATION.amount(net(best), size['error'])} productive accelerators more than they cost"
    )


@styled
def budget_frontier(answer: Mapping[str, Any], setting: Setting) -> Figure:
    """Expected and CVaR productive accelerators against budget, programs numbered along it."""
    points = answer["frontier"]
    programs = _programs(points)
    keys = programs
    if len(programs) > MOST_PROGRAMS:
        keys = [*programs[: MOST_PROGRAMS - 1], programs[-1]]
    figure = page(13.0 + 0.65 * len(keys), _frontier_title(answer), setting)
    axes, legend = figure.subplots(2, 1, height_ratios=(13.0, max(1.0, 0.65 * len(keys))))
    budgets = [point["budget"] for point in points]
    for criterion, key, colour, words in (
        ("best", "expected", PALETTE[0], "best program, expected"),
        ("buying", "expected", NEUTRAL, "accelerators only, expected"),
        ("careful", "tail", PALETTE[1], "most careful program, worst tenth of draws"),
        ("buying", "tail", "#B5B5B5", "accelerators only, worst tenth"),
    ):
        values = [point[criterion][key] for point in points]
        dashed = "--" if criterion == "buying" else "-"
        axes.plot(budgets, values, color=colour, linestyle=dashed, label=words)
    seen: set[tuple[str, ...]] = set()
    for point in points:
        program = tuple(point["best"]["program"])
        if program in seen or program not in keys:
            continue
        seen.add(program)
        height = point["best"]["expected"]
        axes.plot(point["budget"], height, "o", markersize=3.5, color=PALETTE[0])
        axes.annotate(
            str(keys.index(program) + 1),
            (point["budget"], height),
            xytext=(0, 5),
            textcoords="offset points",
            ha="center",
            fontsize=8.0,
        )
    axes.set_xlabel("budget, accelerators")
    axes.set_ylabel("productive accelerators")
    axes.xaxis.set_major_formatter(lambda value, _: NOTATION.amount(value))
    axes.yaxis.set_major_formatter(lambda value, _: NOTATION.amount(value))
    axes.grid(color=LINE, linewidth=0.6)
    axes.legend(loc="best", frameon=False, fontsize=7.0)
    legend.set_axis_off()
    legend.set_ylim(len(keys), 0.0)
    for row, program in enumerate(keys):
        words = " + ".join(map(brief, program)) or "accelerators only"
        # Nine long names may not fit a line: the table and the file hold them whole.
        text = words if len(words) <= 112 else f"{words[:111]}…"  # noqa: PLR2004
        legend.text(0.0, row + 0.5, f"{row + 1}  {text}", fontsize=7.0, va="center")
    return figure


def _programs(points: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Best programs in the order in which a growing budget meets them."""
    return list(dict.fromkeys(tuple(point["best"]["program"]) for point in points))


def _frontier_title(answer: Mapping[str, Any]) -> str:
    best = answer["programs"][0]
    count = len(best["program"])
    what = f"{count} intervention{'' if count == 1 else 's'}" if count else NOTHING
    if not count:
        return (
            f"At {NOTATION.amount(answer['budget'])} accelerators nothing beats buying accelerators"
        )
    return (
        f"{NOTATION.amount(answer['budget'])} accelerators are best spent on {what} and"
        f" {NOTATION.amount(best['bought'])} accelerators:"
        f" {NOTATION.amount_with_error(best['gain'], best['gain_error'])} productive more than"
        " buying alone"
    )


def write_information_figures(summary: Mapping[str, Any], directory: Path) -> list[Path]:
    """Write the figures of the first answer of ``decision.information``."""
    answer = summary["answers"][0]
    drawings = {"information_values": information_values}
    if answer["studies"]:
        drawings["study_benefits"] = study_benefits
    return _write(drawings, summary, directory)


def write_portfolio_figures(summary: Mapping[str, Any], directory: Path) -> list[Path]:
    """Write the figure of the first answer of ``decision.portfolio``."""
    return _write({"budget_frontier": budget_frontier}, summary, directory)


def _write(drawings: Mapping[str, Any], summary: Mapping[str, Any], directory: Path) -> list[Path]:
    answer = summary["answers"][0]
    setting = setting_of(summary, answer)
    directory.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, draw in drawings.items():
        path = directory / f"{name}.png"
        figure = draw(answer, setting)
        with house_style():
            figure.savefig(path, dpi=DPI, metadata={"Software": None})
        paths.append(path)
    return paths
