"""Evidence: what ships, and what is refused."""

import csv
from pathlib import Path

import pytest

from model.errors import InputError
from priors.evidence import observations_from_mapping, read_evidence
from priors.observation_words import describe
from priors.observations import (
    Durations,
    Ettr,
    Interruptions,
    LinkEfficiency,
    StepTimes,
    Throughput,
)
from priors.touched import touched_paths

RELIABILITY = Path(__file__).resolve().parents[3] / "shared/reference/published_reliability.csv"

GOOD = {
    "throughput": {
        "scenario": "llama3_405b_8k",
        "value": 430,
        "unit": "tflops_per_accelerator",
        "relative_error": 0.03,
    },
    "interruptions": {"counts": "job_interruption", "events": 9, "nodes": 100, "days": 30},
    "durations": {"quantity": "restart", "values_s": [300, 420.5]},
    "ettr": {"scenario": "llama3_405b_16k", "value": 0.9, "error": 0.02},
    "link_efficiency": {"mean": 0.8, "sd": 0.02, "repeats": 4},
    "step_times": {
        "scenario": "llama3_405b_8k",
        "mean_s": 9.0,
        "sd_s": 0.1,
        "count": 50,
        "averaging_interval": 10,
        "relative_error": 0.05,
    },
    "uptimes": {
        "counts": "job_interruption",
        "nodes_per_job": 16,
        "values_s": [100, 200],
        "censored_s": [300],
        "entered_s": [0, 50, 0],
    },
    "lost_work": {
        "scenario": "llama3_405b_8k",
        "values_s": [600, 0],
        "resolution_s": 60,
    },
}


def observation(kind, **changes):
    whole = {"kind": kind, "id": "one", "source": "a test"} | GOOD[kind] | changes
    return {key: value for key, value in whole.items() if value is not None}


def read(*items):
    return observations_from_mapping({"observations": list(items)}, source="e.yaml")


def problems_of(*items):
    with pytest.raises(InputError) as caught:
        read(*items)
    return [str(problem) for problem in caught.value.problems]


def test_published_evidence_has_the_llama_measurements():
    evidence = read_evidence(["published"])

    rows = {item.id: item for item in evidence.of_kind(Throughput)}
    assert rows["llama3_throughput_8192"].value == 430
    assert rows["llama3_throughput_8192"].setting.scenario.world == 8192
    assert rows["llama3_throughput_16384"].value == 400
    assert rows["llama3_throughput_16384"].setting.scenario.world == 16384
    counts = {item.id: item for item in evidence.of_kind(Interruptions)}
    assert counts["llama3_interruptions"].events == 419
    assert counts["llama3_interruptions"].node_days == 110_592


@pytest.mark.skipif(
    not RELIABILITY.is_file(), reason="the reference tables are not beside the repo"
)
def test_published_fleets_agree_with_the_reference_table():
    with RELIABILITY.open() as file:
        rows = list(csv.DictReader(file))
    for item in read_evidence(["published"]).of_kind(Interruptions):
        fleet = [row for row in rows if row["fleet_id"] == item.fleet]
        assert fleet
        if item.fleet == "stepfun":
            # The table's events are of all causes; its notes give the 298 of hardware.
            assert "298 hardware" in fleet[0]["notes"]
            assert item.node_days == float(fleet[0]["exposure_node_days"])
        elif item.events is not None:
            assert item.events == int(fleet[0]["events"])
            assert item.node_days == float(fleet[0]["exposure_node_days"])
        else:
            found = [
                row["event_definition"]
                for row in fleet
                if row["is_measurement"] == "True"
                and float(row["rate_per_node_day"]) == item.rate_per_node_day
            ]
            hardware = item.counts == "node_hardware_failure"
            assert [text.startswith("node hardware failure") for text in found] == [hardware]


def test_published_evidence_has_no_projection_and_no_gpu_error():
    fleets = {item.fleet for item in read_evidence(["published"]).of_kind(Interruptions)}

    assert not fleets & {"delta", "lablup_b200", "gemini", "megascale"}


@pytest.mark.parametrize("kind", GOOD)
def test_good_observation_is_read(kind):
    [item] = read(observation(kind))

    assert item.kind == kind
    assert describe(item)
    assert touched_paths(item)


def test_systems_are_mine_unless_the_scenario_or_the_observation_says_otherwise():
    count, speed, own = read(
        observation("interruptions", id="a"),
        observation("throughput", id="b"),
        observation("throughput", id="c", stack="mine", fleet="hall_3"),
    )

    assert count.fleet == "mine"
    assert (speed.stack, speed.fleet) == ("llama3", "llama3_405b")
    assert (own.stack, own.fleet) == ("mine", "hall_3")


def test_overrides_change_the_scenario_and_are_known():
    [item] = read(
        observation(
            "throughput",
            overrides={"parallelism.dp": 32, "reliability.straggler_cv": 0.01},
        )
    )

    assert item.setting.scenario.world == 4096
    assert "reliability.straggler_cv" not in touched_paths(item)
    assert "kernel.kernel_efficiency" in touched_paths(item)


def test_step_spread_undoes_averaging():
    [item] = read(observation("step_times", sd_s=0.1, averaging_interval=25))

    assert item.step_sd_s == pytest.approx(0.5)


def test_periods_are_counted_each_and_together():
    [item] = read(observation("interruptions", events=[2, 0, 5], days=10))

    assert item.periods == ((2, 1000.0), (0, 1000.0), (5, 1000.0))
    assert (item.events, item.node_days) == (7, 3000.0)


@pytest.mark.parametrize(
    ("count", "said", "tails"),
    [(4, None, "lognormal"), (5, None, "heavy"), (9, "lognormal", "lognormal")],
)
def test_some_of_many_durations_may_be_of_another_kind(count, said, tails):
    [item] = read(observation("durations", values_s=[1.0 + n for n in range(count)], tails=said))

    assert item.tails == tails


def test_link_values_become_their_mean_spread_and_number():
    [item] = read(
        observation("link_efficiency", mean=None, sd=None, repeats=None, values=[0.80, 0.84, 0.88])
    )

    assert isinstance(item, LinkEfficiency)
    assert item.repeats == 3
    assert item.mean == pytest.approx(0.84)
    assert item.sd == pytest.approx(0.04)


def test_bounds_and_quantiles_are_read():
    bound, quantiles, rate = read(
        observation("ettr", id="a", value=None, error=None, at_least=0.9, softness=0.02),
        observation(
            "durations", id="b", values_s=None, quantiles_s={0.95: 65, 0.05: 46}, relative_error=0.2
        ),
        observation(
            "interruptions",
            id="c",
            events=None,
            nodes=None,
            days=None,
            rate_per_node_day=6.5e-3,
            relative_error=0.1,
        ),
    )

    assert isinstance(bound, Ettr)
    assert (bound.bound, bound.value, bound.error) == ("at_least", 0.9, 0.02)
    assert isinstance(quantiles, Durations)
    assert quantiles.quantiles_s == ((0.05, 46.0), (0.95, 65.0))
    assert isinstance(rate, Interruptions)
    assert rate.events is None
    assert isinstance(read(observation("step_times"))[0], StepTimes)


@pytest.mark.parametrize(
    ("item", "fragment"),
    [
        ({"kind": "troughput", "id": "one", "source": "x"}, "did you mean 'throughput'?"),
        ({"id": "one", "source": "x"}, "one.kind: this key is missing"),
        (observation("throughput", source=None), "one.source: this key is missing"),
        (observation("throughput", relativ_error=1), "did you mean 'relative_error'?"),
        (observation("throughput", relative_error=None), "relative_error: this key is missing"),
        (observation("throughput", relative_error=0), "got 0, allowed is a finite number above 0"),
        (observation("throughput", value=-1), "one.value: got -1"),
        (observation("throughput", value=".inf"), "one.value: got '.inf'"),
        (observation("throughput", value=1.2, unit="mfu"), "at most 1"),
        (observation("throughput", unit="tflop"), "valid names: tflops_per_accelerator, mfu"),
        (observation("throughput", scenario="llama3_405b_9k"), "there is no such scenario"),
        (observation("throughput", scenario=None), "one.scenario: this key is missing"),
        (observation("throughput", overrides={"parallelism.dq": 2}), "did you mean"),
        (observation("throughput", overrides=[1]), "one.overrides: got [1]"),
        (observation("throughput", stack=""), "one.stack: got ''"),
        (observation("interruptions", events=None), "one.events: this key is missing"),
        (observation("interruptions", events=2.5), "an integer"),
        (observation("interruptions", events=-2), "of at least 0"),
        (observation("interruptions", nodes=0), "one.nodes: got 0"),
        (observation("interruptions", days=None), "one.days: this key is missing"),
        (observation("interruptions", node_days=5), "got node_days, nodes, days"),
        (observation("interruptions", relative_error=0.1), "a count has no relative error"),
        (observation("interruptions", counts="gpu_errors"), "one.counts: got 'gpu_errors'"),
        (observation("interruptions", basis="projected"), "a projection is no evidence"),
        (observation("interruptions", events=[1, 2], days=[3, 4, 5]), "3 values beside 2 of"),
        (observation("interruptions", events=9, days=[3, 4]), "2 values beside 1 of events"),
        (observation("interruptions", events=[1, -2]), "events[2]: got -2"),
        (observation("interruptions", nodes_per_job=0), "one.nodes_per_job: got 0"),
        (observation("uptimes", values_s=None, censored_s=None, entered_s=None), "no running"),
        (observation("uptimes", entered_s=[0, 0]), "got 2 values for 3 running times"),
        (observation("uptimes", entered_s=[0, 200, 0]), "entered_s[2]: observation begins after"),
        (observation("lost_work", values_s=[0]), "all are zero"),
        (observation("lost_work", values_s=None), "one.values_s: this key is missing"),
        (observation("lost_work", includes_detection="yes"), "allowed is true or false"),
        (observation("durations", tails="fat"), "one.tails: got 'fat'"),
        (observation("step_times", correlation=1.0), "one.correlation: got 1.0"),
        (observation("step_times", regimes=[{"mean_s": 1, "rows": 2}]), "a list of at least two"),
        (
            observation("step_times", regimes=[{"mean_s": 1, "rows": 2}, {"mean_s": 1}]),
            "one.regimes[2]",
        ),
        (observation("durations", values_s=[]), "a list of at least one number"),
        (observation("durations", values_s=[3, "x"]), "values_s[2]: got 'x'"),
        (observation("durations", values_s=[3, 0]), "values_s[2]: got 0"),
        (observation("durations", quantity="repair"), "one.quantity: got 'repair'"),
        (
            observation(
                "durations", values_s=None, quantiles_s={0.5: 9, 0.9: 8}, relative_error=0.1
            ),
            "quantiles must increase",
        ),
        (
            observation("durations", values_s=None, quantiles_s={50: 9}, relative_error=0.1),
            "got the probability 50",
        ),
        (
            observation("durations", values_s=None, quantiles_s={}, relative_error=0.1),
            "a mapping of probabilities",
        ),
        (observation("ettr", value=1.2), "one.value: got 1.2"),
        (observation("ettr", at_least=0.9), "got value, error, at_least"),
        (observation("ettr", error=None), "one.error: this key is missing"),
        (observation("link_efficiency", mean=1.2), "one.mean: got 1.2"),
        (observation("link_efficiency", repeats=0), "of at least 1"),
        (observation("link_efficiency", values=[0.8]), "got values, mean, sd, repeats"),
        (observation("step_times", count=1), "of at least 2"),
        (observation("step_times", averaging_interval=0.5), "of at least 1"),
        (
            observation(
                "step_times",
                overrides={
                    "parallelism.tp": 1,
                    "parallelism.pp": 1,
                    "parallelism.dp": 1,
                },
            ),
            "no slowest rank",
        ),
        ("a text", "observations[1]: got 'a text'"),
    ],
)
def test_bad_observation_is_named(item, fragment):
    found = problems_of(item)

    assert len(found) == 1
    assert found[0].startswith("e.yaml: o")
    assert fragment in found[0]


def test_problems_of_evidence_are_reported_together():
    found = problems_of(
        observation("throughput", value=0, relative_error=9),
        observation("durations", id="two", quantity="x"),
        observation("durations"),
    )

    # Two of the first, one of the second, and the third's id is the first's.
    assert len(found) == 4
    assert "already in this file" in found[-1]


@pytest.mark.parametrize("content", [{}, {"observations": []}, {"observations": {"a": 1}}])
def test_evidence_without_observations_is_refused(content):
    with pytest.raises(InputError, match="observations"):
        observations_from_mapping(content, source="e.yaml")


def test_files_are_combined_and_ids_must_differ(tmp_path):
    text = (
        "observations:\n- {kind: durations, id: %s, source: x, quantity: restart, values_s: [9]}\n"
    )
    first, second, third = (tmp_path / name for name in ("a.yaml", "b.yaml", "c.yaml"))
    first.write_text(text % "one")
    second.write_text(text % "two")
    third.write_text(text % "one")

    assert [item.id for item in read_evidence([first, second]).observations] == ["one", "two"]
    with pytest.raises(InputError, match=r"already in .*a\.yaml"):
        read_evidence([first, third])
    with pytest.raises(InputError, match="given twice"):
        read_evidence([first, first])


def test_scenario_file_is_found_beside_the_evidence(tmp_path):
    from importlib import resources

    shipped = resources.files("model.data.scenarios") / "llama3_405b_8k.yaml"
    (tmp_path / "hall.yaml").write_text(shipped.read_text().replace("stack: llama3", "stack: own"))
    (tmp_path / "e.yaml").write_text(
        "observations:\n- {kind: throughput, id: one, source: x, scenario: hall.yaml, value: 400,"
        " unit: tflops_per_accelerator, relative_error: 0.1}\n"
    )
    [item] = read_evidence([tmp_path / "e.yaml"]).observations

    assert item.stack == "own"


def test_digest_changes_with_a_number_and_not_with_a_source():
    first, second, third = (
        read_like(observation("durations", **changes))
        for changes in ({}, {"source": "elsewhere"}, {"values_s": [300, 421]})
    )

    assert first.digest == second.digest
    assert first.digest != third.digest


def read_like(item):
    from priors.observations import Evidence

    return Evidence(sources=("e",), observations=tuple(read(item)), texts={})


def test_none_is_no_evidence():
    assert read_evidence(["none"]).observations == ()


@pytest.mark.parametrize("name", ["absent.yaml", "."])
def test_unusable_file_is_refused(name):
    with pytest.raises(InputError):
        read_evidence([name])
