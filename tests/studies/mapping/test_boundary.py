"""Boundaries: against a brute-force grid, against a known root, and what their interval covers."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq

from decision.outcomes import evaluate
from decision.ranking import first_place_credit
from studies.experiments.ranking import MAP_OVERSUBSCRIPTION, MAP_RATES
from studies.mapping.boundary import trace_edges
from studies.mapping.grid import Grid
from studies.mapping.lines import points_of, segments
from studies.mapping.regime import Ground
from tests.studies.mapping.cases import (
    OVERSUBSCRIPTION,
    POINT,
    QUESTION,
    RATE,
    crossed,
    drawn,
    grid,
    ranked,
)

SCALE = 16_384
FINER = 4


def listed(path: str, values: np.ndarray) -> str:
    return f"{path}={','.join(repr(float(value)) for value in values)}"


def at_scale(ground: Ground) -> Ground:
    question = replace(QUESTION, scale=SCALE)
    return Ground(questions={("", ""): question}, samples=ground.samples, shifting={})


def finer(values: np.ndarray, *, log: bool) -> np.ndarray:
    """Each interval cut in four, as a grid four times finer has it."""
    places = np.arange(0, len(values) - 1 + 1e-9, 1 / FINER)
    mapped = np.log(values) if log else values
    found = np.interp(places, np.arange(len(values)), mapped)
    return np.exp(found) if log else found


def traced(shape: Grid, ground: Ground, *, doublings: int = 0) -> pd.DataFrame:
    table = ranked(shape, ground, doublings=doublings)
    found = trace_edges(crossed(shape, table), ground=ground)
    across = 1 if shape.columns is None else len(shape.columns.values)
    down = 1 if shape.rows is None else len(shape.rows.values)
    return found.assign(low_in_panel=found["low_cell"] % (down * across))


def heights(lines: list[dict], x: float) -> list[float]:
    """Where lines cross a column of the grid, in rows."""
    found = []
    for piece in lines:
        (x0, y0), (x1, y1) = sorted(piece["line"])
        if x0 <= x <= x1 and x1 > x0:
            found.append(y0 + (y1 - y0) * (x - x0) / (x1 - x0))
    return found


def farthest_from_brute_force(
    lines: list[dict], fine: pd.DataFrame, pairs: list[set[str]]
) -> tuple[float, int]:
    """Largest distance of a change of winner on the fine grid from the lines, in fine cells.

    A change lies between two fine cells: the distance is from the middle between them.
    """
    worst, changes = 0.0, 0
    for column, cells in fine.groupby("column"):
        names = cells.sort_values("row")["winner"].to_numpy()
        for row in np.flatnonzero(names[1:] != names[:-1]):
            if {names[row], names[row + 1]} not in pairs:
                continue
            changes += 1
            near = [abs(FINER * y - (row + 0.5)) for y in heights(lines, column / FINER)]
            worst = max(worst, min(near, default=np.inf))
    return worst, changes


@pytest.fixture(scope="module", params=["point values", "draws"])
def published_boundary(request) -> tuple[list[dict], pd.DataFrame, list[set[str]]]:
    """Lines of the published map at 16,384, winners on a grid four times finer, and the pairs."""
    rates, across = np.array(MAP_RATES), np.array(MAP_OVERSUBSCRIPTION)
    # As the published map is spaced: rates by factors, oversubscription as listed.
    coarse = grid(x=listed(OVERSUBSCRIPTION, across), y=f"{RATE}=1e-3:3e-2:12:log")
    point = request.param == "point values"
    pairs = [{"straggler_control", "reliability_2x"}]
    if not point:
        # With the uncertainty, checkpoints come between the two.
        pairs = [{one, "fast_checkpoint"} for one in sorted(pairs[0])]
    ground = at_scale(POINT if point else drawn(120))
    found = traced(coarse, ground)
    rows = found[found["status"] == "traced"].to_dict("records")
    shape = (rates.size, across.size)
    # Every fine regime with every draw in one evaluation: none of the map's own code is in it.
    down, sideways = np.meshgrid(finer(rates, log=True), finer(across, log=False), indexing="ij")
    draws = ground.samples[""].columns
    count = len(ground.samples[""])
    columns = {path: np.tile(column, down.size) for path, column in draws.items()}
    columns |= {RATE: np.repeat(down, count), OVERSUBSCRIPTION: np.repeat(sideways, count)}
    question = replace(ground.questions["", ""], solver=None)
    outcomes = evaluate(question, columns)
    shares = first_place_credit(outcomes).reshape(down.size, count, -1).mean(axis=1)
    row, column = np.divmod(np.arange(down.size), sideways.shape[1])
    names = np.array(outcomes.options, dtype=object)[shares.argmax(axis=1)]
    fine = pd.DataFrame({"row": row, "column": column, "winner": names})
    return segments(points_of(rows, shape), shape), fine, pairs


def test_boundary_lies_within_a_cell_of_a_brute_force_grid_four_times_finer(published_boundary):
    lines, fine, pairs = published_boundary
    worst, changes = farthest_from_brute_force(lines, fine, pairs)
    assert changes == len(pairs) * (FINER * (len(MAP_OVERSUBSCRIPTION) - 1) + 1)
    assert worst <= 1.0


def test_brute_force_grid_tells_a_boundary_that_is_a_cell_and_a_half_off(published_boundary):
    lines, fine, pairs = published_boundary
    moved = [{**piece, "line": [(x, y + 1.5 / FINER) for x, y in piece["line"]]} for piece in lines]
    worst, _ = farthest_from_brute_force(moved, fine, pairs)
    assert worst > 1.0


def test_boundary_at_point_values_is_where_the_gains_cross():
    names = QUESTION.options

    def ahead(rate: float) -> float:
        outcomes = evaluate(QUESTION, {RATE: np.array([rate])})
        gain = dict(zip(names, outcomes.gain[0], strict=True))
        return float(gain["straggler_control"] - gain["reliability_2x"])

    root = brentq(ahead, 1e-3, 3e-2, xtol=1e-12)
    [row] = traced(grid(x=f"{RATE}=1e-3:3e-2:4:log"), POINT).to_dict("records")
    assert (row["first"], row["second"]) == ("straggler_control", "reliability_2x")
    # A cell is a factor of 30^(1/3); roots are found to 1/256 of it.
    assert abs(np.log(row["value"] / root)) < np.log(30) / 3 / 256
    assert row["value_low"] < root < row["value_high"]


def test_boundary_names_a_third_winner_between_two_cells():
    # Between jitter and failures checkpoints win a stretch of one wide cell.
    found = traced(grid(x=f"{RATE}=1e-3:3e-2:2:log"), drawn(400))
    order = list(zip(found["first"], found["second"], strict=True))
    assert order == [
        ("straggler_control", "fast_checkpoint"),
        ("fast_checkpoint", "reliability_2x"),
    ]
    assert found["value"].is_monotonic_increasing


def test_boundary_of_integers_lies_between_two_of_them():
    found = traced(grid(x="model.seq_len=2048:8192:2"), POINT)
    traced_rows = found[found["status"] == "traced"]
    assert len(traced_rows)
    for row in traced_rows.to_dict("records"):
        assert row["value_high"] - row["value_low"] >= 1.0 - 1e-6
        assert row["value"] == pytest.approx(round(2 * row["value"]) / 2, abs=1e-6)


def test_boundary_that_meets_impossible_regimes_says_so():
    # Of the integers between 8 and 16 ranks none divides the heads.
    shape = grid(x="parallelism.tp=8,16")
    table = ranked(shape, POINT)
    assert table["winner"].nunique() == 2
    [row] = traced(shape, POINT).to_dict("records")
    assert row["status"] == "impossible"
    assert "does not divide model.n_heads" in row["reason"]


def test_interval_shrinks_with_the_root_of_the_draws():
    # The seed's first 400 draws are among the 6,400: a quarter of the width, with its own error.
    text = f"{RATE}=2e-3:5e-3:3:log"
    few, many = (traced(grid(x=text), drawn(count)) for count in (400, 6_400))
    widths = [
        float(np.log(table["value_high"].iloc[0] / table["value_low"].iloc[0]))
        for table in (few, many)
    ]
    assert 2.5 < widths[0] / widths[1] < 6.5


@pytest.mark.slow
def test_interval_covers_the_boundary_of_many_draws_as_often_as_it_says():
    shape = grid(x=f"{RATE}=1.5e-3:5e-3:3:log")
    pair = ("straggler_control", "fast_checkpoint")

    def crossing(ground: Ground) -> pd.Series:
        found = traced(shape, ground)
        [row] = [r for _, r in found.iterrows() if (r["first"], r["second"]) == pair]
        return row

    truth = float(crossing(drawn(50_000, seed=99))["value"])
    rows = [crossing(drawn(300, seed=seed)) for seed in range(120)]
    covered = np.mean([row["value_low"] <= truth <= row["value_high"] for row in rows])
    # 0.95 within three binomial errors of 120 replicates; half the width covers far less.
    error = 3 * np.sqrt(0.95 * 0.05 / 120)
    assert abs(covered - 0.95) < error
    halved = np.mean(
        [
            abs(np.log(truth / row["value"])) <= 0.25 * np.log(row["value_high"] / row["value_low"])
            for row in rows
        ]
    )
    assert halved < 0.95 - error


def test_three_winners_that_meet_are_joined_in_the_middle():
    def row(first, second, along, low, place):
        return {
            "first": first,
            "second": second,
            "along": along,
            "low_in_panel": low,
            "place": place,
            "place_low": place - 0.1,
            "place_high": place + 0.1,
            "low_open": False,
            "high_open": False,
        }

    rows = [
        row("a", "b", "column", 0, 0.4),
        row("a", "c", "row", 0, 0.6),
        row("b", "c", "row", 1, 0.3),
    ]
    pieces = segments(points_of(rows, (2, 2)), (2, 2))
    middles = {piece["line"][1] for piece in pieces}
    assert len(pieces) == 3
    assert middles == {((0.4 + 0.0 + 1.0) / 3, (0.0 + 0.6 + 0.3) / 3)}
    assert all(piece["band"] == [] for piece in pieces)


def test_line_of_one_pair_carries_the_band_of_its_intervals():
    rows = [
        {
            "first": "b",
            "second": "a",
            "along": "row",
            "low_in_panel": low,
            "place": 0.5,
            "place_low": 0.4,
            "place_high": 0.7,
            "low_open": False,
            "high_open": False,
        }
        for low in (0, 1)
    ]
    [piece] = segments(points_of(rows, (2, 2)), (2, 2))
    assert piece["pair"] == ("a", "b")
    assert piece["line"] == [(0.0, 0.5), (1.0, 0.5)]
    # The side of a, which wins above, comes first.
    assert piece["band"] == [(0.0, 0.7), (1.0, 0.7), (1.0, 0.4), (0.0, 0.4)]
