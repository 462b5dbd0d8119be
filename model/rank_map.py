"""Where ranks really sit, for groups that the published placement takes to be aligned.

Rank x sits in scale-up domain x // g and pod x // q, q = max(g, pod size). A group of ``size``
ranks at ``stride`` starts at block·size·stride + offset, offset < stride. Where groups of a kind
sit differently the worst one counts, since the others wait for it: the one that spans most pods,
then most domains, then the one that least shares them.

Shapes: every argument is an integer or an integer array; results broadcast.
"""

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from model.numerics import Value
from model.placement import Placement


def place_by_rank(
    size: Value, stride: Value, *, blocks: Value, scaleup_domain: Value, pod_size: Value
) -> Placement:
    """Tiers of the worst of all groups of ``size`` ranks that are ``stride`` ranks apart.

    Parameters
    ----------
    size, stride
        Members of a group, and ranks from one to the next.
    blocks
        Disjoint sets of size·stride consecutive ranks that hold groups.
    scaleup_domain, pod_size
        Accelerators of a domain and of a pod.

    Returns
    -------
    Placement
        Most members that share a domain, most domains that share a pod, pods.
    """
    found = _each(_worst_group, (size, stride, blocks, scaleup_domain, pod_size))
    return Placement(*found)


def place_data_group(
    size: Value, stride: Value, *, scaleup_domain: Value, pod_size: Value
) -> Placement:
    """The same for the outermost group, which has one block and may have thousands of sizes.

    Where pods hold whole domains the worst group is the last: it spans ceil(size·stride/q) pods
    for a stride of at most q, else one a member; how many share a domain or a pod is a running
    maximum along its ranks.
    """
    if np.ndim(stride) == np.ndim(scaleup_domain) == np.ndim(pod_size) == 0:
        return _data_group(size, int(stride), int(scaleup_domain), int(pod_size))
    arguments = np.broadcast_arrays(size, stride, scaleup_domain, pod_size)
    result = np.empty((3, *arguments[0].shape), dtype=np.int64)
    keys = np.stack(arguments[1:]).reshape(3, -1)
    flat, sizes = result.reshape(3, -1), arguments[0].reshape(-1)
    for key in np.unique(keys, axis=1).T:
        chosen = (keys == key[:, np.newaxis]).all(axis=0)
        flat[:, chosen] = _data_group(sizes[chosen], *map(int, key))
    return Placement(*result)


def boundary_tiers(
    stages: Value,
    stride: Value,
    *,
    blocks: Value,
    virtual: Value,
    scaleup_domain: Value,
    pod_size: Value,
) -> tuple[Value, Value, Value]:
    """Shares of a pipeline's hand-offs that stay in a domain, in a pod, and that cross pods.

    A microbatch passes virtual·stages − 1 boundaries: each between neighbours ``virtual`` times,
    the one from the last stage back to the first once less. The pipeline with most hand-offs
    across pods counts, then the one with most across domains.

    Parameters
    ----------
    stages, stride
        Pipeline ranks, and ranks from one to the next.
    blocks
        Pipelines of each offset.
    virtual
        Virtual stages a rank holds.
    scaleup_domain, pod_size
        Accelerators of a domain and of a pod.
    """
    keys = (stages, stride, blocks, scaleup_domain, pod_size, virtual)
    in_domain, in_pod, across = _each(_worst_pipeline, keys)
    return in_domain, in_pod, across


def _each(function: Callable[..., tuple[float, ...]], arguments: tuple[Value, ...]) -> list[Value]:
    """Apply a cached function of integers to every distinct combination of elements.

    The function is one of size, stride, blocks, domain, pod and more, and returns three numbers.
    """
    size, stride, blocks, domain, pod, *more = arguments
    blocks = np.minimum(blocks, _period(size * stride, domain, pod))
    if np.ndim(blocks) and (blocks == blocks.flat[0]).all():
        # Beyond one period of the map it does not matter how many replicas there are.
        blocks = blocks.flat[0]
    arguments = (size, stride, blocks, domain, pod, *more)
    if all(np.ndim(argument) == 0 for argument in arguments):
        return list(function(*map(int, arguments)))
    full = np.broadcast_arrays(*arguments)
    keys, inverse = np.unique(np.stack(full).reshape(len(full), -1), axis=1, return_inverse=True)
    values = np.array([function(*map(int, key)) for key in keys.T])
    return [column[inverse.reshape(-1)].reshape(full[0].shape) for column in values.T]


def _period(block: Value, domain: Value, pod: Value) -> Value:
    """Blocks after which the map of domains and pods repeats."""
    whole = np.lcm(domain, np.maximum(domain, pod))
    return whole // np.gcd(block, whole)


@cache
def _worst_group(
    size: int, stride: int, blocks: int, domain: int, pod: int
) -> tuple[int, int, int]:
    """Members of a domain, domains of a pod, pods of the worst group."""
    if size == 1:
        return 1, 1, 1
    worst = (0, 0, -size, -size)
    members = np.arange(size) * stride
    for start in _starts(size * stride, stride, blocks, domain, pod):
        ranks = start + members
        pods, domains, fullest_pod, fullest_domain = _spread(ranks, domain, pod)
        worst = max(worst, (pods, domains, -fullest_pod, -fullest_domain))
    return -worst[3], -worst[2], worst[0]


def _spread(ranks: np.ndarray, domain: int, pod: int) -> tuple[int, int, int, int]:
    """Pods, domains, most domains of a pod and most members of a domain, of ascending ranks."""
    in_pod, in_domain = ranks // max(domain, pod), ranks // domain
    first = np.flatnonzero(np.diff(in_domain, prepend=-1) | np.diff(in_pod, prepend=-1))
    members = np.diff(first, append=ranks.size)
    of_pod = np.unique(in_pod[first], return_counts=True)[1]
    return of_pod.size, first.size, int(of_pod.max()), int(members.max())


def _starts(block: int, stride: int, blocks: int, domain: int, pod: int) -> list[int]:
    """Starts of the groups that may differ: of each block, offsets that change a boundary.

    Offsets between two multiples of what divides stride, domain and pod sit alike.
    """
    step = math.gcd(stride, domain, max(domain, pod))
    return [a * block + o for a in range(blocks) for o in range(0, stride, step)]


@cache
def _worst_pipeline(  # noqa: PLR0917 - a key of the cache
    stages: int, stride: int, blocks: int, domain: int, pod: int, virtual: int
) -> tuple[float, float, float]:
    """Shares of hand-offs by tier, of the pipeline with most on the slowest."""
    crossings = virtual * stages - 1
    if crossings == 0:
        return 1.0, 0.0, 0.0
    weights = np.full(stages, virtual)
    weights[-1] -= 1
    worst = (-1, -1)
    members = np.arange(stages) * stride
    for start in _starts(stages * stride, stride, blocks, domain, pod):
        here = start + members
        there = np.roll(here, -1)
        across_pods = here // max(domain, pod) != there // max(domain, pod)
        across = here // domain != there // domain
        crossing = int(weights[across_pods].sum())
        worst = max(worst, (crossing, int(weights[across & ~across_pods].sum())))
    pods, domains = worst[0] / crossings, worst[1] / crossings
    return 1.0 - pods - domains, domains, pods


def _data_group(size: Value, stride: int, domain: int, pod: int) -> Placement:
    """Placement of the last data-parallel group, for one stride and map."""
    pod = max(domain, pod)
    period = int(_period(stride, domain, pod)) + pod // stride + 2
    longest = min(int(np.max(size)), period)
    # Rounded up, so that few tables are made.
    members, domains = _running_maxima(stride, domain, pod, 1 << (longest - 1).bit_length())
    place = np.minimum(size, longest) - 1
    pods = -(-size * stride // pod) if stride <= pod else size
    return Placement(members[place], domains[place], pods)


@cache
def _running_maxima(
    stride: int, domain: int, pod: int, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Most members of a domain and most domains of a pod among the first ranks, shape (count,)."""
    ranks = (np.arange(count, dtype=np.int64) + 1) * stride - 1
    in_pod, in_domain = ranks // pod, ranks // domain
    new_domain = np.diff(in_domain, prepend=-1) | np.diff(in_pod, prepend=-1)
    place = np.arange(count)
    starts = np.maximum.accumulate(np.where(new_domain, place, 0))
    members = np.maximum.accumulate(place - starts + 1)
    number = np.cumsum(new_domain != 0)
    at_pod = np.maximum.accumulate(np.where(np.diff(in_pod, prepend=-1), number, 0))
    return members, np.maximum.accumulate(number - at_pod + 1)
