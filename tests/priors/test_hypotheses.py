"""Hypotheses beyond the published model: asleep unless own evidence tells of them."""

from dataclasses import replace

import numpy as np
import pytest

from model.errors import InputError
from model.scenario_file import read_scenario
from priors.catalogue import catalogue_from_mapping, read_catalogue
from priors.evidence import read_evidence
from priors.hypotheses import verdicts, with_hypotheses
from priors.population import plan_population
from priors.touched import JOB_RATE, NODE_RATE, RATE_DISPERSION
from tests.priors.examples import DOCUMENTED
from tests.priors.simulated_fleets import evidence_of

REFERENCE = read_scenario("reference_405b_16k").scenario
COUNT = {"kind": "interruptions", "counts": "job_interruption"}


def woken(*observations, fleet="mine"):
    catalogue = read_catalogue()
    entries = with_hypotheses(catalogue, evidence_of(observations), fleet=fleet).entries
    return [path for path in entries if path not in catalogue.entries]


def sized(nodes, **said):
    return {**COUNT, "events": 5, "node_days": 900, "nodes_per_job": nodes, **said}


def test_shipped_catalogue_and_evidence_wake_no_hypothesis():
    catalogue = read_catalogue()

    assert set(catalogue.hypotheses) == {JOB_RATE, RATE_DISPERSION}
    assert not set(catalogue.hypotheses) & set(catalogue.entries)
    found = with_hypotheses(catalogue, read_evidence(["published"]), fleet="mine")
    assert found is catalogue


@pytest.mark.parametrize(
    ("observations", "expected"),
    [
        ([sized(8), sized(64)], [JOB_RATE]),
        ([sized(64), sized(100)], []),
        ([sized(8), sized(64, fleet="theirs")], []),
        ([sized(8), {**COUNT, "events": 3, "node_days": 90}], []),
        ([sized(8), sized(64, counts="node_hardware_failure")], []),
        ([{**COUNT, "events": [1, 4, 2, 3], "node_days": 70}], [RATE_DISPERSION]),
        ([{**COUNT, "events": [1, 4, 2], "node_days": 70}], []),
    ],
)
def test_hypothesis_is_woken_by_own_observations_that_tell_of_it(observations, expected):
    assert woken(*observations) == expected


def test_published_fleet_of_two_job_sizes_wakes_the_rate_per_job():
    found = with_hypotheses(read_catalogue(), read_evidence(["published"]), fleet="meta_rsc1")

    assert JOB_RATE in found.entries


def test_value_that_is_known_is_no_hypothesis():
    found = read_catalogue().with_fixed({JOB_RATE: 0.2})

    assert found.entries[JOB_RATE].prior.is_fixed


def test_file_may_make_a_parameter_of_a_hypothesis_or_leave_it_to_the_shipped_one(tmp_path):
    from tests.priors.examples import write_yaml

    entry = {"uniform": {"low": 0.0, "high": 1.0}, "shared_by": "fleet", **DOCUMENTED}
    path = write_yaml(tmp_path / "p.yaml", {"parameters": {JOB_RATE: entry}})
    found = read_catalogue(path)
    assert JOB_RATE in found.entries
    assert set(found.hypotheses) == {RATE_DISPERSION}
    with pytest.raises(InputError, match="among the parameters too"):
        catalogue_from_mapping(
            {"parameters": {JOB_RATE: entry}, "hypotheses": {JOB_RATE: entry}}, source="s"
        )


def values_of(population, draws, **columns):
    values = np.ones((draws, len(population.names)))
    for name, column in columns.items():
        values[:, population.names.index(name.replace("__", "."))] = column
    return values


@pytest.mark.parametrize(
    ("after", "verdict"),
    [
        (0.01, "the data reject it"),
        (2.0, "the data call for it"),
        (None, "the data cannot tell"),
    ],
)
def test_verdict_is_how_far_the_data_move_the_odds(after, verdict):
    evidence = evidence_of([sized(8), sized(64)])
    catalogue = with_hypotheses(read_catalogue(), evidence, fleet="mine")
    population = plan_population(catalogue, evidence, stack="llama3", fleet="mine", auxiliary=())
    rng = np.random.default_rng(1)
    before = rng.exponential(0.5, 4000)
    # 2,048 nodes at 5e-3 are interrupted 10.24 times a day.
    prior = values_of(population, 4000, **{JOB_RATE: before, NODE_RATE: 5e-3})
    told = before if after is None else rng.exponential(after, 4000) + (after > 1)
    posterior = values_of(population, 4000, **{JOB_RATE: told, NODE_RATE: 5e-3})

    [sentence] = verdicts(population, REFERENCE, prior, posterior)

    assert sentence.endswith(verdict)
    assert "beside 10 of its nodes" in sentence
    nil = np.mean(before / (before + 10.24) < 0.05)
    assert f"(prior {nil:.0%})" in sentence


def test_evidence_that_tells_of_a_hypothesis_leaves_others_as_they_are():
    catalogue = read_catalogue()
    found = with_hypotheses(catalogue, evidence_of([sized(8), sized(64)]), fleet="mine")

    assert {path: found.entries[path] for path in catalogue.entries} == dict(catalogue.entries)
    assert replace(found, entries=catalogue.entries) == catalogue
