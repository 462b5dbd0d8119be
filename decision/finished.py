"""A finished run read back: its request on its own copies of the inputs, its draws, its outcomes.

Shapes: n draws, K options of which the first is "do nothing".
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from decision.inputs import Inputs, Request, gather
from decision.outcomes import Outcomes
from decision.run import PROVENANCE, SUMMARY
from model.errors import InputError
from model.parameters import BY_PATH
from priors.draws import CHAIN, Draws, make_draws

OUTCOMES = "outcomes.parquet"
FORMAT = 1
"""Version of the summary that is understood."""

FILE = "file"
"""Source of draws that were handed over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """A run as it lies on disk.

    Parameters
    ----------
    directory
        Where.
    summary, provenance
        Its own records.
    inputs
        Its inputs, read again from the copies that it keeps.
    table
        Columns of its outcomes by name, the regimes one after the other.
    evidence_read
        Whether its evidence could be read again: it may name scenarios that lie elsewhere.
    """

    directory: Path
    summary: Mapping[str, Any]
    provenance: Mapping[str, Any]
    inputs: Inputs
    table: Mapping[str, np.ndarray]
    evidence_read: bool = True

    @property
    def regimes(self) -> tuple[str, ...]:
        """Names of its regimes, empty for the scenario as described."""
        return tuple(answer["regime"] for answer in self.summary["answers"])

    @property
    def count(self) -> int:
        """Draws of one regime."""
        return int(self.provenance["draws"])

    @property
    def made_with(self) -> tuple[str, str]:
        """Digests of the code and of the package versions."""
        digests = self.provenance["digests"]
        return digests["code"], digests["versions"]

    @property
    def from_file(self) -> bool:
        """Whether its draws were handed over."""
        return bool(self.summary["question"]["source"] == FILE)

    @property
    def redrawable(self) -> bool:
        """Whether its draws can be made again: neither handed over nor on evidence now gone."""
        return self.evidence_read and not self.from_file

    def answer(self, regime: str) -> Mapping[str, Any]:
        """What its summary says under a regime."""
        found: Mapping[str, Any] = next(
            one for one in self.summary["answers"] if one["regime"] == regime
        )
        return found

    def part(self, regime: str, column: str) -> np.ndarray:
        """One column of its outcomes under a regime."""
        start = self.regimes.index(regime) * self.count
        return self.table[column][start : start + self.count]

    @property
    def draws(self) -> Draws:
        """The parameters it ranked on."""
        columns = {
            path: column[: self.count] for path, column in self.table.items() if path in BY_PATH
        }
        chain = self.table[CHAIN][: self.count] if CHAIN in self.table else None
        return make_draws(columns, chain=chain, source=str(self.provenance["draws_source"]))

    def outcomes(self, regime: str) -> Outcomes:
        """What it found in each draw; what it does not keep is NaN."""
        options = self.options
        unknown = np.full(self.count, np.nan)
        return Outcomes(
            options=options,
            gain=np.column_stack([self.part(regime, f"gain_{name}") for name in options]),
            sea=np.column_stack([self.part(regime, f"sea_{name}") for name in options]),
            fates=np.full((self.count, 4), np.nan),
            productive=self.part(regime, "productive_accelerators"),
            pool=unknown,
            ettr=unknown,
            recovery_pressure=self.part(regime, "recovery_pressure"),
            in_scope=self.part(regime, "in_scope").astype(bool),
            marginal=unknown,
        )

    @property
    def options(self) -> tuple[str, ...]:
        """Names of the options, doing nothing first."""
        return self.inputs.questions[0][1].options


def read_past(directory: Path, source: str) -> Past:
    """Read a run and its copies of the inputs.

    Parameters
    ----------
    directory
        The run.
    source
        What messages call it.

    Raises
    ------
    InputError
        If this is no finished run, one of another format, or its copies cannot be used.
    """
    try:
        provenance = json.loads((directory / PROVENANCE).read_text(encoding="utf-8"))
        summary = json.loads((directory / SUMMARY).read_text(encoding="utf-8"))
        found = summary["format"]
        if found == FORMAT:
            request = request_of(directory, provenance, summary)
            table = _table(directory / OUTCOMES)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError.single(
            message=f"this is not a finished run ({type(error).__name__}: {error})",
            source=source,
            path=str(directory),
            remedy="give a directory that `python -m decision.rank` wrote",
        ) from None
    if found != FORMAT:
        raise InputError.single(
            message=f"this run has format {found}, understood is {FORMAT}",
            source=source,
            path=str(directory),
            remedy="rank again with this version",
        )
    try:
        inputs, read = gather(request), True
    except InputError:
        inputs, read = gather(replace(request, evidence=["none"])), False
    return Past(
        directory=directory,
        summary=summary,
        provenance=provenance,
        inputs=inputs,
        table=table,
        evidence_read=read,
    )


def request_of(
    directory: Path, provenance: Mapping[str, Any], summary: Mapping[str, Any]
) -> Request:
    """What a run was asked, on its own copies of the inputs.

    Draws that came from a file are left out: the run keeps them among its outcomes.
    """
    options, documents = provenance["options"], directory / "inputs"

    def copy(name: str) -> str | None:
        return str(documents / name) if (documents / name).exists() else None

    evidence = sorted(
        documents.glob("evidence-*.yaml"), key=lambda path: int(path.stem.partition("-")[2])
    )
    return Request(
        scenario=str(documents / "scenario.yaml"),
        at_scale=options["at_scale"],
        settings=options["set"],
        interventions=str(documents / "interventions.yaml"),
        only=options["only"],
        bundles=options["bundles"],
        priors=str(documents / "priors.yaml"),
        evidence=[str(path) for path in evidence] or ["none"],
        parameter_draws=None,
        regime=options["regime"],
        solver=options["solver"],
        draws=int(provenance["draws"]),
        seed=int(summary["question"]["seed"]),
        costs=copy("costs.yaml"),
        budget=options.get("budget"),
        risk_tolerance=options.get("risk_tolerance"),
        studies_on_offer=copy("studies.yaml"),
        form=options.get("form_given"),
        refits=options.get("refits", True),
    )


def _table(file: Path) -> dict[str, np.ndarray]:
    from pyarrow import parquet

    names = [name for name in parquet.read_schema(file).names if name not in ("regime", "winner")]
    table = parquet.read_table(file, columns=names)
    return {name: table[name].to_numpy() for name in names}
