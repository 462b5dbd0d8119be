"""What the posterior command prints: evidence, prior against posterior, diagnostics."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from model.parameters import BY_PATH
from model.scenario import Scenario
from priors.catalogue import Catalogue
from priors.diagnostics import Diagnostics, SummaryRow
from priors.observation_words import describe, place
from priors.observations import Evidence
from priors.predictive_check import EDGE, PredictiveCheck, verdict_of

if TYPE_CHECKING:
    from rich.console import RenderableType

    from priors.conditioned import Posterior

WORST = 5
"""Rows of the diagnostics that are shown: those with the least effective draws."""


def render(
    posterior: "Posterior", catalogue: Catalogue, evidence: Evidence, scenario: Scenario
) -> "list[RenderableType]":
    """Everything to print, in order."""
    parts: list[RenderableType] = [
        f"{posterior.draws.source}: stack {scenario.stack}, fleet {scenario.fleet}, "
        f"{len(posterior.draws)} draws"
    ]
    if evidence.observations:
        parts.append(_evidence_table(evidence))
    own = [row for row in posterior.summary if row.name in catalogue.entries]
    rest = [row for row in posterior.summary if row.name not in catalogue.entries]
    parts.append(_summary_table("The scenario's parameters, P10 / P50 / P90", own))
    if rest and posterior.diagnostics.rows:
        parts.append(_summary_table("Other systems and auxiliary quantities", rest))
    if evidence.observations and posterior.diagnostics.rows:
        parts += _predictive_checks(posterior.checks, evidence)
    parts += _diagnostics(posterior.diagnostics)
    parts += [f"Note: {note}" for note in posterior.notes]
    return parts


def _evidence_table(evidence: Evidence) -> "RenderableType":
    from rich import box
    from rich.table import Table

    table = Table(title="Evidence", title_justify="left", box=box.SIMPLE_HEAD)
    for heading in ("observation", "measured", "at", "source"):
        table.add_column(heading, overflow="fold")
    for item in evidence.observations:
        table.add_row(item.id, describe(item), place(item), item.source)
    return table


def _predictive_checks(
    checks: Sequence[PredictiveCheck], evidence: Evidence
) -> "list[RenderableType]":
    """How many observations the posterior explains, and those that it does not."""
    from rich import box
    from rich.table import Table

    items = {item.id: item for item in evidence.observations}
    odd = sorted((check for check in checks if check.tail < EDGE), key=lambda check: check.tail)
    text = (
        f"Posterior predictive check: {len(checks) - len(odd)} of {len(checks)} observations are "
        "as the model expects"
    )
    if not odd:
        return [text]
    table = Table(title="Observations that are not", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("observation", overflow="fold")
    for heading in ("measured", "predicted P5 / P50 / P95", "tail"):
        table.add_column(heading, justify="right")
    table.add_column("verdict", overflow="fold")
    for check in odd:
        predicted = f"{check.low:.3g} / {check.median:.3g} / {check.high:.3g}"
        said = verdict_of(check, items[check.id], own=check.id in evidence.own)
        table.add_row(check.id, f"{check.observed:.3g}", predicted, f"{check.tail:.3f}", said)
    return [text, table]


def _summary_table(title: str, rows: Sequence[SummaryRow]) -> "RenderableType":
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("parameter", no_wrap=True)
    table.add_column("unit")
    for heading in ("prior", "posterior"):
        table.add_column(heading, justify="right")
    for row in rows:
        field = BY_PATH.get(row.name.partition("@")[0])
        unit = field.unit if field and not row.name.endswith("@between") else "1"
        cells = (" / ".join(f"{v:.3g}" for v in values) for values in (row.prior, row.posterior))
        table.add_row(row.name, unit, *cells)
    return table


def _diagnostics(found: Diagnostics) -> "list[RenderableType]":
    from rich import box
    from rich.table import Table

    if not found.rows:
        return ["Independent draws of the prior: nothing was sampled."]
    verdict = "converged" if found.converged else "NOT CONVERGED"
    parts: list[RenderableType] = [
        f"Sampler: {verdict}; {found.chains} chains of {found.chain_draws} draws, R-hat at most "
        f"{found.rhat_max:.4f}, ESS at least {found.ess_bulk_min:.0f} (bulk) and "
        f"{found.ess_tail_min:.0f} (tail), {found.divergences} divergences"
    ]
    table = Table(title="Fewest effective draws", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("parameter", no_wrap=True)
    for heading in ("R-hat", "ESS bulk", "ESS tail"):
        table.add_column(heading, justify="right")
    worst = sorted(found.rows, key=lambda row: min(row.ess_bulk, row.ess_tail))[:WORST]
    for row in worst:
        table.add_row(row.name, f"{row.rhat:.4f}", f"{row.ess_bulk:.0f}", f"{row.ess_tail:.0f}")
    parts.append(table)
    parts += [f"Failed: {reason}" for reason in found.reasons]
    return parts
