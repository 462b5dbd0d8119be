"""Shapley effects of draws as they depend on each other: redraw, run the model again, compare.

Shapes: n draws, D parameters, F factors, T targets, C columns, M = 2^F subsets of factors.

X′ keeps the factors of a set u and redraws the others given them. C(u) = Σ cov(Y, Y′)/Σ var(Y),
summed over a target's columns: R² for a number, and for who ranks first (P[W = W′] − Σp²)/G. A
factor's Shapley effect is what it adds to C, averaged over the orders in which factors become
known; C({i}) is its first order and 1 − C(all but i) its total.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb
from typing import Protocol

import numpy as np

from decision.outcomes import Outcomes
from decision.precision import Layout, mean_error
from studies.drivers.copula import Copula
from studies.drivers.effects import SHAPLEY, Effects
from studies.drivers.factors import Factor, membership
from studies.drivers.streams import stream
from studies.drivers.targets import (
    ROUNDING_VARIANCE,
    Evaluate,
    Targets,
    constant_words,
    require_finite,
)

MOST_EXACT = 12
"""Factors up to which all subsets are evaluated."""

REPEATS = 4
"""Redraws of a draw for first and total order."""

ROWS = 65_536
"""Draws that the model is given at once, where subsets are small."""

BATCHES = 20
"""Batches of draws with permutations of their own: their spread is the standard error."""


class Redraw(Protocol):
    """Something that redraws parameters given others; see :class:`Copula`."""

    def given(self, rows: np.ndarray, kept: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """Values with the kept parameters as they are, (m, D)."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Game:
    """What every part of the estimate needs.

    Parameters
    ----------
    centred
        Columns of the draws less their means, (n, C).
    mean
        Those means, (C,).
    square
        Squares summed by target, (n, T); their mean is the variance.
    """

    evaluate: Evaluate
    copula: Copula
    redraw: Redraw
    held: np.ndarray
    targets: Targets
    centred: np.ndarray
    mean: np.ndarray
    square: np.ndarray

    def redrawn(
        self, rows: np.ndarray, known: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray:
        """Centred columns after redrawing, for each set; (sets, m, C).

        Parameters
        ----------
        rows
            Draws, (m,).
        known
            Sets of factors that are kept, (sets, F).
        """
        values = []
        for known_factors in known:
            kept = known_factors @ self.held
            noise = generator.standard_normal((rows.size, kept.size))
            values.append(self.redraw.given(rows, kept, noise))
        columns = self.copula.columns(np.concatenate(values))
        outcomes = self.evaluate(columns)
        require_finite(outcomes, columns)
        again: np.ndarray = self.targets.values(outcomes) - self.mean
        return again.reshape(len(known), rows.size, -1)

    def products(self, rows: np.ndarray, again: np.ndarray) -> np.ndarray:
        """Products of a draw with its redraws, summed by target; (sets, m, T)."""
        return self.targets.total(self.centred[rows] * again)

    def differences(self, rows: np.ndarray, again: np.ndarray) -> np.ndarray:
        """Half the squared differences, summed by target: exactly 0 where nothing changes."""
        return self.targets.total((self.centred[rows] - again) ** 2 / 2)


def shapley_effects(
    evaluate: Evaluate,
    copula: Copula,
    outcomes: Outcomes,
    factors: Sequence[Factor],
    targets: Targets,
    *,
    seed: int,
    chain: np.ndarray | None = None,
    redraw: Redraw | None = None,
    method: str = SHAPLEY,
    permutations: int | None = None,
    advance: Callable[[int], None] | None = None,
) -> Effects:
    """Shapley effects, first and total order of every target.

    Parameters
    ----------
    evaluate
        The model.
    copula
        The draws.
    outcomes
        Outcomes of the same draws.
    factors
        Each parameter of the copula is in one of them.
    targets
        What effects are of.
    seed
        Seed, not negative.
    chain
        Chain of each draw, None for independent draws.
    redraw
        How parameters are redrawn, by default by the copula.
    method
        What the result calls it.
    permutations
        Orders of the factors for each batch of draws; None for all subsets, up to ``MOST_EXACT``
        factors, and else for as many orders as cost the same. All subsets wherever they cost less.
    advance
        Called with the number of draws evaluated.

    Returns
    -------
    Effects
        Standard errors are those of simulation over draws (and, with permutations, over orders),
        by effective sample size. They do not hold what the copula gets wrong.

    References
    ----------
    Song, Nelson and Staum 2016, SIAM/ASA Journal on Uncertainty Quantification 4:1060; Broto,
    Bachoc and Depecker 2020, ibid. 8:693.
    """
    require_finite(outcomes, copula.columns(copula.samples))
    own = targets.values(outcomes)
    mean = own.mean(axis=0)
    centred = own - mean
    game = _Game(
        evaluate=evaluate,
        copula=copula,
        redraw=redraw or copula,
        held=membership(factors, copula.paths),
        targets=targets,
        centred=centred,
        mean=mean,
        square=targets.total(centred**2),
    )
    generator = stream(seed, "shapley")
    layout = Layout.of(chain, outcomes.draws)
    count, draws = len(factors), outcomes.draws
    tell = advance or (lambda _: None)
    alone, left, evaluations = _first_and_total(game, generator, tell)
    orders = permutations or max(2, 2**MOST_EXACT // max(1, count - 1))
    few = permutations is None and count <= MOST_EXACT
    if few or 2**count - 2 <= orders * (count - 1):
        added = _over_subsets(game, generator, tell)
        evaluations += draws * (2**count - 2)
    else:
        added = None
        evaluations += draws * orders * (count - 1)
    variance = game.square.mean(axis=0)
    shown = {
        "first": _ratio(alone, game.square, layout),
        "total": _ratio(left, game.square, layout),
        "shapley": (
            _ratio(added, game.square, layout)
            if added is not None
            else _over_orders(game, generator, orders, tell)
        ),
    }
    scale = (own**2).mean(axis=0)
    varies = variance > ROUNDING_VARIANCE * targets.total(scale)
    ends = np.append(targets.starts, own.shape[1])
    parts = {name: _where(varies, pair) for name, pair in shown.items()}
    return Effects(
        method=method,
        targets=targets.names,
        factors=tuple(factors),
        first=parts["first"][0],
        first_se=parts["first"][1],
        total=parts["total"][0],
        total_se=parts["total"][1],
        shapley=parts["shapley"][0],
        shapley_se=parts["shapley"][1],
        second=None,
        second_se=None,
        degrees=np.inf if added is not None else BATCHES - 1.0,
        constant={
            name: constant_words(name, own[0, ends[t] : ends[t + 1]], targets)
            for t, name in enumerate(targets.names)
            if not varies[t]
        },
        support=variance * draws,
        evaluations=evaluations,
    )


def _first_and_total(
    game: _Game, generator: np.random.Generator, advance: Callable[[int], None]
) -> tuple[np.ndarray, np.ndarray, int]:
    """C({i}) and 1 − C(all but i) draw by draw, not yet divided by the variance; (F, n, T)."""
    count, draws = game.held.shape[0], game.centred.shape[0]
    rows = np.arange(draws)
    shape = (count, draws, game.square.shape[1])
    alone, left = np.zeros(shape), np.zeros(shape)
    one = np.eye(count, dtype=bool)
    for i in range(count):
        for _ in range(REPEATS):
            if count > 1:
                again = game.redrawn(rows, np.stack([one[i], ~one[i]]), generator)
                alone[i] += game.products(rows, again[:1])[0] / REPEATS
                left[i] += game.differences(rows, again[1:])[0] / REPEATS
                advance(2 * draws)
    if count == 1:
        alone[0] = left[0] = game.square
    return alone, left, 2 * REPEATS * draws * count


def _over_subsets(
    game: _Game, generator: np.random.Generator, advance: Callable[[int], None]
) -> np.ndarray:
    """Shapley effects draw by draw over all subsets, not yet divided; (F, n, T).

    Σ_u (|u|! (F − |u| − 1)!/F!) (C(u ∪ i) − C(u)), where C(∅) = 0 and C(all) = 1.
    """
    count, draws = game.held.shape[0], game.centred.shape[0]
    rows = np.arange(draws)
    codes = np.arange(2**count)
    known = (codes[:, np.newaxis] >> np.arange(count)) & 1 == 1
    size = known.sum(axis=1)
    gained = np.array([0.0] + [1.0 / (count * comb(count - 1, k - 1)) for k in range(1, count + 1)])
    missed = np.array([1.0 / (count * comb(count - 1, k)) for k in range(count)] + [0.0])
    weight = np.where(known.T, gained[size], -missed[size])
    result: np.ndarray = weight[:, -1, np.newaxis, np.newaxis] * game.square
    inner = codes[1:-1]
    at_once = max(1, ROWS // draws)
    for start in range(0, inner.size, at_once):
        chosen = inner[start : start + at_once]
        again = game.redrawn(rows, known[chosen], generator)
        products = game.products(rows, again)
        result += np.tensordot(weight[:, chosen], products, axes=1)
        advance(draws * chosen.size)
    return result


def _over_orders(
    game: _Game,
    generator: np.random.Generator,
    orders: int,
    advance: Callable[[int], None],
) -> tuple[np.ndarray, np.ndarray]:
    """Shapley effects and errors over random orders and their reverses; both (F, T).

    Each batch of consecutive draws has orders of its own, so that the spread of batches holds the
    choice of orders, the redraws and the draws with what ties neighbours in a chain.
    """
    count, draws = game.held.shape[0], game.centred.shape[0]
    batches = np.array_split(np.arange(draws), min(BATCHES, draws))
    added = np.zeros((len(batches), count, game.square.shape[1]))
    square = np.array([game.square[rows].mean(axis=0) for rows in batches])
    for b, rows in enumerate(batches):
        chosen: list[np.ndarray] = []
        while len(chosen) < orders:
            order = generator.permutation(count)
            chosen += [order, order[::-1]]
        for group in _grouped(chosen[:orders], max(1, ROWS // (rows.size * max(1, count - 1)))):
            known = np.zeros((len(group), count - 1, count), dtype=bool)
            for o, order in enumerate(group):
                for k in range(1, count):
                    known[o, k - 1, order[:k]] = True
            again = game.redrawn(rows, known.reshape(-1, count), generator)
            worth = game.products(rows, again).mean(axis=1).reshape(len(group), count - 1, -1)
            none = np.zeros((len(group), 1, worth.shape[-1]))
            steps = np.diff(np.concatenate([none, worth, none + square[b]], axis=1), axis=1)
            for o, order in enumerate(group):
                added[b, order] += steps[o] / orders
            advance(rows.size * len(group) * (count - 1))
    with np.errstate(invalid="ignore", divide="ignore"):
        effect = added.mean(axis=0) / square.mean(axis=0)
        residual = added - effect * square[:, np.newaxis]
        error = residual.std(axis=0, ddof=1) / np.sqrt(len(batches)) / square.mean(axis=0)
    return effect, error


def _grouped(items: list[np.ndarray], size: int) -> list[list[np.ndarray]]:
    return [items[start : start + size] for start in range(0, len(items), size)]


def _ratio(
    numerator: np.ndarray, square: np.ndarray, layout: Layout
) -> tuple[np.ndarray, np.ndarray]:
    """Mean of (F, n, T) over draws relative to the variance, with its error; both (F, T)."""
    variance = square.mean(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        index = numerator.mean(axis=1) / variance
        residual = numerator - np.nan_to_num(index)[:, np.newaxis] * square
        samples = np.moveaxis(residual, 1, 0).reshape(square.shape[0], -1)
        error = mean_error(samples, layout).reshape(index.shape) / variance
    return index, error


def _where(
    varies: np.ndarray, pair: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Both as (T, F), NaN for targets that do not vary."""
    index, error = pair
    kept = varies[:, np.newaxis]
    return np.where(kept, index.T, np.nan), np.where(kept, error.T, np.nan)
