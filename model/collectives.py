"""Cost of ring collectives over tiers, in the alpha-beta model.

A transfer of S bytes over a link of bandwidth b bytes/s takes S/b, and each ring step costs the
latency alpha. Shapes: sizes and links broadcast; group sizes are integers or integer arrays. A
group of one costs nothing on its tier.
"""

from typing import NamedTuple

import numpy as np

from model.numerics import Value
from model.placement import Placement


class Tier(NamedTuple):
    """One level of the network.

    Parameters
    ----------
    bandwidth
        Bytes per second an accelerator achieves.
    latency
        Seconds of a ring step.
    """

    bandwidth: Value
    latency: Value


class Network(NamedTuple):
    """The three tiers."""

    scaleup: Tier
    pod: Tier
    cross_pod: Tier


def gather(size_bytes: Value, members: Value, tier: Tier) -> Value:
    """Ring all-gather or reduce-scatter of ``size_bytes`` in total, seconds.

    (k − 1)/k·S/b + (k − 1)·alpha.
    """
    return (members - 1) / members * (size_bytes / tier.bandwidth) + (members - 1) * tier.latency


def all_reduce(size_bytes: Value, placement: Placement, network: Network) -> Value:
    """Hierarchical ring all-reduce, seconds.

    Reduce-scatter of S on the lowest present tier, a ring all-reduce of S over its members on each
    further tier, all-gather of S on the lowest; a ring all-reduce is a reduce-scatter and an
    all-gather.
    """
    in_domain, in_pod, pods = placement
    # Where no member shares a scale-up domain the pod is the lowest tier, and its members divide
    # what crosses pods.
    lowest = np.where(in_domain > 1, in_domain, in_pod)
    return 2 * (
        gather(size_bytes, in_domain, network.scaleup)
        + gather(size_bytes / in_domain, in_pod, network.pod)
        + gather(size_bytes / lowest, pods, network.cross_pod)
    )


def all_gather(size_bytes: Value, placement: Placement, network: Network) -> Value:
    """Hierarchical ring all-gather, seconds: sizes S, S/k1, S/(k1·k2) on the tiers, summed."""
    in_domain, in_pod, pods = placement
    return (
        gather(size_bytes, in_domain, network.scaleup)
        + gather(size_bytes / in_domain, in_pod, network.pod)
        + gather(size_bytes / (in_domain * in_pod), pods, network.cross_pod)
    )
