"""Drivers of the ranking in every regime, a task each."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from decision.inputs import Inputs
from decision.outcomes import Question
from decision.progress import Progress
from priors.catalogue import Catalogue
from priors.draws import Draws
from studies.drivers.study import Plan, study_question
from studies.drivers.summary import describe_study
from studies.execution.options import Execution
from studies.execution.study import Outcome, run_study
from studies.execution.tasks import Task, say

if TYPE_CHECKING:
    import pandas as pd

AS_IT_IS = "the scenario as it is"

ANSWERS = "answers"


def study_all(
    inputs: Inputs,
    draws: Draws,
    plan: Plan,
    place: Path,
    *,
    study: str,
    source: str,
    digest: str,
    execution: Execution,
    progress: Progress,
) -> Outcome:
    """Study every question of the inputs.

    One question alone is spread over threads of this process instead of over processes.
    """
    if len(inputs.questions) == 1 and execution.engine == "processes":
        plan = replace(plan, jobs=execution.workers)
        execution = replace(execution, engine="in-process", jobs=1)
    return run_study(
        regime_tasks(inputs.questions),
        place,
        study=study,
        shared={
            "draws": draws,
            "catalogue": inputs.catalogue if source == "prior" else None,
            "plan": plan,
        },
        facts={"digest": digest},
        execution=execution,
        progress=progress,
    )


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
