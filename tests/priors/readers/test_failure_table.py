"""Failure tables: columns, dates, censoring, exposure."""

import pytest

from model.errors import InputError
from tests.priors.readers.files import reading

OUTAGES = """\
Node Num,Prob Started,Prob Fixed,Down Time (min),Cause
1,2024-01-01 00:00,2024-01-01 02:00,120,Memory
2,2024-01-05T00:00:00Z,2024-01-05T00:00:00Z,0,
3,2024-01-08 00:00,2024-01-07 00:00,60,Network
4,1704931200,1704934800,900,scheduled maintenance
"""

INTERVALS = """\
node,start,end,censored
a,2024-01-01,2024-01-11,0
a,2024-01-12,2024-01-31,1
b,2024-01-01,2024-01-31,1
"""


def table(text, tmp_path, **said):
    return reading(tmp_path, text, name="t.csv", form="failure-table", **said)


def test_outages_count_over_nodes_and_window(tmp_path):
    found = table(OUTAGES, tmp_path, nodes=10.0, since="2024-01-01", until="2024-01-31")
    [observation] = found.observations
    assert observation.counts == "node_hardware_failure"
    assert (observation.events, observation.node_days) == (3, 300.0)


def test_odd_durations_are_told_and_their_events_count(tmp_path):
    found = table(OUTAGES, tmp_path, nodes=10.0)
    assert set(found.skipped.reasons) == {
        "durations of zero (the event counts)",
        "ends before their start, not used",
        "durations that are not end − start, not used",
    }


def test_last_interval_is_exposure_and_no_event(tmp_path):
    [observation] = table(INTERVALS, tmp_path).observations
    assert (observation.events, observation.node_days) == (1, 10.0 + 19.0 + 30.0)


def test_cause_may_say_that_an_interval_was_censored(tmp_path):
    text = "node,start,end,cause\na,2024-01-01,2024-01-03,ECC\na,2024-01-04,2024-01-09,censored\n"
    [observation] = table(text, tmp_path).observations
    assert (observation.events, observation.node_days) == (1, 7.0)


def test_window_ends_where_the_planner_says(tmp_path):
    first = table(OUTAGES, tmp_path, nodes=10.0)
    later = table(OUTAGES, tmp_path, nodes=10.0, until="2024-03-01")
    assert later.observations[0].node_days > first.observations[0].node_days
    assert any("--until" in note for note in first.notes)


def test_nodes_under_observation_are_not_guessed(tmp_path):
    found = table(OUTAGES, tmp_path)
    assert found.observations == ()
    assert "--nodes" in found.withheld[0]


def test_more_nodes_than_exist_are_refused(tmp_path):
    with pytest.raises(InputError, match="4 nodes are in the table"):
        table(OUTAGES, tmp_path, nodes=2.0)


def test_columns_are_the_planners_to_name(tmp_path):
    text = "wann;wo;warum\n2024-01-01;a;x\n2024-01-11;b;y\n"
    columns = {"start": "wann", "node": "wo", "cause": "warum"}
    found = table(text, tmp_path, columns=columns, nodes=2.0)
    assert found.observations[0].node_days == 20.0


def test_column_that_is_not_there_is_refused_with_those_that_are(tmp_path):
    with pytest.raises(InputError, match="columns are: Node Num"):
        table(OUTAGES, tmp_path, columns={"start": "Begin"})


def test_ambiguous_dates_are_refused_until_their_order_is_said(tmp_path):
    text = "node,start,cause\na,03/04/2024 10:00,x\nb,05/07/2024 10:00,y\n"
    with pytest.raises(InputError, match=r"line 2.*--dates"):
        table(text, tmp_path, nodes=5.0)
    day_first = table(text, tmp_path, nodes=5.0, date_order="dmy").observations[0]
    month_first = table(text, tmp_path, nodes=5.0, date_order="mdy").observations[0]
    assert day_first.node_days == 5.0 * 93  # 3 April to 5 July
    assert month_first.node_days == 5.0 * 64  # 4 March to 7 May


def test_one_date_that_can_be_read_one_way_decides_for_all(tmp_path):
    text = "node,start,cause\na,03/04/2024 10:00,x\nb,25/04/2024 10:00,y\n"
    assert table(text, tmp_path, nodes=2.0).observations[0].node_days == 44.0


def test_unit_of_a_duration_is_not_guessed(tmp_path):
    with_unit = "node,duration (h),cause,censored\na,24,x,0\n"
    assert table(with_unit, tmp_path).observations[0].node_days == 1.0
    without = table(with_unit.replace(" (h)", ""), tmp_path)
    assert without.observations == ()


def test_counted_event_is_said_with_the_count(tmp_path):
    found = table(OUTAGES, tmp_path, nodes=10.0, event="job_interruption")
    assert found.observations[0].counts == "job_interruption"


def test_rows_of_another_length_are_told_with_their_line(tmp_path):
    found = table(OUTAGES + "9,2024-01-09\n", tmp_path, nodes=10.0)
    assert found.skipped.reasons["rows without the 5 fields of the header"] == [1, 6]


def test_fleets_of_one_table_are_not_pooled(tmp_path):
    text = "node,start,end,censored,system\na,2024-01-01,2024-01-11,0,Gen A\n"
    text += "b,2024-01-01,2024-01-31,1,Gen B\n"
    first, second = table(text, tmp_path, fleet="ours").observations
    assert (first.fleet, first.events, first.node_days) == ("ours_Gen A", 1, 10.0)
    assert (second.fleet, second.events, second.node_days) == ("ours_Gen B", 0, 30.0)
    outages = table(text.replace(",censored", ",cause"), tmp_path, nodes=5.0)
    assert outages.observations == ()
    assert [text.split(":")[0] for text in outages.withheld] == [
        "interruptions of Gen A",
        "interruptions of Gen B",
    ]


def test_each_fleet_of_a_table_of_outages_has_its_nodes_and_one_is_the_scenarios(tmp_path):
    text = "node,start,end,cause,system\na,2024-01-01,2024-01-02,ECC,Gen A\n"
    text += "b,2024-01-04,2024-01-05,ECC,Gen B\nc,2024-01-11,2024-01-11,ECC,Gen B\n"
    found = table(
        text, tmp_path, fleet="ours", fleet_nodes={"Gen A": 4.0, "Gen B": 7.0}, own_fleet="Gen B"
    )
    other, own = found.observations
    assert (other.fleet, other.events, other.node_days) == ("ours_Gen A", 1, 40.0)
    assert (own.fleet, own.events, own.node_days) == ("ours", 2, 70.0)


@pytest.mark.parametrize(
    ("said", "fragment"),
    [
        ({"fleet_nodes": {"Gen C": 3.0}}, "no fleet 'Gen C'"),
        ({"own_fleet": "gen a"}, "no fleet 'gen a'"),
        ({"fleet_nodes": {"Gen A": 0.5, "Gen B": 9.0}}, "1 nodes of Gen A"),
    ],
)
def test_fleets_that_are_not_as_said_are_refused(tmp_path, said, fragment):
    text = "node,start,end,cause,system\na,2024-01-01,2024-01-02,ECC,Gen A\n"
    text += "b,2024-01-04,2024-01-05,ECC,Gen B\n"
    with pytest.raises(InputError, match=fragment):
        table(text, tmp_path, **said)
