"""Where the ranks of a parallel group sit: scale-up domain, pod, across pods.

Shapes: every argument is an integer or an integer array; results broadcast.
"""

from typing import NamedTuple

import numpy as np

from model.numerics import Value


class Placement(NamedTuple):
    """How many members of a group meet on each tier.

    Parameters
    ----------
    scaleup
        Members inside one scale-up domain.
    pod
        Scale-up domains of the group inside one pod.
    cross_pod
        Pods the group spans.
    """

    scaleup: Value
    pod: Value
    cross_pod: Value


def place_group(size: Value, stride: Value, *, scaleup_domain: Value, pod_size: Value) -> Placement:
    """Tiers of a group of ``size`` ranks that are ``stride`` ranks apart.

    Ranks nest tensor (innermost), context, pipeline, data. With g the scale-up domain and
    q = max(g, pod size):

    per_scaleup = min(size, max(1, g // stride)), domains = ceil(size / per_scaleup),
    domain_stride = max(1, stride·per_scaleup // g), per_pod = min(domains, max(1, (q // g) //
    domain_stride)), pods = ceil(domains / per_pod).

    References
    ----------
    Nanyonga 2026, section 2 of the published definitions.
    """
    per_scaleup = np.minimum(size, np.maximum(1, scaleup_domain // stride))
    domains = -(-size // per_scaleup)
    domain_stride = np.maximum(1, stride * per_scaleup // scaleup_domain)
    domains_of_pod = np.maximum(scaleup_domain, pod_size) // scaleup_domain
    per_pod = np.minimum(domains, np.maximum(1, domains_of_pod // domain_stride))
    pods = -(-domains // per_pod)
    return Placement(per_scaleup, per_pod, pods)
