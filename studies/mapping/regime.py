"""A cell as a question: axis values put into the scenario, the scale, or the draws."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from decision.outcomes import Outcomes, Question, evaluate
from model.errors import InputError
from model.scenario import with_values
from model.substitution import Solver
from studies.mapping.axes import REGIME, SCALE, SCENARIO, AxisValue
from studies.mapping.sample import Sample

type Columns = dict[str, np.ndarray]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What a map stands on: everything that is the same in all of its cells.

    Parameters
    ----------
    questions
        By scenario and regime; names are empty where no axis varies them.
    samples
        Draws by scenario.
    shifting
        Axes that move draws instead of pinning them, and whether by a factor.
    """

    questions: Mapping[tuple[str, str], Question]
    samples: Mapping[str, Sample]
    shifting: Mapping[str, bool]

    def sample(self, values: Mapping[str, AxisValue]) -> Sample:
        """The draws of a cell."""
        return self.samples[str(values.get(SCENARIO, ""))]

    def pose(self, values: Mapping[str, AxisValue]) -> tuple[Question, Columns]:
        """The question of a cell and the draws it is asked on.

        Parameters
        ----------
        values
            Value of every axis by its path.

        Raises
        ------
        InputError
            If the values make an impossible scenario.
        """
        question = self.questions[str(values.get(SCENARIO, "")), str(values.get(REGIME, ""))]
        columns = dict(self.sample(values).columns)
        fixed: dict[str, AxisValue] = {}
        for path, value in values.items():
            if path == SCALE:
                question = replace(question, scale=int(value))
            elif path not in (SCENARIO, REGIME):
                fixed[path] = value
                if path in self.shifting and path in columns:
                    columns[path] = _moved(
                        path, columns[path], float(value), factor=self.shifting[path]
                    )
                elif path in columns:
                    columns[path] = np.full(len(columns[path]), float(value))
        # One value for all draws costs less than a column of it; draws without columns are none.
        for path in fixed:
            if len(columns) > 1 and path not in self.shifting:
                columns.pop(path, None)
        if fixed:
            scenario = with_values(question.scenario, fixed, source="the cell")
            question = replace(question, scenario=scenario)
        return question, columns


def outcomes_of(
    ground: Ground,
    values: Mapping[str, AxisValue],
    rows: np.ndarray,
    *,
    solver: Solver | None = "exact",
    point: bool = False,
) -> Outcomes:
    """Every option on some draws of a cell.

    Parameters
    ----------
    ground, values
        The map, and the cell.
    rows
        Draws.
    solver
        None for gains alone.
    point
        Whether one more draw holds the scenario's own values with those of the axes.

    Raises
    ------
    InputError
        If the values make an impossible scenario.
    """
    question, columns = ground.pose(values)
    chosen = {path: column[rows] for path, column in columns.items()}
    if point:
        own = ground.sample(values).own
        own = {path: float(values.get(path, own[path])) for path in chosen}
        chosen = {path: np.append(column, own[path]) for path, column in chosen.items()}
    return evaluate(replace(question, solver=solver), chosen)


def _moved(path: str, column: np.ndarray, median: float, *, factor: bool) -> np.ndarray:
    """Draws moved so that their median is the value, by a factor or by a distance."""
    middle = float(np.median(column))
    if not factor:
        return np.asarray(column + (median - middle))
    if middle == 0.0:
        raise InputError.single(
            message="the median of the draws is 0, which no factor moves",
            source="axes",
            path=path,
            remedy="leave out :log, so that the draws move by a distance",
        )
    return np.asarray(column * (median / middle))
