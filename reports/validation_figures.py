"""Figures of the validation: a plain mapping in, Matplotlib figures out."""

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from reports.canvas import DPI, INK, NEUTRAL, PALETTE, Setting, house_style, page
from reports.validation_words import LEVELS, Content

FORMS = ("published", "refined")
MARKS = {"published": "o", "refined": "s"}
COLOURS = {"published": PALETTE[1], "refined": PALETTE[0]}


def _setting(caption: str) -> Setting:
    return Setting(caption=caption, caption_colour=NEUTRAL, colours={}, source="")


def draw_predicted(content: Content) -> Figure:
    """Predicted over measured seconds of every row, with 80% intervals, both forms."""
    rows = content["rows"]
    figure = page(
        len(rows) * 0.75,
        "Predicted over measured step time, each row with its system left out",
        _setting(
            "Median and 80% interval of each row, its system left out. 1 is exact; above 1 the "
            "model is too slow. Circles: published formulas. Squares: refined formulas."
        ),
    )
    axes = figure.subplots()
    axes.axvline(1.0, color=INK, linewidth=0.8)
    for place, row in enumerate(rows):
        for shift, name in zip((-0.18, 0.18), FORMS, strict=True):
            one = row["forms"][name]
            ratios = [one[key] / row["measured_s"] for key in ("lower_s", "predicted_s", "upper_s")]
            axes.plot(
                [ratios[0], ratios[2]], [place + shift] * 2, color=COLOURS[name], linewidth=1.0
            )
            axes.plot(
                ratios[1],
                place + shift,
                marker=MARKS[name],
                color=COLOURS[name],
                markersize=3.5,
                linestyle="",
                label=name if place == 0 else None,
            )
    axes.set_yticks(range(len(rows)), [_short(row["system"]) for row in rows])
    axes.tick_params(axis="y", length=0, labelsize=6.5)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xscale("log")
    ticks = (0.5, 0.7, 1.0, 1.4, 2.0, 3.0)
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel("predicted over measured seconds of a step")
    axes.legend(loc="lower right", frameon=False)
    return figure


def draw_coverage(content: Content) -> Figure:
    """Share of measured values inside the stated intervals."""
    figure = page(
        7.0,
        "Do the stated intervals hold on systems left out?",
        _setting(
            "Share of rows inside each central interval, ± one standard error over systems. On the "
            "line the stated uncertainty is right; above it is too wide, below too narrow."
        ),
    )
    axes = figure.subplots()
    axes.plot([45, 100], [45, 100], color=INK, linewidth=0.8)
    for shift, (name, form) in zip(
        (-0.6, 0.6), zip(FORMS, content["forms"], strict=True), strict=True
    ):
        covered = [form["scores"]["coverage"][level] for level in LEVELS]
        axes.errorbar(
            [float(level) + shift for level in LEVELS],
            [one["value"] * 100 for one in covered],
            yerr=[(one["error"] or 0.0) * 100 for one in covered],
            fmt=MARKS[name],
            color=COLOURS[name],
            markersize=4.5,
            capsize=2.0,
            linewidth=1.0,
            label=name,
        )
    axes.set_xticks([float(level) for level in LEVELS], [f"{level}%" for level in LEVELS])
    axes.set_xlabel("stated")
    axes.set_ylabel("held, %")
    axes.set_ylim(20, 105)
    axes.legend(loc="lower right", frameon=False)
    return figure


def draw_series(content: Content) -> Figure:
    """Seconds against microbatches of one job."""
    series = content["series"]
    figure = page(
        8.0,
        "A fixed cost and a cost a microbatch: one job at several batch sizes",
        _setting(
            "Line: least squares through what was measured (crosses). Marks: each form fitted to "
            "this series alone, one kernel efficiency and the unknowns of one system."
        ),
    )
    axes = figure.subplots()
    for place, one in enumerate(series):
        counts = np.array([row["microbatches"] for row in one["rows"]])
        if one["form"] == FORMS[0]:
            measured = [row["measured_s"] for row in one["rows"]]
            line = np.array([0.0, counts.max()])
            axes.plot(
                line,
                one["measured"]["fixed_s"] + one["measured"]["each_s"] * line,
                color=NEUTRAL,
                linewidth=0.8,
            )
            label = "measured" if place == 0 else None
            axes.plot(counts, measured, "x", color=INK, markersize=6, label=label)
        shift = -0.8 if one["form"] == FORMS[0] else 0.8
        axes.plot(
            counts + shift,
            [row["modelled_s"] for row in one["rows"]],
            MARKS[one["form"]],
            color=COLOURS[one["form"]],
            markersize=4.5,
            label=one["form"] if place < len(FORMS) else None,
        )
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("microbatches of a replica")
    axes.set_ylabel("seconds of a step")
    axes.legend(loc="upper left", frameon=False)
    return figure


def _short(name: str) -> str:
    line = " ".join(name.split())
    longest = 44
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


FIGURES: Mapping[str, Callable[[Content], Figure]] = {
    "predicted": draw_predicted,
    "coverage": draw_coverage,
    "series": draw_series,
}


def write_validation_figures(content: Content, directory: Path) -> None:
    """Write every figure as PNG."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, draw in FIGURES.items():
        if name == "series" and not content["series"]:
            continue
        with house_style():
            figure = draw(content)
            figure.savefig(directory / f"{name}.png", dpi=DPI)
