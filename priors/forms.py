"""Priors and evidence in the form of the model that a target is evaluated in."""

from collections.abc import Collection
from dataclasses import replace
from types import MappingProxyType

from model.forms import ordered, unread_fields
from model.scenario import substitute
from priors.catalogue import Catalogue
from priors.observations import Evidence, Observation


def catalogue_in_form(catalogue: Catalogue, *forms: Collection[str]) -> Catalogue:
    """The catalogue without priors on fields that no formula reads.

    Parameters
    ----------
    catalogue
        The priors.
    forms
        Sets of refinements that may be used: a prior stays where one of them reads its field.
    """
    unread = frozenset.intersection(*map(unread_fields, forms))
    entries = {path: entry for path, entry in catalogue.entries.items() if path not in unread}
    if len(entries) == len(catalogue.entries):
        return catalogue
    return replace(catalogue, entries=MappingProxyType(entries))


def evidence_in_form(evidence: Evidence, refinements: Collection[str]) -> Evidence:
    """The evidence with every measured configuration to be predicted by the same formulas.

    What a scenario of the evidence says about its own formulas does not count: parameters are
    learnt for use in the form of the target.
    """
    names = ordered(refinements)
    observations = tuple(_in_form(observation, names) for observation in evidence.observations)
    if observations == evidence.observations:
        return evidence
    return replace(evidence, observations=observations)


def _in_form(observation: Observation, names: tuple[str, ...]) -> Observation:
    setting = getattr(observation, "setting", None)
    if setting is None or setting.scenario.refinements == names:
        return observation
    scenario = substitute(setting.scenario, {"refinements": names})
    return replace(observation, setting=replace(setting, scenario=scenario))
