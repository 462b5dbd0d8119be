"""Figures of the validation in digits and words, alike on the page and on the terminal."""

import textwrap
from collections.abc import Mapping
from typing import Any

from reports.numbers import MINUS, NOTHING

type Content = Mapping[str, Any]
"""The summary of a validation, see :mod:`studies.validation_summary`."""

PUBLISHED, REFINED = 0, 1
"""Places of the two forms in the summary."""

LEVELS = ("50", "80", "90", "95")
"""Probabilities of the stated intervals, percent."""


def signed(value: float | None, digits: int = 2) -> str:
    """A number with its sign."""
    if value is None:
        return NOTHING
    text = f"{abs(value):.{digits}f}"
    if float(text) == 0.0:
        return text
    return f"{MINUS if value < 0 else '+'}{text}"


def percent(value: float | None, digits: int = 0) -> str:
    """A share as a percentage."""
    return NOTHING if value is None else f"{value * 100:.{digits}f}%"


def signed_percent(value: float | None) -> str:
    """A relative error as a percentage with its sign."""
    return NOTHING if value is None else f"{signed(value * 100, 0)}%"


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
    return NOTHING if value is None else f"{value:.4g}"


def rate(value: float) -> str:
    """A rate to two or three digits, never in powers of ten."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}"  # noqa: PLR2004 - three digits


def bounded(bound: str) -> str:
    """The sign before a stated bound."""
    return {"at_least": "≥ ", "at_most": "≤ ", "value": ""}[bound]


def system_name(group: str) -> str:
    """A system in words: ``BLOOM, A100`` is BLOOM on A100."""
    stack, _, kind = group.rpartition(", ")
    return f"{stack} on {kind}" if stack else group


def paragraph(*sentences: str) -> str:
    """Sentences as wrapped text."""
    text = " ".join(sentence for sentence in sentences if sentence)
    return textwrap.fill(text, 100, break_on_hyphens=False, break_long_words=False)


def forms_of(content: Content) -> tuple[Content, Content]:
    """The published form and the refined one."""
    return content["forms"][PUBLISHED], content["forms"][REFINED]


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


def calibration(scores: Content) -> str:
    """Whether the stated intervals of a form hold as often as they say, in one sentence.

    The error is that over systems; where all systems agree it is too small, and that of as many
    independent rows, sqrt(p(1 − p)/rows), stands in.
    """
    off = []
    for level in LEVELS:
        found, stated = scores["coverage"][level], int(level) / 100.0
        error = max(found["error"] or 0.0, (stated * (1.0 - stated) / scores["rows"]) ** 0.5)
        distance = abs(found["value"] - stated)
        if distance > 2.0 * error:
            off.append(f"the {level}% intervals in {share_with_error(found)}")
    if off:
        return f"Its stated uncertainty is off by more than twice the error: {', '.join(off)}."
    return "Its intervals hold as often as they say at every level, within twice the error."


def further(published: Content, refined: Content) -> str:
    """Scores of the rows that had no part in the choice of refinements."""
    one, other = published["further"], refined["further"]
    return paragraph(
        f"Of the {one['rows']} further rows alone: median absolute error "
        f"{share_with_error(one['median_absolute_error'])} published, "
        f"{share_with_error(other['median_absolute_error'])} refined; log predictive density "
        f"{with_error(one['log_density'])} and {with_error(other['log_density'])}; 80% intervals "
        f"hold in {share_with_error(one['coverage']['80'])} and "
        f"{share_with_error(other['coverage']['80'])}."
    )
