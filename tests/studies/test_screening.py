import numpy as np

from studies.drivers.screening import KEPT, screen
from studies.drivers.sobol import sobol_effects
from studies.drivers.targets import targets_of
from tests.studies import driver_cases as cases

COUNT = 40
STRONG = {3: 4.0, 11: 3.0, 12: 2.0, 29: 1.5, 38: 1.0}


def evaluate(columns):
    x = np.column_stack(list(columns.values()))
    beta = np.full(COUNT, 0.01)
    beta[7] = 0.0
    for i, value in STRONG.items():
        beta[i] = value
    evaluate.draws += len(x)
    return cases.outcomes_of(np.column_stack([(x - 0.5) @ beta, x[:, 3] * x[:, 29] - 0.25]))


evaluate.draws = 0
QUANTILES = cases.uniform_quantiles(COUNT)
TARGETS = targets_of(("do_nothing", "option_1", "option_2"), "option_1")


def test_screening_keeps_what_matters_and_names_the_rest():
    found = screen(evaluate, QUANTILES, TARGETS, seed=1)
    own = [factor.name for factor in found.factors[:-1]]
    assert len(own) == KEPT
    assert {f"x{i}" for i in STRONG} <= set(own)
    assert found.factors[-1].name == "rest"
    assert "x7" in found.screened
    assert sorted([*own, *found.screened]) == sorted(QUANTILES)
    assert next(iter(found.influence)) in ("x3", "x29")
    assert found.influence["x7"] == 0.0


def test_forty_parameters_cost_no_more_than_ten():
    points = 256
    evaluate.draws = 0
    found = screen(evaluate, QUANTILES, TARGETS, seed=1)
    effects = sobol_effects(evaluate, QUANTILES, found.factors, TARGETS, points=points, seed=1)
    ten = 8 * points * (2 * 10 + 2)
    assert found.evaluations + effects.evaluations == evaluate.draws
    assert evaluate.draws <= 1.1 * ten
    # Screened out, they still enter: what they do together is known and small.
    t = effects.targets.index("gain:option_1")
    rest = [factor.name for factor in effects.factors].index("rest")
    assert 0 < effects.total[t, rest] < 0.001
    variance = sum(value**2 for value in STRONG.values())
    strongest = [factor.name for factor in effects.factors].index("x3")
    cases.within(effects.total[t, strongest], 16 / variance, effects.total_se[t, strongest], 4.0)


def test_few_parameters_are_all_kept():
    quantiles = cases.uniform_quantiles(3)
    model = cases.model_of(lambda x: x @ [1.0, 2.0, 3.0], lambda x: x[:, 0] * 3)
    found = screen(model, quantiles, TARGETS, seed=1)
    assert [factor.name for factor in found.factors] == ["x0", "x1", "x2"]
    assert found.screened == ()
