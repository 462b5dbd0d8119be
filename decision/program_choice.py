"""The best program for a budget, of which buying accelerators takes what is left.

U_S(B) = Π_S(N0 + B − c_S): a program S is paid, the rest of the budget buys accelerators, and
program 0 buys nothing else. Shapes: n draws; k interventions; programs by bitmask as in
:mod:`decision.programs`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from decision.costs import Costs
from decision.precision import Layout, mean_error
from decision.programs import Combined
from decision.risk import tail_mean, tail_mean_error
from model.attribution import shapley
from model.numerics import Value

BLOCK = 256
"""Programs evaluated at once: 10 MB at 5,000 draws."""

LISTED = 10
"""Programs that are listed for one budget."""

DISTINCT = 2.0
"""Standard errors by which an interaction must differ from zero to be named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A cost and who needs it: an intervention's own, or one that several share.

    Parameters
    ----------
    needed_by
        Bits of the interventions; it is paid once if any of them is in the program.
    amount
        Accelerators, a number or (n,).
    expected
        Their expectation as stated.
    """

    needed_by: int
    amount: Value
    expected: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramCosts:
    """Costs of programs."""

    items: tuple[Item, ...]

    def of(self, mask: int) -> Value:
        """Accelerators a program costs, a number or (n,)."""
        return sum((item.amount for item in self.items if item.needed_by & mask), start=0.0)

    def expected(self, mask: int) -> float:
        """Their expectation."""
        return sum(item.expected for item in self.items if item.needed_by & mask)


def price_programs(
    costs: Costs | None, names: Sequence[str], columns: Mapping[str, np.ndarray]
) -> ProgramCosts:
    """Costs of the programs of some interventions; without a file all are free."""
    if costs is None:
        return ProgramCosts(items=())
    bit = {name: 1 << index for index, name in enumerate(names)}
    items = []
    for cost in (*(costs.own[name] for name in names), *costs.shared):
        needing = cost.needed_by or (cost.name,)
        needed_by = sum(bit.get(name, 0) for name in needing)
        if needed_by:
            amount = cost.median if cost.is_certain else columns[cost.column]
            items.append(Item(needed_by=needed_by, amount=amount, expected=cost.expected))
    return ProgramCosts(items=tuple(items))


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A program under a budget.

    Parameters
    ----------
    mask
        The program.
    cost, bought
        Accelerators it is expected to cost, and those that the rest buys.
    expected, expected_error
        Expected productive accelerators.
    gain, gain_error
        Of these, more than if the whole budget bought accelerators.
    p_beats
        Probability that it is better than that.
    tail, tail_error
        Mean productive accelerators in the worst tenth of draws (CVaR).
    """

    mask: int
    cost: float
    bought: float
    expected: float
    expected_error: float
    gain: float
    gain_error: float
    p_beats: float
    tail: float
    tail_error: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetPoint:
    """What one budget is best spent on.

    Parameters
    ----------
    budget
        Accelerators.
    listed
        Programs with the largest expectation, best first.
    careful
        The program with the largest mean over the worst tenth of draws.
    buying
        Buying accelerators alone.
    considered
        Programs that the budget pays.
    """

    budget: float
    listed: tuple[Chosen, ...]
    careful: Chosen
    buying: Chosen
    considered: int

    @property
    def best(self) -> Chosen:
        """The program with the largest expectation."""
        return self.listed[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chooser:
    """Programs, their costs, and which are allowed.

    Parameters
    ----------
    programs, costs
        What is combined and what it costs.
    masks
        Allowed programs, ascending; 0 is always among them.
    layout
        How draws fall into chains.
    """

    programs: Combined
    costs: ProgramCosts
    masks: np.ndarray
    layout: Layout

    def utility(self, mask: int, budget: float) -> np.ndarray:
        """U of a program at a budget; (n,)."""
        return self.programs.productive(mask, budget - self.costs.of(mask))

    def at(self, budget: float, *, listed: int = LISTED) -> BudgetPoint:
        """The best programs that a budget pays."""
        expected_costs = np.array([self.costs.expected(mask) for mask in self.masks.tolist()])
        paid = self.masks[expected_costs <= budget].tolist()
        means, tails = np.empty(len(paid)), np.empty(len(paid))
        for start in range(0, len(paid), BLOCK):
            part = slice(start, start + BLOCK)
            block = np.stack([self.utility(mask, budget) for mask in paid[part]])
            means[part] = block.mean(axis=1)
            tails[part] = tail_mean(block.T)
        # Of equal programs the one of fewer interventions: a stable sort over counts first.
        sizes = np.array([mask.bit_count() for mask in paid])
        order = np.lexsort((sizes, -means))[:listed]
        careful = int(np.lexsort((sizes, -tails))[0])
        return BudgetPoint(
            budget=budget,
            listed=tuple(self.describe(paid[index], budget) for index in order),
            careful=self.describe(paid[careful], budget),
            buying=self.describe(0, budget),
            considered=len(paid),
        )

    def describe(self, mask: int, budget: float) -> Chosen:
        """A program at a budget, with errors."""
        values, buying = self.utility(mask, budget), self.utility(0, budget)
        gain = values - buying
        cost = self.costs.expected(mask)
        column = values[:, np.newaxis]
        beats = np.where(gain == 0.0, 0.5, gain > 0)
        return Chosen(
            mask=mask,
            cost=cost,
            bought=budget - cost,
            expected=float(values.mean()),
            expected_error=float(mean_error(values, self.layout)),
            gain=float(gain.mean()),
            gain_error=float(mean_error(gain, self.layout)),
            p_beats=float(beats.mean()) if mask else 0.5,
            tail=float(tail_mean(column)[0]),
            tail_error=float(tail_mean_error(column, self.layout)[0]),
        )

    def frontier(
        self, budgets: Sequence[float], progress: Callable[[int], None] = lambda _: None
    ) -> tuple[BudgetPoint, ...]:
        """The best programs along budgets."""
        points = []
        for budget in budgets:
            points.append(self.at(budget, listed=2))
            progress(1)
        return tuple(points)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """How two interventions go together, by throughput at the planned pool.

    Parameters
    ----------
    first, second
        Their names.
    interaction, interaction_error
        Expected gain of both less the sum of the gains of each, in productive accelerators.
    additivity_error
        (Sum of the parts − both)/both, of expectations; NaN where both gain nothing.
    """

    first: str
    second: str
    interaction: float
    interaction_error: float
    additivity_error: float

    @property
    def kind(self) -> str:
        """Complements where together they bring more than their sum, substitutes where less."""
        if abs(self.interaction) <= DISTINCT * self.interaction_error or self.interaction == 0.0:
            return "independent"
        return "complements" if self.interaction > 0 else "substitutes"


def pair_up(programs: Combined, masks: np.ndarray, layout: Layout) -> tuple[Pair, ...]:
    """Every two interventions that may go together, the strongest interaction first.

    Parameters
    ----------
    programs
        What is combined.
    masks
        Allowed programs: a pair that is in none of them is left out.
    layout
        How draws fall into chains.
    """
    nothing = programs.productive(0, 0.0)
    alone = [programs.productive(1 << i, 0.0) - nothing for i in range(len(programs.members))]
    pairs = []
    for i in range(len(alone)):
        for j in range(i + 1, len(alone)):
            both = 1 << i | 1 << j
            if not np.any(masks & both == both):
                continue
            together = programs.productive(both, 0.0) - nothing
            interaction = together - alone[i] - alone[j]
            # Sums and differences of Π carry its rounding: what is below it is no interaction.
            interaction[np.abs(interaction) <= 1e-12 * nothing] = 0.0
            total = float(together.mean())
            pairs.append(
                Pair(
                    first=programs.names[i],
                    second=programs.names[j],
                    interaction=float(interaction.mean()),
                    interaction_error=float(mean_error(interaction, layout)),
                    additivity_error=-float(interaction.mean()) / total if total else np.nan,
                )
            )
    return tuple(sorted(pairs, key=lambda pair: -abs(pair.interaction)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """An intervention's share of a program's gain (Shapley), with its gain alone and last.

    Parameters
    ----------
    name
        The intervention.
    shapley, shapley_error
        Expected share in productive accelerators; shares add up to the program's gain.
    alone, last
        Expected gain on its own, and added to the rest of the program.
    """

    name: str
    shapley: float
    shapley_error: float
    alone: float
    last: float


def attribute(programs: Combined, mask: int, layout: Layout) -> tuple[Share, ...]:
    """Share out the throughput gain of a program at the planned pool, the largest first.

    Subsets count as what they physically do, also where rules would not offer them.
    """
    bits = [index for index in range(len(programs.members)) if mask >> index & 1]
    if not bits:
        return ()
    subsets = [
        sum(1 << bits[i] for i in range(len(bits)) if subset >> i & 1)
        for subset in range(1 << len(bits))
    ]
    values = np.stack([programs.productive(subset, 0.0) for subset in subsets], axis=1)
    values -= values[:, :1]
    shares = shapley(values)
    errors = mean_error(shares, layout)
    everything = len(subsets) - 1
    found = [
        Share(
            name=programs.names[bit],
            shapley=float(shares[:, i].mean()),
            shapley_error=float(errors[i]),
            alone=float(values[:, 1 << i].mean()),
            last=float((values[:, -1] - values[:, everything ^ 1 << i]).mean()),
        )
        for i, bit in enumerate(bits)
    ]
    return tuple(sorted(found, key=lambda share: -share.shapley))
