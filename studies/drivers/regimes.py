"""Drivers of the ranking in every regime, a task each."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from decision.outcomes import Question
from priors.catalogue import Catalogue
from priors.draws import Draws
from studies.drivers.study import Plan, study_question
from studies.drivers.summary import describe_study
from studies.execution.study import Outcome
from studies.execution.tasks import Task, say

if TYPE_CHECKING:
    import pandas as pd

AS_IT_IS = "the scenario as it is"

ANSWERS = "answers"


def regime_tasks(questions: Sequence[tuple[str, Question]]) -> list[Task]:
    """A task for each question; shared are its draws, the priors where draws are theirs, a plan."""
    return [
        Task(
            name=f"drivers in regime {regime}" if regime else f"drivers, {AS_IT_IS}",
            function=study_regime,
            arguments={"regime": regime, "question": question},
            table=ANSWERS,
        )
        for regime, question in questions
    ]


def study_regime(
    regime: str, question: Question, draws: Draws, catalogue: Catalogue | None, plan: Plan
) -> "pd.DataFrame":
    """One question, studied whole: its plain answer as JSON in one row."""
    import pandas as pd

    if regime:
        say(f"regime {regime}")
    study = study_question(question, draws, catalogue, plan, say=say)
    answer = describe_study(study, regime=regime)
    return pd.DataFrame({"answer": [json.dumps(answer, allow_nan=False)]})


def answers_of(outcome: Outcome) -> list[Mapping[str, Any]]:
    """Plain answers in the order of the questions."""
    return [json.loads(text) for text in outcome.frame(ANSWERS)["answer"]]
