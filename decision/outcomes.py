"""Every option on every draw, in chunks sized to the cache.

Shapes: n draws; K options of which the first is "do nothing". Memory grows with what is returned
only: two floats an option and draw, and a dozen a draw.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from decision.delivery import DEFAULT_HORIZON_DAYS, State, states_of
from decision.forms import FORM, parts_by_form
from model.intervention_entries import COLUMN_PREFIX
from model.interventions import DO_NOTHING, Intervention, Regime, apply
from model.ledger import account, productive_accelerators
from model.numerics import Value
from model.scaling import at_scale
from model.scenario import Scenario, stack, substitute, take, with_values
from model.substitution import ROUNDING, Solver, substitute_options

CHUNK = 8192
"""Draws of a chunk. What is evaluated on many pools at once is cut smaller, to the cache; searches
that leave few draws to look at cost least in few calls."""

COST_PREFIX = "cost."
"""Columns of draws that are costs begin with this."""

ELSEWHERE = (COLUMN_PREFIX, COST_PREFIX, FORM)
"""Beginnings of columns that are no fields of the scenario."""

RECOVERY_FIELDS = frozenset(
    f"reliability.{name}"
    for name in (
        "failure_rate_per_node_day",
        "detect_time_s",
        "restart_time_s",
        "checkpoint_interval_s",
        "checkpoint_write_s",
        "checkpoint_blocking_fraction",
        "durability_lag_s",
        "repair_time_s",
    )
)
"""Fields that leave the healthy step as it is: options that change no other share one."""

FATES = ("productive", "blocked", "discarded", "unavailable")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked of every draw.

    Parameters
    ----------
    scenario
        The scenario, its uncertain fields still at their own values.
    interventions
        Options besides doing nothing, in the order that breaks ties in names.
    regime
        Shift in operating space, applied after the draw; None for the scenario as it is.
    scale
        Accelerators the job is re-planned to on each draw, None for the plan as it is.
    solver
        How SEA is searched; None for gains alone, with SEA and the marginal accelerator NaN.
    horizon_days
        Decision horizon over which an option that takes effect later, or not at all, is averaged.
    forms
        Refinements by the value of a draw's column ``form``; empty where all draws have those of
        the scenario.
    """

    scenario: Scenario
    interventions: tuple[Intervention, ...]
    regime: Regime | None = None
    scale: int | None = None
    solver: Solver | None = "exact"
    horizon_days: float = DEFAULT_HORIZON_DAYS
    forms: tuple[tuple[str, ...], ...] = ()

    @property
    def options(self) -> tuple[str, ...]:
        """Names of the options, doing nothing first."""
        return (DO_NOTHING, *(intervention.name for intervention in self.interventions))


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcomes:
    """Draws by options.

    Parameters
    ----------
    options
        Names, doing nothing first.
    gain
        Π with the option less Π of the baseline, in productive accelerators, averaged over the
        decision horizon; (n, K). Differences that are rounding are exactly zero.
    sea
        Substitution-equivalent accelerators; (n, K). +inf: cannot be bought.
    fates
        Shares of the baseline's time: productive, blocked, discarded, unavailable; (n, 4).
    productive, pool
        Π and accelerators of the baseline; (n,).
    ettr, recovery_pressure
        Of the baseline; (n,).
    in_scope
        Recovery pressure below the limit of the model's scope; (n,).
    marginal
        Productive accelerators that the next accelerator brings; (n,), NaN where there is none.
    """

    options: tuple[str, ...]
    gain: np.ndarray
    sea: np.ndarray
    fates: np.ndarray
    productive: np.ndarray
    pool: np.ndarray
    ettr: np.ndarray
    recovery_pressure: np.ndarray
    in_scope: np.ndarray
    marginal: np.ndarray

    @property
    def draws(self) -> int:
        """Number of draws."""
        return int(self.gain.shape[0])

    def take(self, rows: np.ndarray) -> "Outcomes":
        """The same of some draws."""
        return replace(
            self,
            **{
                field.name: getattr(self, field.name)[rows]
                for field in fields(self)
                if field.name != "options"
            },
        )


def baseline_of(question: Question, columns: Mapping[str, Value]) -> Scenario:
    """The baseline with draws in place: values, then the regime, then the scale.

    Its pool is what its plan needs. Accelerators owned beyond that stay idle whatever is decided:
    they count in the fates, and neither an option nor one more accelerator puts them to work.

    Parameters
    ----------
    question
        What is asked.
    columns
        Draws by dotted path, each of shape (n,); empty for the scenario's own values. Those of
        interventions and costs do not bear on the baseline.

    Raises
    ------
    InputError
        If a draw, the regime or the scale makes an impossible scenario.
    """
    values = {
        path: np.reshape(column, (-1, 1))
        for path, column in columns.items()
        if not path.startswith(ELSEWHERE)
    }
    scenario = with_values(question.scenario, values, source="draws")
    if question.regime is not None:
        scenario = with_values(
            scenario, question.regime.overrides, source=f"regime {question.regime.name}"
        )
    if question.scale is not None:
        scenario = at_scale(scenario, question.scale, source="--at-scale")
    return substitute(scenario, {"n_pool": None})


def as_owned(question: Question, baseline: Scenario) -> Scenario:
    """The baseline with the accelerators that are owned beyond its plan, for its ledger."""
    if question.scale is not None:
        return baseline
    return substitute(baseline, {"n_pool": question.scenario.n_pool})


def evaluate(
    question: Question,
    columns: Mapping[str, np.ndarray],
    *,
    chunk: int = CHUNK,
    jobs: int = 1,
    progress: Callable[[int], None] | None = None,
) -> Outcomes:
    """Evaluate every option on every draw.

    Parameters
    ----------
    question
        What is asked.
    columns
        Draws by dotted path, each of shape (n,), and of uncertain interventions by their columns;
        what has no column keeps its own value.
    chunk
        Draws evaluated at once; the result does not depend on it.
    jobs
        Threads; the result does not depend on them.
    progress
        Called with the number of draws finished, from any thread.

    Returns
    -------
    Outcomes
        In the order of the draws.

    Raises
    ------
    InputError
        If an intervention makes an impossible scenario on some draw.
    """
    from joblib import Parallel, delayed

    total = len(next(iter(columns.values()))) if columns else 1
    parts = parts_by_form(question, columns)
    if parts:
        whole = _empty(question.options, total)
        for rows, asked, some in parts:
            found = evaluate(asked, some, chunk=chunk, jobs=jobs, progress=progress)
            for field in fields(Outcomes):
                if field.name != "options":
                    getattr(whole, field.name)[rows] = getattr(found, field.name)
        return whole
    baseline = baseline_of(question, columns)
    options = options_on(question, columns, total)
    for states in options:
        for state in states:
            apply(baseline, state.change)

    result = _empty(question.options, total)
    plans = _plans(baseline, total)

    def work(start: int) -> None:
        part = slice(start, min(start + chunk, total))
        for rows in plans:
            chosen = rows[np.searchsorted(rows, part.start) : np.searchsorted(rows, part.stop)]
            if chosen.size:
                states = tuple(tuple(state.take(chosen) for state in option) for option in options)
                _fill(result, chosen, take(baseline, chosen), states, question)
        if progress is not None:
            progress(part.stop - part.start)

    Parallel(n_jobs=jobs, prefer="threads")(
        delayed(work)(start) for start in range(0, total, chunk)
    )
    return result


def options_on(
    question: Question, columns: Mapping[str, Value], draws: int
) -> tuple[tuple[State, ...], ...]:
    """States of every intervention of the question on draws, without doing nothing."""
    return tuple(
        states_of(intervention, columns, question.horizon_days, draws)
        for intervention in question.interventions
    )


def _empty(options: Sequence[str], total: int) -> Outcomes:
    shapes = {"gain": (total, len(options)), "sea": (total, len(options)), "fates": (total, 4)}
    arrays = {
        field.name: np.empty(shapes.get(field.name, (total,)))
        for field in fields(Outcomes)
        if field.name not in ("options", "in_scope")
    }
    return Outcomes(options=tuple(options), in_scope=np.empty(total, dtype=bool), **arrays)


def _plans(scenario: Scenario, total: int) -> list[np.ndarray]:
    """Rows by plan, ascending: a scaling curve belongs to one data-parallel size."""
    sizes = np.reshape(scenario.parallelism.dp, -1)
    if sizes.size == 1:
        return [np.arange(total)]
    return [np.flatnonzero(sizes == size) for size in np.unique(sizes)]


def _fill(
    result: Outcomes,
    target: np.ndarray,
    scenario: Scenario,
    options: Sequence[Sequence[State]],
    question: Question,
) -> None:
    """Evaluate draws of one plan into their rows."""
    plan = scenario.parallelism
    one_plan = {
        "parallelism.dp": int(np.min(plan.dp)),
        "parallelism.global_batch_seqs": int(np.min(plan.global_batch_seqs)),
    }
    scenario = substitute(scenario, one_plan)
    ledger = account(as_owned(question, scenario))
    changes = [state.change for states in options for state in states]
    treated = _treated(scenario, changes, target.size)
    baseline = treated[:, :1]
    gain = treated - baseline
    gain[np.abs(gain) <= ROUNDING * baseline] = 0.0
    gain = _over_horizon(gain, options)

    def column(value: Value) -> np.ndarray:
        return np.broadcast_to(np.reshape(value, (-1,)), target.shape)

    result.gain[target] = gain
    if question.solver is None:
        result.sea[target] = np.nan
        result.marginal[target] = np.nan
    else:
        found = substitute_options(scenario, baseline, baseline + gain, solver=question.solver)
        result.sea[target] = found.sea
        result.marginal[target] = column(found.marginal)
    for index, fate in enumerate(FATES):
        result.fates[target, index] = column(ledger.fates[fate])
    result.productive[target] = column(baseline)
    result.pool[target] = column(ledger.scenario.pool)
    result.ettr[target] = column(ledger.ettr)
    result.recovery_pressure[target] = column(ledger.recovery_pressure)
    result.in_scope[target] = column(ledger.in_scope)


def _over_horizon(gain: np.ndarray, options: Sequence[Sequence[State]]) -> np.ndarray:
    """Gains of the states averaged into gains of the options, doing nothing first; (n, K)."""
    if all(len(states) == 1 and states[0].share is None for states in options):
        return gain
    result = np.zeros((gain.shape[0], len(options) + 1))
    column = 1
    for option, states in enumerate(options, start=1):
        for state in states:
            share = 1.0 if state.share is None else state.share
            result[:, option] += share * gain[:, column]
            column += 1
    return result


def _treated(scenario: Scenario, interventions: Sequence[Intervention], draws: int) -> np.ndarray:
    """Π with each option, doing nothing first; (n, K). One evaluation for all that can share it.

    Those that change recovery alone share the healthy step, those that keep the plan and change
    the step alone share the recovery.
    """
    options = [scenario, *(apply(scenario, option, check=False) for option in interventions)]
    changed: list[set[str]] = [set(), *(set(option.paths) for option in interventions)]
    groups: dict[tuple[object, ...], list[int]] = {}
    for index, (option, paths) in enumerate(zip(options, changed, strict=True)):
        recovers = not RECOVERY_FIELDS.isdisjoint(paths)
        steps = not RECOVERY_FIELDS.issuperset(paths)
        plan = option.parallelism
        replans = plan.dp is not scenario.parallelism.dp
        kind = (plan.recompute, plan.sequence_parallel, option.scaling_mode)
        key = (*kind, recovers, steps, replans)
        groups.setdefault(key, []).append(index)
    treated = np.empty((draws, len(options)))
    for members in groups.values():
        stacked = stack([options[index] for index in members], axis=1)
        treated[:, members] = productive_accelerators(stacked)
    return treated
