"""Systems and the population they come from.

The target system, the one that is planned, has the catalogue's prior itself. A parameter with a
between-system scale ties other systems to it: on the scale T (logit for shares, log for positive
values)::

    m = T(target) - tau·z_target,   T(other) = m + tau·z_other,   z ~ N(0, 1),

that is, population plus deviation, non-centred. Without such a scale others are independent draws
of the same prior.

Shapes: every quantity has a place in one vector of values, (quantities,) as a graph and (draws,
quantities) as an array. Few large variables compile much faster than many small ones.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray
from scipy import special

from model.field import Field
from model.numerics import Value, exp, is_graph, log
from priors.catalogue import Catalogue, SharedBy
from priors.distributions import Prior
from priors.draws import uniforms
from priors.families import FAMILIES
from priors.observations import Evidence, Observation
from priors.touched import touched_paths

type Floats = NDArray[np.float64]

DEVIATIONS = "deviations"
"""Standard normal deviations from the population: of the target, then of the others."""

_EDGE = 1e-12
"""Priors put less than this beyond a field's range: the transform stays finite there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Population:
    """Which quantities there are, and how those of other systems are tied to the target's.

    Parameters
    ----------
    catalogue
        The priors.
    stack, fleet
        The target system.
    priors
        By name, every quantity with a prior of its own: the target's parameters by dotted path,
        auxiliary quantities, spreads as ``path@between``, untied systems as ``path@system``.
    tied
        By dotted path, the other systems that a population ties to the target.
    """

    catalogue: Catalogue
    stack: str
    fleet: str
    priors: Mapping[str, Prior]
    tied: Mapping[str, tuple[str, ...]]

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each element of the vector of values."""
        return (*self.priors, *self._pairs)

    @property
    def _pairs(self) -> tuple[str, ...]:
        return tuple(
            f"{path}@{system}" for path, systems in self.tied.items() for system in systems
        )

    def name_of(self, path: str, observation: Observation) -> str:
        """Name of a parameter's value at the system of an observation."""
        shared_by = self.catalogue.entries[path].shared_by
        system = getattr(observation, shared_by)
        return path if system == self._target(shared_by) else f"{path}@{system}"

    def _target(self, shared_by: SharedBy) -> str:
        return self.stack if shared_by == "stack" else self.fleet

    def places(self, names: Sequence[str]) -> NDArray[np.intp]:
        """Places of named quantities in the vector of values."""
        place = {name: position for position, name in enumerate(self.names)}
        return np.array([place[name] for name in names], dtype=np.intp)

    @property
    def deviations(self) -> int:
        """How many standard normal deviations there are."""
        return len(self.tied) + len(self._pairs) if self.tied else 0

    def values(self, own: Value, deviations: Value) -> Value:
        """The vector of values.

        Parameters
        ----------
        own
            Quantities with priors of their own, in the order of ``priors``.
        deviations
            Standard normal deviations; unused where nothing is tied.
        """
        parts = [own]
        # Shares first, then positive values: one transform each.
        for share in (True, False):
            paths = [path for path in self.tied if _is_share(self._field(path)) == share]
            if not paths:
                continue
            order = list(self.tied)
            counts = [len(self.tied[path]) for path in paths]
            of_pair = np.repeat(np.arange(len(paths)), counts)
            start = sum(len(self.tied[path]) for path in order[: order.index(paths[0])])
            z_others = np.arange(start, start + len(of_pair)) + len(order)
            z_target = np.array([order.index(path) for path in paths])[of_pair]
            at_target = self.places(paths)[of_pair]
            scale = self.places([f"{path}@between" for path in paths])[of_pair]
            lower = np.array([self._field(path).lower for path in paths])[of_pair]
            shift = own[..., scale] * (deviations[..., z_others] - deviations[..., z_target])
            location = transform(own[..., at_target], share=share, lower=lower)
            parts.append(inverse(location + shift, share=share, lower=lower))
        return _join(parts) if len(parts) > 1 else own

    def located(self, path: str, value: Value) -> Value:
        """A value of a parameter on the scale on which systems differ."""
        field = self._field(path)
        return transform(value, share=_is_share(field), lower=field.lower)

    def _field(self, path: str) -> Field:
        return self.catalogue.entries[path].field


def plan_population(
    catalogue: Catalogue, evidence: Evidence, *, stack: str, fleet: str, auxiliary: Sequence[str]
) -> Population:
    """Find which systems the evidence touches, parameter by parameter.

    Parameters
    ----------
    catalogue
        The priors.
    evidence
        The observations.
    stack, fleet
        The target system.
    auxiliary
        Auxiliary quantities that the evidence needs.
    """
    target = {"stack": stack, "fleet": fleet}
    others: dict[str, list[str]] = {}
    for observation in evidence.observations:
        for path in touched_paths(observation):
            if path not in catalogue.entries:
                continue
            shared_by = catalogue.entries[path].shared_by
            system = getattr(observation, shared_by, target[shared_by])
            found = others.setdefault(path, [])
            if system != target[shared_by] and system not in found:
                found.append(system)
    priors = {path: entry.prior for path, entry in catalogue.entries.items()}
    priors |= {name: catalogue.auxiliary[name] for name in auxiliary}
    tied = {}
    for path, systems in others.items():
        entry = catalogue.entries[path]
        if not systems:
            continue
        if entry.between_systems is not None and _has_location(catalogue, path):
            tied[path] = tuple(systems)
            priors[f"{path}@between"] = entry.between_systems
        else:
            priors |= {f"{path}@{system}": entry.elsewhere for system in systems}
    ordered = sorted(tied, key=lambda path: not _is_share(catalogue.entries[path].field))
    return Population(
        catalogue=catalogue,
        stack=stack,
        fleet=fleet,
        priors=MappingProxyType(priors),
        tied=MappingProxyType({path: tied[path] for path in ordered}),
    )


def transform(value: Value, *, share: bool, lower: Value = 0.0) -> Value:
    """The scale on which systems differ: logit for shares, else log above the lower bound."""
    if share:
        return log(_at_least(value, _EDGE)) - log(_at_least(1.0 - value, _EDGE))
    return log(_at_least(value - lower, np.finfo(float).tiny))


def inverse(value: Value, *, share: bool, lower: Value = 0.0) -> Value:
    """The value at a point of that scale."""
    if share:
        return 1.0 / (1.0 + exp(-value))
    return lower + exp(value)


def declare(population: Population) -> Value:
    """Declare the variables inside a PyMC model's context; the vector of values.

    Priors of one family are one vector variable, named by the family.
    """
    import pymc as pm

    priors = [prior.for_sampling() for prior in population.priors.values()]
    parts = []
    groups = families_of(priors)
    for label, positions in groups.items():
        family = FAMILIES[priors[positions[0]].family]
        columns = {
            parameter: np.array([priors[i].parameters[parameter] for i in positions])
            for parameter in family.parameters
        }
        parts.append(family.variable(pm, label, columns))
    order = np.argsort([i for positions in groups.values() for i in positions])
    own = _join(parts)[order] if len(parts) > 1 else parts[0]
    deviations = None
    if population.tied:
        deviations = pm.Normal(DEVIATIONS, shape=population.deviations)
    return population.values(own, deviations)


def values_of_trace(population: Population, trace: Mapping[str, Floats]) -> Floats:
    """The vector of values of sampled variables.

    Parameters
    ----------
    population
        As given to :func:`declare`.
    trace
        Sampled variables by name, shape (draws, k) each.

    Returns
    -------
    ndarray
        Shape (draws, quantities).
    """
    priors = [prior.for_sampling() for prior in population.priors.values()]
    draws = len(next(iter(trace.values())))
    own = np.empty((draws, len(priors)))
    for label, positions in families_of(priors).items():
        if priors[positions[0]].is_fixed:
            own[:, positions] = [priors[i].parameters["value"] for i in positions]
        else:
            own[:, positions] = trace[label]
    values: Floats = population.values(own, trace.get(DEVIATIONS))
    return values


def draw_values(population: Population, n: int, seed: int) -> Floats:
    """The vector of values drawn from the priors, shape (n, quantities).

    The target's parameters are those of :func:`priors.draws.prior_draws` with the same seed.
    """
    own = np.column_stack(
        [prior.quantile(uniforms(name, n, seed)) for name, prior in population.priors.items()]
    )
    deviations = None
    if population.tied:
        labels = [f"{path}@target" for path in population.tied]
        labels += [name for name in population.names if name not in population.priors]
        deviations = np.column_stack(
            [special.ndtri(uniforms(f"{DEVIATIONS} {label}", n, seed)) for label in labels]
        )
    values: Floats = population.values(own, deviations)
    return values


def families_of(priors: Sequence[Prior]) -> dict[str, list[int]]:
    """Positions of priors by family; truncated normals by which of their bounds are finite."""
    groups: dict[str, list[int]] = {}
    for position, prior in enumerate(priors):
        label = prior.family
        if label == "truncated_normal":
            finite = [np.isfinite(prior.parameters[bound]) for bound in ("low", "high")]
            label += "".join(" bounded" if bound else " open" for bound in finite)
        groups.setdefault(label, []).append(position)
    return groups


def _has_location(catalogue: Catalogue, path: str) -> bool:
    """Whether the target can be a point of the scale: a value known to be at its edge cannot."""
    entry = catalogue.entries[path]
    if not entry.prior.is_fixed:
        return True
    value, field = entry.prior.parameters["value"], entry.field
    return bool(value > field.lower and not (_is_share(field) and value >= field.upper))


def _is_share(field: Field) -> bool:
    return field.lower == 0.0 and field.upper == 1.0


def _at_least(value: Value, bound: float) -> Value:
    return _graph_or_array(value).maximum(value, bound)


def _join(parts: Sequence[Value]) -> Value:
    """Concatenate along the last axis."""
    return _graph_or_array(*parts).concatenate(parts, axis=-1)


def _graph_or_array(*values: Value) -> Value:
    """The module whose functions suit the values."""
    if is_graph(*values):
        import pytensor.tensor as pt

        return pt
    return np
