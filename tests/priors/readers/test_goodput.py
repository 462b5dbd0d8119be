"""Goodput exports."""

import json

import pytest

from model.errors import InputError
from priors.observations import Ettr, Interruptions
from tests.priors.readers.files import REFERENCE, reading, values_of

EXPORT = {
    "goodput_time": {"TOTAL": 90_000.0},
    "badput_time": {
        "TPU_INITIALIZATION": 1_000.0,
        "WASTED_PROGRESS_FROM_DISRUPTION": 5_000.0,
        "DATA_LOADING_ASYNC": 700.0,
        "CUSTOM_BADPUT_EVENTS": {"eval": 3_000.0, "sdc": 1_000.0},
    },
    "disruption_count": 3,
}


def export(tmp_path, **changes):
    return reading(tmp_path, json.dumps(EXPORT | changes), scenario=REFERENCE)


def test_productive_over_elapsed_is_the_ratio(tmp_path):
    found = export(tmp_path, total_elapsed_time=120_000.0)
    ettr, count = found.observations
    assert isinstance(ettr, Ettr)
    assert ettr.value == pytest.approx(0.75)
    assert isinstance(count, Interruptions)
    assert count.events == 3
    # 16,384 accelerators are 2,048 nodes of eight.
    assert count.node_days == pytest.approx(2048 * 120_000 / 86_400, rel=1e-5)


def test_without_elapsed_time_blocking_badput_makes_the_total(tmp_path):
    # Background loading stops nothing: 90,000 of 90,000 + 10,000.
    assert export(tmp_path).observations[0].value == pytest.approx(0.9)


def test_nested_types_are_summed(tmp_path):
    assert values_of(export(tmp_path))["CUSTOM_BADPUT_EVENTS"] == 4_000.0


def test_percentage_is_a_share(tmp_path):
    text = json.dumps({"goodput": 85.5, "badput_breakdown": {"OTHER": 14.5}})
    assert reading(tmp_path, text, scenario=REFERENCE).observations[0].value == pytest.approx(0.855)


@pytest.mark.parametrize("text", ['{"badput_time": {}', '{"badput_time": {"OTHER": 1}}'])
def test_export_without_an_answer_is_refused(tmp_path, text):
    with pytest.raises(InputError, match="line 1"):
        reading(tmp_path, text, form="goodput", scenario=REFERENCE)
