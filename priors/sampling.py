"""Sampling the posterior with NUTS.

Shapes: chains are (chain, draw, quantities).
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.errors import InputError
from model.numerics import Value
from priors.duration_likelihoods import SLOW_SHARES
from priors.likelihood import Likelihood
from priors.population import DEVIATIONS, Population, declare, values_of_trace
from priors.touched import JOB_RATE, RATE_DISPERSION

type Floats = NDArray[np.float64]

CHAINS = 4
THIN = 2
"""At least this many draws of a chain for each one kept."""

WARM_UP = 1000
MIN_CHAIN_DRAWS = 1000
"""Chains are never shorter: the diagnostics need them."""

TARGET_ACCEPT = 0.95
"""The deviations of well measured fleets are stiff; at 0.9 some seeds diverge once or twice."""

CAREFUL_ACCEPT = 0.99
"""Rates per job and per node trade off along a curve that ends where one is none, and the share of
slow durations with how slow they are. Other posteriors get it where their chains diverge."""

CAREFUL_ADAPTATION = "low_rank"
"""Follows such curves in a third of the steps of an adaptation along the axes."""

STATISTICS = ("diverging", "depth", "n_steps", "step_size", "mean_tree_accept", "energy")
"""Statistics of the sampler that are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Chains of the posterior.

    Parameters
    ----------
    values
        Unthinned, shape (chain, draw, quantities).
    deviations
        Of systems, standard normal a priori, shape (chain, draw, deviations).
    statistics
        Of the sampler, by name, shape (chain, draw).
    """

    values: Floats
    deviations: Floats
    statistics: Mapping[str, NDArray[np.generic]]

    @property
    def divergences(self) -> int:
        """Divergent transitions after warm-up."""
        return int(self.statistics["diverging"].sum())


def compile_posterior(
    population: Population, likelihoods: Sequence[Likelihood], *, exchangeable: bool = False
) -> Any:
    """Assemble the one PyMC model and compile it.

    Parameters
    ----------
    population
        The quantities and their priors.
    likelihoods
        What was observed.
    exchangeable
        Whether the data can be replaced in the compiled model, named ``<variable>_data``.

    Raises
    ------
    InputError
        If compiled code cannot be stored.
    """
    try:
        return _compile(population, likelihoods, exchangeable=exchangeable)
    except (OSError, ValueError) as error:
        if isinstance(error, ValueError) and "compiledir" not in str(error):
            raise
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError.single(
            message=f"compiled code cannot be stored ({reason})",
            source="compile directory",
            remedy="set PYTENSOR_FLAGS=base_compiledir=DIR to a directory that can be written",
        ) from None


def _compile(
    population: Population, likelihoods: Sequence[Likelihood], *, exchangeable: bool
) -> Any:
    import pytensor

    # Fused arithmetic depends on whether code comes from the compile cache; draws must not.
    pytensor.config.numba__fastmath = False  # type: ignore[attr-defined]
    import nutpie
    import pymc as pm

    def observe(name: str, data: NDArray[np.generic]) -> Value:
        return pm.Data(f"{name}_data", data) if exchangeable else data

    with pm.Model() as model:
        values = declare(population)
        for likelihood in likelihoods:
            likelihood.add(values, observe)
    return nutpie.compile_pymc_model(model, backend="numba")


def sample(compiled: Any, population: Population, *, chain_draws: int, seed: int) -> Sample:
    """Run the chains; with smaller steps once more where some transition diverged.

    Parameters
    ----------
    compiled
        From :func:`compile_posterior`.
    population
        As given to it.
    chain_draws
        Draws of each chain after warm-up.
    seed
        Same seed, same draws, whatever the cores.

    Raises
    ------
    KeyboardInterrupt
        If interrupted; chains that are not finished are dropped.
    """
    settings = _adaptation(population)
    found = _run(compiled, population, chain_draws=chain_draws, seed=seed, settings=settings)
    if not found.divergences or settings["target_accept"] == CAREFUL_ACCEPT:
        return found
    settings = settings | {"target_accept": CAREFUL_ACCEPT}
    return _run(compiled, population, chain_draws=chain_draws, seed=seed, settings=settings)


def _run(
    compiled: Any,
    population: Population,
    *,
    chain_draws: int,
    seed: int,
    settings: Mapping[str, Any],
) -> Sample:
    import nutpie

    trace = nutpie.sample(
        compiled,
        draws=chain_draws,
        tune=WARM_UP,
        chains=CHAINS,
        cores=min(CHAINS, os.cpu_count() or 1),
        seed=seed,
        save_warmup=False,
        progress_bar=False,
        **settings,
    )
    chains = {str(name): np.asarray(trace.posterior[name]) for name in trace.posterior.data_vars}
    shape = next(iter(chains.values())).shape[:2]
    # An interrupted sampler returns what it has.
    if shape != (CHAINS, chain_draws):
        raise KeyboardInterrupt
    flat = {name: chain.reshape(-1, chain.shape[-1]) for name, chain in chains.items()}
    values = values_of_trace(population, flat)
    deviations = flat.get(DEVIATIONS, np.empty((len(values), 0)))
    return Sample(
        values=values.reshape(*shape, -1),
        deviations=deviations.reshape(*shape, -1),
        statistics={
            name: np.asarray(trace.sample_stats[name])
            for name in STATISTICS
            if name in trace.sample_stats
        },
    )


def _adaptation(population: Population) -> dict[str, Any]:
    """What the geometry of the posterior needs."""
    uncertain = population.catalogue.uncertain
    if JOB_RATE in uncertain or RATE_DISPERSION in uncertain:
        return {"target_accept": CAREFUL_ACCEPT, "adaptation": CAREFUL_ADAPTATION}
    if any(name in population.priors for name in SLOW_SHARES.values()):
        return {"target_accept": CAREFUL_ACCEPT}
    return {"target_accept": TARGET_ACCEPT}


def chain_draws_for(draws: int) -> int:
    """Draws of each chain that ``draws`` kept ones need."""
    return max(MIN_CHAIN_DRAWS, THIN * -(-draws // CHAINS))


def kept_positions(draws: int, chain_draws: int) -> NDArray[np.intp]:
    """Positions within each chain of the draws that are kept, evenly spread.

    Returns
    -------
    ndarray
        Shape (ceil(draws/chains),); where chains do not divide the draws, the later chains keep
        one less.
    """
    each = -(-draws // CHAINS)
    return np.arange(each, dtype=np.intp) * chain_draws // each


def keep(values: Floats, draws: int) -> tuple[Floats, NDArray[np.int64]]:
    """Exactly ``draws`` draws, chain after chain.

    Parameters
    ----------
    values
        Thinned chains, shape (chain, ceil(draws/chains), quantities).
    draws
        How many to keep.

    Returns
    -------
    tuple of ndarray
        Draws of shape (draws, quantities), and the chain of each.
    """
    full, rest = divmod(draws, CHAINS)
    counts = [full + (chain < rest) for chain in range(CHAINS)]
    kept = np.concatenate([values[chain, :count] for chain, count in enumerate(counts)])
    return kept, np.repeat(np.arange(CHAINS, dtype=np.int64), counts)
