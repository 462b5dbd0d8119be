"""What an answer says, in sentences that the terminal and the memo share.

The figures are the summary's; a verdict compares two of them, nothing is estimated here.
"""

from collections.abc import Mapping
from typing import Any

from reports.numbers import Notation, spelt

DO_NOTHING = "do_nothing"

EITHER_WAY = (0.25, 0.75)
"""Between these a probability that one option beats another does not separate them."""

BEYOND_ERROR = 2.0
"""Standard errors from which simulation tells a difference from zero."""

OUT_OF_SCOPE_ALARM = 0.5

FEW_EFFECTIVE_DRAWS = 400
"""Below this the errors of tail quantiles are themselves uncertain."""

Answer = Mapping[str, Any]


def named(option: str, notation: Notation) -> str:
    """An option inside a sentence."""
    return "doing nothing" if option == DO_NOTHING else notation.name(option)


def opening(sentence: str) -> str:
    """A sentence that may begin with doing nothing; the name of an option keeps its case."""
    return "D" + sentence[1:] if sentence.startswith("doing nothing") else sentence


def option_of(answer: Answer, name: str) -> Mapping[str, Any]:
    """The record of the option called `name`."""
    found: Mapping[str, Any] = next(o for o in answer["options"] if o["option"] == name)
    return found


def regime_name(answer: Answer, notation: Notation) -> str:
    """The regime, which has no name where the scenario stands as described."""
    return notation.name(answer["regime"]) if answer["regime"] else "as described"


def first_place(answer: Answer, name: str, notation: Notation) -> str:
    """How often an option ranks first, with its simulation error."""
    option = option_of(answer, name)
    return notation.share_in_words(
        option["p_first"], option["p_first_mcse"], answer["effective_draws"]
    )


def regret_of(answer: Answer, name: str, notation: Notation) -> str:
    """Expected productive accelerators lost by choosing an option, with the error."""
    option = option_of(answer, name)
    return notation.amount_with_error(option["expected_regret"], option["expected_regret_mcse"])


def simulation_settles(separation: Mapping[str, Any]) -> bool:
    """Whether enough draws were made to say which of the two ranks first more often."""
    error = BEYOND_ERROR * separation["share_difference_mcse"]
    return bool(abs(separation["share_difference"]) > error)


def evidence_verdict(separation: Mapping[str, Any]) -> str:
    """How the evidence separates the two leading options.

    Returns
    -------
    str
        ``noise`` where the expected difference is within its simulation error, ``equal`` where it
        is immaterial, ``either`` where it is material but the order is not settled,
        ``slight`` where the order is settled but the difference immaterial, else ``separated``.
    """
    low, high = EITHER_WAY
    open_order = low < separation["p_beats"] < high
    difference = abs(separation["gain_difference"])
    if open_order and difference <= BEYOND_ERROR * separation["gain_difference_mcse"]:
        return "noise"
    if difference < separation["material"]:
        return "equal" if open_order else "slight"
    return "either" if open_order else "separated"


def separation_by_simulation(answer: Answer, notation: Notation) -> str:
    """Whether more draws could change which option ranks first most often."""
    separation = answer["separation"]
    first, second = (named(separation[key], notation) for key in ("first", "second"))
    points = notation.points(separation["share_difference"], separation["share_difference_mcse"])
    if simulation_settles(separation):
        return opening(
            f"{first} ranks first more often than {second} by {points}: more than simulation error"
            " explains."
        )
    return opening(
        f"{first} and {second} differ by {points} in how often they rank first: within simulation"
        " error, so more draws could reverse that order."
    )


def separation_by_evidence(
    answer: Answer, notation: Notation, separation: Mapping[str, Any]
) -> str:
    """How far what is known tells two options apart."""
    first, second = (named(separation[key], notation) for key in ("first", "second"))
    effective = answer["effective_draws"]
    beats = notation.share_in_words(separation["p_beats"], separation["p_beats_mcse"], effective)
    difference = separation["gain_difference"]
    ahead, behind = (first, second) if difference >= 0 else (second, first)
    amount = notation.amount_with_error(abs(difference), separation["gain_difference_mcse"])
    material = notation.amount(separation["material"])
    facts = (
        f"{first} gains more than {second} in {beats} of draws; on average {ahead} gains {amount}"
        f" productive accelerators more than {behind} (below {material} a difference is immaterial)"
    )
    verdicts = {
        "noise": "The evidence does not separate the two, and the average difference is within"
        " simulation error.",
        "equal": "The evidence does not separate the two, and they are as good as equal.",
        "either": "Either may turn out ahead in your cluster, but the average difference is"
        " material.",
        "slight": "The order is clear, but the difference decides nothing.",
        "separated": "The evidence separates the two.",
    }
    return f"{opening(facts)}. {verdicts[evidence_verdict(separation)]}"


def scope(answer: Answer, notation: Notation) -> str:
    """Draws out of the model's scope, and who leads with and without them."""
    effective = answer["effective_draws"]
    outside = answer["p_out_of_scope"]
    if outside == 0:
        return "No draw is out of the model's scope."
    share = spelt(notation.estimate(outside, effective))
    lead = f"{share} of draws are out of the model's scope (recovery takes a quarter or more of the"
    lead += " job's working time)"
    leader, in_scope = answer["leader"], answer["leader_in_scope"]
    if in_scope is None:
        return f"{lead}: none is in scope, so the ranking is an extrapolation throughout."
    within = effective * (1.0 - outside)
    led = option_of(answer, in_scope)["p_first_in_scope"]
    inside = spelt(notation.estimate(led, within))
    if in_scope == leader:
        leads = (
            f"{named(leader, notation)} leads with them"
            f" ({first_place(answer, leader, notation)} first) and without them ({inside})."
        )
        return f"{lead}. {opening(leads)}"
    return (
        f"{lead}. The leader changes with them: over all draws {named(leader, notation)} leads"
        f" ({first_place(answer, leader, notation)}), in scope only {named(in_scope, notation)}"
        f" ({inside})."
    )


def ties(answer: Answer, notation: Notation) -> str:
    """Share of draws in which several options rank first together; empty where none."""
    tied, effective = answer["tied_draws"], answer["effective_draws"]
    if tied == 0:
        return ""
    share = spelt(notation.estimate(tied, effective))
    return f"In {share} of draws several options tie for first place and share the credit."


def past_peak(answer: Answer, notation: Notation) -> str:
    """Share of draws in which more accelerators lower the output; empty where none."""
    past, effective = answer["p_past_peak"], answer["effective_draws"]
    if past == 0:
        return ""
    share = spelt(notation.estimate(past, effective))
    return f"In {share} of draws the pool is past its peak: more accelerators would lower output."


def recommendation(answer: Answer, notation: Notation) -> str:
    """What to fund, and what else leads by another measure."""
    leader, chosen = answer["leader"], answer["recommended"]
    label = named(chosen, notation)
    lost = regret_of(answer, chosen, notation)
    if chosen == DO_NOTHING:
        text = "Fund nothing on this list: no option is expected to gain anything."
        if leader != DO_NOTHING:
            harm = option_of(answer, leader)
            loss = notation.amount(abs(harm["gain_mean"]), harm["gain_mcse"])
            text += (
                f" {named(leader, notation)} ranks first most often"
                f" ({first_place(answer, leader, notation)}), but on average it loses {loss}"
                " productive accelerators."
            )
        return text
    ceiling = price_ceiling(option_of(answer, chosen), notation)
    if chosen == leader:
        return (
            f"{label} ranks first most often ({first_place(answer, leader, notation)}) and has the"
            f" least expected regret ({lost} productive accelerators). {ceiling}"
        )
    return opening(
        f"{named(leader, notation)} ranks first most often"
        f" ({first_place(answer, leader, notation)}), but {label} is expected to lose less: its"
        f" expected regret is {lost} productive accelerators against"
        f" {regret_of(answer, leader, notation)} for {named(leader, notation)}."
        f"{'' if losses_settled(answer) else f' {UNSETTLED}'} {ceiling}"
    )


UNSETTLED = "That difference is within simulation error: rerun with more draws to be sure of it."


def losses_settled(answer: Answer) -> bool:
    """Whether simulation tells the recommended option's expected regret from the leader's.

    Their difference is that of the expected gains, known with its paired error.
    """
    separation = answer["separation_recommended"]
    error = BEYOND_ERROR * separation["gain_difference_mcse"]
    return bool(abs(separation["gain_difference"]) > error)


def further_separation(answer: Answer) -> Mapping[str, Any] | None:
    """Recommended against leader where neither of the first two separations says it."""
    separation = answer["separation_recommended"]
    if separation is None or separation["first"] == answer["separation"]["second"]:
        return None
    found: Mapping[str, Any] = separation
    return found


def price_ceiling(option: Mapping[str, Any], notation: Notation) -> str:
    """Up to which price an option is worth funding, as a ceiling on its cost.

    A cost below the 10th percentile of SEA is below SEA in nine draws of ten.
    """
    label, case = named(option["option"], notation), ceiling_case(option)
    low, middle = (notation.sea(option["sea"][key]) for key in ("p10", "p50"))
    if case == "ceiling_unattainable":
        gain = notation.amount_with_error(option["gain_mean"], option["gain_mcse"])
        return (
            f"In nine draws of ten or more no number of accelerators gives what {label} gives, so"
            f" they set no ceiling on its price; it gains {gain} productive accelerators on"
            " average."
        )
    if case == "ceiling_never":
        return f"At no price does {label} pay in more than half of the draws."
    if case in ("ceiling", "ceiling_open"):
        cautious = f"Up to the price of {low} accelerators {label} pays in nine draws of ten"
    else:
        cautious = f"At no price does {label} pay in nine draws of ten"
    if case in ("ceiling_open", "ceiling_none"):
        return (
            f"{cautious}; in half of the draws or more what it gives cannot be bought with"
            " accelerators."
        )
    return f"{cautious}, up to the price of {middle} in half of them."


def ceiling_case(option: Mapping[str, Any]) -> str:
    """What can be said of the price that an option may cost.

    Returns
    -------
    str
        ``ceiling_unattainable`` where nine draws of ten or more set none, ``ceiling_never`` where
        it does not pay in half of the draws at any price; else ``ceiling``, with ``_half`` where
        it pays in half of them only, ``_open`` where half set no ceiling, ``_none`` where both.
    """
    low, middle = option["sea"]["p10"], option["sea"]["p50"]
    if low["status"] == "unattainable":
        return "ceiling_unattainable"
    if not _worth_something(middle):
        return "ceiling_never"
    unbounded = middle["status"] == "unattainable"
    if _worth_something(low):
        return "ceiling_open" if unbounded else "ceiling"
    return "ceiling_none" if unbounded else "ceiling_half"


def _worth_something(quantile: Mapping[str, Any]) -> bool:
    return quantile["status"] == "unattainable" or (quantile["value"] or 0.0) > 0


def unconverged(summary: Mapping[str, Any], notation: Notation) -> str:
    """A warning where the sampler's diagnostics failed; empty otherwise."""
    sampler = summary["sampler"]
    if sampler is None or sampler["converged"]:
        return ""
    reasons = "; ".join(notation.name(reason) for reason in sampler["reasons"])
    return f"NOT CONVERGED ({reasons}): do not act on this ranking."


def sampler_line(sampler: Mapping[str, Any], notation: Notation) -> str:
    """Diagnostics of the sampler."""
    verdict = "converged" if sampler["converged"] else "NOT CONVERGED"
    return (
        f"Sampler: {verdict}; R-hat at most {sampler['rhat_max']:.3f}; effective draws at least"
        f" {notation.amount(sampler['ess_bulk_min'])} (bulk) and"
        f" {notation.amount(sampler['ess_tail_min'])} (tail); divergences"
        f" {notation.amount(sampler['divergences'])}; chains {sampler['chains']}"
    )


def few_draws(answer: Answer, notation: Notation) -> str:
    """A warning where simulation error is large; empty otherwise."""
    effective = answer["effective_draws"]
    if effective >= FEW_EFFECTIVE_DRAWS:
        return ""
    count = notation.amount(effective)
    return f"Only {count} effective draws: simulation error is large, so rerun with more."


def small_job(answer: Answer, notation: Notation) -> str:
    """A warning where the job is smaller than the model was validated on; empty otherwise."""
    baseline = answer["baseline"]
    if not baseline["below_indicative"]:
        return ""
    count = notation.amount(baseline["accelerators"])
    return f"Indicative only: the model is not validated on a job as small as {count} accelerators."


def source_of_draws(question: Mapping[str, Any], notation: Notation) -> str:
    """Where the draws of the parameters come from."""
    if question["draws_file"]:
        return f"from the file {notation.name(str(question['draws_file']))}"
    if question["source"] == "prior" or not question["evidence"]:
        return "from the priors alone, no evidence"
    evidence = ", ".join(f'"{notation.name(str(name))}"' for name in question["evidence"])
    return f"from the posterior (priors updated by the evidence {evidence})"


FAR_APART = 2.0
"""Factor between an option's gains under two forms from which it is told."""


def formulas(answer: Answer, notation: Notation) -> str:
    """Which formulas were used, and what others say; empty where the run does not tell."""
    form = answer.get("form")
    if not form:
        return ""
    used, effective = form["used"], answer["effective_draws"]
    sentences = []
    if used != "mixed":
        sentences.append(f"The {used} formulas are used.")
    for other in form["others"]:
        share = notation.share_in_words(other["p_first"], other["p_first_mcse"], effective)
        leader = named(other["leader"], notation)
        too = "too " if other["leader"] == answer["leader"] else ""
        text = f"With the {other['form']} ones {leader} {too}ranks first most often ({share})"
        if other["recommended"] != answer["recommended"]:
            text += f", and {named(other['recommended'], notation)} is expected to gain most"
        if other["decision"] is not None:
            text += f"; at the costs they choose {named(other['decision'], notation)}"
        sentences.append(text + ".")
        sentences += _farthest(answer, other, notation)
    if not form["same_leader"]:
        sentences.insert(0, "Which formulas are right decides who ranks first.")
    return " ".join(sentences)


def _farthest(answer: Answer, other: Mapping[str, Any], notation: Notation) -> list[str]:
    """The option whose gain differs most between two forms, where that is material."""
    gains = {one["option"]: one["gain_mean"] for one in other["options"]}
    material = answer["separation"]["material"] if answer["separation"] else 0.0
    apart = [
        (abs(gains[one["option"]] - one["gain_mean"]), one)
        for one in answer["options"]
        if abs(gains[one["option"]] - one["gain_mean"]) > material
        and not 1 / FAR_APART <= gains[one["option"]] / (one["gain_mean"] or 1.0) <= FAR_APART
    ]
    if not apart:
        return []
    one = max(apart, key=lambda pair: pair[0])[1]
    here = notation.amount(one["gain_mean"], one["gain_mcse"])
    there = notation.amount(gains[one["option"]], one["gain_mcse"])
    return [
        f"They differ most on {named(one['option'], notation)}: {here} productive accelerators, "
        f"and {there} with the {other['form']} ones."
    ]
