"""Every refinement of the step weighed: alone, and as the refined form's last word."""

from collections.abc import Mapping
from typing import Any

from model.forms import BY_NAME, NAMES, PUBLISHED, REFINED
from studies.systems.evaluation import Evaluation, gain
from studies.validation_summary import gain as shown

NOT_OF_THE_STEP = frozenset(
    {"detection_blocked", "async_checkpoint", "repair_queue", "gated_shape"}
)
"""Refinements of recovery and of a check: step times say nothing about them."""

STEP_REFINEMENTS = tuple(name for name in NAMES if name not in NOT_OF_THE_STEP)


def weighed(found: Mapping[str, Evaluation]) -> list[dict[str, Any]]:
    """Gain of each refinement, where it was evaluated.

    ``alone``: over the published form. ``last``: of the refined form over the same without it, or
    with it over the refined form where that does without.
    """
    result = []
    for name in NAMES:
        entry: dict[str, Any] = {
            "name": name,
            "changes": BY_NAME[name].changes,
            "source": BY_NAME[name].source,
            "refined": name in found[REFINED].refinements,
            "of_step": name in STEP_REFINEMENTS,
            "alone": None,
            "last": None,
        }
        if f"alone {name}" in found:
            entry["alone"] = shown(gain(found[f"alone {name}"], found[PUBLISHED]))
        if f"without {name}" in found:
            entry["last"] = shown(gain(found[REFINED], found[f"without {name}"]))
        if f"with {name}" in found:
            entry["last"] = shown(gain(found[f"with {name}"], found[REFINED]))
        result.append(entry)
    if "all" in found:
        result.append({"name": "all", "alone": shown(gain(found["all"], found[PUBLISHED]))})
    return result
