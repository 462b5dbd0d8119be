"""Progress on standard error: a bar on a terminal, plain lines elsewhere."""

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID


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

    def __enter__(self) -> Self:
        """Start the bar where there is a terminal."""
        if not self._quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
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
        """Say one line."""
        if self._quiet:
            return
        if self._bar is not None:
            self._bar.console.print(f"{text} ...", highlight=False)
        else:
            sys.stderr.write(f"{text} ...\n")
            sys.stderr.flush()

    def start(self, text: str, total: int) -> None:
        """Begin something that has a length."""
        if self._bar is None:
            self.say(text)
        else:
            self._task = self._bar.add_task(text, total=total)

    def advance(self, count: int) -> None:
        """Say that so much more of it is done."""
        if self._bar is not None and self._task is not None:
            self._bar.advance(self._task, count)
