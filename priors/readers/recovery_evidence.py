"""Durations of saves, detection and restart as observations."""

from collections.abc import Sequence

import numpy as np

from priors.readers.found import Draft, Measure, ReadOptions, identifier
from priors.readers.recovery_marks import Marks
from priors.readers.source import TextSource

MOST_DURATIONS = 500


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
        shown = _spread_out(values)
        raw: dict[str, object] = {
            "id": identifier(source, quantity),
            "kind": "durations",
            **options.place("fleet"),
            "quantity": quantity,
            "values_s": [rounded(value) for value in shown],
            "source": f"{source.label}: {title} log",
        }
        cut = (f"{len(shown)} of {len(values)}, evenly.",) if len(shown) < len(values) else ()
        drafts.append(Draft(raw=raw, comments=(rule, *cut)))
    if marks.staged:
        withheld.append(
            f"checkpoint write: {marks.staged} printed times may be those of staging before an "
            "asynchronous write"
        )
    return drafts, measures, withheld


def _spread_out(values: Sequence[float]) -> Sequence[float]:
    if len(values) <= MOST_DURATIONS:
        return values
    places = np.linspace(0, len(values) - 1, MOST_DURATIONS).round().astype(int)
    return [values[place] for place in places]


def rounded(value: float) -> float:
    """Six digits: what a person can read."""
    return float(f"{value:.6g}")
