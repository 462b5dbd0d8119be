"""Search for a program where there are too many to try all.

A mixed-integer program with the gains of single interventions and pairs gives the start; moves of
one or two interventions, on the model itself, improve it. How far that may fall short is measured
where all programs can be tried. Programs are bitmasks as in :mod:`decision.programs`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from decision.program_choice import Chooser, ProgramCosts
from decision.rules import Rules, is_allowed

ENUMERATED = 12
"""Up to so many interventions every program is tried: 4,096."""

TRIAL_MEMBERS, TRIALS = 10, 5
"""Interventions of each instance on which the search is compared with enumeration, and how many."""

FEW = 128.0
"""Accelerators over which the margin is taken: about a replica."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What is searched.

    Parameters
    ----------
    names
        Interventions, bit by bit.
    rules, costs
        Which go together, and what they cost.
    budget
        Accelerators.
    value
        Expected utility of a program at the budget.
    members
        Bits of the interventions that may be chosen.
    """

    names: tuple[str, ...]
    rules: Rules
    costs: ProgramCosts
    budget: float
    value: Callable[[int], float]
    members: int

    def is_open(self, mask: int) -> bool:
        """Whether a program is allowed and paid by the budget."""
        chosen = frozenset(name for index, name in enumerate(self.names) if mask >> index & 1)
        return (
            not mask & ~self.members
            and self.costs.expected(mask) <= self.budget
            and is_allowed(self.rules, chosen)
        )

    @property
    def bits(self) -> list[int]:
        """Interventions that may be chosen."""
        return [index for index in range(len(self.names)) if self.members >> index & 1]


def local_search(problem: Selection, start: int) -> int:
    """Add, drop or swap interventions while that raises the value; the best move first."""
    best, value = start, problem.value(start)
    while True:
        moves = [mask for mask in _moves(problem, best) if problem.is_open(mask)]
        values = [problem.value(mask) for mask in moves]
        if not values or max(values) <= value:
            return best
        best, value = moves[int(np.argmax(values))], max(values)


def _moves(problem: Selection, mask: int) -> Iterator[int]:
    """Programs one move away; what an intervention needs comes with it, what needs it goes."""
    count = len(problem.names)
    added = [mask | _with_needs(problem, i) for i in range(count) if not mask >> i & 1]
    dropped = [_without(problem, mask, i) for i in range(count) if mask >> i & 1]
    yield from added
    yield from dropped
    for smaller in dropped:
        for i in range(count):
            if not mask >> i & 1:
                yield smaller | _with_needs(problem, i)


def _with_needs(problem: Selection, index: int) -> int:
    needed = problem.rules.needed(problem.names[index])
    return sum(1 << i for i, name in enumerate(problem.names) if name in needed)


def _without(problem: Selection, mask: int, index: int) -> int:
    gone = problem.names[index]
    return sum(
        1 << i
        for i, name in enumerate(problem.names)
        if mask >> i & 1 and gone not in problem.rules.needed(name)
    )


def linear_start(problem: Selection, marginal: float) -> int:
    """Best program if gains were those of single interventions and of pairs.

    max Σ v_i x_i + Σ w_ij y_ij − m·cost, y_ij = x_i·x_j, under the budget, exclusions and
    prerequisites, with each shared cost paid once. Solved by HiGHS.

    Parameters
    ----------
    problem
        What is searched.
    marginal
        Productive accelerators m that one more accelerator brings.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    members, nothing = problem.bits, problem.value(0)
    singles = {i: _free_value(problem, 1 << i, marginal) - nothing for i in members}
    pairs = [(i, j) for i in members for j in members if i < j and _may_join(problem, i, j)]
    items = problem.costs.items
    columns: dict[object, int] = {("x", i): position for position, i in enumerate(members)}
    columns |= {("y", pair): len(columns) + position for position, pair in enumerate(pairs)}
    columns |= {("z", index): len(columns) + index for index in range(len(items))}
    objective = np.zeros(len(columns))
    rows: list[tuple[dict[object, float], float, float]] = []
    for i in members:
        objective[columns["x", i]] = -singles[i]
    for i, j in pairs:
        both = _free_value(problem, 1 << i | 1 << j, marginal) - nothing
        objective[columns["y", (i, j)]] = -(both - singles[i] - singles[j])
        x_i, x_j, y = ("x", i), ("x", j), ("y", (i, j))
        rows += [
            ({y: 1.0, x_i: -1.0}, -np.inf, 0.0),
            ({y: 1.0, x_j: -1.0}, -np.inf, 0.0),
            ({x_i: 1.0, x_j: 1.0, y: -1.0}, -np.inf, 1.0),
        ]
    for index, item in enumerate(items):
        objective[columns["z", index]] = marginal * item.expected
        rows += [
            ({("x", i): 1.0, ("z", index): -1.0}, -np.inf, 0.0)
            for i in members
            if item.needed_by >> i & 1
        ]
    paid: dict[object, float] = {("z", i): item.expected for i, item in enumerate(items)}
    rows.append((paid, -np.inf, problem.budget))
    at = {name: i for i, name in enumerate(problem.names)}
    for excluded in problem.rules.exclusions:
        together = [at[name] for name in excluded if at.get(name) in members]
        rows.append(({("x", i): 1.0 for i in together}, -np.inf, 1.0))
    for name, needed in problem.rules.prerequisites.items():
        if at.get(name) in members:
            rows += [
                ({("x", at[name]): 1.0, ("x", at[other]): -1.0}, -np.inf, 0.0)
                for other in needed
                if at[other] in members
            ]
    matrix = np.zeros((len(rows), len(columns)))
    for row, (entries, _, _) in enumerate(rows):
        for key, entry in entries.items():
            matrix[row, columns[key]] = entry
    solved = milp(
        objective,
        integrality=np.ones(len(columns)),
        bounds=Bounds(0.0, 1.0),
        constraints=LinearConstraint(
            matrix, [low for _, low, _ in rows], [high for _, _, high in rows]
        ),
    )
    if solved.x is None:
        return 0
    chosen = sum(1 << i for i in members if solved.x[columns["x", i]] > 0.5)  # noqa: PLR2004
    return chosen if problem.is_open(chosen) else 0


def _free_value(problem: Selection, mask: int, marginal: float) -> float:
    """Value of a program as if it were free: what it costs is added back at the margin."""
    return problem.value(mask) + marginal * problem.costs.expected(mask)


def _may_join(problem: Selection, i: int, j: int) -> bool:
    pair = {problem.names[i], problem.names[j]}
    return all(len(pair & excluded) < 2 for excluded in problem.rules.exclusions)  # noqa: PLR2004


def search(problem: Selection, marginal: float) -> int:
    """Best program found from the linear start and from nothing.

    Parameters
    ----------
    problem
        What is searched.
    marginal
        Productive accelerators that one more accelerator brings.
    """
    starts = {0, linear_start(problem, marginal)}
    return max((local_search(problem, start) for start in sorted(starts)), key=problem.value)


def optimality_gap(problem: Selection, marginal: float, seed: int) -> float:
    """Largest shortfall of the search where all programs can be tried, over the best gain.

    On random choices of ten of the interventions; what they need comes with them.
    """
    rng = np.random.default_rng(seed)
    worst = 0.0
    for _ in range(TRIALS):
        members = 0
        for index in rng.permutation(problem.bits).tolist():
            wider = members | _with_needs(problem, index)
            if wider.bit_count() <= TRIAL_MEMBERS:
                members = wider
        part = replace(problem, members=members)
        best = max(part.value(mask) for mask in subsets_of(members) if part.is_open(mask))
        gain = best - part.value(0)
        if gain > 0:
            worst = max(worst, (best - part.value(search(part, marginal))) / gain)
    return worst


def subsets_of(members: int) -> Iterator[int]:
    """Every program of some interventions, from nothing to all."""
    subset = 0
    while True:
        yield subset
        if subset == members:
            return
        # The next larger number that uses these bits only.
        subset = (subset - members) & members


def search_along(
    chooser: Chooser,
    rules: Rules,
    budgets: Sequence[float],
    *,
    seed: int,
    progress: Callable[[int], None] = lambda _: None,
) -> tuple[Chooser, float]:
    """Search a program for each budget; the chooser then compares what was found.

    Parameters
    ----------
    chooser
        Programs whose allowed masks are too many to list.
    rules
        Which interventions go together.
    budgets
        Accelerators, ascending.
    seed
        Of the trials.
    progress
        Called after each budget.

    Returns
    -------
    chooser, gap
        The chooser over all programs found and listed, and the largest shortfall of the search on
        trials with few enough interventions to try all programs, at the largest budget.
    """
    names = chooser.programs.names
    found = set(chooser.masks.tolist())

    def selection_at(budget: float) -> Selection:
        return Selection(
            names=names,
            rules=rules,
            costs=chooser.costs,
            budget=budget,
            value=cache(lambda mask: float(chooser.utility(mask, budget).mean())),
            members=(1 << len(names)) - 1,
        )

    for budget in budgets:
        found.add(search(selection_at(budget), marginal_of(chooser, budget)))
        progress(1)
    largest = budgets[-1]
    gap = optimality_gap(selection_at(largest), marginal_of(chooser, largest), seed)
    return replace(chooser, masks=np.array(sorted(found))), gap


def marginal_of(chooser: Chooser, budget: float) -> float:
    """Productive accelerators that one more accelerator brings on average, at a budget."""
    more = chooser.programs.productive(0, budget + FEW)
    return float((more - chooser.programs.productive(0, budget)).mean() / FEW)
