"""How the cost of a ranking grows: with options, with the range of pools, with draws."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from studies.performance.clock import one_core, processor_time
from studies.performance.core import question_of_reference, study_draws
from studies.performance.figure import Bench, Figure, Line

DRAWS = 10_000
OPTIONS = (1, 2, 5, 10)
SCALES = (1_024, 8_192, 65_536)
COUNTS = (100, 1_000, 10_000, 100_000)


def measure(bench: Bench) -> Iterator[Line]:
    """Microseconds of one core a draw for each, else of ten options, 16,384 and 10,000 draws.

    The search for SEA looks at pools up to 64 times the job's own, so that its range grows with
    the job.
    """
    del bench
    from decision.outcomes import evaluate

    whole, draws = question_of_reference(), study_draws(DRAWS)
    with one_core():
        for count in OPTIONS:
            question = replace(whole, interventions=whole.interventions[:count])
            spent = processor_time(partial(evaluate, question, draws), 3)
            yield _cost(f"{count} option{'s' if count > 1 else ''}", spent, DRAWS)
        for scale in SCALES:
            question = replace(whole, scale=scale)
            spent = processor_time(partial(evaluate, question, draws), 3)
            yield _cost(f"pools up to {64 * scale:,}", spent, DRAWS)
        for count in COUNTS:
            columns = study_draws(count)
            spent = processor_time(partial(evaluate, whole, columns), 3)
            yield _cost(f"{count:,} draws", spent, count)


def _cost(name: str, spent: float, draws: int) -> Figure:
    return Figure(name=f"ranking, {name}", value=spent / draws * 1e6, unit="µs/draw")
