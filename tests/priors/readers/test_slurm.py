"""sacct dumps: fields, states, requeues, steps."""

import pytest

from model.errors import InputError
from priors.readers.slurm_rows import elapsed_of
from tests.priors.readers.files import SACCT, reading, values_of


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("01:04:49", 3889.0),
        ("2-03:00:00", 183600.0),
        ("03:04.567", 184.0),
        ("100:00:00", 360000.0),
        ("00:61:00", None),
        ("Unknown", None),
        ("", None),
    ],
)
def test_elapsed_reads_days_hours_and_short_forms(text, seconds):
    assert elapsed_of(text) == seconds


@pytest.mark.parametrize("ending", ["|", ""])
@pytest.mark.parametrize("lead", ["|", ""])
def test_delimiters_at_either_end_do_not_shift_fields(tmp_path, ending, lead):
    text = "".join(f"{lead}{line}{ending}\n" for line in SACCT.splitlines())
    assert values_of(reading(tmp_path, text))["interruptions"] == 4


def test_trailing_delimiters_of_rows_alone_are_taken(tmp_path):
    text = SACCT.replace("|16\n", "|16|\n")
    assert values_of(reading(tmp_path, text))["interruptions"] == 4


def test_step_rows_count_neither_as_jobs_nor_as_exposure(tmp_path):
    steps = (
        "77.batch|NODE_FAIL|09:00:00|16\n77.extern|NODE_FAIL|09:00:00|16\n77.0|FAILED|9:00:00|16\n"
    )
    plain, with_steps = reading(tmp_path, SACCT), reading(tmp_path, SACCT + steps)
    assert values_of(plain) == values_of(with_steps)
    [(count, line)] = with_steps.skipped.reasons.values()
    assert (count, line) == (3, 7)


def test_counted_states_are_the_users_to_say(tmp_path):
    text = (
        SACCT
        + "78|FAILED|01:00:00|16\n79|CANCELLED by 1001|01:00:00|16\n80|NODE_FAIL|01:00:00|16\n"
    )
    assert values_of(reading(tmp_path, text))["interruptions"] == 5
    found = reading(tmp_path, text, counted_states=frozenset({"FAILED", "CANCELLED"}))
    assert values_of(found)["interruptions"] == 2


@pytest.mark.parametrize("state", ["NODE_FAIL", "NF", "NODE_FA+", "NODE_FAIL+"])
def test_states_are_known_short_and_cut(tmp_path, state):
    found = reading(tmp_path, f"JobID|State|Elapsed|NNodes\n1|{state}|01:00:00|2\n")
    assert values_of(found)["interruptions"] == 1


def test_unknown_state_is_told_and_not_counted(tmp_path):
    found = reading(tmp_path, SACCT + "78|EXPLODED|01:00:00|16\n")
    assert values_of(found)["interruptions"] == 4
    assert "rows of the unknown state 'EXPLODED'" in found.skipped.reasons


def test_running_job_is_exposure_without_event(tmp_path):
    found = reading(tmp_path, "JobID|State|Start|End|Elapsed|NNodes\n"
                    "1|RUNNING|2025-01-01T00:00:00|Unknown|10-00:00:00|4\n")  # fmt: skip
    [observation] = found.observations
    assert (observation.events, observation.node_days) == (0, 40.0)


def test_end_less_start_stands_in_for_elapsed(tmp_path):
    found = reading(tmp_path, "JobID|State|Start|End|NNodes\n"
                    "1|NODE_FAIL|2025-01-01T00:00:00|2025-01-02T12:00:00|2\n"
                    "2|NODE_FAIL|None|Unknown|2\n")  # fmt: skip
    assert values_of(found)["node_days"] == pytest.approx(3.0)
    assert "jobs without an elapsed time" in found.skipped.reasons


def test_nodes_come_from_tres_where_no_count_is_printed(tmp_path):
    found = reading(tmp_path, "JobID|State|Elapsed|AllocTRES\n"
                    "1|NODE_FAIL|1-00:00:00|billing=8,cpu=64,gres/gpu=16,node=2\n")  # fmt: skip
    assert values_of(found)["node_days"] == pytest.approx(2.0)


def test_unknown_nodes_give_counts_and_no_observation(tmp_path):
    text = "JobID|State|Elapsed\n1|NODE_FAIL|1-00:00:00\n"
    found = reading(tmp_path, text)
    assert values_of(found)["interruptions"] == 1
    assert found.observations == ()
    assert "--nodes" in found.withheld[0]
    assert reading(tmp_path, text, nodes=3.0).observations[0].node_days == pytest.approx(3.0)


def test_copies_of_overlapping_dumps_count_once(tmp_path):
    row = "1|NODE_FAIL|2025-01-01T00:00:00|2025-01-02T00:00:00|1-00:00:00|2\n"
    head = "JobID|State|Start|End|Elapsed|NNodes\n"
    assert values_of(reading(tmp_path, head + row + head + row))["interruptions"] == 1


def test_heterogeneous_job_stops_once(tmp_path):
    text = "JobID|State|Elapsed|NNodes\n5+0|NODE_FAIL|01:00:00|2\n5+1|NODE_FAIL|01:00:00|3\n"
    found = values_of(reading(tmp_path, text))
    assert found["interruptions"] == 1
    assert found["node_days"] == pytest.approx(5 / 24)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("JobID|State\n1|FAILED\n", "Elapsed"),
        ("JobID|State|Elapsed\n", "no job"),
        ("JobID|State|Elapsed\n1|FAILED|x|y|z\n", "rows without the 3 fields"),
    ],
)
def test_dump_that_cannot_answer_is_refused(tmp_path, text, match):
    with pytest.raises(InputError, match=match):
        reading(tmp_path, text)


def test_fixed_width_is_refused_with_its_line(tmp_path):
    text = "JobID\tState\tElapsed\n------- ------ ----\n1 FAILED 01:00:00\n"
    with pytest.raises(InputError, match=r"line 2.*parsable2"):
        reading(tmp_path, text)


@pytest.mark.parametrize("cut", range(1, 22))
def test_cut_last_row_is_counted_whole_or_told(tmp_path, cut):
    text = "JobID|State|Elapsed\n1|NODE_FAIL|02:00:00\n2|NODE_FAIL|01:00:00"[:-cut]
    found = reading(tmp_path, text, nodes=1.0)
    whole = values_of(found)["interruptions"] == 1 and values_of(found)["mean_uptime_s"] == 7200
    assert whole
    assert cut >= 20 or found.skipped.reasons


@pytest.mark.parametrize(
    ("hosts", "nodes"),
    [("n1", 1), ("n1,n2", 2), ("n[01-03]", 3), ("n[01-03,7],login1", 5), ("None assigned", None)],
)
def test_nodes_come_from_the_list_of_hosts_at_last(tmp_path, hosts, nodes):
    found = reading(tmp_path, f"JobID|State|Elapsed|NodeList\n1|NODE_FAIL|1-00:00:00|{hosts}\n")
    assert values_of(found).get("node_days") == nodes


def test_thousands_of_nodes_are_read_and_said_to_be_rounded(tmp_path):
    text = "JobID|State|Elapsed|NNodes\n1|COMPLETED|1-00:00:00|1.50K\n2|NODE_FAIL|1-00:00:00|2K\n"
    found = reading(tmp_path, text)
    assert values_of(found)["node_days"] == 1536 + 2048
    assert any("--noconvert" in note for note in found.notes)
    # The list of nodes is exact, and comes first.
    listed = text.replace("NNodes", "NNodes|NodeList").replace("K\n", "K|n[0001-1500]\n")
    assert values_of(reading(tmp_path, listed))["node_days"] == 3000


def test_event_without_a_length_does_not_shorten_the_others(tmp_path):
    text = "JobID|State|Elapsed|NNodes\n1|NODE_FAIL|02:00:00|4\n2|NODE_FAIL|INVALID|4\n"
    values = values_of(reading(tmp_path, text))
    assert (values["interruptions"], values["mean_uptime_s"]) == (2, 7200.0)


def test_name_of_a_job_may_hold_the_delimiter(tmp_path):
    text = (
        "JobID|JobName|State|Elapsed|NNodes\n1|a|b|NODE_FAIL|06:00:00|4\n2|x|COMPLETED|06:00:00|4\n"
    )
    found = reading(tmp_path, text)
    assert (values_of(found)["interruptions"], values_of(found)["node_days"]) == (1, 2.0)
    # Control: where no state results, the row is told and left out.
    told = reading(tmp_path, text.replace("a|b|NODE_FAIL", "a|NODE_FAIL|b"))
    assert "rows without the 5 fields of the header" in told.skipped.reasons
