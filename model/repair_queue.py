"""Spares and nodes under repair, event by event, for :mod:`model.timeline`.

Shapes: t timelines; calls are about some of them, (m,).
"""

import numpy as np


class RepairQueue:
    """Spare nodes of every timeline, by the time at which each is repaired.

    Parameters
    ----------
    spares
        Spare nodes of each timeline, (t,).
    """

    def __init__(self, spares: np.ndarray) -> None:
        most = int(spares.max(initial=0.0))
        # Places beyond a timeline's spares are never repaired.
        self._ready = np.where(np.arange(most) < spares[:, np.newaxis], 0.0, np.inf)

    def waits(
        self, which: np.ndarray, now: np.ndarray, repair_s: np.ndarray, failed: np.ndarray
    ) -> np.ndarray:
        """How long timelines wait for a node in place of one that failed; (m,).

        The first that is back takes its place, and it goes under repair itself.

        Parameters
        ----------
        which
            Timelines, (m,).
        now
            Their time, (m,).
        repair_s
            How long a repair takes, (m,).
        failed
            Whether a node failed at all, (m,).
        """
        repaired = now + repair_s
        if not self._ready.shape[1]:
            return np.where(failed, repair_s, 0.0)
        ready = self._ready[which]
        first = ready.argmin(axis=1)
        earliest = ready[np.arange(which.size), first]
        # The failed node may itself be the first that is back.
        taken = failed & (earliest <= repaired)
        self._ready[which[taken], first[taken]] = repaired[taken]
        back = np.minimum(earliest, repaired)
        return np.where(failed, np.maximum(back - now, 0.0), 0.0)
