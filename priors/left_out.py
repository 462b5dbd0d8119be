"""The posterior without each observation, from the draws with all of them.

Draws stay and their weights change, w ∝ 1/p(y_i | θ), with the tail of the weights smoothed. Where
that would rest on a few draws, two exact devices widen the proposal first:

* A system that only observation i speaks of has a deviation z of its own, of which nothing else is
  known and which no ranking reads. It is integrated out: w ∝ 1/∫p(y_i | φ, z) N(z) dz.
* The draws are moved and stretched to the moments of the weighted ones, p(y_i | θ) being let go of
  by powers so that no step rests on a few draws, and weighted by the density of the posterior
  without i at their new places over that of the posterior at their old ones.

Both act on scores: quantities with a prior of their own by Φ⁻¹ of their distribution function, and
deviations, so that the prior is N(0, I). Weights are trusted up to a Pareto shape of 0.7.

Shapes: scores are (draws, dimensions), values (draws, quantities).

References
----------
Gelfand, Dey & Chang 1992, Model determination using predictive distributions.
Vehtari, Mononen, Tolvanen, Sivula & Winther 2016, Bayesian leave-one-out cross-validation
approximations for Gaussian latent variable models (integrated weights).
Paananen, Piironen, Bürkner & Vehtari 2021, Implicitly adaptive importance sampling.
Vehtari, Simpson, Gelman, Yao & Gabry 2024, Pareto smoothed importance sampling.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

from priors.importance import MOST_K, LeftOut, effective, smoothed
from priors.likelihood import Likelihood, by_observation
from priors.likelihoods import likelihoods_of
from priors.observations import Evidence, Observation
from priors.population import Population
from priors.touched import touched_paths

type Floats = NDArray[np.float64]

NODES = np.linspace(-8.0, 8.0, 33)
"""Of the integral over a deviation, in widths of the integrand: of smooth peaks the trapezoidal sum
is exact to many digits at half a width."""

FARTHEST_SCORE = 8.0
"""Beyond, the distribution function of a prior is 0 or 1 to the last bit."""

EVEN = 0.5
"""Effective share of the draws from which moments are told."""

LIGHT_SHARE = 0.2
"""Effective share of the draws from which they stay where they are."""

MOST_DRAWS = 2000
"""Draws that are moved, or whose deviations are integrated out: about so many, evenly."""

MOST_STEPS = 40

POWERS = (1.0, 0.5, 0.25)
"""Of the weights whose moments are tried."""

NIL = 1e-12
"""Variance that keeps the decompositions of covariances whole where a quantity is known."""

CHUNK = 500
"""Draws whose integral is taken at once."""


def leave_out_each(
    evidence: Evidence,
    population: Population,
    likelihoods: Sequence[Likelihood],
    *,
    values: Floats,
    deviations: Floats,
    seed: int,
) -> tuple[LeftOut, ...]:
    """The posterior without each observation that says something.

    Parameters
    ----------
    evidence, population, likelihoods
        What was conditioned on.
    values, deviations
        Draws of the posterior: the vector of values, and the standard normal deviations.
    seed
        Of deviations that are drawn anew.
    """
    densities = by_observation(likelihoods, values)
    rows = np.arange(len(values))
    found = {}
    for name, density in densities.items():
        weights, shape = smoothed(-density)
        found[name] = LeftOut(id=name, rows=rows, weights=weights, pareto_k=shape, moved={})
    some = rows[:: max(1, len(rows) // MOST_DRAWS)]
    latent = _Latent(population, likelihoods)
    scores = latent.scores(values[some], deviations[some])
    total = np.sum([density[some] for density in densities.values()], axis=0) + _log_prior(scores)
    items = {item.id: item for item in evidence.observations}
    for name, plain in found.items():
        if _light(plain):
            continue
        rest, density = total - densities[name][some], densities[name][some]
        choices = [plain]
        private = latent.private(items[name], items.values())
        if private is not None:
            integral = latent.integrated(evidence, items[name], scores, private)
            one = _Target(latent, name, scores, rest=rest, density=density)
            one.draw_anew(private, integral, np.random.default_rng(seed))
            choices.append(one.found(some))
        if not _light(choices[-1]):
            moving = _Target(latent, name, scores, rest=rest, density=density)
            moving.let_go()
            moving.settle()
            choices.append(moving.found(some))
            if private is not None and not _light(choices[-1]):
                one.settle()
                choices.append(one.found(some))
        found[name] = max(choices, key=lambda one: (one.trusted, one.effective))
    return tuple(found.values())


def _light(one: LeftOut) -> bool:
    """Whether weights are even enough for the draws to stay."""
    return one.pareto_k <= MOST_K and one.effective >= LIGHT_SHARE * one.weights.size


class _Latent:
    """Scores to values, and the densities there."""

    def __init__(self, population: Population, likelihoods: Sequence[Likelihood]) -> None:
        self.population = population
        self.likelihoods = likelihoods
        self.own = [prior.for_sampling() for prior in population.priors.values()]
        self.pairs = population.names[len(self.own) :]
        self.first_pair = len(self.own) + len(population.tied)

    def scores(self, values: Floats, deviations: Floats) -> Floats:
        """Scores of draws."""
        columns = [
            np.zeros(len(values)) if prior.is_fixed else special.ndtri(prior.cdf(values[:, place]))
            for place, prior in enumerate(self.own)
        ]
        own = np.clip(np.column_stack(columns), -FARTHEST_SCORE, FARTHEST_SCORE)
        return np.concatenate([own, deviations], axis=1)

    def values(self, scores: Floats) -> Floats:
        """The vector of values at scores."""
        return np.asarray(self.population.values(self._own(scores), self._deviations(scores)))

    def _own(self, scores: Floats) -> Floats:
        shares = special.ndtr(scores[:, : len(self.own)])
        columns = [prior.quantile(shares[:, place]) for place, prior in enumerate(self.own)]
        return np.column_stack(columns)

    def _deviations(self, scores: Floats) -> Floats:
        return scores[:, len(self.own) :]

    def densities(self, scores: Floats) -> Mapping[str, Floats]:
        """Log likelihood of each observation."""
        return by_observation(self.likelihoods, self.values(scores))

    def private(self, item: Observation, items: Iterable[Observation]) -> int | None:
        """Place of the one deviation that only this observation touches; None without one."""
        mine = self._touched(item)
        others = {name for other in items if other.id != item.id for name in self._touched(other)}
        if len(mine) != 1 or mine & others:
            return None
        [name] = mine
        return self.first_pair + self.pairs.index(name)

    def _touched(self, item: Observation) -> set[str]:
        entries = self.population.catalogue.entries
        names = {self.population.name_of(p, item) for p in touched_paths(item) if p in entries}
        return names & set(self.pairs)

    def integrated(
        self, evidence: Evidence, item: Observation, scores: Floats, place: int
    ) -> Floats:
        """Log ∫p(y_i | φ, z) N(z) dz at each draw, summed about the integrand's peak."""
        [alone] = likelihoods_of(replace(evidence, observations=(item,)), self.population)
        path = self.pairs[place - self.first_pair].partition("@")[0]
        between = list(self.population.priors).index(f"{path}@between")
        target = len(self.own) + list(self.population.tied).index(path)
        # What the observation says of the system is, on the population's scale, nearly one Gaussian
        # whatever the other quantities are.
        own, deviations = self._own(scores), self._deviations(scores)
        spread = own[:, between]
        located = self.population.located(path, own[:, list(self.population.priors).index(path)])
        where = located + spread * (scores[:, place] - scores[:, target])
        sd = np.maximum(where.std() / spread, 1e-6)
        centre = (where.mean() - located) / spread + scores[:, target]
        precision = 1.0 + sd**-2.0
        middle, width = centre * sd**-2.0 / precision, precision**-0.5
        found = np.empty(len(scores))
        for start in range(0, len(scores), CHUNK):
            rows = slice(start, start + CHUNK)
            z = middle[rows, None] + width[rows, None] * NODES
            many = np.repeat(deviations[rows, None, :], NODES.size, axis=1)
            many[:, :, place - len(self.own)] = z
            same = np.broadcast_to(own[rows, None, :], (*z.shape, len(self.own)))
            [density] = by_observation([alone], self.population.values(same, many)).values()
            found[rows] = special.logsumexp(density - z**2 / 2.0, axis=1)
        step = (NODES[1] - NODES[0]) / np.sqrt(2.0 * np.pi)
        return np.asarray(found + np.log(step * width))


class _Target:
    """Draws on their way to the posterior without one observation.

    Parameters
    ----------
    latent, name
        Scores to values, and the observation.
    scores
        Draws of the posterior.
    rest
        Log density of the prior and of all other observations there, up to a constant.
    density
        That of the observation.
    """

    def __init__(
        self, latent: _Latent, name: str, scores: Floats, *, rest: Floats, density: Floats
    ) -> None:
        self.latent, self.name = latent, name
        self.scores, self.rest, self.density = scores, rest, density
        self.proposal = rest + density
        self.stays = True

    def found(self, rows: NDArray[np.intp]) -> LeftOut:
        """The result, of draws at these places of all."""
        weights, shape = smoothed(self.rest - self.proposal)
        moved = {}
        if not self.stays:
            values = self.latent.values(self.scores)
            entries = self.latent.population.catalogue.entries
            names = self.latent.population.names
            moved = {path: values[:, n] for n, path in enumerate(names) if path in entries}
        return LeftOut(id=self.name, rows=rows, weights=weights, pareto_k=shape, moved=moved)

    @property
    def effective(self) -> float:
        """Of plain weights."""
        return effective(self._weights(0.0))

    def _weights(self, share: float) -> Floats:
        """Plain weights for the posterior with the observation to a power."""
        return _normalised(self.rest + share * self.density - self.proposal)

    def draw_anew(self, place: int, integral: Floats, rng: np.random.Generator) -> None:
        """Integrate a deviation out and draw it from its prior.

        The proposal is then p(φ | y)·N(z), with p(φ | y) ∝ p(φ)·∏p(y_j | φ)·∫p(y_i | φ, z)N(z)dz.
        """
        fresh = rng.standard_normal(len(self.scores))
        self.rest = self.rest + (self.scores[:, place] ** 2 - fresh**2) / 2.0
        self.scores = self.scores.copy()
        self.scores[:, place] = fresh
        self.proposal = self.rest + integral

    def let_go(self) -> None:
        """Let go of the observation by powers, the draws following the moments of each step."""
        share = 1.0
        for _ in range(MOST_STEPS):
            share = self._next(share)
            here = effective(self._weights(share))
            self._follow(share, (1.0,), here)
            if share == 0.0:
                return

    def settle(self) -> None:
        """Move the draws on while that makes the weights more even."""
        for _ in range(MOST_STEPS):
            _, shape = smoothed(self.rest - self.proposal)
            here = self.effective
            light = shape <= MOST_K and here >= LIGHT_SHARE * len(self.scores)
            if light or not self._follow(0.0, POWERS, here):
                return

    def _follow(self, share: float, powers: Iterable[float], here: float) -> bool:
        """Move to the moments that make the weights most even; False where none does more."""
        tried = (one for power in powers for one in self._transformed(share, power))
        best = max(tried, key=lambda one: one.evenness, default=None)
        if best is None or best.evenness <= here:
            return False
        self.scores, self.rest, self.density = best.scores, best.rest, best.density
        self.stays = False
        return True

    def _next(self, share: float) -> float:
        """The least power at which the weights still are even enough to tell moments."""
        least = min(EVEN * len(self.scores), 0.7 * effective(self._weights(share)))
        if effective(self._weights(0.0)) >= least:
            return 0.0
        low, high = 0.0, share
        for _ in range(30):
            middle = (low + high) / 2.0
            if effective(self._weights(middle)) >= least:
                high = middle
            else:
                low = middle
        return high

    def _transformed(self, share: float, power: float) -> "Iterator[_Moved]":
        """Draws with the mean and variances, or covariances, of the weighted ones.

        Weights to a power below 1 rest on more draws, and their moments lie between.
        """
        weights = self._weights(share) ** power
        weights /= weights.sum()
        mean, weighted = self.scores.mean(axis=0), weights @ self.scores
        centred, about = self.scores - mean, self.scores - weighted
        variance = np.maximum(self.scores.var(axis=0), NIL)
        choices = [centred, centred * np.sqrt(weights @ about**2 / variance)]
        nil = NIL * np.eye(mean.size)
        with suppress(np.linalg.LinAlgError):  # where too few draws have weight
            new = np.linalg.cholesky((about * weights[:, None]).T @ about + nil)
            old = np.linalg.cholesky(np.cov(self.scores, rowvar=False) + nil)
            choices.append(np.linalg.solve(old, centred.T).T @ new.T)
        for choice in choices:
            scores = choice + weighted
            if np.abs(scores[:, : len(self.latent.own)]).max(initial=0.0) >= FARTHEST_SCORE:
                continue
            densities = dict(self.latent.densities(scores))
            density = densities.pop(self.name)
            rest = _log_prior(scores) + np.sum(list(densities.values()), axis=0)
            log_weights = rest + share * density - self.proposal
            if np.all(np.isfinite(log_weights)):
                evenness = effective(_normalised(log_weights))
                yield _Moved(scores=scores, rest=rest, density=density, evenness=evenness)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Moved:
    """Draws at new places, and how even their weights are."""

    scores: Floats
    rest: Floats
    density: Floats
    evenness: float


def _normalised(log_weights: Floats) -> Floats:
    weights = np.exp(log_weights - log_weights.max())
    return np.asarray(weights / weights.sum())


def _log_prior(scores: Floats) -> Floats:
    return np.asarray(-0.5 * np.sum(scores**2, axis=1))
