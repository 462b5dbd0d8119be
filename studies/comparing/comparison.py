"""Two runs of one question compared: what changed, and which input moved it.

From the older run to the newer one in steps: today's code and versions on the older inputs; the
number of draws and the seed of the newer run; then its other inputs, swapped in every order.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from decision.finished import Past
from decision.precision import Layout, mean_error
from model.errors import InputError
from studies.comparing.attribution import Attribution, Player, attribute, layout_of, subsets
from studies.comparing.changes import (
    CODE,
    COSTS,
    DRAWS,
    EVIDENCE,
    INTERVENTIONS,
    PRIORS,
    SCENARIO,
    SWAPPED,
    changes_of,
    describe_changes,
)
from studies.comparing.mixtures import Mixtures, Sample, is_current, stored

FORMAT = 1

TOGETHER = (
    (),
    ((INTERVENTIONS, COSTS),),
    ((SCENARIO, INTERVENTIONS),),
    ((SCENARIO, INTERVENTIONS, COSTS),),
    (SWAPPED,),
)
"""Inputs that are swapped together where they cannot be swapped apart, the fewest first."""

RECORDS = {"gain": "gain_mean", "p_first": "p_first", "regret": "expected_regret"}
"""What the summary calls the quantities of the ranking; their errors end in ``_mcse``."""


def compare_past(
    before: Past, after: Past, *, say: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """What changed from one run to another and why, as plain data.

    Parameters
    ----------
    before, after
        The older and the newer run.
    say
        Told what is being done.

    Raises
    ------
    InputError
        If the two do not answer the same question.
    """
    regimes = [regime for regime in after.regimes if regime in before.regimes]
    common = [name for name in after.options[1:] if name in before.options]
    _require_common(before, after, regimes, common)
    changes = changes_of(before, after)
    mixtures = Mixtures(before=before, after=after, say=say)
    notes: list[str] = []
    changed = [name for name in SWAPPED if changes[name]]
    recoded = not (is_current(before) and is_current(after))
    redrawn = bool(changes[DRAWS])
    if mixtures.by_file:
        redrawn = redrawn or any(changes[name] for name in (PRIORS, EVIDENCE))
        changed = [name for name in changed if name not in (PRIORS, EVIDENCE)]
    options = [after.options[0], *common]
    players, found = _attributions(mixtures, changed, regimes, options, notes)
    answers = [
        _answer(_Step.of(mixtures, regime, moved, recoded=recoded, redrawn=redrawn))
        for regime, moved in zip(regimes, found, strict=True)
    ]
    if mixtures.by_file:
        notes.append(
            "Draws of one run came from a file, or from evidence that cannot be read again: what"
            " priors and evidence changed is counted with the draws."
        )
    notes += _notes(before, after, regimes)
    steps = [(CODE,)] * recoded + [(DRAWS,)] * redrawn
    return {
        "format": FORMAT,
        "run": _identity(after),
        "other": _identity(before),
        "inputs": describe_changes(changes),
        "parts_of": [_label(player) for player in (*steps, *players)],
        "answers": answers,
        "notes": notes,
    }


def _require_common(
    before: Past, after: Past, regimes: Sequence[str], options: Sequence[str]
) -> None:
    for found, what in ((regimes, "regime"), (options, "option")):
        if not found:
            raise InputError.single(
                message=f"the two runs have no {what} in common: they answer different questions",
                source="OTHER_RUN",
                path=str(before.directory),
                remedy="compare runs of one question, or rank again",
            )
    fixed = [run.inputs.request.settings for run in (before, after)]
    if not (before.redrawable and after.redrawable) and dict(fixed[0]) != dict(fixed[1]):
        raise InputError.single(
            message="draws that cannot be made again do not mix with other fields set by --set",
            source="OTHER_RUN",
            path=str(before.directory),
            remedy="rank both with the same --set",
        )


def _attributions(
    mixtures: Mixtures,
    changed: Sequence[str],
    regimes: Sequence[str],
    options: Sequence[str],
    notes: list[str],
) -> tuple[tuple[Player, ...], list[Attribution]]:
    """What was swapped, and what it moved under each regime."""
    errors: list[InputError] = []
    for groups in TOGETHER:
        players = _grouped(changed, groups)
        try:
            # Inputs are read in every mixture before anything is drawn.
            for members in subsets(len(players)):
                mixtures.inputs((name for i in members for name in players[i]), mixtures.after)
            found = [
                attribute(players, partial(mixtures.sample, regime=regime), options)
                for regime in regimes
            ]
        except InputError as error:
            errors.append(error)
            continue
        if errors:
            together = [" and ".join(player) for player in players if len(player) > 1]
            notes.append(
                f"Swapped together, as one does not go without the other: {'; '.join(together)}"
                f" ({errors[0].problems[0]})."
            )
        return players, found
    raise errors[-1]


def _grouped(changed: Sequence[str], groups: Sequence[Sequence[str]]) -> tuple[Player, ...]:
    """The changed inputs as players, those of a group as one, in their order."""
    players: list[Player] = []
    for name in changed:
        group = next((group for group in groups if name in group), (name,))
        player = tuple(one for one in changed if one in group)
        if player not in players:
            players.append(player)
    return tuple(players)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """One regime: both runs, and what lies between them.

    Parameters
    ----------
    mixtures, regime, moved
        The runs, the regime, and what its inputs moved.
    recoded
        Whether code or versions of now made neither or only one of the runs.
    redrawn
        Whether number of draws or seed differ.
    path
        Results of the older run; its inputs under today's code; the same on the draws of the newer
        run; all inputs of the newer run; results of the newer run.
    """

    mixtures: Mixtures
    regime: str
    moved: Attribution
    recoded: bool
    redrawn: bool
    path: tuple[Sample, ...]

    @classmethod
    def of(
        cls, mixtures: Mixtures, regime: str, moved: Attribution, *, recoded: bool, redrawn: bool
    ) -> "_Step":
        first, last = stored(mixtures.before, regime), stored(mixtures.after, regime)
        again = moved.none
        if redrawn:
            again = mixtures.sample((), regime, mixtures.before) if recoded else first
        return cls(
            mixtures=mixtures,
            regime=regime,
            moved=moved,
            recoded=recoded,
            redrawn=redrawn,
            path=(first, again, moved.none, moved.all, last),
        )

    @property
    def answers(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """What the summaries of the two runs say."""
        return self.mixtures.before.answer(self.regime), self.mixtures.after.answer(self.regime)


def _answer(step: _Step) -> dict[str, Any]:
    old, new = ({o["option"]: i + 1 for i, o in enumerate(a["options"])} for a in step.answers)
    before, after = map(_outcome, step.answers)
    return {
        "regime": step.regime,
        "before": before,
        "after": after,
        "decisive": list(_decisive(step)),
        "options": [
            {
                "option": name,
                "status": ("both" if name in old else "new") if name in new else "gone",
                "rank_before": old.get(name),
                "rank_after": new.get(name),
                "values": _values(step, name) if name in step.moved.parts else {},
            }
            for name in dict.fromkeys((*new, *old))
        ],
    }


def _outcome(answer: Mapping[str, Any]) -> dict[str, Any]:
    decision = answer["economics"]["decision"] if "economics" in answer else None
    return {
        "leader": answer["leader"],
        "recommended": answer["recommended"],
        "verdict": decision["verdict"] if decision else None,
        "option": decision["option"] if decision else answer["recommended"],
    }


def _decisive(step: _Step) -> Iterator[dict[str, Any]]:
    """What is chosen with one input new alone, and with all new but this one."""
    moved = step.moved
    if step.recoded:
        yield {"input": CODE, "alone": step.path[1].choice, "without": None}
    if step.redrawn:
        alone = None if step.recoded else moved.none.choice
        yield {"input": DRAWS, "alone": alone, "without": None}
    everybody = frozenset(range(len(moved.players)))
    for index, player in enumerate(moved.players):
        yield {
            "input": _label(player),
            "alone": moved.choices[frozenset({index})],
            "without": moved.choices[everybody - {index}],
        }


def _values(step: _Step, option: str) -> dict[str, Any]:
    """Every quantity of an option: before, after, and what moved it."""
    path = [sample.of(option) for sample in step.path]
    old, new = step.answers
    result: dict[str, Any] = {}
    for quantity, swapped in step.moved.parts[option].items():
        before, after = _record(old, option, quantity), _record(new, option, quantity)
        if before is None or after is None:
            continue
        change, parts = _change(step, [one[quantity] for one in path])
        parts += [
            {
                "input": _label(part.player),
                "value": part.value,
                "mcse": part.mcse,
                "alone": part.alone,
                "last": part.last,
            }
            for part in swapped
        ]
        between = sum(part.value for part in swapped) - sum(part.alone for part in swapped)
        result[quantity] = {
            "before": before,
            "after": after,
            "change": change,
            "parts": parts,
            "interaction": between,
        }
    result["sea_p50"] = {
        "before": _option(old, option)["sea"]["p50"],
        "after": _option(new, option)["sea"]["p50"],
    }
    return result


def _change(
    step: _Step, path: Sequence[np.ndarray]
) -> tuple[dict[str, float], list[dict[str, Any]]]:
    """The whole change with its error, and what code and draws have of it."""
    first, again, start, end, last = path
    old, new = (layout_of([step.path[i]], path[i].size) for i in (0, 4))

    def difference(pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> dict[str, float]:
        """Sum of differences on common draws, or of independent ones where draws differ."""
        value = sum(float(b.mean() - a.mean()) for a, b in pairs)
        if not step.redrawn:
            return {
                "value": value,
                "mcse": _error(sum((b - a for a, b in pairs), 0.0 * first), old),
            }
        errors = [_error(b - a, old if a.size == first.size else new) for a, b in pairs]
        return {"value": value, "mcse": math.hypot(*errors)}

    def sequential(name: str, found: Mapping[str, float]) -> dict[str, Any]:
        return {"input": name, **found, "alone": found["value"], "last": found["value"]}

    apart = {
        "value": float(start.mean() - again.mean()),
        "mcse": math.hypot(_error(again, old), _error(start, new)),
    }
    parts = []
    if step.recoded:
        parts.append(sequential(CODE, difference([(first, again), (end, last)])))
    if step.redrawn:
        parts.append(sequential(DRAWS, apart))
        ends = math.hypot(_error(first, old), _error(last, new))
        return {"value": float(last.mean() - first.mean()), "mcse": ends}, parts
    return difference([(first, last)]), parts


def _error(samples: np.ndarray, layout: Layout) -> float:
    return float(mean_error(samples, layout))


def _option(answer: Mapping[str, Any], option: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = next(o for o in answer["options"] if o["option"] == option)
    return found


def _record(answer: Mapping[str, Any], option: str, quantity: str) -> dict[str, Any] | None:
    """A quantity of an option with its error as the run states it; None where it has none."""
    if quantity in RECORDS:
        one, name = _option(answer, option), RECORDS[quantity]
        return {"value": one[name], "mcse": one[f"{name.removesuffix('_mean')}_mcse"]}
    economics = answer.get("economics")
    if economics is None:
        return None
    appraisal = next(o for o in economics["options"] if o["option"] == option)
    if quantity == "cost":
        return {"value": appraisal["cost"]["mean"], "mcse": 0.0}
    record: dict[str, Any] | None = appraisal[quantity]
    return record


def _label(player: Player) -> str:
    return "+".join(player)


def _identity(run: Past) -> dict[str, Any]:
    made, question = run.summary["provenance"], run.summary["question"]
    sampler = run.summary["sampler"]
    return {
        "path": str(run.directory),
        "digest": made["digest"],
        "scenario": question["scenario"],
        "draws": run.count,
        "seed": question["seed"],
        "version": made["version"],
        "git_commit": made["git_commit"],
        "converged": sampler is None or sampler["converged"],
    }


def _notes(before: Past, after: Past, regimes: Sequence[str]) -> Iterator[str]:
    for run, name in ((before, "older"), (after, "newer")):
        sampler = run.summary["sampler"]
        if sampler is not None and not sampler["converged"]:
            yield f"The posterior of the {name} run did not converge: do not act on a change."
    costed = [run.inputs.costs is not None for run in (before, after)]
    if costed[0] != costed[1]:
        only = "newer" if costed[1] else "older"
        yield f"Only the {only} run has costs: what pays cannot be compared."
    left = [one or "as described" for one in {*before.regimes, *after.regimes} - {*regimes}]
    if left:
        yield f"Regimes of one run only are left out: {', '.join(sorted(left))}."
