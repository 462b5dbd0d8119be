"""Information on the real model, and studies: their documents, their data, what they are worth."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from decision.learning import (
    Learnable,
    Redraws,
    SizeWorth,
    Stake,
    StudyWorth,
    default_groups,
    value_group,
    value_study,
)
from decision.outcomes import Question, evaluate
from decision.planned_studies import PlannedStudy, StudyCost, read_studies
from decision.precision import Layout
from decision.study_data import Target, measured_paths, quantities, simulate
from decision.value_of_information import Information, perfect_information
from model.errors import InputError
from model.interventions import read_interventions
from model.scenario_file import read_scenario
from priors.catalogue import read_catalogue
from priors.draws import prior_draws
from studies.drivers.copula import fit_copula

DRAWS = 2000


@pytest.fixture(scope="module")
def question() -> Question:
    return Question(
        scenario=read_scenario("reference_405b_16k").scenario,
        interventions=read_interventions("published").interventions,
        solver=None,
    )


@pytest.fixture(scope="module")
def columns() -> dict[str, np.ndarray]:
    return dict(prior_draws(read_catalogue(), DRAWS, 3).columns)


@pytest.fixture(scope="module")
def values(question, columns) -> np.ndarray:
    return evaluate(question, columns).gain


@pytest.fixture(scope="module")
def target(question, columns) -> Target:
    return Target(
        scenario=question.scenario,
        known=frozenset(),
        catalogue=read_catalogue(),
        columns=columns,
        seed=1,
    )


LAYOUT = Layout.of(None, DRAWS)


def study_of(name: str) -> PlannedStudy:
    return next(one for one in read_studies("common").studies if one.name == name)


def agreement(
    question: Question, columns: dict[str, np.ndarray], paths: tuple[str, ...], layout: Layout
) -> tuple[Learnable, float]:
    """Both estimates of a group, and their difference in standard errors."""
    values = evaluate(question, columns).gain
    redraws = Redraws(
        dependence=fit_copula(columns, independent=True),
        evaluate=lambda redrawn: evaluate(question, redrawn).gain,
    )
    found = value_group("group", paths, values, columns, layout, seed=1, redraws=redraws)
    assert found.nested is not None
    error = np.hypot(found.regression.error, found.nested.error)
    difference = found.regression.value - found.nested.value
    return found, abs(difference) / error if error else abs(difference)


@pytest.mark.parametrize(
    "path",
    ["reliability.checkpoint_write_s", "reliability.straggler_cv", "kernel.kernel_efficiency"],
)
def test_nested_and_regression_agree_on_the_model(question, columns, path):
    found, sigmas = agreement(question, columns, (path,), LAYOUT)
    assert sigmas <= 3.0
    assert (found.regression.value > 10.0) == path.startswith("reliability.")


@pytest.mark.slow
def test_nested_and_regression_agree_for_every_parameter(question):
    """Standard errors of at most 3% of EVPI, for both."""
    draws = 5000
    columns = dict(prior_draws(read_catalogue(), draws, 3).columns)
    layout = Layout.of(None, draws)
    perfect = perfect_information(evaluate(question, columns).gain, layout).value
    for path in columns:
        found, sigmas = agreement(question, columns, (path,), layout)
        assert sigmas <= 3.0, path
        assert found.regression.error <= 0.03 * perfect, path
        assert found.nested.error <= 0.03 * perfect, path


@pytest.mark.slow
def test_nested_and_regression_agree_for_a_group(question, columns):
    paths = ("reliability.detect_time_s", "reliability.restart_time_s")
    found, sigmas = agreement(question, columns, paths, LAYOUT)
    assert sigmas <= 3.0
    assert found.nested.value > 10.0


def test_information_of_a_parameter_that_does_nothing_is_noise(columns, values):
    # There is no context parallelism at cp = 1, and nothing at all behind a column of its own.
    everything = {**columns, "idle": np.random.default_rng(0).uniform(size=DRAWS)}
    for path in ("parallelism.overlap_cp", "idle"):
        found = value_group(path, (path,), values, everything, LAYOUT, seed=1).regression
        assert found.value <= found.noise_floor
        assert found.is_noise


def test_default_groups_hold_every_parameter_once(columns):
    groups = default_groups([*columns, "intervention.a.delivered", "intervention.b.delivered"])
    members = [path for paths in groups.values() for path in paths]
    assert sorted(members) == sorted(
        [*columns, "intervention.a.delivered", "intervention.b.delivered"]
    )


@pytest.mark.parametrize(
    "name",
    ["failure_log", "nccl_tests", "timed_restarts", "timed_checkpoints", "profiled_steps"],
)
def test_shipped_study_is_worth_more_the_larger_and_at_most_its_limit(name, values, target):
    stake = Stake(
        horizon_days=1095.0, advantage=0.0, price_of=lambda _: 0.0, price_per_accelerator=None
    )
    found = value_study(study_of(name), values, target, LAYOUT, stake)
    worths = [one.information for one in found.sizes]
    perfect = perfect_information(values, LAYOUT)
    for one in (*worths, found.limit):
        assert 0.0 <= one.value <= perfect.value + 3 * one.error
    slack = 3 * max(one.error for one in (*worths, found.limit)) + 1e-9
    assert all(one.value <= found.limit.value + slack for one in worths)
    assert worths[-1].value >= worths[0].value - slack
    # The Gaussian shrink is a check, not the estimate: within a tenth of EVPI.
    for one in found.sizes:
        assert abs(one.shrunk - one.information.value) <= 0.1 * perfect.value
    assert found.best is None
    assert found.sizes[0].net_benefit is None


def test_studies_bear_on_what_they_measure(target):
    assert measured_paths(study_of("failure_log"), target) == (
        "reliability.failure_rate_per_node_day",
    )
    assert measured_paths(study_of("timed_restarts"), target) == ("reliability.restart_time_s",)
    assert "reliability.straggler_cv" in measured_paths(study_of("profiled_steps"), target)
    shape = quantities(study_of("profiled_steps"), target).shape
    assert shape == (DRAWS, 2)


def test_failure_log_counts_have_the_mean_and_spread_of_their_likelihood(question):
    """NB1: mean rate·node-days, variance above it by the dispersion that the priors allow for."""
    draws = 20_000
    rate = 5e-3
    target = Target(
        scenario=question.scenario,
        known=frozenset(),
        catalogue=read_catalogue(),
        columns={"reliability.failure_rate_per_node_day": np.full(draws, rate)},
        seed=5,
    )
    study = study_of("failure_log")
    counts = simulate(study, 720, target)[:, 0]
    mean = rate * 256 * 720 / 24
    assert counts.mean() == pytest.approx(mean, abs=3 * counts.std() / draws**0.5)
    assert counts.var() > 1.2 * mean
    assert np.all(counts == np.rint(counts))


def test_link_efficiency_runs_average_out_down_to_their_floor(question):
    target = Target(
        scenario=question.scenario,
        known=frozenset(),
        catalogue=read_catalogue(),
        columns={"topology.net_efficiency": np.full(20_000, 0.8)},
        seed=5,
    )
    for runs in (1, 25):
        error = simulate(study_of("nccl_tests"), runs, target)[:, 0] - 0.8
        # sd 0.05 of a run, floor 0.02; the spread of a spread over 20,000 draws is 0.5%.
        assert error.std() == pytest.approx((0.05**2 / runs + 0.02**2) ** 0.5, rel=0.02)


def test_restarts_have_the_stated_mean_and_one_timing_has_no_spread(target):
    one = simulate(study_of("timed_restarts"), 1, target)
    many = simulate(study_of("timed_restarts"), 50, target)
    assert one.shape == (DRAWS, 1)
    assert many.shape == (DRAWS, 2)
    truth = np.log(target.columns["reliability.restart_time_s"])
    assert np.corrcoef(many[:, 0], truth)[0, 1] > np.corrcoef(one[:, 0], truth)[0, 1] > 0.5


def test_study_of_the_same_seed_gives_the_same_data(target):
    study = study_of("failure_log")
    again = replace(target, seed=target.seed)
    assert np.array_equal(simulate(study, 72, target), simulate(study, 72, again))
    other = replace(target, seed=target.seed + 1)
    assert not np.array_equal(simulate(study, 72, target), simulate(study, 72, other))


def test_study_under_a_regime_that_sets_the_rate_teaches_nothing_of_steps(target):
    known = replace(target, known=frozenset({"reliability.straggler_cv"}))
    assert "reliability.straggler_cv" not in measured_paths(study_of("profiled_steps"), known)


def test_study_of_a_parameter_without_prior_is_refused(target):
    catalogue = read_catalogue()
    entries = {
        path: entry
        for path, entry in catalogue.entries.items()
        if path != "topology.net_efficiency"
    }
    poorer = replace(target, catalogue=replace(catalogue, entries=entries))
    with pytest.raises(InputError, match=r"study nccl_tests.*no such parameter"):
        simulate(study_of("nccl_tests"), 1, poorer)


# Costs and net benefit.


@pytest.mark.parametrize(
    ("unit", "price", "expected"),
    [
        ("accelerators", None, 2.0 + 0.5 * 10),
        ("accelerator_hours", None, (2.0 + 0.5 * 10) / (24.0 * 100.0)),
        ("currency", 3.5, (2.0 + 0.5 * 10) / 3.5),
    ],
)
def test_study_cost_is_in_accelerators_over_the_horizon(unit, price, expected):
    cost = StudyCost(fixed=2.0, per_unit=0.5, unit=unit, days=4.0, days_per_unit=0.25)
    found = cost.accelerators(10, horizon_days=100.0, price_per_accelerator=price)
    assert found == pytest.approx(expected)
    assert cost.waiting_days(10) == 6.5


def test_net_benefit_counts_cost_and_waiting(values, target):
    """(1 − d/H)·EVSI − d/H·advantage − price, by hand."""
    study = replace(
        study_of("timed_restarts"),
        sizes=(5,),
        cost=StudyCost(fixed=3.0, per_unit=1.0, unit="accelerators", days=5.0, days_per_unit=1.0),
    )
    stake = Stake(
        horizon_days=100.0,
        advantage=50.0,
        price_of=lambda accelerators: 0.5 * accelerators,
        price_per_accelerator=None,
    )
    [found] = value_study(study, values, target, LAYOUT, stake).sizes
    assert found.cost_accelerators == 8.0
    assert found.cost_productive == pytest.approx(0.5 * 8.0 + 0.1 * 50.0)
    assert found.net_benefit == pytest.approx(0.9 * found.information.value - 9.0)


def worth(*benefits: tuple[int, float | None]) -> StudyWorth:
    nothing = Information(value=0.0, error=0.0)
    return StudyWorth(
        study=study_of("timed_restarts"),
        paths=(),
        limit=nothing,
        sizes=tuple(
            SizeWorth(
                size=size,
                information=nothing,
                shrunk=0.0,
                cost_accelerators=0.0,
                cost_productive=None if net is None else -net,
                remaining=1.0,
            )
            for size, net in benefits
        ),
    )


def test_best_size_is_the_largest_net_benefit_with_the_range_near_it():
    found = worth((1, 10.0), (2, 96.0), (5, 100.0), (10, 95.0), (20, 94.9))
    assert found.best is not None
    assert found.best.size == 5
    assert found.near_best == (2, 10)


@pytest.mark.parametrize("benefits", [((1, -1.0), (2, 0.0)), ((1, None), (2, None))])
def test_study_that_does_not_pay_has_no_best_size(benefits):
    assert worth(*benefits).best is None
    assert worth(*benefits).near_best is None


# Documents.


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    def written(text: str) -> Path:
        path = tmp_path / "studies.yaml"
        path.write_text(text)
        return path

    return written


def test_study_file_is_read(write):
    path = write(
        "price_per_accelerator: 100\n"
        "studies:\n"
        "  - name: log\n"
        "    measures: interruptions\n"
        "    nodes: 64\n"
        "    sizes: [20, 10]\n"
        "    cost: {unit: currency, fixed: 5, per_unit: 1, days: 2}\n"
    )
    document = read_studies(path)
    [study] = document.studies
    assert document.price_per_accelerator == 100.0
    assert study.sizes == (10, 20)
    assert study.settings == {"nodes": 64.0, "counts": "job_interruption"}
    assert study.cost == StudyCost(
        fixed=5.0, per_unit=1.0, unit="currency", days=2.0, days_per_unit=0.0
    )


GOOD = "studies:\n  - {name: a, measures: link_efficiency, sizes: [1]"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("studies: []", "a list of studies is needed"),
        ("other: 1", "other: unknown key; did you mean|other: unknown key; valid names"),
        ("studies: [3]", "an entry with a name is needed"),
        ("studies:\n  - {name: a, sizes: [1]}", "measures: this key is missing; allowed is one of"),
        ("studies:\n  - {name: a, measures: [x], sizes: [1]}", "got ."),
        ("studies:\n  - {name: a, measures: durations, sizes: [1]}", "quantity: this key"),
        ("studies:\n  - {name: a, measures: interruptions, sizes: [1]}", "nodes: this key"),
        (f"{GOOD}, sd: 1.5}}", "sd: got 1.5, allowed|sd: got 1.5; allowed"),
        (f"{GOOD}, sd: .nan}}", "sd: got nan"),
        (f"{GOOD}, hurry: 1}}", "hurry: unknown key"),
        (f"{GOOD}, cost: 3}}", "cost: got 3"),
        (f"{GOOD}, cost: {{unit: days}}}}", "unit: got 'days'"),
        (f"{GOOD}, cost: {{unit: accelerators, fixed: -1}}}}", "fixed: got -1"),
        (f"{GOOD}, cost: {{unit: accelerators, fixed: .inf}}}}", "fixed: got inf"),
        (f"{GOOD}, cost: {{unit: currency, fixed: 1}}}}", "needs a price per accelerator"),
        (f"price_per_accelerator: 0\n{GOOD}}}", "price_per_accelerator: got 0"),
        ("studies:\n  - {name: a, measures: link_efficiency}", "sizes: this key is missing"),
        ("studies:\n  - {name: a, measures: link_efficiency, sizes: [0]}", "sizes: got"),
        ("studies:\n  - {name: a, measures: link_efficiency, sizes: [1.5]}", "sizes: got"),
        ("studies:\n  - {name: a, measures: link_efficiency, sizes: [true]}", "sizes: got"),
        ("studies:\n  - {name: a, measures: link_efficiency, sizes: [2, 2]}", "sizes: got"),
        (f"{GOOD}}}\n  - {{name: a, measures: link_efficiency, sizes: [1]}}", "there twice"),
    ],
)
def test_bad_study_file_is_refused(write, text, message):
    with pytest.raises(InputError, match=message):
        read_studies(write(text))


def test_bad_study_file_reports_everything_at_once(write):
    path = write(
        "studies:\n"
        "  - {name: a, measures: link_efficiency, sizes: [0]}\n"
        "  - {name: b, measures: durations, sizes: [1]}\n"
    )
    with pytest.raises(InputError) as caught:
        read_studies(path)
    assert len(caught.value.problems) == 2


def test_unknown_study_list_names_the_shipped_one():
    with pytest.raises(InputError, match="common"):
        read_studies("comon")
