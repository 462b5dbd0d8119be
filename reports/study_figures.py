"""The reproduction study as pictures: tables in, Matplotlib figures out.

Drawn for print at full text width: every figure says its finding in the title, its units on the
axes and its case below; what colour tells, a mark, a letter or a hatch tells too.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from reports.canvas import DPI, FATE_FILL, Setting, house_style, page
from reports.palette import GRID, INK, NEUTRAL, PALETTE

type Tables = Mapping[str, Any]

PALE = "#F0F0F0"

REFERENCE_OVERSUBSCRIPTION = 7.0
REFERENCE_RATE = 5e-3
MAP_SCALES = (16_384, 65_536)

OPTIONS = (
    "add_spares",
    "bandwidth_2x",
    "bandwidth_4x",
    "fast_checkpoint",
    "fast_detection",
    "fast_restart",
    "flat_fabric",
    "reliability_2x",
    "scaleup_2x",
    "straggler_control",
)
"""In the order of names, as the colours of a memo go."""

COLOURS = dict(zip(OPTIONS, PALETTE, strict=True))

BLOCKED = {
    "blocked_comm": "exposed communication",
    "blocked_sync": "synchronisation wait",
    "blocked_bubble": "pipeline bubble",
    "blocked_checkpoint": "checkpoint writes",
    "blocked_restart": "restarts",
}
DASHES = ("-", "--", ":", "-.", (0, (6, 1, 1, 1, 1, 1)))
MARKS = ("o", "s", "^", "D", "v")

AGREEMENT_PERCENT = 0.02
"""What the published study says of its two implementations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A figure of the study.

    Parameters
    ----------
    needs
        Keys of the tables it is drawn from.
    draw
        Draws it.
    """

    needs: tuple[str, ...]
    draw: Callable[[Tables], Figure]


def words(name: str) -> str:
    """An intervention or regime for a reader."""
    return name.replace("_", " ").replace(" 2x", " ×2").replace(" 4x", " ×4")


def _page(rows: float, title: str, caption: str) -> Figure:
    setting = Setting(caption=caption, caption_colour=NEUTRAL, colours=COLOURS, source="")
    return page(rows, title, setting)


def _thousands(axes: Axes, axis: str = "x") -> None:
    getattr(axes, f"{axis}axis").set_major_formatter(lambda value, _: f"{value / 1000:,.0f}")


def _scales(axes: Axes, scales: Any) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(list(scales), [f"{scale // 1024:.0f}" for scale in scales])
    axes.minorticks_off()
    axes.set_xlabel("accelerators of the job (1,024s)")


def where_time_goes(tables: Tables) -> Figure:
    """Fates by scale, and what blocks."""
    table = tables["e1"]
    table = table[table["oversubscription"] == REFERENCE_OVERSUBSCRIPTION]
    scales = table["n_accelerators"].to_numpy()
    first, last = 100 * table["ucf"].iloc[0], 100 * table["ucf"].iloc[-1]
    figure = _page(
        8.6,
        f"From {scales[0]:,} to {scales[-1]:,} accelerators the useful share falls"
        f" from {first:.0f}% to {last:.0f}%",
        "Reference case: 405B parameters, oversubscription 7, 5 failures per 1,000 node-days",
    )
    stack, lines = figure.subplots(1, 2)
    shares = {
        "productive": table["productive"],
        "blocked": table[list(BLOCKED)].sum(axis=1),
        "discarded": table["discarded"],
        "unavailable": table["unavailable_down"] + table["unavailable_spare_stranded"],
    }
    bottom = 0.0 * scales
    for fate, seconds in shares.items():
        fill, hatch = FATE_FILL[fate]
        heights = (100 * seconds / table["total"]).to_numpy()
        stack.bar(
            range(scales.size),
            heights,
            bottom=bottom,
            width=0.8,
            color=fill,
            hatch=hatch,
            edgecolor=INK,
            linewidth=0.5,
            label=fate,
        )
        bottom = bottom + heights
    stack.set_xticks(range(scales.size), [f"{scale // 1024}" for scale in scales])
    stack.set_xlabel("accelerators of the job (1,024s)")
    stack.set_ylabel("share of accelerator-time (%)")
    stack.set_ylim(0, 100)
    stack.legend(
        loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False, columnspacing=1.2
    )
    for index, (column, label) in enumerate(BLOCKED.items()):
        lines.plot(
            scales,
            100 * table[column] / table["total"],
            color=PALETTE[index],
            linestyle=DASHES[index],
            marker=MARKS[index],
            markersize=4,
            label=label,
        )
    lines.plot(
        scales,
        100 * table["discarded"] / table["total"],
        color=INK,
        linewidth=1.0,
        marker="x",
        markersize=5,
        label="discarded",
    )
    _scales(lines, scales)
    lines.grid(axis="y", color=GRID, linewidth=0.6)
    lines.set_ylim(0, None)
    lines.set_ylabel("share of accelerator-time (%)")
    lines.legend(loc="upper left", frameon=False, handlelength=3.0)
    return figure


def scaling_and_marginal(tables: Tables) -> Figure:
    """Π against the pool, and what one more accelerator brings."""
    curves, marginal = tables["e9"], tables["e9 marginal"]
    rates = sorted(curves["failure_rate_per_node_day"].unique())
    worst = curves[
        (curves["failure_rate_per_node_day"] == rates[-1])
        & (curves["oversubscription"] == REFERENCE_OVERSUBSCRIPTION)
    ]
    peak = worst.loc[worst["productive_accelerators"].idxmax(), "n_pool"]
    figure = _page(
        8.4,
        f"At {1000 * rates[-1]:.0f} failures per 1,000 node-days the"
        f" {round(peak, -4):,.0f}th accelerator brings nothing",
        "Reference case, strong scaling from 4,096 accelerators; "
        "oversubscription 7 (thick), 1 (thin)",
    )
    total, next_one = figure.subplots(1, 2)
    for index, rate in enumerate(rates):
        for oversubscription, width in ((REFERENCE_OVERSUBSCRIPTION, 1.8), (1.0, 0.7)):
            style = {
                "color": PALETTE[index],
                "linestyle": DASHES[index],
                "linewidth": width,
                "label": f"{1000 * rate:.0f}" if width > 1 else None,
            }
            for axes, table, column in (
                (total, curves, "productive_accelerators"),
                (next_one, marginal, "marginal_accelerator"),
            ):
                chosen = (table["failure_rate_per_node_day"] == rate) & (
                    table["oversubscription"] == oversubscription
                )
                axes.plot(table.loc[chosen, "n_pool"], table.loc[chosen, column], **style)
    next_one.axhline(0.0, color=NEUTRAL, linewidth=0.8)
    for axes in (total, next_one):
        axes.set_xlabel("accelerators owned (1,000s)")
        axes.grid(color=GRID, linewidth=0.6)
        axes.set_xlim(0, None)
        _thousands(axes)
    _thousands(total, "y")
    total.set_ylim(0, None)
    total.set_ylabel("productive accelerators (1,000s)")
    next_one.set_ylabel("productive accelerators per one more")
    next_one.legend(
        title="failures per 1,000 node-days", frameon=False, handlelength=3.0, title_fontsize=8.0
    )
    return figure


def decision_map(tables: Tables) -> Figure:
    """Who ranks first over failure rate and oversubscription; hatched where out of scope."""
    table = tables["e3 exact"]
    winners = sorted(table["winner"].unique())
    scoped = table["within_validity_envelope"].sum()
    figure = _page(
        11.0,
        "Reduce jitter first where nodes are reliable, failures where they are not; "
        "bandwidth ranks first at scale only",
        f"Reference case, {scoped} of {len(table)} cells in scope; in hatched cells recovery "
        "takes a quarter of the time or more: out of the model's scope. Ranked by productive "
        "accelerators.",
    )
    letters = {name: words(name)[0].upper() for name in winners}
    panels = figure.subplots(1, len(MAP_SCALES), sharey=True)
    for axes, scale in zip(panels, MAP_SCALES, strict=True):
        cells = table[table["n_accelerators"] == scale]
        rates = sorted(cells["failure_rate_per_node_day"].unique())
        across = sorted(cells["oversubscription"].unique())
        for cell in cells.to_dict("records"):
            x = across.index(cell["oversubscription"])
            y = rates.index(cell["failure_rate_per_node_day"])
            within = cell["within_validity_envelope"]
            axes.add_patch(
                Rectangle(
                    (x - 0.5, y - 0.5),
                    1,
                    1,
                    facecolor=COLOURS[cell["winner"]],
                    alpha=0.45 if within else 0.18,
                    edgecolor="white",
                    linewidth=1.0,
                )
            )
            if not within:
                axes.add_patch(
                    Rectangle(
                        (x - 0.5, y - 0.5),
                        1,
                        1,
                        fill=False,
                        hatch="////",
                        edgecolor="#B0B0B0",
                        linewidth=0,
                    )
                )
            box = {"facecolor": "white", "edgecolor": "none", "pad": 0.8, "alpha": 0.75}
            axes.text(
                x,
                y,
                letters[cell["winner"]],
                ha="center",
                va="center",
                color=INK,
                bbox=None if within else box,
            )
        axes.set_xlim(-0.5, len(across) - 0.5)
        axes.set_ylim(-0.5, len(rates) - 0.5)
        axes.set_xticks(range(len(across)), [f"{value:.0f}" for value in across])
        axes.set_yticks(range(len(rates)), [f"{1000 * rate:.1f}" for rate in rates])
        axes.tick_params(length=0)
        axes.set_xlabel(f"oversubscription, {scale:,} accelerators")
    panels[0].set_ylabel("failures per 1,000 node-days")
    panels[0].legend(
        handles=[
            Patch(facecolor=COLOURS[name], alpha=0.45, label=f"{letters[name]}  {words(name)}")
            for name in winners
        ],
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=2,
        frameon=False,
        handlelength=1.2,
        borderaxespad=0.2,
    )
    return figure


def sea_by_regime(tables: Tables) -> Figure:
    """SEA of every intervention, regime and scale, as a share of the pool."""
    import numpy as np
    import seaborn

    table = tables["e2"]
    regimes = list(dict.fromkeys(table["regime"]))
    scales = sorted(table["n_accelerators"].unique())
    order = table.groupby("intervention")["sea_fraction_of_pool"].median()
    options = order.sort_values(ascending=False, kind="stable").index
    figure = _page(
        13.5,
        "What an intervention is worth depends on the regime, and outgrows the cluster",
        "SEA in percent of the pool: fund what costs less. ∞: cannot be bought at any pool size; "
        "blank: nothing or a loss. *: out of the model's scope.",
    )
    panels = figure.subplots(1, len(scales), sharey=True)
    for axes, scale in zip(panels, scales, strict=True):
        part = table[table["n_accelerators"] == scale]
        wide = 100 * part.pivot_table(
            index="intervention", columns="regime", values="sea_fraction_of_pool"
        ).reindex(index=options, columns=regimes)
        shades = wide.clip(lower=0.1, upper=8000.0)
        seaborn.heatmap(
            np.log10(shades),
            ax=axes,
            cmap="Blues",
            vmin=-1.0,
            vmax=4.0,
            annot=wide.map(_share_word),
            fmt="",
            annot_kws={"fontsize": 8.0},
            linewidths=0.6,
            linecolor="white",
            cbar=False,
        )
        scope = part.groupby("regime")["within_validity_envelope"].all().reindex(regimes)
        labels = [words(n).replace(" ", "\n") + ("" if scope[n] else " *") for n in regimes]
        axes.set_xticks([i + 0.5 for i in range(len(regimes))], labels, rotation=90)
        axes.set_yticks([i + 0.5 for i in range(len(options))], [words(n) for n in options])
        axes.tick_params(length=0)
        axes.set_title(f"{scale:,} accelerators", fontsize=8.0)
        axes.set_xlabel("")
        axes.set_ylabel("")
    return figure


def _share_word(share: float) -> str:
    if share == float("inf"):
        return "∞"
    if share < 0.05:  # noqa: PLR2004 - rounds to nothing
        return ""
    return f"{share:.1f}" if share < 9.95 else f"{share:.0f}"  # noqa: PLR2004 - two digits


def informal_bias(tables: Tables) -> Figure:
    """The informal figure over SEA: every in-scope row, and the median at each scale."""
    table = tables["e5"]
    usable = table["within_validity_envelope"] & table["ratio_naive_over_sea"].notna()
    table = table[usable]
    scales = sorted(table["n_accelerators"].unique())
    rates = sorted(table["failure_rate_per_node_day"].unique())
    medians = table.groupby("n_accelerators")["ratio_naive_over_sea"].median()
    figure = _page(
        8.2,
        f"Counting freed time as accelerators understates an intervention by"
        f" ×{1 / medians.iloc[0]:.2f} at {scales[0]:,} and ×{1 / medians.iloc[-1]:.2f}"
        f" at {scales[-1]:,} accelerators",
        "Ten interventions, three failure rates, oversubscription 7, rows in scope with a finite "
        "SEA above zero; bar: median",
    )
    axes = figure.add_subplot()
    for index, rate in enumerate(rates):
        part = table[table["failure_rate_per_node_day"] == rate]
        places = [scales.index(scale) + 0.22 * (index - 1) for scale in part["n_accelerators"]]
        axes.plot(
            places,
            part["ratio_naive_over_sea"],
            linestyle="none",
            marker=MARKS[index],
            markersize=5,
            markerfacecolor="none",
            markeredgecolor=PALETTE[index],
            label=f"{1000 * rate:.0f}",
        )
    for place, scale in enumerate(scales):
        axes.hlines(medians[scale], place - 0.36, place + 0.36, color=INK, linewidth=1.6)
        axes.annotate(
            f"{medians[scale]:.3f}",
            (place + 0.38, medians[scale]),
            va="center",
            color=INK,
        )
    axes.set_xticks(range(len(scales)), [f"{scale:,}" for scale in scales])
    axes.set_xlim(-0.5, len(scales) - 0.2)
    axes.set_ylim(0.0, 1.05)
    axes.axhline(1.0, color=NEUTRAL, linewidth=0.8)
    axes.annotate("unbiased", (-0.45, 1.0), va="bottom", color=NEUTRAL)
    axes.grid(axis="y", color=GRID, linewidth=0.6)
    axes.set_xlabel("accelerators of the job")
    axes.set_ylabel("informal figure over SEA")
    axes.legend(
        title="failures per 1,000 node-days", loc="lower left", frameon=False, title_fontsize=8.0
    )
    return figure


def rank_stability(tables: Tables) -> Figure:
    """Share ranked first, in-scope draws only and all of them."""
    scoped = tables["e7"][tables["e7"]["within_validity_envelope"]]
    everything = tables["e7 exact"]
    shares = [100 * t["winner"].value_counts(normalize=True) for t in (scoped, everything)]
    options = list(dict.fromkeys([*shares[0].index, *shares[1].index]))
    lead = options[0]
    figure = _page(
        len(options) + 2.2,
        f"{words(lead).capitalize()} ranks first in {shares[0][lead]:.1f}% of the draws in scope,"
        f" in {shares[1][lead]:.1f}% of all: leaving draws out selects",
        f"{len(everything)} draws of nine parameters, {len(scoped)} in scope; 16,384 accelerators, "
        "typical regime",
    )
    axes = figure.add_subplot()
    for row, name in enumerate(options):
        ends = [share.get(name, 0.0) for share in shares]
        axes.plot(ends, [row, row], color=COLOURS[name], linewidth=2.2, alpha=0.5)
        axes.plot(ends[0], row, "o", markersize=8, markerfacecolor="white", color=COLOURS[name])
        axes.plot(ends[1], row, "D", markersize=4.5, color=COLOURS[name])
        axes.annotate(
            f"{ends[0]:.1f}% → {ends[1]:.1f}%",
            (1.02, row),
            xycoords=("axes fraction", "data"),
            va="center",
        )
    axes.plot([], [], "o", markersize=8, markerfacecolor="white", color=INK, label="in scope")
    axes.plot([], [], "D", markersize=4.5, color=INK, label="all draws")
    axes.legend(
        loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, frameon=False, borderaxespad=0.2
    )
    axes.set_yticks(range(len(options)), [words(name) for name in options])
    axes.set_ylim(len(options) - 0.5, -0.5)
    axes.set_xlim(-1.5, None)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=GRID, linewidth=0.6)
    axes.set_xlabel("share of draws in which it ranks first (%)")
    return figure


def cross_fidelity(tables: Tables) -> Figure:
    """Event-driven against renewal expectations, and other failure processes."""
    fine, processes = tables["e8 fine"], tables["e8 processes"]
    largest = 100 * fine["rel_difference_ucf"].abs().max()
    figure = _page(
        12.0,
        f"Two implementations agree within {largest:.2f}%; failures in groups are another matter",
        "Mean ± 2 standard errors of the event-driven UCF against its expectation; right: "
        "16,384 accelerators, the mean rate of node failures kept",
    )
    left, right = figure.subplots(1, 2, width_ratios=(1.0, 1.15))
    left.axvspan(-AGREEMENT_PERCENT, AGREEMENT_PERCENT, color=PALE, zorder=0)
    left.axvline(0.0, color=NEUTRAL, linewidth=0.8)
    left.errorbar(
        100 * fine["rel_difference_ucf"],
        range(len(fine)),
        xerr=200 * fine["rel_difference_ucf_se"],
        fmt="o",
        markersize=4,
        color=PALETTE[0],
        ecolor=INK,
        elinewidth=0.8,
        capsize=2,
    )
    names = [
        f"{scale:,} at {1000 * rate:.0f}"
        for scale, rate in zip(
            fine["n_accelerators"], fine["failure_rate_per_node_day"], strict=True
        )
    ]
    left.set_yticks(range(len(names)), names)
    left.set_ylim(len(names) - 0.5, -0.5)
    left.set_xlim(-0.03, 0.03)
    left.set_ylabel("accelerators, failures per 1,000 node-days")
    left.set_xlabel("difference of UCF (%)\n(grey: published agreement, ±0.02%)")
    labels = list(dict.fromkeys(processes["process"]))
    right.axvline(0.0, color=NEUTRAL, linewidth=0.8)
    for index, (rate, part) in enumerate(processes.groupby("failure_rate_per_node_day")):
        right.errorbar(
            100 * part["rel_difference"],
            [labels.index(name) + 0.16 * (2 * index - 1) for name in part["process"]],
            xerr=200 * part["rel_difference_se"],
            fmt=MARKS[index],
            markersize=5,
            color=PALETTE[index],
            markerfacecolor="white",
            ecolor=INK,
            elinewidth=0.8,
            capsize=2,
            label=f"{1000 * rate:.0f}",
        )
    right.set_yticks(range(len(labels)), [label.replace(", ", ",\n") for label in labels])
    right.set_ylim(len(labels) - 0.5, -0.5)
    right.set_xlabel("difference of UCF (%)")
    right.legend(
        title="failures per\n1,000 node-days", loc="upper right", frameon=False, title_fontsize=8.0
    )
    for axes in (left, right):
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x", color=GRID, linewidth=0.6)
    return figure


FIGURES: Mapping[str, Drawn] = {
    "fig1_where_time_goes": Drawn(needs=("e1",), draw=where_time_goes),
    "fig2_scaling_and_marginal": Drawn(needs=("e9", "e9 marginal"), draw=scaling_and_marginal),
    "fig3_decision_map": Drawn(needs=("e3 exact",), draw=decision_map),
    "fig4_sea_by_regime": Drawn(needs=("e2",), draw=sea_by_regime),
    "fig5_informal_bias": Drawn(needs=("e5",), draw=informal_bias),
    "fig6_rank_stability": Drawn(needs=("e7", "e7 exact"), draw=rank_stability),
    "fig7_cross_fidelity": Drawn(needs=("e8 fine", "e8 processes"), draw=cross_fidelity),
}


def write_study_figures(tables: Tables, directory: Path) -> list[Path]:
    """Write the figures whose tables are there as PNG; same tables, same bytes.

    Parameters
    ----------
    tables
        Tables of the experiments by key.
    directory
        Where to; created where it is missing.

    Returns
    -------
    list of Path
        The files written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, figure in FIGURES.items():
        if not set(figure.needs) <= set(tables):
            continue
        path = directory / f"{name}.png"
        with house_style():
            # The library's version would otherwise stand in the file.
            figure.draw(tables).savefig(path, dpi=DPI, metadata={"Software": None})
        paths.append(path)
    return paths
