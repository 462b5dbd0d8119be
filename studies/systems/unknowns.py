"""What nobody publishes about a system: continuous unknowns with their priors.

Every unknown is a standard normal score z; its value is the prior's quantile at Φ(z). Scores of
kernel efficiency are different: they add up on the logit scale over population, type of accelerator
and system (see :mod:`studies.systems.hierarchy`).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from model.parameters import BY_PATH
from priors.catalogue import Catalogue
from priors.distributions import Prior, Range
from priors.elicitation import read_prior

type Floats = NDArray[np.float64]

KERNEL = "kernel.kernel_efficiency"

FROM_CATALOGUE = (
    "topology.net_efficiency",
    "parallelism.overlap_dp",
    "parallelism.overlap_tp",
    "parallelism.overlap_pp",
    "parallelism.overlap_cp",
    "reliability.straggler_cv",
)
"""Unknown at every system; their priors are those that the ranking uses."""

TAIL = 1e-9
"""Quantiles are never asked for nearer than this to 0 and 1: beyond, some are infinite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """A continuous unknown.

    Parameters
    ----------
    path
        Dotted path of the scenario's field.
    prior
        Its prior.
    shared
        Whether every system has the same value, as with a constant of a formula.
    """

    path: str
    prior: Prior
    shared: bool = False

    def value(self, score: Floats) -> Floats:
        """Value at a standard normal score."""
        return self.prior.quantile(np.clip(special.ndtr(score), TAIL, 1.0 - TAIL))


def own_unknowns(catalogue: Catalogue, open_paths: frozenset[str]) -> tuple[Unknown, ...]:
    """Unknowns of each system: those of the catalogue, and what some rows leave open.

    Parameters
    ----------
    catalogue
        The priors of the ranking.
    open_paths
        Fields that at least one row leaves to a prior.
    """
    found = [
        Unknown(path=path, prior=catalogue.entries[path].elsewhere)
        for path in FROM_CATALOGUE
        if path in catalogue.entries
    ]
    return (*found, *(unknown for unknown in _OPEN if unknown.path in open_paths))


def shared_unknowns(paths: frozenset[str]) -> tuple[Unknown, ...]:
    """Constants of formulas that some form reads, the same at every system."""
    return tuple(unknown for unknown in _SHARED if unknown.path in paths)


def _unknown(path: str, family: Mapping[str, object], *, shared: bool = False) -> Unknown:
    prior = read_prior(family, path=path, allowed=Range.of(BY_PATH[path]), source="studies.systems")
    return Unknown(path=path, prior=prior, shared=shared)


_OPEN = (
    _unknown(
        "accelerator.nic_bw_gbps",
        {"interval": {"low": 50.0, "high": 400.0, "mass": 0.9, "family": "lognormal"}},
    ),
    _unknown("topology.oversubscription", {"uniform": {"low": 1.0, "high": 8.0}}),
)
"""Fields that a row may leave open: the range of the published systems."""

_SHARED: tuple[Unknown, ...] = ()
