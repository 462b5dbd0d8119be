"""Fleets simulated event by event, and the posterior of their parameters by weighting the prior.

Data come from NumPy alone: exponential gaps, gamma rates, correlated steps. The posterior is
that of the product's densities (which are PyMC's, see test_likelihoods): draws of the prior are
weighted by the likelihood of the data. The share of weight below the true value is uniform if and
only if density and simulation belong together (Talts et al. 2018).

Shapes: d draws of the prior, quantities.
"""

import numpy as np
from scipy import stats

from model.scenario import with_values
from model.scenario_file import read_scenario
from priors.evidence import observations_from_mapping
from priors.likelihoods import auxiliary_of, likelihoods_of
from priors.observations import Evidence
from priors.population import draw_values, plan_population

DRAWS = 8000
BINS = 10
FEWEST = 60
"""Effective draws below which a posterior is no posterior; such repetitions are counted."""

SCENARIO = with_values(
    read_scenario("llama3_405b_8k").scenario, {"stack": "mine", "fleet": "mine"}, source="test"
)


class Inference:
    """Weights of prior draws, for data sets of one layout."""

    def __init__(self, catalogue, layout, draws=DRAWS, seed=5):
        evidence = evidence_of(layout)
        self.population = plan_population(
            catalogue, evidence, stack="mine", fleet="mine", auxiliary=auxiliary_of(evidence)
        )
        self.draws = draw_values(self.population, draws, seed)
        self.place = {name: i for i, name in enumerate(self.population.names)}

    def truths(self, count, seed):
        """Parameters from the prior, by name, (count,) each."""
        values = draw_values(self.population, count, seed)
        return {name: values[:, i] for name, i in self.place.items()}

    def weights(self, observations):
        """Weights of the prior's draws."""
        density = np.zeros(len(self.draws))
        for likelihood in likelihoods_of(evidence_of(observations), self.population):
            for part in likelihood.log_likelihood(self.draws).values():
                density += part.sum(axis=1)
        weight = np.exp(density - density.max())
        return weight / weight.sum()

    def posterior(self, observations, name):
        """Median of a quantity, and the effective draws."""
        weight = self.weights(observations)
        values = self.draws[:, self.place[name]]
        order = np.argsort(values)
        middle = values[order][np.searchsorted(np.cumsum(weight[order]), 0.5)]
        return float(middle), 1.0 / float((weight**2).sum())

    def ranks(self, observations, truth):
        """Share of the posterior below the truth by quantity, and the effective draws."""
        weight = self.weights(observations)
        below = {
            name: float(weight[self.draws[:, i] < truth[name]].sum())
            for name, i in self.place.items()
            if name in truth
        }
        return below, 1.0 / float((weight**2).sum())


def evidence_of(observations):
    """Observations as they would stand in a document."""
    named = [
        {"id": f"one_{i}", "source": "simulated", **item} for i, item in enumerate(observations)
    ]
    items = observations_from_mapping({"observations": named}, source="simulated")
    return Evidence(sources=("simulated",), observations=tuple(items), texts={})


def calibrate(simulate, inference, truths, *, seed):
    """Ranks of every quantity over repetitions, and the share that had too few draws."""
    rng = np.random.default_rng(seed)
    count = len(next(iter(truths.values())))
    ranks, thin = [], 0
    for row in range(count):
        truth = {name: float(values[row]) for name, values in truths.items()}
        below, effective = inference.ranks(simulate(truth, rng), truth)
        thin += effective < FEWEST
        ranks.append(below)
    names = [name for name in inference.place if name in ranks[0]]
    return {name: np.array([row[name] for row in ranks]) for name in names}, thin / count


def pvalues(ranks):
    """Chi-square of each quantity's ranks over ten bins."""
    return {
        name: stats.chisquare(
            np.bincount(np.minimum((values * BINS).astype(int), BINS - 1), minlength=BINS)
        ).pvalue
        for name, values in ranks.items()
    }


def coverage(ranks, name, level=0.9):
    """How often the central interval of a level holds the truth."""
    tail = (1.0 - level) / 2.0
    return float(np.mean((ranks[name] > tail) & (ranks[name] < 1.0 - tail)))


def arrivals(rate, length, rng):
    """Count of a Poisson process, event by event."""
    count, time = 0, rng.exponential(1.0 / rate)
    while time < length:
        count += 1
        time += rng.exponential(1.0 / rate)
    return count
