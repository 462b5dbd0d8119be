"""The posterior of the hierarchy by nested Laplace approximation.

The three spreads (between accelerators, between systems, residual) and the recomputation that a
system does not state are summed over a lattice; given them the scores are nearly Gaussian, since
log seconds are nearly linear in them, and are integrated by Laplace's method. Leaving a system out
is switching its rows off: its scores then fall back to their priors.

Shapes: B problems (a lattice point, options and a set of active systems each), D scores.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from studies.systems.design import Design, Floats, Indices
from studies.systems.hierarchy import (
    Layout,
    Problems,
    active_columns,
    logits,
    predict,
    row_log_density,
)

STEP = 1e-4
"""Finite difference of a score: the curvature it leaves in a slope is as small."""

SAFE_STEPS = 2
MAX_ITERATIONS = 40
MAX_HALVINGS = 12
STILL = 0.01
"""Change of the log density in a step at which it has stopped moving."""

TOLERANCE = 0.02
"""Largest change of a score, in prior sd, at which the mode is found: triangular priors have a kink
in their quantiles, around which Newton steps swing by a hundredth; the evidence moves by 2e-4."""

CHUNK_ELEMENTS = 1_500_000
"""Problems × columns evaluated at once: what the caches hold."""

SMALLEST_PRECISION = 0.2
"""A score is never known much worse than its prior, whose precision is 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fits:
    """Laplace approximations.

    Parameters
    ----------
    mode
        Shape (B, D).
    precision
        Of the scores at the mode, shape (B, D, D).
    log_evidence
        Log of the integral over the scores, shape (B,).
    converged
        Whether the mode was found, shape (B,).
    """

    mode: Floats
    precision: Floats
    log_evidence: Floats
    converged: NDArray[np.bool_]

    def take(self, rows: Indices) -> "Fits":
        """Some of the fits."""
        return Fits(
            mode=self.mode[rows],
            precision=self.precision[rows],
            log_evidence=self.log_evidence[rows],
            converged=self.converged[rows],
        )


def fit(design: Design, problems: Problems, start: Floats | None = None) -> Fits:
    """Find mode, precision and evidence of every problem.

    Parameters
    ----------
    design
        The rows.
    problems
        What is held fixed.
    start
        Scores to begin from, shape (B, D); by default zero.
    """
    columns = len(design.row_of)
    directions = 1 + len(design.own) + len(design.shared)
    chunk = max(1, CHUNK_ELEMENTS // (columns * (1 + directions)))
    parts = []
    for first in range(0, len(problems), chunk):
        rows = slice(first, first + chunk)
        begin = None if start is None else start[rows]
        parts.append(_fit_chunk(design, problems.take(rows), begin))
    return Fits(
        mode=np.concatenate([part.mode for part in parts]),
        precision=np.concatenate([part.precision for part in parts]),
        log_evidence=np.concatenate([part.log_evidence for part in parts]),
        converged=np.concatenate([part.converged for part in parts]),
    )


def _fit_chunk(design: Design, problems: Problems, start: Floats | None) -> Fits:
    size = Layout.of(design).size
    mode = np.zeros((len(problems), size)) if start is None else start.copy()
    precision = np.empty((len(problems), size, size))
    log_evidence = np.empty(len(problems))
    converged = np.zeros(len(problems), dtype=bool)
    before = np.full(len(problems), np.inf)
    rows = np.arange(len(problems))
    for iteration in range(MAX_ITERATIONS):
        # Far from the mode the mixture may bend the wrong way; near it Newton's steps are faster.
        some = problems.take(rows)
        state = _state(design, some, mode[rows], observed=iteration >= SAFE_STEPS)
        step = np.linalg.solve(state.precision, state.gradient[..., None])[..., 0]
        done = np.abs(step).max(axis=1) < TOLERANCE
        if iteration == MAX_ITERATIONS - 1:
            done[:] = True
        if done.any() and iteration < SAFE_STEPS:
            done[:] = False
        finished = rows[done]
        precision[finished] = state.precision[done]
        log_evidence[finished] = state.objective[done]
        # Where the window of an overlap ends the density has a kink: steps swing, it does not move.
        still = np.abs(state.objective - before[rows])[done] < STILL
        converged[finished] = still | (np.abs(step[done]).max(axis=1) < TOLERANCE)
        before[rows] = state.objective
        rows = rows[~done]
        if not len(rows):
            break
        mode[rows] = _advance(
            design, some.take(~done), mode[rows], step[~done], state.objective[~done]
        )
    _, log_determinant = np.linalg.slogdet(precision)
    return Fits(
        mode=mode,
        precision=precision,
        log_evidence=log_evidence - 0.5 * log_determinant,
        converged=converged,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """Log density of data and scores, its gradient and the precision, at some scores."""

    objective: Floats
    gradient: Floats
    precision: Floats


def _state(design: Design, problems: Problems, scores: Floats, *, observed: bool) -> _State:
    layout = Layout.of(design)
    maps = [
        layout.local(system, int(design.accelerator_of[system]), problems)
        for system in range(layout.systems)
    ]
    value, slopes = _linearise(design, layout, scores, problems)
    mask = active_columns(design, problems)
    objective, shares, errors = _objective(design, value, mask, problems, scores)
    gradient, precision = _normal_equations(
        design,
        problems,
        maps=maps,
        slopes=slopes,
        shares=shares,
        errors=errors,
        observed=observed,
    )
    return _State(objective=objective, gradient=gradient - scores, precision=precision)


def _advance(
    design: Design, problems: Problems, scores: Floats, step: Floats, objective: Floats
) -> Floats:
    """Scores after a step, halved until the density does not fall."""
    mask = active_columns(design, problems)
    size = np.ones(len(problems))
    for _ in range(MAX_HALVINGS):
        trial = scores + size[:, None] * step
        value = predict(design, trial, problems)
        found, *_ = _objective(design, value, mask, problems, trial)
        worse = found < objective - 1e-9
        if not worse.any():
            break
        size = np.where(worse, size / 2.0, size)
    return trial


def _objective(
    design: Design, value: Floats, mask: NDArray[np.bool_], problems: Problems, scores: Floats
) -> tuple[Floats, Floats, Floats]:
    """Log density of data and scores, the scores' normalising constant left out."""
    rows, shares, errors = row_log_density(design, value, mask, problems.residual)
    return rows.sum(axis=1) - 0.5 * (scores**2).sum(axis=1), shares, errors


def _linearise(
    design: Design, layout: Layout, scores: Floats, problems: Problems
) -> tuple[Floats, Floats]:
    """Log seconds and their slopes by local scores, shapes (B, C) and (B, C, P).

    A perturbation moves every system at once, since a column depends on its own system alone.
    """
    logit = logits(design, layout, scores, problems)
    _, _, shared, _, own = layout.parts(scores)
    value = design.log_step(logit, own, shared)
    slopes = np.empty((*value.shape, 1 + layout.own + layout.shared))
    slopes[..., 0] = (design.log_step(logit + STEP, own, shared) - value) / STEP
    for v in range(layout.own):
        moved = own.copy()
        moved[..., v] += STEP
        slopes[..., 1 + v] = (design.log_step(logit, moved, shared) - value) / STEP
    for g in range(layout.shared):
        moved = shared.copy()
        moved[..., g] += STEP
        slopes[..., 1 + layout.own + g] = (design.log_step(logit, own, moved) - value) / STEP
    return value, slopes


def _normal_equations(
    design: Design,
    problems: Problems,
    *,
    maps: Sequence[Floats],
    slopes: Floats,
    shares: Floats,
    errors: Floats,
    observed: bool,
) -> tuple[Floats, Floats]:
    """Gradient of the data's log density and precision of the scores.

    The complete-data precision treats the shares as known; the observed one takes off the
    information that is missing because they are not, except where that would leave less than a
    score's prior nearly has: there the mixture bends and the complete-data one stands in.
    """
    residual = problems.residual[:, None] * design.tail
    size = maps[0].shape[-1]
    gradient = np.zeros((len(problems), size))
    precision = np.broadcast_to(np.eye(size), (len(problems), size, size)).copy()
    complete = precision.copy()
    ends = np.searchsorted(design.system_of, np.arange(len(maps) + 1))
    for system, local in enumerate(maps):
        columns = slice(ends[system], ends[system + 1])
        slope = slopes[:, columns] / residual[:, columns, None]
        pull = slope * errors[:, columns, None]
        share = shares[:, columns, None]
        weighted = slope * share
        information = weighted.transpose(0, 2, 1) @ slope
        force = (pull * share).sum(axis=1)
        if observed:
            rows = design.row_of[columns]
            starts = np.flatnonzero(np.r_[True, np.diff(rows) > 0])
            mean = np.add.reduceat(pull * share, starts, axis=1)
            known = information
            information = information - (pull * share).transpose(0, 2, 1) @ pull
            information = information + mean.transpose(0, 2, 1) @ mean
        gradient += (force[:, None, :] @ local)[:, 0]
        precision += local.transpose(0, 2, 1) @ information @ local
        if observed:
            complete += local.transpose(0, 2, 1) @ known @ local
    if observed:
        bent = np.linalg.eigvalsh(precision)[:, 0] < SMALLEST_PRECISION
        precision[bent] = complete[bent]
    return gradient, precision
