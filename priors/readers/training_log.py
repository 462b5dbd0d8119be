"""Training logs of all frameworks: one pass that keeps steps, saves and aborts."""

import itertools
import re
from dataclasses import dataclass

from priors.readers.dialects import dialects
from priors.readers.found import Found, ReadOptions, refuse
from priors.readers.log_account import Log
from priors.readers.megatron import Megatron
from priors.readers.one_line import Dialect
from priors.readers.recovery_marks import HINTS, Marks
from priors.readers.source import TextSource
from priors.readers.step_series import Ranks, Row, Series
from priors.readers.text import BARE_ANSI, split_rank
from priors.readers.training_evidence import evidence_of

MOST_LABELS = 4096

NUMBER_BEFORE = re.compile(r"\s*(?:\[(\d+)\]|(\d+):)(?=\s)")
"""A rank, or the number that grep and pagers put before a line."""

LEAST_NUMBERS = 4

LEAST_BACK = 3
"""Fewer steps back are resumes."""

MOST_STEPS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class TrainingLog:
    """Reader of one framework's logs."""

    name: str

    @property
    def title(self) -> str:
        """The framework in words."""
        return self.dialect().title

    def dialect(self) -> Dialect:
        """A fresh dialect of this name."""
        return next(item for item in dialects() if item.name == self.name)

    def recognise(self, head: list[str]) -> bool:
        """See :class:`priors.readers.found.Reader`."""
        return self.dialect().recognise([BARE_ANSI.sub("", line) for line in head])

    def read(self, source: TextSource, options: ReadOptions) -> Found:
        """Level and jitter of steps, and what the log tells of saves and restarts.

        Raises
        ------
        InputError
            If no step has a speed.
        """
        dialect = self.dialect()
        ranks, marks, last = scan(source, dialect)
        series = ranks.chosen()
        if series is None:
            seen = f": {dialect.skipped}" if dialect.skipped.reasons else ""
            raise refuse(
                source,
                max(last, 1),
                f"no step with a time in {last} lines of this {dialect.title} log{seen}",
                "is it the log of another framework? --as names one",
            )
        _check_order(source, series)
        _note_copies(dialect, ranks, series)
        if source.cut_lines_over_length:
            dialect.skipped.add(
                "lines longer than 65536 characters, cut there", 0, source.cut_lines_over_length
            )
        return evidence_of(Log(source=source, dialect=dialect, series=series, marks=marks), options)


def scan(source: TextSource, dialect: Dialect) -> tuple[Ranks, Marks, int]:
    """All ranks' series, what else was seen, and the number of the last line."""
    found = _Scan(dialect, numbered=_are_numbered(source.head(), dialect))
    words = (*dialect.markers, *HINTS)
    number = 0
    for first, texts in source.batches():
        # A line without any of these says nothing here: most of a log is of that kind. Those that
        # a whole block does not hold are not looked for in its lines.
        block = texts[0] if len(texts) == 1 else "\n".join(texts)
        live = [word for word in words if word in block]
        number = first - 1
        for raw in texts:
            number += 1
            for word in live:
                if word in raw:
                    found.take(number, raw, cut=number == source.cut_line)
                    break
            else:
                if found.waiting:
                    found.take(number, raw, cut=number == source.cut_line)
    if source.cut_line and found.last_line != source.cut_line:
        dialect.skipped.add("last lines without an ending that gave no step", source.cut_line)
    for line, label, row in dialect.finish():
        found.add(line, label, row, "")
    found.marks.finish()
    return found.ranks, found.marks, number


class _Scan:
    """One pass over the lines that may say something."""

    def __init__(self, dialect: Dialect, *, numbered: bool) -> None:
        self.dialect = dialect
        self.numbered = numbered
        self.megatron = dialect if isinstance(dialect, Megatron) else None
        self.waiting = dialect.waiting if isinstance(dialect, Megatron) else {}
        self.ranks = Ranks()
        self.marks = Marks(skipped=dialect.skipped)
        self.labels: dict[str, str] = {}
        self.first: str | None = None
        self.last_line = 0
        self.last_row: Row | None = None

    def take(self, number: int, raw: str, *, cut: bool) -> None:
        """Rows and marks of one line."""
        if self.numbered:
            raw = NUMBER_BEFORE.sub("", raw, count=1)
        if self.megatron is not None and not self.waiting and not cut:
            usual = self.megatron.usual(raw)
            if usual is not None:
                self.add(number, self._label(raw[: usual[0]]), usual[1], raw)
                return
        text = BARE_ANSI.sub("", raw) if "m" in raw and "[" in raw else raw
        label, text = split_rank(text)
        if label in self.waiting or any(marker in text for marker in self.dialect.markers):
            for line, row in self.dialect.rows(number, label, text, cut=cut):
                if cut and self.last_row is not None and _has_less(row, self.last_row):
                    self.dialect.skipped.add("fields cut by the end of the file", line)
                self.add(line, label, row, text)
        if any(hint in text for hint in HINTS) and self.marks.other(number, label, text):
            for series in self.ranks.series.values():
                series.restart()

    def _label(self, prefix: str) -> str:
        """Rank of a line's prefix; few are told apart, and each comes often."""
        label = self.labels.get(prefix)
        if label is None:
            label, _ = split_rank(prefix)
            if len(self.labels) < MOST_LABELS:
                self.labels[prefix] = label
        return label

    def add(self, line: int, label: str, row: Row, text: str) -> None:
        """One row of a rank."""
        if row.step > MOST_STEPS or row.batch > MOST_STEPS:
            self.dialect.skipped.add("steps with a number that no job reaches", line)
            return
        if self.first is None:
            self.first = label
        self.last_line, self.last_row = line, row
        series = self.ranks.series.get(label) or self.ranks.of(label)
        if series is not None and series.add(line, row) and label == self.first:
            self.marks.step(text, row.step, series.gap * row.seconds)


def _are_numbered(head: list[str], dialect: Dialect) -> bool:
    """Whether numbers before the lines count them: they only grow, as those of ranks do not."""
    lines = (line for line in head if any(marker in line for marker in dialect.markers))
    found = [NUMBER_BEFORE.match(line) for line in lines]
    numbers = [int(match[1] or match[2]) for match in found if match is not None]
    return len(numbers) >= LEAST_NUMBERS and all(
        before < after for before, after in itertools.pairwise(numbers)
    )


def _has_less(row: Row, other: Row) -> bool:
    """Whether a row lacks a field that another has."""
    return any(
        (own != own or not own) and before == before and before  # noqa: PLR0124 - nan
        for own, before in zip(row[1:], other[1:], strict=True)
    )


def _check_order(source: TextSource, series: Series) -> None:
    """Refuse a log whose steps go down: consoles export the newest line first."""
    back = series.resumes
    if len(back) > LEAST_BACK and 2 * len(back) > series.rows:
        raise refuse(
            source,
            back[0].line,
            f"steps go down, from {back[0].last_step} to {back[0].first_step} and on: the newest "
            "line is first",
            "turn it round: tac FILE",
        )


def _note_copies(dialect: Dialect, ranks: Ranks, chosen: Series) -> None:
    """Say how many rows of other ranks repeat the chosen one's."""
    others = sum(item.rows for item in ranks.series.values() if item is not chosen) + ranks.more
    if others:
        label = chosen.label or "without a prefix"
        dialect.skipped.add(f"rows of other ranks than {label}", 0, others)
    copies = sum(item.copies for item in ranks.series.values())
    if copies:
        line = min(item.first_copy_line for item in ranks.series.values() if item.copies)
        dialect.skipped.add("copies of a step", line, copies)
