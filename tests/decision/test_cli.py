"""The console script finds the command, hands over the arguments and starts without the rest."""

import importlib.metadata
import subprocess
import sys
from types import SimpleNamespace

import pytest

from decision import cli


def test_help_lists_every_command(capsys):
    assert cli.main(["--help"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    for name, command in cli.COMMANDS.items():
        assert f"{name} " in printed.out
        assert command.summary in printed.out


def test_help_imports_no_third_party_package():
    code = (
        "import sys; before = set(sys.modules)\n"
        "from decision.cli import main; main(['--help'])\n"
        "top = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(*sorted(top - sys.stdlib_module_names), sep='\\n', file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.split() == ["decision"]


def test_no_command_prints_the_usage_and_exits_2(capsys):
    assert cli.main([]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("usage: fundworthy")


@pytest.mark.parametrize(
    ("given", "nearest"), [("rnak", "rank"), ("posteriors", "posterior"), ("--bench", "benchmark")]
)
def test_unknown_command_exits_2_and_names_the_nearest(capsys, given, nearest):
    assert cli.main([given]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert f"'{given}'" in printed.err
    assert f"nearest is '{nearest}'" in printed.err


@pytest.mark.parametrize("status", [0, 2, 3])
def test_command_gets_its_arguments_and_gives_the_exit_status(monkeypatch, status):
    received = []
    stand_in = SimpleNamespace(main=lambda argv: received.append(argv) or status)
    monkeypatch.setitem(sys.modules, cli.COMMANDS["rank"].module, stand_in)
    assert cli.main(["rank", "--draws", "8", "--help"]) == status
    assert received == [["--draws", "8", "--help"]]


def test_arguments_default_to_those_of_the_process(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["fundworthy", "--help"])
    assert cli.main() == 0
    assert capsys.readouterr().out.startswith("usage: fundworthy")


def test_version_is_that_of_the_distribution(capsys):
    try:
        version = importlib.metadata.version("fundworthy")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("fundworthy is not installed in this environment")
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"fundworthy {version}\n"
