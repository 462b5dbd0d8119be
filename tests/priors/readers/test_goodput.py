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


def as_series(workload, *, replica="0"):
    """The same export as a monitoring service lists it, an older point after the newest."""
    labels = {"workload_id": workload, "replica_id": replica}
    values = [("goodput_time", "goodput_source", "TOTAL", 90_000.0)]
    values += [
        ("badput_time", "badput_source", "TPU_INITIALIZATION", 4_000.0),
        ("badput_time", "badput_source", "WASTED_PROGRESS_FROM_DISRUPTION", 6_000.0),
    ]
    points = [
        [
            {"interval": {"endTime": "2025-01-02T00:00:00Z"}, "value": {"doubleValue": value}},
            {"interval": {"endTime": "2025-01-01T00:00:00Z"}, "value": {"doubleValue": 1.0}},
        ]
        for *_, value in values
    ]
    return [
        {
            "metric": {"type": f"compute.googleapis.com/workload/{name}", "labels": {key: source}},
            "resource": {"type": "workload", "labels": labels},
            "points": some,
        }
        for (name, key, source, _), some in zip(values, points, strict=True)
    ]


def test_newest_points_of_time_series_are_the_export(tmp_path):
    text = json.dumps({"timeSeries": as_series("a")})
    found = reading(tmp_path, text, scenario=REFERENCE)
    assert found.observations[0].value == pytest.approx(0.9)
    assert values_of(found)["TPU_INITIALIZATION"] == 4000.0
    # Control: of two jobs neither stands for the other.
    two = json.dumps({"timeSeries": as_series("a") + as_series("b")})
    with pytest.raises(InputError, match="2 jobs or replicas"):
        reading(tmp_path, two, scenario=REFERENCE)


def test_metrics_as_a_list_are_the_export(tmp_path):
    metrics = [
        {
            "metric_type": item["metric"]["type"],
            "value": item["points"][0]["value"]["doubleValue"],
            "metric_labels": item["metric"]["labels"],
            "resource_labels": item["resource"]["labels"],
        }
        for item in as_series("a")
    ]
    found = reading(tmp_path, json.dumps(metrics), scenario=REFERENCE)
    assert found.observations[0].value == pytest.approx(0.9)


def test_earlier_releases_end_their_keys_in_dict(tmp_path):
    text = json.dumps(
        {"goodput_time_dict": {"TOTAL": 8e4}, "badput_time_dict": {"TPU_INITIALIZATION": 2e4}}
    )
    assert values_of(reading(tmp_path, text, scenario=REFERENCE))["goodput"] == pytest.approx(0.8)


def test_totals_beside_their_parts_count_once(tmp_path):
    changes = {"goodput_time": {"TOTAL": 9e4, "STEP": 8e4, "EVAL": 1e4}, "disruption_count": 0}
    found = export(tmp_path, **changes, badput_time={"TOTAL": 1e4, "OTHER": 1e4})
    assert values_of(found)["goodput"] == pytest.approx(0.9)


def test_a_record_a_line_is_refused_with_the_second(tmp_path):
    with pytest.raises(InputError, match=r"line 2.*one record a file"):
        reading(tmp_path, json.dumps(EXPORT) + "\n" + json.dumps(EXPORT) + "\n")
