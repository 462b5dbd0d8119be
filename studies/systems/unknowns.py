"""What nobody publishes about a system: continuous unknowns with their priors.

Every unknown is a standard normal score z; its value is the prior's quantile at Φ(z). Scores of
kernel efficiency are different: they add up on the logit scale over population, type of accelerator
and system (see :mod:`studies.systems.hierarchy`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from model.parameters import BY_PATH
from priors.catalogue import Catalogue
from priors.distributions import Range
from priors.elicitation import read_prior
from studies.systems.cases import NIC_RANGE_GBPS, Case
from studies.systems.devices import MEMORY_RANGE_TB_S

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

SCORES = np.linspace(-3.5, 3.5, 141)
"""Quantiles are tabulated here; nothing lies further out in practice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """A continuous unknown.

    Parameters
    ----------
    path
        Dotted path of the scenario's field.
    scores, values
        Standard normal scores, ascending, and the prior's quantiles there.
    shared
        Whether every system has the same value, as with a constant of a formula.
    """

    path: str
    scores: Floats
    values: Floats
    shared: bool = False

    def value(self, score: Floats) -> Floats:
        """Value at standard normal scores; beyond the table, its ends."""
        return np.interp(score, self.scores, self.values)


def own_unknowns(catalogue: Catalogue, cases: Sequence[Case]) -> tuple[Unknown, ...]:
    """Unknowns of each system that some case depends on.

    Their priors are those of the ranking's catalogue, but for the overlap of tensor-parallel and
    data-parallel traffic, and for what rows leave open.
    """
    open_ = frozenset[str]().union(*(case.open_paths for case in cases))
    plans = [case.scenario.parallelism for case in cases]
    without_effect = {
        "parallelism.overlap_tp": all(plan.tp == 1 for plan in plans),
        "parallelism.overlap_pp": all(plan.pp == 1 for plan in plans),
        "parallelism.overlap_cp": all(plan.cp == 1 for plan in plans),
    }
    found = [
        _WIDER.get(path)
        or Unknown(
            path=path,
            scores=SCORES,
            values=catalogue.entries[path].elsewhere.quantile(special.ndtr(SCORES)),
        )
        for path in FROM_CATALOGUE
        if path in catalogue.entries and not without_effect.get(path, False)
    ]
    return (*found, *(unknown for unknown in _OPEN if unknown.path in open_ | NEVER_STATED))


def shared_unknowns(paths: frozenset[str]) -> tuple[Unknown, ...]:
    """Constants of formulas that some form reads, the same at every system."""
    return tuple(unknown for unknown in _SHARED if unknown.path in paths)


def _unknown(path: str, family: Mapping[str, object], *, shared: bool = False) -> Unknown:
    prior = read_prior(family, path=path, allowed=Range.of(BY_PATH[path]), source="studies.systems")
    values = prior.quantile(special.ndtr(SCORES))
    return Unknown(path=path, scores=SCORES, values=values, shared=shared)


def _ninety_percent(ends: tuple[float, float]) -> Mapping[str, object]:
    low, high = ends
    return {"interval": {"low": low, "high": high, "mass": 0.9, "family": "lognormal"}}


NEVER_STATED = frozenset({"parallelism.grad_bytes"})
"""Fields that no row has a column for and the catalogue no prior."""

_OPEN = (
    _unknown("parallelism.grad_bytes", {"uniform": {"low": 2.0, "high": 4.0}}),
    _unknown(
        "accelerator.nic_bw_gbps",
        _ninety_percent(NIC_RANGE_GBPS),
    ),
    _unknown("topology.oversubscription", {"uniform": {"low": 1.0, "high": 8.0}}),
    _unknown(
        "accelerator.memory_bw_tb_s",
        _ninety_percent(MEMORY_RANGE_TB_S),
    ),
    _unknown("kernel.fused_attention", {"uniform": {"low": 0.0, "high": 1.0}}),
)
"""Fields that rows leave open: gradients are reduced in 16 or 32 bits, or parts in each; NICs and
oversubscription of published systems; memories of accelerators of no known type; attention with
scores in memory, on chip, or partly so."""

_WIDER = {
    "parallelism.overlap_tp": _unknown(
        "parallelism.overlap_tp", {"uniform": {"low": 0.0, "high": 0.8}}
    ),
    "parallelism.overlap_dp": _unknown(
        "parallelism.overlap_dp", {"uniform": {"low": 0.0, "high": 0.95}}
    ),
}
"""The ranking's priors are for a stack that is known to hide most of its gradients (0.60 to 0.95)
and little of its tensor-parallel traffic (0 to 0.35). Of published stacks the older reduce
gradients after the last backward pass and hide none; the newer hide most of both."""

_SHARED = (
    _unknown("kernel.half_hidden", {"lognormal": {"median": 1000.0, "sigma": 0.9}}, shared=True),
    _unknown("kernel.half_width", {"lognormal": {"median": 100.0, "sigma": 1.0}}, shared=True),
    _unknown("kernel.half_tokens", {"lognormal": {"median": 100.0, "sigma": 1.0}}, shared=True),
    _unknown("kernel.memory_efficiency", {"uniform": {"low": 0.4, "high": 1.0}}, shared=True),
    _unknown("reliability.persistent_share", {"uniform": {"low": 0.0, "high": 1.0}}, shared=True),
)
"""Constants of refinements: decades wide around half sizes of a few matrix tiles; a stream reaches
most of a memory's bandwidth, kernels of few tokens well below it."""
