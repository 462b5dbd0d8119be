"""Simulation-based calibration: the rank of a known parameter in its posterior is uniform.

Draw parameters from the prior and data from the parameters, sample the posterior given the data,
and count how many of its draws lie below the parameter. Over many repetitions that rank is uniform
if and only if prior, likelihood and sampler belong together (Talts et al. 2018).
"""

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from priors.population import draw_values, values_of_trace
from priors.sampling import TARGET_ACCEPT

DRAWS, THIN = 630, 10
RANKS = DRAWS // THIN + 1
"""64 possible ranks, 0 … 63."""

BINS = 8


def calibrate(compiled, population, likelihoods, *, repetitions, seed, distort=None):
    """Ranks of every quantity, shape (repetitions, quantities).

    ``distort`` changes the parameters that the data are simulated from, but not those that are
    ranked: what the posterior then describes is not what made the data.
    """
    import nutpie

    truths = draw_values(population, repetitions, seed)
    source = truths if distort is None else distort(truths.copy())
    rng = np.random.default_rng(seed)
    data: dict[str, NDArray[np.generic]] = {}
    for likelihood in likelihoods:
        data |= likelihood.simulate(source, rng)
    ranks = np.empty(truths.shape, dtype=int)
    for row, truth in enumerate(truths):
        trace = nutpie.sample(
            compiled.with_data(**{f"{name}_data": values[row] for name, values in data.items()}),
            draws=DRAWS,
            tune=400,
            chains=1,
            cores=1,
            seed=seed + row,
            save_warmup=False,
            progress_bar=False,
            target_accept=TARGET_ACCEPT,
        )
        variables = {
            str(name): np.asarray(trace.posterior[name])[0] for name in trace.posterior.data_vars
        }
        kept = values_of_trace(population, variables)[::THIN]
        ranks[row] = (kept < truth).sum(axis=0)
    return ranks


def smallest_pvalue(ranks):
    """Bonferroni-adjusted p-value of the least uniform quantity, by chi-square over the bins."""
    pvalues = [
        stats.chisquare(np.bincount(column * BINS // RANKS, minlength=BINS)).pvalue
        for column in ranks.T
    ]
    return min(pvalues) * len(pvalues)
