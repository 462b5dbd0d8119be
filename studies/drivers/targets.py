"""What effects are measured on: gains, margins, who ranks first, and the model's scope.

Shapes: n draws, K options, T targets, C columns. A target is one column (a gain, a yes or no) or
several (a label, one-hot): variances and covariances of its columns are summed, so that one
estimator serves both. For a label W the sum of variances is G = 1 − Σ p_k², the chance that two
independent draws differ.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from decision.outcomes import Outcomes
from decision.ranking import winners
from model.errors import InputError, Problem
from model.substitution import ROUNDING

WINNER = "winner"
IN_SCOPE = "in_scope"
WINNER_IN_SCOPE = "winner_in_scope"

ROUNDING_VARIANCE = 1e-22
"""Variance below this share of the mean square is rounding."""

type Evaluate = Callable[[Mapping[str, np.ndarray]], Outcomes]
"""Outcomes of draws given as columns by dotted path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """The targets of one question.

    Parameters
    ----------
    options
        Options, doing nothing first; the order breaks ties.
    leader
        The option margins are taken against.
    names
        Names of the targets.
    starts
        First column of each target, shape (T,).
    """

    options: tuple[str, ...]
    leader: str
    names: tuple[str, ...]
    starts: np.ndarray

    def values(self, outcomes: Outcomes) -> np.ndarray:
        """Columns of all targets, shape (n, C). No draw is left out."""
        count = len(self.options)
        lead = self.options.index(self.leader)
        gain = outcomes.gain
        tolerance = ROUNDING * outcomes.productive[:, np.newaxis]
        margin = gain[:, lead : lead + 1] - gain[:, _rivals(self.options, lead)]
        margin = np.where(np.abs(margin) <= tolerance, 0.0, margin)
        winner, _ = winners(outcomes)
        first = np.eye(count)[winner]
        # Draws out of scope are a class of their own: leaving them out would make independent
        # parameters dependent.
        scoped = np.eye(count + 1)[np.where(outcomes.in_scope, winner, count)]
        scope = outcomes.in_scope[:, np.newaxis].astype(np.float64)
        return np.hstack([gain[:, 1:], margin, first, first, scope, scoped])

    def total(self, columns: np.ndarray) -> np.ndarray:
        """Sum over the columns of each target: (…, C) to (…, T)."""
        return np.add.reduceat(columns, self.starts, axis=-1)


def targets_of(options: Sequence[str], leader: str) -> Targets:
    """All targets of a question.

    Parameters
    ----------
    options
        Options, doing nothing first.
    leader
        The option that most often ranks first.

    Returns
    -------
    Targets
        ``gain:<option>``, ``margin:<leader> over <option>``, ``winner``, ``first:<option>``,
        ``in_scope``, ``winner_in_scope``. The margin over doing nothing is the leader's gain.
    """
    lead = list(options).index(leader)
    widths = {f"gain:{option}": 1 for option in options[1:]}
    widths |= {f"margin:{leader} over {options[k]}": 1 for k in _rivals(options, lead)}
    widths[WINNER] = len(options)
    widths |= {f"first:{option}": 1 for option in options}
    widths |= {IN_SCOPE: 1, WINNER_IN_SCOPE: len(options) + 1}
    return Targets(
        options=tuple(options),
        leader=leader,
        names=tuple(widths),
        starts=np.concatenate([[0], np.cumsum(list(widths.values()))[:-1]]),
    )


def _rivals(options: Sequence[str], lead: int) -> list[int]:
    return [] if lead == 0 else [k for k in range(1, len(options)) if k != lead]


def leader_of(outcomes: Outcomes) -> str:
    """The option that most often ranks first, the first-listed among equals."""
    winner, _ = winners(outcomes)
    shares = np.bincount(winner, minlength=len(outcomes.options))
    return outcomes.options[int(shares.argmax())]


def first_column(option: str) -> str:
    """Name of the target that says whether an option ranks first."""
    return f"first:{option}"


def require_finite(outcomes: Outcomes, columns: Mapping[str, np.ndarray]) -> None:
    """Refuse outcomes with a value that is no finite number.

    One of them turns every index of SALib 1.6 into zero, which reads as "insensitive".

    Parameters
    ----------
    outcomes
        What was evaluated.
    columns
        The draws they belong to.

    Raises
    ------
    InputError
        Naming every output, how many values are bad, and the first draw that gives one.
    """
    named = {f"gain of {name}": outcomes.gain[:, k] for k, name in enumerate(outcomes.options)}
    named["productive accelerators"] = outcomes.productive
    problems = []
    for name, values in named.items():
        bad = np.flatnonzero(~np.isfinite(values))
        if bad.size:
            row = int(bad[0])
            draw = ", ".join(f"{path} = {column[row]:.6g}" for path, column in columns.items())
            problems.append(
                Problem(
                    source="sensitivity",
                    path=name,
                    message=f"{bad.size:,} of {values.size:,} values are no finite numbers,"
                    f" the first is {values[row]} at {draw}",
                    remedy="no index is computed: keep the parameters where the model has an"
                    " answer",
                )
            )
    if problems:
        raise InputError(problems)


def constant_words(name: str, value: np.ndarray, targets: Targets) -> str:
    """What it means that a target is the same in every draw.

    Parameters
    ----------
    name
        The target.
    value
        Its columns, shape (m,).
    targets
        All of them.
    """
    kind, _, rest = name.partition(":")
    label = int(value.argmax())
    amount = f"{value[0]:.6g} productive accelerators in every draw"
    scoped = (
        f"{targets.options[label]} always ranks first, always in scope"
        if label < len(targets.options)
        else "every draw is out of the model's scope"
    )
    words = {
        "first": f"{rest} {'always' if value[0] else 'never'} ranks first, ties going to the"
        " option listed first",
        IN_SCOPE: f"every draw is {'in' if value[0] else 'out of'} the model's scope",
        "gain": f"{rest} gains {amount}",
        "margin": f"{rest}: the margin is {amount}",
    }
    if kind == WINNER:
        return f"{targets.options[label]} always ranks first"
    return scoped if kind == WINNER_IN_SCOPE else words[kind]
