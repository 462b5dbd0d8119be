"""Utilities carried in a page: against the model they stand for."""

import base64
import gzip
import json

import numpy as np
import pytest

from decision.finished import read_past
from decision.surface import chords, fit
from decision.utility import Pools
from decision.what_if import SHAPE_STEP, break_evens, reach_of, what_if
from model.errors import InputError
from tests.runs import rank_into

COSTS = """\
interventions:
  reliability_2x: {lognormal: {median: 200, sigma: 0.5}}
  fast_restart: 60
  add_spares: 350
  flat_fabric: 100
"""

LATE = """\
interventions:
  - name: late
    multipliers: {reliability.failure_rate_per_node_day: {uniform: {low: 0.3, high: 0.6}}}
    probability_of_delivery: 0.8
    effective_from_day: 180
  - {name: spares, overrides: {reliability.spare_fraction: 0.06}}
"""

DRAWS = 700


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    directory = tmp_path_factory.mktemp("surface")
    (directory / "costs.yaml").write_text(COSTS)
    only = "reliability_2x,fast_restart,add_spares,flat_fabric"
    costs = ("--costs", str(directory / "costs.yaml"), "--only", only)
    return read_past(rank_into(directory / "run", "--draws", str(DRAWS), *costs), "RUN")


def question_of(run):
    return run.inputs.questions[0][1]


def fitted(run, low, high, **options):
    return fit(question_of(run), run.draws.columns, run.count, low=low, high=high, **options)


def furthest(surface, pools, low, high, seed=5):
    """Largest difference from the model at pools anywhere between both ends."""
    added = np.random.default_rng(seed).uniform(low, high, 60)
    pivots = surface.pivots()
    return max(
        float(
            np.abs(
                surface.value(k, added, pivots)
                - pools.value(k, np.broadcast_to(added, (pools.draws, added.size)))
            ).max()
        )
        for k in range(len(surface.options))
    )


@pytest.mark.parametrize(("low", "high"), [(-0.0, 2000.0), (-3000.0, 500.0)])
def test_surface_is_the_model_within_the_error_it_states(run, low, high):
    surface = fitted(run, low, high)
    pools = Pools.of(question_of(run), run.draws.columns, run.count)
    found = furthest(surface, pools, low, high)
    assert found <= surface.error < 2e-5
    assert surface.coordinates.shape[1] < 100  # far fewer than nodes times options
    assert np.array_equal(surface.coordinates, np.rint(surface.coordinates))


def test_surface_holds_at_the_edges_of_what_can_be_owned(run):
    """Down to no pool at all, where nothing is produced."""
    surface = fitted(run, -16876.0, 100.0)
    pivots = surface.pivots()
    gone = surface.value(0, np.array([-16876.0]), pivots)
    assert np.abs(gone).max() <= surface.error
    pools = Pools.of(question_of(run), run.draws.columns, run.count)
    assert furthest(surface, pools, -16876.0, 100.0) <= surface.error


def test_options_that_come_late_or_are_replanned_are_carried_too(tmp_path):
    (tmp_path / "late.yaml").write_text(LATE)
    arguments = ("--draws", "300", "--interventions", str(tmp_path / "late.yaml"))
    run = read_past(rank_into(tmp_path / "run", *arguments), "RUN")
    columns = {
        **run.draws.columns,
        **{n: run.part("", n) for n in run.table if n.startswith("intervention.")},
    }
    surface = fit(question_of(run), columns, run.count, low=-0.0, high=1000.0)
    pools = Pools.of(question_of(run), columns, run.count)
    assert furthest(surface, pools, -0.0, 1000.0) <= surface.error < 2e-5


def test_pools_that_differ_between_draws_are_refused(run):
    """An uncertain share of spares moves the pools of every draw."""
    shares = np.random.default_rng(2).uniform(0.01, 0.06, run.count)
    columns = {**run.draws.columns, "reliability.spare_fraction": shares}
    with pytest.raises(InputError, match="differs between draws"):
        fit(question_of(run), columns, run.count, low=-0.0, high=1000.0)


def test_more_plans_than_a_page_holds_are_refused(run):
    with pytest.raises(InputError, match=r"span \d+ plans"):
        fitted(run, -0.0, 400_000.0)


def test_less_room_keeps_coordinates_less_finely(run):
    fine, coarse = fitted(run, -0.0, 1000.0), fitted(run, -0.0, 1000.0, room_bytes=1.0)
    assert (fine.step, coarse.step) == (1e-6, 1e-5)
    assert fine.error < coarse.error < 1e-4


def test_chords_are_straight_between_nodes_and_exact_at_them():
    nodes = np.array([0.0, 10.0, 30.0])
    weights = np.array([[1.0, 0.0, 2.0], [0.0, 1.0, -1.0]])
    found = chords(weights, nodes, np.array([0.0, 5.0, 10.0, 20.0, 30.0]))
    assert found == pytest.approx(np.array([[1, 0.5, 0, 1, 2], [0, 0.5, 1, 0, -1]]))


def test_break_evens_follow_from_the_utilities(run):
    """Against the exact search of the run: first crossing on the chords of realisable pools."""
    surface = fitted(run, -0.0, 3000.0)
    sea = run.outcomes("").sea
    found = break_evens(surface, surface.pivots(), 2 * surface.error)
    inside = (sea > 0) & (sea < 3000.0)
    assert inside.mean() > 0.5
    assert np.abs(found[inside] - sea[inside]).max() < 1e-4
    assert (found[sea <= 0] == 0).all()
    assert (found[sea > 3001.0] == np.inf).all()


def test_what_cannot_be_said_from_the_utilities_is_listed(run):
    """Break-evens beyond what can be set matter where a cost may turn out above it."""
    [answer] = what_if(run)["answers"]
    count = answer["arrays"]["missed_sea"][1]
    sea, reach = run.outcomes("").sea, answer["reach"]
    uncertain = run.options.index("reliability_2x")
    assert answer["uncertain"] == [uncertain]
    beyond = np.count_nonzero(np.isfinite(sea[:, uncertain]) & (sea[:, uncertain] > reach))
    assert 0 < count <= beyond


def test_block_of_bytes_unpacks_to_the_costs_of_the_run(run):
    """Read as the documentation says, without the code that wrote it."""
    [answer] = what_if(run)["answers"]
    data = gzip.decompress(base64.b64decode(answer["data"]))
    sizes = {"float64": 8, "uint32": 4}
    offset = sum(sizes[kind] * size for kind, size in answer["arrays"].values())
    columns = []
    for width, lowest in zip(answer["widths"], answer["lowest"], strict=True):
        total = np.zeros(DRAWS, dtype=np.int64)
        for plane in range(width):
            raw = np.frombuffer(data, dtype=np.uint8, count=DRAWS, offset=offset)
            total += raw.astype(np.int64) << (8 * plane)
            offset += DRAWS
        columns.append(total + lowest)
    assert offset == len(data)
    uncertain = run.options.index("reliability_2x")
    costs = columns[-1] * SHAPE_STEP * answer["costs"][uncertain]
    assert costs == pytest.approx(run.part("", "cost.reliability_2x"), rel=1e-8)


def test_same_run_gives_the_same_bytes(run):
    assert json.dumps(what_if(run)) == json.dumps(what_if(run))


def test_reach_covers_break_evens_costs_and_budget():
    answer = {"baseline": {"pool": 16876}}
    sea = np.tile([0.0, 700.0, np.inf], (5, 1))
    assert reach_of(sea, np.array([0.0, 100.0, 100.0]), None, answer) == 700.0
    assert reach_of(sea, np.array([0.0, 301.0, 100.0]), None, answer) == 910.0
    assert reach_of(sea, np.array([0.0, 100.0, 100.0]), 1001.0, answer) == 3100.0
    assert reach_of(100 * sea, np.array([0.0, 1.0, 1.0]), None, answer) == 4300.0


def test_run_of_another_model_is_refused(run, tmp_path):
    table = dict(run.table)
    table["gain_fast_restart"] = table["gain_fast_restart"] + 1.0
    from dataclasses import replace

    with pytest.raises(InputError, match="no longer gives"):
        what_if(replace(run, table=table))
