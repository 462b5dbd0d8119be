"""How a command ends."""

import subprocess
import sys
from pathlib import Path

import pytest

from model.command import command
from model.errors import InputError

ROOT = Path(__file__).resolve().parents[2]


def ending(action: object) -> object:
    @command
    def main(argv: object = None) -> int:
        return action()  # type: ignore[operator, no-any-return]

    return main()


def raising(error: BaseException) -> object:
    def action() -> int:
        raise error

    return action


def test_status_is_passed_on() -> None:
    assert ending(lambda: 3) == 3


def test_bad_input_is_one_block(capsys: pytest.CaptureFixture[str]) -> None:
    assert ending(raising(InputError.single("wrong", source="a.yaml"))) == 2
    assert capsys.readouterr().err == "error: a.yaml: wrong\n"


def test_interruption_ends_with_130(capsys: pytest.CaptureFixture[str]) -> None:
    assert ending(raising(KeyboardInterrupt())) == 130
    assert "interrupted" in capsys.readouterr().err


def test_fault_of_the_code_keeps_its_traceback() -> None:
    with pytest.raises(ZeroDivisionError):
        ending(lambda: 1 // 0)


def test_reader_that_closes_the_pipe_is_no_error() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "decision.fields"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.close()
        assert child.stderr.read() == b""
        assert child.wait(timeout=30) == 0
