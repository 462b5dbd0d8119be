"""What each input moved: differences of results shared out among the inputs that were swapped.

Shapes: n draws. The parts of a change are the Shapley values of the game whose value is the result
with a set S of inputs taken from the newer run,

    part_i = Σ_{S ∌ i} |S|! (m − |S| − 1)!/m! · (x(S ∪ i) − x(S)),

so that they do not depend on an order and sum to x(all) − x(none). They are formed draw by draw:
on common draws the error of a part is that of a mean of differences.

References
----------
Shapley 1953, "A value for n-person games".
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import factorial

import numpy as np

from decision.precision import Layout, mean_error
from studies.comparing.mixtures import Sample

type Player = tuple[str, ...]
"""Inputs that are swapped together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What one input moved.

    Parameters
    ----------
    player
        The input, or the inputs that were swapped together.
    value, mcse
        Its part of the change and the standard error on common draws.
    alone, last
        The change if it is swapped first, and last.
    """

    player: Player
    value: float
    mcse: float
    alone: float
    last: float


@dataclass(slots=True, kw_only=True)
class Sums:
    """Sums over the sets of inputs for one option and quantity.

    Parameters
    ----------
    parts
        Results weighted for each player; (players, n).
    means
        Mean of the result by set.
    """

    parts: np.ndarray
    means: dict[frozenset[int], float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """How the results moved from those with no new input to those with all.

    Parameters
    ----------
    players
        Inputs that were swapped.
    none, all
        Results at both ends.
    choices
        Option chosen with each set of players taken from the newer run.
    parts
        By option and quantity, in the order of the players; only what exists in every mixture.
    """

    players: tuple[Player, ...]
    none: Sample
    all: Sample
    choices: Mapping[frozenset[int], str]
    parts: Mapping[str, Mapping[str, tuple[Part, ...]]]


def subsets(count: int) -> Iterator[frozenset[int]]:
    """Every set of players, from none to all."""
    for size in range(count + 1):
        for members in combinations(range(count), size):
            yield frozenset(members)


def weights(count: int, members: frozenset[int]) -> np.ndarray:
    """Weight of the result of a set in the Shapley value of each player; (count,)."""
    size = len(members)
    inside = factorial(size - 1) * factorial(count - size) if size else 0
    outside = factorial(size) * factorial(count - size - 1) if size < count else 0
    return np.array(
        [inside if player in members else -outside for player in range(count)]
    ) / factorial(count)


def layout_of(samples: Sequence[Sample], draws: int) -> Layout:
    """Chains of the draws; a result without chains is no worse for being grouped."""
    chains = [sample.chain for sample in samples if sample.chain is not None]
    return Layout.of(chains[0] if chains else None, draws)


def attribute(
    players: Sequence[Player],
    result: Callable[[frozenset[str]], Sample],
    options: Sequence[str],
) -> Attribution:
    """Share the change out among the inputs.

    Parameters
    ----------
    players
        Inputs that differ, those that go together as one.
    result
        Results with the named inputs taken from the newer run.
    options
        Options that both runs have.

    Raises
    ------
    InputError
        If a mixture of inputs does not go together.
    """
    count = len(players)
    sums: dict[tuple[str, str], Sums] = {}
    choices: dict[frozenset[int], str] = {}
    ends: list[Sample] = []
    for members in subsets(count):
        sample = result(frozenset(name for player in members for name in players[player]))
        choices[members] = sample.choice
        if not members or len(members) == count:
            ends.append(sample)
        for option in options:
            for quantity, draws in sample.of(option).items():
                key = (option, quantity)
                if key not in sums:
                    sums[key] = Sums(parts=np.zeros((count, draws.size)))
                sums[key].parts += np.outer(weights(count, members), draws)
                sums[key].means[members] = float(draws.mean())
    layout = layout_of(ends, ends[0].draws)
    parts: dict[str, dict[str, tuple[Part, ...]]] = {option: {} for option in options}
    for (option, quantity), found in sums.items():
        # An option that some mixture does not pay, or a quantity that it lacks, has no parts.
        if len(found.means) == 2**count and np.isfinite(list(found.means.values())).all():
            parts[option][quantity] = tuple(
                _part(players, player, found, layout) for player in range(count)
            )
    return Attribution(
        players=tuple(players), none=ends[0], all=ends[-1], choices=choices, parts=parts
    )


def _part(players: Sequence[Player], player: int, sums: Sums, layout: Layout) -> Part:
    everybody = frozenset(range(len(players)))
    means, draws = sums.means, sums.parts[player]
    return Part(
        player=players[player],
        value=float(draws.mean()),
        mcse=float(mean_error(draws, layout)),
        alone=means[frozenset({player})] - means[frozenset()],
        last=means[everybody] - means[everybody - {player}],
    )
