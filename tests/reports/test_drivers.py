"""What drives the choice, in words: order, flips, names, and nothing where nothing was asked."""

import pytest

from reports import drivers
from reports.numbers import TERMINAL
from reports.terminal import render
from tests.reports.summaries import clear_winner, parameter, summary

WRITE, RATE = "reliability.checkpoint_write_s", "reliability.failure_rate_per_node_day"


def driven(index="shapley", flips=True):
    answer = clear_winner()
    answer["drivers"] = {
        "method": "shapley",
        "index": index,
        "meaning": "",
        "winner": [
            {"factor": WRITE, "value": 0.334, "error": 0.012},
            {"factor": RATE, "value": 0.181, "error": 0.014},
        ],
        "options": {
            "halve_failures": {"target": "first", "factor": RATE, "value": 0.5, "error": 0.02},
            "fast_restart": None,
            "do_nothing": None,
        },
        "switching": [
            {
                "parameter": WRITE,
                "unit": "s",
                "reading": reading,
                "low": 5.5,
                "high": 88.8,
                "flips": [
                    {
                        "value": 41.36,
                        "low": 39.7,
                        "high": 43.0,
                        "found": 1.0,
                        "below": "do_nothing",
                        "above": "halve_failures",
                    }
                ]
                if flips
                else [],
                "holding": [{"option": "halve_failures", "share": 1.0}],
            }
            for reading in ("set", "learnt")
        ],
    }
    return summary(
        answer,
        parameters=[
            parameter(WRITE, "time to write a checkpoint"),
            parameter(RATE, "job interruptions per node and day"),
        ],
    )


def test_deciding_names_the_strongest_first_with_errors():
    run = driven()
    text = drivers.deciding(run, run["answers"][0], TERMINAL)
    assert text.startswith(
        "Time to write a checkpoint 33 ± 1%; job interruptions per node and day 18 ± 1%"
    )
    assert "sum to 100%" in text


def test_deciding_explains_the_index_it_tells():
    run = driven(index="total")
    assert "relative to redrawing everything" in drivers.deciding(run, run["answers"][0], TERMINAL)


def test_switching_tells_set_values_only_and_where_they_flip():
    run = driven()
    (text,) = drivers.switching(run, run["answers"][0], TERMINAL)
    assert text == (
        "Time to write a checkpoint: at first doing nothing, then halve_failures from 41.4 s"
        " (39.7 to 43)."
    )


def test_switching_that_never_flips_is_a_result():
    run = driven(flips=False)
    (text,) = drivers.switching(run, run["answers"][0], TERMINAL)
    assert "halve_failures throughout, from 5.5 to 88.8 s" in text


def test_table_has_the_top_driver_where_there_is_room():
    assert "failure rate" in render(driven(), width=100)
    assert "failure rate" not in render(driven(), width=80)


@pytest.mark.parametrize("absent", [None, "nothing"])
def test_nothing_is_said_where_drivers_were_not_asked_for(absent):
    answer = clear_winner()
    if absent is None:
        answer["drivers"] = None
    run = summary(answer)
    assert drivers.deciding(run, run["answers"][0], TERMINAL) == ""
    assert drivers.switching(run, run["answers"][0], TERMINAL) == ()
    assert "top driver" not in render(run)
