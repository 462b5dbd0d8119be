"""The decision map as picture and text: nothing rests on colour, and nothing is left out."""

import copy
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from reports.map_figures import draw_map, write_map_figures
from reports.map_panel import saturation, shade
from reports.map_text import render
from reports.map_words import axis_value, short_names
from reports.palette import NEUTRAL

OPTIONS = ["do_nothing", "reliability_2x", "fast_restart", "fast_reaction", "bandwidth_4x"]


def cell(row: int, column: int, winner: str = "reliability_2x", **changes: Any) -> dict[str, Any]:
    """A cell that is plain unless told otherwise."""
    return {
        "row": row,
        "column": column,
        "status": "ranked",
        "reason": "",
        "draws": 5000,
        "winner": winner,
        "p_first": 0.62,
        "p_first_mcse": 0.007,
        "contested": False,
        "expected_regret": 120.0,
        "p_out_of_scope": 0.0,
        "point_winner": winner,
    } | changes


def axis(path: str, values: list[Any], **changes: Any) -> dict[str, Any]:
    return {
        "path": path,
        "meaning": "a quantity",
        "unit": "s",
        "values": values,
        "spacing": "linear",
        "shifts": False,
    } | changes


@pytest.fixture
def content() -> dict[str, Any]:
    """A map of two panels with everything that can happen to a cell."""
    cells = [
        cell(0, 0),
        cell(0, 1, "bandwidth_4x", contested=True, p_first=0.4),
        cell(1, 0, "fast_restart", p_out_of_scope=0.9, point_winner="reliability_2x"),
        {"row": 1, "column": 1, "status": "impossible", "reason": "tp: got 12", "draws": None},
    ]
    crossing = {
        "first": "reliability_2x",
        "second": "bandwidth_4x",
        "along": "column",
        "low_in_panel": 0,
        "place": 0.5,
        "place_low": 0.4,
        "place_high": 0.7,
        "value": 15.0,
        "value_low": 14.0,
        "value_high": 17.0,
        "low_open": False,
        "high_open": True,
    }
    panel = {
        "title": "16,384 accelerators",
        "cells": cells,
        "crossings": [crossing],
        "lines": [],
        "untraced": [],
        "own": [0.1, 0.2],
        "measured": [],
    }
    other = {**panel, "title": "65,536 accelerators", "own": None, "crossings": []}
    other["measured"] = [
        {"along": "row", "place": place, "value": 1.0, "name": name}
        for place, name in ((0.2, "one_fleet"), (0.25, "another_fleet"))
    ]
    return {
        "question": {
            "scenario": "ours",
            "scenarios": ["ours"],
            "options": OPTIONS,
            "source": "prior",
            "draws": 5000,
            "doublings": 2,
        },
        "columns": axis("model.seq_len", [10, 20]),
        "rows": axis("reliability.failure_rate_per_node_day", [0.001, 0.0301]),
        "panel_axes": [],
        "panels": [panel, other],
        "unconverged": [],
        "notes": ["A note."],
        "warnings": [],
    }


def texts_of(content: dict[str, Any]) -> list[Text]:
    [figure] = draw_map(content)
    return [text for text in figure.findobj(Text) if text.get_text().strip()]


def test_figure_letters_every_cell_with_its_winner_and_share(content):
    shown = [text.get_text() for text in texts_of(content)]
    for letters in ("R2 62", "B4 40", "FR 62"):
        assert shown.count(letters) == 2


def test_figure_has_no_text_below_eight_points(content):
    assert min(text.get_fontsize() for text in texts_of(content)) >= 8.0


def test_figure_hatches_contested_cells_only(content):
    def hatched() -> int:
        [figure] = draw_map(content)
        patches = [p for axes in figure.axes for p in axes.patches if isinstance(p, Rectangle)]
        return sum(bool(patch.get_hatch()) for patch in patches)

    assert hatched() == 2
    for panel in content["panels"]:
        panel["cells"][1]["contested"] = False
    assert hatched() == 0


def test_figure_explains_only_what_it_shows(content):
    everything = " ".join(text.get_text() for text in texts_of(content))
    for words in ("too close to call", "out of scope", "impossible", "corner:", "as described"):
        assert words in everything
    plain = copy.deepcopy(content)
    for panel in plain["panels"]:
        panel["cells"] = [cell(row, column) for row in (0, 1) for column in (0, 1)]
        panel["own"] = None
    legend = {text.get_text() for text in texts_of(plain)}
    assert not legend & {"too close to call", "out of scope", "impossible", "as described"}


def test_figure_names_measured_rates_apart(content):
    named = [text for text in texts_of(content) if "fleet" in text.get_text()]
    assert {text.get_text() for text in named} == {"one fleet", "another fleet"}
    heights = sorted(text.get_position()[1] for text in named)
    assert heights[1] - heights[0] >= 0.7


def test_surer_winners_have_fuller_colours():
    shares = np.linspace(0.0, 1.0, 21)
    full = [saturation(share) for share in shares]
    assert np.all(np.diff(full) >= 0)
    assert shade("#0072B2", 1.0) == pytest.approx(to_rgb("#0072B2"))
    grey = [np.dot(shade(NEUTRAL, share), (0.299, 0.587, 0.114)) for share in (0.4, 0.7, 1.0)]
    assert grey[0] > grey[1] > grey[2]


def test_same_map_gives_the_same_picture(content, tmp_path):
    [first], [second] = (write_map_figures(content, tmp_path / name) for name in "ab")
    assert first.read_bytes() == second.read_bytes()


def test_many_panels_go_to_several_figures(content):
    content["panels"] = content["panels"] * 4
    assert len(draw_map(content)) == 2


@pytest.mark.parametrize("width", [80, 100, 120])
def test_text_keeps_to_the_width(content, width):
    assert max(map(len, render(content, width=width).splitlines())) <= width


def test_text_shows_every_cell_and_says_what_marks_mean(content):
    text = render(content)
    for shown in ("R2 62", "B4 40~", "(FR 62)", "×", "tp: got 12", "A note.", "65,536"):
        assert shown in text
    assert "impossible, 2 of the regimes: tp: got 12" in text
    assert "reliability ×2 → bandwidth ×4 at 15 [14, …]" in text


def test_text_says_where_a_boundary_could_not_be_traced(content):
    content["panels"][0]["untraced"] = ["tp: got 9"] * 3
    text = render(content)
    assert "not traced between 3 pairs of regimes: tp: got 9" in text


def test_text_counts_reasons_beyond_those_it_lists(content):
    cells = content["panels"][0]["cells"]
    cells += [{**cells[3], "reason": f"reason {number}"} for number in range(9)]
    # Ten reasons, of which six are listed, in both panels.
    assert "impossible, 8 of the regimes: other reasons" in render(content)


def test_map_too_wide_for_the_terminal_is_thinned_and_says_so(content):
    wide = list(range(60))
    content["columns"] = axis("model.seq_len", wide)
    content["rows"] = None
    content["panels"] = content["panels"][:1]
    content["panels"][0]["cells"] = [cell(0, column) for column in wide]
    text = render(content, width=100)
    assert "(one in 5 columns; map.csv has all)" in text
    assert max(map(len, text.splitlines())) <= 100


def test_large_map_is_drawn_without_letters(content):
    wide = list(range(30))
    content["columns"] = axis("model.seq_len", wide)
    for panel in content["panels"]:
        panel["cells"] = [cell(row, column) for row in (0, 1) for column in wide]
    assert not any(text.get_text() == "R2 62" for text in texts_of(content))


def test_text_and_figure_warn_of_a_posterior_that_did_not_converge(content):
    content["unconverged"] = ["1 divergent transition"]
    assert render(content).startswith("NOT CONVERGED")
    assert any("NOT CONVERGED" in text.get_text() for text in texts_of(content))


def test_abbreviations_are_told_apart():
    shorts = short_names(OPTIONS)
    assert shorts["reliability_2x"] == "R2"
    assert shorts["fast_restart"] == "FR"
    assert shorts["fast_reaction"] == "FR2"
    assert len(set(shorts.values())) == len(OPTIONS)


@pytest.mark.parametrize(
    ("path", "value", "shown"),
    [
        ("reliability.failure_rate_per_node_day", 0.0045, "4.5"),
        ("model.seq_len", 8192, "8,192"),
        ("topology.oversubscription", 7.0, "7"),
        ("reliability.straggler_cv", 0.012345, "0.0123"),
        ("scale", 10428.3, "10,428"),
        ("regime", "unreliable_flat", "unreliable flat"),
        ("regime", "", "as described"),
    ],
)
def test_axis_values_are_written_for_people(path, value, shown):
    assert axis_value({"path": path}, value) == shown
