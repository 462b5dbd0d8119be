"""Forms that releases, launchers and exports give the same content: the same values come out."""

import json

import pytest

from model.errors import InputError
from tests.priors.readers.files import (
    REFERENCE,
    SACCT,
    megatron_row,
    reading,
    titan_row,
    values_of,
)

MS = [5000.0 + step % 7 for step in range(1, 30)]
MEAN_S = sum(MS) / len(MS) / 1e3


def rows(change=lambda line: line, *, ranks=(0,)):
    """A Megatron log, every line changed; several ranks' rows after each other."""
    lines = [
        change(megatron_row(step, ms, tflops=400.1, prefix=f"[rank{rank}]:"))
        for step, ms in enumerate(MS, start=1)
        for rank in ranks
    ]
    return "\n".join(lines) + "\n"


MEGATRON = {
    "a dataset without an end": lambda line: line.replace("/  500000", "/infinity"),
    "a container's time stamp": lambda line: f"2025-04-13T23:41:07.123456789Z stdout F {line}",
    "a stamp in brackets": lambda line: f"[2025-04-13 23:41:07,123] {line}",
    "a pod's name": lambda line: f"[pod/train-worker-3/pytorch] {line}",
    "skipped samples": lambda line: line.replace(" elapsed", " skipped samples:   0 | elapsed"),
    "a running mean beside": lambda line: line.replace(" | throughput", "/5003.3 | throughput"),
    "Ray's worker": lambda line: f"(TrainWorker pid=1234, ip=10.0.0.3) {line}",
}


@pytest.mark.parametrize("form", MEGATRON)
def test_megatron_row_with(tmp_path, form):
    found = values_of(reading(tmp_path, rows(MEGATRON[form])))
    assert found["step_mean_s"] == pytest.approx(MEAN_S)
    assert found["tflops_logged"] == pytest.approx(400.1)


def test_ranks_behind_a_time_stamp_are_told_apart(tmp_path):
    # Rank 1 runs behind: its step 1 comes after step 2 of rank 0, with another time.
    first = [megatron_row(step, ms, prefix="[rank0]:") for step, ms in enumerate(MS, 1)]
    second = [megatron_row(step, ms + 0.3, prefix="[rank1]:") for step, ms in enumerate(MS, 1)]
    mixed = [first[0], *(line for pair in zip(first[1:], second, strict=False) for line in pair)]
    stamped = [f"2025-04-13T23:41:{n % 60:02d}Z {line}" for n, line in enumerate(mixed)]
    found = reading(tmp_path, "\n".join(stamped) + "\n")
    assert values_of(found)["step_mean_s"] == pytest.approx(MEAN_S)
    assert "resumes" not in values_of(found)
    assert found.skipped.reasons["rows of other ranks than [rank0]:"][0] == len(second) - 1


@pytest.mark.parametrize("ending", ["\r\n", "\r\r\n"])
def test_carriage_returns_may_lie_across_blocks(tmp_path, monkeypatch, ending):
    from priors.readers import source

    for size in (97, 98, 99, 100, 101):
        monkeypatch.setattr(source, "BLOCK_BYTES", size)
        found = reading(tmp_path, rows().replace("\n", ending))
        assert values_of(found)["step_mean_s"] == pytest.approx(MEAN_S)


def test_first_of_two_rows_is_set_up_where_it_is_plainly_slower(tmp_path):
    text = megatron_row(1, 9000.0) + "\n" + megatron_row(2, 5000.0) + "\n"
    found = reading(tmp_path, text)
    assert values_of(found)["step_mean_s"] == pytest.approx(5.0)
    assert "rows after a start, as warm-up" in found.skipped.reasons
    # Control: 6% is jitter, and both count.
    close = megatron_row(1, 5300.0) + "\n" + megatron_row(2, 5000.0) + "\n"
    assert values_of(reading(tmp_path, close))["step_mean_s"] == pytest.approx(5.15)


def test_equal_rows_have_no_spread_at_all(tmp_path):
    text = "".join(megatron_row(step, 5123.4, batch=2048) + "\n" for step in range(1, 40))
    found = reading(tmp_path, text, scenario=REFERENCE)
    assert values_of(found)["step_sd_s"] == 0.0
    assert [draft.raw["kind"] for draft in found.drafts] == ["throughput"]


def test_nemo_rows_as_json_lines(tmp_path):
    lines = [
        "DLLL "
        + json.dumps(
            {
                "type": "LOG",
                "step": step,
                "data": {"global_step": float(step), "train_step_timing in s": 92.0 + step % 3},
            }
        )
        for step in range(1, 31)
    ]
    assert values_of(reading(tmp_path, "\n".join(lines) + "\n"))["step_mean_s"] == pytest.approx(
        93.0
    )


def test_titan_rows_behind_a_time_stamp(tmp_path):
    lines = [f"2025-01-01T10:00:00Z {titan_row(step, 5857)}" for step in range(1, 30)]
    found = values_of(reading(tmp_path, "\n".join(lines) + "\n"))
    assert found["device_tokens_per_s"] == 5857


NCCL_ROW = (
    "  17179869184  4294967296  float  sum  -1  91000  188.79  353.98  0  91000  188.79  353.98  0"
)


def test_nccl_rows_behind_a_time_stamp(tmp_path):
    found = values_of(reading(tmp_path, f"2025-01-01T10:00:00.1Z {NCCL_ROW}\n"))
    assert found["plateau_busbw_gb_per_s"] == pytest.approx(353.98)
    assert found["ranks"] == 16


ACCOUNTS = """\
JobID|State|Start|End|Elapsed|NNodes
7|NODE_FAIL|2025-01-01T00:00:00|2025-01-01T06:00:00|06:00:00|4
8|CANCELLED by 1001|2025-01-02T00:00:00|2025-01-02T12:00:00|12:00:00|4
9|DEADLINE|2025-01-03T00:00:00|2025-01-03T06:00:00|06:00:00|4
10|RUNNING|2025-01-04T00:00:00|Unknown|1-00:00:00|4
"""


def test_one_attempt_in_two_states_counts_once(tmp_path):
    text = ACCOUNTS + "7|REQUEUED|2025-01-01T00:00:00|2025-01-01T06:00:00|06:00:00|4\n"
    found = reading(tmp_path, text)
    values = values_of(found)
    # Four nodes for 6 + 12 + 6 + 24 hours.
    assert (values["interruptions"], values["node_days"]) == (1, pytest.approx(8.0))
    assert "rows of one attempt in two states" in found.skipped.reasons


def test_dumps_of_two_moments_are_refused_with_the_line(tmp_path):
    later = ACCOUNTS + "10|COMPLETED|2025-01-04T00:00:00|2025-01-06T00:00:00|2-00:00:00|4\n"
    with pytest.raises(InputError, match=r"line 6.*line 5.*two moments"):
        reading(tmp_path, later)


def test_fixed_width_without_agreeing_dashes_is_refused_with_the_way_out(tmp_path):
    text = "JobID           JobName      State    Elapsed\n------------ ---------- ----------\n"
    with pytest.raises(InputError, match=r"line 1.*--parsable2"):
        reading(tmp_path, text)


FIXED = """\
       JobID    JobName   NNodes      State    Elapsed   NodeList ExitCode
------------ ---------- -------- ---------- ---------- ---------- --------
1001         train-405b        4  NODE_FAIL   06:00:00   n[01-04]      0:0
1001.batch        batch        1 CANCELLED+   06:00:05        n01     0:15
1002         train-405b          OUT_OF_ME+   06:00:00   n[01-04]      0:0
1003         train-405b        4 CANCELLED+ 1-00:00:00 n[01-02,0+      0:0
1004         train-405b          COMPLETED    06:00:00 n[01-02,0+      0:0
12345678_10+ train-405b        4  NODE_FAIL   06:00:00   n[01-04]      0:0
"""


def test_fixed_width_is_read_by_its_dashes_and_what_is_cut_is_told(tmp_path):
    found = reading(tmp_path, FIXED, nodes=4.0)
    values = values_of(found)
    # 1004 does not say its nodes: its list of them is cut.
    assert (values["jobs"], values["interruptions"]) == (4, 1)
    assert "1 jobs (first in line 7)" in found.withheld[0]
    assert found.skipped.reasons["rows whose JobID is cut to the width of its column"] == [1, 8]
    known = reading(tmp_path, "".join(FIXED.splitlines(keepends=True)[:6]))
    assert values_of(known)["node_days"] == pytest.approx(4 * 36 / 24)


PLAIN = "JobID|State|Elapsed|NNodes\n1|COMPLETED|06:00:00|4\n2|NODE_FAIL|06:00:00|4\n"


def job(number, state, **more):
    # As Slurm from 23 on writes it; numbers are wrapped with whether they are set.
    return {
        "job_id": number,
        "array": {"job_id": 0, "task_id": {"set": False, "number": 0}},
        "het": {"job_id": 0},
        "state": {"current": [state], "reason": "None"},
        "time": {"elapsed": 21600, "start": 1735689600, "end": 1735711200},
        "allocation_nodes": 4,
        "nodes": "n[01-04]",
        "steps": [{"state": ["COMPLETED"], "time": {"elapsed": 21600}}],
    } | more


def job_of_2021(number, state):
    return job(number, state) | {
        "state": {"current": state},
        "array": {"job_id": 0, "task_id": None},
        "allocation_nodes": 4,
    }


ACCOUNT_FORMS = {
    "quotes around a list of nodes": "JobID,State,Elapsed,NodeList\n"
    '1,COMPLETED,06:00:00,"n[1,3-5]"\n2,NODE_FAIL,06:00:00,"n[1,3-5]"\n',
    "an index before": ",JobID,State,Elapsed,NNodes\n0,1,COMPLETED,06:00:00,4\n"
    "1,2,NODE_FAIL,06:00:00,4\n",
    "seconds since 1970": "JobID|State|Start|End|NNodes\n1|COMPLETED|1735689600|1735711200|4\n"
    "2|NODE_FAIL|1735689600|1735711200|4\n",
    "the command before": "$ sacct -P -o JobID,State,Elapsed,NNodes\n" + PLAIN,
    "raw ids and seconds": "JobIDRaw|State|ElapsedRaw|AllocTRES\n1|COMPLETED|21600|cpu=64,node=4\n"
    "2|NODE_FAIL|21600|billing=64,cpu=64,node=4\n",
    "JSON": json.dumps({"jobs": [job(1, "COMPLETED"), job(2, "NODE_FAIL")], "errors": []}),
    "JSON, wrapped": json.dumps(
        {
            "jobs": [
                job(n, state, allocation_nodes={"set": True, "infinite": False, "number": 4})
                for n, state in ((1, "COMPLETED"), (2, "NODE_FAIL"))
            ]
        },
        indent=2,
    ),
    "JSON of 2021": json.dumps(
        {"jobs": [job_of_2021(1, "COMPLETED"), job_of_2021(2, "NODE_FAIL")]}
    ),
}


@pytest.mark.parametrize("form", ACCOUNT_FORMS)
def test_accounts_with(tmp_path, form):
    values = values_of(reading(tmp_path, ACCOUNT_FORMS[form]))
    assert (values["jobs"], values["interruptions"]) == (2, 1)
    assert values["mean_uptime_s"] == 21600
    assert values["node_days"] == pytest.approx(2.0)


def test_tasks_and_parts_of_json_are_attempts_of_their_own(tmp_path):
    array = {"job_id": 100, "task_id": {"set": True, "number": 7}}
    parts = [{"job_id": 200, "job_offset": {"set": True, "number": n}} for n in range(2)]
    jobs = [job(101, "NODE_FAIL", array=array)]
    jobs += [job(200 + n, "NODE_FAIL", het=part) for n, part in enumerate(parts)]
    values = values_of(reading(tmp_path, json.dumps({"jobs": jobs})))
    # Parts of one heterogeneous job stop together.
    assert (values["jobs"], values["interruptions"]) == (3, 2)


def test_jobs_of_json_that_are_no_objects_are_counted(tmp_path):
    found = reading(tmp_path, json.dumps({"jobs": [job(1, "NODE_FAIL"), 5, None]}))
    assert values_of(found)["interruptions"] == 1
    assert found.skipped.reasons["rows without a job id"][0] == 2


def test_rows_without_a_header_say_how_to_have_one(tmp_path):
    with pytest.raises(InputError, match="--noheader"):
        reading(tmp_path, "1|train|COMPLETED|06:00:00|4\n2|train|NODE_FAIL|06:00:00|4\n")


def test_accounts_without_any_running_time_give_no_count(tmp_path):
    found = reading(tmp_path, SACCT.splitlines()[0] + "\n77|REQUEUED|00:00:00|16\n")
    assert found.drafts == ()
    assert "no exposure" in found.withheld[0]


def table(tmp_path, text, **said):
    options = {"nodes": 10.0, "since": "2025-01-01", "until": "2025-01-31", **said}
    return reading(tmp_path, text, name="t.csv", **options)


INCIDENTS = {
    "an incident tool's names": "id,server,detected_at,resolved_at,category\n"
    "1,a,2025-01-05T00:00:00Z,2025-01-05T05:00:00Z,GPU\n"
    "2,b,2025-01-11T00:00:00Z,2025-01-11T05:00:00Z,NIC\n",
    "months by name": "node,start,end,cause\na,5 Jan 2025 00:00,5 Jan 2025 05:00,GPU\n"
    'b,"Jan 11, 2025 12:00 AM","Jan 11, 2025 5:00 AM",NIC\n',
    "a line break in quotes": "node,start,end,cause\n"
    'a,2025-01-05 00:00:00,2025-01-05 05:00:00,"GPU fell\noff the bus"\n'
    'b,2025-01-11 00:00:00,2025-01-11 05:00:00,"a ""flapping"" NIC"\n',
    "a title before": "Failures of January\n\nnode,start,end,cause\n"
    "a,2025-01-05 00:00:00,2025-01-05 05:00:00,GPU\n"
    "b,2025-01-11 00:00:00,2025-01-11 05:00:00,NIC\n",
    "decimal commas": "node;start;downtime (h);cause\na;05.01.2025 00:00;5,0;GPU\n"
    "b;21.01.2025 00:00;5,0;NIC\n",
}


@pytest.mark.parametrize("form", INCIDENTS)
def test_incident_table_with(tmp_path, form):
    found = table(tmp_path, INCIDENTS[form], date_order="dmy" if ";" in INCIDENTS[form] else "")
    [observation] = found.observations
    assert (observation.events, observation.node_days) == (2, 300.0)
    assert values_of(found)["mean_outage_s"] == 5 * 3600.0


def test_quote_without_an_end_does_not_swallow_the_table(tmp_path):
    body = "".join(
        f"n{n},2025-01-{n % 28 + 1:02d} 00:00:00,2025-01-{n % 28 + 1:02d} 01:00:00,x\n"
        for n in range(90)
    )
    found = table(tmp_path, "node,start,end,cause\n" + body.replace("n3,", '"n3,', 1), nodes=100.0)
    assert "quotes without an end" in found.skipped.reasons
    # The torn row is out; all others are there.
    assert found.observations[0].events == 89


def test_bytes_that_are_no_utf_8_are_read_as_latin_letters(tmp_path):
    text = "node,start,end,cause\na,2025-01-05 00:00:00,2025-01-05 05:00:00,Gebäude\n"
    found = table(tmp_path, text.encode("latin-1"))
    assert any("Gebäude" in note for note in found.notes)


GOODPUT = {"total_elapsed_time": "100000", "goodput_time": {"TOTAL": "9e4"}, "badput_time": {}}


def test_numbers_of_an_export_may_be_texts(tmp_path):
    text = json.dumps(GOODPUT | {"badput_time": {"OTHER": "1e4"}})
    found = values_of(reading(tmp_path, text, scenario=REFERENCE))
    assert found["goodput"] == pytest.approx(0.9)


def test_export_of_several_records_is_refused(tmp_path):
    text = json.dumps([{"goodput": 80.0, "badput_time": {"OTHER": n}} for n in (1, 2)])
    with pytest.raises(InputError, match="2 records"):
        reading(tmp_path, text, scenario=REFERENCE)


def test_export_of_nothing_is_refused(tmp_path):
    text = json.dumps({"goodput_time": {"TOTAL": 0}, "badput_time": {"OTHER": 0}})
    with pytest.raises(InputError, match="both zero"):
        reading(tmp_path, text, scenario=REFERENCE)
