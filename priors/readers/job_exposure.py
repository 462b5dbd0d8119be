"""Events over the exposure of jobs, apart by size of job and by period."""

import math
from collections import defaultdict
from dataclasses import dataclass

from priors.observations import MIN_PERIODS

DAY_S = 86400.0

PERIOD_S = 28.0 * DAY_S
"""Counts of four weeks: long beside an outage, short beside a fleet's life."""

MOST_PERIODS = 26


@dataclass(slots=True)
class Part:
    """Events, and seconds of nodes and of jobs, of one size and period."""

    events: int = 0
    node_s: float = 0.0
    job_s: float = 0.0

    def take(self, other: "Part") -> None:
        """Add another part."""
        self.events += other.events
        self.node_s += other.node_s
        self.job_s += other.job_s


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeClass:
    """Jobs of one octave of sizes.

    Parameters
    ----------
    nodes_per_job
        Node-days over job-days: with it, rates per node and per job add up exactly.
    periods
        Events and node-days; one where the times are not known or too few to divide.
    """

    nodes_per_job: float
    periods: tuple[tuple[int, float], ...]


class JobExposure:
    """Collects jobs in constant memory."""

    def __init__(self) -> None:
        self.parts: dict[tuple[int, int | None], Part] = defaultdict(Part)

    def add(self, nodes: float, seconds: float, start: float | None, events: int) -> None:
        """Count one job."""
        period = None if start is None else math.floor(start / PERIOD_S)
        part = self.parts[math.floor(math.log2(nodes)), period]
        part.take(Part(events=events, node_s=nodes * seconds, job_s=seconds))

    def classes(self) -> tuple[SizeClass, ...]:
        """Size classes, smallest jobs first; those that never ran are part of the next."""
        sizes: dict[int, Part] = defaultdict(Part)
        for (size, _), part in self.parts.items():
            sizes[size].take(part)
        found = []
        left = Part()
        for size in sorted(sizes):
            whole = sizes[size]
            if not whole.node_s:
                left.take(whole)
                continue
            whole.take(left)
            parts = self._periods(size) if not left.events else [whole]
            left = Part()
            found.append(
                SizeClass(
                    nodes_per_job=whole.node_s / whole.job_s,
                    periods=tuple((part.events, part.node_s / DAY_S) for part in parts),
                )
            )
        if left.events and found:
            last = found.pop()
            events = left.events + sum(count for count, _ in last.periods)
            node_days = sum(exposure for _, exposure in last.periods)
            found.append(
                SizeClass(nodes_per_job=last.nodes_per_job, periods=((events, node_days),))
            )
        return tuple(found)

    def _periods(self, size: int) -> list[Part]:
        """Parts of one size by period, the whole where they tell nothing."""
        own = {period: part for (of, period), part in self.parts.items() if of == size}
        whole = Part()
        for part in own.values():
            whole.take(part)
        known = sorted(period for period in own if period is not None)
        if len(known) < len(own):
            return [whole]
        width = -(-(known[-1] - known[0] + 1) // MOST_PERIODS)
        merged: dict[int, Part] = defaultdict(Part)
        for period in known:
            merged[(period - known[0]) // width].take(own[period])
        parts = list(merged.values())
        if len(parts) < MIN_PERIODS or not all(part.node_s for part in parts):
            return [whole]
        return parts
