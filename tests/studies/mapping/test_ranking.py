"""Cells: the published winners, common draws, doubling, and what an impossible one says."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from decision.outcomes import evaluate
from decision.ranking import rank_options
from model.errors import InputError
from studies.experiments.ranking import MAP_SCALES
from studies.mapping.axes import Axis
from studies.mapping.grid import Grid
from studies.mapping.ranking import IMPOSSIBLE, RANKED, SEPARATED
from studies.mapping.regime import Ground
from studies.mapping.request import PUBLISHED_COLUMNS, PUBLISHED_ROWS
from studies.mapping.sample import Sample
from tests.studies.mapping.cases import OVERSUBSCRIPTION, POINT, QUESTION, RATE, drawn, grid, ranked
from tests.studies.published import published

SCALES = Axis(path="scale", values=MAP_SCALES, numeric=True, whole=True)
PUBLISHED = Grid(panels=(SCALES,), rows=PUBLISHED_ROWS, columns=PUBLISHED_COLUMNS)


@pytest.fixture(scope="module")
def at_point_values() -> pd.DataFrame:
    return ranked(PUBLISHED, POINT, solver="published")


def test_map_at_point_values_has_the_published_winners(at_point_values):
    # Source: e3 of the published study, claim 5: 96 of 144 cells in scope; 30/30 and 28/5/3.
    scoped = at_point_values[at_point_values["p_out_of_scope"] == 0]
    counts = Counter(zip(scoped["scale"], scoped["winner"], strict=True))
    assert len(at_point_values) == 144
    assert counts == {
        (16_384, "straggler_control"): 30,
        (16_384, "reliability_2x"): 30,
        (65_536, "reliability_2x"): 28,
        (65_536, "bandwidth_4x"): 5,
        (65_536, "straggler_control"): 3,
    }


def test_map_at_point_values_agrees_with_the_published_table_cell_by_cell(at_point_values):
    key = ["failure_rate_per_node_day", "oversubscription", "n_accelerators"]
    names = dict(zip((RATE, OVERSUBSCRIPTION, "scale"), key, strict=True))
    both = [
        table.round({key[0]: 12})
        for table in (at_point_values.rename(columns=names), published("e3_winners.csv"))
    ]
    joined = both[0].merge(both[1], on=key, suffixes=("", "_published"))
    scoped = joined[joined["p_out_of_scope"] == 0]
    assert (len(joined), len(scoped)) == (144, 96)
    assert (scoped["winner"] == scoped["winner_published"]).all()
    # 1e-9: what both sides hold conservation to.
    np.testing.assert_allclose(scoped["sea_p50"], scoped["winner_sea"], rtol=1e-9)


def test_cell_ranks_as_the_ranking_of_its_regime():
    ground = drawn(600)
    [row] = ranked(grid(x=f"{RATE}=4e-3,8e-3"), ground).head(1).to_dict("records")
    columns = dict(ground.samples[""].columns)
    columns[RATE] = np.full(600, 4e-3)
    ranking = rank_options(evaluate(QUESTION, columns), None)
    assert row["winner"] == ranking.leader.option
    assert row["second"] == ranking.standings[1].option
    assert row["recommended"] == ranking.recommended.option
    assert row["p_out_of_scope"] == pytest.approx(ranking.p_out_of_scope)
    assert row["p_first"] == pytest.approx(ranking.leader.p_first)
    assert row["p_first_mcse"] == pytest.approx(ranking.leader.p_first_mcse)
    assert row["expected_regret"] == pytest.approx(ranking.leader.expected_regret, rel=1e-9)
    for standing in ranking.standings:
        name = standing.option
        assert row[f"p_first.{name}"] == pytest.approx(standing.p_first)
        assert row[f"gain_mean.{name}"] == pytest.approx(standing.gain_mean, rel=1e-9, abs=1e-9)
        assert row[f"p_unattainable.{name}"] == pytest.approx(standing.p_unattainable)
        assert row[f"sea_p50.{name}"] == pytest.approx(standing.sea_quantiles[1], rel=1e-9)


def test_pinned_axis_replaces_the_draws_of_its_parameter_alone():
    shape = grid(x=f"{OVERSUBSCRIPTION}=1,7")
    first = drawn(50)
    columns = dict(first.samples[""].columns)
    other = replace(
        first,
        samples={
            "": replace(first.samples[""], columns={**columns, OVERSUBSCRIPTION: np.full(50, 3.0)})
        },
    )
    assert ranked(shape, first).equals(ranked(shape, other))


def test_shifted_axis_keeps_the_spread_of_the_draws():
    path = "reliability.detect_time_s"
    ground = drawn(64, reliability__detect_time_s=True)
    _, columns = ground.pose({path: 200.0})
    before = ground.samples[""].columns[path]
    assert np.median(columns[path]) == pytest.approx(200.0)
    np.testing.assert_allclose(columns[path] / before, columns[path][0] / before[0], rtol=1e-12)
    _, moved = drawn(64, reliability__detect_time_s=False).pose({path: 200.0})
    np.testing.assert_allclose(moved[path] - before, moved[path][0] - before[0], rtol=1e-9)


def test_draws_around_zero_cannot_be_moved_by_a_factor():
    ground = drawn(9, reliability__detect_time_s=True)
    columns = {"reliability.detect_time_s": np.zeros(9), RATE: np.full(9, 5e-3)}
    zero = replace(ground, samples={"": Sample(columns=columns)})
    with pytest.raises(InputError, match="leave out :log"):
        zero.pose({"reliability.detect_time_s": 60.0})


def test_draws_all_pinned_still_count():
    columns = {RATE: np.linspace(1e-3, 1e-2, 30)}
    sample = Sample(columns=columns, own={RATE: 5e-3})
    ground = Ground(questions={("", ""): QUESTION}, samples={"": sample}, shifting={})
    table = ranked(grid(x=f"{RATE}=2e-3,2e-2"), ground)
    assert table["draws"].tolist() == [30, 30]
    assert table["p_first"].tolist() == [1.0, 1.0]


def test_cells_double_their_draws_until_the_winner_is_separated():
    ground = drawn(200, doublings=3)
    table = ranked(grid(x=f"{RATE}=1e-3:1.2e-2:12"), ground, doublings=3)
    clear = table["margin"] > SEPARATED * table["margin_mcse"]
    assert (table["separated"] == clear).all()
    assert (table["draws"] == 200 * 2 ** table["stage"]).all()
    assert (table["draws"][~clear] == 1600).all()
    assert set(table["stage"]) > {0}
    assert (table["stage"] == 0).any()
    # A cell that stopped is what the same cell is on as many draws without any rule.
    early = int(np.flatnonzero(table["stage"] == 1)[0])
    first = ground.samples[""]
    columns = {path: column[:400] for path, column in first.columns.items()}
    fewer = replace(ground, samples={"": Sample(columns=columns, own=first.own)})
    again = ranked(grid(x=f"{RATE}=1e-3:1.2e-2:12"), fewer)
    for name in ("winner", "p_first", "expected_regret", "sea_p50", "p_unattainable"):
        assert again[name][early] == table[name][early]


def test_point_winner_is_that_of_a_map_at_point_values():
    shape = grid(x=f"{RATE}=1e-3:1e-2:6", y=f"{OVERSUBSCRIPTION}=1,16")
    assert ranked(shape, drawn(20))["point_winner"].equals(ranked(shape, POINT)["winner"])


def test_impossible_cell_is_named_and_the_others_are_ranked():
    # 12 ranks of tensor parallelism do not divide 128 attention heads.
    table = ranked(grid(x="parallelism.tp=8,12,16"), drawn(20))
    assert table["status"].tolist() == [RANKED, IMPOSSIBLE, RANKED]
    assert "got 12, which does not divide model.n_heads = 128" in table["reason"][1]
    assert table["winner"].isna().tolist() == [False, True, False]


def test_cell_too_small_for_a_replica_is_impossible():
    table = ranked(grid(scales=(64, 4096)), drawn(20))
    assert table["status"].tolist() == [IMPOSSIBLE, RANKED]
    assert "holds no replica" in table["reason"][0]


def test_draws_shifted_out_of_range_make_the_cell_impossible():
    table = ranked(
        grid(x="reliability.straggler_cv=0.001,0.03"), drawn(50, reliability__straggler_cv=False)
    )
    assert table["status"].tolist() == [IMPOSSIBLE, RANKED]
    assert "allowed is a finite number" in table["reason"][0]
