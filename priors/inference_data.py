"""The posterior as an ArviZ object: a tree with posterior, prior and predictive groups.

Shapes: variables of the posterior are (chain, draw), predictive ones (chain, draw, observation).
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from priors.likelihood import Likelihood
from priors.population import Population
from priors.sampling import Sample

if TYPE_CHECKING:
    import xarray as xr

type Floats = NDArray[np.float64]


def build_tree(
    *,
    population: Population,
    likelihoods: Sequence[Likelihood],
    posterior: Floats,
    prior: Floats,
    sampled: Sample | None,
    seed: int,
    attributes: Mapping[str, str | int | float],
) -> "xr.DataTree":
    """Assemble all groups.

    Parameters
    ----------
    population, likelihoods
        Names, observed data and their simulation.
    posterior, prior
        Kept draws, shape (chain, draw, quantities) each.
    sampled
        The unthinned chains, for the statistics of the sampler; None without sampling.
    seed
        Seed of the predictive draws.
    attributes
        Provenance.

    Returns
    -------
    xarray.DataTree
        Groups posterior, prior, posterior_predictive, prior_predictive, observed_data,
        sample_stats (unthinned).
    """
    import xarray as xr

    names = population.names
    streams = np.random.SeedSequence(seed).spawn(2)
    groups = {
        "posterior": _parameters(names, posterior),
        "prior": _parameters(names, prior),
    }
    for group, values, stream in zip(
        ("posterior_predictive", "prior_predictive"), (posterior, prior), streams, strict=True
    ):
        rng = np.random.default_rng(stream)
        groups[group] = _predictive(likelihoods, values, rng)
    observed, ids = {}, {}
    for likelihood in likelihoods:
        for name, data in likelihood.observed.items():
            observed[name] = ((_dimension(name),), data)
            ids[_dimension(name)] = list(likelihood.labels[name])
    groups["observed_data"] = xr.Dataset(observed, coords=ids)
    if sampled is not None:
        groups["sample_stats"] = xr.Dataset(
            {name: (("chain", "draw"), data) for name, data in sampled.statistics.items()}
        )
    tree: xr.DataTree = xr.DataTree.from_dict(
        {f"/{name}": dataset for name, dataset in groups.items()}
    )
    tree.attrs.update(attributes)
    return tree


def _parameters(names: Sequence[str], values: Floats) -> "xr.Dataset":
    import xarray as xr

    return xr.Dataset(
        {name: (("chain", "draw"), values[:, :, i]) for i, name in enumerate(names)},
        coords={"chain": np.arange(values.shape[0]), "draw": np.arange(values.shape[1])},
    )


def _predictive(
    likelihoods: Sequence[Likelihood], values: Floats, rng: np.random.Generator
) -> "xr.Dataset":
    import xarray as xr

    chains, draws, _ = values.shape
    flat = values.reshape(chains * draws, -1)
    variables, ids = {}, {}
    for likelihood in likelihoods:
        for name, data in likelihood.simulate(flat, rng).items():
            dims = ("chain", "draw", _dimension(name))
            variables[name] = (dims, data.reshape(chains, draws, -1))
            ids[_dimension(name)] = list(likelihood.labels[name])
    coords = {"chain": np.arange(chains), "draw": np.arange(draws), **ids}
    return xr.Dataset(variables, coords=coords)


def _dimension(name: str) -> str:
    return f"{name}_observation"
