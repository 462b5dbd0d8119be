"""The reproduction study by scale: where time goes, what a larger pool brings, and the bias."""

from matplotlib.figure import Figure

from reports.canvas import FATE_FILL
from reports.palette import INK, NEUTRAL, PALETTE
from reports.study_style import (
    DASHES,
    GRID,
    MARKS,
    REFERENCE_OVERSUBSCRIPTION,
    Tables,
    in_thousands,
    scale_axis,
    study_page,
)

BLOCKED = {
    "blocked_comm": "exposed communication",
    "blocked_sync": "synchronisation wait",
    "blocked_bubble": "pipeline bubble",
    "blocked_checkpoint": "checkpoint writes",
    "blocked_restart": "restarts",
}


def where_time_goes(tables: Tables) -> Figure:
    """Fates by scale, and what blocks."""
    table = tables["e1"]
    table = table[table["oversubscription"] == REFERENCE_OVERSUBSCRIPTION]
    scales = table["n_accelerators"].to_numpy()
    first, last = 100 * table["ucf"].iloc[0], 100 * table["ucf"].iloc[-1]
    figure = study_page(
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
    scale_axis(lines, scales)
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
    figure = study_page(
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
        in_thousands(axes)
    in_thousands(total, "y")
    total.set_ylim(0, None)
    total.set_ylabel("productive accelerators (1,000s)")
    next_one.set_ylabel("productive accelerators per one more")
    next_one.legend(
        title="failures per 1,000 node-days", frameon=False, handlelength=3.0, title_fontsize=8.0
    )
    return figure


def informal_bias(tables: Tables) -> Figure:
    """The informal figure over SEA: every in-scope row, and the median at each scale."""
    table = tables["e5"]
    usable = table["within_validity_envelope"] & table["ratio_naive_over_sea"].notna()
    table = table[usable]
    scales = sorted(table["n_accelerators"].unique())
    rates = sorted(table["failure_rate_per_node_day"].unique())
    medians = table.groupby("n_accelerators")["ratio_naive_over_sea"].median()
    figure = study_page(
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
