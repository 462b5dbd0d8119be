"""NeMo: fields behind ``Training epoch``, or a progress bar."""

import re
from dataclasses import dataclass, field

from priors.readers.log_fields import keyed_number
from priors.readers.one_line import OneLine

GLOBAL_STEP = re.compile(r"global_step\"?\s*[:=]\s*(\d+(?:\.\d*)?)(e[+-]?\d+)?", re.IGNORECASE)
ITERATION = re.compile(r"Training epoch (\d+), iteration\s+(\d+)\s*/\s*(\d+)")
BAR = re.compile(r"\bEpoch (\d+):.*?(?:(\d+)/(\d+)|\b(\d+)it) *\[")

ROUNDING = 0.006
"""Half of the last of three digits, and a little for the bar that runs a step ahead."""


@dataclass(slots=True)
class NeMo(OneLine):
    """See the module; bars print a step from 1,000 on to three digits only, and count it exactly.

    Parameters
    ----------
    shifts
        Of each rank, what must be added to a bar's count: a resumed job's begins at zero.
    """

    shifts: dict[str, int] = field(default_factory=dict)

    def recognise(self, lines: list[str]) -> bool:
        """A step's timing, or a bar of NeMo's without it, which the reading then says."""
        return OneLine.recognise(self, lines) or any(
            "global_step" in line and "reduced_train_loss" in line and BAR.search(line)
            for line in lines
        )

    def step_of(self, line: int, label: str, text: str) -> int | None:
        """The global step where it is exact; else the count of the epoch and those before."""
        told = GLOBAL_STEP.search(text)
        if told is not None and not told[2]:
            return int(float(told[1]))
        if (row := ITERATION.search(text)) is not None:
            return int(row[1]) * (int(row[3]) + 1) + int(row[2])
        bar = BAR.search(text)
        if bar is None:
            return None
        # A bar counts the steps that are done; the global step begins at zero.
        count = int(bar[2] or bar[4]) - 1 + int(bar[1]) * int(bar[3] or 0)
        if told is None:
            return max(count, 0)
        rounded = float(told[1] + told[2])
        shift = self.shifts.get(label, 0)
        if abs(count + shift - rounded) > ROUNDING * rounded + 1.0:
            shift = self.shifts[label] = round(rounded) - count
        if shift:
            self.skipped.add(
                "digits of steps whose bar began anew: the step is known to three digits", line
            )
        return count + shift


def nemo() -> NeMo:
    """The dialect."""
    return NeMo(
        name="nemo",
        title="NeMo",
        markers=("train_step_timing", "global_step"),
        begins=re.compile(r"Training epoch|\bEpoch \d+:"),
        step=(GLOBAL_STEP, ITERATION, BAR),
        values={
            "seconds": (keyed_number(r"train_step_timing in s"), 1.0),
            "tflops": (keyed_number(r"TFLOPS_per_GPU|tflops_per_sec_per_gpu"), 1.0),
        },
        needs="seconds",
        batch=re.compile(r"global_batch_size\"?\s*[:=]\s*(\d+)(?![\d.e])"),
        lacking="steps without train_step_timing (exp_manager.log_step_timing prints it)",
    )
