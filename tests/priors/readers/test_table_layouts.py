"""Failure tables as fleets, trackers and spreadsheets export them."""

import pytest

from model.errors import InputError
from priors.readers.table_columns import split_unit
from priors.readers.table_dates import date_of, duration_of
from tests.priors.readers.files import reading, values_of

MOMENT = 1736071200.0
"""5 January 2025, 10:00 UTC."""

DATES = [
    ("2025-01-05T10:00:00Z", "", 0),
    ("2025-01-05 10:00", "", 0),
    ("2025/01/05 10:00:00", "", 0),
    ("2025.01.05 10:00", "", 0),
    ("2025-1-5 10:00", "", 0),
    ("2025-01-05 10:00 AM", "", 0),
    ("2025-01-05 10:00:00 PM", "", 12),
    ("2025-01-05 18:00:00+08:00", "", 0),
    ("2025-01-05 10:00:00+00", "", 0),
    ("2025-01-05 02:00:00.000-08", "", 0),
    ("2025-01-05 02:00:00 PST", "", 0),
    ("20250105T100000Z", "", 0),
    ("20250105100000", "", 0),
    ("1736071200", "", 0),
    ("1736071200.0", "", 0),
    ("1736071200000", "", 0),
    ("1736071200000000", "", 0),
    ("5 Jan 2025 10:00", "", 0),
    ("05-Jan-25 10:00", "", 0),
    ("05/Jan/25 10:00 AM", "", 0),
    ("Jan 5, 2025 10:00 AM", "", 0),
    ("Sun, 05 Jan 2025 10:00:00 +0000", "", 0),
    ("Sun Jan  5 10:00:00 2025", "", 0),
    ("Sun Jan  5 05:00:00 EST 2025", "", 0),
    ("05.01.2025 10:00", "dmy", 0),
    ("05-01-2025 10:00", "dmy", 0),
    ("1/5/25 10:00 AM", "mdy", 0),
    ("45662.41666666667", "", 0),
]


@pytest.mark.parametrize(("text", "order", "hours"), DATES)
def test_date_is_read(text, order, hours):
    # Days of a spreadsheet are rounded to microseconds.
    assert date_of(text, order) == pytest.approx(MOMENT + hours * 3600.0, abs=1e-3)


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("05/01/2025 10:00", ""),  # two readings
        ("2025-01-05 10:00 CST", ""),  # a zone of two continents
        ("2025-02-30 10:00", ""),
        ("2025-01-05 13:00 PM", ""),
        ("20251305", ""),
        ("12345", ""),
        ("10:00", ""),
    ],
)
def test_what_is_no_date_or_two_is_not_read(text, order):
    assert date_of(text, order) is None


@pytest.mark.parametrize(
    ("text", "unit", "seconds"),
    [
        ("1-02:00:00", None, 93600.0),
        ("1 day, 2:00:00", None, 93600.0),
        ("0 days 02:00:00", None, 7200.0),
        ("P1DT2H", None, 93600.0),
        ("PT90M", None, 5400.0),
        ("2.5", 3600.0, 9000.0),
        ("2:30", 3600.0, 9000.0),
        ("2:30", 60.0, 150.0),
        ("2:30", None, None),  # hours or minutes
        ("2.5", None, None),
        ("P", None, None),
    ],
)
def test_duration_is_read_or_left(text, unit, seconds):
    assert duration_of(text, unit) == seconds


@pytest.mark.parametrize(
    ("heading", "name", "unit"),
    [
        ("Down Time (min)", "downtime", 60.0),
        ("Start Time (UTC)", "starttime", None),
        ("end_time_utc", "endtime", None),
        ("startTime", "starttime", None),
        ("Prob Started (mm/dd/yy hh:mm)", "probstarted", None),
        ("seconds_to_resolve", "toresolve", 1.0),
        ("TTR [h]", "ttr", 3600.0),
    ],
)
def test_heading_is_split_from_its_unit_and_zone(heading, name, unit):
    assert split_unit(heading) == (name, unit)


LAYOUTS = {
    "years first": "Node,Start,End,Cause\na,2025/01/05 10:00,2025/01/05 12:00,GPU\n"
    "b,2025/02/05 10:00,2025/02/05 12:00,NIC\n",
    "zones in headings": "Hostname,Start Time (UTC),End Time (UTC),Root Cause\n"
    "a,2025-01-05 10:00:00,2025-01-05 12:00:00,GPU\n"
    "b,2025-02-05 10:00:00,2025-02-05 12:00:00,NIC\n",
    "date and time apart": "Node,Start Date,Start Time,End Date,End Time,Cause\n"
    "a,2025-01-05,10:00,2025-01-05,12:00,GPU\nb,2025-02-05,10:00,2025-02-05,12:00,NIC\n",
    "date, time and length": "Date,Time,Host,Downtime (hours),Description\n"
    "2025-01-05,10:00,a,2,GPU\n2025-02-05,10:00,b,2.0,NIC\n",
    "numbers of milliseconds": "node_id,start_ts,end_ts,reason\na,1736071200000,1736078400000,GPU\n"
    "b,1738749600000,1738756800000,NIC\n",
    "a column of events": "timestamp,node,event,duration\n2025-01-05T10:00:00Z,a,GPU,2 h\n"
    "2025-02-05T10:00:00Z,b,NIC,PT2H\n",
    "a moment of recovery": "failure_time,recovery_time,failure_type,host\n"
    "2025-01-05 10:00:00,2025-01-05 12:00:00,GPU,a\n"
    "2025-02-05 10:00:00,2025-02-05 12:00:00,NIC,b\n",
    "a time of recovery": "failure_time,recovery_time,failure_type,host\n"
    "2025-01-05 10:00:00,02:00:00,GPU,a\n2025-02-05 10:00:00,2 hours,NIC,b\n",
    "a tracker": "Issue key,Summary,Created,Resolved,Hostname\n"
    "OPS-1,GPU,05/Jan/25 10:00 AM,05/Jan/25 12:00 PM,a\n"
    "OPS-2,NIC,05/Feb/25 10:00 AM,05/Feb/25 12:00 PM,b\n",
    "a pager": "id,description,service_name,created_on,resolved_on,seconds_to_resolve,host\n"
    "1,GPU,train,2025-01-05T10:00:00Z,2025-01-05T12:00:00Z,7200,a\n"
    "2,NIC,train,2025-02-05T10:00:00Z,2025-02-05T12:00:00Z,7200,b\n",
    "markdown": "| Node | Start | End | Cause |\n|------|:------|-----|-------|\n"
    "| a | 2025-01-05 10:00 | 2025-01-05 12:00 | GPU |\n"
    "| b | 2025-02-05 10:00 | 2025-02-05 12:00 | NIC |\n",
    "JSON": '[{"host": "a", "started": "2025-01-05T10:00:00Z", "ended": "2025-01-05T12:00:00Z",'
    ' "cause": "GPU"},\n {"host": "b", "started": "2025-02-05T10:00:00Z",'
    ' "ended": "2025-02-05T12:00:00Z", "cause": "NIC", "note": null}]\n',
    "a JSON record a line": '{"host": "a", "start": 1736071200, "duration_s": 7200,'
    ' "xid": "GPU 1"}\n'
    '{"host": "b", "start": 1738749600, "duration_s": 7200.0, "xid": "NIC 1"}\n',
    "a comment as heading": "# node,start,end,cause\n# of January\n"
    "a,2025-01-05 10:00,2025-01-05 12:00,GPU\nb,2025-02-05 10:00,2025-02-05 12:00,NIC\n",
    "an archive of traces": "# event_id\tnode_id\tevent_type\tevent_start_time\tevent_end_time\t"
    "event_end_reason\n1\ta\t1\t1735689600\t1736071200\t\n2\ta\t0\t1736071200\t1736078400\tGPU\n"
    "3\tb\t1\t1736071200\t1738749600\t\n4\tb\t0\t1738749600\t1738756800\tNIC\n",
    "a laboratory's": ",,,Start and fix,,,Cause,,\n"
    "System,nodes,nodenumz,Prob Started (mm/dd/yy hh:mm),"
    "Prob Fixed (mm/dd/yy hh:mm),Down Time,Facilities,Hardware,Network\n"
    "2,49,0,1/5/2025 10:00,1/5/2025 12:00,120,,GPU,\n"
    "2,49,3,2/5/2025 10:00,2/5/2025 12:00,120,,,NIC\n",
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_table_of(tmp_path, layout):
    found = reading(
        tmp_path, LAYOUTS[layout], name="t.csv", nodes=100.0, since="2025-01-05", until="2025-02-14"
    )
    [observation] = found.observations
    assert (observation.events, observation.node_days) == (2, 4000.0)
    assert values_of(found)["mean_outage_s"] == 7200.0
    assert any("GPU 1" in note and "NIC 1" in note for note in found.notes)


def test_copies_of_a_nodes_row_count_once_and_are_told(tmp_path):
    row = "a,2025-01-05 10:00:00,2025-01-05 12:00:00,GPU\n"
    text = "node,start,end,cause\n" + row + row + row.replace("GPU", "NIC")
    found = reading(tmp_path, text, name="t.csv", nodes=10.0)
    assert found.observations[0].events == 2
    assert found.skipped.reasons["copies of a row"] == [1, 3]
    # Without a node they may be two events.
    found = reading(tmp_path, text.replace("node,", "id,"), name="t.csv", nodes=10.0)
    assert found.observations[0].events == 3


def test_times_without_a_zone_among_others_are_told(tmp_path):
    text = "node,start,cause\na,2025-01-05T10:00:00Z,GPU\nb,2025-01-09 10:00:00,NIC\n"
    found = reading(tmp_path, text, name="t.csv", nodes=10.0)
    assert any("1 of 2 times have no time zone" in note for note in found.notes)
    plain = reading(tmp_path, text.replace("T", " ").replace("Z", ""), name="t.csv", nodes=10.0)
    assert not any("time zone" in note for note in plain.notes)


def test_ends_and_lengths_that_cannot_be_read_are_told(tmp_path):
    text = (
        "node,start,end,duration,cause\na,2025-01-05 10:00,ongoing,,GPU\n"
        "b,2025-01-07 10:00,soon,,NIC\nc,2025-01-09 10:00,,7,NIC\n"
    )
    found = reading(tmp_path, text, name="t.csv", nodes=10.0)
    assert found.observations[0].events == 3
    assert {line for _, line in found.skipped.reasons.values()} == {3, 4}


def test_state_tells_which_intervals_are_still_running(tmp_path):
    text = "node,uptime_hours,status\na,120,failed\nb,240,running\n"
    [observation] = reading(tmp_path, text, name="t.csv").observations
    assert (observation.events, observation.node_days) == (1, 15.0)


def test_trace_of_jobs_is_no_failure_table(tmp_path):
    text = (
        "job_id,node_num,type,start_time,end_time,duration,state\n"
        "1,4,Pretrain,2023-05-17 11:00:00,2023-05-17 12:00:00,3600,COMPLETED\n"
        "2,4,Pretrain,2023-05-17 11:00:00,2023-05-17 12:00:00,3600,FAILED\n"
    )
    with pytest.raises(InputError, match=r"line 2.*1 of 2 rows are jobs that did not fail"):
        reading(tmp_path, text, name="t.csv")


def test_driver_errors_are_gpu_errors(tmp_path):
    text = "timestamp,location,xid\n2025-01-05 10:00:00,c3-0,48\n2025-02-05 10:00:00,c3-1,13\n"
    found = reading(tmp_path, text, name="t.csv", nodes=10.0)
    assert found.observations[0].counts == "gpu_error"


def test_counts_without_a_date_are_refused_with_the_way_out(tmp_path):
    for heading in ("Component,Category,Interruption Count,% of Interruptions", "cause,count"):
        with pytest.raises(InputError, match=r"table of counts.*kind interruptions"):
            reading(tmp_path, heading + "\nGPU,148,148,30.1%\n", name="t.csv")


def test_columns_that_are_named_need_no_known_one(tmp_path):
    text = "Knoten;Beginn;Ende\na;25.01.2025 10:00;25.01.2025 12:00\nb;05.02.2025 10:00;\n"
    columns = {"node": "Knoten", "start": "Beginn", "end": "Ende"}
    found = reading(tmp_path, text, name="t.csv", nodes=10.0, columns=columns)
    assert found.observations[0].node_days == 110.0
    with pytest.raises(InputError, match="--columns"):
        reading(tmp_path, text, name="t.csv")


@pytest.mark.parametrize(
    ("start", "what"),
    [(b"PK\x03\x04", "spreadsheet"), (b"PAR1", "Parquet"), (b"%PDF-1.7", "PDF")],
)
def test_files_without_lines_are_refused_with_the_way_out(tmp_path, start, what):
    with pytest.raises(InputError, match=rf"{what}.*CSV"):
        reading(tmp_path, start + bytes(range(256)), name="t.csv")


def test_entries_of_a_services_log_are_no_failures(tmp_path):
    text = (
        '[{"timestamp": "2025-01-05T10:00:00Z", "description": "started", "labels": {"a": "b"}},\n'
        ' {"timestamp": "2025-01-05T10:00:01Z", "description": "running", "labels": {}}]\n'
    )
    with pytest.raises(InputError, match="no format"):
        reading(tmp_path, text, name="t.json")
