"""Fields of one observation: each read and checked, every problem collected."""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from model.documents import shipped_names
from model.errors import InputError, Problem, nearest
from model.scenario import with_values
from model.scenario_file import read_scenario
from priors.elicitation import number
from priors.observations import Setting

MINE = "mine"

MAX_RELATIVE_ERROR = 3.0


class FieldReader:
    """Reads fields of one observation and collects what is wrong with them.

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

    def listed(self, key: str, *, closed: bool = False, integer: bool = False) -> list[float]:
        """A positive number, zero where closed, or a list of such, which must be there."""
        raw = self.raw.get(key)
        if raw is None or raw == []:
            self.wrong(key, "this key is missing" if raw is None else "got an empty list")
            return []
        if not isinstance(raw, list):
            return [self.check(key, raw, high=1e15, closed=closed, integer=integer)]
        return [
            self.check(f"{key}[{place}]", value, high=1e15, closed=closed, integer=integer)
            for place, value in enumerate(raw, start=1)
        ]

    def numbers(self, key: str, *, high: float, closed: bool = False) -> tuple[float, ...]:
        """A list of positive numbers; zero is one where closed."""
        raw = self.raw[key]
        if not isinstance(raw, list) or not raw:
            self.wrong(key, f"got {raw!r}, a list of at least one number is needed")
            return ()
        return tuple(
            self.check(f"{key}[{position}]", value, high=high, closed=closed)
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
