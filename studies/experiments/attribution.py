"""What the parts of a bundle contribute (e6)."""

from collections.abc import Callable

import numpy as np
import pandas as pd

from model.attribution import Attribution, attribute_gain, attribute_sea
from model.interventions import Intervention
from model.ledger import account
from model.scenario import Scenario
from studies.experiments.inputs import FAILURE_RATE, OVERSUBSCRIPTION, StudyInputs, at

SCALES = (16_384, 65_536)

BUNDLES = {
    "network_pair": ("bandwidth_2x", "flat_fabric"),
    "recovery_trio": ("fast_detection", "fast_restart", "fast_checkpoint"),
    "mixed_quad": ("bandwidth_2x", "flat_fabric", "fast_restart", "reliability_2x"),
}

MEMBERS = tuple(dict.fromkeys(member for members in BUNDLES.values() for member in members))

type Attribute = Callable[[Scenario, list[Intervention]], Attribution]


def attribution(inputs: StudyInputs) -> pd.DataFrame:
    """e6: Shapley values of SEA as published, unattainable values capped at 1e9 and flagged."""
    return _table(
        inputs,
        lambda scenario, members: attribute_sea(scenario, members, solver="published"),
        value="sea",
    )


def attribution_of_gain(inputs: StudyInputs) -> pd.DataFrame:
    """The same on productive accelerators gained, which is always finite."""
    return _table(inputs, attribute_gain, value="gain").drop(columns="capped")


def _table(inputs: StudyInputs, attribute: Attribute, *, value: str) -> pd.DataFrame:
    scenario = inputs.scenario
    shifts = {
        path: [regime.overrides.get(path, scenario.value(path)) for regime in inputs.regimes]
        for path in (FAILURE_RATE, OVERSUBSCRIPTION)
    }
    rows: dict[tuple[str, int, str], dict[str, object]] = {}
    for accelerators in SCALES:
        cases = at(scenario, accelerators, shifts)
        ledger = account(cases)
        pressure = np.broadcast_to(np.reshape(ledger.recovery_pressure, -1), len(inputs.regimes))
        for bundle, names in BUNDLES.items():
            result = attribute(cases, [inputs.intervention(name) for name in names])
            for case, regime in enumerate(inputs.regimes):
                rows[regime.name, accelerators, bundle] = {
                    "regime": regime.name,
                    "n_accelerators": accelerators,
                    "bundle": bundle,
                    f"bundle_{value}": result.bundle[case],
                    f"sum_of_individual_{value}": result.sum_of_parts[case],
                    "additivity_error": result.additivity_error[case],
                    "capped": float(result.capped[case]),
                    "recovery_pressure": pressure[case],
                    "within_validity_envelope": bool(np.reshape(ledger.in_scope, -1)[case]),
                    **{
                        f"shapley_{name}": result.shapley[case, names.index(name)]
                        if name in names
                        else np.nan
                        for name in MEMBERS
                    },
                }
    return pd.DataFrame(
        [
            rows[regime.name, accelerators, bundle]
            for regime in inputs.regimes
            for accelerators in SCALES
            for bundle in BUNDLES
        ]
    )
