"""Priors and evidence in a form: what is read, and what predicts."""

import numpy as np
import pytest

from model.forms import NAMES, read_forms
from model.ledger import achieved_flops_per_accelerator
from model.recovery import recover
from model.scenario import substitute
from model.step import healthy_step
from priors.catalogue import catalogue_from_mapping, read_catalogue
from priors.conditioning import condition
from priors.configurations import lay_out
from priors.evidence import read_evidence
from priors.forms import catalogue_in_form, evidence_in_form
from priors.observations import Ettr, Throughput
from priors.population import draw_values
from priors.touched import touched_paths
from tests.priors.examples import SCENARIO, assemble

REFINED = read_forms()["refined"].refinements
SIZES = ("kernel_size", "overlap_window")


def entry(low: float, high: float) -> dict[str, object]:
    return {
        "uniform": {"low": low, "high": high},
        "shared_by": "stack",
        "basis": "assumed",
        "source": "test",
        "rationale": "test",
        "owner": "test",
    }


CATALOGUE = catalogue_from_mapping(
    {
        "parameters": {
            "kernel.kernel_efficiency": entry(0.4, 0.8),
            "kernel.half_hidden": entry(500, 2000),
            "parallelism.overlap_dp": entry(0.6, 0.95),
        }
    },
    source="test",
)


def test_priors_stay_where_a_formula_reads_them() -> None:
    published = catalogue_in_form(CATALOGUE, ())
    assert list(published.entries) == ["kernel.kernel_efficiency", "parallelism.overlap_dp"]
    refined = catalogue_in_form(CATALOGUE, SIZES)
    assert list(refined.entries) == ["kernel.kernel_efficiency", "kernel.half_hidden"]
    both = catalogue_in_form(CATALOGUE, (), SIZES)
    assert both is CATALOGUE


def test_evidence_is_predicted_by_the_formulas_of_the_target() -> None:
    evidence = read_evidence(["published"], scenario="reference_405b_16k")
    assert evidence_in_form(evidence, ()) is evidence
    refined = evidence_in_form(evidence, REFINED)
    assert refined.digest != evidence.digest
    settings = [one.setting.scenario for one in refined.of_kind(Throughput)]
    assert {scenario.refinements for scenario in settings} == {REFINED}
    assert evidence_in_form(refined, ()).digest == evidence.digest


@pytest.mark.parametrize("names", [(), REFINED, NAMES])
def test_predictions_of_configurations_are_the_models_own(names: tuple[str, ...]) -> None:
    """Configurations side by side against each on its own, values drawn from the priors."""
    evidence = evidence_in_form(read_evidence(["published"], scenario="reference_405b_16k"), names)
    population, _ = assemble(read_catalogue(), evidence)
    values = draw_values(population, 3, 5)
    for kind in (Throughput, Ettr):
        items = evidence.of_kind(kind)
        laid = lay_out(items, population)
        found = laid.flops_per_accelerator(values) if kind is Throughput else laid.ettr(values)
        places = {name: i for i, name in enumerate(population.names)}
        for column, item in enumerate(items):
            for row in range(3):
                changes = {
                    path: values[row, places[population.name_of(path, item)]]
                    for path in touched_paths(item)
                    if path in population.catalogue.entries
                }
                scenario = substitute(item.setting.scenario, changes)
                if kind is Throughput:
                    expected = achieved_flops_per_accelerator(scenario, healthy_step(scenario))
                else:
                    expected = recover(scenario).ettr
                assert found[row, column] == pytest.approx(float(expected), rel=1e-9)


def test_posteriors_of_two_forms_are_kept_apart() -> None:
    evidence = read_evidence(["none"], scenario="reference_405b_16k")
    digests = {
        condition(
            CATALOGUE,
            evidence,
            substitute(SCENARIO, {"refinements": names}),
            draws=10,
            seed=1,
            cache=False,
        ).digest
        for names in ((), SIZES)
    }
    assert len(digests) == 2
    draws = condition(
        CATALOGUE, evidence, SCENARIO, forms=((), SIZES), draws=10, seed=1, cache=False
    ).draws
    assert "kernel.half_hidden" in draws.columns
    assert np.all(draws.columns["kernel.half_hidden"] >= 500)
