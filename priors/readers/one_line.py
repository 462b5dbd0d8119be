"""What a dialect of training logs is, and the one of frameworks that print a step on one line."""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from priors.readers.found import Tally
from priors.readers.log_fields import Fields
from priors.readers.step_series import Row


class Dialect(Protocol):
    """One framework's way to print steps.

    Attributes
    ----------
    markers
        A line with none of these has no row.
    convention
        How it counts TFLOP/s by default.
    averages
        Whether a row is the mean over all steps since the row before.
    """

    name: str
    title: str
    markers: tuple[str, ...]
    convention: str
    averages: bool
    skipped: Tally

    def recognise(self, lines: list[str]) -> bool:
        """Whether these lines are of this dialect."""

    def rows(self, line: int, label: str, text: str, *, cut: bool) -> Iterator[tuple[int, Row]]:
        """Rows that a line of a rank completes, with the line they began in."""

    def finish(self) -> Iterator[tuple[int, str, Row]]:
        """Rows that the end of the file completes."""


@dataclass(slots=True)
class OneLine:
    """A framework that prints a step on one line.

    Parameters
    ----------
    begins
        Where a row begins: several of them are on one line where ranks write at once.
    step
        Patterns whose first group is the step; the first that matches counts.
    values
        Pattern of each field of :class:`Row`, with the factor to its unit.
    needs
        The field without which there is no row.
    thousands
        Whether it writes thousands with commas.
    batch
        Pattern of the sequences of a step, where rows say them.
    lacking
        What to call a step without the field that is needed; empty where that is usual.
    """

    name: str
    title: str
    markers: tuple[str, ...]
    begins: re.Pattern[str]
    step: tuple[re.Pattern[str], ...]
    values: dict[str, tuple[re.Pattern[str], float]]
    needs: str
    convention: str = "full_attention"
    thousands: bool = False
    averages: bool = False
    batch: re.Pattern[str] | None = None
    lacking: str = ""
    skipped: Tally = field(default_factory=Tally)
    fields: Fields = field(init=False)

    def __post_init__(self) -> None:
        """Share the tally."""
        self.fields = Fields(self.skipped)

    def recognise(self, lines: list[str]) -> bool:
        """A line with a step and the field that is needed."""
        pattern = self.values[self.needs][0]
        return any(
            pattern.search(line) and any(step.search(line) for step in self.step)
            for line in lines
            if any(marker in line for marker in self.markers)
        )

    def rows(self, line: int, label: str, text: str, *, cut: bool) -> Iterator[tuple[int, Row]]:
        """See :class:`Dialect`."""
        begins = [match.start() for match in self.begins.finditer(text)]
        if len(begins) < 2:  # noqa: PLR2004 - the usual line
            yield from self._row(line, label, text, cut=cut, glued=False)
            return
        begins[0] = 0
        for begin, end in itertools.pairwise([*begins, len(text)]):
            last = cut and end == len(text)
            yield from self._row(line, label, text[begin:end], cut=last, glued=True)

    def step_of(self, line: int, label: str, text: str) -> int | None:  # noqa: ARG002
        """Number of the step that a row of a rank tells of, None where it tells none."""
        number = next((match for step in self.step if (match := step.search(text))), None)
        return None if number is None else int(float(number[1].replace(",", "")))

    def _row(
        self, line: int, label: str, text: str, *, cut: bool, glued: bool
    ) -> Iterator[tuple[int, Row]]:
        step = self.step_of(line, label, text)
        if step is None:
            return
        if self.values[self.needs][0].search(text) is None:
            if cut or glued:
                end = "the end of the file" if cut else "another row"
                self.skipped.add(f"steps cut by {end}", line)
            elif self.lacking:
                self.skipped.add(self.lacking, line)
            return
        found: dict[str, float] = {}
        for name, (pattern, factor) in self.values.items():
            key = name if name != "seconds" else "step time"
            match = pattern.search(text)
            value = self.fields.take(key, match, line, cut=cut, thousands=self.thousands)
            found[name] = value * factor
        if found[self.needs] == found[self.needs]:
            batch = self.batch.search(text) if self.batch is not None else None
            whole = batch is not None and not (cut and batch.end() == len(text))
            yield line, Row(step=step, batch=int(batch[1]) if batch and whole else 0, **found)

    def finish(self) -> Iterator[tuple[int, str, Row]]:
        """Nothing is left over."""
        return iter(())
