"""What an option does in each draw: strengths as drawn, and how long each of its parts is in force.

Shapes: n draws; k parts. Over the decision horizon H an option passes through states, each a set of
parts that are in force together; a draw spends a share of the horizon in each.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from model.intervention_entries import EFFECTIVE_FROM_DAY
from model.interventions import DELIVERED, Intervention, join
from model.numerics import Value

DEFAULT_HORIZON_DAYS = 1095.0
"""Three years, the life that accelerators are written off over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Parts of an option in force together.

    Parameters
    ----------
    change
        What they change, strengths as drawn.
    share
        Share of the horizon spent so; (n,), None for all of it in every draw.
    """

    change: Intervention
    share: np.ndarray | None

    def take(self, rows: np.ndarray) -> "State":
        """The state in some of the draws."""
        share = self.share if self.share is None else self.share[rows]
        return State(change=_take(self.change, rows), share=share)


def with_draws(intervention: Intervention, columns: Mapping[str, Value]) -> Intervention:
    """The intervention with its strengths as drawn, where there are columns for them.

    Parameters
    ----------
    intervention
        A single one or a bundle, whose strengths are numbers.
    columns
        Draws by column, each of shape (n,); others are ignored.
    """
    if intervention.parts:
        parts = [with_draws(part, columns) for part in intervention.parts]
        if all(drawn is part for drawn, part in zip(parts, intervention.parts, strict=True)):
            return intervention
        return replace(join(intervention.name, parts), description=intervention.description)

    def drawn(changes: Mapping[str, Value]) -> dict[str, Value]:
        names = {path: intervention.column(path) for path in changes}
        return {
            path: np.reshape(columns[name], (-1, 1)) if name in columns else changes[path]
            for path, name in names.items()
        }

    if not any(path in intervention.distributions for path in intervention.paths):
        return intervention
    return replace(
        intervention,
        overrides=drawn(intervention.overrides),
        multipliers=drawn(intervention.multipliers),
    )


def start_days(
    part: Intervention, columns: Mapping[str, Value], horizon_days: float, draws: int
) -> np.ndarray:
    """Day from which a part is in force, the horizon's end where it never is; (n,)."""
    day = columns.get(part.column(EFFECTIVE_FROM_DAY), part.effective_from_day)
    # Its own value is the median of its delivery, as for every other uncertain quantity.
    own = float(part.probability_of_delivery >= 0.5)  # noqa: PLR2004
    delivered = columns.get(part.column(DELIVERED), own)
    start = np.where(np.asarray(delivered) > 0, np.minimum(day, horizon_days), horizon_days)
    return np.broadcast_to(start.astype(np.float64), (draws,))


def shares_in_force(starts: np.ndarray, horizon_days: float) -> dict[tuple[int, ...], np.ndarray]:
    """Share of the horizon in which exactly these parts are in force.

    A set T is in force alone from the last start in T to the first start outside it:
    max(0, min over p not in T of s_p − max over p in T of s_p)/H, with 0 and H for empty sets.

    Parameters
    ----------
    starts
        Day each part takes effect, H where it never does; (n, k).
    horizon_days
        H.

    Returns
    -------
    dict
        Shares (n,) by set of parts; sets that no draw passes through are left out. They add up
        to 1 in every draw.
    """
    draws, parts = starts.shape
    result = {}
    for size in range(parts + 1):
        for members in combinations(range(parts), size):
            others = [part for part in range(parts) if part not in members]
            begin = starts[:, members].max(axis=1) if members else np.zeros(draws)
            end = starts[:, others].min(axis=1) if others else np.full(draws, horizon_days)
            share = np.maximum(0.0, end - begin) / horizon_days
            if share.any():
                result[members] = share
    return result


def states_of(
    option: Intervention, columns: Mapping[str, Value], horizon_days: float, draws: int
) -> tuple[State, ...]:
    """What an option does over the horizon; nothing in force is no state.

    Parameters
    ----------
    option
        A single intervention or a bundle.
    columns
        Draws by column, each of shape (n,).
    horizon_days
        The decision horizon.
    draws
        n.
    """
    drawn = with_draws(option, columns)
    if option.is_whole:
        return (State(change=drawn, share=None),)
    parts = drawn.parts or (drawn,)
    always = [part for part in parts if part.is_whole]
    open_ = [part for part in parts if not part.is_whole]
    starts = np.column_stack([start_days(part, columns, horizon_days, draws) for part in open_])
    states = []
    for members, share in shares_in_force(starts, horizon_days).items():
        in_force = [*always, *(open_[i] for i in members)]
        if not in_force:
            continue
        change = join(option.name, in_force) if drawn.parts else drawn
        states.append(State(change=change, share=share))
    return tuple(states)


def _take(intervention: Intervention, rows: np.ndarray) -> Intervention:
    """An intervention in some of the draws."""

    def taken(changes: Mapping[str, Value]) -> dict[str, Value]:
        return {
            path: value[rows] if np.ndim(value) and np.shape(value)[0] > 1 else value
            for path, value in changes.items()
        }

    if not any(np.ndim(value) for value in _strengths(intervention)):
        return intervention
    return replace(
        intervention,
        overrides=taken(intervention.overrides),
        multipliers=taken(intervention.multipliers),
    )


def _strengths(intervention: Intervention) -> Sequence[Value]:
    return (*intervention.overrides.values(), *intervention.multipliers.values())
