"""Whether a sample of the posterior can be relied on, and what it says.

Shapes: chains are (chain, draw, quantities).
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from priors.population import Population

type Floats = NDArray[np.float64]

QUANTILES = (0.1, 0.5, 0.9)
"""P10, P50, P90 of every summary."""


TAIL = (0.05, 0.95)
"""Quantiles whose effective sample sizes are that of the tails."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """What a good sample must reach.

    Parameters
    ----------
    rhat_max
        Largest rank-normalised split R-hat.
    ess_min
        Smallest effective sample size, bulk and tail.
    divergences_max
        Most divergent transitions.

    References
    ----------
    Vehtari et al. 2021, Rank-normalization, folding, and localization.
    """

    rhat_max: float = 1.01
    ess_min: float = 400.0
    divergences_max: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Diagnostics of one quantity."""

    name: str
    rhat: float
    ess_bulk: float
    ess_tail: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostics:
    """Diagnostics of a sample.

    Parameters
    ----------
    rows
        One a quantity that is not known; empty where draws are independent.
    divergences
        Divergent transitions after warm-up.
    chains, chain_draws
        Chains, and draws of each before thinning.
    reasons
        What fails a threshold, one sentence each.
    """

    rows: tuple[Row, ...]
    divergences: int
    chains: int
    chain_draws: int
    reasons: tuple[str, ...]

    @property
    def converged(self) -> bool:
        """Whether every threshold is met."""
        return not self.reasons

    @property
    def rhat_max(self) -> float:
        """Largest R-hat, 1 where draws are independent."""
        return max((row.rhat for row in self.rows), default=1.0)

    @property
    def ess_bulk_min(self) -> float:
        """Smallest effective sample size of the bulk, NaN where draws are independent."""
        return min((row.ess_bulk for row in self.rows), default=float("nan"))

    @property
    def ess_tail_min(self) -> float:
        """Smallest effective sample size of the tails, NaN where draws are independent."""
        return min((row.ess_tail for row in self.rows), default=float("nan"))

    def as_mapping(self) -> dict[str, object]:
        """Everything as plain data, for JSON."""
        return {**asdict(self), "converged": self.converged}


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRow:
    """Prior against posterior of one quantity: P10, P50, P90 each."""

    name: str
    prior: tuple[float, float, float]
    posterior: tuple[float, float, float]


def diagnose(
    chains: Floats, names: Sequence[str], *, divergences: int, thresholds: Thresholds
) -> Diagnostics:
    """Diagnostics of every quantity that varies.

    Parameters
    ----------
    chains
        Unthinned, shape (chain, draw, quantities).
    names
        Names of the quantities.
    divergences
        Divergent transitions after warm-up.
    thresholds
        What must be reached.
    """
    import arviz as az

    # A known value has neither R-hat nor ESS; a chain that is stuck has, and fails.
    varying = [i for i in range(len(names)) if np.ptp(chains[:, :, i]) > 0]
    sample = chains[:, :, varying]
    axes = {"chain_axis": 0, "draw_axis": 1}
    rhat = az.rhat(sample, **axes)
    bulk = az.ess(sample, method="bulk", **axes)
    tail = az.ess(sample, method="tail", prob=TAIL, **axes)
    rows = tuple(
        Row(
            name=names[i],
            rhat=float(rhat[k]),
            ess_bulk=float(bulk[k]),
            ess_tail=float(tail[k]),
        )
        for k, i in enumerate(varying)
    )
    return Diagnostics(
        rows=rows,
        divergences=divergences,
        chains=chains.shape[0],
        chain_draws=chains.shape[1],
        reasons=tuple(_reasons(rows, divergences, thresholds)),
    )


def _reasons(rows: Sequence[Row], divergences: int, thresholds: Thresholds) -> list[str]:
    reasons = []
    if divergences > thresholds.divergences_max:
        reasons.append(
            f"{divergences} divergent transitions, allowed are {thresholds.divergences_max}"
        )
    # Negated comparisons: NaN fails.
    for row in rows:
        if not row.rhat <= thresholds.rhat_max:
            reasons.append(f"{row.name}: R-hat {row.rhat:.4f}, allowed is {thresholds.rhat_max:g}")
        for word, ess in (("bulk", row.ess_bulk), ("tail", row.ess_tail)):
            if not ess >= thresholds.ess_min:
                reasons.append(
                    f"{row.name}: {word} ESS {ess:.0f}, needed is {thresholds.ess_min:g}"
                )
    return reasons


def summarise(population: Population, prior: Floats, posterior: Floats) -> tuple[SummaryRow, ...]:
    """Prior against posterior of every quantity.

    Quantities with a prior of their own are compared with its exact quantiles, others with the
    prior draws.

    Parameters
    ----------
    population
        Names and priors.
    prior, posterior
        Draws, shape (draws, quantities) each.
    """
    rows = []
    for position, name in enumerate(population.names):
        own = population.priors.get(name)
        before = (
            np.quantile(prior[:, position], QUANTILES) if own is None else own.quantile(QUANTILES)
        )
        after = np.quantile(posterior[:, position], QUANTILES)
        rows.append(SummaryRow(name=name, prior=_three(before), posterior=_three(after)))
    return tuple(rows)


def _three(values: Floats) -> tuple[float, float, float]:
    first, second, third = (float(value) for value in values)
    return first, second, third
