"""The validation as a page to read and a summary for the terminal: a plain mapping in, text out."""

import textwrap
from collections.abc import Sequence

from reports import validation_fleets, validation_steps
from reports.markdown import escaped, table
from reports.validation_words import (
    LEVELS,
    REFINED,
    Content,
    bounded,
    forms_of,
    further,
    paragraph,
    percent,
    share_with_error,
    signed_percent,
    system_name,
    verdict,
    with_error,
)

SURPRISE = 0.05
"""A stated value or bound less likely than this is called out."""


def page(content: Content) -> str:
    """The page in Markdown."""
    parts = [
        "# Can it be believed?",
        _answer(content),
        "## How it was tested",
        _method(content),
        "## The two forms",
        validation_steps.scores(content),
        "![Predicted over measured seconds of every row](validation/predicted.png)",
        "![Coverage of the stated intervals](validation/coverage.png)",
        "## Every row",
        validation_steps.rows(content),
        "## Where the errors lie",
        validation_steps.signed_errors(content),
        "## What the refined formulas are worth",
        validation_steps.refinements(content),
        "## One job at several batch sizes",
        validation_steps.series(content),
        "## Failures and ETTR",
        validation_fleets.fleets(content),
        "## What the model does not explain",
        _unexplained(content),
        "## Rows that were left out",
        _excluded(content),
        "## Make this page again",
        "    python -m studies.validation --refinements --out runs/validation\n"
        "    cp -r runs/validation/validation.md runs/validation/validation docs/\n"
        "    cp runs/validation/summary.json docs/validation/",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _answer(content: Content) -> str:
    published, refined = forms_of(content)
    count = refined["scores"]["rows"]
    sentences = [
        f"Predicting {count} published step times, each from systems it does not belong to, with "
        "no tuning per row:",
        f"the published formulas miss by {_median(published)} in the median and by "
        f"{percent(published['scores']['p90_absolute_error'])} in one row of ten,",
        f"the refined ones by {_median(refined)} and "
        f"{percent(refined['scores']['p90_absolute_error'])}.",
        f"Of their stated 80% intervals {_cover(published)} and {_cover(refined)} hold.",
        verdict(content),
        "A ranking compares options on one system, where most of this error is common to all of "
        "them; an absolute throughput should be read with its interval.",
    ]
    return paragraph(*sentences)


def _median(form: Content) -> str:
    return share_with_error(form["scores"]["median_absolute_error"])


def _cover(form: Content) -> str:
    return share_with_error(form["scores"]["coverage"]["80"])


def _method(content: Content) -> str:
    names = ", ".join(escaped(system_name(name)) for name in content["systems"])
    return "\n\n".join(
        [
            paragraph(
                "Seconds of a step are predicted, since papers count FLOPs differently; where "
                "only a rate is printed it is turned into seconds under its own convention.",
                "What a row does not state is not guessed: micro-batch, virtual stages and "
                "recomputation are enumerated; network efficiency and jitter keep the priors of "
                "the ranking; overlaps, bytes of a gradient and whether attention was fused get "
                "wider ones, since stacks of all years are among the systems.",
                "Kernel efficiency has a population over accelerator types and systems.",
            ),
            paragraph(
                f"One system is left out at a time ({len(content['systems'])} systems: {names}). "
                "A system is a software stack on a type of accelerator, whatever papers its rows "
                "come from.",
                "Errors (±) resample whole systems, with the correction for few of them.",
                "The interval score is that of Gneiting and Raftery (2007) on log seconds, the "
                "mean over the 50, 80, 90 and 95% intervals, smaller is better; the log "
                "predictive density is that of log seconds, larger is better.",
            ),
            paragraph(f"Inclusion rule. {content['rule']}"),
        ]
    )


def _unexplained(content: Content) -> str:
    """Rows outside the refined form's 80% interval, surprising ratios, and what no row tells."""
    found = []
    outside = [
        (row, one)
        for row in content["rows"]
        if not (one := row["forms"]["refined"])["lower_s"] <= row["measured_s"] <= one["upper_s"]
    ]
    found += [
        f"* {escaped(row['system'])}: {signed_percent(one['error'])}, outside the refined form's "
        "80% interval."
        for row, one in outside
    ]
    found += [
        f"* {escaped(row['system'])}: ETTR {bounded(row['bound'])}{row['stated']:g} against "
        f"{row['median']:.2f} predicted. Restarts that wait for a person, and work lost to other "
        "causes than failures, are not in the model."
        for row in content["fleets"]["variants"][-1]["ettr"]
        if row["chance"] < SURPRISE
    ]
    refined = content["forms"][REFINED]
    scores = refined["scores"]
    median = percent(scores["median_absolute_error"]["value"])
    found.append(
        "* What stands between the refined form and a median absolute error of 5%. First the level "
        "of a system: how well its stack is tuned is not known before one of its own steps is "
        f"measured; with each system's mean error taken out the {median} would be "
        f"{percent(scores['within_systems'])}. Then the constants of the refined formulas, which "
        "so few systems do not pin down: with every system in, a row scatters by "
        f"{percent(refined['spreads']['of a row'], 1)} around its own system. Measured steps of "
        "your own stack, as evidence, help with both."
    )
    found.append(
        f"* Few systems. With {scores['groups']} of them every error above is itself uncertain by "
        "a third or more, and an error near zero says only that the systems happen to agree. More "
        "rows can be tried with `--throughput FILE`."
    )
    return "\n".join(found)


def _excluded(content: Content) -> str:
    lines = [
        [escaped(item["system"]), item["what"], escaped(item["reason"])]
        for item in (*content["excluded"], *content["fleets_excluded"])
    ]
    if not lines:
        return "None."
    return table(["row", "what", "reason"], lines, "lll")


def terminal(content: Content) -> str:
    """The summary for the terminal."""
    published, refined = forms_of(content)
    scores = (published["scores"], refined["scores"])
    lines = [
        f"{scores[0]['rows']} step times of {scores[0]['groups']} systems, each predicted from the "
        "other systems",
        "",
        f"{'':34}{'published':>14}{'refined':>16}",
    ]

    def add(name: str, cells: Sequence[str]) -> None:
        lines.append(f"{name:<34}{cells[0]:>14}{cells[1]:>16}")

    add("median absolute error", [share_with_error(s["median_absolute_error"]) for s in scores])
    add("90th percentile of it", [percent(s["p90_absolute_error"]) for s in scores])
    add("interval score (smaller)", [with_error(s["interval_score"]) for s in scores])
    add("log predictive density (larger)", [with_error(s["log_density"]) for s in scores])
    for level in LEVELS:
        add(f"{level}% interval holds", [share_with_error(s["coverage"][level]) for s in scores])
    lines += ["", textwrap.fill(verdict(content), 96)]
    if "further" in refined:
        lines.append(further(published, refined))
    for one in content["series"]:
        worst = max(abs(row["error"]) for row in one["rows"])
        lines.append(
            f"Batch series of {system_name(one['system'])}, {one['form']}: largest error "
            f"{worst * 100:.1f}%"
        )
    variants = content["fleets"]["variants"]
    lines.append(f"{variants[0]['scores']['rows']} failure rates of fleets left out:")
    lines += [
        f"  {one['name']:<44} log density {with_error(one['scores']['log_density'])}, "
        f"80% holds {share_with_error(one['scores']['coverage']['80'])}"
        for one in variants
    ]
    left_out = [*content["excluded"], *content["fleets_excluded"]]
    lines.append(f"{len(left_out)} left out:")
    lines += [
        textwrap.fill(
            f"{item['system']} ({item['what']}): {item['reason']}",
            96,
            initial_indent="  ",
            subsequent_indent="    ",
        )
        for item in left_out
    ]
    return "\n".join(lines)
