"""Refinements as a field of the scenario: how it is read, what it refuses, what it leaves alone."""

import pytest

from model.errors import InputError
from model.forms import (
    BY_NAME,
    NAMES,
    REFINEMENTS,
    form_name,
    ordered,
    read_forms,
    unread_fields,
)
from model.interventions import apply, read_interventions
from model.ledger import account
from model.parameters import BY_PATH
from model.scaling import replan
from model.scenario import stack, substitute, take, with_values
from model.scenario_file import scenario_from_mapping
from tests.oracles.scenarios import REFERENCE as DOCUMENT
from tests.reference import INTERVENTIONS, REFERENCE


def test_a_file_that_is_silent_means_the_published_model() -> None:
    scenario, defaulted = scenario_from_mapping(DOCUMENT, source="test")
    assert scenario.refinements == ()
    assert "refinements" in defaulted
    assert form_name(scenario.refinements) == "published"


@pytest.mark.parametrize("given", [["rank_map", "kernel_size"], "rank_map, kernel_size"])
def test_names_are_read_from_a_list_or_a_text_in_the_order_of_the_table(given: object) -> None:
    scenario, _ = scenario_from_mapping({**DOCUMENT, "refinements": given}, source="test")
    assert scenario.refinements == ("kernel_size", "rank_map")
    again = with_values(REFERENCE, {"refinements": given}, source="--set")
    assert again.refinements == scenario.refinements
    assert with_values(again, {"refinements": "none"}, source="--set").refinements == ()
    assert form_name(again.refinements) == "custom"


@pytest.mark.parametrize("given", [["kernel_sizes"], "kernel_sizes", ["rank_map", 3], 7, None])
def test_what_is_no_refinement_is_refused_with_the_nearest_name(given: object) -> None:
    with pytest.raises(InputError) as caught:
        with_values(REFERENCE, {"refinements": given}, source="--set")
    text = str(caught.value)
    assert text.startswith("--set: refinements: got ")
    if "kernel_sizes" in str(given):
        assert "did you mean 'kernel_size'?" in text


def test_nobody_can_buy_other_formulas(tmp_path) -> None:
    path = tmp_path / "options.yaml"
    path.write_text(
        "interventions:\n"
        "  - {name: trick, overrides: {refinements: [overlap_window]}}\n"
        "regimes:\n"
        "  - {name: elsewhere, overrides: {refinements: [overlap_window]}}\n"
    )
    with pytest.raises(InputError) as caught:
        read_interventions(path)
    text = str(caught.value)
    assert "trick.refinements: an intervention cannot change this field" in text
    assert "elsewhere.refinements: a regime cannot change the formulas" in text


def test_refinements_stay_through_plans_options_and_stacks() -> None:
    scenario = substitute(REFERENCE, {"refinements": NAMES})
    for other in (
        replan(scenario, 200),
        apply(scenario, INTERVENTIONS["bandwidth_2x"]),
        apply(scenario, INTERVENTIONS["add_spares"]),
        stack([scenario, replan(scenario, 150)], axis=1),
        take(scenario, slice(0, 1)),
    ):
        assert other.refinements == NAMES


def test_every_refinement_is_documented_and_its_fields_exist() -> None:
    assert len(BY_NAME) == len(REFINEMENTS)
    for refinement in REFINEMENTS:
        assert all((refinement.changes, refinement.source, refinement.limit))
        for path in (*refinement.parameters, *refinement.replaces):
            assert BY_PATH[path].kind == "real"


def test_fields_of_a_refinement_change_nothing_without_it() -> None:
    """Each field that only refinements read, moved far, under the published formulas."""
    before = account(REFERENCE)
    for path in unread_fields(()):
        moved = substitute(REFERENCE, {path: 0.25 if BY_PATH[path].upper == 1.0 else 1234.0})
        after = account(moved)
        assert after.productive == before.productive
        assert after.fates == before.fates


def test_fields_that_a_refinement_replaces_change_nothing_with_it() -> None:
    for refinement in REFINEMENTS:
        refined = substitute(REFERENCE, {"refinements": (refinement.name,)})
        before = account(refined).productive
        for path in refinement.replaces:
            moved = substitute(refined, {path: 0.5 * refined.value(path)})
            assert account(moved).productive == before
            # Negative control: the published formulas read it.
            published = substitute(REFERENCE, {path: 0.5 * REFERENCE.value(path)})
            assert path == "parallelism.overlap_cp" or (
                account(published).productive != account(REFERENCE).productive
            )


def test_forms_of_the_table_are_the_two_that_commands_offer() -> None:
    forms = read_forms()
    assert set(forms) == {"published", "refined"}
    assert forms["refined"].refinements == ordered(forms["refined"].refinements)
    assert form_name(forms["refined"].refinements) == "refined"
    assert all(0 <= form.weight <= 1 and form.basis for form in forms.values())
