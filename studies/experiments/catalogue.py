"""The one table of every table: which experiment it belongs to, where it goes, what makes it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from studies.calibration import validate
from studies.experiments import attribution, fidelity, ranking, scale, substitution

VALIDATION = "validation"

EXPERIMENTS: Mapping[str, str] = {
    "e1": "ledger by scale",
    "e2": "SEA by regime",
    "e3": "decision map",
    "e4": "counterexamples",
    "e5": "bias of the informal metric",
    "e6": "attribution",
    "e7": "uncertainty",
    "e8": "cross-fidelity",
    "e9": "scaling curves",
    VALIDATION: "predictions against published systems",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One table of results.

    Parameters
    ----------
    key
        Its name in code.
    experiment
        A key of :data:`EXPERIMENTS`.
    path
        Its file, relative to the run; ``refined`` holds what the published conventions hide.
    function
        Makes it from the study's inputs.
    parts
        Keyword arguments of each call; several calls give the parts of one table.
    """

    key: str
    experiment: str
    path: str
    function: Callable[..., pd.DataFrame]
    parts: tuple[Mapping[str, Any], ...] = field(default=({},))


EXACT: tuple[Mapping[str, Any], ...] = ({"solver": "exact"},)

TABLES = (
    Table(
        key="e1",
        experiment="e1",
        path="e1_ledger_vs_scale.csv",
        function=scale.ledger_by_scale,
    ),
    Table(
        key="e2",
        experiment="e2",
        path="e2_sea_by_regime.csv",
        function=substitution.sea_by_regime,
    ),
    Table(
        key="e2 exact",
        experiment="e2",
        path="refined/e2_sea_by_regime.csv",
        function=substitution.sea_by_regime,
        parts=EXACT,
    ),
    Table(
        key="e3",
        experiment="e3",
        path="e3_decision_map.csv",
        function=ranking.decision_map,
    ),
    Table(
        key="e3 exact",
        experiment="e3",
        path="refined/e3_decision_map.csv",
        function=ranking.decision_map,
        parts=EXACT,
    ),
    Table(
        key="e4",
        experiment="e4",
        path="e4_counterexamples.csv",
        function=substitution.counterexamples,
    ),
    Table(
        key="e4 exact",
        experiment="e4",
        path="refined/e4_counterexamples.csv",
        function=substitution.counterexamples,
        parts=EXACT,
    ),
    Table(
        key="e5",
        experiment="e5",
        path="e5_naive_bias.csv",
        function=substitution.informal_bias,
    ),
    Table(
        key="e5 exact",
        experiment="e5",
        path="refined/e5_naive_bias.csv",
        function=substitution.informal_bias,
        parts=EXACT,
    ),
    Table(
        key="e6",
        experiment="e6",
        path="e6_attribution.csv",
        function=attribution.attribution,
    ),
    Table(
        key="e6 gain",
        experiment="e6",
        path="refined/e6_attribution_of_gain.csv",
        function=attribution.attribution_of_gain,
    ),
    Table(
        key="e7",
        experiment="e7",
        path="e7_uncertainty.csv",
        function=ranking.uncertainty,
    ),
    Table(
        key="e7 exact",
        experiment="e7",
        path="refined/e7_uncertainty.csv",
        function=ranking.uncertainty,
        parts=EXACT,
    ),
    Table(
        key="e8",
        experiment="e8",
        path="e8_cross_fidelity.csv",
        function=fidelity.cross_fidelity,
    ),
    Table(
        key="e8 errors",
        experiment="e8",
        path="refined/e8_standard_errors.csv",
        function=fidelity.cross_fidelity_errors,
    ),
    Table(
        key="e8 fine",
        experiment="e8",
        path="refined/e8_more_replicates.csv",
        function=fidelity.fine_comparison,
        parts=tuple(
            {"accelerators": accelerators, "failure_rate": rate}
            for accelerators in fidelity.SCALES
            for rate in fidelity.RATES
        ),
    ),
    Table(
        key="e8 processes",
        experiment="e8",
        path="refined/e8_other_failure_processes.csv",
        function=fidelity.other_processes,
    ),
    Table(
        key="e9",
        experiment="e9",
        path="e9_scaling_curves.csv",
        function=scale.scaling_curves,
    ),
    Table(
        key="e9 marginal",
        experiment="e9",
        path="refined/e9_marginal_accelerator.csv",
        function=scale.marginal_accelerators,
    ),
    Table(
        key=VALIDATION,
        experiment=VALIDATION,
        path="validation.csv",
        function=validate,
    ),
)
