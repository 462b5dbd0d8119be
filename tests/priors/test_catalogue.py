"""The catalogue of priors: what ships, and what is refused."""

import numpy as np
import pytest

from model.errors import InputError
from priors.catalogue import AUXILIARY, catalogue_from_mapping, read_catalogue

STUDY_RANGES = {
    "kernel.kernel_efficiency": (0.45, 0.70),
    "topology.net_efficiency": (0.70, 0.95),
    "parallelism.overlap_dp": (0.60, 0.95),
    "parallelism.overlap_tp": (0.0, 0.35),
    "reliability.detect_time_s": (30, 400),
    "reliability.restart_time_s": (60, 900),
    "reliability.checkpoint_write_s": (5, 90),
    "reliability.straggler_cv": (0.0, 0.05),
}
"""Uniform ranges of the uncertainty study, reference text section 4, but for the failure rate."""


def entry(**changes):
    whole = {
        "uniform": {"low": 0.1, "high": 0.6},
        "shared_by": "stack",
        "basis": "assumed",
        "source": "a test",
        "rationale": "a test",
        "owner": "tests",
    } | changes
    return {key: value for key, value in whole.items() if value is not None}


def problems_of(content):
    with pytest.raises(InputError) as caught:
        catalogue_from_mapping(content, source="p.yaml")
    return [str(problem) for problem in caught.value.problems]


def test_published_catalogue_has_the_ranges_of_the_study():
    entries = read_catalogue().entries

    for path, (low, high) in STUDY_RANGES.items():
        assert entries[path].prior.family == "uniform"
        assert entries[path].prior.support == (low, high)


def test_published_failure_rate_holds_nine_tenths_between_its_bounds():
    prior = read_catalogue().entries["reliability.failure_rate_per_node_day"].prior

    assert prior.family == "lognormal"
    np.testing.assert_allclose(prior.quantile([0.05, 0.95]), [1e-3, 2e-2], rtol=1e-12)


def test_published_overlaps_of_the_pipeline_and_the_context_surround_the_study():
    entries = read_catalogue().entries

    for path, fixed in (("parallelism.overlap_pp", 0.70), ("parallelism.overlap_cp", 0.30)):
        low, high = entries[path].prior.quantile([0.1, 0.9])
        assert low < fixed - 0.1
        assert high > fixed + 0.1
        assert entries[path].prior.basis == "assumed"


def test_published_entries_are_documented_and_tied_between_systems():
    catalogue = read_catalogue()

    assert set(catalogue.auxiliary) == set(AUXILIARY)
    for prior in [*(e.prior for e in catalogue.entries.values()), *catalogue.auxiliary.values()]:
        assert min(map(len, (prior.source, prior.rationale, prior.owner))) > 5
    assert all(found.between_systems is not None for found in catalogue.entries.values())


def test_missing_auxiliary_quantities_are_the_shipped_ones(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(
        "parameters:\n"
        "  kernel.kernel_efficiency:\n"
        "    beta: {alpha: 8, beta: 6}\n"
        "    shared_by: stack\n"
        "    basis: assumed\n"
        "    source: a test\n"
        "    rationale: a test\n"
        "    owner: tests\n"
        "auxiliary:\n"
        "  detection_spread:\n"
        "    gamma: {shape: 2, rate: 2}\n"
        "    basis: assumed\n"
        "    source: a test\n"
        "    rationale: a test\n"
        "    owner: tests\n"
    )
    mine, shipped = read_catalogue(file).auxiliary, read_catalogue().auxiliary

    assert mine["detection_spread"].family == "gamma"
    assert mine["restart_spread"].parameters == shipped["restart_spread"].parameters


def test_with_fixed_makes_the_target_known_and_keeps_the_prior_for_others():
    catalogue = read_catalogue()
    known = catalogue.with_fixed({"kernel.kernel_efficiency": 0.55, "parallelism.dp": 64})
    found = known.entries["kernel.kernel_efficiency"]

    assert found.prior.parameters == {"value": 0.55}
    assert found.elsewhere.family == "uniform"
    assert "kernel.kernel_efficiency" not in known.uncertain
    assert len(known.uncertain) == len(catalogue.uncertain) - 1


def test_with_fixed_reports_every_value_out_of_range():
    with pytest.raises(InputError) as caught:
        read_catalogue().with_fixed(
            {"kernel.kernel_efficiency": 1.2, "reliability.restart_time_s": -5.0}
        )

    assert len(caught.value.problems) == 2


def test_digest_changes_with_numbers_only():
    base = catalogue_from_mapping(
        {"parameters": {"parallelism.overlap_tp": entry()}}, source="a", text="x"
    )
    worded = catalogue_from_mapping(
        {"parameters": {"parallelism.overlap_tp": entry(rationale="other")}}, source="b", text="y"
    )
    other = catalogue_from_mapping(
        {"parameters": {"parallelism.overlap_tp": entry(uniform={"low": 0.1, "high": 0.61})}},
        source="a",
    )

    assert base.digest == worded.digest
    assert base.digest != other.digest


@pytest.mark.parametrize(
    ("path", "changes", "fragment"),
    [
        ("kernel.kernel_eficiency", {}, "did you mean 'kernel.kernel_efficiency'?"),
        ("parallelism.dp", {}, "only real fields have priors"),
        ("parallelism.overlap_tp", {"shared_by": None}, "shared_by: this key is missing"),
        ("parallelism.overlap_tp", {"shared_by": "team"}, "got 'team'"),
        ("parallelism.overlap_tp", {"basis": "guessed"}, "one of published, derived"),
        ("parallelism.overlap_tp", {"owner": None}, "owner: this key is missing"),
        ("parallelism.overlap_tp", {"source": ""}, "source: got ''"),
        ("parallelism.overlap_tp", {"uniform": None}, "got 0 families"),
        ("parallelism.overlap_tp", {"beta": {"alpha": 1, "beta": 1}}, "got 2 families"),
        ("parallelism.overlap_tp", {"notes": "x"}, "notes: unknown key"),
        ("parallelism.overlap_tp", {"between_systems": 0.4}, "between_systems: got 0.4"),
        (
            "parallelism.overlap_tp",
            {"between_systems": {"normal": {"mean": 0.3, "sd": 0.3}}},
            "use truncated_normal",
        ),
        ("parallelism.overlap_tp", {"uniform": {"low": -0.1, "high": 0.5}}, "allowed is"),
    ],
)
def test_bad_entry_is_named(path, changes, fragment):
    found = problems_of({"parameters": {path: entry(**changes)}})

    assert len(found) == 1
    assert found[0].startswith(f"p.yaml: {path}")
    assert fragment in found[0]


def test_problems_of_a_catalogue_are_reported_together():
    found = problems_of(
        {
            "parameters": {
                "parallelism.overlap_tp": entry(uniform={"low": 0, "high": 2}, owner=None),
                "parallelism.overlap_up": entry(),
            },
            "auxiliary": {"detection_spred": entry(shared_by=None)},
            "extra": 1,
        }
    )

    assert len(found) == 5


@pytest.mark.parametrize("content", [{}, {"parameters": {}}, {"parameters": [1]}])
def test_catalogue_without_parameters_is_refused(content):
    assert any("parameters" in problem for problem in problems_of(content))
