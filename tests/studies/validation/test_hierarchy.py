from dataclasses import replace

import numpy as np
import pytest
from scipy import special

from model.step import healthy_step
from priors.catalogue import read_catalogue
from studies.systems.batch_series import explain, find_series, line_through
from studies.systems.cases import judge
from studies.systems.design import TAILS, lay_out, open_recomputes
from studies.systems.evaluation import (
    RESAMPLES,
    Evaluation,
    evaluate,
    gain,
    next_system,
    setup_of,
    stacking_weight,
)
from studies.systems.hierarchy import (
    LOCATION,
    LOCATION_SCALE,
    Layout,
    Problems,
    predict,
    row_log_density,
)
from studies.systems.laplace import fit
from studies.systems.posterior import Setup, condition, foretell
from studies.systems.rows import rows_of_file, shipped_rows
from tests.studies.validation.tables import ROW, write


def cases_of(tmp_path, changes):
    cases, excluded = judge(
        rows_of_file(write(tmp_path / "rows.csv", [{**ROW, **change} for change in changes]))
    )
    assert not excluded
    return cases


def plain(cases, own=(), shared=(), settings=None):
    return Setup(cases=tuple(cases), own=own, shared=shared, settings=settings or {})


def design_of(setup):
    return lay_out(
        setup.cases, own=setup.own, shared=setup.shared, settings=setup.settings, recomputes={}
    )


def problems(count, systems, *, accelerators=0.15, between=0.25, residual=0.08, active=True):
    return Problems(
        accelerators_sd=np.full(count, accelerators),
        systems_sd=np.full(count, between),
        residual=np.full(count, residual),
        active=np.full((count, systems), active),
    )


def test_published_step_is_a_constant_and_a_part_in_inverse_efficiency(tmp_path):
    """seconds = a/efficiency + b: three efficiencies on one line."""
    design = design_of(plain(cases_of(tmp_path, [{"pp": 4, "dp": 4}])))
    efficiency = np.array([0.3, 0.5, 0.8])
    logit = special.logit(efficiency)[:, None]
    seconds = np.exp(design.log_step(logit, np.zeros((3, 1, 0)), np.zeros((3, 0))))[:, 0]
    slope = (seconds[0] - seconds[2]) / (1 / efficiency[0] - 1 / efficiency[2])
    middle = seconds[2] + slope * (1 / efficiency[1] - 1 / efficiency[2])
    assert seconds[1] == pytest.approx(middle, rel=1e-12)
    step = healthy_step(design.cases[0].scenario)
    assert step.communication_s > 0


def test_columns_predict_what_their_scenarios_do(tmp_path):
    case = cases_of(tmp_path, [{"micro_batch": "", "interleave_factor": ""}])[0]
    design = design_of(plain([case]))
    found = np.exp(design.log_step(np.full((1, 1), 0.4), np.zeros((1, 1, 0)), np.zeros((1, 0))))[0]
    efficiency = special.expit(0.4)
    for place, item in enumerate(case.configurations["full"]):
        kernel = replace(item.scenario.kernel, kernel_efficiency=efficiency)
        seconds = float(healthy_step(replace(item.scenario, kernel=kernel)).total_s)
        columns = slice(place * len(TAILS), (place + 1) * len(TAILS))
        assert found[columns] == pytest.approx(seconds, rel=1e-12)


def test_evidence_agrees_with_quadrature_over_the_scores(tmp_path):
    """Three scores integrated on a grid; Laplace's error is of the curvature of log seconds."""
    design = design_of(plain(cases_of(tmp_path, [{}, {"micro_batch": 4, "seconds_per_step": 15}])))
    one = problems(1, 1)
    found = fit(design, one)
    z = np.linspace(-5, 5, 81)
    grid = np.stack(np.meshgrid(z, z, z, indexing="ij"), axis=-1).reshape(-1, 3)
    many = problems(len(grid), 1)
    value = predict(design, grid, many)
    rows, *_ = row_log_density(design, value, np.ones_like(value, dtype=bool), many.residual)
    log = rows.sum(axis=1) - 0.5 * (grid**2).sum(axis=1) - 1.5 * np.log(2 * np.pi)
    exact = special.logsumexp(log) + 3 * np.log(z[1] - z[0])
    assert found.converged.all()
    assert found.log_evidence[0] == pytest.approx(exact, abs=0.02)


def test_row_density_is_a_mixture_of_two_normals(tmp_path):
    design = design_of(plain(cases_of(tmp_path, [{}])))
    value = np.full((1, len(design.row_of)), design.log_seconds[0] - 0.1)
    density, *_ = row_log_density(design, value, np.ones((1, 2), dtype=bool), np.array([0.05]))
    (p, _), (q, wide) = TAILS
    by_hand = p * np.exp(-0.5 * 2.0**2) / 0.05 + q * np.exp(-0.5 * (2 / wide) ** 2) / 0.05 / wide
    assert density[0, 0] == pytest.approx(np.log(by_hand / np.sqrt(2 * np.pi)))


def test_system_left_out_keeps_its_priors(tmp_path):
    design = design_of(plain(cases_of(tmp_path, [{}, {"system": "Other 20B"}])))
    held = problems(1, 2)
    held.active[0, 1] = False
    found = fit(design, held)
    layout = Layout.of(design)
    *_, systems, _ = layout.parts(found.mode)
    assert systems[0, 1] == pytest.approx(0.0, abs=1e-9)
    place = layout.common + 1
    assert found.precision[0, place, place] == pytest.approx(1.0)
    assert systems[0, 0] != pytest.approx(0.0, abs=1e-3)


def simulated(tmp_path, *, systems, rows, between, residual, seed):
    """Cases whose seconds are drawn from the hierarchy."""
    rng = np.random.default_rng(seed)
    changes = [
        {"system": f"{chr(65 + g)}stack {r}", "global_batch_seqs": 256 * (r + 1)}
        for g in range(systems)
        for r in range(rows)
    ]
    cases = cases_of(tmp_path, [{**change, "seconds_per_step": 500} for change in changes])
    design = design_of(plain(cases))
    logit = LOCATION + LOCATION_SCALE * 0.5 + between * rng.standard_normal((1, systems))
    log = design.log_step(logit, np.zeros((1, systems, 0)), np.zeros((1, 0)))[0, design.row_starts]
    noise = residual * rng.standard_normal(len(cases))
    return [
        replace(case, seconds=float(np.exp(value)))
        for case, value in zip(design.cases, log + noise, strict=True)
    ]


def left_out_coverage(cases, *factors):
    """Share of rows within so many half-widths of the 80% interval, and the mean spread."""
    setup = plain(cases)
    groups = list(dict.fromkeys(case.group for case in cases))
    reach, spreads = [], []
    for group, posterior in zip(
        groups, condition(setup, [frozenset([g]) for g in groups]), strict=True
    ):
        found = foretell(posterior, group, draws=1000, seed=3)
        log = np.log([cases[row].seconds for row in found.rows])
        middle = np.median(found.log_seconds, axis=0)
        low, high = np.quantile(found.log_seconds, (0.1, 0.9), axis=0)
        reach.append(np.abs(log - middle) / np.where(log > middle, high - middle, middle - low))
        spreads.append(posterior.mean("systems_sd"))
    reached = np.concatenate(reach)
    return [float((reached <= factor).mean()) for factor in factors], float(np.mean(spreads))


def test_intervals_hold_on_systems_drawn_from_the_hierarchy(tmp_path):
    """20 systems of 2 rows: an 80% interval holds in 0.8 ± 0.09 (one effect a system)."""
    cases = simulated(tmp_path, systems=20, rows=2, between=0.3, residual=0.03, seed=5)
    (held, third), spread = left_out_coverage(cases, 1.0, 1 / 3)
    error = np.sqrt(0.8 * 0.2 / 20)
    assert abs(held - 0.8) < 3 * error
    assert 0.2 < spread < 0.42
    # Negative control: a third of the width does not.
    assert third < 0.8 - 3 * error


def test_unstated_recomputation_is_one_choice_of_a_system(tmp_path):
    cases = cases_of(
        tmp_path,
        [
            {"recompute": "", "seconds_per_step": 12},
            {"recompute": "", "system": "Acme 20B again", "seconds_per_step": 12},
            {"system": "Other 20B"},
        ],
    )
    assert set(open_recomputes(cases)) == {"Acme, A100"}
    [posterior] = condition(plain(cases), [frozenset()])
    assert len(posterior.parts) == 3
    assert sum(float(weight.sum()) for weight in posterior.weights) == pytest.approx(1.0)
    # Fast steps: full recomputation would need a far better kernel.
    fractions = [float(weight.sum()) for weight in posterior.weights]
    assert fractions[2] < 0.1


def test_same_seed_gives_the_same_predictions(tmp_path):
    cases = cases_of(tmp_path, [{}, {"system": "Other 20B"}])
    tables = [
        evaluate(cases, read_catalogue(), name="published", refinements=(), draws=200).table
        for _ in range(2)
    ]
    assert tables[0].equals(tables[1])


def test_form_reads_only_the_unknowns_of_its_formulas():
    cases, _ = judge(shipped_rows())
    published = setup_of(cases, read_catalogue(), ())
    refined = setup_of(cases, read_catalogue(), ("kernel_size", "overlap_window"))
    paths = [{unknown.path for unknown in setup.own} for setup in (published, refined)]
    assert paths[0] - paths[1] == {f"parallelism.overlap_{kind}" for kind in ("dp", "tp", "pp")}
    assert not published.shared
    assert {unknown.path for unknown in refined.shared} == {
        "kernel.half_hidden",
        "kernel.half_width",
        "kernel.half_tokens",
    }


def test_line_through_a_series_is_exact_on_a_line():
    line = line_through(np.array([1.0, 2.0, 4.0]), np.array([5.0, 7.0, 11.0]))
    assert (line.fixed_s, line.each_s) == (pytest.approx(3.0), pytest.approx(2.0))


def test_series_of_batches_is_found_and_explained(tmp_path):
    """Seconds of the model itself at four batches: explained to what the priors cost."""
    batches = (256, 512, 1024, 2048)
    cases = cases_of(
        tmp_path,
        [
            {"system": f"Acme gbs {n}", "global_batch_seqs": n, "seconds_per_step": 900}
            for n in batches
        ],
    )
    design = design_of(plain(cases))
    log = design.log_step(np.full((1, 1), 0.4), np.zeros((1, 1, 0)), np.zeros((1, 0)))[0]
    cases = [
        replace(case, seconds=float(np.exp(value)))
        for case, value in zip(cases, log[design.row_starts], strict=True)
    ]
    [series] = find_series(cases)
    found = explain(series, read_catalogue(), form="published", refinements=())
    assert found.is_explained
    assert found.microbatches == (16.0, 32.0, 64.0, 128.0)
    # Negative control: a second batch twice as slow is no line.
    broken = [replace(cases[0], seconds=cases[0].seconds * 1.5), *cases[1:]]
    assert not explain(broken, read_catalogue(), form="published", refinements=()).is_explained


def evaluation(table, log_density):
    return Evaluation(
        name="x",
        refinements=(),
        table=table.assign(log_density=log_density),
        spreads={},
        constants={},
        unconverged=0.0,
    )


def test_stacking_weight_maximises_the_density_of_the_mixture(tmp_path):
    cases = cases_of(tmp_path, [{}, {"system": "Other 20B"}])
    table = evaluate(cases, read_catalogue(), name="published", refinements=(), draws=100).table
    better, worse = evaluation(table, [1.0, 1.0]), evaluation(table, [0.0, 0.0])
    assert stacking_weight(better, worse) == 1.0
    assert stacking_weight(worse, better) == 0.0
    # Each is right once: 1/2 by symmetry, to four errors of a mean of weights between 0 and 1.
    one, other = evaluation(table, [1.0, 0.0]), evaluation(table, [0.0, 1.0])
    error = 0.5 / np.sqrt(RESAMPLES)
    assert stacking_weight(one, other) == pytest.approx(0.5, abs=4 * error)
    assert gain(better, worse).log_density.value == pytest.approx(1.0)
    assert gain(better, worse).wins
    # Two systems, both won: (2 + 1)/(2 + 2).
    assert next_system(better, worse) == 0.75
    assert next_system(one, other) == 0.5


@pytest.mark.slow
def test_posterior_agrees_with_nuts_on_another_implementation(tmp_path):
    """PyMC on seconds = a/efficiency + b, worked out beside the code under test.

    Means of the spreads within 0.4 posterior sd of 4,000 NUTS draws: the lattice is coarse and
    ends at 1.8 prior sd, and Laplace's method leaves a spread between systems a quarter sd low.
    """
    import nutpie
    import pymc as pm
    import pytensor

    pytensor.config.numba__fastmath = False
    cases = simulated(tmp_path, systems=8, rows=3, between=0.3, residual=0.04, seed=11)
    design = design_of(plain(cases))
    points = np.array([0.3, 0.7])
    logit = np.repeat(special.logit(points)[:, None], 8, axis=1)
    seconds = np.exp(design.log_step(logit, np.zeros((2, 8, 0)), np.zeros((2, 0))))
    seconds = seconds[:, design.row_starts]
    a = (seconds[0] - seconds[1]) / (1 / points[0] - 1 / points[1])
    b = seconds[0] - a / points[0]
    (p, _), (q, wide) = TAILS
    with pm.Model() as model:
        location, kind = pm.Normal("location"), pm.Normal("kind")
        systems = pm.Normal("systems", shape=8)
        scores = pm.Normal("spreads", shape=3)
        accelerators_sd = 0.15 * pm.math.exp(0.7 * scores[0])
        systems_sd = 0.25 * pm.math.exp(0.6 * scores[1])
        residual = 0.08 * pm.math.exp(0.8 * scores[2])
        common = LOCATION + LOCATION_SCALE * location + accelerators_sd * kind
        efficiency = pm.math.sigmoid(common + systems_sd * systems[design.system_of_row])
        mean = pm.math.log(a / efficiency + b)
        parts = [pm.Normal.dist(mean, residual * width) for width in (1.0, wide)]
        pm.Mixture("log_seconds", w=[p, q], comp_dists=parts, observed=design.log_seconds)
    trace = nutpie.sample(
        nutpie.compile_pymc_model(model, backend="numba"),
        draws=1000,
        tune=1000,
        chains=4,
        seed=7,
        progress_bar=False,
        target_accept=0.95,
    )
    sampled = np.asarray(trace.posterior["spreads"]).reshape(-1, 3)
    [posterior] = condition(plain(cases), [frozenset()])
    spreads = (("systems_sd", 0.25, 0.6), ("residual", 0.08, 0.8))
    for place, (name, median, sigma) in enumerate(spreads, start=1):
        draws = median * np.exp(sigma * sampled[:, place])
        assert abs(posterior.mean(name) - draws.mean()) < 0.4 * draws.std(), name
    found = foretell(posterior, design.systems[0], draws=4000, seed=1)
    assert np.isfinite(found.log_density).all()
