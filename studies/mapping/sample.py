"""Draws that every cell of a map shares, in stages that contain each other.

Shapes: n draws kept, of which stage s uses the first n/2^(last − s). Common draws make cells
comparable: what differs between two of them is the regime, not luck.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from decision.precision import Layout
from model.parameters import BY_PATH
from model.scenario import Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Draws of one scenario.

    Parameters
    ----------
    columns
        Values by dotted path, shape (n,) each; empty for the scenario's own values.
    chain
        Chain of each draw; None for independent draws.
    own
        The scenario's own value of each column; the median of a column that it says nothing about.
    doublings
        How often the draws can be doubled: stage 0 uses n/2^doublings of them.
    """

    columns: Mapping[str, np.ndarray]
    chain: np.ndarray | None = None
    own: Mapping[str, float] = field(default_factory=dict)
    doublings: int = 0

    def __len__(self) -> int:
        """Draws of the last stage."""
        return len(next(iter(self.columns.values()))) if self.columns else 1

    def rows(self, stage: int) -> np.ndarray:
        """Draws of a stage, rising; every stage contains the ones before.

        The first stage is what a ranking with as many draws sees. Each doubling of a posterior is
        another run of its sampler, with chains of its own.
        """
        return np.arange(len(self) >> (self.doublings - stage))

    def layout(self, stage: int) -> Layout:
        """How the draws of a stage fall into chains."""
        rows = self.rows(stage)
        return Layout.of(None if self.chain is None else self.chain[rows], rows.size)


def own_values(scenario: Scenario, columns: Mapping[str, np.ndarray]) -> dict[str, float]:
    """The scenario's own value of each column, else the column's median."""
    own = {}
    for path, column in columns.items():
        value = scenario.value(path) if path in BY_PATH else None
        own[path] = float(np.median(column) if value is None else value)
    return own
