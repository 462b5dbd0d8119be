"""Whether the copula may stand for the draws: it must reproduce what is decided on them.

Redrawing everything must give the draws' own shares of first place, share in scope and quantiles of
the leader's margins; redrawing what one or two parameters leave open must explain as much of who
ranks first as redraws from neighbouring draws do, which assume no distribution.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from decision.outcomes import Outcomes
from decision.precision import Layout, mean_error, quantile
from decision.ranking import QUANTILES, winners
from studies.drivers.copula import Copula
from studies.drivers.neighbours import Neighbours
from studies.drivers.streams import stream
from studies.drivers.targets import WINNER, Evaluate, Targets, require_finite

TOLERANCE = 0.02
"""Probability by which a share or the level of a quantile may be off, beside its error."""

TOLERANCE_EXPLAINED = 0.04
"""Share of the variation by which the two kinds of redraw may differ, beside the error: neighbours
are themselves a little off."""

ERRORS = 3.5
"""Standard errors allowed on top: of some fifty checks one in a hundred sound runs fails by
chance."""

MOST_SETS = 24
"""Sets of kept parameters on which the two kinds of redraw are compared."""

REDRAWS = 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One comparison.

    Parameters
    ----------
    what
        What is compared, in words.
    draws, copula
        Its value in the draws (or by neighbours) and by the copula.
    allowed
        The largest difference that passes.
    """

    what: str
    draws: float
    copula: float
    allowed: float

    @property
    def passed(self) -> bool:
        """Whether they agree."""
        return abs(self.draws - self.copula) <= self.allowed

    def words(self) -> str:
        """The comparison in one line."""
        return (
            f"{self.what}: {self.draws:.3f} in the draws, {self.copula:.3f} by the copula,"
            f" allowed difference {self.allowed:.3f}"
        )


def check_copula(
    evaluate: Evaluate,
    copula: Copula,
    outcomes: Outcomes,
    targets: Targets,
    *,
    chain: np.ndarray | None,
    seed: int,
) -> tuple[Check, ...]:
    """Compare the copula with the draws it was fitted to.

    Parameters
    ----------
    evaluate
        The model.
    copula, outcomes
        The draws and their outcomes.
    targets
        Names the options and the leader.
    chain
        Chain of each draw, None for independent draws.
    seed
        Seed, not negative.

    Returns
    -------
    tuple of Check
        All of them; effects by the copula are to be trusted if all passed.
    """
    generator = stream(seed, "copula check")
    layout = Layout.of(chain, outcomes.draws)
    count = copula.scores.shape[1]
    rows = np.resize(np.arange(outcomes.draws), REDRAWS)
    nothing = np.zeros(count, dtype=bool)
    columns = copula.columns(
        copula.given(rows, nothing, generator.standard_normal((REDRAWS, count)))
    )
    again = evaluate(columns)
    require_finite(again, columns)
    return (
        *_shares(outcomes, again, layout),
        *_margins(outcomes, again, targets, layout),
        *_explained(evaluate, copula, outcomes, targets, layout=layout, generator=generator),
    )


def _allowed(share: float, effective: float) -> float:
    return TOLERANCE + ERRORS * float(
        np.sqrt(share * (1.0 - share) * (1.0 / effective + 1.0 / REDRAWS))
    )


def _shares(own: Outcomes, again: Outcomes, layout: Layout) -> Iterator[Check]:
    mine, theirs = winners(own)[0], winners(again)[0]
    pairs = [
        (f"share in which {option} ranks first", mine == k, theirs == k)
        for k, option in enumerate(own.options)
    ]
    for what, first, second in (*pairs, ("share in scope", own.in_scope, again.in_scope)):
        share, other = float(first.mean()), float(second.mean())
        if share or other:
            pooled = max(share * (1.0 - share), other * (1.0 - other))
            level = 0.5 - float(np.sqrt(0.25 - pooled))
            allowed = _allowed(level, float(layout.effective(first.astype(np.float64))))
            yield Check(what=what, draws=share, copula=other, allowed=allowed)


def _margins(own: Outcomes, again: Outcomes, targets: Targets, layout: Layout) -> Iterator[Check]:
    lead = targets.options.index(targets.leader)
    for k, option in enumerate(targets.options):
        margin = own.gain[:, lead] - own.gain[:, k]
        if k == lead or not np.ptp(margin):
            continue
        theirs = again.gain[:, lead] - again.gain[:, k]
        for level in QUANTILES:
            at = float(quantile(theirs, level))
            below = (margin <= at).astype(np.float64)
            yield Check(
                what=f"level of the copula's P{100 * level:.0f} of {targets.leader}'s margin over"
                f" {option}",
                draws=float(below.mean()),
                copula=float((theirs <= at).mean()),
                allowed=_allowed(level, float(layout.effective(below))),
            )


def _explained(
    evaluate: Evaluate,
    copula: Copula,
    outcomes: Outcomes,
    targets: Targets,
    *,
    layout: Layout,
    generator: np.random.Generator,
) -> Iterator[Check]:
    """C(u) for the winner by both kinds of redraw, u one parameter or two."""
    count, draws = copula.scores.shape[1], outcomes.draws
    column = targets.names.index(WINNER)
    own = targets.values(outcomes)
    centred = own - own.mean(axis=0)
    variance = float(targets.total(centred**2)[:, column].mean())
    if not variance or count < 2:  # noqa: PLR2004 - with one parameter nothing is redrawn
        return
    sets = [(i,) for i in range(count)]
    pairs = [(i, j) for i in range(count) for j in range(i + 1, count) if count > 2]  # noqa: PLR2004
    generator.shuffle(pairs)
    rows = np.arange(draws)
    for held in [*sets, *pairs][:MOST_SETS]:
        kept = np.isin(np.arange(count), held)
        products = []
        for redraw in (Neighbours(copula=copula), copula):
            noise = generator.standard_normal((draws, count))
            again = evaluate(copula.columns(redraw.given(rows, kept, noise)))
            both = centred * (targets.values(again) - own.mean(axis=0))
            products.append(targets.total(both)[:, column] / variance)
        error = float(mean_error(products[0] - products[1], layout))
        yield Check(
            what="of who ranks first explained by " + " and ".join(copula.paths[i] for i in held),
            draws=float(products[0].mean()),
            copula=float(products[1].mean()),
            allowed=TOLERANCE_EXPLAINED + ERRORS * error,
        )
