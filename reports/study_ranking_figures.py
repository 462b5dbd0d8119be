"""The reproduction study's rankings: over regimes, over scales, over draws."""

from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from reports.palette import INK
from reports.study_style import COLOURS, GRID, MAP_SCALES, Tables, study_page, words


def decision_map(tables: Tables) -> Figure:
    """Who ranks first over failure rate and oversubscription; hatched where out of scope."""
    table = tables["e3 exact"]
    winners = sorted(table["winner"].unique())
    scoped = table["within_validity_envelope"].sum()
    figure = study_page(
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
    figure = study_page(
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


def rank_stability(tables: Tables) -> Figure:
    """Share ranked first, in-scope draws only and all of them."""
    scoped = tables["e7"][tables["e7"]["within_validity_envelope"]]
    everything = tables["e7 exact"]
    shares = [100 * t["winner"].value_counts(normalize=True) for t in (scoped, everything)]
    options = list(dict.fromkeys([*shares[0].index, *shares[1].index]))
    lead = options[0]
    figure = study_page(
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
