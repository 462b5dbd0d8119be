"""The reproduction study's check of its formulas: events simulated one by one."""

from matplotlib.figure import Figure

from reports.palette import INK, NEUTRAL, PALETTE
from reports.study_style import GRID, MARKS, PALE, Tables, study_page

AGREEMENT_PERCENT = 0.02
"""What the published study says of its two implementations."""


def cross_fidelity(tables: Tables) -> Figure:
    """Event-driven against renewal expectations, and other failure processes."""
    fine, processes = tables["e8 fine"], tables["e8 processes"]
    largest = 100 * fine["rel_difference_ucf"].abs().max()
    figure = study_page(
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
