"""DeepSpeed: three ways to print speed.

``CurrSamplesPerSec=`` is that of the last step alone, ``SamplesPerSec=`` of releases to 2022 the
average since the start, ``iter time (s):`` of pipelines the mean since the row before.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import nan

from priors.readers.found import Tally
from priors.readers.log_fields import Fields, keyed_number
from priors.readers.step_series import Row

BEGINS = re.compile(
    r"\bepoch=\d+/|(?<![\w/])global_step=|(?<![\w/])\d+/\d+, (?=Run|Sam)|\bsteps?:\s*\d+"
)
STEP = re.compile(
    r"global_step=(\d+)|\b(?P<epoch>\d+)/(?P<local>\d+),|\bsteps?:\s*(\d+)\b|(?<!\w)step=(\d+)"
)
CURRENT = keyed_number(r"CurrSamplesPerSec")
RUNNING = keyed_number(r"(?<![A-Za-z])SamplesPerSec")
PIPELINE = keyed_number(r"\biter time \(s\)")

FIRST_STEPS = 2
"""Steps that DeepSpeed's throughput timer leaves out at the start."""


@dataclass(slots=True)
class DeepSpeed:
    """See the module; of a running average each row's own share is taken.

    Parameters
    ----------
    averages
        Whether rows were means over the steps since the row before.
    before
        Of each rank, steps that an average held last, and their time in samples a rate.
    epochs
        Of each rank, the epoch, the steps logged before it, and those of it.
    """

    name: str = "deepspeed"
    title: str = "DeepSpeed"
    markers: tuple[str, ...] = ("SamplesPerSec", "iter time (s)")
    convention: str = "full_attention"
    averages: bool = False
    skipped: Tally = field(default_factory=Tally)
    fields: Fields = field(init=False)
    before: dict[str, tuple[int, float, float]] = field(default_factory=dict)
    epochs: dict[str, tuple[int, int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Share the tally."""
        self.fields = Fields(self.skipped)

    def recognise(self, lines: list[str]) -> bool:
        """A line with a step and one of its speeds."""
        return any(
            STEP.search(line) and any(key.search(line) for key in (CURRENT, RUNNING, PIPELINE))
            for line in lines
            if any(marker in line for marker in self.markers)
        )

    def rows(self, line: int, label: str, text: str, *, cut: bool) -> Iterator[tuple[int, Row]]:
        """See :class:`priors.readers.one_line.Dialect`."""
        begins = [match.start() for match in BEGINS.finditer(text)][1:]
        for begin, end in zip([0, *begins], [*begins, len(text)], strict=True):
            row = self._row(line, label, text[begin:end], cut=cut and end == len(text))
            if row is not None:
                yield line, row

    def _row(self, line: int, label: str, text: str, *, cut: bool) -> Row | None:
        number = STEP.search(text)
        if number is None:
            return None
        step = self._step(label, number)
        if (pipeline := PIPELINE.search(text)) is not None:
            self.averages = True
            value = self.fields.take("iter time", pipeline, line, cut=cut)
            return Row(step=step, seconds=value) if value == value else None  # noqa: PLR0124 - nan
        if (current := CURRENT.search(text)) is not None:
            value = self.fields.take("samples", current, line, cut=cut)
            return Row(step=step, samples=value) if value == value else None  # noqa: PLR0124 - nan
        if (running := RUNNING.search(text)) is not None:
            self.averages = True
            value = self.fields.take("samples", running, line, cut=cut)
            rate = self._own(line, label, step, value)
            return Row(step=step, samples=rate) if rate == rate else None  # noqa: PLR0124 - nan
        if cut or BEGINS.search(text) is not None:
            end = "the end of the file" if cut else "another row"
            self.skipped.add(f"steps cut by {end}", line)
        return None

    def _step(self, label: str, number: re.Match[str]) -> int:
        """Steps since the start; early releases count those of an epoch."""
        if not number["local"]:
            return int(next(part for part in number.groups() if part))
        epoch, local = int(number["epoch"]), int(number["local"])
        known, before, last = self.epochs.get(label, (epoch, 0, 0))
        if epoch != known:
            before = before + last if epoch > known else 0
        self.epochs[label] = (epoch, before, local)
        return before + local

    def _own(self, line: int, label: str, step: int, average: float) -> float:
        r"""Rate of the steps since the row before: :math:`\Delta n / \Delta(n / \bar r)`."""
        count = step - FIRST_STEPS
        if count < 1 or average != average:  # noqa: PLR0124 - nan
            return nan
        known, passed, last = self.before.get(label, (0, 0.0, nan))
        if count == known:
            return last  # a copy of the row
        now = count / average
        rate = average
        if count > known:
            if now <= passed:
                self.skipped.add("running averages that no speed since gives", line)
                return nan
            rate = (count - known) / (now - passed)
        self.before[label] = (count, now, rate)
        return rate

    def finish(self) -> Iterator[tuple[int, str, Row]]:
        """Nothing is left over."""
        return iter(())
