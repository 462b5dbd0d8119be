"""What a reader should be told about the inputs, one sentence each."""

from collections.abc import Iterable, Sequence

import numpy as np

from decision.costs import Costs
from model.checks import suspicions
from model.forms import KERNEL_SIZE, unread_fields
from model.interventions import Intervention
from model.parameters import BY_PATH
from model.scenario import Scenario, to_values
from model.scenario_file import ScenarioFile
from model.step import size_factor
from priors.catalogue import Catalogue
from priors.draws import Draws
from priors.observations import Evidence


def remarks(
    scenario_file: ScenarioFile,
    scenario: Scenario,
    catalogue: Catalogue,
    evidence: Evidence,
    file_draws: Draws | None,
) -> tuple[list[str], list[str]]:
    """Notes on what a scenario, its evidence and its draws leave open, and warnings."""
    notes = []
    unread = {"n_pool", "notes", "name", *unread_fields(scenario.refinements)}
    defaulted = [
        path
        for path in scenario_file.defaulted
        if path not in unread and not BY_PATH[path].refinement
    ]
    uncertain = set(catalogue.uncertain if file_draws is None else file_draws.columns)
    silent = [path for path in defaulted if path not in uncertain]
    if silent:
        notes.append(
            "The scenario file is silent on "
            + ", ".join(f"{path} ({scenario.value(path)})" for path in silent)
            + ": the values in brackets are used."
        )
    if file_draws is not None:
        notes.extend(file_draws.notes)
        held = [path for path in catalogue.uncertain if path not in file_draws.columns]
        if held:
            notes.append(
                "The draws file has no column for "
                + ", ".join(f"{path} ({scenario.value(path)})" for path in held)
                + ": the scenario's values in brackets are used."
            )
    stacks = {item for o in evidence.observations if (item := getattr(o, "stack", None))}
    fleets = {item for o in evidence.observations if (item := getattr(o, "fleet", None))}
    for kind, named, own in (
        ("stack", stacks, scenario.stack),
        ("fleet", fleets, scenario.fleet),
    ):
        if "mine" in named and own != "mine":
            notes.append(
                f"The evidence has observations of {kind} 'mine', the scenario runs {kind} "
                f"'{own}': they inform it through the population only."
            )
    return notes, [*suspicions(to_values(scenario)), *beyond_the_peak(scenario)]


def beyond_the_peak(scenario: Scenario) -> list[str]:
    """A warning where kernels of the scenario's sizes would be faster than the device."""
    if KERNEL_SIZE not in scenario.refinements:
        return []
    factor = float(np.max(size_factor(scenario)))
    stated = float(np.max(scenario.kernel.kernel_efficiency))
    if stated * factor <= 1.0:
        return []
    return [
        f"kernel.kernel_efficiency is {stated:.3g} at the reference's sizes, which makes "
        f"{stated * factor:.3g} of the peak at the scenario's: more than the device has."
    ]


def remarks_on_costs(costs: Costs | None) -> list[str]:
    """How costs were put on the decision horizon, one sentence each."""
    if costs is None:
        return []
    days = f"{costs.horizon_days:g} days"
    notes = [f"Costs and benefits are counted over a decision horizon of {days}."]
    price = costs.price_over_horizon
    if price is not None:
        notes.append(
            f"A fully-loaded accelerator is {costs.price_per_accelerator:,g} {costs.currency} over "
            f"a life of {costs.accelerator_life_days:g} days: {price:,.6g} over the horizon."
        )
    spread = [item for item in costs.items if item.life_days is not None]
    if spread:
        shares = (
            f"{item.name} over {item.life_days:g} days: "
            f"{costs.horizon_days / (item.life_days or 1.0):.0%}"
            for item in spread
        )
        notes.append(f"Charged to the horizon of {days}: {', '.join(shares)} of the cost.")
    return notes


def unread_changes(
    settings: Iterable[str], options: Sequence[Intervention], forms: Sequence[Sequence[str]]
) -> list[str]:
    """Warnings of what is set or bought although no formula reads it."""
    unread = frozenset.intersection(*map(unread_fields, forms))
    warnings = [
        f"{path} is set, and the formulas used do not read it: it changes nothing."
        for path in settings
        if path in unread
    ]
    parts = {part.name: part for option in options for part in option.parts or (option,)}
    warnings += [
        f"{part.name} changes {path}, which the formulas used do not read: it earns nothing there."
        for part in parts.values()
        for path in part.paths
        if path in unread
    ]
    return warnings


def late_interventions(options: Sequence[Intervention], horizon_days: float) -> list[str]:
    """Warnings of interventions that come too late, or never."""
    parts = {part.name: part for option in options for part in option.parts or (option,)}
    warnings = []
    for part in parts.values():
        if part.effective_from_day >= horizon_days:
            warnings.append(
                f"{part.name} takes effect on day {part.effective_from_day:g}, after the "
                f"decision horizon of {horizon_days:g} days: it earns nothing."
            )
        if part.probability_of_delivery == 0.0:
            warnings.append(f"{part.name} is never delivered: it earns nothing.")
    return warnings
