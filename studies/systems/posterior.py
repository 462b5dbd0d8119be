"""Posterior of the hierarchy with some systems left out, and what it predicts for their rows.

Every left-out set is one more switch of rows in the same lattice of Laplace approximations, so that
leaving each system out in turn costs little more than fitting once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from model.numerics import Value
from studies.systems.cases import Case
from studies.systems.design import Design, Floats, Indices, lay_out, open_recomputes
from studies.systems.hierarchy import Layout, Problems, predict, row_log_density
from studies.systems.laplace import Fits, fit
from studies.systems.unknowns import Unknown

ACCELERATORS_SD = (0.15, 0.7)
SYSTEMS_SD = (0.25, 0.6)
RESIDUAL = (0.08, 0.8)
"""Priors of the three spreads: median, and sd of the log. Those of the logit of an efficiency near
0.6: 0.25 is 10% of a step. A handful of systems moves them little, so that they are wide."""

MAX_OPTIONS = 27
"""Combinations of unstated recomputations that are kept, likeliest first."""

NEGLIGIBLE = 12.0
"""Log units below the best at which a residual is no longer looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """A form with the rows and unknowns it is judged on.

    Parameters
    ----------
    cases
        The rows.
    own, shared
        Continuous unknowns.
    settings
        What the form sets on every scenario, by dotted path.
    """

    cases: tuple[Case, ...]
    own: tuple[Unknown, ...]
    shared: tuple[Unknown, ...]
    settings: Mapping[str, Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The lattice under one combination of unstated recomputations."""

    design: Design
    problems: Problems
    fits: Fits


@dataclass(frozen=True, slots=True, kw_only=True)
class Posterior:
    """Mixture of Laplace approximations.

    Parameters
    ----------
    left_out
        Systems whose rows were not used.
    parts
        Lattices of fits.
    weights
        Of each fit of each part; all sum to 1.
    """

    left_out: frozenset[str]
    parts: tuple[Part, ...]
    weights: tuple[Floats, ...]

    @property
    def unconverged(self) -> float:
        """Weight of fits whose mode was not found."""
        return float(
            sum(
                weight[~part.fits.converged].sum()
                for part, weight in zip(self.parts, self.weights, strict=True)
            )
        )

    def mean(self, name: str) -> float:
        """Posterior mean of a spread, by its name in :class:`Problems`."""
        return float(
            sum(
                weight @ getattr(part.problems, name)
                for part, weight in zip(self.parts, self.weights, strict=True)
            )
        )

    def constants(self) -> dict[str, float]:
        """Median of each shared constant, by dotted path; scores are near normal."""
        layout = Layout.of(self.parts[0].design)
        scores = sum(
            weight @ part.fits.mode for part, weight in zip(self.parts, self.weights, strict=True)
        )
        shared = layout.parts(np.asarray(scores))[2]
        unknowns = self.parts[0].design.shared
        return {u.path: float(u.value(shared[place])) for place, u in enumerate(unknowns)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What is predicted for rows, and how likely what was measured is.

    Parameters
    ----------
    rows
        Places of the rows in the setup's cases.
    log_seconds
        Draws, shape (draws, rows).
    log_density
        Log density of the measured log seconds, shape (rows,).
    """

    rows: tuple[int, ...]
    log_seconds: Floats
    log_density: Floats


def condition(setup: Setup, left_out: Sequence[frozenset[str]]) -> list[Posterior]:
    """The posterior without each of some sets of systems.

    Parameters
    ----------
    setup
        Form and rows.
    left_out
        Sets of systems; an empty one leaves nothing out.
    """
    lattice = _lattice()
    parts: list[list[Part]] = [[] for _ in left_out]
    logs: list[list[Floats]] = [[] for _ in left_out]
    for recomputes, log_weight in _options(setup).items():
        design = _design(setup, dict(recomputes))
        for place, (part, log) in enumerate(_explore(design, left_out, lattice)):
            parts[place].append(part)
            logs[place].append(log + log_weight)
    posteriors = []
    for systems, own_parts, own_logs in zip(left_out, parts, logs, strict=True):
        largest = max(float(log.max()) for log in own_logs)
        weights = [np.exp(log - largest) for log in own_logs]
        total = sum(float(weight.sum()) for weight in weights)
        posteriors.append(
            Posterior(
                left_out=systems,
                parts=tuple(own_parts),
                weights=tuple(weight / total for weight in weights),
            )
        )
    return posteriors


def foretell(posterior: Posterior, system: str, *, draws: int, seed: int) -> Prediction:
    """Predict the rows of a system.

    Parameters
    ----------
    posterior
        Without the system for a prediction, with it for a fit.
    system
        Its name.
    draws
        Draws from the mixture.
    seed
        Same seed, same draws.
    """
    rng = np.random.default_rng(seed)
    counts = _allot(posterior.weights, draws, rng)
    densities, samples = [], []
    rows: Indices = np.array([], dtype=np.intp)
    for part, count in zip(posterior.parts, counts, strict=True):
        design = part.design
        rows = np.flatnonzero(design.system_of_row == design.systems.index(system))
        chosen = np.repeat(np.arange(len(count)), count)
        for first in range(0, len(chosen), _CHUNK):
            at = chosen[first : first + _CHUNK]
            problems = part.problems.take(at)
            scores = _sample(part.fits, at, rng)
            value = predict(design, scores, problems)
            everything = np.ones_like(value, dtype=bool)
            density, *_ = row_log_density(design, value, everything, problems.residual)
            densities.append(density[:, rows])
            samples.append(_draw(design, value, rows, problems.residual, rng))
    log_density = np.concatenate(densities)
    return Prediction(
        rows=tuple(int(row) for row in rows),
        log_seconds=np.concatenate(samples),
        log_density=np.logaddexp.reduce(log_density, axis=0) - np.log(len(log_density)),
    )


_CHUNK = 500


def _design(setup: Setup, recomputes: Mapping[str, str]) -> Design:
    return lay_out(
        setup.cases,
        own=setup.own,
        shared=setup.shared,
        settings=setup.settings,
        recomputes=recomputes,
    )


def _options(setup: Setup) -> dict[tuple[tuple[str, str], ...], float]:
    """Combinations of unstated recomputations with their log prior probabilities.

    Where there are too many, those that fit the rows best stay.
    """
    open_ = open_recomputes(setup.cases)
    combinations = {
        tuple(zip(open_, values, strict=True)): float(
            sum(np.log(open_[system][name]) for system, name in zip(open_, values, strict=True))
        )
        for values in product(*open_.values())
    }
    if len(combinations) <= MAX_OPTIONS:
        return combinations
    scores = {
        item: log + float(_central(_design(setup, dict(item)), [frozenset()]).log_evidence[0])
        for item, log in combinations.items()
    }
    best = sorted(scores, key=scores.__getitem__, reverse=True)[:MAX_OPTIONS]
    return {item: combinations[item] for item in best}


def _lattice() -> tuple[Floats, Floats, Floats]:
    """Scores of the three spreads, in prior sd of their logs."""
    return np.array([-1.0, 1.0]), np.linspace(-1.8, 1.8, 6), np.linspace(-2.4, 1.5, 14)


def _spreads(z_accelerators: Floats, z_systems: Floats, z_residual: Floats) -> tuple[Floats, ...]:
    return tuple(
        median * np.exp(sigma * z)
        for (median, sigma), z in zip(
            (ACCELERATORS_SD, SYSTEMS_SD, RESIDUAL),
            (z_accelerators, z_systems, z_residual),
            strict=True,
        )
    )


def _problems(
    design: Design, left_out: Sequence[frozenset[str]], scores: Sequence[Floats]
) -> Problems:
    """Problems of one point of the lattice each, with the systems it leaves out."""
    accelerators, systems, residual = _spreads(*scores)
    active = [[system not in out for system in design.systems] for out in left_out]
    return Problems(
        accelerators_sd=accelerators,
        systems_sd=systems,
        residual=residual,
        active=np.array(active, dtype=bool),
    )


def _central(design: Design, left_out: Sequence[frozenset[str]]) -> Fits:
    middle = np.zeros(len(left_out))
    return fit(design, _problems(design, left_out, (middle, middle, middle)))


def _explore(
    design: Design, left_out: Sequence[frozenset[str]], lattice: tuple[Floats, Floats, Floats]
) -> list[tuple[Part, Floats]]:
    """Fits over the lattice, residuals far from the best left out, and their log weights.

    All sets of systems are fitted at once: few large evaluations are faster than many small ones.
    """
    accelerators, systems, residual = lattice
    centre = _central(design, left_out).mode
    owner = np.repeat(np.arange(len(left_out)), len(residual))
    line_z = np.tile(residual, len(left_out))
    middle = np.zeros(len(owner))
    line = _problems(design, [left_out[int(i)] for i in owner], (middle, middle, line_z))
    along = fit(design, line, centre[owner])
    log = along.log_evidence - 0.5 * line_z**2
    pieces = []
    for place in range(len(left_out)):
        own = np.flatnonzero(owner == place)
        near = own[log[own] > log[own].max() - NEGLIGIBLE]
        grid = np.meshgrid(accelerators, systems, near, indexing="ij")
        pieces.append(np.array([z.ravel() for z in grid]))
    z_accelerators, z_systems, from_line = np.concatenate(pieces, axis=1)
    start = from_line.astype(np.intp)
    scores = (z_accelerators, z_systems, line_z[start])
    problems = _problems(design, [left_out[int(i)] for i in owner[start]], scores)
    fits = fit(design, problems, along.mode[start])
    weights = fits.log_evidence - 0.5 * sum(z**2 for z in scores)
    result = []
    for place in range(len(left_out)):
        rows = np.flatnonzero(owner[start] == place)
        part = Part(design=design, problems=problems.take(rows), fits=fits.take(rows))
        result.append((part, weights[rows]))
    return result


def _allot(weights: Sequence[Floats], draws: int, rng: np.random.Generator) -> list[Indices]:
    """How many draws each fit gets: systematic resampling."""
    flat = np.concatenate(weights)
    points = (np.arange(draws) + rng.random()) / draws
    ends = np.cumsum(flat)
    chosen = np.minimum(np.searchsorted(ends, points), len(flat) - 1)
    counts = np.bincount(chosen, minlength=len(flat))
    return np.split(counts, np.cumsum([len(weight) for weight in weights])[:-1])


def _sample(fits: Fits, at: Indices, rng: np.random.Generator) -> Floats:
    """Scores out of the approximations, shape (draws, D)."""
    lower = np.linalg.cholesky(fits.precision[at])
    noise = rng.standard_normal((len(at), lower.shape[-1], 1))
    deviation = np.linalg.solve(lower.transpose(0, 2, 1), noise)[..., 0]
    result: Floats = fits.mode[at] + deviation
    return result


def _draw(
    design: Design, value: Floats, rows: Indices, residual: Floats, rng: np.random.Generator
) -> Floats:
    """Log seconds of each row: a column drawn by weight and its residual; shape (draws, rows)."""
    starts = np.append(design.row_starts, len(design.row_of))
    result = np.empty((len(value), len(rows)))
    for place, row in enumerate(rows):
        columns = np.arange(starts[row], starts[row + 1])
        weight = np.exp(design.log_weight[columns])
        picked = rng.choice(columns, size=len(value), p=weight / weight.sum())
        noise = residual * design.tail[picked] * rng.standard_normal(len(value))
        result[:, place] = value[np.arange(len(value)), picked] + noise
    return result
