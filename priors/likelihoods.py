"""The likelihoods that a list of observations needs."""

from model.scenario import Scenario
from priors.catalogue import Catalogue
from priors.duration_likelihoods import (
    SLOW_RATIOS,
    SLOW_SHARES,
    SPREADS,
    DurationsLikelihood,
    HeavyDurationsLikelihood,
    LostWorkLikelihood,
)
from priors.interruption_likelihoods import (
    DISPERSION,
    GPU_RATIO,
    RATIO,
    SHAPE,
    InterruptionsLikelihood,
    UptimesLikelihood,
)
from priors.likelihood import Likelihood
from priors.observations import Durations, Evidence, Interruptions, StepTimes, Uptimes
from priors.population import Population, plan_population
from priors.recovery_likelihoods import EttrLikelihood
from priors.step_likelihoods import (
    REGIME_SPREAD,
    LinkEfficiencyLikelihood,
    StepTimesLikelihood,
    ThroughputLikelihood,
)

KINDS: tuple[type[Likelihood], ...] = (
    ThroughputLikelihood,
    InterruptionsLikelihood,
    UptimesLikelihood,
    DurationsLikelihood,
    HeavyDurationsLikelihood,
    EttrLikelihood,
    LinkEfficiencyLikelihood,
    StepTimesLikelihood,
    LostWorkLikelihood,
)


def likelihoods_of(evidence: Evidence, population: Population) -> list[Likelihood]:
    """The likelihoods that some observation needs."""
    found = [kind.of(evidence, population) for kind in KINDS]
    return [likelihood for likelihood in found if likelihood is not None]


def population_of(catalogue: Catalogue, evidence: Evidence, scenario: Scenario) -> Population:
    """The quantities that evidence and a target's stack and fleet need."""
    return plan_population(
        catalogue,
        evidence,
        stack=scenario.stack,
        fleet=scenario.fleet,
        auxiliary=auxiliary_of(evidence),
    )


def auxiliary_of(evidence: Evidence) -> tuple[str, ...]:
    """Auxiliary quantities that the evidence needs, in a fixed order."""
    counts, timed = evidence.of_kind(Interruptions), evidence.of_kind(Uptimes)
    defined = {item.counts for item in counts} | {item.counts for item in timed}
    durations = evidence.of_kind(Durations)
    measured = {item.quantity for item in durations}
    heavy = {item.quantity for item in durations if item.tails == "heavy"}
    needed = {
        DISPERSION: any(item.events is not None for item in counts),
        RATIO: "node_hardware_failure" in defined,
        GPU_RATIO: "gpu_error" in defined,
        SHAPE: bool(timed),
        **{name: quantity in measured for quantity, name in SPREADS.items()},
        **{name: quantity in heavy for quantity, name in SLOW_SHARES.items()},
        **{name: quantity in heavy for quantity, name in SLOW_RATIOS.items()},
        REGIME_SPREAD: any(item.regimes for item in evidence.of_kind(StepTimes)),
    }
    return tuple(name for name, wanted in needed.items() if wanted)
