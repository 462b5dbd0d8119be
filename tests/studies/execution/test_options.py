"""Options of every command with a study, and what does not go together."""

import argparse

import pytest

from model.errors import InputError
from studies.execution.options import Execution, add_execution_options, execution_of


def parsed(*arguments: str) -> Execution:
    parser = argparse.ArgumentParser()
    add_execution_options(parser)
    return execution_of(parser.parse_args(arguments))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], Execution()),
        (["--jobs", "2"], Execution(engine="processes", jobs=2)),
        (["--engine", "processes"], Execution(engine="processes", jobs=1)),
        (["--engine", "dask", "--jobs", "4"], Execution(engine="dask", jobs=4)),
        (["--scheduler", "tcp://a:1"], Execution(engine="dask", scheduler="tcp://a:1")),
        (["--no-resume"], Execution(resume=False)),
    ],
)
def test_options_say_how_to_run(arguments: list[str], expected: Execution) -> None:
    assert parsed(*arguments) == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--jobs", "0"], "got 0, allowed are counts from 1"),
        (["--engine", "in-process", "--jobs", "2"], "one task runs after the other"),
        (["--engine", "processes", "--scheduler", "tcp://a:1"], "of no use to the engine"),
        (["--scheduler", "tcp://a:1", "--jobs", "2"], "those of the scheduler"),
    ],
)
def test_options_that_do_not_go_together_are_refused(arguments: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        parsed(*arguments)


def test_every_core_is_at_least_one_worker() -> None:
    assert parsed("--jobs", "-1").workers >= 1
    assert parsed("--jobs", "3").workers == 3
