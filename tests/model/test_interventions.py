"""Interventions: semantics, bundles, fixed budget, and bad files."""

from pathlib import Path

import pytest

from model.errors import InputError
from model.interventions import Intervention, apply, bundle, read_interventions
from tests.oracles import scalar_model as oracle
from tests.reference import INTERVENTIONS, PUBLISHED, REFERENCE, reference


def make(name: str = "x", **fields: dict[str, object]) -> Intervention:
    return Intervention(name=name, **{"overrides": {}, "multipliers": {}, **fields})


def read(tmp_path: Path, text: str) -> object:
    path = tmp_path / "options.yaml"
    path.write_text(text)
    return read_interventions(path)


def test_shipped_interventions_are_the_published_ones() -> None:
    assert [(i.name, dict(i.overrides), dict(i.multipliers)) for i in PUBLISHED.interventions] == [
        (entry["name"], entry["overrides"], entry["multipliers"]) for entry in oracle.INTERVENTIONS
    ]
    assert [(r.name, dict(r.overrides)) for r in PUBLISHED.regimes] == [
        (entry["name"], entry["overrides"]) for entry in oracle.REGIMES
    ]


def test_multiplier_scales_and_override_replaces() -> None:
    faster = apply(REFERENCE, INTERVENTIONS["bandwidth_2x"])
    assert faster.accelerator.nic_bw_gbps == 800
    assert apply(faster, INTERVENTIONS["bandwidth_2x"]).accelerator.nic_bw_gbps == 1600
    assert apply(REFERENCE, INTERVENTIONS["fast_detection"]).reliability.detect_time_s == 20
    assert apply(REFERENCE, INTERVENTIONS["scaleup_2x"]).topology.scaleup_domain == 16


def test_repartition_keeps_the_budget() -> None:
    planned = apply(REFERENCE, INTERVENTIONS["add_spares"])
    # floor(floor(16876/1.05)/128) = 125 replicas, whose pool is 16,800 (table e2 decides).
    assert planned.parallelism.dp == 125
    assert planned.pool == 16_800


def test_reshaped_replica_is_planned_at_the_same_pool() -> None:
    planned = apply(REFERENCE, make(overrides={"parallelism.pp": 14}))
    assert planned.parallelism.dp == 16_384 // (8 * 14)
    assert planned.pool <= REFERENCE.pool


def test_bundle_joins_its_parts() -> None:
    both = bundle(
        "pair", [INTERVENTIONS["bandwidth_2x"], INTERVENTIONS["flat_fabric"]], source="--bundle"
    )
    planned = apply(REFERENCE, both)
    assert planned.accelerator.nic_bw_gbps == 800
    assert planned.topology.oversubscription == 1
    squared = bundle("more", [INTERVENTIONS["reliability_2x"]] * 2, source="--bundle")
    assert apply(REFERENCE, squared).reliability.failure_rate_per_node_day == 1.25e-3


@pytest.mark.parametrize(
    "parts",
    [
        (
            make(overrides={"reliability.detect_time_s": 20}),
            make(overrides={"reliability.detect_time_s": 30}),
        ),
        (
            make(overrides={"reliability.detect_time_s": 20}),
            make(multipliers={"reliability.detect_time_s": 0.5}),
        ),
        (
            make(multipliers={"reliability.detect_time_s": 0.5}),
            make(overrides={"reliability.detect_time_s": 20}),
        ),
    ],
)
def test_bundle_refuses_conflicting_targets(parts: tuple[Intervention, ...]) -> None:
    with pytest.raises(InputError, match="different targets"):
        bundle("pair", parts, source="--bundle")


def test_intervention_that_leaves_the_range_is_refused() -> None:
    with pytest.raises(InputError, match=r"intervention x: topology.net_efficiency: got 1.7"):
        apply(REFERENCE, make(multipliers={"topology.net_efficiency": 2.0}))
    with pytest.raises(InputError, match="null, which cannot be multiplied"):
        apply(REFERENCE, make(multipliers={"reliability.checkpoint_interval_s": 2.0}))
    with pytest.raises(InputError, match="holds no replica of 128"):
        apply(reference(128), make(overrides={"reliability.spare_fraction": 0.9}))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("interventions: []\n", "the list is empty"),
        ("regimes: []\n", "the list is empty"),
        ("interventions: 5\n", "a list is needed"),
        ("interventions: [{description: x}]\n", "an entry with a name is needed"),
        ("interventions: [{name: a}, {name: a}]\n", "the name 'a' is taken"),
        ("interventions: [{name: do_nothing}]\n", "is taken"),
        ("intervention: []\n", "did you mean 'interventions'"),
        ("interventions: [{name: a, override: {}}]\n", "did you mean 'overrides'"),
        ("interventions: [{name: a, overrides: {model.hiden: 3}}]\n", "model.hidden"),
        ("interventions: [{name: a, overrides: 3}]\n", "a mapping is needed"),
        ("interventions: [{name: a, multipliers: {topology.pod_size: x}}]\n", "finite factor"),
        ("interventions: [{name: a, multipliers: {topology.pod_size: -1}}]\n", "finite factor"),
        ("interventions: [{name: a, multipliers: {parallelism.recompute: 2}}]\n", "finite factor"),
        ("interventions: [{name: a, overrides: {topology.net_efficiency: 3}}]\n", "(0, 1]"),
        ("interventions: [{name: a, overrides: {parallelism.dp: 3}}]\n", "cannot change"),
        (
            "interventions: [{name: a, overrides: {topology.pod_size: 3},"
            " multipliers: {topology.pod_size: 2}}]\n",
            "keep one of the two",
        ),
    ],
)
def test_bad_file_is_named(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert words in str(caught.value)
    assert "options.yaml" in str(caught.value)
