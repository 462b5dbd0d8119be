"""Rows of Megatron-LM and its forks, wrapped, glued and torn ones too."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import nan

from priors.readers.found import Tally
from priors.readers.log_fields import Fields, keyed_number
from priors.readers.step_series import Row
from priors.readers.text import NUMBER

SECONDS = {"ms": 1e-3, "s": 1.0}

ITERATION = re.compile(r"\biteration[:=]?\s*(\d[\d,]*)\s*/\s*(?:\d|inf)")
ELAPSED = re.compile(
    r"elapsed[ _]time(?:[ _]per[ _]iteration)?[ _]?\(?(?P<unit>ms|s)?\)?\s*[:=]\s*"
    rf"(?P<n>{NUMBER})\s*(?P<after>ms|s)?\b",
    re.IGNORECASE,
)
ELAPSED_KEY = re.compile(r"elapsed[ _]time(?:[ _]per[ _]iteration)?", re.IGNORECASE)
MEGATRON_FLOPS = keyed_number(
    r"(?:throughput|compute)[ \w]*\(TFLOPs?/s/GPU\)|(?:\[LM\])?TFLOPs(?:[ _]per[ _]gpu)?"
    r"|model[ _]TFLOPS?[\w/ ()]*|flops per GPU"
)
BESIDE = re.compile(rf"Step Time\s*:.*?(?P<n>{NUMBER})\s*MODEL_TFLOP/s/GPU")
"""What Megatron-Bridge prints on a line of its own before a row."""
USUAL = re.compile(
    r"iteration +(\d+)/ *\d+ \|(?: consumed [a-z]+: +\d+ \|)*"
    r" elapsed time per iteration \(ms\): (\d+\.\d+) \|"
    r"(?: throughput per GPU \(TFLOP/s/GPU\): (\d+\.\d+) \|)?"
    r"(?: learning rate: [^|]+\|)?(?: global batch size: +(\d+) \|)?"
)
"""The row as Megatron-LM itself prints it: read at once, since logs hold millions of them."""

USUAL_LIMIT = 1e9
"""Seconds or TFLOP/s beyond which a row is looked at field by field."""

BATCH = re.compile(r"global[ _]batch[ _]size\s*[:=]\s*(\d+)")
FIELD = re.compile(r"\s*[a-z][\w ()/-]*:\s*\S+\s*\|")
"""What the rest of a row begins with, where it is wrapped between two fields."""

WRAPS = 3
"""Lines that a wrapped row may take."""


@dataclass(slots=True)
class Megatron:
    """Megatron-LM and its forks: ``iteration N/ M | … elapsed time per iteration (ms): X |``."""

    name: str = "megatron"
    title: str = "Megatron-LM and forks"
    markers: tuple[str, ...] = ("iteration", "elapsed", "MODEL_TFLOP")
    convention: str = "full_attention"
    averages: bool = True
    skipped: Tally = field(default_factory=Tally)
    fields: Fields = field(init=False)
    waiting: dict[str, tuple[int, str, int]] = field(default_factory=dict)
    beside: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Share the tally."""
        self.fields = Fields(self.skipped)

    def recognise(self, lines: list[str]) -> bool:
        """An iteration with its elapsed time, on one line or wrapped."""
        text = "\n".join(line for line in lines if "iteration" in line or "lapsed" in line)
        return ITERATION.search(text) is not None and ELAPSED_KEY.search(text) is not None

    def wants(self, label: str) -> bool:
        """Whether a row of this rank is unfinished: then its next line is wanted."""
        return label in self.waiting

    def usual(self, text: str) -> tuple[int, Row] | None:
        """Where the one row of a whole line begins, and the row; None for any other line."""
        found = USUAL.search(text)
        if found is None or text.count("elapsed") != 1 or self.beside:
            return None
        step, elapsed, flops, batch = found.groups()
        if batch is None:
            batch = "0"
            if (place := text.find("global batch size:", found.end())) > 0:
                batch, bar, _ = text[place + 18 : place + 40].partition("|")
                batch = batch.strip()
                if not (bar and batch.isdecimal()):
                    return None
            elif "batch size" in text or "loss" not in text:
                return None  # without either, its rest may stand on the next line
        begin, seconds = found.start(), float(elapsed) * 1e-3
        inside = begin and text[begin - 1].isalnum()  # another word's end
        tflops = nan if flops is None else float(flops)
        odd = not 0.0 < tflops < USUAL_LIMIT if flops is not None else "FLOP" in text
        if inside or odd or not 0.0 < seconds < USUAL_LIMIT:
            return None
        return begin, Row(int(step), seconds, tflops, nan, nan, nan, int(batch))

    def rows(self, line: int, label: str, text: str, *, cut: bool) -> Iterator[tuple[int, Row]]:
        """See :class:`priors.readers.dialects.Dialect`."""
        begins = [match.start() for match in ITERATION.finditer(text)]
        if "MODEL_TFLOP" in text and not begins and (told := BESIDE.search(text)) is not None:
            self.beside[label] = self.fields.take("TFLOP/s", told, line, cut=cut)
            return
        held = self.waiting.pop(label, None)
        if held is not None:
            head = text[: begins[0]] if begins else text
            yield from self._continue(held, label, head, ends=bool(begins) or cut, cut=cut)
        if not begins:
            return
        for begin, end in zip(begins, [*begins[1:], len(text)], strict=True):
            piece = text[begin:end]
            last = end == len(text)
            found = ELAPSED.search(piece)
            if last and not cut and (found is None or not _is_whole(piece, found)):
                self.waiting[label] = (line, piece, 1)
            else:
                yield from self._row(line, label, piece, cut=cut and last)

    def _continue(
        self, held: tuple[int, str, int], label: str, text: str, *, ends: bool, cut: bool
    ) -> Iterator[tuple[int, Row]]:
        """A row that an earlier line began."""
        line, head, count = held
        # A terminal wraps inside a word or a number as readily as between words.
        joined = head + text
        if (found := ELAPSED.search(joined)) is None and ELAPSED.search(f"{head} {text}"):
            joined = f"{head} {text}"
        found = ELAPSED.search(joined)
        before = ELAPSED.search(head)
        if before is not None and before.end("n") < len(head.rstrip()):
            goes_on = FIELD.match(text) is not None
            joined = f"{head} {text}"
        else:
            goes_on = found is not None and re.match(r"\s*\|", joined[found.end() :]) is not None
        if before is not None and not goes_on:
            yield from self._row(line, label, head, cut=False)
        elif (found is not None and _is_whole(joined, found)) or ends or count >= WRAPS:
            yield from self._row(line, label, joined, cut=cut)
        else:
            self.waiting[label] = (line, joined, count + 1)

    def _row(self, line: int, label: str, text: str, *, cut: bool) -> Iterator[tuple[int, Row]]:
        step = ITERATION.search(text)
        elapsed = ELAPSED.search(text)
        if step is None or elapsed is None:
            if cut:
                self.skipped.add("iterations cut by the end of the file", line)
            else:
                self.skipped.add("iterations without an elapsed time", line)
            return
        unit = (elapsed["unit"] or elapsed["after"] or "").lower()
        if not unit:
            self.skipped.add("elapsed times without a unit", line)
            return
        value = self.fields.take("elapsed time", elapsed, line, cut=cut)
        flops = self.fields.take(
            "TFLOP/s", MEGATRON_FLOPS.search(text, elapsed.end("n")), line, cut=cut
        )
        if flops != flops:  # noqa: PLR0124 - nan; some forks print it first
            flops = self.fields.take(
                "TFLOP/s", MEGATRON_FLOPS.search(text, 0, elapsed.start()), line, cut=False
            )
        beside = self.beside.pop(label, nan)
        if flops != flops:  # noqa: PLR0124 - nan
            flops = beside
        if value != value:  # noqa: PLR0124 - nan
            return
        batch = BATCH.search(text)
        yield (
            line,
            Row(
                step=int(step[1].replace(",", "")),
                seconds=value * SECONDS[unit],
                tflops=flops,
                batch=int(batch[1]) if batch and not (cut and batch.end() == len(text)) else 0,
            ),
        )

    def finish(self) -> Iterator[tuple[int, str, Row]]:
        """Rows whose last field ended their line."""
        for label, (line, text, _) in self.waiting.items():
            for begin, row in self._row(line, label, text, cut=False):
                yield begin, label, row
        self.waiting.clear()


def _is_whole(text: str, elapsed: re.Match[str]) -> bool:
    """Whether a row has what follows its time: a wrapped one has neither batch nor loss there."""
    return elapsed.end("n") < len(text.rstrip()) and ("batch size" in text or "loss" in text)
