"""Reading one observation: every key checked, every problem collected."""

from collections.abc import Callable, Mapping

import numpy as np

from model.errors import nearest
from priors.observation_fields import FieldReader
from priors.observations import (
    Durations,
    Ettr,
    Interruptions,
    LinkEfficiency,
    LostWork,
    Observation,
    StepTimes,
    Tails,
    Throughput,
    Uptimes,
)
from priors.touched import DURATION_PATHS

DEFAULT_SOFTNESS = 0.01
"""Softness of an ETTR bound: what definitions of the ratio differ by."""

DEFAULT_ERROR_FLOOR = 0.01
"""Error of a link efficiency that repeating does not reduce: message size, placement."""

HEAVY_FROM = 5
"""From so many durations on, some may be of another kind unless the observation says otherwise."""

MAX_CORRELATION = 0.99

COUNTED = ("job_interruption", "node_hardware_failure", "gpu_error")

_MIN_RANKS = 2

_KEYS = {
    "throughput": ("stack", "fleet", "scenario", "overrides", "value", "unit", "relative_error"),
    "interruptions": (
        "fleet",
        "counts",
        "basis",
        "events",
        "node_days",
        "nodes",
        "days",
        "nodes_per_job",
        "rate_per_node_day",
        "relative_error",
    ),
    "uptimes": ("fleet", "counts", "nodes_per_job", "values_s", "censored_s", "entered_s"),
    "durations": ("fleet", "quantity", "values_s", "quantiles_s", "relative_error", "tails"),
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
        "correlation",
        "regimes",
    ),
    "lost_work": (
        "fleet",
        "scenario",
        "overrides",
        "values_s",
        "includes_detection",
        "resolution_s",
    ),
}
_COMMON = ("kind", "id", "source")


class ObservationReader(FieldReader):
    """Reads one observation of any kind."""

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
            "uptimes": self.uptimes,
            "durations": self.durations,
            "ettr": self.ettr,
            "link_efficiency": self.link_efficiency,
            "step_times": self.step_times,
            "lost_work": self.lost_work,
        }
        item = builders[kind]()
        return None if self.problems else item

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
        self.measured()
        events = node_days = rate = error = None
        periods: tuple[tuple[int, float], ...] = ()
        if used == ("events",):
            if "relative_error" in self.raw:
                self.wrong("relative_error", "a count has no relative error", "leave it out")
            periods = self.periods()
            events = sum(count for count, _ in periods)
            node_days = sum(exposure for _, exposure in periods)
        elif used:
            rate, error = self.real("rate_per_node_day", high=100.0), self.relative_error()
            for key in ("node_days", "nodes", "days"):
                if key in self.raw:
                    self.wrong(key, "a rate has no exposure", "give events instead of the rate")
        return Interruptions(
            id=self.label,
            source=self.source_text,
            fleet=self.system("fleet"),
            counts=self.choice("counts", COUNTED),  # type: ignore[arg-type]
            events=events,
            node_days=node_days,
            rate_per_node_day=rate,
            relative_error=error,
            nodes_per_job=self.real("nodes_per_job") if "nodes_per_job" in self.raw else None,
            periods=periods if len(periods) > 1 else (),
        )

    def measured(self) -> None:
        """Refuse what was computed from another rate."""
        if self.raw.get("basis", "measured") != "measured":
            self.wrong(
                "basis",
                f"got {self.raw['basis']!r}: a projection is no evidence",
                "leave the observation out, and give what it was projected from",
            )

    def periods(self) -> tuple[tuple[int, float], ...]:
        """Events with node-days, of one period or of each of a list."""
        raw = self.raw["events"]
        events = self.listed("events", closed=True, integer=True)
        keys = self.alternatives(("node_days",), ("nodes", "days"))
        columns = [self.listed(key) for key in keys]
        for key, column in zip(keys, columns, strict=True):
            fitting = (1, len(events)) if isinstance(raw, list) else (1,)
            if column and len(column) not in fitting:
                message = f"got {len(column)} values beside {len(events)} of events"
                self.wrong(key, message, "as many periods are needed, or one length for all")
        if self.problems or not columns:
            return ()
        whole = [column * (len(events) // len(column)) for column in columns]
        return tuple(
            (int(count), float(np.prod(exposure)))
            for count, *exposure in zip(events, *whole, strict=True)
        )

    def uptimes(self) -> Uptimes:
        """Running times, ended by an event or not."""
        groups = {
            key: self.numbers(key, high=1e10) if key in self.raw else ()
            for key in ("values_s", "censored_s")
        }
        times = groups["values_s"] + groups["censored_s"]
        if not times:
            self.wrong("values_s", "no running time is given", "or give censored_s")
        entered: tuple[float, ...] = ()
        if "entered_s" in self.raw:
            entered = self.numbers("entered_s", high=1e10, closed=True)
            late = [place for place, pair in enumerate(zip(entered, times, strict=False), start=1)
                    if pair[0] >= pair[1]]  # fmt: skip
            if len(entered) != len(times):
                message = f"got {len(entered)} values for {len(times)} running times"
                self.wrong("entered_s", message, "one is needed of each of values_s, censored_s")
            elif late:
                self.wrong(f"entered_s[{late[0]}]", "observation begins after its end")
        return Uptimes(
            id=self.label,
            source=self.source_text,
            fleet=self.system("fleet"),
            counts=self.choice("counts", COUNTED),  # type: ignore[arg-type]
            nodes_per_job=self.real("nodes_per_job"),
            values_s=groups["values_s"],
            censored_s=groups["censored_s"],
            entered_s=entered,
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
            tails=self.tails(len(values)),
        )

    def tails(self, count: int) -> Tails:
        """Whether some durations may be of another kind: what a handful cannot tell."""
        if "tails" not in self.raw:
            return "heavy" if count >= HEAVY_FROM else "lognormal"
        chosen = self.choice("tails", ("lognormal", "heavy"))
        if chosen == "heavy" and not count:
            self.wrong("tails", "quantiles have none", "leave it out")
        return chosen  # type: ignore[return-value]

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
            correlation=self.real("correlation", low=-1.0, high=MAX_CORRELATION, default=0.0),
            regimes=self.regimes(),
        )

    def regimes(self) -> tuple[tuple[float, int], ...]:
        """Mean and number of times of each stretch of one level."""
        raw = self.raw.get("regimes", [])
        if not isinstance(raw, list) or (raw and len(raw) < 2):  # noqa: PLR2004 - one is none
            self.wrong("regimes", f"got {raw!r}, a list of at least two is needed")
            return ()
        found = []
        for place, item in enumerate(raw, start=1):
            at = f"regimes[{place}]"
            if not isinstance(item, Mapping) or set(item) != {"mean_s", "rows"}:
                self.wrong(at, f"got {item!r}, a mapping of mean_s and rows is needed")
                continue
            mean = self.check(f"{at}.mean_s", item["mean_s"], high=1e9)
            rows = self.check(f"{at}.rows", item["rows"], high=1e15, integer=True)
            found.append((mean, int(rows)))
        return tuple(found)

    def lost_work(self) -> LostWork:
        """Work done again, an interruption each."""
        setting = self.setting()
        includes = self.raw.get("includes_detection", False)
        if not isinstance(includes, bool):
            self.wrong("includes_detection", f"got {includes!r}, allowed is true or false")
        values: tuple[float, ...] = ()
        if "values_s" in self.raw:
            values = self.numbers("values_s", high=1e9, closed=True)
        else:
            self.wrong("values_s", "this key is missing")
        if values and not sum(values):
            self.wrong("values_s", "all are zero", "an interruption that loses nothing tells none")
        return LostWork(
            id=self.label,
            source=self.source_text,
            fleet=self.system("fleet", setting),
            setting=setting,  # type: ignore[arg-type]
            values_s=values,
            includes_detection=bool(includes),
            resolution_s=self.real("resolution_s", closed=True, high=1e7, default=0.0),
        )
