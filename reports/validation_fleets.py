"""What the validation says of failures and of effective training time ratios."""

from reports.markdown import escaped, table
from reports.numbers import NOTHING
from reports.validation_words import (
    LEVELS,
    Content,
    bounded,
    paragraph,
    percent,
    rate,
    share_with_error,
    with_error,
)


def fleets(content: Content) -> str:
    """Failure rates under each population, every rate and every ratio under the last."""
    variants = content["fleets"]["variants"]
    lines = [
        [
            one["name"],
            with_error(one["scores"]["log_density"]),
            with_error(one["gain"]["log_density"], sign=True) if place else NOTHING,
            with_error(one["scores"]["interval_score"], 1),
            *(share_with_error(one["scores"]["coverage"][level]) for level in LEVELS),
        ]
        for place, one in enumerate(variants)
    ]
    heads = ["population", "log density", "gain", "interval score", *(f"{x}%" for x in LEVELS)]
    last = variants[-1]
    rates = [
        [
            escaped(row["system"]),
            row["counts"].replace("_", " "),
            NOTHING if row["events"] is None else f"{row['events']:,}",
            f"{row['measured_per_node_day'] * 1e3:.3g}",
            f"{rate(row['predicted_per_node_day'] * 1e3)} ({rate(row['lower_80'] * 1e3)} to "
            f"{rate(row['upper_80'] * 1e3)})",
        ]
        for row in last["rows"]
    ]
    ettr = [
        [
            escaped(row["system"]),
            f"{row['accelerators']:,}",
            f"{bounded(row['bound'])}{row['stated']:g}",
            f"{row['median']:.2f} ({row['p10']:.2f} to {row['p90']:.2f})",
            percent(row["chance"]),
        ]
        for row in last["ettr"]
    ]
    return "\n\n".join(
        [
            paragraph(
                "Each fleet's failures are predicted from the other sources, under four "
                "populations: with and without a rate per job beside the rate per node, with "
                "counts as regular as Poisson's or overdispersed.",
                f"Inclusion rule. {content['fleet_rule']}",
            ),
            table(heads, lines, "lrrrrrrr"),
            paragraph(
                f"Per 1,000 node-days, under the last population ({last['name']}), with 80% "
                "intervals:"
            ),
            table(["fleet", "counts", "events", "measured", "predicted"], rates, "llrrr"),
            paragraph(
                "ETTR, with the ranking's priors for detection, restart and checkpoint writes; the "
                "last column is the probability of the stated bound, or of a value as far out:"
            ),
            table(["job", "accelerators", "stated", "predicted (80%)", "chance"], ettr, "lrrrr"),
        ]
    )
