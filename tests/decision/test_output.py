"""How results leave a command."""

import argparse
import json
from pathlib import Path

import pytest

from decision.output import add_output_options, as_json, show, status_of, terminal_width, wrapped
from decision.place import below_runs

CONTENT = {"name": "Čáp", "value": 1.5, "nothing": None}


def test_json_keeps_letters_and_ends_its_line():
    assert as_json(CONTENT).endswith("}\n")
    assert "Čáp" in as_json(CONTENT)
    assert json.loads(as_json(CONTENT)) == CONTENT


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_json_refuses_what_it_cannot_hold(value):
    with pytest.raises(ValueError, match="not JSON compliant"):
        as_json({"value": value})


def test_show_prints_json_alone_and_makes_no_text(capsys):
    show(CONTENT, lambda: pytest.fail("text was made"), form="json", place="Run: x")
    assert json.loads(capsys.readouterr().out) == CONTENT


@pytest.mark.parametrize(("place", "end"), [("Run: x", "text\n\nRun: x\n"), ("", "text\n")])
def test_show_prints_text_and_then_its_place(place, end, capsys):
    show(CONTENT, lambda: "text\n", form="table", place=place)
    assert capsys.readouterr().out == end


@pytest.mark.parametrize(
    ("reasons", "accepted", "status"),
    [([], False, 0), (["R-hat 1.2"], True, 0), (["R-hat 1.2", "7 divergences"], False, 3)],
)
def test_status_tells_an_unconverged_sampler_unless_it_is_accepted(
    reasons, accepted, status, capsys
):
    assert status_of(reasons, accepted=accepted, what="map", place=Path("runs/m")) == status
    said = capsys.readouterr().err
    assert bool(said) == (status == 3)
    assert not said or ("R-hat 1.2; 7 divergences" in said and "the map is written" in said)


@pytest.mark.parametrize(("columns", "width"), [(20, 80), (100, 100), (500, 120)])
def test_terminal_width_is_between_narrowest_and_widest(columns, width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    assert terminal_width() == width


def test_wrapped_indents_further_lines_and_breaks_no_word():
    word = "x" * 130
    lines = wrapped(f"{'one two ' * 20}{word}", indent=2)
    assert lines[0].startswith("  one")
    assert all(line.startswith("    ") for line in lines[1:])
    assert lines[-1].strip() == word
    assert max(map(len, lines[:-1])) <= 100


@pytest.mark.parametrize("marked", ["", "run"])
def test_only_commands_that_mark_a_run_accept_an_unconverged_one(marked):
    parser = argparse.ArgumentParser()
    add_output_options(parser, query=".answers", file="x.txt", marked=marked)
    assert ("accept_unconverged" in vars(parser.parse_args([]))) == bool(marked)


def test_below_runs_names_scenario_kind_and_digest():
    digest = "0123456789abcdef"
    assert below_runs("a/../b c", digest) == Path("runs/a____b_c-0123456789ab")
    assert below_runs("x" * 90, digest, kind="map") == Path(f"runs/{'x' * 60}-map-0123456789ab")
