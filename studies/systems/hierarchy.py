"""The hierarchy of kernel efficiency: what is unknown, and how likely rows are.

For row i of system g, on accelerators of type a, with x the standard normal scores of everything
unknown::

    logit efficiency_g = location + scale·x_0 + between_accelerators·x_a + between_systems·x_g
    log seconds_i ~ sum over scenarios c of weight_c·N(log step_c(efficiency_g, z_g), residual)

where one row in ten has thrice the residual.

Shapes: B problems (values of the spreads and a set of active systems each), D scores.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from studies.systems.design import Design, Floats, Indices

LOCATION, LOCATION_SCALE = 0.3, 0.4
"""Logit of the kernel efficiency over all systems: 0.57, and 0.38 to 0.75 within two sd."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problems:
    """What is held fixed in each Laplace approximation.

    Parameters
    ----------
    accelerators_sd, systems_sd, residual
        Spreads, shape (B,).
    active
        Systems whose rows count, shape (B, S).
    """

    accelerators_sd: Floats
    systems_sd: Floats
    residual: Floats
    active: NDArray[np.bool_]

    def __len__(self) -> int:
        """How many."""
        return len(self.residual)

    def take(self, rows: Indices | NDArray[np.bool_] | slice) -> "Problems":
        """Some of the problems."""
        return Problems(
            accelerators_sd=self.accelerators_sd[rows],
            systems_sd=self.systems_sd[rows],
            residual=self.residual[rows],
            active=self.active[rows],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where each score stands: location, accelerators, shared constants, then each system's."""

    accelerators: int
    shared: int
    systems: int
    own: int

    @classmethod
    def of(cls, design: Design) -> "Layout":
        """The layout of a design's scores."""
        return cls(
            accelerators=len(design.accelerators),
            shared=len(design.shared),
            systems=len(design.systems),
            own=len(design.own),
        )

    @property
    def common(self) -> int:
        """Scores that all systems share."""
        return 1 + self.accelerators + self.shared

    @property
    def size(self) -> int:
        """All scores."""
        return self.common + self.systems * (1 + self.own)

    def parts(self, scores: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Location, accelerators, shared constants, systems (…, S) and their own (…, S, V)."""
        rest = scores[..., self.common :].reshape(*scores.shape[:-1], self.systems, 1 + self.own)
        return (
            scores[..., 0],
            scores[..., 1 : 1 + self.accelerators],
            scores[..., 1 + self.accelerators : self.common],
            rest[..., 0],
            rest[..., 1:],
        )

    def local(self, system: int, accelerator: int, problems: Problems) -> Floats:
        """Derivatives of a system's logit, own and shared scores by all scores, (B, P, D)."""
        result = np.zeros((len(problems), 1 + self.own + self.shared, self.size))
        start = self.common + system * (1 + self.own)
        result[:, 0, 0] = LOCATION_SCALE
        result[:, 0, 1 + accelerator] = problems.accelerators_sd
        result[:, 0, start] = problems.systems_sd
        own, shared = np.arange(self.own), np.arange(self.shared)
        result[:, 1 + own, start + 1 + own] = 1.0
        result[:, 1 + self.own + shared, 1 + self.accelerators + shared] = 1.0
        return result


def logits(design: Design, layout: Layout, scores: Floats, problems: Problems) -> Floats:
    """Logit of the kernel efficiency of each system, shape (B, S)."""
    location, accelerators, _, systems, _ = layout.parts(scores)
    types = problems.accelerators_sd[:, None] * accelerators[:, design.accelerator_of]
    common = LOCATION + LOCATION_SCALE * location[:, None]
    result: Floats = common + types + problems.systems_sd[:, None] * systems
    return result


def predict(design: Design, scores: Floats, problems: Problems) -> Floats:
    """Log seconds of every column, shape (B, C)."""
    layout = Layout.of(design)
    _, _, shared, _, own = layout.parts(scores)
    return design.log_step(logits(design, layout, scores, problems), own, shared)


def active_columns(design: Design, problems: Problems) -> NDArray[np.bool_]:
    """Columns that count in each problem, shape (B, C)."""
    result: NDArray[np.bool_] = problems.active[:, design.system_of]
    return result


def row_log_density(
    design: Design, value: Floats, mask: NDArray[np.bool_], residual: Floats
) -> tuple[Floats, Floats, Floats]:
    """Log density of each row, the share of each column in it, and errors in residual sd.

    Returns
    -------
    tuple of ndarray
        Shapes (B, rows), (B, C), (B, C). Rows without active columns have density 1.
    """
    errors = (design.log_seconds[design.row_of] - value) / (residual[:, None] * design.tail)
    terms = np.where(mask, design.log_weight - np.log(design.tail) - 0.5 * errors**2, -np.inf)
    starts = design.row_starts
    largest = np.maximum.reduceat(terms, starts, axis=1)
    present = np.isfinite(largest)
    shift = np.where(present, largest, 0.0)
    shares = np.exp(terms - shift[:, design.row_of])
    total = np.add.reduceat(shares, starts, axis=1)
    total = np.where(present, total, 1.0)
    shares /= total[:, design.row_of]
    constant = np.log(residual)[:, None] + 0.5 * np.log(2.0 * np.pi)
    return np.where(present, shift + np.log(total) - constant, 0.0), shares, errors
