"""The command that shows what refinements do: published numbers first, then each."""

import json

import pytest

from model.forms import NAMES
from studies.refinements import main, predicted_tflops


def test_first_row_is_the_published_study(capsys: pytest.CaptureFixture[str]) -> None:
    """Claims 1, 2, 3, 11 and 17 of section 5, to their printed digits."""
    assert main(["--format", "json"]) == 0
    effects = json.loads(capsys.readouterr().out)["effects"]
    published = effects[0]
    assert round(published["ucf"], 4) == 0.6274
    assert round(published["ettr"], 4) == 0.8885
    assert round(published["ucf_at"]["65536"], 3) == 0.382
    assert round(published["sea"]["bandwidth_2x"]) == 281
    assert round(published["predicted_tflops"], 1) == 406.3
    assert [one["name"] for one in effects[1:-2]] == list(NAMES)
    by_name = {one["name"]: one for one in effects}
    # A check changes no number, and waiting for detection none but the discarded share.
    assert {**by_name["gated_shape"], "name": "", "refinements": []} == {
        **published,
        "name": "",
        "refinements": [],
    }
    moved = published["discarded"] - by_name["detection_blocked"]["discarded"]
    assert moved > 0.01
    assert by_name["detection_blocked"]["ucf"] == published["ucf"]


def test_prediction_is_calibrated_at_the_smaller_size() -> None:
    # Where nothing but the size changes, refinements of the check alone leave it.
    assert predicted_tflops(("gated_shape",)) == predicted_tflops(())


def test_list_names_every_refinement_with_its_limit(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    text = capsys.readouterr().out
    assert [line.split(":")[0] for line in text.splitlines() if not line.startswith(" ")] == list(
        NAMES
    )
    assert text.count("as published at:") == len(NAMES)


def test_table_has_a_row_for_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(NAMES) + 4
    assert main(["--scenario", "nowhere"]) == 2
