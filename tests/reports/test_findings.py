"""Sentences: each variant where its figures call for it, and only there."""

import pytest

from reports import findings
from reports.numbers import Notation
from tests.reports.summaries import (
    HARMFUL,
    clear_winner,
    nothing,
    nothing_worth_funding,
    option,
    quantile,
    split_decision,
    summary,
    unattainable,
)
from tests.reports.summaries import answer as answer_of

TEXT = Notation()


def separated(**fields):
    base = clear_winner()
    base["separation"] |= fields
    return base


@pytest.mark.parametrize(
    ("p_beats", "difference", "expected"),
    [
        (0.90, 300.0, "separated"),
        (0.10, -300.0, "separated"),
        (0.76, 300.0, "separated"),
        (0.74, 300.0, "either"),
        (0.26, -300.0, "either"),
        (0.50, 14.0, "equal"),  # below the material 16.9, beyond twice its error of 5.25
        (0.50, 10.0, "noise"),
        (0.90, 14.0, "slight"),
        (0.90, 0.0, "slight"),
    ],
)
def test_evidence_verdict_weighs_order_and_size(p_beats, difference, expected):
    separation = separated(p_beats=p_beats, gain_difference=difference)["separation"]
    assert findings.evidence_verdict(separation) == expected


def test_evidence_within_simulation_error_is_not_called_material():
    noisy = separated(p_beats=0.6, gain_difference=30.0, gain_difference_mcse=98.0)
    text = findings.separation_by_evidence(noisy, TEXT, noisy["separation"])
    assert "within simulation error" in text
    assert "is material" not in text


def test_evidence_names_the_option_that_gains_more_on_average():
    split = split_decision()
    text = findings.separation_by_evidence(split, TEXT, split["separation"])
    assert "fast_checkpoint gains more than halve_failures in 43.2 ± 0.4% of draws" in text
    assert "on average halve_failures gains 108 ± 5 productive accelerators more" in text
    assert text.endswith(
        "Either may turn out ahead in your cluster, but the average difference is material."
    )


@pytest.mark.parametrize(
    ("difference", "settled"), [(0.030, True), (0.020, False), (-0.030, True), (0.0, False)]
)
def test_simulation_settles_an_order_beyond_two_errors(difference, settled):
    base = separated(share_difference=difference, share_difference_mcse=0.0119)
    text = findings.separation_by_simulation(base, TEXT)
    assert ("more than simulation error explains" in text) == settled
    assert ("more draws could reverse" in text) != settled


def test_recommendation_of_a_clear_winner_says_one_name():
    text = findings.recommendation(clear_winner(), TEXT)
    assert text.startswith("halve_failures ranks first most often (83.0 ± 0.5%)")
    assert "fast_restart" not in text


def test_recommendation_says_both_where_share_and_regret_disagree():
    text = findings.recommendation(split_decision(), TEXT)
    assert text.startswith("fast_checkpoint ranks first most often (37.2 ± 0.7%), but halve_failur")
    assert "expected regret is 153 ± 3 productive accelerators against 260 ± 4" in text
    assert findings.UNSETTLED not in text


def test_recommendation_admits_that_few_draws_do_not_settle_the_losses():
    base = split_decision()
    base["separation_recommended"] |= {"gain_difference": 108.0, "gain_difference_mcse": 60.0}
    assert findings.UNSETTLED in findings.recommendation(base, TEXT)


def test_recommended_third_is_compared_with_the_leader():
    base = split_decision()
    assert findings.further_separation(base) is None
    base["separation_recommended"] = {
        **base["separation"],
        "first": "fast_restart",
        "second": "fast_checkpoint",
    }
    pair = findings.further_separation(base)
    assert pair is not None
    text = findings.separation_by_evidence(base, TEXT, pair)
    assert "fast_restart gains more than fast_checkpoint" in text.lower()


def test_recommendation_funds_nothing_where_nothing_gains():
    text = findings.recommendation(nothing_worth_funding(), TEXT)
    assert text == "Fund nothing on this list: no option is expected to gain anything."


def test_recommendation_explains_a_leader_that_loses_on_average():
    gamble = option("gamble", 0.6, (-900.0, 5.0, 9.0), gain=-80.0, regret=90.0)
    text = findings.recommendation(answer_of([gamble, nothing(0.4, regret=10.0)]), TEXT)
    assert text.startswith("Fund nothing on this list")
    assert "gamble ranks first most often (60.0 ± 0.7%), but on average it loses 80 " in text


def price(*sea):
    return findings.price_ceiling(option("it", 1.0, sea, gain=77.7, regret=1.0), TEXT)


def test_price_ceiling_covers_every_kind_of_break_even():
    assert price(920.0, 2560.0, 6200.0) == (
        "Up to the price of 920 accelerators it pays in nine draws of ten, up to the price of"
        " 2,560 in half of them."
    )
    assert price(920.0, None, None).endswith(
        "in half of the draws or more what it gives cannot be bought with accelerators."
    )
    assert price(None, None, None).startswith("In nine draws of ten or more no number of")
    assert "gains 78 ± 1 productive" in price(None, None, None)
    assert price(-5.0, 200.0, 300.0) == (
        "At no price does it pay in nine draws of ten, up to the price of 200 in half of them."
    )
    assert price(-5.0, None, None).startswith("At no price does it pay in nine draws of ten; in ha")
    assert price(HARMFUL, -5.0, 300.0) == (
        "At no price does it pay in more than half of the draws."
    )
    zero = quantile(0.0, 0.0)
    assert price(zero, zero, zero) == "At no price does it pay in more than half of the draws."


def test_scope_says_who_leads_with_and_without():
    base = clear_winner()
    assert "halve_failures leads with them (83.0 ± 0.5% first) and without them (83.0%)" in (
        findings.scope(base, TEXT)
    )
    findings.option_of(base, "fast_restart")["p_first_in_scope"] = 0.55
    text = findings.scope(base | {"leader_in_scope": "fast_restart"}, TEXT)
    assert "The leader changes with them" in text
    assert "in scope only fast_restart (55.0%)" in text


def test_scope_prints_the_in_scope_share_to_what_few_draws_in_scope_support():
    # 1% of 5,000 draws are in scope: the error of a share among 50 is 5 to 7 points.
    text = findings.scope(clear_winner() | {"p_out_of_scope": 0.99}, TEXT)
    assert "without them (83%)" in text


def test_scope_without_any_draw_in_or_out():
    assert findings.scope(clear_winner() | {"p_out_of_scope": 0.0}, TEXT).startswith("No draw")
    none = clear_winner() | {"p_out_of_scope": 1.0, "leader_in_scope": None}
    assert "none is in scope" in findings.scope(none, TEXT)


def test_ties_and_peak_are_silent_at_zero():
    assert findings.ties(clear_winner(), TEXT) == ""
    assert findings.past_peak(clear_winner(), TEXT) == ""
    assert findings.ties(clear_winner() | {"tied_draws": 0.25}, TEXT).startswith("In 25.0% of")
    assert findings.past_peak(unattainable(), TEXT).startswith("In 78.2% of draws")


def test_warnings_appear_only_where_they_are_due():
    calm = clear_winner()
    assert findings.few_draws(calm, TEXT) == ""
    assert findings.small_job(calm, TEXT) == ""
    assert "Only 40 effective draws" in findings.few_draws(calm | {"effective_draws": 40.0}, TEXT)
    small = calm["baseline"] | {"accelerators": 1024, "below_indicative": True}
    assert "1,024" in findings.small_job(calm | {"baseline": small}, TEXT)


def test_doing_nothing_reads_as_words_and_opens_with_a_capital():
    text = findings.separation_by_simulation(nothing_worth_funding(), TEXT)
    assert text.startswith("Doing nothing ranks first more often than add_spares")
    assert findings.opening("do_nothing_else") == "do_nothing_else"


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ({}, 'from the posterior (priors updated by the evidence "published")'),
        ({"source": "prior", "evidence": []}, "from the priors alone, no evidence"),
        (
            {"source": "file", "evidence": [], "draws_file": "runs/my draws.csv"},
            "from the file runs/my draws.csv",
        ),
    ],
)
def test_source_of_draws_is_named(question, expected):
    asked = summary(clear_winner(), question=question)["question"]
    assert findings.source_of_draws(asked, TEXT) == expected


def in_forms(other: dict, **form: object) -> dict:
    """A split decision whose other form says something else."""
    base = split_decision()
    told = {
        "form": "refined",
        "weight": 0.5,
        "draws": 4000,
        "leader": base["leader"],
        "p_first": 0.5,
        "p_first_mcse": 0.01,
        "p_first_used": 0.5,
        "recommended": base["recommended"],
        "gain_used": 1.0,
        "gain_best": 1.0,
        "decision": None,
        "options": [
            {"option": one["option"], "p_first": 0.0, "gain_mean": one["gain_mean"]}
            for one in base["options"]
        ],
        **other,
    }
    base["form"] = {
        "used": "published",
        "basis": "the other form on the same draws",
        "others": [told],
        "same_leader": told["leader"] == base["leader"],
        "same_recommendation": True,
        "same_decision": None,
        **form,
    }
    return base


def test_formulas_that_agree_are_told_in_one_sentence() -> None:
    answer = in_forms({})
    text = findings.formulas(answer, TEXT)
    assert text.startswith("The published formulas are used. With the refined ones ")
    assert f"{answer['leader']} too ranks first most often (50 ± 1%)." in text
    assert "decides" not in text
    assert "differ most" not in text


def test_formulas_that_disagree_say_so_first() -> None:
    base = split_decision()
    other = next(o["option"] for o in base["options"] if o["option"] != base["leader"])
    text = findings.formulas(in_forms({"leader": other, "decision": other}), TEXT)
    assert text.startswith("Which formulas are right decides who ranks first.")
    assert f"With the refined ones {other} ranks first most often" in text
    assert f"at the costs they choose {other}" in text


def test_option_that_the_forms_value_differently_is_named() -> None:
    base = split_decision()
    options = [
        {"option": one["option"], "p_first": 0.0, "gain_mean": one["gain_mean"]}
        for one in base["options"]
    ]
    options[1]["gain_mean"] *= 0.1
    text = findings.formulas(in_forms({"options": options}), TEXT)
    assert f"They differ most on {options[1]['option']}: " in text


def test_formulas_of_a_run_that_does_not_tell_are_not_spoken_of() -> None:
    assert findings.formulas(split_decision(), TEXT) == ""
