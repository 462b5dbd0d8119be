"""Utilities of every option at any cost, in a form small enough to be carried in a page.

U_k(x), x accelerators added to the pool, is linear between the pools that some plan realises, so
that its values at those nodes are all of it. Over draws they hardly vary independently:

* of the P nodes of an option a few pivots determine the others, U_k(nodes) = U_k(pivots)·W_k, an
  interpolative decomposition found on some draws;
* the pivots of all options together are a mean plus R directions, of which each draw keeps its
  coordinates as whole numbers of a step.

Shapes: n draws, K options of which the first is "do nothing", P nodes, S pivots of all options, R
directions.

References
----------
Cheng, Gimbutas, Martinsson and Rokhlin 2005, "On the compression of low rank matrices", SIAM
Journal on Scientific Computing 26:1389.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from decision.outcomes import CHUNK, Question
from decision.utility import Pools
from model.errors import InputError
from model.numerics import Value
from model.scenario import Scenario

STEPS = (1e-6, 1e-5)
"""Productive accelerators that a coordinate is kept to: the first where there is room for it."""

ROOM_BYTES = 3_300_000
"""Of all coordinates: in base64, with all else that a page holds, below 5 MB."""

BITS_OF_A_NORMAL = 2.05
"""Entropy of a normal whole number beyond the logarithm of its standard deviation, in bits."""

LEARNT_ON = 300
"""Draws on which pivots are found."""

CHECKED_ON = 300
"""Other draws on which they are checked, at pools between the nodes too."""

BETWEEN = 64
"""Pools between the nodes that are checked."""

MOST_NODES = 2000
"""Nodes beyond which there are too many for a page."""

ENOUGH = 2e-7
"""Productive accelerators: pivots are added until the check is met this closely."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface:
    """Utilities against the accelerators added to the pool.

    Parameters
    ----------
    options
        Names, doing nothing first.
    planned
        N0, the pool as planned.
    nodes
        Accelerators added, ascending; (P,).
    weights
        W_k of each option; (pivots of k, P).
    mean, directions
        Of the pivots of all options; (S,) and (R, S).
    coordinates
        Of the draws, in steps; (n, R), whole numbers.
    step
        Productive accelerators of a step.
    error
        Largest difference found between this and the model, in productive accelerators.
    """

    options: tuple[str, ...]
    planned: float
    nodes: np.ndarray
    weights: tuple[np.ndarray, ...]
    mean: np.ndarray
    directions: np.ndarray
    coordinates: np.ndarray
    step: float
    error: float

    @property
    def starts(self) -> np.ndarray:
        """First pivot of each option, and their number; (K + 1,)."""
        return np.cumsum([0, *(len(weights) for weights in self.weights)])

    def pivots(self) -> np.ndarray:
        """Utilities at the pivots of all options; (n, S)."""
        return np.asarray(self.mean + (self.coordinates * self.step) @ self.directions)

    def value(self, option: int, added: np.ndarray, pivots: np.ndarray) -> np.ndarray:
        """U of an option on the draws at accelerators added; (n,) or (n, P).

        Parameters
        ----------
        option
            Its index.
        added
            The same for all draws, (P,), within the nodes.
        pivots
            As :meth:`pivots` gives them.
        """
        start, stop = self.starts[option : option + 2]
        return np.asarray(pivots[:, start:stop] @ chords(self.weights[option], self.nodes, added))


def chords(weights: np.ndarray, nodes: np.ndarray, added: np.ndarray) -> np.ndarray:
    """Weights of pivots at pools between the nodes; (pivots, P)."""
    low = np.clip(np.searchsorted(nodes, added, side="right") - 1, 0, nodes.size - 2)
    share = (added - nodes[low]) / (nodes[low + 1] - nodes[low])
    return np.asarray(weights[:, low] + share * (weights[:, low + 1] - weights[:, low]))


def fit(
    question: Question,
    columns: Mapping[str, np.ndarray],
    draws: int,
    *,
    low: float,
    high: float,
    room_bytes: float = ROOM_BYTES,
) -> Surface:
    """Utilities of every option between two numbers of accelerators added.

    Parameters
    ----------
    question, columns
        What is asked, of which draws.
    draws
        n.
    low, high
        Accelerators added, of which the pool as planned, 0, is one.
    room_bytes
        What all coordinates may take before they are kept less finely.

    Raises
    ------
    InputError
        If the pools that plans realise differ between draws, or are too many.
    """
    pools = Pools.of(question, columns, draws)
    nodes = nodes_of(pools, low, high)
    order = np.random.default_rng(draws).permutation(draws)
    learnt, checked = np.sort(order[:LEARNT_ON]), np.sort(order[-CHECKED_ON:])
    between = np.random.default_rng(draws + 1).uniform(low, high, BETWEEN)
    weights: list[np.ndarray] = []
    values: list[np.ndarray] = []
    worst = 0.0
    for option in range(len(question.options)):
        known = _values(pools, learnt, option, nodes)
        tested = _values(pools, checked, option, np.concatenate([nodes, between]))
        pivots, found, error = _pivots(known, tested, nodes, between)
        weights.append(found)
        values.append(_values(pools, np.arange(draws), option, nodes[pivots]))
        worst = max(worst, error)
    exact = np.concatenate(values, axis=1)
    mean = exact.mean(axis=0)
    directions = np.linalg.svd(exact - mean, full_matrices=False)[2]
    along = (exact - mean) @ directions.T
    step = next((one for one in STEPS if _bytes(along / one) <= room_bytes), STEPS[-1])
    coordinates = np.rint(along / step)
    kept = np.flatnonzero(np.abs(coordinates).max(axis=0) > 0)
    surface = Surface(
        options=question.options,
        planned=float(np.max(pools.baseline.pool)),
        nodes=nodes,
        weights=tuple(weights),
        mean=mean,
        directions=directions[kept],
        coordinates=coordinates[:, kept],
        step=step,
        error=worst,
    )
    rounded = float(np.abs(surface.pivots() - exact).max(initial=0.0))
    largest = max(float(np.abs(one).sum(axis=0).max()) for one in weights)
    return replace(surface, error=worst + rounded * largest)


def _bytes(numbers: np.ndarray) -> float:
    """What whole numbers about take when they are packed."""
    bits = np.log2(np.maximum(numbers.std(axis=0), 2.0**-BITS_OF_A_NORMAL)) + BITS_OF_A_NORMAL
    return float(bits.sum() * len(numbers) / 8)


def _values(pools: Pools, rows: np.ndarray, option: int, added: np.ndarray) -> np.ndarray:
    """U of an option on some draws at accelerators added; (rows, P)."""
    parts = []
    for start in range(0, rows.size, CHUNK):
        part = pools.take(rows[start : start + CHUNK])
        parts.append(part.value(option, np.broadcast_to(added, (part.draws, added.size))))
    return np.concatenate(parts)


def _pivots(
    known: np.ndarray, tested: np.ndarray, nodes: np.ndarray, between: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """Pivots among the nodes, the weights of all nodes on them, and the largest error found."""
    from scipy.linalg import qr, solve_triangular

    triangle, order = qr(known, mode="r", pivoting=True)
    at_nodes = tested[:, : nodes.size]
    most = min(triangle.shape)
    best: tuple[np.ndarray, np.ndarray, float] | None = None
    for count in _counts(most):
        if abs(triangle[count - 1, count - 1]) <= np.finfo(np.float64).tiny:
            break
        weights = np.empty((count, nodes.size))
        weights[:, order[:count]] = np.eye(count)
        weights[:, order[count:]] = solve_triangular(
            triangle[:count, :count], triangle[:count, count:]
        )
        pivots = order[:count]
        error = float(np.abs(at_nodes[:, pivots] @ weights - at_nodes).max())
        if best is None or error < best[2]:
            best = pivots, weights, error
        if error <= ENOUGH:
            break
    if best is None:
        return np.array([0]), np.ones((1, nodes.size)), 0.0
    pivots, weights, error = best
    inside = at_nodes[:, pivots] @ chords(weights, nodes, between) - tested[:, nodes.size :]
    return pivots, weights, max(error, float(np.abs(inside).max()))


def _counts(most: int) -> Iterator[int]:
    """Numbers of pivots to try: each of the first, then ever fewer."""
    count = 1
    while count < most:
        yield count
        count += max(1, count // 6)
    yield most


def nodes_of(pools: Pools, low: float, high: float) -> np.ndarray:
    """Accelerators added at which an option realises a pool, with both ends; (P,).

    Raises
    ------
    InputError
        If they differ between draws, or are too many.
    """
    planned = np.unique(np.reshape(pools.baseline.pool, -1).astype(np.float64))
    scenarios = [
        pools.baseline,
        *(treated for states in pools.options for _, treated in states),
    ]
    sizes = [_per_replica(one) for one in scenarios]
    if planned.size > 1 or any(one.size > 1 for one in sizes):
        raise InputError.single(
            message="the pool that a plan needs differs between draws: the share of spares, or of"
            " stranded accelerators, is uncertain, and then costs cannot be moved on a page",
            source="RUN",
            remedy="rank again with that share known (--set reliability.spare_fraction=0.03)",
        )
    found = {low, 0.0, high}
    for [per_replica] in sizes:
        first = max(0, int((planned[0] + low) / per_replica) - 1)
        steps = np.arange(first, int((planned[0] + high) / per_replica) + 2)
        added = np.ceil(steps * per_replica) - planned[0]
        found |= set(added[(added > low) & (added < high)].tolist())
    if len(found) > MOST_NODES:
        raise InputError.single(
            message=f"costs of up to {high:g} accelerators span {len(found)} plans, a page holds"
            f" {MOST_NODES}",
            source="RUN",
            remedy="rank with smaller costs or a smaller budget",
        )
    return np.array(sorted(found))


def _per_replica(scenario: Scenario) -> np.ndarray:
    """Accelerators that a replica takes, one number where draws agree."""
    value: Value = scenario.replica * scenario.overhead
    return np.unique(np.reshape(value, -1).astype(np.float64))
