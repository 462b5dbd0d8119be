"""Hypotheses beyond the published model: when they count, and what the data make of them.

A field of the catalogue's ``hypotheses`` is uncertain only where observations of the scenario's own
fleet can tell of it: interruptions of jobs of different size of the rate per job, counts of several
periods of the dispersion of rates. Elsewhere the scenario's value holds.
"""

from dataclasses import replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from model.recovery import node_failure_rate_per_s
from model.scenario import Scenario, substitute
from priors.catalogue import Catalogue
from priors.observations import Evidence, Interruptions, Uptimes
from priors.population import Population
from priors.touched import JOB_RATE, NODE_RATE, RATE_DISPERSION, hypotheses_of

type Floats = NDArray[np.float64]

DAY_S = 86400.0

DIFFERENT_SIZE = 2.0
"""Jobs of sizes closer than this do not tell a rate per job from a rate per node."""

NIL_SHARE = 0.05
"""A rate per job that makes less than this share of a job's interruptions is as good as none."""

NIL_VARIATION = 0.1
"""Rates whose coefficient of variation is below this are as good as steady."""

LEANING, DECIDED = 3.0, 10.0
"""Ratios of posterior to prior odds from which data lean to one side, and decide."""

BEYOND = 1000


def with_hypotheses(catalogue: Catalogue, evidence: Evidence, *, fleet: str) -> Catalogue:
    """The catalogue with those hypotheses among its entries that the evidence can tell of.

    Parameters
    ----------
    catalogue
        Its entries stay as they are.
    evidence
        Observations.
    fleet
        The target's: others' observations alone call for nothing.
    """
    own = [item for item in evidence.observations if getattr(item, "fleet", None) == fleet]
    told = {path for item in own for path in hypotheses_of(item)}
    sizes = [
        item.nodes_per_job or 0.0
        for item in own
        if isinstance(item, Interruptions | Uptimes) and JOB_RATE in hypotheses_of(item)
    ]
    if sizes and max(sizes) < DIFFERENT_SIZE * min(sizes):
        told.remove(JOB_RATE)
    chosen = {
        path: entry
        for path, entry in catalogue.hypotheses.items()
        if path in told and path not in catalogue.entries
    }
    if not chosen:
        return catalogue
    return replace(catalogue, entries=MappingProxyType({**catalogue.entries, **chosen}))


def verdicts(
    population: Population, scenario: Scenario, prior: Floats, posterior: Floats
) -> tuple[str, ...]:
    """What the data make of each hypothesis, one sentence each.

    The odds that a hypothesis is as good as absent, posterior over prior, say what the data add.

    Parameters
    ----------
    population, scenario
        The target.
    prior, posterior
        Values of all quantities, shape (draws, quantities) each.
    """
    place = {name: position for position, name in enumerate(population.names)}
    entries = population.catalogue.entries
    sentences = []
    for path, describe in ((JOB_RATE, _of_job_rate), (RATE_DISPERSION, _of_dispersion)):
        if path not in entries or entries[path].prior.is_fixed:
            continue
        before, after = (
            describe(
                values[:, place[path]],
                values[:, place[NODE_RATE]] if NODE_RATE in place else None,
                scenario,
            )
            for values in (prior, posterior)
        )
        sentences.append(f"{after[1]}; {_verdict(before[0], after[0], before[2])}")
    return tuple(sentences)


def _of_job_rate(
    per_job: Floats, per_node: Floats | None, scenario: Scenario
) -> tuple[NDArray[np.bool_], str, str]:
    """Whether the rate is as good as none, its figures, and what none means, in words."""
    if per_node is not None:
        scenario = substitute(scenario, {NODE_RATE: per_node})
    of_nodes = np.asarray(node_failure_rate_per_s(scenario)) * DAY_S
    share = per_job / (per_job + of_nodes)
    low, middle, high = np.quantile(per_job, (0.05, 0.5, 0.95))
    text = (
        f"interruptions per job: {middle:.2g} a day ({low:.2g} to {high:.2g} with 90%) beside "
        f"{np.median(of_nodes):.2g} of its nodes, {np.median(share):.1%} of all"
    )
    return share < NIL_SHARE, text, f"less than {NIL_SHARE:.0%} of all"


def _of_dispersion(
    dispersion: Floats, _: Floats | None, __: Scenario
) -> tuple[NDArray[np.bool_], str, str]:
    variation = np.sqrt(dispersion)
    low, middle, high = np.quantile(variation, (0.05, 0.5, 0.95))
    text = (
        f"failure rates vary by {middle:.0%} from period to period ({low:.0%} to {high:.0%} with "
        "90%)"
    )
    return variation < NIL_VARIATION, text, f"less than {NIL_VARIATION:.0%}"


def _verdict(before: NDArray[np.bool_], after: NDArray[np.bool_], nil: str) -> str:
    """How far the data move the odds of a hypothesis being as good as absent."""
    # Half a draw on each side: where no draw lies there, the odds are a bound.
    odds = [(flags.sum() + 0.5) / ((~flags).sum() + 0.5) for flags in (before, after)]
    ratio = odds[1] / odds[0]
    said = f"{nil} has the probability {after.mean():.0%} (prior {before.mean():.0%})"
    if ratio >= DECIDED:
        end = "the data reject it"
    elif ratio >= LEANING:
        end = "the data lean against it"
    elif ratio > 1.0 / LEANING:
        end = "the data cannot tell"
    elif ratio > 1.0 / DECIDED:
        end = "the data lean to it"
    else:
        end = "the data call for it"
    return f"{said}, odds {_times(ratio)} the prior's: {end}"


def _times(ratio: float) -> str:
    """A ratio of odds in words; beyond a thousand the number of draws speaks."""
    if ratio >= 1.0:
        return f"{ratio:.2g} times" if ratio < BEYOND else f"over {BEYOND:,} times"
    return f"1/{1.0 / ratio:.2g} of" if 1.0 / ratio < BEYOND else f"under 1/{BEYOND:,} of"
