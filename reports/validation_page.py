"""The validation as a page to read and a summary for the terminal: a plain mapping in, text out."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from reports.markdown import escaped, table

type Content = Mapping[str, Any]

PUBLISHED, REFINED = 0, 1
LEVELS = ("50", "80", "90", "95")
NONE = "—"
MINUS = "−"
SURPRISE = 0.05
"""A stated value or bound less likely than this is called out."""


def signed(value: float | None, digits: int = 2) -> str:
    """A number with its sign."""
    if value is None:
        return NONE
    text = f"{abs(value):.{digits}f}"
    if float(text) == 0.0:
        return text
    return f"{MINUS if value < 0 else '+'}{text}"


def percent(value: float | None, digits: int = 0) -> str:
    """A share as a percentage."""
    return NONE if value is None else f"{value * 100:.{digits}f}%"


def signed_percent(value: float | None) -> str:
    """A relative error as a percentage with its sign."""
    return NONE if value is None else f"{signed(value * 100, 0)}%"


def with_error(found: Mapping[str, Any], digits: int = 2, *, sign: bool = False) -> str:
    """Value ± error."""
    value, error = found["value"], found["error"]
    text = signed(value, digits) if sign else f"{value:.{digits}f}".replace("-", MINUS)
    return text if error is None else f"{text} ± {error:.{digits}f}"


def share_with_error(found: Mapping[str, Any]) -> str:
    """A share ± its error in points."""
    error = found["error"]
    text = f"{found['value'] * 100:.0f}"
    return f"{text}%" if error is None else f"{text} ± {error * 100:.0f}%"


def seconds(value: float | None) -> str:
    """Seconds to three or four digits."""
    return NONE if value is None else f"{value:.4g}"


def page(content: Content) -> str:
    """The page in Markdown."""
    parts = [
        "# Can it be believed?",
        _answer(content),
        "## How it was tested",
        _method(content),
        "## The two forms",
        _scores(content),
        "![Predicted over measured seconds of every row](validation/predicted.png)",
        "![Coverage of the stated intervals](validation/coverage.png)",
        "## Every row",
        _rows(content),
        "## Where the errors lie",
        _signed_errors(content),
        "## What the refined formulas are worth",
        _refinements(content),
        "## One job at several batch sizes",
        _series(content),
        "## Failures and ETTR",
        _fleets(content),
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


def _forms(content: Content) -> tuple[Content, Content]:
    return content["forms"][PUBLISHED], content["forms"][REFINED]


def system_name(group: str) -> str:
    """A system in words: ``BLOOM, A100`` is BLOOM on A100."""
    stack, _, kind = group.rpartition(", ")
    return f"{stack} on {kind}" if stack else group


def rate(value: float) -> str:
    """A rate to two or three digits, never in powers of ten."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}"  # noqa: PLR2004 - three digits


def paragraph(*sentences: str) -> str:
    """Sentences as wrapped text."""
    text = " ".join(sentence for sentence in sentences if sentence)
    return textwrap.fill(text, 100, break_on_hyphens=False, break_long_words=False)


def verdict(content: Content) -> str:
    """Whether the refined form is better than the published one, in one sentence."""
    density, score = (content["gain"][name] for name in ("log_density", "interval_score"))
    amounts = (
        f"log predictive density {with_error(density, sign=True)} a row, interval score "
        f"{with_error(score, 3, sign=True)}"
    )
    error_density, error_score = density["error"], score["error"]
    if error_density is None or error_score is None:
        return f"With one system left there is no error to compare with: {amounts}."
    clear = density["value"] > 2 * error_density and score["value"] < -2 * error_score
    if clear:
        return f"The refined form predicts better, by more than twice the error: {amounts}."
    if density["value"] > error_density and score["value"] < -error_score:
        return (
            "The refined form predicts better by more than the error, but not by twice the error:"
            f" {amounts}."
        )
    if density["value"] < -error_density:
        return f"The refined form predicts worse: {amounts}."
    return f"The two forms cannot be told apart on systems neither has seen: {amounts}."


def _answer(content: Content) -> str:
    published, refined = _forms(content)
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


def _value(scores: Content) -> float:
    value: float = scores["median_absolute_error"]["value"]
    return value


def _median(form: Content) -> str:
    found = form["scores"]["median_absolute_error"]
    return share_with_error(found)


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
                "recomputation are enumerated, network efficiency, overlaps, jitter, bytes of a "
                "gradient and the like keep the priors of the ranking.",
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


def _scores(content: Content) -> str:
    published, refined = _forms(content)

    def line(name: str, cells: Sequence[str]) -> list[str]:
        return [name, *cells]

    both = (published["scores"], refined["scores"])
    lines = [
        line(
            "median absolute error",
            [share_with_error(one["median_absolute_error"]) for one in both],
        ),
        line("90th percentile of it", [percent(one["p90_absolute_error"]) for one in both]),
        line(
            "median absolute error within systems",
            [percent(one["within_systems"]) for one in both],
        ),
        line("interval score", [with_error(one["interval_score"]) for one in both]),
        line("log predictive density", [with_error(one["log_density"]) for one in both]),
        *(
            line(
                f"{level}% interval holds",
                [share_with_error(one["coverage"][level]) for one in both],
            )
            for level in LEVELS
        ),
        line(
            "a row around its system, sd of log seconds",
            [f"{form['spreads']['of a row']:.3g}" for form in (published, refined)],
        ),
        line(
            "systems around their type, sd of logit efficiency",
            [f"{form['spreads']['between systems']:.3g}" for form in (published, refined)],
        ),
    ]
    text = table(["on systems left out", "published", "refined"], lines, "lrr")
    constants = refined["constants"]
    names = ", ".join(f"`{name}`" for name in refined["refinements"])
    parts = [
        text,
        paragraph(
            verdict(content),
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
        parts.append(_further(published, refined))
    return "\n\n".join(part for part in parts if part)


def _further(published: Content, refined: Content) -> str:
    one, other = published["further"], refined["further"]
    return paragraph(
        f"Of the {one['rows']} further rows alone: median absolute error "
        f"{share_with_error(one['median_absolute_error'])} published, "
        f"{share_with_error(other['median_absolute_error'])} refined; log predictive density "
        f"{with_error(one['log_density'])} and {with_error(other['log_density'])}; 80% intervals "
        f"hold in {share_with_error(one['coverage']['80'])} and "
        f"{share_with_error(other['coverage']['80'])}."
    )


def _rows(content: Content) -> str:
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


def _signed_errors(content: Content) -> str:
    published, refined = _forms(content)
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


def _refinements(content: Content) -> str:
    listed = [entry for entry in content["refinements"] if entry["name"] != "all"]
    lines = []
    for entry in listed:
        alone, last = entry["alone"], entry["last"]
        lines.append(
            [
                f"`{entry['name']}`",
                "yes" if entry["refined"] else "no",
                with_error(alone["log_density"], sign=True) if alone else NONE,
                with_error(last["log_density"], sign=True) if last else NONE,
                with_error(last["interval_score"], 3, sign=True) if last else NONE,
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
            "The refined form was chosen on these same systems: as the set whose gain is largest "
            "against its error, not as the sum of what gains alone. Its gain is therefore "
            "flattering to some degree, and rows that had no part in the choice "
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


def _series(content: Content) -> str:
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


def _fleets(content: Content) -> str:
    variants = content["fleets"]["variants"]
    lines = [
        [
            one["name"],
            with_error(one["scores"]["log_density"]),
            with_error(one["gain"]["log_density"], sign=True) if place else NONE,
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
            NONE if row["events"] is None else f"{row['events']:,}",
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
            f"{_bound(row['bound'])}{row['stated']:g}",
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


def _bound(bound: str) -> str:
    return {"at_least": "≥ ", "at_most": "≤ ", "value": ""}[bound]


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
        f"* {escaped(row['system'])}: ETTR {_bound(row['bound'])}{row['stated']:g} against "
        f"{row['median']:.2f} predicted. Restarts that wait for a person, and work lost to other "
        "causes than failures, are not in the model."
        for row in content["fleets"]["variants"][-1]["ettr"]
        if row["chance"] < SURPRISE
    ]
    refined = content["forms"][REFINED]
    scores = refined["scores"]
    found.append(
        "* What stands between the refined form and a median absolute error of 5%. First the level "
        "of a system: how well its stack is tuned is not known before one of its own steps is "
        f"measured; with each system's mean error taken out the {percent(_value(scores))} would be "
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
    published, refined = _forms(content)
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
        lines.append(_further(published, refined))
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
