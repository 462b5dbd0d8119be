"""Saves, aborts and starts that a training log tells, and the durations between them."""

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime

from priors.readers.found import Tally
from priors.readers.text import moment_of, number_of, seconds_of

SAVE_TIMER = re.compile(
    r"(?<![\w-])save-checkpoint(?:-non-persistent)?\s*\.*\s*:\s*\(?([\d.]+)(?:,\s*([\d.]+))?\)?"
)
SAVED_IN = re.compile(
    r"(?:finished saving the checkpoint|saved? (?:the )?checkpoint|checkpoint sav(?:ed|ing)"
    r"|checkpoint \S+ saved|saving (?:the )?checkpoint(?= took)|finished synchronous save"
    r"|finished async_save|checkpoint save\b[^\n]{0,120}?\bsave(?= duration))"
    r"[^\n]{0,160}?(?:\bin|took|taken:?|duration\s*:?|time:?)\s+"
    r"(\d[\d.,:]*(?:\s*days?,?\s*[\d:.]+|(?:\s*[a-zµ]+\b(?:\s*\d[\d.]*\s*[a-zµ]+\b)*))?)",
    re.IGNORECASE,
)
WHOLE = "(blocking + background)"
"""What a time of an asynchronous write holds if it is the whole of it."""

SCHEDULED = "Scheduled async checkpoint save"
""""Save duration" is the time of staging in a log that says this."""

RANK_TIMERS = re.compile(r"(?<![\w-])save-checkpoint\S*\s*\.*\s*:\s*\Z")
SAVE_STEP = re.compile(
    r"(?:saving|saved) (?:a |the )?(?:full )?checkpoint (?:at|from)?\s*(?:iteration|step)\s*[:=]?"
    r"\s*(\d+)|checkpoint save\s*:[^\n]{0,60}?\biteration\s*:\s*(\d+)",
    re.IGNORECASE,
)
ABORT = re.compile(
    r"Watchdog caught collective|Watchdog timeout|ncclUnhandledCudaError|ncclSystemError"
    r"|ncclRemoteError|NCCL error|Traceback \(most recent call last\)|SIGABRT|SIGSEGV|SIGKILL"
    r"|ChildFailedError|srun: error|slurmstepd: error|CUDA error|RuntimeError|uncorrectable ECC"
)
START = re.compile(
    r"before the start of training step|Training starts at step|successfully loaded checkpoint"
    r"|Loaded checkpoint at step|Resuming from checkpoint"
)
LOG_CLOCK = re.compile(r"(?<!\w)[EWIF](\d{1,2})(\d{2}) (\d{2}):(\d{2}):(\d{2}(?:\.\d+)?)")
"""Month, day and time as glog and its kin print them, without a year."""

COMPACT = re.compile(r"\b(20\d{2})(\d{2})(\d{2})([ T]\d{2}:\d{2}:\d{2}\b)")
LATE = 3.0
"""Times of a row that pass before the next: the job stood still in between."""

ANY_YEAR = 2000

HINTS = ("heckpoint", "rror", "atchdog", "SIG", "Traceback", "raining")
"""A line without any of these is none of the above."""

MOST_SAVES = 1 << 16
MOST_RANKS = 256


@dataclass(slots=True)
class Marks:
    """What was seen besides steps.

    Parameters
    ----------
    writes
        Durations of saves by the rank that printed them.
    staged
        Saves whose printed time is that of a copy made before writing in the background.
    saves
        Steps after which a checkpoint was written.
    detection_s, restart_s
        Durations between last progress, abort and first new step.
    durations
        Save durations with their lines and ranks: writes, unless the log says that they are
        scheduled.
    scheduled
        Whether it does.
    """

    skipped: Tally
    writes: dict[str, list[float]] = field(default_factory=dict)
    staged: int = 0
    saves: list[int] = field(default_factory=list)
    detection_s: list[float] = field(default_factory=list)
    restart_s: list[float] = field(default_factory=list)
    durations: list[tuple[int, str, float]] = field(default_factory=list)
    scheduled: bool = False
    _progress: str = ""
    _step_s: float = 0.0
    _abort: float | None = None
    _abort_line: int = 0
    _started: bool = False
    _last_step: int = 0

    @property
    def write_s(self) -> list[float]:
        """Durations of saves as the rank with the most of them printed them."""
        ranks = sorted(self.writes.items(), key=lambda item: (-len(item[1]), item[0]))
        return ranks[0][1] if ranks else []

    def finish(self) -> None:
        """Decide what only the end of the file tells: an abort that nothing follows is one."""
        if self._abort_line:
            self._detect()
            self._abort_line = 0
        for line, label, value in self.durations:
            if self.scheduled:
                self.staged += 1
            elif value > 0.0:
                self._write(line, label, value)
        self.durations.clear()

    def step(self, text: str, step: int, row_s: float) -> None:
        """Note progress; ``row_s`` is the time the row covers, nan where unknown."""
        if self._abort_line:
            self._after_abort(text, step, row_s)
        self._last_step, self._progress, self._step_s = step, text, row_s

    def _after_abort(self, text: str, step: int, row_s: float) -> None:
        """Take the durations around an abort, if the job did stop: many errors are outlived."""
        now = _moment(text, self._abort)
        progress = _moment(self._progress, None)
        late = now is not None and progress is not None and now - progress > LATE * row_s
        if self._started or late or step <= self._last_step:
            self._detect()
            if now is not None and self._abort is not None:
                covered = row_s if row_s == row_s else 0.0  # noqa: PLR0124 - nan
                self._add(self.restart_s, now - self._abort - covered, "restarts")
        else:
            self.skipped.add("errors that the job outlived", self._abort_line)
        self._abort_line, self._abort = 0, None

    def _detect(self) -> None:
        """Take the time from the last progress to the abort."""
        progress = _moment(self._progress, None)
        if self._abort is None:
            self.skipped.add("aborts without a time", self._abort_line)
        elif progress is None:
            self.skipped.add("aborts after steps without a time", self._abort_line)
        else:
            # The failure can have been any moment of the row that was never logged.
            half = self._step_s / 2.0 if self._step_s == self._step_s else 0.0
            self._add(self.detection_s, self._abort - progress - half, "detections")

    def _add(self, values: list[float], value: float, what: str) -> None:
        if value > 0.0:
            values.append(value)
        else:
            self.skipped.add(f"{what} whose clock does not go forward", 0)

    def other(self, line: int, label: str, text: str) -> bool:
        """Note any other line; True where the job starts."""
        if "heckpoint" in text:
            self._save(line, label, text)
        if self._last_step and self._abort is None and ABORT.search(text):
            # The first line of an abort that has a time tells it: tracebacks have none.
            if not self._abort_line:
                self._abort_line, self._started = line, False
            self._abort = _moment(text, _moment(self._progress, None))
        started = START.search(text) is not None
        self._started |= started
        return started

    def _save(self, line: int, label: str, text: str) -> None:
        if found := SAVE_STEP.search(text):
            if len(self.saves) < MOST_SAVES:
                self.saves.append(int(found[1] or found[2]))
            else:
                self.skipped.add(f"saves beyond the first {MOST_SAVES:,}", line)
        timer = SAVE_TIMER.search(text)
        if timer is not None:
            values = [number_of(part) for part in timer.groups() if part]
            value = values[-1] if values else None
            if value is None or value <= 0.0:
                self.skipped.add("save timers that are no time", line)
            else:
                self._write(line, label, value * 1e-3)
            return
        if RANK_TIMERS.search(text):
            self.skipped.add("save timers with a line for each rank, not read", line)
        self.scheduled |= SCHEDULED in text
        spoken = SAVED_IN.search(text)
        if spoken is None:
            return
        value = seconds_of(spoken[1].rstrip(".,"))
        if value is None:
            self.skipped.add("save times without a unit", line)
        elif WHOLE not in text and ("staging" in text or "async" in text.lower()):
            self.staged += 1
        elif "ave duration" in text:
            self.durations.append((line, label, value))
        elif value > 0.0:
            self._write(line, label, value)

    def _write(self, line: int, label: str, value: float) -> None:
        found = self.writes.get(label)
        if found is None and len(self.writes) < MOST_RANKS:
            found = self.writes[label] = []
        if found is None:
            self.skipped.add(f"save times of ranks beyond the first {MOST_RANKS}", line)
        elif len(found) >= MOST_SAVES:
            self.skipped.add(f"save times of a rank beyond the first {MOST_SAVES:,}", line)
        else:
            found.append(value)


def _moment(text: str, near: float | None) -> float | None:
    """The first moment in a text; one without a year is in the year that is nearest to another."""
    if (moment := moment_of(text)) is not None:
        return moment
    if (whole := COMPACT.search(text)) is not None:
        return moment_of(f"{whole[1]}-{whole[2]}-{whole[3]}{whole[4]}")
    match = LOG_CLOCK.search(text)
    if match is None:
        return None
    month, number, hour, minute = (int(part) for part in match.groups()[:4])
    year = ANY_YEAR if near is None else datetime.fromtimestamp(near, tz=UTC).year
    moments = []
    for candidate in (year,) if near is None else (year - 1, year, year + 1):
        try:
            day = datetime(candidate, month, number, hour, minute, tzinfo=UTC)
        except ValueError:
            continue
        moments.append(day.timestamp() + float(match[5]))
    return min(moments, key=lambda moment: abs(moment - (near or 0.0)), default=None)
