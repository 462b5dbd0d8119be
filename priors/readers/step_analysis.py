"""Level and jitter of logged step times: warm-up, checkpoint steps and regimes told apart.

Shapes: one value a logged row, in order.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

type Floats = NDArray[np.float64]
type Flags = NDArray[np.bool_]

WARM_UP_ROWS = 10
"""Most rows after a start that can be warm-up."""

FAR_SD, FAR_SHARE = 6.0, 0.05
"""A row is far off beyond this many standard deviations and this share of the level."""

REGIME_ROWS = 5
"""Fewest rows of a regime."""

SHIFT_SD, SHIFT_SHARE, SHIFT_T = 1.5, 0.005, 6.0
"""Least change of level: in standard deviations, as a share, and as a t statistic."""

MOST_REGIMES = 64

ROUNDING = 1e-12

FIRST_OF_TWO = 1.25

PERIODIC_SPIKES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Regime:
    """Steps that ran at one level."""

    first_step: int
    last_step: int
    mean_s: float
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLevel:
    """Level and spread of step times.

    Parameters
    ----------
    mean_s
        Mean over the rows used.
    sd_s
        Standard deviation inside regimes, outliers kept.
    between_sd_s
        Standard deviation of the regimes' levels, weighted by their rows; 0 for one regime.
    rows
        Rows used.
    warm_up, checkpoint_steps, outliers
        Rows left out as warm-up or checkpoint steps; rows far off that are kept.
    correlation
        Between successive rows inside regimes.
    """

    mean_s: float
    sd_s: float
    between_sd_s: float
    rows: int
    warm_up: int
    checkpoint_steps: int
    outliers: int
    correlation: float
    regimes: tuple[Regime, ...]


def analyse(
    steps: Sequence[int], seconds: Sequence[float], starts: Sequence[int], saves: Sequence[int]
) -> StepLevel | None:
    """Level and jitter; None without any row.

    Parameters
    ----------
    steps, seconds
        Step and time of each row.
    starts
        Rows that are first after a start of the job.
    saves
        Steps after which a checkpoint was written, ascending.
    """
    values = np.asarray(seconds, dtype=float)
    numbers = np.asarray(steps, dtype=np.int64)
    if not values.size:
        return None
    noise = noise_of(values, starts)
    warm = _warm_up(values, starts, noise)
    if warm.all():
        warm[:] = False
    kept = np.flatnonzero(~warm)
    parts = regimes_of(values[kept], noise)
    level = np.empty(kept.size)
    for part in parts:
        level[part] = np.median(values[kept][part])
    spikes = values[kept] - level > np.maximum(FAR_SD * noise, FAR_SHARE * level)
    writes = _checkpoint_steps(numbers, kept, spikes, np.asarray(saves, dtype=np.int64))
    used = ~writes
    total, squares, weighted = 0, 0.0, 0.0
    regimes, residuals = [], []
    for part in parts:
        inside = np.flatnonzero(used[part]) + part.start
        if not inside.size:
            continue
        chosen = values[kept][inside]
        mean = float(chosen.mean())
        residuals.append(chosen - mean)
        total += chosen.size
        weighted += float(chosen.sum())
        squares += float(((chosen - mean) ** 2).sum())
        regimes.append(
            Regime(
                first_step=int(numbers[kept][inside[0]]),
                last_step=int(numbers[kept][inside[-1]]),
                mean_s=mean,
                rows=int(chosen.size),
            )
        )
    mean = weighted / total
    between = sum(item.rows * (item.mean_s - mean) ** 2 for item in regimes) / total
    degrees = total - len(regimes)
    sd = float(np.sqrt(squares / degrees)) if degrees > 0 else 0.0
    return StepLevel(
        mean_s=mean,
        # Equal rows differ from their mean by its rounding.
        sd_s=sd if sd > ROUNDING * mean else 0.0,
        between_sd_s=float(np.sqrt(between)),
        rows=total,
        warm_up=int(warm.sum()),
        checkpoint_steps=int(writes.sum()),
        outliers=int((spikes & used).sum()),
        correlation=_correlation(residuals),
        regimes=tuple(regimes),
    )


def noise_of(values: Floats, starts: Sequence[int] = ()) -> float:
    """Standard deviation of a row, from differences: a change of level does not touch it.

    Differences from the first row after a start are left out: it may be warm-up.
    """
    gaps = np.abs(np.diff(values))
    inside = np.ones(gaps.size, dtype=bool)
    inside[[start for start in starts if start < gaps.size]] = False
    gaps = gaps[inside] if inside.any() else gaps
    return float(1.4826 * np.median(gaps) / np.sqrt(2.0)) if gaps.size else 0.0


def _warm_up(values: Floats, starts: Sequence[int], noise: float) -> Flags:
    """Rows after each start until the first that is near the level."""
    warm = np.zeros(values.size, dtype=bool)
    overall = float(np.median(values))
    ends = [*starts[1:], values.size]
    if values.size == 2 and values[0] > FIRST_OF_TWO * values[1]:  # noqa: PLR2004
        # Two rows have no spread to tell jitter by: only a plainly slow first one is set-up.
        warm[0] = True
        return warm
    for start, end in zip(starts, ends, strict=True):
        part = values[start:end]
        # A few rows have no level of their own.
        level = float(np.median(part)) if part.size > 2 else overall  # noqa: PLR2004
        far = np.abs(part - level) > max(FAR_SD * noise, FAR_SHARE * level)
        near = np.flatnonzero(~far)
        first = int(near[0]) if near.size else part.size
        warm[start : start + min(first, WARM_UP_ROWS)] = True
    return warm


def regimes_of(values: Floats, noise: float) -> list[slice]:
    """Stretches of one level, by binary segmentation of a running median.

    The median of five removes single outliers, so that one slow step is no regime.
    """
    smooth = _running_median(values)
    least = max(SHIFT_SD * noise, SHIFT_SHARE * float(np.median(values)))
    done: list[tuple[int, int]] = []
    waiting = [(0, values.size)]
    while waiting:
        first, last = waiting.pop()
        place = None
        if last - first >= 2 * REGIME_ROWS and len(done) + len(waiting) < MOST_REGIMES:
            place = _best_split(smooth[first:last], noise, least)
        if place is None:
            done.append((first, last))
        else:
            waiting += [(first, first + place), (first + place, last)]
    return [slice(first, last) for first, last in sorted(done)]


def _running_median(values: Floats) -> Floats:
    if values.size < REGIME_ROWS:
        return values
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(values, 2, mode="reflect"), 5)
    return np.asarray(np.median(windows, axis=-1))


def _best_split(part: Floats, noise: float, least: float) -> int | None:
    """Where the level changes most, None where no change is sure and large."""
    size = part.size
    sums = np.cumsum(part)
    left = np.arange(REGIME_ROWS, size - REGIME_ROWS + 1)
    means = sums[left - 1] / left
    rest = (sums[-1] - sums[left - 1]) / (size - left)
    gaps = np.abs(means - rest)
    strength = gaps * np.sqrt(left * (size - left) / size)
    best = int(np.argmax(strength))
    # Means of a trend differ too; medians next to the change must.
    place = int(left[best])
    near = slice(max(0, place - 4 * REGIME_ROWS), place), slice(place, place + 4 * REGIME_ROWS)
    step = abs(float(np.median(part[near[0]]) - np.median(part[near[1]])))
    if strength[best] < SHIFT_T * noise or gaps[best] < least or step < 0.5 * least:
        return None
    return place


def _checkpoint_steps(
    numbers: NDArray[np.int64], kept: NDArray[np.intp], spikes: Flags, saves: NDArray[np.int64]
) -> Flags:
    """Slow rows that hold a save: one the log names, or one of a regular beat."""
    places = np.flatnonzero(spikes)
    writes = np.zeros(kept.size, dtype=bool)
    if not places.size:
        return writes
    if saves.size:
        for place in places:
            row = int(kept[place])
            before = int(numbers[row - 1]) if row else int(numbers[row]) - 1
            after = int(numbers[row])
            found = np.searchsorted(saves, before, side="left")
            writes[place] = found < saves.size and before <= saves[found] <= after
    others = places[~writes[places]]
    if others.size >= PERIODIC_SPIKES:
        gaps = np.diff(numbers[kept[others]])
        beat = int(np.median(gaps))
        usual = int(np.median(np.diff(numbers[kept]))) if kept.size > 1 else 1
        regular = (gaps > 0) & (gaps % max(beat, 1) == 0)
        if beat >= 2 * max(usual, 1) and regular.mean() >= 0.8:  # noqa: PLR2004 - four in five
            writes[others] = True
    return writes


def _correlation(residuals: list[Floats]) -> float:
    """Lag-1 autocorrelation inside regimes."""
    square = sum(float((part**2).sum()) for part in residuals)
    if square <= 0.0:
        return 0.0
    return sum(float((part[1:] * part[:-1]).sum()) for part in residuals) / square
