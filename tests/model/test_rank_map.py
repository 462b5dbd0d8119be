"""Placement by ranks against a plain enumeration of every rank of every group."""

import itertools
import random

import numpy as np
import pytest

from model.collectives import Network, Tier
from model.placement import Placement, place_group
from model.rank_map import boundary_tiers, place_by_rank, place_data_group
from model.scenario import substitute
from model.traffic import handoff_by_boundary, joint_group
from tests.reference import REFERENCE


def spread(ranks: list[int], domain: int, pod: int) -> tuple[int, int, int, int]:
    """Pods, domains, most domains in one pod, most members of one domain."""
    pod = max(domain, pod)
    domains = {(rank // pod, rank // domain) for rank in ranks}
    pods = {one for one, _ in domains}
    return (
        len(pods),
        len(domains),
        max(sum(one == p for one, _ in domains) for p in pods),
        max(sum((r // pod, r // domain) == d for r in ranks) for d in domains),
    )


def enumerated(size: int, stride: int, blocks: int, domain: int, pod: int) -> tuple[int, ...]:
    """The worst group: most pods, then most domains, then the least shared ones."""
    groups = [
        [block * size * stride + offset + i * stride for i in range(size)]
        for block in range(blocks)
        for offset in range(stride)
    ]
    pods, _, fullest_pod, fullest_domain = max(
        (spread(group, domain, pod) for group in groups),
        key=lambda found: (found[0], found[1], -found[2], -found[3]),
    )
    return fullest_domain, fullest_pod, pods


def maps(count: int, *, whole_domains: bool) -> list[tuple[int, ...]]:
    """Random sizes, strides, blocks, domains and pods."""
    rng = random.Random(5)
    found = []
    for _ in range(count):
        domain = rng.choice([1, 2, 3, 4, 6, 8, 16])
        pod = domain * rng.randint(1, 20)
        if not whole_domains and rng.random() < 0.5:
            pod = rng.randint(1, 60)
        size, stride = rng.randint(1, 20), rng.choice([1, 2, 3, 4, 8, 12, 16, 24])
        found.append((size, stride, rng.randint(1, 5), domain, pod))
    return found


def test_placement_by_rank_agrees_with_enumeration() -> None:
    for size, stride, blocks, domain, pod in maps(400, whole_domains=False):
        placed = place_by_rank(size, stride, blocks=blocks, scaleup_domain=domain, pod_size=pod)
        assert tuple(placed) == enumerated(size, stride, blocks, domain, pod)


def test_data_group_agrees_with_enumeration() -> None:
    for size, stride, _, domain, pod in maps(400, whole_domains=True):
        placed = place_data_group(size, stride, scaleup_domain=domain, pod_size=pod)
        assert tuple(map(int, placed)) == enumerated(size, stride, 1, domain, pod)


def test_arrays_of_sizes_and_domains_agree_with_single_ones() -> None:
    sizes, domains = np.array([[1, 5, 24, 130, 700]]), np.array([[8], [16]])
    together = place_data_group(sizes, 48, scaleup_domain=domains, pod_size=1000)
    within = place_by_rank(6, sizes, blocks=7, scaleup_domain=domains, pod_size=1000)
    for i, domain in enumerate(domains.ravel().tolist()):
        for j, size in enumerate(sizes.ravel().tolist()):
            where = {"scaleup_domain": domain, "pod_size": 1000}
            alone = place_data_group(size, 48, **where)
            assert [int(part[i, j]) for part in together] == [int(part) for part in alone]
            alone = place_by_rank(6, size, blocks=7, **where)
            assert [int(part[i, j]) for part in within] == [int(part) for part in alone]


@pytest.mark.parametrize("pod", [1024, 3072, 98_304])
@pytest.mark.parametrize("domain", [8, 64])
def test_aligned_groups_are_placed_as_published(pod: int, domain: int) -> None:
    """Powers of two that divide each other, and 24 replicas of 128 in a pod of 3,072."""
    where = {"scaleup_domain": domain, "pod_size": pod}
    for size, stride in ((8, 1), (4, 8), (16, 8)):
        by_rank = place_by_rank(size, stride, blocks=999, **where)
        assert tuple(by_rank) == tuple(map(int, place_group(size, stride, **where)))
    for size in (1, 2, 24, 128, 480):
        by_rank = place_data_group(size, 128, **where)
        assert tuple(map(int, by_rank)) == tuple(map(int, place_group(size, 128, **where)))


def test_pipelines_that_straddle_pods_are_seen() -> None:
    # 128 ranks a replica, pods of 1,000: replica 7 holds ranks 896 … 1023 and crosses into a pod
    # that the published placement does not see.
    where = {"scaleup_domain": 8, "pod_size": 1000}
    assert place_group(16, 8, **where).cross_pod == 1
    assert place_by_rank(16, 8, blocks=128, **where).cross_pod == 2


def boundaries(plan: tuple[int, ...], domain: int, pod: int) -> tuple[float, ...]:
    """Shares of hand-offs by tier, one by one: forward passes of every pipeline."""
    stages, stride, blocks, virtual = plan
    worst = (-1, -1)
    for block in range(blocks):
        for offset in range(stride):
            ranks = [block * stages * stride + offset + i * stride for i in range(stages)]
            passes = [ranks[i % stages] for i in range(stages * virtual)]
            tiers = [0, 0, 0]
            for here, there in itertools.pairwise(passes):
                if here // max(domain, pod) != there // max(domain, pod):
                    tiers[2] += 1
                elif here // domain != there // domain:
                    tiers[1] += 1
                else:
                    tiers[0] += 1
            worst = max(worst, (tiers[2], tiers[1]))
    count = stages * virtual - 1
    return (count - sum(worst)) / count, worst[1] / count, worst[0] / count


def test_boundaries_of_pipelines_agree_with_walking_them() -> None:
    rng = random.Random(6)
    for size, stride, blocks, domain, pod in maps(150, whole_domains=False):
        virtual = rng.randint(1, 4)
        stages = max(size, 2)
        found = boundary_tiers(
            stages,
            stride,
            blocks=blocks,
            virtual=virtual,
            scaleup_domain=domain,
            pod_size=pod,
        )
        assert found == pytest.approx(boundaries((stages, stride, blocks, virtual), domain, pod))


def test_handoff_prices_each_boundary_at_its_tier() -> None:
    """Two stages in a domain of four, the next beyond it: costs counted by hand."""
    scenario = substitute(
        REFERENCE,
        {
            "parallelism.tp": 2,
            "parallelism.pp": 4,
            "parallelism.dp": 4,
            "parallelism.interleave_factor": 2,
            "topology.scaleup_domain": 4,
            "topology.pod_size": 1000,
        },
    )
    network = Network(Tier(100.0, 1.0), Tier(10.0, 2.0), Tier(1.0, 3.0))
    # Ranks 0, 2 | 4, 6: crossings 0-2 and 4-6 stay in their domain, 2-4 and the way back 6-0 do
    # not; twice around makes seven crossings: four inside, two and one outside.
    inside, outside = 40.0 / 2 / 100.0 + 1.0, 40.0 / 2 / 10.0 + 2.0
    expected = 2 * 2 * (4 * inside + 3 * outside) / 7
    assert handoff_by_boundary(scenario, 40.0, network) == pytest.approx(expected, rel=1e-12)


def test_joint_group_of_replicas_and_context_ranks_agrees_with_enumeration() -> None:
    """cp 16 at stride 8, replicas of 2,048 in pods that hold two of them."""
    tp, cp, pp, dp, domain, pod = 8, 16, 4, 6, 8, 1024
    scenario = substitute(
        REFERENCE,
        {
            "parallelism.tp": tp,
            "parallelism.cp": cp,
            "parallelism.pp": pp,
            "parallelism.dp": dp,
            "topology.scaleup_domain": domain,
            "topology.pod_size": pod,
        },
    )
    where = {"scaleup_domain": domain, "pod_size": pod}
    joint = joint_group(
        scenario, place_group(cp, tp, **where), place_group(dp, tp * cp * pp, **where)
    )
    ranks = [d * tp * cp * pp + c * tp for d in range(dp) for c in range(cp)]
    pods, domains, in_pod, in_domain = spread(ranks, domain, pod)
    assert joint == Placement(in_domain, in_pod, pods)
    assert domains == cp * dp
