"""What the experiments of the published study are made on."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from model.interventions import Intervention, Regime, read_interventions
from model.numerics import Value
from model.scaling import at_scale
from model.scenario import Scenario, with_values
from model.scenario_file import read_scenario

SEED = 20260805
"""Of the published draws; the timelines here start from it too."""

REFERENCE = "reference_405b_16k"
INTERVENTIONS = "published"
VALIDATION_TWINS = ("llama3_405b_8k", "llama3_405b_16k")

SCALE = 16_384
"""Accelerators of the reference case."""

OVERSUBSCRIPTION = "topology.oversubscription"
FAILURE_RATE = "reliability.failure_rate_per_node_day"


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyInputs:
    """Scenario, interventions and regimes of the study.

    Parameters
    ----------
    scenario
        The reference case.
    interventions
        In the order that breaks ties.
    regimes
        Shifts in operating space.
    digests
        SHA-256 of every document read, by name.
    """

    scenario: Scenario
    interventions: tuple[Intervention, ...]
    regimes: tuple[Regime, ...]
    digests: Mapping[str, str]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the interventions."""
        return tuple(intervention.name for intervention in self.interventions)

    def intervention(self, name: str) -> Intervention:
        """The intervention of a name."""
        return self.interventions[self.names.index(name)]

    @property
    def digest(self) -> str:
        """SHA-256 over the digests of the documents."""
        text = "".join(f"{name} {value}\n" for name, value in sorted(self.digests.items()))
        return hashlib.sha256(text.encode()).hexdigest()


def published_inputs() -> StudyInputs:
    """Read the shipped reference case, interventions and regimes."""
    reference = read_scenario(REFERENCE)
    interventions = read_interventions(INTERVENTIONS)
    digests = {REFERENCE: reference.sha256, INTERVENTIONS: interventions.sha256}
    digests |= {name: read_scenario(name).sha256 for name in VALIDATION_TWINS}
    return StudyInputs(
        scenario=reference.scenario,
        interventions=interventions.interventions,
        regimes=interventions.regimes,
        digests=digests,
    )


def at(scenario: Scenario, accelerators: int, values: Mapping[str, Value]) -> Scenario:
    """The scenario with fields changed, then re-planned to a scale.

    Parameters
    ----------
    scenario
        Where to start.
    accelerators
        Accelerators n; the pool is ceil(n·(1 + spare + stranded)).
    values
        New values by dotted path: scalars, or one a row, which become shape (n, 1).
    """
    columns = {
        path: np.reshape(value, (-1, 1)) if np.ndim(value) else value
        for path, value in values.items()
    }
    return at_scale(with_values(scenario, columns, source="study"), accelerators, source="study")


def crossed(**axes: tuple[float, ...]) -> dict[str, np.ndarray]:
    """Columns of all combinations of some axes, the last varying fastest."""
    grids = np.meshgrid(*(np.asarray(axis) for axis in axes.values()), indexing="ij")
    return {name: grid.ravel() for name, grid in zip(axes, grids, strict=True)}
