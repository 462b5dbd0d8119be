"""Progress where there is no terminal, and on one."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from decision import progress
from decision.progress import Progress, duration


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "0 s"), (59.4, "59 s"), (60, "1 min 0 s"), (3599, "59 min 59 s"), (7260, "2 h 1 min")],
)
def test_duration_has_two_units_at_most(seconds, words):
    assert duration(seconds) == words


def test_progress_tells_the_time_that_is_left_at_the_pace_so_far(monkeypatch, capsys):
    now = iter([100.0, 110.0, 120.0, 130.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(now))
    with Progress(quiet=False) as told:
        told.start("running 50 tasks", 50, done=30)
        for _ in range(3):
            told.advance(2)
    # 30 were done before: 4 in 20 s leave 16 at 5 s each. Lines are at least 15 s apart.
    assert capsys.readouterr().err.splitlines() == [
        "running 50 tasks ...",
        "running 50 tasks: 34 of 50 done, 20 s so far, about 1 min 20 s left",
    ]


def test_quiet_progress_says_nothing(capsys):
    with Progress(quiet=True) as told:
        told.say("drawing")
        told.note("a task failed")
        told.start("running", 2)
        told.advance(1)
    assert capsys.readouterr().err == ""


ON_A_TERMINAL = """
import time
from decision.progress import Progress
with Progress(quiet=False) as told:
    told.note("[bold] is no markup")
    told.start("running 4 tasks", 4, done=1)
    for _ in range(3):
        time.sleep(0.2)
        told.advance(1)
    time.sleep(0.2)
"""


def test_progress_on_a_terminal_is_a_bar_with_the_time_left():
    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "PYTHONPATH": str(Path.cwd())}
    process = subprocess.Popen(
        [sys.executable, "-c", ON_A_TERMINAL], stderr=follower, env=environment
    )
    os.close(follower)
    text = b""
    while True:
        try:
            part = os.read(leader, 4096)
        except OSError:
            break
        if not part:
            break
        text += part
    os.close(leader)
    assert process.wait() == 0
    shown = text.decode()
    assert "[bold] is no markup" in shown
    assert "running 4 tasks" in shown
    assert "4/4" in shown
    assert "left" in shown
