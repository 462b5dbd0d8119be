"""llm-foundry and Composer: a batch's metrics on lines of their own."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import nan

from priors.readers.found import Tally
from priors.readers.log_fields import Fields, keyed_number
from priors.readers.step_series import Row
from priors.readers.text import decimals

HEAD = re.compile(
    r"(?:\[epoch=(\d+)(?:/\d+)?\])?\s*\[(batch|token|sample|iteration)=(\d[\d,]*)(?:/(\d[\d,]*))?\]"
)
"""Progress in the unit of the run's length; batches of an epoch where that is epochs."""

COUNTS = {
    "batch": re.compile(r"\btime/batch\s*:\s*(\d[\d,]*)"),
    "sample": re.compile(r"\btime/sample\s*:\s*(\d[\d,]*)"),
}
"""Batches and samples since the start of the run."""

RATES = {
    "tokens": keyed_number(r"throughput/tokens_per_sec"),
    "device_tokens": keyed_number(r"throughput/device/tokens_per_sec"),
    "flops": keyed_number(r"throughput/device/flops_per_sec"),
    "samples": keyed_number(r"throughput/samples_per_sec"),
    "batches": keyed_number(r"throughput/batches_per_sec"),
}
WINDOW = 100
"""Batches that Composer's speed monitor averages over by default."""

COARSE = 0.004
"""A rate whose last digit is more than this share of it is no measure of jitter."""


@dataclass(slots=True)
class Open:
    """The metrics of a batch that is not over yet."""

    line: int
    head: str
    step: int | None
    samples: int = 0
    values: dict[str, float] = field(default_factory=dict)
    coarse: bool = False

    @property
    def size(self) -> int:
        """Samples of a batch, 0 where they are not told or batches differed."""
        return self.samples // self.step if self.step and self.samples % self.step == 0 else 0


@dataclass(slots=True)
class Foundry:
    """``[batch=N/M]:``, then indented ``Train key: value``."""

    name: str = "llm-foundry"
    title: str = "llm-foundry (Composer)"
    markers: tuple[str, ...] = ("[batch=", "[token=", "[sample=", "[iter", "throughput/", "time/")
    convention: str = "full_attention"
    averages: bool = False
    skipped: Tally = field(default_factory=Tally)
    fields: Fields = field(init=False)
    open: dict[str, Open] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Share the tally."""
        self.fields = Fields(self.skipped)

    def recognise(self, lines: list[str]) -> bool:
        """A batch header and a throughput."""
        text = "\n".join(line for line in lines if any(mark in line for mark in self.markers))
        return HEAD.search(text) is not None and "throughput/" in text

    def rows(self, line: int, label: str, text: str, *, cut: bool) -> Iterator[tuple[int, Row]]:
        """See :class:`priors.readers.one_line.Dialect`."""
        if head := HEAD.search(text):
            if label in self.open and self.open[label].head != head[0]:
                yield from self._close(label)
            self.open.setdefault(label, Open(line=line, head=head[0], step=_step(head)))
        batch = self.open.get(label)
        if batch is None:
            return
        for what, pattern in COUNTS.items():
            if (told := pattern.search(text)) is not None and not cut:
                count = int(told[1].replace(",", ""))
                batch.step, batch.samples = (
                    (count, batch.samples) if what == "batch" else (batch.step, count)
                )
        for name, pattern in RATES.items():
            match = pattern.search(text)
            if match is not None:
                value = self.fields.take(name, match, line, cut=cut)
                if value == value:  # noqa: PLR0124 - nan
                    batch.values[name] = value
                    if name == "batches":
                        digits = 0.1 ** decimals(match["n"]) if "e" not in match["n"] else 0.0
                        batch.coarse = digits > COARSE * value

    def _close(self, label: str) -> Iterator[tuple[int, Row]]:
        batch = self.open.pop(label)
        values = batch.values
        if not values:
            self.skipped.add("batches without a throughput (the first 100 have none)", batch.line)
            return
        if batch.step is None:
            self.skipped.add("heads in tokens or samples without time/batch", batch.line)
            return
        yield (
            batch.line,
            Row(
                step=batch.step,
                seconds=self._seconds(batch),
                tflops=values.get("flops", nan) / 1e12,
                device_tokens=values.get("device_tokens", nan),
                tokens=values.get("tokens", nan),
                samples=values.get("samples", nan),
                batch=batch.size,
            ),
        )

    def _seconds(self, batch: Open) -> float:
        """Time of a step: by samples of a batch where batches a second have too few digits."""
        values = batch.values
        if batch.coarse and batch.size and "samples" in values:
            return batch.size / values["samples"]
        if batch.coarse and ("tokens" in values or "device_tokens" in values):
            self.skipped.add(
                "batches per second of too few digits (tokens per second are used)", batch.line
            )
            return nan
        return 1.0 / values["batches"] if "batches" in values else nan

    def finish(self) -> Iterator[tuple[int, str, Row]]:
        """The last batch."""
        for label in list(self.open):
            for line, row in self._close(label):
                yield line, label, row


def _step(head: re.Match[str]) -> int | None:
    """Batches since the start, where the head says them."""
    if head[2] not in ("batch", "iteration"):
        return None
    count = int(head[3].replace(",", ""))
    if not head[1]:
        return count
    return (int(head[1]) - 1) * int(head[4].replace(",", "")) + count if head[4] else None
