"""What a planned study would show: one data set per draw, by the likelihood of its kind.

Shapes: n draws; statistics (n, s); quantities (n, q). A study's data are simulated by the very
likelihoods that condition the posterior, so that a study is worth what its evidence would teach.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from decision.forms import FORM
from decision.planned_studies import HOURS_PER_DAY, PlannedStudy
from model.errors import InputError
from model.scenario import Scenario, substitute
from priors.catalogue import Catalogue
from priors.draws import uniforms
from priors.likelihood import Likelihood
from priors.likelihoods import likelihoods_of, population_of
from priors.observations import (
    Durations,
    Evidence,
    Interruptions,
    LinkEfficiency,
    Observation,
    Setting,
    StepTimes,
)
from priors.population import Population
from priors.step_likelihoods import StepTimesLikelihood
from priors.touched import touched_paths


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The system that is measured, and what is believed about it.

    Parameters
    ----------
    scenario
        The scenario, re-planned and shifted as in the question.
    known
        Paths that a regime sets: measuring them teaches nothing.
    catalogue
        Priors, for quantities that draws have no column of.
    columns
        Draws by dotted path, (n,) each.
    seed
        Of the simulated data.
    forms
        Refinements by the value of column ``form``; empty where all draws have the scenario's.
    """

    scenario: Scenario
    known: frozenset[str]
    catalogue: Catalogue
    columns: Mapping[str, np.ndarray]
    seed: int
    forms: tuple[tuple[str, ...], ...] = ()

    @property
    def draws(self) -> int:
        """Number of draws."""
        return len(next(iter(self.columns.values())))

    def by_form(self, of: "Callable[[Target], np.ndarray]") -> np.ndarray:
        """What a function of the target gives for each draw in its form; (n, s)."""
        if not self.forms or FORM not in self.columns:
            return of(self)
        result: list[np.ndarray] = []
        for names in self.forms:
            scenario = substitute(self.scenario, {"refinements": names})
            result.append(of(replace(self, scenario=scenario, forms=())))
        refined = np.rint(self.columns[FORM]).astype(np.int64)
        return np.asarray(np.choose(refined[:, np.newaxis], result))


def simulate(study: PlannedStudy, size: int, target: Target) -> np.ndarray:
    """Summary statistics of one simulated data set per draw; (n, s).

    Counts and means are sufficient; of single durations, mean and spread of their logs are. Every
    size of a study uses the same random stream, so that sizes are compared, not luck.
    """
    return target.by_form(lambda one: _simulate(study, size, one))


def _simulate(study: PlannedStudy, size: int, target: Target) -> np.ndarray:
    likelihood, values, _ = _prepare(study, size, target)
    rng = np.random.default_rng([target.seed, *study.name.encode()])
    data = likelihood.simulate(values, rng)
    if study.measures == "durations":
        logs = np.log(data["durations"])
        columns = [logs.mean(axis=1)]
        if size > 1:
            columns.append(logs.std(axis=1))
        return np.column_stack(columns)
    return np.column_stack([np.asarray(one, dtype=np.float64)[:, 0] for one in data.values()])


def quantities(study: PlannedStudy, target: Target) -> np.ndarray:
    """What a study would know with endless data: its worth is bounded by theirs; (n, q)."""
    return target.by_form(lambda one: _quantities(study, one))


def _quantities(study: PlannedStudy, target: Target) -> np.ndarray:
    likelihood, values, population = _prepare(study, 1, target)
    if isinstance(likelihood, StepTimesLikelihood):
        shape = (target.draws, 1)
        parts = likelihood.configurations.step(values)
        return np.hstack([np.broadcast_to(part, shape) for part in parts])
    [observation] = _evidence(study, 1, target).observations
    return np.asarray(values[:, population.places(touched_paths(observation))])


def measured_paths(study: PlannedStudy, target: Target) -> tuple[str, ...]:
    """Parameters a study bears on that are uncertain."""
    [observation] = _evidence(study, 1, target).observations
    return tuple(
        path
        for path in touched_paths(observation)
        if path in target.columns and np.ptp(target.columns[path]) > 0
    )


def _prepare(
    study: PlannedStudy, size: int, target: Target
) -> tuple[Likelihood, np.ndarray, Population]:
    evidence = _evidence(study, size, target)
    population = population_of(target.catalogue, evidence, target.scenario)
    likelihoods = likelihoods_of(evidence, population)
    if not likelihoods:
        raise InputError.single(
            message=f"the study measures {study.measures}, and the priors hold no such parameter",
            source=f"study {study.name}",
            remedy="add the parameter to the catalogue of priors, or leave the study out",
        )
    values = np.column_stack([_column(name, target, population) for name in population.names])
    return likelihoods[0], values, population


def _column(name: str, target: Target, population: Population) -> np.ndarray:
    """A parameter's draws, the scenario's own value where it has none, else a prior's draws."""
    if name in target.columns:
        return np.asarray(target.columns[name], dtype=np.float64)
    if name in target.catalogue.entries:
        return np.full(target.draws, float(target.scenario.value(name)))
    prior = population.priors[name]
    return np.asarray(prior.quantile(uniforms(name, target.draws, target.seed)))


def _evidence(study: PlannedStudy, size: int, target: Target) -> Evidence:
    return Evidence(
        sources=(study.name,), observations=(_observation(study, size, target),), texts={}
    )


def _observation(study: PlannedStudy, size: int, target: Target) -> Observation:
    """The record that the study's data would fill; the data in it are placeholders."""
    stack, fleet = target.scenario.stack, target.scenario.fleet
    match study.measures:
        case "interruptions":
            return Interruptions(
                id=study.name,
                source="",
                fleet=fleet,
                counts=study.settings["counts"],  # type: ignore[arg-type]
                events=0,
                node_days=size * study.number("nodes") / HOURS_PER_DAY,
                rate_per_node_day=None,
                relative_error=None,
            )
        case "link_efficiency":
            return LinkEfficiency(
                id=study.name,
                source="",
                stack=stack,
                mean=0.0,
                sd=study.number("sd"),
                repeats=size,
                error_floor=study.number("error_floor"),
            )
        case "durations":
            return Durations(
                id=study.name,
                source="",
                fleet=fleet,
                quantity=study.settings["quantity"],  # type: ignore[arg-type]
                values_s=(1.0,) * size,
                quantiles_s=(),
                relative_error=None,
            )
    floor, noise = study.number("error_floor"), study.number("noise")
    return StepTimes(
        id=study.name,
        source="",
        stack=stack,
        fleet=fleet,
        setting=Setting(name=target.scenario.name, scenario=target.scenario, known=target.known),
        mean_s=1.0,
        sd_s=1.0,
        # A variance needs two steps.
        count=max(size, 2),
        averaging_interval=1.0,
        relative_error=(floor**2 + noise**2 / size) ** 0.5,
    )
