"""One question, studied whole: drivers by method, switching values, regions.

Shapes: n draws, D parameters.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from decision.forms import FORM
from decision.outcomes import Question
from decision.ranking import winners
from model.errors import InputError
from priors.catalogue import Catalogue
from priors.draws import Draws
from studies.drivers.asking import (
    Worth,
    model_of,
    quantiles_of,
    require_independent,
    thin,
)
from studies.drivers.copula import Copula, dependent_pairs, fit_copula, split_constant
from studies.drivers.effects import SHAPLEY, SHAPLEY_NEIGHBOURS, SOBOL, Effects
from studies.drivers.factors import Factor, singles
from studies.drivers.gate import Check, check_copula
from studies.drivers.neighbours import Neighbours
from studies.drivers.screening import MANY, Screening, screen
from studies.drivers.shapley import shapley_effects
from studies.drivers.sobol import SCRAMBLES, sobol_effects
from studies.drivers.switching import LEARNT, SET, Switching, switching_values
from studies.drivers.targets import WINNER, Evaluate, Targets, leader_of, require_finite, targets_of
from studies.drivers.tree import Region, find_regions

PARAMETERS, GROUPS = "parameters", "groups"

POINTS = 4096
"""Base points of each scramble."""

REDRAWN = 2000
"""Draws that Shapley effects and switching values are computed around."""

MOST_DRAWS = 50_000
"""Draws that the tree and the shares are computed on."""

NEIGHBOUR_ORDERS = 10
"""Orders of the factors for each batch where redraws come from neighbours, which are slow."""

SWITCHED = 5
"""Leading parameters whose switching values are searched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to do.

    Parameters
    ----------
    methods
        ``sobol``, ``shapley`` or both.
    groups
        Groups of the uncertain parameters.
    points, redrawn
        Base points of a scramble, and draws that Shapley effects are computed around.
    scrambles
        Independent scrambles.
    seed
        Seed, not negative.
    jobs
        Threads of the model; no result depends on them.
    """

    methods: tuple[str, ...]
    groups: tuple[Factor, ...]
    points: int = POINTS
    redrawn: int = REDRAWN
    scrambles: int = SCRAMBLES
    seed: int = 1
    jobs: int = field(default=1, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """What drives the ranking of one question.

    Parameters
    ----------
    question
        What was asked.
    shares
        Share of draws in which each option ranks first, ties going to the first listed.
    gains
        Expected gain of each option, in productive accelerators.
    leader, recommended
        The option that most often ranks first, and the one with the largest expected gain.
    fixed
        Parameters without a spread, by dotted path: no driver of anything.
    effects
        By ``parameters`` or ``groups``, one a method.
    screening
        None where there are too few parameters to need one.
    checks
        Comparisons of the copula with the draws; empty where it was not used.
    switching
        Leading parameters, set, and also learnt where parameters depend on each other.
    regions
        Where each option ranks first.
    notes
        What a reader should be told, one sentence each.
    """

    question: Question
    shares: Mapping[str, float]
    gains: Mapping[str, float]
    leader: str
    recommended: str
    fixed: Mapping[str, float]
    effects: tuple[tuple[str, Effects], ...]
    screening: Screening | None
    checks: tuple[Check, ...]
    switching: tuple[Switching, ...]
    regions: tuple[Region, ...]
    notes: tuple[str, ...]

    @property
    def main(self) -> Effects:
        """Effects of single parameters by the method fit for the draws."""
        return next(effects for kind, effects in self.effects if kind == PARAMETERS)


def study_question(
    question: Question,
    draws: Draws,
    catalogue: Catalogue | None,
    plan: Plan,
    *,
    worth: Worth | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Study:
    """Study one question.

    Parameters
    ----------
    question
        What is asked.
    draws
        What it is asked of.
    catalogue
        The priors if the draws are theirs and independent, None otherwise.
    plan
        What to do.
    worth
        What options are ranked by instead of the gain; None for the gain.
    say
        Told what is being done.

    Raises
    ------
    InputError
        If nothing varies, an output is not finite, or a method does not fit the draws.
    """
    draws = thin(draws, MOST_DRAWS)
    columns, fixed = split_constant(draws.columns)
    if not columns:
        raise InputError.single(
            message="no parameter is uncertain: nothing can drive the ranking",
            source=draws.source,
            remedy="leave some parameters out of --set, or give draws that vary",
        )
    model = model_of(question, fixed, jobs=plan.jobs, worth=worth)
    outcomes = model(columns)
    require_finite(outcomes, columns)
    targets = targets_of(question.options, leader_of(outcomes))
    factors, screening, notes = _factors_of(model, columns, catalogue, targets, plan.seed)
    few = thin(replace(draws, columns=columns), plan.redrawn)
    copula = fit_copula(few.columns, independent=catalogue is not None)
    chosen = ((PARAMETERS, factors), (GROUPS, plan.groups))
    effects: list[tuple[str, Effects]] = []
    checks: tuple[Check, ...] = ()
    if SOBOL in plan.methods:
        if catalogue is None:
            require_independent(columns, draws.chain, source=draws.source)
        say(f"Sobol indices on {plan.scrambles} scrambles of {plan.points:,} points")
        effects += [
            (
                kind,
                sobol_effects(
                    model,
                    quantiles_of(columns, catalogue),
                    members,
                    targets,
                    points=plan.points,
                    seed=plan.seed,
                    scrambles=plan.scrambles,
                ),
            )
            for kind, members in chosen
        ]
    if SHAPLEY in plan.methods:
        say(f"Shapley effects around {len(few):,} draws")
        found, checks, told = _shapley(model, copula, few, chosen, targets, seed=plan.seed)
        effects += found
        notes += told
    say("switching values and regions")
    recommended = question.options[int(outcomes.gain.mean(axis=0).argmax())]
    leading = [name for name in leading_factors(effects[0][1]) if name in columns and name != FORM]
    dependent = catalogue is None and dependent_pairs(columns, draws.chain)
    readings = (SET, LEARNT) if dependent else (SET,)
    winner, _ = winners(outcomes)
    shares = np.bincount(winner, minlength=len(question.options)) / outcomes.draws
    values = np.column_stack(list(columns.values()))
    return Study(
        question=question,
        shares=dict(zip(question.options, map(float, shares), strict=True)),
        gains=dict(zip(question.options, map(float, outcomes.gain.mean(axis=0)), strict=True)),
        leader=targets.leader,
        recommended=recommended,
        fixed=fixed,
        effects=tuple(effects),
        screening=screening,
        checks=checks,
        switching=tuple(
            switch
            for reading in readings
            for switch in switching_values(
                model,
                copula,
                leading[:SWITCHED],
                options=question.options,
                seed=plan.seed,
                chain=few.chain,
                reading=reading,
            )
        ),
        regions=find_regions(values, winner, list(columns), seed=plan.seed),
        notes=tuple(notes),
    )


def _factors_of(
    model: Evaluate,
    columns: Mapping[str, np.ndarray],
    catalogue: Catalogue | None,
    targets: Targets,
    seed: int,
) -> tuple[tuple[Factor, ...], Screening | None, list[str]]:
    """Single parameters, those that hardly matter as one where there are many."""
    if len(columns) < MANY:
        return singles(list(columns)), None, []
    screening = screen(model, quantiles_of(columns, catalogue), targets, seed=seed)
    note = (
        f"Of {len(columns)} uncertain parameters {len(screening.screened)} move no ranking much"
        " (Morris' elementary effects) and enter together as 'rest': "
        + ", ".join(screening.screened)
    )
    return screening.factors, screening, [note]


def _shapley(
    model: Evaluate,
    copula: Copula,
    draws: Draws,
    chosen: Sequence[tuple[str, tuple[Factor, ...]]],
    targets: Targets,
    *,
    seed: int,
) -> tuple[list[tuple[str, Effects]], tuple[Check, ...], list[str]]:
    """Shapley effects by the copula, or by neighbours where it does not describe the draws."""
    outcomes = model(draws.columns)
    checks = check_copula(model, copula, outcomes, targets, chain=draws.chain, seed=seed)
    failed = [check for check in checks if not check.passed]
    notes = []
    if failed:
        notes.append(
            "A Gaussian copula does not describe these draws ("
            + "; ".join(check.words() for check in failed[:3])
            + "): what is redrawn comes from neighbouring draws instead, which makes weak drivers"
            " look stronger than they are."
        )
    effects = [
        (
            kind,
            shapley_effects(
                model,
                copula,
                outcomes,
                members,
                targets,
                seed=seed,
                chain=draws.chain,
                redraw=Neighbours(copula=copula) if failed else copula,
                method=SHAPLEY_NEIGHBOURS if failed else SHAPLEY,
                permutations=NEIGHBOUR_ORDERS if failed else None,
            ),
        )
        for kind, members in chosen
    ]
    return effects, checks, notes


def leading_factors(effects: Effects) -> list[str]:
    """Drivers of who ranks first, the strongest first.

    Where that is always the same, drivers of the first target that varies at all.
    """
    target = next((t for t in (WINNER, *effects.targets) if t not in effects.constant), WINNER)
    return [name for name, _, _ in effects.ranked(target)]
