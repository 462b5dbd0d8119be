"""Draws that every cell of a map shares, in stages that contain each other.

Shapes: n draws kept, of which stage s uses n/2^(last − s). Common draws make cells comparable: what
differs between two of them is the regime, not luck.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Draws of one scenario.

    Parameters
    ----------
    columns
        Values by dotted path, shape (n,) each; empty for the scenario's own values.
    chain
        Chain of each draw; None for independent draws.
    doublings
        How often the draws can be doubled: stage 0 uses n/2^doublings of them.
    """

    columns: Mapping[str, np.ndarray]
    chain: np.ndarray | None = None
    doublings: int = 0

    def __len__(self) -> int:
        """Draws of the last stage."""
        return len(next(iter(self.columns.values()))) if self.columns else 1

    def rows(self, stage: int) -> np.ndarray:
        """Draws of a stage, rising; every stage contains the ones before.

        Independent draws are taken from the front, so that the first stage is what a ranking with
        as many draws sees; chains are thinned evenly.
        """
        step = 2 ** (self.doublings - stage)
        if self.chain is None:
            return np.arange(len(self) // step)
        return np.arange(0, len(self), step)

    def chain_of(self, stage: int) -> np.ndarray | None:
        """Chain of each draw of a stage."""
        return None if self.chain is None else self.chain[self.rows(stage)]
