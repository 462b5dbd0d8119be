"""Cases side by side: log seconds of every scenario a row may have been, for many draws at once.

Shapes: B draws or problems, S systems, V unknowns of a system, G shared constants, C columns. A
column is one scenario of one row under one width of its residual; columns of a row, and rows of a
system, are contiguous.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from model.numerics import Value
from model.scenario import Scenario, stack, substitute
from model.step import healthy_step
from studies.systems.cases import RECOMPUTE_PRIOR, Case
from studies.systems.unknowns import KERNEL, Unknown

type Floats = NDArray[np.float64]
type Indices = NDArray[np.intp]

TAILS = ((0.9, 1.0), (0.1, 3.0))
"""Probability and width of a row's residual: one row in ten has thrice the usual, since reports
leave out what sets a row apart. A column stands once for each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Scenarios that one evaluation serves: they agree in every text."""

    columns: Indices
    scenario: Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """Everything that does not depend on the unknowns.

    Parameters
    ----------
    cases
        The rows, those of a system together.
    systems, accelerators
        Names; ``accelerator_of`` gives each system's type.
    own, shared
        Continuous unknowns.
    log_seconds
        Measured, shape (rows,).
    row_of, system_of
        Row and system of each column, shape (C,).
    log_weight, offset
        Log prior weight and convention offset of each column, shape (C,).
    tail
        Residual of each column in residuals of the row, shape (C,): 1, or the wide one of a row
        that something unstated sets apart.
    evaluated
        Scenario of each column among those of the blocks, shape (C,).
    blocks
        Evaluations.
    open_columns
        By path of ``own``: where it is unknown, one a scenario; elsewhere the scenario states it.
    """

    cases: tuple[Case, ...]
    systems: tuple[str, ...]
    accelerators: tuple[str, ...]
    accelerator_of: Indices
    own: tuple[Unknown, ...]
    shared: tuple[Unknown, ...]
    log_seconds: Floats
    row_of: Indices
    system_of: Indices
    log_weight: Floats
    offset: Floats
    tail: Floats
    evaluated: Indices
    blocks: tuple[Block, ...]
    open_columns: Mapping[str, NDArray[np.bool_]]

    @property
    def system_of_row(self) -> Indices:
        """System of each row, shape (rows,)."""
        return self.system_of[self.row_starts]

    @property
    def row_starts(self) -> Indices:
        """First column of each row."""
        return np.searchsorted(self.row_of, np.arange(len(self.cases)))

    def log_step(self, logit: Floats, own: Floats, shared: Floats) -> Floats:
        """Log seconds of every column.

        Parameters
        ----------
        logit
            Logit of the kernel efficiency of each system, shape (B, S).
        own
            Scores of each system's unknowns, shape (B, S, V).
        shared
            Scores of the shared constants, shape (B, G).

        Returns
        -------
        ndarray
            Shape (B, C), in the seconds of the row's first convention.
        """
        efficiency = 1.0 / (1.0 + np.exp(-logit))
        own_values = [unknown.value(own[:, :, v]) for v, unknown in enumerate(self.own)]
        constants = [unknown.value(shared[:, g]) for g, unknown in enumerate(self.shared)]
        system_of = self.system_of[:: len(TAILS)]
        result = np.empty((len(logit), len(system_of)))
        for block in self.blocks:
            at = system_of[block.columns]
            changes: dict[str, Value] = {KERNEL: efficiency[:, at]}
            for unknown, value in zip(self.own, own_values, strict=True):
                open_ = self.open_columns[unknown.path][block.columns]
                if open_.all():
                    changes[unknown.path] = value[:, at]
                elif open_.any():
                    stated = np.asarray(block.scenario.value(unknown.path), dtype=float)
                    changes[unknown.path] = np.where(open_, value[:, at], stated)
            for unknown, constant in zip(self.shared, constants, strict=True):
                changes[unknown.path] = constant[:, None]
            step = healthy_step(substitute(block.scenario, changes))
            result[:, block.columns] = np.log(step.total_s)
        return result[:, self.evaluated] + self.offset


def lay_out(
    cases: Sequence[Case],
    *,
    own: Sequence[Unknown],
    shared: Sequence[Unknown],
    settings: Mapping[str, Value],
    recomputes: Mapping[str, str],
) -> Design:
    """Lay cases side by side.

    Parameters
    ----------
    cases
        At least one.
    own, shared
        Continuous unknowns.
    settings
        What the form sets on every scenario, by dotted path.
    recomputes
        By system, the recomputation of its rows that do not state theirs.
    """
    systems = tuple(dict.fromkeys(case.group for case in cases))
    ordered = tuple(case for system in systems for case in cases if case.group == system)
    kind = {case.group: case.accelerator for case in ordered}
    accelerators = tuple(dict.fromkeys(kind[system] for system in systems))
    columns: list[tuple[int, int, float, float]] = []
    scenarios: list[Scenario] = []
    for row, case in enumerate(ordered):
        system = systems.index(case.group)
        for item in case.configurations_with(recomputes.get(case.group)):
            columns.append((row, system, np.log(item.weight), item.log_offset))
            scenarios.append(substitute(item.scenario, settings) if settings else item.scenario)
    places, kinds = (
        np.repeat(np.arange(len(columns)), len(TAILS)),
        np.tile(np.array(TAILS), (len(columns), 1)),
    )
    row_of, system_of, log_weight, offset = (
        np.array(column)[places] for column in zip(*columns, strict=True)
    )
    return Design(
        cases=ordered,
        systems=systems,
        accelerators=accelerators,
        accelerator_of=np.array([accelerators.index(kind[system]) for system in systems]),
        own=tuple(own),
        shared=tuple(shared),
        log_seconds=np.log([case.seconds for case in ordered]),
        row_of=row_of,
        system_of=system_of,
        log_weight=log_weight + np.log(kinds[:, 0]),
        offset=offset,
        tail=kinds[:, 1],
        evaluated=places,
        blocks=_blocks(scenarios),
        open_columns={
            unknown.path: np.array(
                [
                    unknown.path in ordered[row].open_paths or unknown.path not in _STATEABLE
                    for row in row_of[:: len(TAILS)]
                ]
            )
            for unknown in own
        },
    )


_STATEABLE = (
    "accelerator.nic_bw_gbps",
    "topology.oversubscription",
    "accelerator.memory_bw_tb_s",
    "kernel.fused_attention",
)
"""Fields that rows may state; of the others no row says anything."""


def open_recomputes(cases: Sequence[Case]) -> dict[str, dict[str, float]]:
    """Recomputations of systems with rows that do not state theirs, with prior probabilities.

    All rows of a system recompute alike: what fits each of them stays, or full recomputation.
    """
    found: dict[str, list[str]] = {}
    for case in cases:
        if case.row.texts.get("recompute") is None:
            names = found.setdefault(case.group, list(RECOMPUTE_PRIOR))
            found[case.group] = [name for name in names if name in case.configurations]
    result = {}
    for system, names in found.items():
        weights = {name: RECOMPUTE_PRIOR[name] for name in names or ["full"]}
        result[system] = {name: w / sum(weights.values()) for name, w in weights.items()}
    return result


def _blocks(scenarios: Sequence[Scenario]) -> tuple[Block, ...]:
    groups: dict[str, list[int]] = {}
    for column, scenario in enumerate(scenarios):
        groups.setdefault(scenario.parallelism.recompute, []).append(column)
    return tuple(
        Block(columns=np.array(columns), scenario=stack([scenarios[c] for c in columns], axis=0))
        for columns in groups.values()
    )
