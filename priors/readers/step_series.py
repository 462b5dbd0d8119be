"""Logged steps as they stream past: a series a rank, copies, restarts and saves told apart.

Memory is bounded: a series beyond its limit keeps every second row, then every fourth …
"""

import math
from array import array
from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

LIMIT = 1 << 17
"""Rows of a rank that are kept."""

RANKS = 32
"""Ranks whose rows are kept: they log the same steps."""

HELD = 64
"""Rows that look like copies and may be a resumed job's, where times are printed coarsely."""

RECENT = 4096
"""Steps back to which a row is known to be a copy."""


class Row(NamedTuple):
    """One logged step; what the log does not say is nan, the batch 0.

    Parameters
    ----------
    step
        Number of the step.
    seconds
        Time of a step.
    tflops
        TFLOP/s of an accelerator in the log's own convention.
    device_tokens, tokens, samples
        Tokens a second of an accelerator, tokens and samples a second of the job.
    batch
        Sequences of a step.
    """

    step: int
    seconds: float = math.nan
    tflops: float = math.nan
    device_tokens: float = math.nan
    tokens: float = math.nan
    samples: float = math.nan
    batch: int = 0

    @property
    def pace(self) -> float:
        """The first measure of speed that the log gives, to compare copies."""
        if self.seconds == self.seconds:
            return self.seconds
        values = (self.device_tokens, self.tokens, self.samples, self.tflops)
        return next((value for value in values if value == value), math.nan)  # noqa: PLR0124 - nan


@dataclass(frozen=True, slots=True, kw_only=True)
class Resume:
    """A job that went on from an earlier step.

    Parameters
    ----------
    line
        Of the first row after it.
    last_step, first_step
        Last step logged before and first after.
    """

    line: int
    last_step: int
    first_step: int

    @property
    def lost_steps(self) -> int:
        """Steps that were certainly done twice."""
        return self.last_step - self.first_step


@dataclass(slots=True)
class Series:
    """Rows of one rank."""

    label: str
    steps: array = field(default_factory=lambda: array("q"))  # type: ignore[type-arg]
    seconds: array = field(default_factory=lambda: array("d"))  # type: ignore[type-arg]
    tflops: array = field(default_factory=lambda: array("d"))  # type: ignore[type-arg]
    rates: array = field(default_factory=lambda: array("d"))  # type: ignore[type-arg]
    runs: list[tuple[int, int]] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    resumes: list[Resume] = field(default_factory=list)
    spacing: Counter[int] = field(default_factory=Counter)
    rate_kind: str = ""
    rows: int = 0
    stride: int = 1
    copies: int = 0
    first_copy_line: int = 0
    last_step: int = -1
    gap: int = 1
    _same_gap: int = 0
    _held: list[tuple[int, Row]] = field(default_factory=list)
    _recent: dict[int, tuple[float, ...]] = field(default_factory=dict)
    _fresh: bool = True

    def restart(self) -> None:
        """What follows belongs to a new start of the job, and copies nothing before it."""
        self._fresh = True
        self._recent.clear()

    def add(self, line: int, row: Row) -> bool:
        """Take one row; False for a copy."""
        step = row.step
        if step > self.last_step:
            if self.rows:
                self._space(step - self.last_step)
            self._held = []
        else:
            paces = self._recent.get(step)
            if paces is not None and (row.pace in paces or step == self.last_step):
                self._copy(line, row, paces)
                return False
            self._resume(line, step)
        self._recent[step] = (row.pace,)
        if len(self._recent) > 2 * RECENT:
            self._recent = dict(islice(self._recent.items(), RECENT, None))
        self.last_step = step
        if self.rows % self.stride == 0:
            self._append(row)
        self.rows += 1
        return True

    def _resume(self, line: int, step: int) -> None:
        """Rows held as copies were the resumed job's first, if this one goes on from them."""
        held = self._held
        self._held = []
        follows = bool(held) and held[-1][1].step + self.gap == step
        first_line, first_step = (held[0][0], held[0][1].step) if follows else (line, step)
        self.resumes.append(
            Resume(line=first_line, last_step=self.last_step, first_step=first_step)
        )
        self._recent.clear()
        self._fresh = True
        if follows:
            self.copies -= len(held)
            for _, row in held:
                self._append(row)
                self._recent[row.step] = (row.pace,)
            self.rows += len(held)

    def _space(self, gap: int) -> None:
        """Count the steps between two rows; runs of the same number are counted at once."""
        if gap == self.gap:
            self._same_gap += 1
            return
        self.spacing[self.gap] += self._same_gap
        self.gap, self._same_gap = gap, 1
        if len(self.spacing) > RECENT:
            self.spacing = Counter(dict(self.spacing.most_common(RECENT // 2)))

    def _copy(self, line: int, row: Row, paces: tuple[float, ...]) -> None:
        """Another rank's row of a step, where ranks have no label: times are averaged."""
        self.copies += 1
        if row.step < self.last_step:
            goes_on = self._held and self._held[-1][1].step + self.gap == row.step
            self._held = [*self._held[-HELD:], (line, row)] if goes_on else [(line, row)]
        self.first_copy_line = self.first_copy_line or line
        if row.pace not in paces and self.steps[-1] == row.step:
            paces = (*paces, row.pace)
            self._recent[row.step] = paces
            share = 1.0 / len(paces)
            for column, value in ((self.seconds, row.seconds), (self.tflops, row.tflops)):
                if math.isfinite(value) and math.isfinite(column[-1]):
                    column[-1] += (value - column[-1]) * share

    def _append(self, row: Row) -> None:
        if self._fresh:
            self.starts.append(len(self.steps))
            self._fresh = False
        if not self.rate_kind and row.seconds != row.seconds:
            kinds = ("device_tokens", "tokens", "samples")
            self.rate_kind = next((k for k in kinds if math.isfinite(getattr(row, k))), "")
        self.steps.append(row.step)
        self.seconds.append(row.seconds)
        self.tflops.append(row.tflops)
        self.rates.append(getattr(row, self.rate_kind) if self.rate_kind else math.nan)
        if not self.runs or row.batch != self.runs[-1][1]:
            self.runs.append((len(self.steps) - 1, row.batch))
        if len(self.steps) >= LIMIT:
            self._thin()

    def _thin(self) -> None:
        self.stride *= 2
        self.steps = self.steps[::2]
        self.seconds = self.seconds[::2]
        self.tflops = self.tflops[::2]
        self.rates = self.rates[::2]
        self.runs = [((start + 1) // 2, batch) for start, batch in self.runs]
        self.starts = sorted({(start + 1) // 2 for start in self.starts})

    def _lengths(self) -> list[tuple[int, int]]:
        """Sequences of a step, 0 where it is not said, and how many rows after each other."""
        ends = [start for start, _ in self.runs[1:]] + [len(self.steps)]
        return [(batch, end - start) for (start, batch), end in zip(self.runs, ends, strict=True)]

    @property
    def sizes(self) -> list[int]:
        """Sequences of the step of each row, 0 where it does not say."""
        return [batch for batch, rows in self._lengths() for _ in range(rows)]

    @property
    def batch(self) -> int:
        """Sequences of a step, those of most of them; 0 where no row says."""
        counts: Counter[int] = Counter()
        for batch, rows in self._lengths():
            if batch:
                counts[batch] += rows
        return counts.most_common(1)[0][0] if counts else 0

    @property
    def interval(self) -> int:
        """Steps from one logged row to the next, the usual number."""
        counts = Counter(self.spacing)
        counts[self.gap] += self._same_gap
        return counts.most_common(1)[0][0]


@dataclass(slots=True)
class Ranks:
    """All series of a log, by label of the rank."""

    series: dict[str, Series] = field(default_factory=dict)
    more: int = 0

    def of(self, label: str) -> Series | None:
        """The series of a rank, None where there are too many."""
        found = self.series.get(label)
        if found is None:
            if len(self.series) >= RANKS:
                self.more += 1
                return None
            found = self.series[label] = Series(label)
        return found

    def chosen(self) -> Series | None:
        """The rank with the most rows; of equals the first by label."""
        if not self.series:
            return None
        return min(self.series.values(), key=lambda item: (-item.rows, len(item.label), item.label))
