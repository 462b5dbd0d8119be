"""How training frameworks print a step: one dialect each, lines in, rows out."""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import nan
from typing import Protocol

from priors.readers.found import Tally
from priors.readers.log_fields import Fields, keyed_number
from priors.readers.megatron import Megatron
from priors.readers.step_series import Row


class Dialect(Protocol):
    """One framework's way to print steps.

    Attributes
    ----------
    markers
        A line with none of these has no row.
    convention
        How it counts TFLOP/s by default.
    """

    name: str
    title: str
    markers: tuple[str, ...]
    convention: str
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

    def rows(self, line: int, label: str, text: str, *, cut: bool) -> Iterator[tuple[int, Row]]:  # noqa: ARG002
        """See :class:`Dialect`."""
        begins = [match.start() for match in self.begins.finditer(text)]
        if len(begins) < 2:  # noqa: PLR2004 - the usual line
            yield from self._row(line, text, cut=cut, glued=False)
            return
        begins[0] = 0
        for begin, end in itertools.pairwise([*begins, len(text)]):
            last = cut and end == len(text)
            yield from self._row(line, text[begin:end], cut=last, glued=True)

    def _row(self, line: int, text: str, *, cut: bool, glued: bool) -> Iterator[tuple[int, Row]]:
        number = next((match for step in self.step if (match := step.search(text))), None)
        if number is None:
            return
        if self.values[self.needs][0].search(text) is None:
            if cut or glued:
                end = "the end of the file" if cut else "another row"
                self.skipped.add(f"steps cut by {end}", line)
            return
        found: dict[str, float] = {}
        for name, (pattern, factor) in self.values.items():
            key = name if name != "seconds" else "step time"
            match = pattern.search(text)
            value = self.fields.take(key, match, line, cut=cut, thousands=self.thousands)
            found[name] = value * factor
        if found[self.needs] == found[self.needs]:
            yield line, Row(step=int(float(number[1].replace(",", ""))), **found)  # type: ignore[arg-type]

    def finish(self) -> Iterator[tuple[int, str, Row]]:
        """Nothing is left over."""
        return iter(())


def torchtitan() -> OneLine:
    """torchtitan: ``step: 10 loss: … tps: 5,857 tflops: … mfu: 34.30%``."""
    return OneLine(
        name="torchtitan",
        title="torchtitan",
        markers=("step:",),
        begins=re.compile(r"(?<!validate )\bstep:\s*\d"),
        step=(re.compile(r"(?<!validate )\bstep:\s*(\d[\d,]*)"),),
        values={
            "device_tokens": (keyed_number(r"\b(?:tps|wps)"), 1.0),
            "tflops": (keyed_number(r"\btflops"), 1.0),
        },
        needs="device_tokens",
        thousands=True,
    )


def nemo() -> OneLine:
    """NeMo: fields behind ``Training epoch``, or a tqdm bar."""
    return OneLine(
        name="nemo",
        title="NeMo",
        markers=("train_step_timing",),
        begins=re.compile(r"Training epoch|\bEpoch \d+:"),
        step=(
            re.compile(r"global_step\"?\s*[:=]\s*(\d[\d.]*)"),
            re.compile(r"iteration\s+(\d+)\s*/"),
            re.compile(r"\|\s*(\d+)/\d+\s*\["),
            re.compile(r"\bEpoch \d+:.*?(\d+)/\d+"),
        ),
        values={
            "seconds": (keyed_number(r"train_step_timing in s"), 1.0),
            "tflops": (keyed_number(r"TFLOPS_per_GPU|tflops_per_sec_per_gpu"), 1.0),
        },
        needs="seconds",
    )


def deepspeed() -> OneLine:
    """DeepSpeed: ``CurrSamplesPerSec=``, of the last step alone."""
    return OneLine(
        name="deepspeed",
        title="DeepSpeed",
        markers=("SamplesPerSec",),
        begins=re.compile(r"\bepoch=\d+/|(?<![\w/])global_step=|(?<![\w/])\d+/\d+, (?=Run|Sam)"),
        step=(re.compile(r"global_step=(\d+)"), re.compile(r"\b\d+/(\d+),")),
        values={"samples": (keyed_number(r"CurrSamplesPerSec|(?<![A-Za-z])SamplesPerSec"), 1.0)},
        needs="samples",
    )


def maxtext() -> OneLine:
    """MaxText: ``completed step: N, seconds: x, TFLOP/s/device: y``."""
    return OneLine(
        name="maxtext",
        title="MaxText",
        markers=("completed step",),
        begins=re.compile(r"completed step"),
        step=(re.compile(r"completed step:?\s*(\d+)"),),
        values={
            "seconds": (keyed_number(r"\bseconds"), 1.0),
            "tflops": (keyed_number(r"TFLOP/s/device"), 1.0),
        },
        needs="seconds",
    )


BATCH_HEAD = re.compile(r"\[batch=(\d[\d,]*)/\d")
FOUNDRY = {
    "tokens": keyed_number(r"throughput/tokens_per_sec"),
    "device_tokens": keyed_number(r"throughput/device/tokens_per_sec"),
    "flops": keyed_number(r"throughput/device/flops_per_sec"),
    "batches": keyed_number(r"throughput/batches_per_sec"),
}
FOUNDRY_WINDOW = 100
"""Batches that Composer's speed monitor averages over by default."""


@dataclass(slots=True)
class Foundry:
    """llm-foundry and Composer: ``[batch=N/M]:``, then indented ``Train key: value``."""

    name: str = "llm-foundry"
    title: str = "llm-foundry (Composer)"
    markers: tuple[str, ...] = ("[batch=", "throughput/")
    convention: str = "full_attention"
    skipped: Tally = field(default_factory=Tally)
    fields: Fields = field(init=False)
    open: dict[str, tuple[int, int, dict[str, float]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Share the tally."""
        self.fields = Fields(self.skipped)

    def recognise(self, lines: list[str]) -> bool:
        """A batch header and a throughput."""
        text = "\n".join(line for line in lines if any(mark in line for mark in self.markers))
        return BATCH_HEAD.search(text) is not None and "throughput/" in text

    def rows(self, line: int, label: str, text: str, *, cut: bool) -> Iterator[tuple[int, Row]]:
        """See :class:`Dialect`."""
        if head := BATCH_HEAD.search(text):
            batch = int(head[1].replace(",", ""))
            if label in self.open and self.open[label][1] != batch:
                yield from self._close(label)
            self.open.setdefault(label, (line, batch, {}))
        if label not in self.open:
            return
        for name, pattern in FOUNDRY.items():
            match = pattern.search(text)
            if match is not None:
                value = self.fields.take(name, match, line, cut=cut)
                if value == value:  # noqa: PLR0124 - nan
                    self.open[label][2][name] = value

    def _close(self, label: str) -> Iterator[tuple[int, Row]]:
        line, batch, values = self.open.pop(label)
        if not values:
            self.skipped.add("batches without a throughput (the first 100 have none)", line)
            return
        flops = values.get("flops", nan)
        yield (
            line,
            Row(
                step=batch,
                seconds=1.0 / values["batches"] if "batches" in values else nan,
                tflops=flops / 1e12,
                device_tokens=values.get("device_tokens", nan),
                tokens=values.get("tokens", nan),
            ),
        )

    def finish(self) -> Iterator[tuple[int, str, Row]]:
        """The last batch."""
        for label in list(self.open):
            for line, row in self._close(label):
                yield line, label, row


def dialects() -> tuple[Dialect, ...]:
    """A fresh dialect of each kind, the most telling first."""
    return (Megatron(), nemo(), maxtext(), torchtitan(), Foundry(), deepspeed())
