"""What the validation says of step times: scores, every row, refinements, batch series."""

from reports.markdown import escaped, table
from reports.numbers import NOTHING
from reports.validation_words import (
    LEVELS,
    Content,
    calibration,
    forms_of,
    further,
    paragraph,
    percent,
    seconds,
    share_with_error,
    signed,
    signed_percent,
    system_name,
    verdict,
    with_error,
)


def scores(content: Content) -> str:
    """How well the two forms predict systems left out."""
    published, refined = forms_of(content)

    both = (published["scores"], refined["scores"])
    lines = [
        ["median absolute error", *(share_with_error(s["median_absolute_error"]) for s in both)],
        ["90th percentile of it", *(percent(s["p90_absolute_error"]) for s in both)],
        ["median absolute error within systems", *(percent(s["within_systems"]) for s in both)],
        ["interval score", *(with_error(s["interval_score"]) for s in both)],
        ["log predictive density", *(with_error(s["log_density"]) for s in both)],
        *(
            [f"{level}% interval holds", *(share_with_error(s["coverage"][level]) for s in both)]
            for level in LEVELS
        ),
        [
            "a row around its system, sd of log seconds",
            *(f"{form['spreads']['of a row']:.3g}" for form in (published, refined)),
        ],
        [
            "systems around their type, sd of logit efficiency",
            *(f"{form['spreads']['between systems']:.3g}" for form in (published, refined)),
        ],
    ]
    text = table(["on systems left out", "published", "refined"], lines, "lrr")
    constants = refined["constants"]
    names = ", ".join(f"`{name}`" for name in refined["refinements"])
    parts = [
        text,
        paragraph(
            verdict(content),
            calibration(refined["scores"]),
            f"Stacking gives the refined form a weight of {content['stacking_weight']:.2f}; the "
            "chance that it predicts the next system better, by the rule of succession over so "
            f"few, is {content['next_system']:.2f}. `--form mixed` uses the smaller: "
            f"{content['shipped_weight']:.2f}.",
        ),
        paragraph(
            f"The refined form is {names}." if names else "The refined form refines nothing.",
            "Its constants, fitted to all rows: "
            + ", ".join(f"`{path}` {value:.3g}" for path, value in constants.items())
            + "."
            if constants
            else "",
        ),
    ]
    if "further" in refined:
        parts.append(further(published, refined))
    return "\n\n".join(part for part in parts if part)


def rows(content: Content) -> str:
    """Measured and predicted seconds of every row."""
    lines = []
    for row in content["rows"]:
        published, refined = row["forms"]["published"], row["forms"]["refined"]
        lines.append(
            [
                escaped(row["system"]),
                f"{row['accelerators']:,}",
                seconds(row["measured_s"]),
                *(
                    cell
                    for one in (published, refined)
                    for cell in (
                        f"{seconds(one['predicted_s'])} ({seconds(one['lower_s'])} to "
                        f"{seconds(one['upper_s'])})",
                        signed_percent(one["error"]),
                    )
                ),
            ]
        )
    heads = ["row", "accelerators", "measured, s", "published, s (80%)", "", "refined, s (80%)", ""]
    return table(heads, lines, "lrrrrrr")


def signed_errors(content: Content) -> str:
    """Mean errors by what a row is."""
    published, refined = forms_of(content)
    lines = [
        [
            one["by"],
            escaped(one["bin"]),
            str(one["rows"]),
            signed_percent(one["mean_error"]),
            signed_percent(other["mean_error"]),
        ]
        for one, other in zip(published["signed_errors"], refined["signed_errors"], strict=True)
    ]
    note = paragraph(
        "Mean of predicted over measured, minus one: above zero the model is too slow. Rows of one "
        "system move together, so a bin with few systems says little."
    )
    return f"{note}\n\n{table(['by', 'bin', 'rows', 'published', 'refined'], lines, 'llrrr')}"


def refinements(content: Content) -> str:
    """What each refinement gains, and where it comes from."""
    listed = [entry for entry in content["refinements"] if entry["name"] != "all"]
    lines = []
    for entry in listed:
        alone, last = entry["alone"], entry["last"]
        lines.append(
            [
                f"`{entry['name']}`",
                "yes" if entry["refined"] else "no",
                with_error(alone["log_density"], sign=True) if alone else NOTHING,
                with_error(last["log_density"], sign=True) if last else NOTHING,
                with_error(last["interval_score"], 3, sign=True) if last else NOTHING,
            ]
        )
    heads = ["refinement", "in refined", "alone", "last one in", "its interval score"]
    together = [entry for entry in content["refinements"] if entry["name"] == "all"]
    parts = [
        paragraph(
            "Gain in log predictive density a row, on systems left out. Alone: over the published "
            "form. Last one in: of the refined form over the same without it; for one that is not "
            "in it, of adding it. Refinements of failures and of checks do not touch step times.",
        ),
        table(heads, lines, "llrrr"),
    ]
    parts.append(
        paragraph(
            "The refined form was chosen on these same systems: one refinement at a time, while "
            "one more gains more than its error and the 0.015 by which two seeds differ. Its gain "
            "is therefore flattering to some degree, and rows that had no part in the choice "
            "(`--throughput FILE`) are the better judge.",
        )
    )
    if together:
        found = with_error(together[0]["alone"]["log_density"], sign=True)
        parts.append(paragraph(f"All refinements of the step together: {found}."))
    sources = "\n".join(
        f"* `{entry['name']}`: {escaped(entry['changes'])}. Source: {escaped(entry['source'])}."
        for entry in listed
    )
    return "\n\n".join([*parts, sources])


def series(content: Content) -> str:
    """Seconds against microbatches where a system was measured at several batch sizes."""
    parts = []
    for one in content["series"]:
        worst = max((abs(row["error"]) for row in one["rows"]), default=0.0)
        end = "within 3%" if one["explained"] else "not within 3%"
        errors = ", ".join(
            f"{row['microbatches']:.0f} microbatches {signed(row['error'] * 100, 1)}%"
            for row in one["rows"]
        )
        parts.append(
            paragraph(
                f"{escaped(system_name(one['system']))}, {one['form']} form, fitted to the series "
                "alone: "
                f"measured {one['measured']['fixed_s']:.3g} s + "
                f"{one['measured']['each_s']:.3g} s a microbatch, modelled "
                f"{one['modelled']['fixed_s']:.3g} s + {one['modelled']['each_s']:.3g} s.",
                f"Errors: {errors}. The largest is {worst * 100:.1f}%: {end}.",
            )
        )
    if not parts:
        return paragraph("No system was measured at three batch sizes or more.")
    parts.append("![Seconds against microbatches](validation/series.png)")
    parts.append(
        paragraph(
            "What is short is fixed cost: the model's fixed part is the pipeline bubble and the "
            "reduction of gradients; the optimiser step, data loading and the embedding's own "
            "reduction have no formula."
        )
    )
    return "\n\n".join(parts)
