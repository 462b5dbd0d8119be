"""What interventions cost, from a file: accelerators, or a currency with the user's own price.

A document of costs::

    decision_horizon_days: 1095
    currency: EUR                       # with a price; without both, numbers are accelerators
    price_per_accelerator: 41000        # fully loaded, over its life
    accelerator_life_days: 1095
    interventions:
      bandwidth_2x: 4.1e6
      fast_restart: {triangular: {low: 1.0e5, mode: 2.0e5, high: 6.0e5}}
      reliability_2x: {cost: 9.0e6, life_days: 1825}
    shared:
      telemetry: {cost: 1.5e6, needed_by: [fast_detection, fast_restart]}

The unit inside is the fully-loaded accelerator of the same pool over the decision horizon. What
lasts longer than the horizon, or shorter, is charged in proportion (straight-line).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np

from decision.delivery import DEFAULT_HORIZON_DAYS
from decision.outcomes import COST_PREFIX
from model.documents import read_document
from model.errors import InputError, Problem, nearest, unknown_keys
from model.interventions import Intervention
from model.numerics import Value
from priors.distributions import Prior, Range
from priors.draws import uniforms
from priors.elicitation import number, read_prior
from priors.families import FAMILIES

_KEYS = (
    "decision_horizon_days",
    "currency",
    "price_per_accelerator",
    "accelerator_life_days",
    "interventions",
    "shared",
)
_DISTRIBUTIONS = (*FAMILIES, "interval")
_AMOUNT = Range(lower=0.0, upper=np.inf, text="a finite number of at least 0")
_MIDPOINTS = 20_000
"""Points of the quantile function that an expectation is taken over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """One item of the file.

    Parameters
    ----------
    name
        Of the intervention or the shared item.
    amount
        As stated, a distribution; fixed where it is a number.
    per_unit
        Accelerators over the horizon that one of the stated unit is.
    life_days
        Days it lasts; None for the decision horizon.
    needed_by
        Interventions that need a shared item; empty for an intervention's own.
    """

    name: str
    amount: Prior
    per_unit: float
    life_days: float | None
    needed_by: tuple[str, ...] = ()

    @property
    def column(self) -> str:
        """Name of its column among draws: accelerators over the horizon."""
        return self.amount.path

    @property
    def is_certain(self) -> bool:
        """Whether it is a number."""
        return self.amount.is_fixed

    @property
    def median(self) -> float:
        """Accelerators that it costs at its middle."""
        return self.per_unit * self.amount.median

    @property
    def expected(self) -> float:
        """Expected accelerators: the mean of the quantile function."""
        if self.is_certain:
            return self.median
        levels = (np.arange(_MIDPOINTS) + 0.5) / _MIDPOINTS
        return float(self.per_unit * self.amount.quantile(levels).mean())


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """A file of costs as read.

    Parameters
    ----------
    source, text
        What messages call it, and the document.
    horizon_days
        Decision horizon of costs and benefits.
    currency
        Unit of the numbers as stated, empty for accelerators.
    price_per_accelerator, accelerator_life_days
        Price of a fully-loaded accelerator over its life, None without a currency; and that life.
    own
        Cost of each intervention, or of a bundle as a whole, by name.
    shared
        Costs that are paid once whichever of several interventions need them.
    """

    source: str
    text: str
    horizon_days: float
    currency: str
    price_per_accelerator: float | None
    accelerator_life_days: float
    own: Mapping[str, Cost]
    shared: tuple[Cost, ...]

    @property
    def items(self) -> tuple[Cost, ...]:
        """Every item of the file."""
        return (*self.own.values(), *self.shared)

    @property
    def price_over_horizon(self) -> float | None:
        """Price of a fully-loaded accelerator over the decision horizon; None without one."""
        if self.price_per_accelerator is None:
            return None
        return self.price_per_accelerator * self.horizon_days / self.accelerator_life_days

    def items_of(self, option: Intervention) -> Iterator[Cost]:
        """What an option pays: its own price or that of its parts, and each shared item once.

        Raises
        ------
        InputError
            If the file says nothing about a part.
        """
        parts = list(dict.fromkeys(part.name for part in option.parts or (option,)))
        names = [option.name] if option.name in self.own else parts
        missing = [name for name in names if name not in self.own]
        if missing:
            raise InputError(
                Problem(
                    source=self.source,
                    path=f"interventions.{name}",
                    message="this cost is missing",
                    remedy="state it, 0 for an intervention that is free, or leave it out by "
                    "--only",
                )
                for name in missing
            )
        yield from (self.own[name] for name in names)
        yield from (item for item in self.shared if {*parts, option.name} & set(item.needed_by))

    def expected(self, option: Intervention) -> float:
        """Expected accelerators that an option costs."""
        return sum(item.expected for item in self.items_of(option))

    def of(self, option: Intervention, columns: Mapping[str, Value], draws: int) -> np.ndarray:
        """Accelerators that an option costs in each draw; (n,).

        An item without a column costs what it costs at its middle.
        """
        total = np.zeros(draws)
        for item in self.items_of(option):
            total += columns.get(item.column, item.median)
        return total

    def draw(self, draws: int, seed: int) -> dict[str, np.ndarray]:
        """Draws of the uncertain items in accelerators, by column; (n,) each."""
        return {
            item.column: item.per_unit * item.amount.quantile(uniforms(item.column, draws, seed))
            for item in self.items
            if not item.is_certain
        }


def read_costs(name: str | Path, interventions: Sequence[Intervention]) -> Costs:
    """Read a file of costs.

    Parameters
    ----------
    name
        The file.
    interventions
        Those that it may name.

    Raises
    ------
    InputError
        With every problem: unknown keys and names, amounts that are no number or negative, a price
        without a currency or the other way round.
    """
    document = read_document(name, kind="file of costs")
    reader = _Reader(source=document.source, names=[one.name for one in interventions], problems=[])
    costs = reader.read(document.content, document.text)
    if reader.problems:
        raise InputError(reader.problems)
    return costs


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reader:
    """Reads the document; what is wrong with it is added to the problems."""

    source: str
    names: list[str]
    problems: list[Problem]

    def read(self, content: Mapping[str, object], text: str) -> Costs:
        """The whole document."""
        self.problems.extend(unknown_keys(content, _KEYS, source=self.source))
        horizon = self._positive(content, "decision_horizon_days", DEFAULT_HORIZON_DAYS)
        life = self._positive(content, "accelerator_life_days", DEFAULT_HORIZON_DAYS)
        currency, price, per_unit = "", None, 1.0
        if "currency" in content or "price_per_accelerator" in content:
            raw = content.get("currency")
            currency = raw.strip() if isinstance(raw, str) else ""
            if not currency:
                self._wrong("currency", f"got {raw!r}, a text is needed beside a price")
            if "price_per_accelerator" not in content:
                self._wrong(
                    "price_per_accelerator",
                    "this is missing: no price ships with the program",
                    "state what a fully-loaded accelerator costs you over its life",
                )
            price = self._positive(content, "price_per_accelerator", 1.0)
            per_unit = life / (price * horizon)
        own = {
            name: self._cost(name, f"interventions.{name}", raw, horizon, per_unit)
            for name, raw in self._section(content, "interventions").items()
        }
        if not own:
            self._wrong("interventions", "no cost is stated", "map interventions to their costs")
        for name in own:
            if name not in self.names:
                self._wrong(
                    f"interventions.{name}",
                    "there is no such intervention",
                    nearest(name, self.names),
                )
        shared = [
            self._cost(name, f"shared.{name}", raw, horizon, per_unit, shared=True)
            for name, raw in self._section(content, "shared").items()
        ]
        return Costs(
            source=self.source,
            text=text,
            horizon_days=horizon,
            currency=currency,
            price_per_accelerator=price,
            accelerator_life_days=life,
            own=MappingProxyType(own),
            shared=tuple(shared),
        )

    def _section(self, content: Mapping[str, object], key: str) -> dict[str, object]:
        section = content.get(key)
        if section is None:
            return {}
        if not isinstance(section, Mapping):
            self._wrong(key, f"got {section!r}, a mapping of names to costs is needed")
            return {}
        return {str(name): raw for name, raw in section.items()}

    def _positive(self, content: Mapping[str, object], key: str, default: float) -> float:
        if key not in content:
            return default
        value = number(content[key])
        if value is None or not 0.0 < value < np.inf:
            self._wrong(key, f"got {content[key]!r}, allowed is a finite number above 0")
            return default
        return value

    def _cost(
        self,
        name: str,
        where: str,
        raw: object,
        horizon: float,
        per_unit: float,
        *,
        shared: bool = False,
    ) -> Cost:
        """An item: a number, a distribution, or a mapping with ``cost`` and what else it needs."""
        amount, life = raw, None
        needed: tuple[str, ...] = ()
        known = ("cost", "life_days", "needed_by") if shared else ("cost", "life_days")
        if isinstance(raw, Mapping) and (shared or not set(raw) & set(_DISTRIBUTIONS)):
            self.problems.extend(unknown_keys(raw, known, source=self.source, where=where))
            amount = raw.get("cost")
            if "life_days" in raw:
                life = self._life(raw["life_days"], where)
            if shared:
                needed = self._needed_by(raw.get("needed_by"), where)
        elif shared:
            self._wrong(where, f"got {raw!r}, a mapping with cost and needed_by is needed")
        if life is not None:
            per_unit *= horizon / life
        # An own cost and a shared one may have the same name: the columns differ.
        column = f"{COST_PREFIX}{'shared.' if shared else ''}{name}"
        return Cost(
            name=name,
            amount=self._amount(amount, column, where),
            per_unit=per_unit,
            life_days=life,
            needed_by=needed,
        )

    def _life(self, raw: object, where: str) -> float | None:
        value = number(raw)
        if value is None or not 0.0 < value < np.inf:
            self._wrong(f"{where}.life_days", f"got {raw!r}, allowed is a finite number above 0")
            return None
        return value

    def _needed_by(self, raw: object, where: str) -> tuple[str, ...]:
        if not isinstance(raw, list) or not raw:
            self._wrong(f"{where}.needed_by", f"got {raw!r}, a list of the interventions is needed")
            return ()
        for name in raw:
            if name not in self.names:
                self._wrong(
                    f"{where}.needed_by",
                    f"there is no intervention {name!r}",
                    nearest(str(name), self.names),
                )
        return tuple(str(name) for name in raw)

    def _amount(self, raw: object, column: str, where: str) -> Prior:
        content: Mapping[str, object] = {"fixed": {"value": 0.0}}
        if isinstance(raw, Mapping):
            content = raw
        else:
            value = number(raw)
            if value is None or not 0.0 <= value < np.inf:
                self._wrong(
                    where,
                    "this cost is missing"
                    if raw is None
                    else f"got {raw!r}, allowed is {_AMOUNT.text} or a distribution",
                    "0 is a cost; a saving is not: make it an intervention of its own"
                    if value is not None and value < 0
                    else "",
                )
            else:
                content = {"fixed": {"value": value}}
        fallback: Mapping[str, object] = {"fixed": {"value": 0.0}}
        try:
            return read_prior(content, path=column, allowed=_AMOUNT, source=self.source)
        except InputError as error:
            self.problems.extend(error.problems)
            return read_prior(fallback, path=column, allowed=_AMOUNT, source=self.source)

    def _wrong(self, path: str, message: str, remedy: str = "") -> None:
        self.problems.append(Problem(source=self.source, path=path, message=message, remedy=remedy))
