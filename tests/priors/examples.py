"""Evidence of every kind and a small catalogue, for tests of likelihoods and of the sampler."""

from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from model.scenario import Scenario, with_values
from model.scenario_file import read_scenario
from priors.catalogue import Catalogue, catalogue_from_mapping, read_catalogue
from priors.evidence import observations_from_mapping, read_evidence
from priors.likelihood import Likelihood
from priors.likelihoods import likelihoods_of, population_of
from priors.observations import Evidence
from priors.population import Population

SCENARIO: Scenario = with_values(
    read_scenario("llama3_405b_8k").scenario,
    {"stack": "mine", "fleet": "mine", "reliability.straggler_cv": 0.02},
    source="test",
)

OBSERVATIONS: list[dict[str, object]] = [
    {
        "kind": "throughput",
        "id": "speed",
        "stack": "mine",
        "fleet": "mine",
        "scenario": "llama3_405b_8k",
        "value": 410,
        "unit": "tflops_per_accelerator",
        "relative_error": 0.04,
    },
    {
        "kind": "throughput",
        "id": "speed_of_others",
        "stack": "theirs",
        "fleet": "theirs",
        "scenario": "llama3_405b_16k",
        "overrides": {"parallelism.recompute": "none"},
        "value": 0.43,
        "unit": "mfu",
        "relative_error": 0.05,
    },
    {
        "kind": "throughput",
        "id": "tokens",
        "stack": "mine",
        "fleet": "mine",
        "scenario": "llama3_405b_16k",
        "overrides": {"reliability.straggler_cv": 0.01},
        "value": 2.4e6,
        "unit": "tokens_per_second",
        "relative_error": 0.05,
    },
    {
        "kind": "interruptions",
        "id": "own_failures",
        "counts": "job_interruption",
        "events": 37,
        "nodes": 128,
        "days": 60,
    },
    {
        "kind": "interruptions",
        "id": "their_failures",
        "fleet": "theirs",
        "counts": "node_hardware_failure",
        "events": 91,
        "node_days": 30000,
    },
    {
        "kind": "interruptions",
        "id": "their_rate",
        "fleet": "theirs",
        "counts": "job_interruption",
        "rate_per_node_day": 6e-3,
        "relative_error": 0.3,
    },
    {
        "kind": "interruptions",
        "id": "own_weeks",
        "counts": "job_interruption",
        "events": [9, 14, 4, 11, 30],
        "node_days": 1800,
        "nodes_per_job": 64,
    },
    {
        "kind": "interruptions",
        "id": "own_errors",
        "counts": "gpu_error",
        "events": 61,
        "node_days": 2500,
    },
    {
        "kind": "uptimes",
        "id": "own_runs",
        "counts": "job_interruption",
        "nodes_per_job": 64,
        "values_s": [190_000, 420_000, 61_000, 333_000],
        "censored_s": [250_000, 500_000],
        "entered_s": [0, 100_000, 0, 0, 0, 50_000],
    },
    {
        "kind": "durations",
        "id": "slow_restarts",
        "quantity": "restart",
        "values_s": [300, 420, 260, 333, 6000, 350],
    },
    {
        "kind": "lost_work",
        "id": "own_losses",
        "fleet": "mine",
        "scenario": "llama3_405b_8k",
        "overrides": {"reliability.checkpoint_interval_s": 1500},
        "values_s": [300, 1100, 640],
        "resolution_s": 60,
    },
    {
        "kind": "lost_work",
        "id": "own_losses_undetected",
        "fleet": "mine",
        "scenario": "llama3_405b_8k",
        "values_s": [900, 400, 640, 1500],
        "includes_detection": True,
    },
    {
        "kind": "durations",
        "id": "own_restarts",
        "quantity": "restart",
        "values_s": [310, 520, 250],
    },
    {
        "kind": "durations",
        "id": "own_detection",
        "quantity": "detection",
        "quantiles_s": {0.5: 90, 0.9: 240},
        "relative_error": 0.2,
    },
    {
        "kind": "durations",
        "id": "their_writes",
        "fleet": "theirs",
        "quantity": "checkpoint_write",
        "values_s": [22, 30],
    },
    {
        "kind": "ettr",
        "id": "own_ettr",
        "fleet": "mine",
        "scenario": "llama3_405b_8k",
        "value": 0.91,
        "error": 0.02,
    },
    {
        "kind": "ettr",
        "id": "lower_bound",
        "fleet": "theirs",
        "scenario": "llama3_405b_16k",
        "overrides": {"reliability.checkpoint_interval_s": 1800},
        "at_least": 0.85,
        "softness": 0.02,
    },
    {
        "kind": "ettr",
        "id": "upper_bound",
        "fleet": "mine",
        "scenario": "llama3_405b_16k",
        "at_most": 0.93,
        "softness": 0.02,
    },
    {
        "kind": "link_efficiency",
        "id": "links",
        "stack": "mine",
        "values": [0.81, 0.84, 0.80],
    },
    {
        "kind": "step_times",
        "id": "steps",
        "stack": "mine",
        "fleet": "mine",
        "scenario": "llama3_405b_8k",
        "mean_s": 5.0,
        "sd_s": 0.01,
        "count": 40,
        "averaging_interval": 4,
        "relative_error": 0.03,
    },
    {
        "kind": "step_times",
        "id": "shifting_steps",
        "stack": "mine",
        "fleet": "mine",
        "scenario": "llama3_405b_8k",
        "mean_s": 5.1,
        "sd_s": 0.012,
        "count": 90,
        "averaging_interval": 4,
        "relative_error": 0.03,
        "correlation": 0.3,
        "regimes": [
            {"mean_s": 4.9, "rows": 40},
            {"mean_s": 5.4, "rows": 20},
            {"mean_s": 5.2, "rows": 30},
        ],
    },
]
"""Every kind, on the target system and on another one."""

DOCUMENTED = {
    "basis": "assumed",
    "source": "a test",
    "rationale": "a test",
    "owner": "tests",
}


def evidence_of(*ids: str) -> Evidence:
    """Some of the observations, all without names."""
    chosen = [item for item in OBSERVATIONS if not ids or item["id"] in ids]
    items = observations_from_mapping(
        {"observations": [item | {"source": "a test"} for item in chosen]}, source="examples"
    )
    return Evidence(sources=("examples",), observations=tuple(items), texts={})


def small_catalogue() -> Catalogue:
    """Nine parameters with priors that reach every likelihood and stay in the model's scope."""

    def entry(shared_by: str, scale: float, **family: object) -> dict[str, object]:
        between = {"lognormal": {"median": scale, "sigma": 0.3}}
        return {**family, "shared_by": shared_by, "between_systems": between, **DOCUMENTED}

    def positive(median: float, sigma: float) -> dict[str, float]:
        return {"median": median, "sigma": sigma}

    built = catalogue_from_mapping(
        {
            "parameters": {
                "kernel.kernel_efficiency": entry("stack", 0.3, uniform={"low": 0.45, "high": 0.7}),
                "topology.net_efficiency": entry("stack", 0.4, beta={"alpha": 16, "beta": 4}),
                "reliability.failure_rate_per_node_day": entry(
                    "fleet", 0.5, lognormal=positive(4e-3, 0.5)
                ),
                "reliability.failure_rate_per_job_day": entry(
                    "fleet", 0.5, gamma={"shape": 1, "rate": 8}
                ),
                "reliability.failure_rate_dispersion": entry(
                    "fleet", 0.5, gamma={"shape": 1, "rate": 10}
                ),
                "reliability.detect_time_s": entry("fleet", 0.5, lognormal=positive(120, 0.5)),
                "reliability.restart_time_s": entry(
                    "fleet", 0.5, gamma={"shape": 5, "rate": 0.0125}
                ),
                "reliability.checkpoint_write_s": entry(
                    "fleet", 0.5, triangular={"low": 5, "mode": 15, "high": 60}
                ),
                "reliability.straggler_cv": entry(
                    "fleet",
                    0.4,
                    truncated_normal={"mean": 0.02, "sd": 0.01, "low": 0.002, "high": 0.05},
                ),
            },
        },
        source="small",
    )
    return replace(built, auxiliary=read_catalogue().auxiliary)


def assemble(
    catalogue: Catalogue, evidence: Evidence, scenario: Scenario = SCENARIO
) -> tuple[Population, list[Likelihood]]:
    """Population and likelihoods for a target."""
    population = population_of(catalogue, evidence, scenario)
    return population, likelihoods_of(evidence, population)


def write_yaml(path: Path, content: object) -> Path:
    """Write plain data as YAML."""
    from ruamel.yaml import YAML

    with path.open("w") as file:
        YAML(typ="safe").dump(content, file)
    return path


def published(*ids: str) -> Evidence:
    """Some of the published observations."""
    evidence = read_evidence(["published"])
    chosen = tuple(item for item in evidence.observations if item.id in ids)
    assert len(chosen) == len(ids)
    return replace(evidence, observations=chosen)


def cut(catalogue: Catalogue, *paths: str) -> Catalogue:
    """The catalogue with some parameters only; the others keep the scenario's value."""
    entries = {path: catalogue.entries[path] for path in paths}
    return replace(catalogue, entries=MappingProxyType(entries))
