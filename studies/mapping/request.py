"""What a map is asked about: axes laid out, inputs of every scenario read, draws made."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from decision.inputs import Inputs, Request, gather
from decision.outcomes import Question
from decision.rank import draw
from model.errors import InputError, Problem
from priors.draws import Draws
from studies.experiments.ranking import MAP_OVERSUBSCRIPTION, MAP_RATES, MAP_SCALES
from studies.mapping.axes import DERIVED, REGIME, SCALE, SCENARIO, Axis, parse_axes
from studies.mapping.grid import Grid
from studies.mapping.regime import Ground
from studies.mapping.sample import Sample, own_values

MOST_CELLS = 100_000

DOUBLINGS = {"prior": 2, "posterior": 1, "file": 0}
"""How often a cell's draws may double unless told: another posterior is another run of the sampler,
and a file has the draws it has."""

PUBLISHED_ROWS = Axis(
    path="reliability.failure_rate_per_node_day", values=MAP_RATES, spacing="log", numeric=True
)
PUBLISHED_COLUMNS = Axis(
    path="topology.oversubscription", values=MAP_OVERSUBSCRIPTION, numeric=True
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MapRequest:
    """The options of the command, as given.

    Parameters
    ----------
    question
        Options of a question; its scenario is that of all cells unless there are several.
    x, y
        Texts of the axes; None where there is none.
    facets
        Texts of the axes of panels.
    scales
        Accelerators that the job is re-planned to; empty for the plan as it is.
    scenarios
        Scenario files, a row each.
    refine
        How often a cell's draws may double; None for as often as its draws allow by default.
    point_values
        The scenario's own values instead of draws.
    """

    question: Request
    x: str | None = None
    y: str | None = None
    facets: Sequence[str] = ()
    scales: Sequence[int] = ()
    scenarios: Sequence[str] = ()
    refine: int | None = None
    point_values: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MapInputs:
    """A map read and checked, before anything is drawn.

    Parameters
    ----------
    request
        The options.
    grid
        Its axes.
    inputs
        Inputs of every scenario by its name; the name is empty where there is one.
    doublings
        How often a cell's draws may double.
    """

    request: MapRequest
    grid: Grid
    inputs: Mapping[str, Inputs]
    doublings: int

    @property
    def first(self) -> Inputs:
        """Inputs of the first scenario; options and evidence are the same in all."""
        return next(iter(self.inputs.values()))

    @property
    def source(self) -> str:
        """Where draws come from: ``point``, ``file``, ``prior`` or ``posterior``."""
        return "point" if self.request.point_values else self.first.source


def read_map(request: MapRequest) -> MapInputs:
    """Read and check everything a map names.

    Raises
    ------
    InputError
        With the problems of axes and of all inputs at once.
    """
    problems: list[Problem] = []

    def attempt[T](read: Callable[[MapRequest], T]) -> T | None:
        try:
            return read(request)
        except InputError as error:
            problems.extend(error.problems)
            return None

    axes, inputs = attempt(_axes_of), attempt(_inputs_of)
    if axes is None or inputs is None:
        raise InputError(problems)
    first = next(iter(inputs.values()))
    grid = _laid_out(request, axes, tuple(inputs), tuple(name for name, _ in first.questions))
    problems = _conflicts(request, grid, inputs)
    if problems:
        raise InputError(problems)
    source = "file" if request.point_values else first.source
    doublings = DOUBLINGS[source] if request.refine is None else request.refine
    return MapInputs(
        request=request,
        grid=grid,
        inputs=inputs,
        doublings=0 if request.point_values else doublings,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Axes:
    x: Axis | None
    y: Axis | None
    facets: tuple[Axis, ...]
    scale: Axis | None


def _axes_of(request: MapRequest) -> _Axes:
    """Axes as asked for, those of the published map where none is."""
    given = [("--x", request.x), ("--y", request.y)]
    texts = [(option, text) for option, text in given if text is not None]
    texts += [("--facet", text) for text in request.facets]
    scales = list(request.scales)
    published = not texts and not request.scenarios
    if published and not scales:
        scales = list(MAP_SCALES)
    if len(scales) > 1:
        texts.append(("--scale", f"{SCALE}={','.join(map(str, scales))}"))
    axes = list(zip((option for option, _ in texts), parse_axes(texts), strict=True))
    found = dict(axes)
    return _Axes(
        x=PUBLISHED_COLUMNS if published else found.get("--x"),
        y=PUBLISHED_ROWS if published else found.get("--y"),
        facets=tuple(axis for option, axis in axes if option == "--facet"),
        scale=found.get("--scale"),
    )


def _inputs_of(request: MapRequest) -> dict[str, Inputs]:
    """Inputs of every scenario by name."""
    if not request.scenarios:
        return {"": gather(request.question)}
    problems: list[Problem] = []
    inputs: dict[str, Inputs] = {}
    for scenario in request.scenarios:
        try:
            found = gather(replace(request.question, scenario=scenario))
        except InputError as error:
            problems += error.problems
            continue
        name = found.scenario.name
        if name in inputs:
            problems.append(
                Problem(
                    source="--scenarios",
                    path=scenario,
                    message=f"another scenario is named {name!r}",
                    remedy="give each a name of its own",
                )
            )
        inputs[name] = found
    if problems:
        raise InputError(dict.fromkeys(problems))
    return inputs


def _laid_out(
    request: MapRequest, axes: _Axes, scenarios: tuple[str, ...], regimes: tuple[str, ...]
) -> Grid:
    """Rows, columns and panels: what no option places fills the free side, then makes panels."""
    rows, columns = axes.y, axes.x
    panels: list[Axis] = []
    if request.scenarios:
        axis = Axis(path=SCENARIO, values=scenarios)
        if rows is None:
            rows = axis
        else:
            panels.append(axis)
    if len(regimes) > 1:
        axis = Axis(path=REGIME, values=regimes)
        if rows is None:
            rows = axis
        else:
            panels.append(axis)
    panels += axes.facets
    if axes.scale is not None:
        if columns is None:
            columns = axes.scale
        else:
            panels.append(axes.scale)
    return Grid(panels=tuple(panels), rows=rows, columns=columns)


def _conflicts(request: MapRequest, grid: Grid, inputs: Mapping[str, Inputs]) -> list[Problem]:
    """Axes that contradict each other, the settings, the regimes or the size of the job."""
    problems = []

    def wrong(path: str, message: str, remedy: str) -> None:
        problems.append(Problem(source="axes", path=path, message=message, remedy=remedy))

    sized = bool(request.scales) or grid.has_scale
    first = next(iter(inputs.values()))
    for axis in grid.axes:
        path = axis.path
        if path in DERIVED and sized:
            wrong(path, f"cannot vary beside --scale: {DERIVED[path]}", "leave out one of them")
        if path in request.question.settings:
            wrong(path, "stands on an axis and under --set", "leave out one of them")
        for name, question in first.questions:
            if question.regime is not None and path in question.regime.overrides:
                wrong(
                    path,
                    f"regime {name} sets this field in every cell",
                    "leave out the axis or the regime",
                )
                break
    if len(grid) > MOST_CELLS:
        wrong("", f"{len(grid):,} cells, allowed are {MOST_CELLS:,}", "choose fewer values")
    if request.refine and first.source == "file" and not request.point_values:
        problems += _refined_file(request, first)
    return problems


def _refined_file(request: MapRequest, inputs: Inputs) -> list[Problem]:
    """Draws from a file double only as far as the file goes, and not across its chains."""
    assert inputs.file_draws is not None
    wanted = len(inputs.file_draws)
    step = 2 ** (request.refine or 0)
    if inputs.file_draws.chain is not None:
        message, remedy = "draws with chains cannot be taken in part", "leave out --refine"
    elif wanted % step:
        message = f"{wanted} draws are no multiple of {step}"
        remedy = f"choose --draws as a multiple of {step}: the last doubling uses all"
    else:
        return []
    return [Problem(source="--refine", message=message, remedy=remedy)]


def ground_of(found: MapInputs, say: Callable[[str], None]) -> tuple[Ground, list[str]]:
    """Draws of every scenario with the questions asked on them, and why any did not converge.

    Parameters
    ----------
    found
        The map.
    say
        Told what is being done.

    Raises
    ------
    InputError
        If an axis is to shift draws that there are none of.
    """
    request = found.request
    scale = request.scales[0] if len(request.scales) == 1 else None
    questions: dict[tuple[str, str], Question] = {}
    samples: dict[str, Sample] = {}
    reasons: list[str] = []
    for name, inputs in found.inputs.items():
        if name:
            say(f"scenario {name}")
        several = len(inputs.questions) > 1
        for regime, question in inputs.questions:
            key = name, regime if several else ""
            questions[key] = replace(question, scale=scale)
        if request.point_values:
            samples[name] = Sample(columns={})
            continue
        draws, why = _draws(inputs, found.doublings, say)
        reasons += why
        samples[name] = Sample(
            columns=dict(draws.columns),
            chain=draws.chain,
            own=own_values(inputs.scenario, draws.columns),
            doublings=found.doublings,
        )
    still = [
        Problem(
            source="axes",
            path=axis.path,
            message="has no draws that could shift",
            remedy="leave out :shift",
        )
        for axis in found.grid.axes
        if axis.shifts and not all(axis.path in sample.columns for sample in samples.values())
    ]
    if still:
        raise InputError(still)
    shifting = {a.path: a.spacing == "log" for a in found.grid.axes if a.shifts}
    return Ground(questions=questions, samples=samples, shifting=shifting), reasons


def _draws(inputs: Inputs, doublings: int, say: Callable[[str], None]) -> tuple[Draws, list[str]]:
    """Draws of the last stage.

    Independent draws go on where the fewer ones stop. A posterior is sampled again with other
    seeds, as often as it takes: each of its runs is checked on its own.
    """
    if inputs.source == "file":
        draws, _, _ = draw(inputs, say)
        return draws, []
    times = 2**doublings
    if inputs.source == "prior":
        draws, _, _ = draw(replace(inputs, draws=inputs.draws * times), say)
        return draws, []
    seed = inputs.request.seed
    seeds = [seed, *_further(seed, times - 1)]
    parts: list[Draws] = []
    reasons: list[str] = []
    for number, one in enumerate(seeds):
        if number:
            say(f"further draws for contested cells, posterior {number + 1} of {times}")
        part, _, posterior = draw(replace(inputs, request=replace(inputs.request, seed=one)), say)
        parts.append(part)
        if posterior is not None:
            reasons += posterior.diagnostics.reasons
    return _together(parts), reasons


def _further(seed: int, count: int) -> list[int]:
    return [
        int(word) for word in np.random.SeedSequence(seed, spawn_key=(8,)).generate_state(count)
    ]


def _together(parts: Sequence[Draws]) -> Draws:
    """Several posteriors as one: their chains stay apart."""
    first = parts[0]
    columns = {
        path: np.concatenate([part.columns[path] for part in parts]) for path in first.columns
    }
    chains: list[Any] = []
    for part in parts:
        offset = 0 if not chains else int(chains[-1].max()) + 1
        own = np.zeros(len(part), dtype=np.int64) if part.chain is None else part.chain
        chains.append(own + offset)
    return replace(first, columns=columns, chain=np.concatenate(chains))
