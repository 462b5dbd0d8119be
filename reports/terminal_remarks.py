"""Sentences for a terminal: what was asked, what follows under each table, and the end."""

from collections.abc import Iterator, Mapping
from typing import Any

from reports import drivers, evidence_checks, findings, verdicts
from reports.numbers import TERMINAL

MATTERS = 0.05
"""Options are named in the comparison with the prior from this share of first place on."""


def headline(summary: Mapping[str, Any]) -> str:
    """What was asked, in one line."""
    question = summary["question"]
    baseline = summary["answers"][0]["baseline"]
    count = TERMINAL.amount
    parts = [
        TERMINAL.name(question["scenario"]),
        f"{count(baseline['accelerators'])} accelerators of a pool of {count(baseline['pool'])}",
        f"{count(question['window_days'])} days",
    ]
    if question["scale"] is not None:
        parts.append("re-planned to that size")
    if len(summary["answers"]) == 1:
        parts.append(f"regime {findings.regime_name(summary['answers'][0], TERMINAL)}")
    parts += [
        f"{TERMINAL.name(path)} = {TERMINAL.name(str(value))}"
        for path, value in question["overrides"].items()
    ]
    if question["solver"] != "exact":
        parts.append(f"solver {TERMINAL.name(question['solver'])}")
    parts.append(f"{count(question['draws'])} draws {findings.source_of_draws(question, TERMINAL)}")
    return " · ".join(parts)


def remarks(
    summary: Mapping[str, Any], answer: Mapping[str, Any], *, compact: bool
) -> Iterator[str]:
    """Sentences under a table."""
    economics = verdicts.economics_of(answer)
    label = "Recommendation"
    if economics is not None:
        yield f"Decision: {verdicts.verdict(answer, TERMINAL)}"
        if not compact:
            yield f"Risk: {verdicts.confidence(answer, TERMINAL)}"
            yield f"Information: {verdicts.information(economics, TERMINAL)}"
            yield verdicts.horizon(economics, TERMINAL)
        label = "Before costs"
    yield f"{label}: {findings.recommendation(answer, TERMINAL)}"
    if answer["separation"] is not None:
        if not compact:
            yield f"Simulation: {findings.separation_by_simulation(answer, TERMINAL)}"
        for pair in (answer["separation"], findings.further_separation(answer)):
            if pair is not None:
                yield f"Evidence: {findings.separation_by_evidence(answer, TERMINAL, pair)}"
    if decided := drivers.deciding(summary, answer, TERMINAL):
        yield f"Drivers: {decided}"
    if not compact:
        for sentence in drivers.switching(summary, answer, TERMINAL):
            yield f"Switching: {sentence}"
    yield from (f"Leave one out: {s}" for s in evidence_checks.influence_lines(answer, TERMINAL))
    yield f"Scope: {findings.scope(answer, TERMINAL)}"
    if not compact and summary["question"]["source"] != "prior":
        yield from _prior_against_posterior(summary, answer)
    for text in (
        findings.formulas(answer, TERMINAL),
        findings.ties(answer, TERMINAL),
        findings.past_peak(answer, TERMINAL),
        findings.few_draws(answer, TERMINAL),
        findings.small_job(answer, TERMINAL),
    ):
        if text:
            yield text


def _prior_against_posterior(
    summary: Mapping[str, Any], answer: Mapping[str, Any]
) -> Iterator[str]:
    effective = answer["effective_draws"]
    shares = [
        f"{TERMINAL.name(option['option'])} {TERMINAL.estimate(option['p_first_prior'], effective)}"
        f" → {TERMINAL.estimate(option['p_first'], effective)}"
        for option in answer["options"]
        if option["p_first_prior"] is not None
        and max(option["p_first"], option["p_first_prior"]) >= MATTERS
    ]
    if shares:
        after = "posterior" if summary["question"]["source"] == "posterior" else "these draws"
        yield f"First place, priors → {after}: {', '.join(shares)}"


def closing(summary: Mapping[str, Any]) -> Iterator[str]:
    """Sampler diagnostics, notes and warnings."""
    for place, sentence in enumerate(evidence_checks.check_lines(summary, TERMINAL)):
        yield sentence if place else f"Predictive check: {sentence}"
    sampler = summary["sampler"]
    if sampler is not None:
        yield findings.sampler_line(sampler, TERMINAL)
    yield from (f"Note: {TERMINAL.name(text)}" for text in summary["notes"])
    yield from (f"Warning: {TERMINAL.name(text)}" for text in summary["warnings"])
