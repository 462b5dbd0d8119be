"""The short study a ranking carries: top drivers and switching values within a small budget."""

from typing import Any

import numpy as np

from decision.forms import FORM
from decision.outcomes import Question
from priors.catalogue import Catalogue
from priors.draws import Draws
from studies.drivers.asking import Worth, model_of, quantiles_of, thin
from studies.drivers.copula import dependent_pairs, fit_copula, split_constant
from studies.drivers.effects import Effects
from studies.drivers.factors import singles
from studies.drivers.screening import MANY, screen
from studies.drivers.shapley import REPEATS, shapley_effects
from studies.drivers.sobol import SCRAMBLES, sobol_effects
from studies.drivers.study import leading_factors
from studies.drivers.summary import describe_switching, factors_of, option_driver
from studies.drivers.switching import LEARNT, SET, switching_values
from studies.drivers.targets import WINNER, leader_of, require_finite, targets_of

BUDGET = 150_000
"""Draws the model may be evaluated on: well below a second."""

PRIOR_BUDGET = 40_000
"""Sobol indices of independent parameters need fewer for errors of a point or two."""

FEWEST_POINTS = 64
REDRAWN = 1000
SWITCHED, VALUES, SWITCHING_DRAWS = 3, 15, 400

WORDS = {
    "total": "redrawing it alone, relative to redrawing every parameter: how often it changes who"
    " ranks first",
    "shapley": "its share of what decides who ranks first; the shares of all parameters sum to"
    " 100%",
}


def quick_drivers(
    question: Question,
    draws: Draws,
    catalogue: Catalogue | None,
    *,
    seed: int,
    budget: int = BUDGET,
    worth: Worth | None = None,
) -> dict[str, Any]:
    """Name what drives a ranking, with errors, in about two seconds.

    Parameters
    ----------
    question
        What is asked; its solver does not matter.
    draws
        What it was asked of.
    catalogue
        The priors if the draws are theirs, which makes parameters independent; None for a
        posterior or draws from a file.
    seed
        Seed, not negative: same seed, same numbers.
    budget
        Draws the model may be evaluated on, roughly.
    worth
        What options are ranked by instead of the gain, for example with costs; None for the gain.

    Returns
    -------
    dict
        ``method`` (``sobol`` or ``shapley``), ``index`` (``total`` or ``shapley``) and ``meaning``;
        ``winner``: drivers of who ranks first, the strongest first, each with ``factor``,
        ``value`` and standard ``error``; ``options``: by option the same for whether it ranks
        first (``target`` is ``first``) or for its gain, with ``rival`` where two are not told
        apart, None where nothing moves it; ``switching``: the leading parameters with ``flips``
        (``value``, ``low``, ``high``, ``below``, ``above``), none being a result, under
        ``reading`` ``set`` or ``learnt``. Nothing of all this where no parameter is uncertain.

    Raises
    ------
    InputError
        If the model gives a value that is no finite number.
    """
    columns, fixed = split_constant(draws.columns)
    if not columns:
        empty: dict[str, Any] = dict.fromkeys(("method", "index", "meaning"))
        return empty | {"winner": [], "options": {}, "switching": []}
    model = model_of(question, fixed, worth=worth)
    few = thin(draws, REDRAWN)
    own = {path: few.columns[path] for path in columns}
    outcomes = model(own)
    require_finite(outcomes, own)
    targets = targets_of(question.options, leader_of(outcomes))
    copula = fit_copula(own, independent=catalogue is not None)
    quantiles = quantiles_of(own, catalogue)
    factors = singles(list(own))
    if len(own) >= MANY:
        factors = screen(model, quantiles, targets, seed=seed, trajectories=20).factors
    count = len(factors)
    effects: Effects
    if catalogue is not None:
        points = 2 ** int(np.log2(max(FEWEST_POINTS, budget // (SCRAMBLES * (count + 2)))))
        effects = sobol_effects(
            model, quantiles, factors, targets, points=points, seed=seed, second_order=False
        )
    else:
        left = budget - 2 * REPEATS * count * len(few)
        effects = shapley_effects(
            model,
            copula,
            outcomes,
            factors,
            targets,
            seed=seed,
            chain=few.chain,
            permutations=max(2, left // (len(few) * max(1, count - 1))),
        )
    dependent = catalogue is None and dependent_pairs(own, few.chain)
    fewer = thin(few, SWITCHING_DRAWS)
    held = fit_copula(
        {path: fewer.columns[path] for path in own}, independent=catalogue is not None
    )
    leading = [name for name in leading_factors(effects) if name in own and name != FORM]
    leading = leading[:SWITCHED]
    return {
        "method": effects.method,
        "index": effects.index,
        "meaning": WORDS[effects.index],
        "winner": factors_of(effects, WINNER),
        "options": {option: option_driver(effects, option) for option in question.options},
        "switching": [
            describe_switching(switch)
            for reading in ((SET, LEARNT) if dependent else (SET,))
            for switch in switching_values(
                model,
                held,
                leading,
                options=question.options,
                seed=seed,
                chain=fewer.chain,
                reading=reading,
                values=VALUES,
            )
        ],
    }
