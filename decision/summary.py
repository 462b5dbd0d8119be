"""Results as plain data: what the terminal, the figures and the memo are rendered from.

JSON has no infinity and no NaN: a SEA that cannot be bought is null with ``"unattainable"`` beside
it, a figure that does not exist is null.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from decision.economics import Economics
from decision.economics_summary import ECONOMICS_COLUMNS, describe_economics, economics_row
from decision.evidence_summary import describe_evidence, describe_influence
from decision.influence import Influence
from decision.inputs import Inputs
from decision.origin import git_commit, versions
from decision.outcomes import FATES, Outcomes, Question, as_owned, baseline_of
from decision.plain import finite, sea_status, spread
from decision.ranking import Ranking, Separation, Standing
from model.ledger import account
from model.parameters import BY_PATH
from model.substitution import marginal_accelerator
from priors.draws import Draws
from priors.observations import Evidence

if TYPE_CHECKING:
    from priors.conditioned import Posterior
    from priors.diagnostics import Diagnostics

INDICATIVE_BELOW = 4096
"""Jobs smaller than this are outside what the published study was validated on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The ranking of one regime and what it was computed from.

    Parameters
    ----------
    regime
        Name of the regime, empty for the scenario as described.
    question, outcomes, ranking
        What was asked, of which draws, with which result.
    prior_shares
        Share ranked first under the priors alone by option; empty where there is no prior.
    economics
        What options are worth at their costs, None without costs.
    costs
        Draws of uncertain costs in accelerators, by column.
    drivers
        Which parameters decide the ranking, as plain data; None where that was not asked.
    forms
        What the formulas that are not used would have said, as plain data; None likewise.
    influence
        What each observation does to the ranking; None where draws are of no posterior.
    """

    regime: str
    question: Question
    outcomes: Outcomes
    ranking: Ranking
    prior_shares: Mapping[str, float]
    economics: Economics | None = None
    costs: Mapping[str, np.ndarray] = field(default_factory=dict)
    drivers: Mapping[str, Any] | None = None
    forms: Mapping[str, Any] | None = None
    influence: Sequence[Influence] | None = None


def describe(
    inputs: Inputs,
    answers: Sequence[Answer],
    draws: Draws,
    prior: Draws | None,
    posterior: "Posterior | None",
) -> dict[str, object]:
    """The whole run as plain data.

    Parameters
    ----------
    inputs
        What was asked.
    answers
        One a regime.
    draws
        Draws that were ranked on.
    prior
        Prior draws, None where draws came from a file.
    posterior
        What the draws are of, None for priors alone or a file.
    """
    request, scenario = inputs.request, inputs.scenario
    return {
        "format": 1,
        "question": {
            "scenario": scenario.name,
            "stack": scenario.stack,
            "fleet": scenario.fleet,
            "window_days": scenario.window_days,
            "scaling_mode": scenario.scaling_mode,
            "scale": request.at_scale,
            "overrides": dict(request.settings),
            "solver": request.solver,
            "form": inputs.form.name,
            "refinements": list(inputs.form.refinements),
            "draws": inputs.draws,
            "seed": request.seed,
            "source": inputs.source,
            "draws_file": request.parameter_draws,
            "evidence": list(inputs.evidence.sources),
            "priors": request.priors,
            "interventions": request.interventions,
        },
        "notes": [*inputs.notes, *(posterior.notes if posterior is not None else ())],
        "warnings": list(inputs.warnings),
        "answers": [describe_answer(answer, inputs.evidence) for answer in answers],
        "parameters": _parameters(inputs, draws, prior),
        "evidence": None if posterior is None else describe_evidence(inputs.evidence, posterior),
        "sampler": None if posterior is None else _sampler(posterior.diagnostics),
        "provenance": {
            "version": versions()["fundworthy"],
            "git_commit": git_commit(),
            "digest": inputs.digest,
            "seed": request.seed,
        },
    }


def _sampler(diagnostics: "Diagnostics") -> dict[str, object]:
    return {
        "converged": diagnostics.converged,
        "reasons": list(diagnostics.reasons),
        "rhat_max": finite(diagnostics.rhat_max),
        "ess_bulk_min": finite(diagnostics.ess_bulk_min),
        "ess_tail_min": finite(diagnostics.ess_tail_min),
        "divergences": diagnostics.divergences,
        "chains": diagnostics.chains,
        "chain_draws": diagnostics.chain_draws,
    }


def _parameters(inputs: Inputs, draws: Draws, prior: Draws | None) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    known = {term.column: term for term in inputs.terms}
    for path, column in draws.columns.items():
        quantity, entry = known.get(path) or BY_PATH[path], inputs.catalogue.entries.get(path)
        before = None if prior is None else prior.columns.get(path)
        documented = entry.prior if entry is not None and prior is not None else None
        rows.append(
            {
                "path": path,
                "unit": quantity.unit,
                "meaning": quantity.meaning,
                "prior": None if before is None else spread(before),
                "posterior": None if draws is prior else spread(column),
                "basis": documented.basis if documented else "draws file",
                "source": documented.source if documented else inputs.request.parameter_draws,
                "rationale": documented.rationale if documented else "",
                "owner": documented.owner if documented else "",
            }
        )
    return rows


def describe_answer(answer: Answer, evidence: Evidence) -> dict[str, object]:
    """One regime's answer as plain data."""
    ranking, influence = answer.ranking, answer.influence
    descriptions = {i.name: i.description for i in answer.question.interventions}
    economics = answer.economics
    return {
        "regime": answer.regime,
        "baseline": _baseline(answer),
        "options": [
            _option(standing, descriptions, answer.prior_shares) for standing in ranking.standings
        ],
        "leader": ranking.leader.option,
        "leader_in_scope": ranking.leader_in_scope,
        "recommended": ranking.recommended.option,
        "separation": _separation(ranking.separation),
        "separation_recommended": _separation(ranking.separation_recommended),
        "p_out_of_scope": ranking.p_out_of_scope,
        "p_past_peak": ranking.p_past_peak,
        "tied_draws": ranking.tied_draws,
        "effective_draws": ranking.effective_draws,
        "drivers": answer.drivers,
        "form": answer.forms,
        "influence": None
        if influence is None
        else describe_influence(influence, answer.outcomes.options, evidence),
        **({} if economics is None else {"economics": describe_economics(economics)}),
    }


def _baseline(answer: Answer) -> dict[str, object]:
    outcomes = answer.outcomes
    plan = baseline_of(answer.question, {})
    point = as_owned(answer.question, plan)
    ledger = account(point)
    return {
        "accelerators": int(np.max(point.world)),
        "pool": int(np.max(point.pool)),
        "below_indicative": bool(np.max(point.world) < INDICATIVE_BELOW),
        "fates": {fate: spread(outcomes.fates[:, i]) for i, fate in enumerate(FATES)},
        "ucf": spread(outcomes.fates[:, 0]),
        "ettr": spread(outcomes.ettr),
        "productive_accelerators": spread(outcomes.productive),
        "marginal_accelerator": spread(outcomes.marginal),
        "recovery_pressure": spread(outcomes.recovery_pressure),
        "point": {
            "fates": {fate: float(value) for fate, value in ledger.fates.items()},
            "ucf": float(ledger.ucf),
            "ettr": float(ledger.ettr),
            "mfu": float(ledger.mfu),
            "productive_accelerators": float(ledger.productive_accelerators),
            "marginal_accelerator": finite(marginal_accelerator(plan)),
            "recovery_pressure": float(ledger.recovery_pressure),
        },
    }


def _option(
    standing: Standing, descriptions: Mapping[str, str], prior_shares: Mapping[str, float]
) -> dict[str, object]:
    sea = {}
    for name, value, error in zip(
        ("p10", "p50", "p90"), standing.sea_quantiles, standing.sea_mcse, strict=True
    ):
        sea[name] = {
            "value": finite(value),
            "mcse": finite(error),
            "status": sea_status(value),
        }
    return {
        "option": standing.option,
        "description": descriptions.get(standing.option, "Change nothing"),
        "p_first": standing.p_first,
        "p_first_mcse": standing.p_first_mcse,
        "p_first_in_scope": finite(standing.p_first_in_scope),
        "p_first_prior": prior_shares.get(standing.option),
        "p_tied": standing.p_tied,
        "sea": sea,
        "p_unattainable": standing.p_unattainable,
        "p_positive": standing.p_positive,
        "gain_mean": standing.gain_mean,
        "gain_mcse": standing.gain_mcse,
        "expected_regret": standing.expected_regret,
        "expected_regret_mcse": standing.expected_regret_mcse,
        "regret_p90": standing.regret_p90,
        "ranks": list(standing.ranks),
    }


def _separation(separation: Separation | None) -> dict[str, object] | None:
    if separation is None:
        return None
    return {
        "first": separation.first,
        "second": separation.second,
        "share_difference": separation.share_difference,
        "share_difference_mcse": separation.share_difference_mcse,
        "p_beats": separation.p_beats,
        "p_beats_mcse": separation.p_beats_mcse,
        "gain_difference": separation.gain_difference,
        "gain_difference_mcse": separation.gain_difference_mcse,
        "material": separation.material,
    }


RANKING_COLUMNS = (
    "option",
    "p_first",
    "p_first_mcse",
    "p_first_in_scope",
    "p_first_prior",
    "p_tied",
    "sea_p10",
    "sea_p10_mcse",
    "sea_p50",
    "sea_p50_mcse",
    "sea_p90",
    "sea_p90_mcse",
    "p_unattainable",
    "p_positive",
    "gain_mean",
    "gain_mcse",
    "expected_regret",
    "expected_regret_mcse",
)


def ranking_columns(answers: Sequence[Answer]) -> list[str]:
    """Columns of ``ranking.csv``."""
    regime = ["regime"] if len(answers) > 1 else []
    costs = ECONOMICS_COLUMNS if answers[0].economics is not None else ()
    return [*regime, *RANKING_COLUMNS, *costs]


def ranking_rows(answers: Sequence[Answer]) -> list[dict[str, object]]:
    """Rows of ``ranking.csv``: one an option, with a leading ``regime`` where there are several."""
    rows = []
    for answer in answers:
        for standing in answer.ranking.standings:
            row: dict[str, object] = {"regime": answer.regime} if len(answers) > 1 else {}
            sea = {}
            for name, value, error in zip(
                ("p10", "p50", "p90"), standing.sea_quantiles, standing.sea_mcse, strict=True
            ):
                sea[f"sea_{name}"] = value
                sea[f"sea_{name}_mcse"] = error
            prior = answer.prior_shares.get(standing.option, np.nan)
            for column in RANKING_COLUMNS:
                if column in sea:
                    row[column] = sea[column]
                elif column == "p_first_prior":
                    row[column] = prior
                else:
                    row[column] = getattr(standing, column)
            if answer.economics is not None:
                row |= economics_row(answer.economics.of(standing.option))
            rows.append(row)
    return rows
