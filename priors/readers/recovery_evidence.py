"""Durations of saves, detection and restart, and lost work, as observations."""

from collections.abc import Sequence

import numpy as np

from priors.readers.found import Draft, Measure, ReadOptions, identifier
from priors.readers.recovery_marks import Marks
from priors.readers.source import TextSource

MOST_DURATIONS = 500

INTERVAL = "reliability.checkpoint_interval_s"


def recovery_evidence(
    marks: Marks, source: TextSource, title: str, options: ReadOptions
) -> tuple[list[Draft], list[Measure], list[str]]:
    """Drafts, measures, and what is withheld, of the durations that a log tells."""
    drafts: list[Draft] = []
    measures: list[Measure] = []
    withheld: list[str] = []
    for quantity, values, rule in (
        ("checkpoint_write", marks.write_s, "Save times as the log prints them, slowest rank."),
        (
            "detection",
            marks.detection_s,
            "From the last logged step to the abort, less half a logged row.",
        ),
        ("restart", marks.restart_s, "From the abort to the first new step, less that row's time."),
    ):
        if not values:
            continue
        name = f"{quantity}_mean_s"
        mean = float(np.mean(values))
        measures.append(Measure(name=name, value=mean, unit="s", meaning=f"of {len(values)}"))
        shown, cut = _spread_out(values)
        raw: dict[str, object] = {
            "id": identifier(source, quantity),
            "kind": "durations",
            **options.place("fleet"),
            "quantity": quantity,
            "values_s": [rounded(value) for value in shown],
            "source": f"{source.label}: {title} log",
        }
        drafts.append(Draft(raw=raw, comments=(rule, *cut)))
    if marks.staged:
        withheld.append(
            f"checkpoint write: {marks.staged} printed times may be those of staging before an "
            "asynchronous write"
        )
    return drafts, measures, withheld


def lost_work_evidence(
    lost_steps: Sequence[int],
    marks: Marks,
    source: TextSource,
    title: str,
    options: ReadOptions,
    *,
    step_s: float,
    interval: float,
) -> tuple[list[Draft], list[str]]:
    """The draft of the work that resumes lost, or why there is none.

    Parameters
    ----------
    lost_steps
        Logged steps that were done again, a resume each.
    marks, source, title, options
        As of the log.
    step_s
        Time of a step.
    interval
        Steps that a row averages.
    """
    saves = sorted(set(marks.saves))
    every = float(np.median(np.diff(saves))) * step_s if len(saves) > 1 else None
    scenario = options.scenario
    if scenario is None:
        return [], [
            "lost work: it depends on the plan's checkpoints, and none is named: --scenario"
        ]
    if every is None and scenario.reliability.checkpoint_interval_s is None:
        why = "lost work: how often checkpoints are saved is in neither the log nor the scenario"
        return [], [why]
    # A job resumes a row before the first it logs, and fails half a row after the last, on average.
    lost, cut = _spread_out(lost_steps)
    values = [rounded((steps + 1.5 * interval) * step_s) for steps in lost]
    raw: dict[str, object] = {
        "id": identifier(source, "lost_work"),
        "kind": "lost_work",
        **options.place("fleet"),
        "scenario": options.scenario_name,
        **({} if every is None else {"overrides": {INTERVAL: rounded(every)}}),
        "values_s": values,
        "resolution_s": rounded(interval * step_s),
        "source": f"{source.label}: {title} log",
    }
    rule = "Steps done again after a resume, and a row and a half that none logs, times their time."
    return [Draft(raw=raw, comments=(rule, *cut))], []


def _spread_out(values: Sequence[float]) -> tuple[Sequence[float], tuple[str, ...]]:
    """As many values as an observation lists, evenly, and what is said of those left out."""
    if len(values) <= MOST_DURATIONS:
        return values, ()
    places = np.linspace(0, len(values) - 1, MOST_DURATIONS).round().astype(int)
    return [values[place] for place in places], (f"{MOST_DURATIONS} of {len(values)}, evenly.",)


def rounded(value: float) -> float:
    """Six digits: what a person can read."""
    return float(f"{value:.6g}")
