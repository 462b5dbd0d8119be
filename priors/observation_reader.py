"""Reading one observation: every key checked, every problem collected."""

from collections.abc import Callable

import numpy as np

from model.errors import nearest
from priors.observation_fields import FieldReader
from priors.observations import (
    DURATION_PATHS,
    Durations,
    Ettr,
    Interruptions,
    LinkEfficiency,
    Observation,
    StepTimes,
    Throughput,
)

DEFAULT_SOFTNESS = 0.01
"""Softness of an ETTR bound: what definitions of the ratio differ by."""

DEFAULT_ERROR_FLOOR = 0.01
"""Error of a link efficiency that repeating does not reduce: message size, placement."""

_MIN_RANKS = 2

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
            "durations": self.durations,
            "ettr": self.ettr,
            "link_efficiency": self.link_efficiency,
            "step_times": self.step_times,
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
