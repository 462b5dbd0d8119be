"""Batched ranking against the scalar yardstick, in turn, on one core."""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from studies.experiments.ranking import RANGES
from studies.performance.clock import median_time, one_core
from studies.performance.figure import Absent, Bench, Figure, Line

if TYPE_CHECKING:
    from decision.outcomes import Question

RANKING_DRAWS = 40_000
YARDSTICK_DRAWS = 40


def study_draws(count: int) -> dict[str, np.ndarray]:
    """Uniform draws over the ranges of the published uncertainty study."""
    generator = np.random.default_rng(20260805)
    return {path: generator.uniform(*bounds, size=count) for path, bounds in RANGES.items()}


def question_of_reference() -> "Question":
    """The reference scenario with ten interventions."""
    from decision.outcomes import Question
    from model.interventions import read_interventions
    from model.scenario_file import read_scenario

    return Question(
        scenario=read_scenario("reference_405b_16k").scenario,
        interventions=read_interventions("published").interventions,
    )


def yardstick_time(rank_one: Callable[[Mapping[str, float]], object]) -> float:
    """Seconds a draw of the scalar implementation: the median over draws."""
    draws = study_draws(YARDSTICK_DRAWS)
    times = []
    for row in range(YARDSTICK_DRAWS):
        values = {path: float(column[row]) for path, column in draws.items()}
        started = time.perf_counter()
        rank_one(values)
        times.append(time.perf_counter() - started)
    return float(np.median(times))


def measure(bench: Bench) -> Iterator[Line]:
    """Draws a second of both, and how many times one is the other."""
    from decision.outcomes import evaluate

    question, draws = question_of_reference(), study_draws(RANKING_DRAWS)
    with one_core():
        batched = median_time(lambda: evaluate(question, draws)) / RANKING_DRAWS
        yield Figure(name="batched ranking", value=1 / batched, unit="draws/s")
        yield Figure(name="batched ranking", value=batched * 1e6, unit="µs/draw", limit=60)
        if bench.rank_one is None:
            yield Absent(name="scalar yardstick", reason="it is part of a checkout's tests")
            return
        scalar = yardstick_time(bench.rank_one)
        yield Figure(name="scalar yardstick", value=1 / scalar, unit="draws/s")
        yield Figure(name="scalar yardstick", value=scalar * 1e3, unit="ms/draw", limit=60)
        yield Figure(
            name="batched over scalar",
            value=scalar / batched,
            unit="times",
            limit=1000,
            at_least=True,
        )
