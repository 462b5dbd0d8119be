"""The model's predictions for measured configurations, as arrays and as graphs.

Several configurations are laid side by side and evaluated at once; those that differ in a text
field of the formulas form groups of their own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from model.forms import PERSISTENT_RANKS
from model.ledger import achieved_flops_per_accelerator
from model.numerics import Value, is_graph, sqrt, where
from model.recovery import recover
from model.scenario import Scenario, stack, substitute
from model.step import healthy_step
from priors.observations import Ettr, LostWork, StepTimes, Throughput
from priors.population import Population
from priors.touched import DURATION_PATHS, touched_paths

type Measured = Throughput | StepTimes | Ettr | LostWork

FAILURE_RATE = "reliability.failure_rate_per_node_day"


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """Where the value of one field comes from, configuration by configuration.

    Parameters
    ----------
    places
        Places in the vector of values, shape (configurations,), or (1,) where all are the same.
    known
        Whether the observation states the value itself, shape (configurations,).
    stated
        That value where it does.
    """

    places: NDArray[np.intp]
    known: NDArray[np.bool_]
    stated: NDArray[np.float64]

    def value(self, values: Value) -> Value:
        """Values of the field, the last axis being configurations."""
        found = values[..., self.places]
        return where(self.known, self.stated, found) if self.known.any() else found


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Configurations that one evaluation serves.

    Parameters
    ----------
    positions
        Places of the configurations in the order of the observations.
    scenario
        The configurations side by side.
    links
        Uncertain fields by dotted path.
    """

    positions: tuple[int, ...]
    scenario: Scenario
    links: Mapping[str, Link]

    def scenario_at(self, values: Value) -> Scenario:
        """The configurations with the values of their systems in place."""
        changes = {path: link.value(values) for path, link in self.links.items()}
        if is_graph(values) and not is_graph(changes.get(FAILURE_RATE)):
            import pytensor.tensor as pt

            # The renewal formulas tell graphs from arrays by the failure rate.
            rate = changes.get(FAILURE_RATE, self.scenario.value(FAILURE_RATE))
            changes[FAILURE_RATE] = pt.as_tensor_variable(np.asarray(rate, dtype=np.float64))
        return substitute(self.scenario, changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Configurations:
    """All configurations of one kind of observation."""

    groups: tuple[Group, ...]

    def step(self, values: Value) -> tuple[Value, Value]:
        """Seconds of the healthy step, and spread of its time from step to step.

        The spread is that of the maximum over Gaussian ranks, untaxed·cv·π/sqrt(12·ln(world)):
        the Gumbel scale is cv·untaxed/sqrt(2 ln world), its sd π/sqrt(6) times that. Of a jitter
        that stays with its rank in part, only the rest varies from step to step.

        Returns
        -------
        tuple of Value
            Shape (configurations,) or (draws, configurations) each.
        """
        totals, spreads = [], []
        for group in self.groups:
            scenario = group.scenario_at(values)
            step = healthy_step(scenario)
            untaxed = step.total_s - step.synchronisation_s
            totals.append(step.total_s)
            # A job of one rank waits for nobody; its spread is not asked for.
            ranks = np.maximum(scenario.world, 2)
            jitter = scenario.reliability.straggler_cv
            if PERSISTENT_RANKS in scenario.refinements:
                jitter = jitter * sqrt(1.0 - scenario.reliability.persistent_share)
            spreads.append(untaxed * jitter * (np.pi / sqrt(12.0 * np.log(ranks))))
        return self._in_order(totals), self._in_order(spreads)

    def flops_per_accelerator(self, values: Value) -> Value:
        """Model FLOP/s an accelerator achieves in a healthy step."""
        scenarios = [group.scenario_at(values) for group in self.groups]
        return self._in_order(
            [
                achieved_flops_per_accelerator(scenario, healthy_step(scenario))
                for scenario in scenarios
            ]
        )

    def ettr(self, values: Value) -> Value:
        """Effective training time ratio."""
        return self._in_order([recover(group.scenario_at(values)).ettr for group in self.groups])

    def lost_work(self, values: Value) -> tuple[Value, Value]:
        """Work lost by an interruption and time until its detection, expected seconds each."""
        lost, detection = [], []
        for group in self.groups:
            scenario = group.scenario_at(values)
            # What the model discards of a failure that is detected at once is work alone.
            recovery = recover(substitute(scenario, {DURATION_PATHS["detection"]: 0.0}))
            lost.append(recovery.discarded_s / recovery.failures)
            detection.append(scenario.reliability.detect_time_s)
        return self._in_order(lost), self._in_order(detection)

    def _in_order(self, parts: Sequence[Value]) -> Value:
        """Put results of the groups into the order of the observations."""
        sized = []
        for group, part in zip(self.groups, parts, strict=True):
            count = len(group.positions)
            ones = np.ones(count)
            sized.append(
                part if not is_graph(part) and np.shape(part)[-1:] == (count,) else part * ones
            )
        if len(sized) == 1:
            return sized[0]
        order = np.argsort([p for group in self.groups for p in group.positions])
        if is_graph(*sized):
            import pytensor.tensor as pt

            joined: Value = pt.concatenate(sized, axis=-1)  # type: ignore[no-untyped-call]
            return joined[..., order]
        lead = np.broadcast_shapes(*(part.shape[:-1] for part in sized))
        full = [np.broadcast_to(part, (*lead, part.shape[-1])) for part in sized]
        return np.concatenate(full, axis=-1)[..., order]


def lay_out(observations: Sequence[Measured], population: Population) -> Configurations:
    """Lay the configurations of observations side by side.

    Parameters
    ----------
    observations
        Observations that name a scenario.
    population
        Systems of every parameter.
    """
    groups: dict[tuple[str, bool, bool, bool], list[int]] = {}
    for position, item in enumerate(observations):
        scenario = item.setting.scenario
        automatic = scenario.reliability.checkpoint_interval_s is None
        plan = scenario.parallelism
        key = (plan.recompute, automatic, plan.sequence_parallel, scenario.model.vocab is None)
        groups.setdefault(key, []).append(position)
    return Configurations(
        groups=tuple(
            _group([observations[i] for i in positions], positions, population)
            for positions in groups.values()
        )
    )


def _group(
    observations: Sequence[Measured], positions: Sequence[int], population: Population
) -> Group:
    # The pool is written out, for scenarios that leave it open and scenarios that state it.
    scenarios = [
        replace(item.setting.scenario, n_pool=int(item.setting.scenario.pool))
        for item in observations
    ]
    touched = dict.fromkeys(path for item in observations for path in touched_paths(item))
    links = {}
    for path in touched:
        if path not in population.catalogue.entries:
            continue
        known = [path in item.setting.known for item in observations]
        names = [
            path if stated else population.name_of(path, item)
            for item, stated in zip(observations, known, strict=True)
        ]
        if len(set(names)) == 1:
            names = names[:1]
        links[path] = Link(
            places=population.places(names),
            known=np.array(known),
            stated=np.array([float(scenario.value(path) or 0.0) for scenario in scenarios]),
        )
    return Group(positions=tuple(positions), scenario=stack(scenarios, axis=0), links=links)
