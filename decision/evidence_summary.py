"""What became of the evidence, as plain data: predictive checks, and influence on the ranking."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from decision.influence import NOTABLE_SHIFT, Influence
from decision.plain import finite, sea_status
from priors.observations import Evidence
from priors.predictive_check import PredictiveCheck, quantity_of, unit_of, verdict_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from priors.conditioned import Posterior


def describe_evidence(evidence: Evidence, posterior: "Posterior") -> dict[str, object] | None:
    """How the posterior explains each observation; None where there is nothing to explain."""
    if not posterior.checks:
        return None
    items = {item.id: item for item in evidence.observations}

    def record(check: PredictiveCheck) -> dict[str, object]:
        item = items[check.id]
        own = check.id in evidence.own
        bound = check.variable == "ettr_bounds"
        return {
            "id": check.id,
            "quantity": quantity_of(check, item),
            "unit": unit_of(check, item),
            "own": own,
            "source": item.source,
            "observed": None if bound else check.observed,
            "low": None if bound else check.low,
            "median": None if bound else check.median,
            "high": None if bound else check.high,
            "tail": check.tail,
            "status": check.status,
            "verdict": verdict_of(check, item, own=own),
        }

    order = list(items)
    checks = sorted(posterior.checks, key=lambda check: order.index(check.id))
    return {
        "observations": len(items),
        "own": len(evidence.own),
        "checks": [record(check) for check in checks],
    }


def describe_influence(
    found: "Sequence[Influence]", options: "Sequence[str]", evidence: Evidence
) -> dict[str, object]:
    """What each observation does to the ranking, the most influential first."""
    items = {item.id: item for item in evidence.observations}
    return {
        "notable_shift": NOTABLE_SHIFT,
        "observations": [
            {
                "id": one.id,
                "source": items[one.id].source,
                "own": one.id in evidence.own,
                "method": one.method,
                "pareto_k": finite(one.pareto_k),
                "effective_draws": one.effective_draws,
                "leader": options[one.leader],
                "recommended": options[one.recommended],
                "changes_leader": one.leader_changes,
                "changes_recommendation": one.recommended_changes,
                "option": options[one.option],
                "p_first": float((one.p_first - one.p_first_change)[one.option]),
                "p_first_without": float(one.p_first[one.option]),
                "p_first_change": float(one.p_first_change[one.option]),
                "p_first_change_mcse": one.mcse,
                "notable": one.notable,
                "options": _options(one, options),
            }
            for one in found
        ],
    }


def _options(one: Influence, options: "Sequence[str]") -> list[Mapping[str, object]]:
    rows = zip(
        options, one.p_first, one.p_first_change, one.gain_mean, one.gain_change, one.sea_p50,
        strict=True,
    )  # fmt: skip
    return [
        {
            "option": option,
            "p_first_without": float(share),
            "p_first_change": float(share_change),
            "gain_mean_without": float(gain),
            "gain_change": float(gain_change),
            "sea_p50_without": {
                "value": None if np.isnan(sea) else finite(sea),
                "status": sea_status(sea),
            },
        }
        for option, share, share_change, gain, gain_change, sea in rows
    ]
