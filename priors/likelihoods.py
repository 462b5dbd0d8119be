"""The likelihoods that a list of observations needs."""

from priors.likelihood import Likelihood
from priors.observations import Durations, Evidence, Interruptions
from priors.population import Population
from priors.recovery_likelihoods import (
    DISPERSION,
    RATIO,
    SPREADS,
    DurationsLikelihood,
    EttrLikelihood,
    InterruptionsLikelihood,
)
from priors.step_likelihoods import (
    LinkEfficiencyLikelihood,
    StepTimesLikelihood,
    ThroughputLikelihood,
)

KINDS: tuple[type[Likelihood], ...] = (
    ThroughputLikelihood,
    InterruptionsLikelihood,
    DurationsLikelihood,
    EttrLikelihood,
    LinkEfficiencyLikelihood,
    StepTimesLikelihood,
)


def likelihoods_of(evidence: Evidence, population: Population) -> list[Likelihood]:
    """The likelihoods that some observation needs."""
    found = [kind.of(evidence, population) for kind in KINDS]
    return [likelihood for likelihood in found if likelihood is not None]


def auxiliary_of(evidence: Evidence) -> tuple[str, ...]:
    """Auxiliary quantities that the evidence needs, in a fixed order."""
    counts = evidence.of_kind(Interruptions)
    needed = []
    if any(item.events is not None for item in counts):
        needed.append(DISPERSION)
    if any(item.counts == "node_hardware_failure" for item in counts):
        needed.append(RATIO)
    measured = {item.quantity for item in evidence.of_kind(Durations)}
    return (*needed, *(name for quantity, name in SPREADS.items() if quantity in measured))
