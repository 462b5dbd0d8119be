"""Progress on standard error: a bar on a terminal, plain lines elsewhere."""

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

EVERY_S = 15.0
"""Seconds between lines where there is no terminal."""


class Progress:
    """Tells what is being done.

    Parameters
    ----------
    quiet
        Say nothing.
    """

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._bar: Bar | None = None
        self._task: TaskID | None = None
        self._text, self._total, self._before, self._done = "", 0, 0, 0
        self._started = self._told = 0.0

    def __enter__(self) -> Self:
        """Start the bar where there is a terminal."""
        if not self._quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                MofNCompleteColumn,
                TextColumn,
                TimeElapsedColumn,
                TimeRemainingColumn,
            )
            from rich.progress import Progress as Bar

            self._bar = Bar(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("left"),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()

    def say(self, text: str) -> None:
        """Say what is being done."""
        self.note(f"{text} ...")

    def note(self, text: str) -> None:
        """Say one line as it is."""
        if self._quiet:
            return
        if self._bar is not None:
            self._bar.console.print(text, highlight=False, markup=False)
        else:
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()

    def start(self, text: str, total: int, *, done: int = 0) -> None:
        """Begin something that has a length, some of which may be done already."""
        self._text, self._total, self._before, self._done = text, total, done, done
        self._started = self._told = time.monotonic()
        if self._bar is None:
            self.say(text)
        else:
            if self._task is not None:
                self._bar.remove_task(self._task)
            # The bar estimates from what it sees: what was done before took no time now.
            self._task = self._bar.add_task(text, total=total, completed=done)

    def advance(self, count: int) -> None:
        """Say that so much more of it is done."""
        if self._bar is not None and self._task is not None:
            self._bar.advance(self._task, count)
            return
        self._done += count
        now = time.monotonic()
        if now - self._told >= EVERY_S:
            self._told = now
            self.note(f"{self._text}: {self._line(now - self._started)}")

    def _line(self, elapsed_s: float) -> str:
        """What is done and the time that is left, at the pace so far."""
        pace_s = elapsed_s / max(1, self._done - self._before)
        left_s = pace_s * (self._total - self._done)
        return (
            f"{self._done:,} of {self._total:,} done, {duration(elapsed_s)} so far, about"
            f" {duration(left_s)} left"
        )


def duration(seconds: float) -> str:
    """A duration in words: two units at most."""
    whole = round(seconds)
    if whole < 60:  # noqa: PLR2004 - seconds of a minute
        return f"{whole} s"
    minutes, seconds_left = divmod(whole, 60)
    if minutes < 60:  # noqa: PLR2004 - minutes of an hour
        return f"{minutes} min {seconds_left} s"
    hours, minutes_left = divmod(minutes, 60)
    return f"{hours} h {minutes_left} min"
