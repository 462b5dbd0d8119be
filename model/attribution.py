"""What each part of a bundle contributes: Shapley values over all subsets, additivity error.

Shapes: n draws; m members; subsets are numbered by bitmask, member i being bit i, so that column 0
is the empty subset and column 2^m − 1 the bundle.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import factorial

import numpy as np

from model.errors import InputError
from model.interventions import Intervention, apply, bundle
from model.ledger import productive_accelerators
from model.scenario import Scenario
from model.substitution import ROUNDING, Solver, substitute_options

MAX_MEMBERS = 12
"""4,096 subsets; beyond, the sum over all subsets is no longer the way."""

PUBLISHED_CAP = 1e9
"""What the published study puts in place of a substitution value that cannot be attained."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """Value of a bundle, shared out among its members.

    Parameters
    ----------
    members
        Names, in the order of the bundle.
    values
        Value of each subset; (n, 2^m), 0 for the empty one.
    shapley
        Contribution of each member; (n, m). Adds up to the value of the bundle; NaN where a
        subset has no finite value.
    capped
        Whether the cap stands in for a subset's value; (n,).
    """

    members: tuple[str, ...]
    values: np.ndarray
    shapley: np.ndarray
    capped: np.ndarray

    @property
    def bundle(self) -> np.ndarray:
        """Value of all members together; (n,)."""
        return np.asarray(self.values[:, -1])

    @property
    def parts(self) -> np.ndarray:
        """Value of each member alone; (n, m)."""
        return np.asarray(self.values[:, [1 << i for i in range(len(self.members))]])

    @property
    def sum_of_parts(self) -> np.ndarray:
        """Sum of the members alone; (n,)."""
        return np.asarray(self.parts.sum(axis=1))

    @property
    def additivity_error(self) -> np.ndarray:
        """(Sum of the parts − bundle)/bundle; (n,).

        Positive: the parts substitute for one another, and adding them up promises too much.
        Negative: they complement one another. NaN where the bundle has no finite, nonzero value.
        """
        defined = np.isfinite(self.bundle) & (self.bundle != 0)
        bundle_value = np.where(defined, self.bundle, np.nan)
        with np.errstate(invalid="ignore"):
            return np.asarray((self.sum_of_parts - bundle_value) / bundle_value)


def shapley(values: np.ndarray) -> np.ndarray:
    """Shapley value of each member: its mean marginal contribution over all orders.

    φ_i = Σ_{S ∌ i} |S|!(m − |S| − 1)!/m! · (v(S ∪ i) − v(S)).

    Parameters
    ----------
    values
        Value of each subset by bitmask; (n, 2^m).

    Returns
    -------
    np.ndarray
        Shape (n, m); NaN for rows with a value that is not finite.

    Raises
    ------
    InputError
        If the number of columns is no power of two.

    References
    ----------
    Shapley 1953, A value for n-person games.
    """
    count = values.shape[1]
    members = count.bit_length() - 1
    if count != 1 << members:
        raise InputError.single(
            message=f"got {count} subsets, a power of two is needed", source="Shapley values"
        )
    subsets = np.arange(count)
    sizes = np.bitwise_count(subsets)
    weights = np.array(
        [factorial(s) * factorial(members - s - 1) / factorial(members) for s in range(members)]
    )
    finite = np.where(np.isfinite(values).all(axis=1, keepdims=True), values, np.nan)
    columns = []
    for member in range(members):
        without = subsets[(subsets >> member & 1) == 0]
        gain = finite[:, without | 1 << member] - finite[:, without]
        columns.append((gain * weights[sizes[without]]).sum(axis=1))
    return np.stack(columns, axis=1)


def attribute_gain(scenario: Scenario, members: Sequence[Intervention]) -> Attribution:
    """Shares of a bundle's gain in productive accelerators: always finite, losses negative.

    Parameters
    ----------
    scenario
        Baseline, with real fields as scalars or (n, 1).
    members
        The bundle's interventions.
    """
    baseline, treated = _throughput(scenario, members)
    return _attribution(members, treated - baseline, np.zeros(baseline.shape[0], dtype=bool))


def attribute_sea(
    scenario: Scenario, members: Sequence[Intervention], *, solver: Solver = "exact"
) -> Attribution:
    """Shares of a bundle's SEA.

    Under ``published`` an unattainable value counts as 1e9 accelerators, as in the study: its
    shares are then arbitrary, and flagged as capped. Under ``exact`` they are undefined.

    Parameters
    ----------
    scenario
        Baseline, with real fields as scalars or (n, 1), its plan one for all draws.
    members
        The bundle's interventions.
    solver
        How SEA is searched.
    """
    baseline, treated = _throughput(scenario, members)
    sea = substitute_options(scenario, baseline, treated, solver=solver).sea
    unattainable = np.isinf(sea)
    if solver == "published":
        sea = np.where(unattainable, PUBLISHED_CAP, sea)
        return _attribution(members, sea, unattainable.any(axis=1))
    return _attribution(members, sea, np.zeros(sea.shape[0], dtype=bool))


def _attribution(
    members: Sequence[Intervention], values: np.ndarray, capped: np.ndarray
) -> Attribution:
    return Attribution(
        members=tuple(member.name for member in members),
        values=values,
        shapley=shapley(values),
        capped=capped,
    )


def _throughput(
    scenario: Scenario, members: Sequence[Intervention]
) -> tuple[np.ndarray, np.ndarray]:
    """Π of the baseline, (n, 1), and with each subset, (n, 2^m); rounding differences vanish."""
    if not 0 < len(members) <= MAX_MEMBERS:
        raise InputError.single(
            message=f"got a bundle of {len(members)}, allowed are 1 to {MAX_MEMBERS} members",
            source="attribution",
        )
    columns = []
    for mask in range(1 << len(members)):
        chosen = [member for i, member in enumerate(members) if mask >> i & 1]
        if chosen:
            name = "+".join(member.name for member in chosen)
            case = apply(scenario, bundle(name, chosen, source="attribution"))
        else:
            case = scenario
        columns.append(np.reshape(productive_accelerators(case), -1))
    rows = max(column.size for column in columns)
    treated = np.stack([np.broadcast_to(column, (rows,)) for column in columns], axis=1)
    baseline = treated[:, :1]
    negligible = np.abs(treated - baseline) <= ROUNDING * baseline
    return baseline, np.where(negligible, baseline, treated)
