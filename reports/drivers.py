"""What drives the choice, in words: shared by the terminal and the memo."""

from collections.abc import Mapping, Sequence
from typing import Any

from reports import findings
from reports.findings import Answer
from reports.numbers import Notation

SHOWN = 3
"""Drivers and switching values told of: a reader remembers no more."""

SHORT = {
    "kernel.kernel_efficiency": "kernels",
    "topology.net_efficiency": "link share",
    "parallelism.overlap_dp": "overlap dp",
    "parallelism.overlap_tp": "overlap tp",
    "parallelism.overlap_pp": "overlap pp",
    "parallelism.overlap_cp": "overlap cp",
    "reliability.failure_rate_per_node_day": "failure rate",
    "reliability.failure_rate_per_job_day": "failures per job",
    "reliability.failure_rate_dispersion": "rate variation",
    "reliability.detect_time_s": "detection",
    "reliability.restart_time_s": "restart",
    "reliability.checkpoint_write_s": "checkpoint",
    "reliability.straggler_cv": "jitter",
}
"""Names short enough for a column; other parameters go by the end of their path."""

UNITS = {"1": "", "1/(node d)": "per node and day", "1/d": "per day"}

EXPLAINED = {
    "total": "redrawing it alone changes who ranks first this often, relative to redrawing"
    " everything",
    "shapley": "shares of what decides who ranks first; over all parameters they sum to 100%",
}


def short_name(path: str) -> str:
    """A parameter in a column's width."""
    return SHORT.get(path, path.rpartition(".")[2][:16])


def top_driver(answer: Answer, option: str) -> str:
    """The parameter that most decides about an option, empty where none is known."""
    drivers = answer.get("drivers")
    found = drivers["options"].get(option) if drivers else None
    return short_name(found["factor"]) if found else ""


def meanings(summary: Mapping[str, Any], notation: Notation) -> dict[str, str]:
    """What each parameter is called in a sentence."""
    return {
        parameter["path"]: notation.name(parameter["meaning"] or parameter["path"])
        for parameter in summary["parameters"]
    }


def deciding(summary: Mapping[str, Any], answer: Answer, notation: Notation) -> str:
    """Which parameters decide who ranks first; empty where that was not asked."""
    drivers = answer.get("drivers")
    if not drivers or not drivers["winner"]:
        return ""
    named = meanings(summary, notation)
    effective = answer["effective_draws"]
    parts = [
        f"{named.get(driver['factor'], notation.name(driver['factor']))}"
        f" {notation.share_with_error(driver['value'], driver['error'], effective)}"
        for driver in drivers["winner"][:SHOWN]
    ]
    return f"{_capital('; '.join(parts))} ({EXPLAINED[drivers['index']]})."


def switching(summary: Mapping[str, Any], answer: Answer, notation: Notation) -> Sequence[str]:
    """Where the recommendation flips as one parameter is set, the others at their draws."""
    drivers = answer.get("drivers")
    if not drivers:
        return ()
    named = meanings(summary, notation)
    found = [switch for switch in drivers["switching"] if switch["reading"] == "set"]
    return tuple(
        _switch(
            switch, named.get(switch["parameter"], notation.name(switch["parameter"])), notation
        )
        for switch in found[:SHOWN]
    )


def _switch(switch: Mapping[str, Any], label: str, notation: Notation) -> str:
    unit = UNITS.get(switch["unit"], switch["unit"])

    def at(value: float) -> str:
        return f"{value:.3g} {unit}".rstrip()

    if not switch["flips"]:
        chosen = findings.named(switch["holding"][0]["option"], notation)
        return _capital(
            f"{label}: {chosen} throughout, from {switch['low']:.3g} to {at(switch['high'])}."
        )
    first = findings.named(switch["flips"][0]["below"], notation)
    steps = [
        f"{findings.named(flip['above'], notation)} from {at(flip['value'])}"
        f" ({flip['low']:.3g} to {flip['high']:.3g})"
        for flip in switch["flips"]
    ]
    return _capital(f"{label}: at first {first}, then {', then '.join(steps)}.")


def _capital(sentence: str) -> str:
    """A sentence that begins with what a parameter means."""
    return sentence[:1].upper() + sentence[1:]
