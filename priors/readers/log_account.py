"""What a scanned training log gives, as it is collected."""

from dataclasses import dataclass

from model.errors import InputError
from model.scenario import Scenario, with_values
from priors.readers.found import Draft, Measure, ReadOptions
from priors.readers.one_line import Dialect
from priors.readers.recovery_marks import Marks
from priors.readers.source import TextSource
from priors.readers.step_series import Series


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """A scanned log."""

    source: TextSource
    dialect: Dialect
    series: Series
    marks: Marks


class Account:
    """Collects what a log gives."""

    def __init__(self, log: Log, options: ReadOptions) -> None:
        self.log = log
        self.options = options
        self.drafts: list[Draft] = []
        self.measures: list[Measure] = []
        self.notes: list[str] = []
        self.withheld: list[str] = []
        self.overrides: dict[str, object] = {}
        self.scenario = self._matched()

    def measure(self, name: str, value: float, unit: str, meaning: str = "") -> None:
        """Add one number."""
        self.measures.append(Measure(name=name, value=float(value), unit=unit, meaning=meaning))

    def _matched(self) -> Scenario | None:
        """The scenario with the log's own batch; None where it does not take it."""
        scenario, batch = self.options.scenario, self.log.series.batch
        if scenario is None or not batch:
            return scenario
        if batch == scenario.parallelism.global_batch_seqs:
            return scenario
        self.overrides = {"parallelism.global_batch_seqs": batch}
        try:
            changed = with_values(scenario, {**self.overrides}, source=self.log.source.label)
        except InputError as error:
            self.withheld.append(f"step times: the log's batch does not fit the scenario ({error})")
            return None
        self.notes.append(
            f"the log's batch of {batch} sequences stands in for the scenario's "
            f"{scenario.parallelism.global_batch_seqs}"
        )
        return changed
