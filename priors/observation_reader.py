"""Reading one observation: every key checked, every problem collected."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from model.documents import shipped_names
from model.errors import InputError, Problem, nearest
from model.scenario import with_values
from model.scenario_file import read_scenario
from priors.elicitation import number
from priors.observations import (
    DURATION_PATHS,
    Durations,
    Ettr,
    Interruptions,
    LinkEfficiency,
    Observation,
    Setting,
    StepTimes,
    Throughput,
)

MINE = "mine"

DEFAULT_SOFTNESS = 0.01
"""Softness of an ETTR bound: what definitions of the ratio differ by."""

DEFAULT_ERROR_FLOOR = 0.01
"""Error of a link efficiency that repeating does not reduce: message size, placement."""

_MIN_RANKS = 2
MAX_RELATIVE_ERROR = 3.0

_KEYS = {
    "throughput": ("stack", "fleet", "scenario", "overrides", "value", "unit", "relative_error"),
    "interruptions": (
        "fleet",
        "counts",
        "events",
        "node_days",
        "nodes",
        "days",
        "rate_per_node_day",
        "relative_error",
    ),
    "durations": ("fleet", "quantity", "values_s", "quantiles_s", "relative_error"),
    "ettr": (
        "fleet",
        "scenario",
        "overrides",
        "value",
        "error",
        "at_least",
        "at_most",
        "softness",
    ),
    "link_efficiency": ("stack", "values", "mean", "sd", "repeats", "error_floor"),
    "step_times": (
        "stack",
        "fleet",
        "scenario",
        "overrides",
        "mean_s",
        "sd_s",
        "count",
        "averaging_interval",
        "relative_error",
    ),
}
_COMMON = ("kind", "id", "source")


class ObservationReader:
    """Reads one observation and collects what is wrong with it.

    Methods return a harmless stand-in where they note a problem; the record is then dropped.
    """

    def __init__(
        self, raw: Mapping[str, object], *, label: str, source: str, directory: Path | None
    ) -> None:
        self.raw = raw
        self.label = label
        self.source = source
        self.directory = directory
        self.source_text = ""
        self.problems: list[Problem] = []

    def wrong(self, key: str, message: str, remedy: str = "") -> None:
        """Note a problem of one key."""
        self.problems.append(
            Problem(source=self.source, path=f"{self.label}.{key}", message=message, remedy=remedy)
        )

    def read(self) -> Observation | None:
        """The observation, None where something is wrong with it."""
        kind = self.raw.get("kind")
        if not isinstance(kind, str) or kind not in _KEYS:
            message = "this key is missing" if kind is None else f"unknown kind {kind!r}"
            self.wrong("kind", message, nearest(str(kind), list(_KEYS)))
            return None
        known = (*_COMMON, *_KEYS[kind])
        for key in self.raw:
            if key not in known:
                self.wrong(str(key), f"unknown key of kind {kind}", nearest(str(key), known))
        self.text("id")
        self.source_text = self.text("source")
        builders: dict[str, Callable[[], Observation]] = {
            "throughput": self.throughput,
            "interruptions": self.interruptions,
            "durations": self.durations,
            "ettr": self.ettr,
            "link_efficiency": self.link_efficiency,
            "step_times": self.step_times,
        }
        item = builders[kind]()
        return None if self.problems else item

    def text(self, key: str) -> str:
        """A text that must be there."""
        value = self.raw.get(key)
        if isinstance(value, str) and value.strip():
            return value.strip()
        message = "this key is missing" if value is None else f"got {value!r}"
        self.wrong(key, message, "a text is needed")
        return ""

    def choice(self, key: str, allowed: Sequence[str]) -> str:
        """One of the allowed texts."""
        value = self.raw.get(key)
        if isinstance(value, str) and value in allowed:
            return value
        message = "this key is missing" if value is None else f"got {value!r}"
        hint = "" if value is None else nearest(str(value), allowed)
        self.wrong(key, message, hint or "one of " + ", ".join(allowed))
        return allowed[0]

    def system(self, key: str, setting: Setting | None = None) -> str:
        """Stack or fleet: as given, else that of the scenario, else mine."""
        if key in self.raw:
            return self.text(key)
        return str(getattr(setting.scenario, key)) if setting else MINE

    def check(
        self,
        key: str,
        value: object,
        *,
        low: float = 0.0,
        high: float = np.inf,
        closed: bool = False,
        integer: bool = False,
    ) -> float:
        """A number above ``low`` (or at least, where closed) and at most ``high``."""
        found = number(value)
        valid = (
            found is not None
            and np.isfinite(found)
            and (found >= low if closed else found > low)
            and found <= high
            and (not integer or found.is_integer())
        )
        if found is not None and valid:
            return found
        kind = "an integer" if integer else "a finite number"
        text = f"{kind} {'of at least' if closed else 'above'} {low:g}"
        if np.isfinite(high):
            text += f" and at most {high:g}"
        self.wrong(key, f"got {value!r}, allowed is {text}")
        return 1.0

    def real(
        self,
        key: str,
        *,
        low: float = 0.0,
        high: float = np.inf,
        closed: bool = False,
        default: float | None = None,
    ) -> float:
        """A number; it must be there where it has no default."""
        if key not in self.raw:
            if default is None:
                self.wrong(key, "this key is missing")
                return 1.0
            return default
        return self.check(key, self.raw[key], low=low, high=high, closed=closed)

    def whole(self, key: str, *, low: int) -> int:
        """An integer that must be there."""
        if key not in self.raw:
            self.wrong(key, "this key is missing")
            return low
        value = self.check(key, self.raw[key], low=low, high=1e15, closed=True, integer=True)
        return int(value)

    def relative_error(self) -> float:
        """The relative error, which must be there."""
        return self.real("relative_error", high=MAX_RELATIVE_ERROR)

    def alternatives(self, *groups: tuple[str, ...]) -> tuple[str, ...]:
        """The one group of keys that is used; a problem where none or several are."""
        used = [group for group in groups if any(key in self.raw for key in group)]
        if len(used) == 1:
            return used[0]
        options = "; or ".join(" with ".join(group) for group in groups)
        given = ", ".join(key for group in used for key in group if key in self.raw)
        key = used[0][0] if used else groups[0][0]
        self.wrong(key, f"got {given}" if given else "this key is missing", f"needed is {options}")
        return ()

    def setting(self) -> Setting | None:
        """The scenario with its overrides, None where it is not valid."""
        name = self.text("scenario")
        overrides = self.raw.get("overrides", {})
        if not isinstance(overrides, Mapping):
            self.wrong("overrides", f"got {overrides!r}, a mapping of dotted paths is needed")
            return None
        if not name:
            return None
        target: str | Path = name
        if name not in shipped_names("model.data.scenarios") and self.directory is not None:
            target = self.directory / name
        try:
            scenario = read_scenario(target).scenario
            changes = {str(path): value for path, value in overrides.items()}
            scenario = with_values(scenario, changes, source=self.source)
        except InputError as error:
            self.problems += [
                Problem(
                    source=self.source,
                    path=".".join(p for p in (self.label, "scenario", problem.path) if p),
                    message=problem.message
                    if problem.source == self.source
                    else f"{problem.source}: {problem.message}",
                    remedy=problem.remedy,
                )
                for problem in error.problems
            ]
            return None
        return Setting(name=name, scenario=scenario, known=frozenset(changes))

    def throughput(self) -> Throughput:
        """Training speed."""
        setting = self.setting()
        unit = self.choice("unit", ("tflops_per_accelerator", "mfu", "tokens_per_second"))
        return Throughput(
            id=self.label,
            source=self.source_text,
            stack=self.system("stack", setting),
            fleet=self.system("fleet", setting),
            setting=setting,  # type: ignore[arg-type]
            value=self.real("value", high=1.0 if unit == "mfu" else np.inf),
            unit=unit,  # type: ignore[arg-type]
            relative_error=self.relative_error(),
        )

    def interruptions(self) -> Interruptions:
        """A count with its exposure, or a rate."""
        used = self.alternatives(("events",), ("rate_per_node_day",))
        events = node_days = rate = error = None
        if used == ("events",):
            events = self.whole("events", low=0)
            if "relative_error" in self.raw:
                self.wrong("relative_error", "a count has no relative error", "leave it out")
            exposure = self.alternatives(("node_days",), ("nodes", "days"))
            if exposure == ("node_days",):
                node_days = self.real("node_days")
            elif exposure:
                node_days = self.real("nodes") * self.real("days")
        elif used:
            rate, error = self.real("rate_per_node_day", high=100.0), self.relative_error()
            for key in ("node_days", "nodes", "days"):
                if key in self.raw:
                    self.wrong(key, "a rate has no exposure", "give events instead of the rate")
        return Interruptions(
            id=self.label,
            source=self.source_text,
            fleet=self.system("fleet"),
            counts=self.choice("counts", ("job_interruption", "node_hardware_failure")),  # type: ignore[arg-type]
            events=events,
            node_days=node_days,
            rate_per_node_day=rate,
            relative_error=error,
        )

    def durations(self) -> Durations:
        """Measured times, or quantiles of them."""
        used = self.alternatives(("values_s",), ("quantiles_s",))
        values: tuple[float, ...] = ()
        quantiles: tuple[tuple[float, float], ...] = ()
        error = None
        if used == ("values_s",):
            values = self.numbers("values_s", high=1e9)
            if "relative_error" in self.raw:
                self.wrong("relative_error", "only quantiles have one", "leave it out")
        elif used:
            quantiles, error = self.quantiles("quantiles_s"), self.relative_error()
        return Durations(
            id=self.label,
            source=self.source_text,
            fleet=self.system("fleet"),
            quantity=self.choice("quantity", tuple(DURATION_PATHS)),  # type: ignore[arg-type]
            values_s=values,
            quantiles_s=quantiles,
            relative_error=error,
        )

    def numbers(self, key: str, *, high: float) -> tuple[float, ...]:
        """A list of positive numbers."""
        raw = self.raw[key]
        if not isinstance(raw, list) or not raw:
            self.wrong(key, f"got {raw!r}, a list of at least one number is needed")
            return ()
        return tuple(
            self.check(f"{key}[{position}]", value, high=high)
            for position, value in enumerate(raw, start=1)
        )

    def quantiles(self, key: str) -> tuple[tuple[float, float], ...]:
        """Pairs of probability and quantile, ascending."""
        raw = self.raw[key]
        if not isinstance(raw, Mapping) or not raw:
            self.wrong(key, f"got {raw!r}, a mapping of probabilities to values is needed")
            return ()
        pairs = []
        for raw_p, raw_value in raw.items():
            at, p = f"{key}.{raw_p}", number(raw_p)
            if p is None or not 0.0 < p < 1.0:
                self.wrong(at, f"got the probability {raw_p!r}, allowed is inside (0, 1)")
                continue
            pairs.append((p, self.check(at, raw_value, high=1e9)))
        pairs.sort()
        ordered = all(
            first[0] < second[0] and first[1] < second[1]
            for first, second in itertools.pairwise(pairs)
        )
        if not ordered:
            shown = ", ".join(f"{p:g}: {value:g}" for p, value in pairs)
            self.wrong(key, f"got {shown}", "quantiles must increase with their probability")
        return tuple(pairs)

    def ettr(self) -> Ettr:
        """A ratio with its error, or a bound."""
        setting = self.setting()
        used = self.alternatives(("value", "error"), ("at_least",), ("at_most",))
        if used == ("value", "error"):
            if "softness" in self.raw:
                self.wrong("softness", "only a bound has a softness", "state error instead")
            bound, error = "value", self.real("error", high=1.0)
        else:
            bound = used[0] if used else "at_least"
            error = self.real("softness", high=1.0, default=DEFAULT_SOFTNESS)
            if used and "error" in self.raw:
                self.wrong("error", "a bound has a softness instead", "state softness")
        return Ettr(
            id=self.label,
            source=self.source_text,
            fleet=self.system("fleet", setting),
            setting=setting,  # type: ignore[arg-type]
            bound=bound,  # type: ignore[arg-type]
            value=self.real(bound, high=1.0) if used else 1.0,
            error=error,
        )

    def link_efficiency(self) -> LinkEfficiency:
        """Achieved over line rate."""
        used = self.alternatives(("values",), ("mean", "sd", "repeats"))
        mean, sd, repeats = 1.0, 0.0, 1
        if used == ("values",):
            values = self.numbers("values", high=1.0)
            if values:
                repeats, mean = len(values), float(np.mean(values))
                sd = float(np.std(values, ddof=1)) if repeats > 1 else 0.0
        elif used:
            mean = self.real("mean", high=1.0)
            sd, repeats = self.real("sd", closed=True, high=1.0), self.whole("repeats", low=1)
        return LinkEfficiency(
            id=self.label,
            source=self.source_text,
            stack=self.system("stack"),
            mean=mean,
            sd=sd,
            repeats=repeats,
            error_floor=self.real("error_floor", high=1.0, default=DEFAULT_ERROR_FLOOR),
        )

    def step_times(self) -> StepTimes:
        """Step times out of a log."""
        setting = self.setting()
        if setting is not None and setting.scenario.world < _MIN_RANKS:
            self.wrong(
                "scenario",
                "a job of one accelerator has no slowest rank",
                "throughput needs no spread",
            )
        return StepTimes(
            id=self.label,
            source=self.source_text,
            stack=self.system("stack", setting),
            fleet=self.system("fleet", setting),
            setting=setting,  # type: ignore[arg-type]
            mean_s=self.real("mean_s", high=1e9),
            sd_s=self.real("sd_s", high=1e9),
            count=self.whole("count", low=2),
            averaging_interval=self.real("averaging_interval", low=1.0, closed=True, default=1.0),
            relative_error=self.relative_error(),
        )
