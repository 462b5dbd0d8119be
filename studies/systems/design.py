"""Cases side by side: log seconds of every scenario a row may have been, for many draws at once.

Shapes: B draws or problems, S systems, V unknowns of a system, G shared constants, C columns. A
column is one scenario of one row; columns of a row, and rows of a system, are contiguous.
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

@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Columns that one evaluation serves: they agree in every text of the scenario."""

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
    blocks
        Evaluations.
    open_columns
        By path of ``own``: where it is unknown, shape (C,); elsewhere the scenario states it.
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
        result = np.empty((len(logit), len(self.row_of)))
        for block in self.blocks:
            at = self.system_of[block.columns]
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
        return result + self.offset


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
    row_of, system_of, log_weight, offset = map(np.array, zip(*columns, strict=True))
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
        log_weight=log_weight,
        offset=offset,
        blocks=_blocks(scenarios),
        open_columns={
            unknown.path: np.array(
                [
                    unknown.path in ordered[row].open_paths or unknown.path not in _STATEABLE
                    for row in row_of
                ]
            )
            for unknown in own
        },
    )


_STATEABLE = ("accelerator.nic_bw_gbps", "topology.oversubscription")
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
