"""The ranking with refined formulas against the published ones, in turn, on one core."""

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from studies.performance.clock import one_core
from studies.performance.core import question_of_reference, study_draws
from studies.performance.figure import Bench, Figure, Line

DRAWS = 10_000
REPEATS = 9

MOST = 1.5
"""The refined form costs at most this many times the published one."""


def measure(_: Bench) -> Iterator[Line]:
    """Processor time a draw of each form, and how many times one is the other."""
    from decision.outcomes import evaluate
    from model.forms import PUBLISHED, REFINED, read_forms
    from model.scenario import substitute

    question, draws = question_of_reference(), study_draws(DRAWS)
    questions = {
        name: replace(
            question, scenario=substitute(question.scenario, {"refinements": form.refinements})
        )
        for name, form in read_forms().items()
    }
    times: dict[str, list[float]] = {name: [] for name in questions}
    with one_core():
        for asked in questions.values():
            evaluate(asked, draws)
        # In turn, so that a machine that slows down slows both.
        for _repeat in range(REPEATS):
            for name, asked in questions.items():
                started = time.process_time()
                evaluate(asked, draws)
                times[name].append((time.process_time() - started) / DRAWS)
    for name, each in times.items():
        yield Figure(name=f"{name} form", value=float(np.median(each)) * 1e6, unit="µs/draw")
    ratio = np.array(times[REFINED]) / np.array(times[PUBLISHED])
    yield Figure(
        name="refined over published form", value=float(np.median(ratio)), unit="times", limit=MOST
    )
