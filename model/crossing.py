"""Where a scaling curve crosses a target: brackets on samples, refined to adjacent pools.

Shapes: n draws, K options, P sizes; pairs are (draw, option) combinations, flattened.
"""

from dataclasses import dataclass

import numpy as np

from model.ledger import productive_accelerators
from model.parameters import UNCERTAIN
from model.scaling import Curve, replan
from model.scenario import Scenario, substitute

PEAK_MARGIN = 1e-3
"""Between two sizes 7% apart the curve's peak rises above the larger by less than this share."""


PIECE = 32_768
"""Values of Π evaluated at once: the dozens of intermediate arrays stay in the cache."""


def first_at_or_above(curve: Curve, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Index of the first sample that reaches each target, and whether one does; (n, K)."""
    index = np.empty(target.shape, dtype=np.int64)
    reached = np.empty(target.shape, dtype=bool)
    rows = np.arange(target.shape[0])
    for option in range(target.shape[1]):
        hit = curve.productive >= target[:, option : option + 1]
        first = hit.argmax(axis=1)
        index[:, option] = first
        reached[:, option] = hit[rows, first]
    return index, reached


def interpolate(
    pool_low: np.ndarray,
    pool_high: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    target: np.ndarray,
) -> np.ndarray:
    """The pool at which the chord between two samples reaches the target; elementwise."""
    rise = high - low
    share = np.divide(target - low, rise, out=np.zeros_like(rise), where=rise != 0)
    return np.asarray(pool_low + share * (pool_high - pool_low))


def climb(
    scenario: Scenario, curve: Curve, row: np.ndarray, target: np.ndarray, high: np.ndarray
) -> np.ndarray:
    """Pools at which Π rises to targets that sample ``high`` is the first to reach; (pairs,)."""
    bracket = _Bracket(
        low=curve.dp[high - 1],
        high=curve.dp[high],
        pool_low=curve.pool[row, high - 1],
        pool_high=curve.pool[row, high],
        productive_low=curve.productive[row, high - 1],
        productive_high=curve.productive[row, high],
    )
    _refine(_Probe.of(scenario), row, bracket, target)
    return bracket.crossing(target)


def climb_past_samples(
    scenario: Scenario, curve: Curve, row: np.ndarray, target: np.ndarray
) -> np.ndarray:
    """Pools that reach targets just above the largest sample; +inf where none does.

    The peak lies between the samples next to the largest: it is searched there by halving.
    """
    crossing = np.full(row.size, np.inf)
    best = np.argmax(curve.productive, axis=1)[row]
    near = target <= curve.productive[row, best] * (1.0 + PEAK_MARGIN)
    near &= (best > 0) & (best < curve.dp.size - 1)
    pairs = np.flatnonzero(near)
    if not pairs.size:
        return crossing
    row, target, best = row[pairs], target[pairs], best[pairs]
    left, right = curve.dp[best - 1], curve.dp[best + 1]
    probe = _Probe.of(scenario)
    while (which := np.flatnonzero(right - left > 2)).size:  # noqa: PLR2004 - a peak between
        middle = (left[which] + right[which]) // 2
        _, here = probe.at(row[which], middle)
        _, there = probe.at(row[which], middle + 1)
        left[which] = np.where(there > here, middle, left[which])
        right[which] = np.where(there > here, right[which], middle + 1)
    peak = left + 1
    pool_peak, productive_peak = probe.at(row, peak)
    found = np.flatnonzero(productive_peak >= target)
    row, before, target = row[found], best[found] - 1, target[found]
    bracket = _Bracket(
        low=curve.dp[before],
        high=peak[found],
        pool_low=curve.pool[row, before],
        pool_high=pool_peak[found],
        productive_low=curve.productive[row, before],
        productive_high=productive_peak[found],
    )
    _refine(probe, row, bracket, target)
    crossing[pairs[found]] = bracket.crossing(target)
    return crossing


def descend(scenario: Scenario, curve: Curve, row: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Largest smaller pool at which Π falls to the target; −inf where one replica exceeds it."""
    high = np.full(row.size, curve.dp[0])
    pool_high, productive_high = curve.pool[row, 0].copy(), curve.productive[row, 0].copy()
    bracket = _Bracket(
        low=high.copy(),
        high=high,
        pool_low=pool_high.copy(),
        pool_high=pool_high,
        productive_low=productive_high.copy(),
        productive_high=productive_high,
    )
    probe = _Probe.of(scenario)
    open_ = np.arange(row.size)
    step = 1
    while open_.size:
        dp = np.maximum(bracket.high[open_] - step, 1)
        pool, productive = probe.at(row[open_], dp)
        above = bracket.narrow(open_, dp, pool, productive, np.nextafter(target, np.inf))
        exhausted = above & (dp == 1)
        open_ = open_[above & ~exhausted]
        step *= 2
    unreachable = bracket.low >= bracket.high
    _refine(probe, row, bracket, np.nextafter(target, np.inf))
    return np.where(unreachable, -np.inf, bracket.crossing(target))


@dataclass(slots=True)
class _Probe:
    """A scenario that is asked for many (draw, size) pairs: its draws at hand, by path."""

    scenario: Scenario
    columns: dict[str, np.ndarray]

    @classmethod
    def of(cls, scenario: Scenario) -> "_Probe":
        return cls(
            scenario,
            {path: value[:, 0] for path in UNCERTAIN if np.ndim(value := scenario.value(path))},
        )

    def at(self, row: np.ndarray, dp: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Pool and Π of draws ``row`` at sizes ``dp``; all of shape (pairs,)."""
        if row.size <= PIECE:
            return self._at(row, dp)
        pieces = [
            self._at(row[start : start + PIECE], dp[start : start + PIECE])
            for start in range(0, row.size, PIECE)
        ]
        pool, productive = zip(*pieces, strict=True)
        return np.concatenate(pool), np.concatenate(productive)

    def _at(self, row: np.ndarray, dp: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values = {
            path: column.take(row) if column.size > 1 else column[0]
            for path, column in self.columns.items()
        }
        planned = replan(substitute(self.scenario, values), dp)
        pool = np.broadcast_to(planned.pool, dp.shape)
        return pool, np.broadcast_to(productive_accelerators(planned), dp.shape)


@dataclass(slots=True)
class _Bracket:
    """Pairs of sizes with Π(low) < target <= Π(high); shape (pairs,), narrowed in place."""

    low: np.ndarray
    high: np.ndarray
    pool_low: np.ndarray
    pool_high: np.ndarray
    productive_low: np.ndarray
    productive_high: np.ndarray

    def crossing(self, target: np.ndarray) -> np.ndarray:
        return interpolate(
            self.pool_low, self.pool_high, self.productive_low, self.productive_high, target
        )

    def narrow(
        self,
        which: np.ndarray,
        dp: np.ndarray,
        pool: np.ndarray,
        productive: np.ndarray,
        target: np.ndarray,
    ) -> np.ndarray:
        """Replace one end of the pairs ``which``; returns which of them moved the upper end."""
        above = np.asarray(productive >= target[which])
        for side, chosen in (("high", above), ("low", ~above)):
            getattr(self, side)[which[chosen]] = dp[chosen]
            getattr(self, f"pool_{side}")[which[chosen]] = pool[chosen]
            getattr(self, f"productive_{side}")[which[chosen]] = productive[chosen]
        return above


def _refine(probe: _Probe, row: np.ndarray, bracket: _Bracket, target: np.ndarray) -> None:
    """Narrow brackets to adjacent sizes.

    Π is close to its chord between two sizes, so the chord's crossing is tried first, then its
    neighbour on the side that remains; halving every third round bounds the number of rounds.
    """
    beside = np.zeros(row.size, dtype=np.int64)
    rounds = 0
    while (which := np.flatnonzero(bracket.high - bracket.low > 1)).size:
        low, high = bracket.low[which], bracket.high[which]
        if rounds % 3 == 2:  # noqa: PLR2004 - the third of three rounds
            guess = (low + high) // 2
        else:
            share = (target[which] - bracket.productive_low[which]) / (
                bracket.productive_high[which] - bracket.productive_low[which]
            )
            chord = low + np.rint(share * (high - low)).astype(np.int64)
            next_to = np.where(beside[which] > 0, high - 1, low + 1)
            guess = np.where(beside[which] != 0, next_to, chord)
        guess = np.clip(guess, low + 1, high - 1)
        pool, productive = probe.at(row[which], guess)
        above = bracket.narrow(which, guess, pool, productive, target)
        beside[which] = np.where(above, 1, -1) if rounds % 3 == 0 else 0
        rounds += 1
