"""Forms of the model in a decision: chosen, mixed over draws, compared."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from decision.forms import (
    FORM,
    MIXED,
    Other,
    choose_form,
    describe_forms,
    form_term,
    other_forms,
    parts_by_form,
)
from decision.inputs import gather
from decision.learning import Target, value_group
from decision.options import request_of
from decision.outcomes import Outcomes, Question, evaluate
from decision.planned_studies import read_studies
from decision.precision import Layout
from decision.programs import combine
from decision.rank import build_parser, main
from decision.remarks import beyond_the_peak
from decision.study_data import quantities, simulate
from decision.utility import pools_of, utilities
from model.errors import InputError
from model.forms import read_forms
from model.scenario import substitute
from priors.catalogue import read_catalogue
from priors.draws import prior_draws
from tests.decision.test_outcomes import study_draws
from tests.reference import INTERVENTIONS, PUBLISHED, REFERENCE

REFINED = read_forms()["refined"].refinements
DRAWS = 60


@pytest.fixture(scope="module")
def columns() -> dict[str, np.ndarray]:
    form = (np.arange(DRAWS) % 3 == 0).astype(float)
    return {**study_draws(DRAWS), FORM: form}


@pytest.fixture(scope="module")
def question() -> Question:
    return Question(scenario=REFERENCE, interventions=PUBLISHED.interventions, forms=((), REFINED))


def one_form(question: Question, index: int) -> Question:
    scenario = substitute(question.scenario, {"refinements": question.forms[index]})
    return replace(question, scenario=scenario, forms=())


def split(columns: dict[str, np.ndarray], index: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    rows = np.flatnonzero(columns[FORM] == index)
    return rows, {path: column[rows] for path, column in columns.items() if path != FORM}


def test_no_form_is_the_scenarios_own() -> None:
    assert choose_form(None, REFERENCE, {}).name == "published"
    refined = substitute(REFERENCE, {"refinements": REFINED})
    assert choose_form(None, refined, {}).name == "refined"
    own = substitute(REFERENCE, {"refinements": ("exact_maximum", "rank_map")})
    assert choose_form(None, own, {}).name == "custom"
    assert choose_form(None, own, {}).scenario is own


def test_a_form_sets_its_refinements_and_says_what_it_overrules() -> None:
    own = substitute(REFERENCE, {"refinements": ("exact_maximum",)})
    chosen = choose_form("refined", own, {})
    assert chosen.scenario.refinements == REFINED
    assert "exact_maximum" in chosen.notes[0]
    assert choose_form("published", own, {}).scenario.refinements == ()
    with pytest.raises(InputError, match="--form: refined: a form is a set of refinements"):
        choose_form("refined", REFERENCE, {"refinements": "rank_map"})


def test_mixed_form_is_a_parameter_with_its_weight() -> None:
    forms = read_forms()
    chosen = choose_form(MIXED, REFERENCE, {})
    [term] = chosen.terms
    assert (term.column, chosen.mixture) == (FORM, ((), REFINED))
    weighted = {**forms, "refined": replace(forms["refined"], weight=0.2)}
    drawn = form_term(weighted).prior.quantile((np.arange(1000) + 0.5) / 1000)
    assert drawn.mean() == 0.2
    assert set(drawn) == {0.0, 1.0}


def test_each_draw_is_evaluated_with_its_own_formulas(
    question: Question, columns: dict[str, np.ndarray]
) -> None:
    mixed = evaluate(question, columns)
    alike = []
    for index in (0, 1):
        rows, some = split(columns, index)
        own = evaluate(one_form(question, index), some)
        for name in ("gain", "sea", "fates", "productive", "in_scope", "marginal"):
            np.testing.assert_array_equal(getattr(mixed, name)[rows], getattr(own, name))
        alike.append(evaluate(one_form(question, 1 - index), some).productive == own.productive)
    # Negative control: the other formulas give other numbers.
    assert not np.concatenate(alike).any()


def test_mixed_draws_do_not_depend_on_their_order(
    question: Question, columns: dict[str, np.ndarray]
) -> None:
    order = np.random.default_rng(1).permutation(DRAWS)
    again = evaluate(question, {path: column[order] for path, column in columns.items()})
    np.testing.assert_array_equal(again.gain, evaluate(question, columns).gain[order])


def test_utilities_pools_and_programs_follow_the_form_of_each_draw(
    question: Question, columns: dict[str, np.ndarray]
) -> None:
    names = ("bandwidth_2x", "fast_restart")
    few = replace(question, interventions=tuple(INTERVENTIONS[name] for name in names))
    added = np.linspace(-500, 3000, DRAWS)[:, np.newaxis]
    mixed = utilities(few, columns).values
    pools = pools_of(few, columns, DRAWS)
    programs = combine(few, columns, few.interventions, DRAWS)
    for index in (0, 1):
        rows, some = split(columns, index)
        own = one_form(few, index)
        np.testing.assert_array_equal(mixed[rows], utilities(own, some).values)
        alone = pools_of(own, some, rows.size)
        np.testing.assert_array_equal(pools.value(1, added)[rows], alone.value(1, added[rows]))
        taken = np.arange(5, 40)
        inside = np.isin(taken, rows)
        np.testing.assert_array_equal(
            pools.take(taken).value(2, added[taken])[inside],
            alone.value(2, added[rows])[np.isin(rows, taken)],
        )
        single = combine(own, some, few.interventions, rows.size)
        for amount in (800.0, added[:, 0]):
            each = amount if np.ndim(amount) == 0 else amount[rows]
            np.testing.assert_array_equal(
                programs.productive(3, amount)[rows], single.productive(3, each)
            )
    assert programs.names == names


def test_study_of_steps_is_simulated_with_the_form_of_each_draw(
    columns: dict[str, np.ndarray],
) -> None:
    study = next(one for one in read_studies("common").studies if one.measures == "step_times")
    target = Target(
        scenario=REFERENCE,
        known=frozenset(),
        catalogue=read_catalogue(),
        columns=columns,
        seed=3,
        forms=((), REFINED),
    )
    mixed, exact = simulate(study, 50, target), quantities(study, target)
    for index in (0, 1):
        rows, _ = split(columns, index)
        scenario = substitute(REFERENCE, {"refinements": target.forms[index]})
        own = replace(target, scenario=scenario, forms=())
        np.testing.assert_array_equal(mixed[rows], simulate(study, 50, own)[rows])
        np.testing.assert_array_equal(exact[rows], quantities(study, own)[rows])


def outcomes(gain: list[list[float]]) -> Outcomes:
    values = np.array(gain)
    ones = np.ones(len(values))
    return Outcomes(
        options=("do_nothing", "a", "b"),
        gain=values,
        sea=values,
        fates=np.ones((len(values), 4)) / 4,
        productive=1000 * ones,
        pool=ones,
        ettr=ones,
        recovery_pressure=ones,
        in_scope=ones > 0,
        marginal=ones,
    )


def test_disagreement_on_the_leader_is_told_from_one_on_the_recommendation() -> None:
    """a ranks first in two of three draws, b gains more on average: counted by hand."""
    other = Other(
        form="refined",
        weight=0.5,
        outcomes=outcomes([[0, 10, 1], [0, 10, 1], [0, 0, 40]]),
        chain=None,
        decision="b",
    )
    told = describe_forms(
        [other], used="published", source="prior", leader="a", recommended="a", decision="b"
    )
    [found] = told["others"]
    assert found["leader"] == "a"
    assert found["p_first"] == pytest.approx(2 / 3)
    assert found["recommended"] == "b"
    assert found["gain_best"] == pytest.approx(14.0)
    assert [one["option"] for one in found["options"]] == ["b", "a", "do_nothing"]
    assert found["options"][1]["gain_mean"] == found["gain_used"]
    assert found["gain_used"] == pytest.approx(20 / 3)
    assert (told["same_leader"], told["same_recommendation"]) == (True, False)
    assert told["same_decision"] is True


def test_other_form_is_the_same_draws_under_other_formulas(
    question: Question, columns: dict[str, np.ndarray]
) -> None:
    draws = {path: column for path, column in columns.items() if path != FORM}
    asked = one_form(question, 0)
    [other] = other_forms(
        asked,
        draws,
        None,
        used="published",
        outcomes=evaluate(asked, draws),
        evaluate=evaluate,
        decide=lambda *_: None,
    )
    assert other.form == "refined"
    np.testing.assert_array_equal(other.outcomes.gain, evaluate(one_form(question, 1), draws).gain)


def test_each_part_of_a_mixture_answers_for_itself(
    question: Question, columns: dict[str, np.ndarray]
) -> None:
    whole = evaluate(question, columns)
    found = other_forms(
        question,
        columns,
        None,
        used=MIXED,
        outcomes=whole,
        evaluate=evaluate,
        decide=lambda *_: None,
    )
    assert [other.form for other in found] == ["published", "refined"]
    for other, (rows, _, _) in zip(found, parts_by_form(question, columns), strict=True):
        np.testing.assert_array_equal(other.outcomes.gain, whole.gain[rows])


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A run of each form, both of them equally likely whatever the shipped weights are."""
    folder = tmp_path_factory.mktemp("runs")
    forms = read_forms()
    even = {name: replace(form, weight=0.5) for name, form in forms.items()}
    patch = pytest.MonkeyPatch()
    patch.setattr("decision.forms.read_forms", lambda: even)
    for form in ("published", "refined", "mixed"):
        arguments = ["--form", form, "--evidence", "none", "--draws", "300", "--quiet"]
        assert main([*arguments, "--out", str(folder / form)]) == 0
    patch.undo()
    return {form: folder / form for form in ("published", "refined", "mixed")}


@pytest.mark.parametrize("form", ["published", "refined", "mixed"])
def test_ranking_records_its_form_and_what_the_other_says(form: str, runs: dict[str, Path]) -> None:
    summary = json.loads((runs[form] / "summary.json").read_text())
    provenance = json.loads((runs[form] / "provenance.json").read_text())
    names = [] if form == "published" else list(REFINED)
    assert summary["question"]["form"] == provenance["options"]["form"] == form
    assert summary["question"]["refinements"] == names
    told = summary["answers"][0]["form"]
    expected = {"published": ["refined"], "refined": ["published"]}
    assert [one["form"] for one in told["others"]] == expected.get(form, ["published", "refined"])
    paths = [row["path"] for row in summary["parameters"]]
    assert (FORM in paths) == (form == "mixed")
    drivers = summary["answers"][0]["drivers"]
    assert (FORM in [one["factor"] for one in drivers["winner"]]) == (form == "mixed")
    assert FORM not in [one["parameter"] for one in drivers["switching"]]


def test_mixed_prior_draws_are_those_of_either_form(runs: dict[str, Path]) -> None:
    """A parameter more moves no other's draws, and drops none that one form reads."""
    import pandas as pd

    table = pd.read_parquet(runs["mixed"] / "outcomes.parquet")
    for path, column in prior_draws(read_catalogue(), 300, 1).columns.items():
        np.testing.assert_array_equal(table[path], column)


def test_refined_half_of_a_mixture_ranks_as_the_refined_run(runs: dict[str, Path]) -> None:
    import pandas as pd

    mixed, refined, published = (
        pd.read_parquet(runs[form] / "outcomes.parquet")
        for form in ("mixed", "refined", "published")
    )
    rows = mixed[FORM] == 1
    # Half of 300 draws, within four standard errors.
    assert abs(rows.mean() - 0.5) < 4 * 0.5 / np.sqrt(300)
    for option in ("bandwidth_2x", "fast_checkpoint"):
        own = mixed[f"gain_{option}"]
        np.testing.assert_array_equal(own[rows], refined[f"gain_{option}"][rows])
        np.testing.assert_array_equal(own[~rows], published[f"gain_{option}"][~rows])


def test_what_no_formula_reads_is_said() -> None:
    arguments = ["--evidence", "none", "--set", "reliability.durability_lag_s=60"]
    for form, told in (("published", [True]), ("refined", [True]), ("mixed", [True])):
        inputs = gather(request_of(build_parser().parse_args([*arguments, "--form", form])))
        found = ["durability_lag_s is set" in text for text in inputs.warnings]
        reads = "async_checkpoint" in inputs.form.refinements
        assert found == ([] if reads else told)


def test_costs_decide_in_the_other_form_too(tmp_path: Path) -> None:
    path = tmp_path / "costs.yaml"
    path.write_text("interventions: {fast_restart: 300, flat_fabric: 200}\n")
    run = tmp_path / "run"
    arguments = ["--only", "fast_restart,flat_fabric", "--costs", str(path)]
    arguments += ["--evidence", "none", "--draws", "200", "--out", str(run), "--quiet"]
    assert main(arguments) == 0
    told = json.loads((run / "summary.json").read_text())["answers"][0]["form"]
    assert told["others"][0]["decision"] in {"do_nothing", "fast_restart", "flat_fabric"}
    assert told["same_decision"] in {True, False}


@pytest.mark.parametrize("weight", [0.5, 0.1])
def test_value_of_knowing_the_form_is_that_of_choosing_in_each(weight: float) -> None:
    """Two forms that favour different options: Σ weight·max of means, less the best mean."""
    rng = np.random.default_rng(1)
    form = (rng.random(4000) < weight).astype(float)
    noise = 50 * rng.standard_normal((4000, 2))
    first, second = np.where(form > 0, 100.0, -20.0), np.where(form > 0, -60.0, 40.0)
    values = np.column_stack([np.zeros(4000), first + noise[:, 0], second + noise[:, 1]])
    means = [values[form == index].mean(axis=0) for index in (0, 1)]
    share = form.mean()
    expected = (1 - share) * means[0].max() + share * means[1].max() - values.mean(axis=0).max()
    found = value_group(FORM, [FORM], values, {FORM: form}, Layout.of(None, 4000), seed=1)
    assert found.regression.value == pytest.approx(expected, rel=1e-9)
    assert expected > 10


def test_kernels_faster_than_the_device_are_warned_of() -> None:
    """0.95 at the reference's sizes and half sizes of 4,000: above 1 at twice the width."""
    large = substitute(
        REFERENCE,
        {
            "refinements": ("kernel_size",),
            "model.hidden": 32_768,
            "kernel.kernel_efficiency": 0.95,
            "kernel.half_hidden": 4000.0,
        },
    )
    [warning] = beyond_the_peak(large)
    assert "more than the device has" in warning
    assert beyond_the_peak(substitute(large, {"kernel.kernel_efficiency": 0.5})) == []
    assert beyond_the_peak(substitute(large, {"refinements": ()})) == []
