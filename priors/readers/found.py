"""What a reader is told, and what it hands back."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from model.errors import InputError
from model.scenario import Scenario
from model.scenario_file import read_scenario
from priors.evidence import observations_from_mapping
from priors.observations import Observation
from priors.readers.source import TextSource

type Event = Literal["job_interruption", "node_hardware_failure", "gpu_error"]

DEFAULT_STATES = frozenset({"NODE_FAIL", "REQUEUED", "BOOT_FAIL"})
"""Slurm states that count as interruptions unless the user says otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """What the planner says about the files.

    Parameters
    ----------
    scenario_name, scenario
        The job that was measured; None where it is not said.
    nic_gbps
        Line rate of an accelerator's network card in Gb/s, None for the scenario's.
    accelerators_per_node
        None for the scenario's.
    stack, fleet
        Names of the observations' systems; empty for those of the scenario, else ``mine``.
    counted_states
        Slurm states that are interruptions.
    event
        Which event a failure table counts.
    nodes
        Nodes under observation, None where the file must say it.
    fleet_nodes
        The same for each fleet of a table that holds several.
    own_fleet
        The fleet of a table that is the scenario's own, empty where none is.
    since, until
        Window of observation as the user wrote it, empty for the file's own.
    columns
        Column of a table by what it holds: ``node``, ``start``, ``end``, ``duration``, ``cause``,
        ``censored``.
    date_order
        ``dmy`` or ``mdy`` for dates such as 03/04/2024; empty where the table decides.
    flop_convention
        How the log's TFLOP/s were counted; empty for the format's usual way.
    """

    scenario_name: str = ""
    scenario: Scenario | None = None
    nic_gbps: float | None = None
    accelerators_per_node: int | None = None
    stack: str = ""
    fleet: str = ""
    counted_states: frozenset[str] = DEFAULT_STATES
    event: Event | None = None
    nodes: float | None = None
    fleet_nodes: Mapping[str, float] = field(default_factory=dict)
    own_fleet: str = ""
    since: str = ""
    until: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    date_order: str = ""
    flop_convention: str = ""

    def place(self, *keys: str) -> dict[str, object]:
        """Stack and fleet of an observation, where they are said."""
        result = {}
        for key in keys:
            own = getattr(self.scenario, key) if self.scenario is not None else "mine"
            result[key] = getattr(self, key) or own
        return result

    @property
    def node_size(self) -> int | None:
        """Accelerators of a node, None where nobody says."""
        if self.accelerators_per_node is not None:
            return self.accelerators_per_node
        if self.scenario is not None:
            return int(self.scenario.accelerator.accelerators_per_node)
        return None

    @property
    def job_nodes(self) -> float | None:
        """Nodes as said, else those that the scenario's job runs on."""
        if self.nodes is not None or self.scenario is None or not self.node_size:
            return self.nodes
        return float(self.scenario.world) / self.node_size


def options_for(scenario_name: str | Path | None) -> ReadOptions:
    """Options with a scenario and defaults for the rest."""
    if scenario_name is None:
        return ReadOptions()
    scenario = read_scenario(scenario_name).scenario
    return ReadOptions(scenario_name=str(scenario_name), scenario=scenario)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One number that a file gave, with what it means."""

    name: str
    value: float
    unit: str
    meaning: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """An observation as it stands in an evidence file, with the rule that made it."""

    raw: Mapping[str, object]
    comments: tuple[str, ...]


@dataclass(slots=True)
class Tally:
    """What was left out: each reason with its count and first line."""

    reasons: dict[str, list[int]] = field(default_factory=dict)

    def add(self, reason: str, line: int, count: int = 1) -> None:
        """Count one more thing left out."""
        entry = self.reasons.setdefault(reason, [0, line])
        entry[0] += count
        entry[1] = min(entry[1], line)

    def __str__(self) -> str:
        """One clause a reason."""
        return "; ".join(
            f"{count} {reason}" + (f" (first in line {line})" if line else "")
            for reason, (count, line) in self.reasons.items()
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What one file gave.

    Parameters
    ----------
    format, source
        Name of the format and of the file.
    drafts
        Observations to condition on.
    measures
        Numbers read, whether or not an observation came of them.
    skipped
        What was left out and why.
    notes
        Rules applied and what a reader should know, one sentence each.
    withheld
        What could not become an observation, with the reason and the remedy.
    """

    format: str
    source: str
    drafts: tuple[Draft, ...] = ()
    measures: tuple[Measure, ...] = ()
    skipped: Tally = field(default_factory=Tally)
    notes: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()

    @property
    def observations(self) -> tuple[Observation, ...]:
        """The drafts as records, every value checked."""
        if not self.drafts:
            return ()
        content = {"observations": [dict(draft.raw) for draft in self.drafts]}
        return tuple(observations_from_mapping(content, source=self.source))

    def value(self, name: str) -> float:
        """A measure by its name."""
        return next(measure.value for measure in self.measures if measure.name == name)


class Reader(Protocol):
    """A reader of one format."""

    @property
    def name(self) -> str:
        """What ``--as`` calls it."""

    @property
    def title(self) -> str:
        """The format in words."""

    def recognise(self, head: list[str]) -> bool:
        """Whether the first lines are of this format."""

    def read(self, source: TextSource, options: ReadOptions) -> Found:
        """Everything the file says.

        Raises
        ------
        InputError
            If the file cannot answer, with the line and the reason.
        """


def refuse(source: TextSource, line: int, message: str, remedy: str = "") -> InputError:
    """The error of a file that cannot answer."""
    path = f"line {line}" if line else ""
    return InputError.single(message, source=source.label, path=path, remedy=remedy)


def identifier(source: TextSource, what: str) -> str:
    """An observation's id out of the file's name."""
    name = Path(source.label).name
    for suffix in (".gz", ".bz2", ".xz", ".zst", ".log", ".txt", ".out", ".csv", ".json"):
        name = name.removesuffix(suffix)
    stem = "".join(letter if letter.isalnum() else "_" for letter in name).strip("_").lower()
    return f"{stem or 'file'}_{what}"
