"""What a ranking is asked about: files and options read, checked together, and digested."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from decision.choices import choose_options, choose_regimes, parse_settings
from decision.costs import Costs, read_costs
from decision.delivery import DEFAULT_HORIZON_DAYS
from decision.forms import Chosen, choose_form
from decision.origin import code_digest, versions
from decision.outcomes import Question
from decision.planned_studies import StudyFile, read_studies
from decision.remarks import late_interventions, remarks, remarks_on_costs, unread_changes
from decision.terms import Term, read_distribution, terms_of, with_terms
from model.errors import InputError, Problem
from model.interventions import Intervention, InterventionFile, Regime, read_interventions
from model.numerics import Value
from model.parameters import BY_PATH
from model.scaling import at_scale
from model.scenario import Scenario, with_values
from model.scenario_file import ScenarioFile, read_scenario
from model.substitution import Solver
from priors.catalogue import Catalogue, read_catalogue
from priors.draws import Draws, read_draws
from priors.evidence import read_evidence
from priors.forms import catalogue_in_form, evidence_in_form
from priors.hypotheses import with_hypotheses
from priors.observations import Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The options of the command, as given."""

    scenario: str
    at_scale: int | None
    settings: Mapping[str, str]
    interventions: str
    only: Sequence[str]
    bundles: Mapping[str, Sequence[str]]
    priors: str
    evidence: Sequence[str]
    parameter_draws: str | None
    regime: str | None
    solver: Solver
    draws: int | None
    seed: int
    costs: str | None = None
    budget: float | None = None
    risk_tolerance: float | None = None
    studies_on_offer: str | None = None
    form: str | None = None
    refits: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Everything read and checked.

    Parameters
    ----------
    request
        The options.
    scenario_file, intervention_file
        Documents as read.
    form
        The formulas.
    scenario
        The scenario with ``--set`` and the form in place, its plan not yet re-planned.
    questions
        One a regime, with the name of the regime; the name is empty for the scenario as it is.
    catalogue
        Priors, known values fixed, with those of what is uncertain about interventions.
    terms
        What is uncertain about interventions, and the form where it is.
    costs
        What interventions cost, None where that is left open.
    studies
        Studies that may be made before deciding, None where none is on offer.
    evidence
        Observations; empty for priors alone or draws from a file.
    file_draws
        Draws read from a file, None otherwise.
    draws
        Number of draws.
    notes, warnings
        What a reader should be told, one sentence each.
    """

    request: Request
    scenario_file: ScenarioFile
    intervention_file: InterventionFile
    form: Chosen
    scenario: Scenario
    questions: tuple[tuple[str, Question], ...]
    catalogue: Catalogue
    terms: tuple[Term, ...]
    costs: Costs | None
    studies: StudyFile | None
    evidence: Evidence
    file_draws: Draws | None
    draws: int
    notes: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def scenario_catalogue(self) -> Catalogue:
        """Priors of the scenario's own parameters: what evidence bears on."""
        own = {path: entry for path, entry in self.catalogue.entries.items() if path in BY_PATH}
        return replace(self.catalogue, entries=MappingProxyType(own))

    @property
    def source(self) -> str:
        """Where draws come from: ``file``, ``prior`` or ``posterior``."""
        if self.file_draws is not None:
            return "file"
        return "posterior" if self.evidence.observations else "prior"

    @property
    def documents(self) -> dict[str, str]:
        """Texts of the inputs by the name they have in a run directory."""
        texts = {
            "scenario.yaml": self.scenario_file.text,
            "interventions.yaml": self.intervention_file.text,
            "priors.yaml": self.catalogue.text,
        }
        if self.costs is not None:
            texts["costs.yaml"] = self.costs.text
        if self.studies is not None:
            texts["studies.yaml"] = self.studies.text
        for index, text in enumerate(self.evidence.texts.values(), start=1):
            texts[f"evidence-{index}.yaml"] = text
        return texts

    def digests(self) -> dict[str, str]:
        """SHA-256 of every input, of the code and of the versions it runs with."""
        request = self.request
        options: dict[str, object] = {
            "at_scale": request.at_scale,
            "settings": dict(request.settings),
            "only": list(request.only),
            "bundles": {name: list(parts) for name, parts in request.bundles.items()},
            "regime": request.regime,
            "solver": request.solver,
            "form": [self.form.name, self.scenario.refinements, self.form.mixture],
            "draws": self.draws,
            "seed": request.seed,
            "source": self.source,
            "names": [request.scenario, request.interventions, request.priors, *request.evidence],
        }
        if not request.refits:
            options["refits"] = False
        if self.costs is not None:
            options["economics"] = [
                request.costs,
                request.budget,
                request.risk_tolerance,
                request.studies_on_offer,
            ]
        result = {name: _sha256(text.encode()) for name, text in self.documents.items()}
        if request.parameter_draws is not None:
            result["parameter draws"] = _sha256(Path(request.parameter_draws).read_bytes())
        result["options"] = _sha256(json.dumps(options, sort_keys=True).encode())
        result["code"] = code_digest()
        result["versions"] = _sha256(json.dumps(versions(), sort_keys=True).encode())
        return result

    @property
    def digest(self) -> str:
        """One digest of all: equal inputs, code and versions give equal results."""
        return _sha256(json.dumps(self.digests(), sort_keys=True).encode())


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def gather(request: Request) -> Inputs:
    """Read and check everything a request names.

    Raises
    ------
    InputError
        With the problems of all inputs at once.
    """
    problems: list[Problem] = []

    def attempt[T](read: object, *arguments: object, **options: object) -> T | None:
        try:
            return read(*arguments, **options)  # type: ignore[operator, no-any-return]
        except InputError as error:
            problems.extend(error.problems)
            return None

    scenario_file: ScenarioFile | None = attempt(read_scenario, request.scenario)
    intervention_file: InterventionFile | None = attempt(
        read_interventions, request.interventions, read_distribution
    )
    catalogue: Catalogue | None = attempt(read_catalogue, request.priors)
    evidence: Evidence | None = attempt(read_evidence, request.evidence, scenario=request.scenario)
    settings: dict[str, Value] | None = attempt(parse_settings, request.settings)
    if scenario_file is None or intervention_file is None or catalogue is None or settings is None:
        raise InputError(problems)

    scenario: Scenario | None = attempt(
        with_values, scenario_file.scenario, settings, source="--set"
    )
    form: Chosen | None = None
    if scenario is not None:
        form = attempt(choose_form, request.form, scenario, request.settings)
    known = {path: value for path, value in settings.items() if BY_PATH[path].kind == "real"}
    catalogue = attempt(catalogue.with_fixed, known)
    if form is not None and catalogue is not None:
        catalogue = catalogue_in_form(catalogue, *form.used)
    options: tuple[Intervention, ...] | None = attempt(
        choose_options, intervention_file, request.only, request.bundles
    )
    regimes: tuple[Regime | None, ...] | None = attempt(
        choose_regimes, intervention_file, request.regime
    )
    costs: Costs | None = None
    if request.costs is not None:
        costs = attempt(_costs_of_file, request.costs, intervention_file, options or ())
    studies: StudyFile | None = None
    if request.studies_on_offer is not None:
        price = None if costs is None else costs.price_over_horizon
        studies = attempt(read_studies, request.studies_on_offer, price_per_accelerator=price)
    file_draws: Draws | None = None
    if request.parameter_draws is not None and catalogue is not None:
        file_draws = attempt(_draws_of_file, request, catalogue, known)
    if problems or scenario is None or evidence is None or catalogue is None or form is None:
        raise InputError(problems)
    scenario = form.scenario
    evidence = evidence_in_form(evidence, scenario.refinements)
    if options is None or regimes is None:
        raise InputError(problems)
    if request.at_scale is not None:
        at_scale(scenario, request.at_scale, source="--at-scale")

    questions = tuple(
        (
            regime.name if regime else "",
            Question(
                scenario=scenario,
                interventions=options,
                regime=regime,
                scale=request.at_scale,
                solver=request.solver,
                horizon_days=costs.horizon_days if costs else DEFAULT_HORIZON_DAYS,
                forms=form.mixture,
            ),
        )
        for regime in regimes
    )
    if file_draws is not None:
        evidence = replace(evidence, sources=(), observations=(), texts={})
    catalogue = with_hypotheses(catalogue, evidence, fleet=scenario.fleet)
    notes, warnings = remarks(scenario_file, scenario, catalogue, evidence, file_draws)
    notes += remarks_on_costs(costs)
    warnings += unread_changes(settings, options, form.used)
    warnings += late_interventions(options, questions[0][1].horizon_days)
    terms = (*terms_of(options), *form.terms)
    return Inputs(
        request=request,
        scenario_file=scenario_file,
        intervention_file=intervention_file,
        form=form,
        scenario=scenario,
        questions=questions,
        catalogue=with_terms(catalogue, terms),
        terms=terms,
        costs=costs,
        studies=studies,
        evidence=evidence,
        file_draws=file_draws,
        draws=len(file_draws) if file_draws is not None else (request.draws or 0),
        notes=(*form.notes, *notes),
        warnings=tuple(warnings),
    )


def _costs_of_file(name: str, document: InterventionFile, options: Sequence[Intervention]) -> Costs:
    """Costs of a file; of every option that is ranked there must be one.

    Raises
    ------
    InputError
        If the file cannot be used, or says nothing about an option.
    """
    bundles = [option for option in options if option.parts]
    costs = read_costs(name, [*document.interventions, *bundles])
    problems: dict[Problem, None] = {}
    for option in options:
        try:
            list(costs.items_of(option))
        except InputError as error:
            problems |= dict.fromkeys(error.problems)
    if problems:
        raise InputError(problems)
    return costs


def _draws_of_file(request: Request, catalogue: Catalogue, known: Mapping[str, Value]) -> Draws:
    """Draws of a file; what the evidence bears on must be among them or be known.

    A parameter whose prior is merely assumed may be left to the scenario's own assumption.
    """
    required = [
        path
        for path in catalogue.uncertain
        if catalogue.entries[path].prior.basis != "assumed" and path not in known
    ]
    draws = read_draws(request.parameter_draws or "", required=required)
    problems = [
        Problem(
            source=str(request.parameter_draws),
            path=path,
            message="the file holds draws of a field that --set makes known",
            remedy="leave out the one or the other",
        )
        for path in known
        if path in draws.columns
    ]
    if request.draws is not None and request.draws > len(draws):
        problems.append(
            Problem(
                source=str(request.parameter_draws),
                message=f"the file holds {len(draws)} draws, --draws asks for {request.draws}",
                remedy="leave out --draws to use all",
            )
        )
    if problems:
        raise InputError(problems)
    if request.draws is not None:
        count = request.draws
        draws = replace(
            draws,
            columns={path: column[:count] for path, column in draws.columns.items()},
            chain=None if draws.chain is None else draws.chain[:count],
        )
    return draws
