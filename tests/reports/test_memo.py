"""The memo: right sentences in each case, no invented figures, the same in every format."""

import json
import re
import sys
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest

from reports.memo import main
from reports.voice import LONGEST_NAME
from tests.reports.memos import NUMBER, box, html_text, invented, markdown, pdf_text, section
from tests.reports.summaries import (
    CASES,
    averse,
    bought_instead,
    clear_winner,
    compared,
    driven,
    free_and_useless,
    funded,
    many_options,
    measured_first,
    nothing,
    nothing_worth_funding,
    option,
    parameter,
    split_decision,
    summary,
    unattainable,
)
from tests.reports.summaries import answer as answer_of

TOLD = {
    **CASES,
    "driven": driven,
    "small": lambda: clear_winner() | {"baseline": small()},
    "scope": lambda: clear_winner() | {"leader_in_scope": "fast_restart"},
}


def small():
    return clear_winner()["baseline"] | {"accelerators": 1024, "below_indicative": True}


@cache
def told(case, read):
    """The text of a case in a format."""
    return read(summary(TOLD[case]()))


IN_PDF = ("split_decision", "unattainable", "funded", "measured_first", "driven", "scope")
"""Cases that are read back from a PDF too: together they hold every kind of block."""

READ = [
    *((case, read) for case in TOLD for read in (markdown, html_text)),
    *((case, pdf_text) for case in IN_PDF),
]


@pytest.mark.parametrize(("case", "read"), READ)
def test_memo_prints_no_figure_that_the_run_lacks(case, read):
    run, text = summary(TOLD[case]()), told(case, read)
    assert len(NUMBER.findall(text)) > 20
    assert invented(text, run) == []


@pytest.mark.parametrize("read", [markdown, html_text, pdf_text])
def test_memo_prints_no_figure_that_the_comparison_lacks(read):
    run, comparison = summary(funded()), compared()
    assert invented(read(run, comparison=comparison), run, comparison) == []
    assert invented(read(run, comparison=comparison), run) != []


@pytest.mark.parametrize("read", [markdown, html_text, pdf_text])
def test_invented_figures_are_found(read):
    run = summary(split_decision())
    text = read(run)
    for right, wrong in (("37.2", "38.9"), ("2\u202f560", "2\u202f960"), ("108", "118")):
        assert right in text
        assert invented(text.replace(right, wrong), run) != []


@pytest.mark.parametrize(("case", "read"), [one for one in READ if one[1] is not markdown])
def test_formats_say_the_same(case, read):
    """Every word of the Markdown but links and the alternatives of pictures, in the same order."""
    plain = re.sub(r"!\[[^\]]*\]\([^)]*\)|Beside this memo:.*", "", told(case, markdown))
    plain = re.sub(r"\|( :?-+:? \|)+", "", plain)
    said = re.findall(r"\w+", re.sub(r"&#(\d+);", lambda match: chr(int(match[1])), plain))
    heard = re.findall(r"\w+", told(case, read))
    missing = [word for word in said if word not in set(heard)]
    assert missing == []
    assert abs(len(heard) - len(said)) <= 0.01 * len(said)


@pytest.mark.parametrize("case", CASES)
def test_memo_has_every_section_in_the_order_of_a_board(case):
    memo = markdown(summary(CASES[case]()))
    order = ["**Ask.**", "**Alternatives.**", "**How sure.**", "**If it is wrong.**"]
    order += ["**What would change it.**", "## What each option is worth"]
    order += ["## Can the leading options", "## What drives the choice", "## Measure first?"]
    order += ["## Before you sign", "## What this rests on", "\n---\n"]
    places = [memo.index(part) for part in order]
    assert places == sorted(places)
    assert "\n\n\n" not in memo
    assert "{" not in memo


def test_memo_asks_for_the_clear_winner_as_a_ceiling_on_cost():
    assert box(markdown(summary(clear_winner())), "Ask") == (
        "**Ask.** Fund **halve_failures** (Change something). Pay at most the price of **920"
        " accelerators**: up to that it pays in nine draws of ten, up to 2\u202f560 in half."
        " Regime: as described."
    )


def test_memo_words_a_break_even_never_as_a_saving():
    for case in CASES.values():
        memo = markdown(summary(case()))
        told = re.findall(r"(?:not a )?\bsav(?:e|es|ing|ings)\b", memo)
        assert told
        assert set(told) == {"not a saving"}


def test_memo_states_the_regime_with_its_values():
    memo = markdown(summary(clear_winner() | {"regime": "unreliable_flat"}))
    assert box(memo, "Ask").endswith("Regime: unreliable_flat.")
    assert "Regime: unreliable_flat." in section(memo, "What each option")


def test_memo_says_both_where_share_and_loss_disagree():
    memo = markdown(summary(split_decision()))
    assert box(memo, "Ask").startswith("**Ask.** Fund **halve_failures**")
    assert "**fast_checkpoint** (Change something) ranks first most often" in box(
        memo, "Alternatives"
    )
    sure = box(memo, "How sure")
    assert "halve_failures is the best option in **33.7\u00a0±\u00a00.7% of draws**" in sure
    assert "fast_checkpoint is best more often (37.2\u00a0±\u00a00.7%) but loses more" in sure
    assert "follows the smaller loss" in sure


def test_memo_of_an_agreed_winner_does_not_speak_of_disagreement():
    memo = markdown(summary(clear_winner()))
    assert "best more often" not in box(memo, "How sure")
    assert "The evidence separates it from fast_restart." in box(memo, "How sure")
    wrong = box(memo, "If it is wrong")
    assert "loses **41\u00a0±\u00a01 productive accelerators** on average" in wrong
    assert "and 102 or more in one draw of ten" in wrong


@pytest.mark.parametrize(
    ("beats", "difference", "sure", "apart"),
    [
        (0.5, 5.0, "does not separate it from", "is within simulation error"),
        (0.5, 14.0, "are as good as equal", "they are as good as equal"),
        (0.5, 300.0, "does not settle whether it", "Either may turn out ahead"),
        (0.9, 14.0, "the difference decides nothing", "The order is clear, but"),
        (0.9, 300.0, "The evidence separates it", "The evidence separates the two"),
    ],
)
def test_memo_says_whether_the_leading_two_can_be_told_apart(beats, difference, sure, apart):
    base = clear_winner()
    base["separation"] |= {"p_beats": beats, "gain_difference": difference}
    memo = markdown(summary(base))
    assert sure in box(memo, "How sure")
    assert apart in section(memo, "Can the leading options")


def test_memo_says_where_the_smaller_loss_is_not_settled():
    base = split_decision()
    base["separation_recommended"] |= {"gain_difference": 3.0, "gain_difference_mcse": 4.0}
    assert "within simulation error: more draws" in box(markdown(summary(base)), "How sure")


def test_memo_keeps_simulation_error_apart_from_evidence():
    part = section(markdown(summary(split_decision())), "Can the leading options")
    simulation, evidence = part.split("**By the evidence.**")
    assert "**By simulation.**" in simulation
    assert "ranks first more often" in simulation
    assert "43.2" not in simulation
    assert "43.2\u00a0±\u00a00.4% of draws" in evidence


def test_memo_funds_nothing_where_nothing_is_worth_it():
    memo = markdown(summary(nothing_worth_funding()))
    assert box(memo, "Ask").startswith("**Ask.** **Fund nothing on this list:**")
    assert "**add_spares** (Change something) changes output by −151" in box(
        memo, "Alternatives"
    ).replace("Hold more spares", "Change something")
    assert box(memo, "If it is wrong").startswith(
        "**If it is wrong.** In no draw is another option better."
    )
    assert "Look first at" not in memo


def test_memo_of_doing_nothing_alone_has_no_alternative():
    memo = markdown(summary(answer_of([nothing(1.0, regret=0.0)])))
    assert box(memo, "Alternatives") == "**Alternatives.** There are none."
    assert "There is only one option." in section(memo, "Can the leading options")


def test_memo_where_doing_nothing_leads_but_an_option_is_recommended():
    risky = option("risky", 0.4, (-30.0, -5.0, 4000.0), gain=300.0, regret=20.0)
    memo = markdown(summary(answer_of([nothing(0.6, regret=320.0), risky])))
    assert "At no price does risky pay in more than half of the draws." in box(memo, "Ask")
    assert "Doing nothing is best more often (60.0" in box(memo, "How sure")
    assert box(memo, "Alternatives").startswith("**Alternatives.** **Doing nothing** is free")


def test_memo_where_the_leader_loses_on_average_says_so():
    harmful = option("risky", 0.6, (-30.0, 5.0, 400.0), gain=-20.0, regret=60.0)
    memo = markdown(summary(answer_of([harmful, nothing(0.4, regret=40.0)])))
    assert "risky ranks first most often (60.0" in box(memo, "Ask")
    assert "on average it loses 20" in box(memo, "Ask")


def test_memo_says_what_cannot_be_bought():
    memo = markdown(summary(unattainable()))
    assert "no number of accelerators gives what halve_failures gives" in box(memo, "Ask")
    row = next(line for line in memo.splitlines() if line.startswith("| **halve_failures"))
    assert row.count("cannot be bought") == 3
    assert "past its peak" in memo


@pytest.mark.parametrize(
    ("sea", "words"),
    [
        ((100.0, None, None), "Pay at most the price of **100 accelerators**"),
        ((-5.0, None, None), "At no price does it pay in nine draws of ten; in half"),
        ((-5.0, 80.0, None), "up to the price of **80 accelerators** it pays in half"),
    ],
)
def test_memo_words_a_ceiling_that_holds_in_some_draws_only(sea, words):
    base = answer_of([option("one", 0.9, sea, gain=90.0, regret=1.0), nothing(0.1)])
    assert words in box(markdown(summary(base)), "Ask")


def test_memo_says_at_the_top_where_the_leader_changes_with_scope():
    base = clear_winner() | {"leader_in_scope": "fast_restart"}
    memo = markdown(summary(base))
    assert "The leader changes with the model's scope" in alarms_of(summary(base))
    assert "The leader changes with them" in section(memo, "Before you sign")
    none = clear_winner() | {"leader_in_scope": None, "p_out_of_scope": 1.0}
    assert "an extrapolation throughout" in markdown(summary(none))


def test_memo_says_what_would_change_the_choice():
    run = summary(driven())
    run["parameters"].append(parameter("reliability.checkpoint_write_s", "time to write"))
    change = box(markdown(run), "What would change it")
    assert change == (
        "**What would change it.** Choose instead: **fast_checkpoint** if “time to write” is above"
        " 41.4\u00a0s."
    )
    run["answers"][0]["drivers"]["switching"][0]["flips"][0] |= {
        "below": "fast_checkpoint",
        "above": "halve_failures",
    }
    assert "“time to write” is below 41.4" in box(markdown(run), "What would change it")
    run["answers"][0]["drivers"]["switching"][0]["flips"] = []
    assert "None of the three assumptions" in box(markdown(run), "What would change it")
    run["answers"][0]["drivers"]["winner"] = []
    assert "Nothing that is uncertain" in box(markdown(run), "What would change it")
    run["answers"][0]["drivers"] = None
    assert "This run does not say which assumptions" in box(markdown(run), "What would change it")


def test_memo_with_costs_asks_for_what_they_decide():
    memo = markdown(summary(funded()))
    assert box(memo, "Ask") == (
        "**Ask.** Fund **fast_checkpoint** (Change something) at 120 accelerators of a budget of"
        " 900. It costs less than it is worth in **97.1\u00a0±\u00a00.4% of draws** and brings"
        " **655\u00a0±\u00a07 productive accelerators** more than buying accelerators for the whole"
        " budget on average. Regime: as described."
    )
    assert "**fast_restart** (Change something) is next, at 140 accelerators" in box(
        memo, "Alternatives"
    )
    sure = box(memo, "How sure")
    assert "fast_checkpoint is the best choice at these costs in **52.6\u00a0±\u00a00.6%" in sure
    assert "more often" not in sure
    assert "no study that costs more pays" in section(memo, "Measure first?")
    assert "No prices were given" not in memo
    assert (
        "over 1\u202f095 days; the budget is 900 accelerators (the largest expected cost)" in memo
    )
    assert "buying accelerators for the whole budget** if all costs are beyond 2.0 times" in box(
        memo, "What would change it"
    )
    assert "figures/acceptability.svg" in section(memo, "If prices move")
    row = next(line for line in memo.splitlines() if line.startswith("| halve_failures"))
    assert [text.strip() for text in row.strip("|").split("|")][1:] == [
        "700", "75.3\u00a0±\u00a00.4%", "900", "500", "200", "392\u00a0±\u00a04",
        "25.0\u00a0±\u00a00.6%", "459\u00a0±\u00a05",
    ]  # fmt: skip


def test_memo_with_costs_says_where_another_is_best_more_often():
    base = funded()
    base["economics"]["options"][2]["p_best"]["value"] = 0.6
    sure = box(markdown(summary(base)), "How sure")
    assert "halve_failures is the best choice more often (60.0" in sure


def test_memo_with_a_risk_tolerance_does_not_speak_of_the_smaller_loss():
    base = averse()
    base["economics"]["options"][2]["p_best"]["value"] = 0.6
    sure = box(markdown(summary(base)), "How sure")
    assert "smaller loss" not in sure
    assert "follows the certainty equivalent" in sure


def test_memo_without_costs_does_not_speak_of_them():
    memo = markdown(summary(split_decision()))
    for word in ("at its cost", "budget", "acceptability", "Net value", "If prices move"):
        assert word not in memo


def test_memo_measures_first_where_a_study_is_worth_more_than_it_costs():
    memo = markdown(summary(measured_first()))
    assert box(memo, "Ask").startswith(
        "**Ask.** **Measure first:** timed_restarts, 20 restarts, is worth 77\u00a0±\u00a04"
        " productive accelerators to this decision and costs 12. Without it: Fund"
        " **fast_checkpoint**"
    )
    assert "timed_restarts (20 restarts) is worth" in section(memo, "Measure first?")


def test_memo_buys_accelerators_where_they_bring_more():
    memo = markdown(summary(bought_instead()))
    ask = box(memo, "Ask")
    assert "**Fund nothing on this list:** buying accelerators for the whole budget of 800" in ask
    assert "fast_checkpoint is nearest: it costs less than it is worth in 30.0" in ask
    assert "brings 90\u00a0±\u00a01 productive accelerators less than buying" in ask
    row = next(line for line in memo.splitlines() if line.startswith("| halve_failures"))
    assert row.endswith("| over budget |")
    free = box(markdown(summary(free_and_useless())), "Ask")
    assert "no option is expected to gain anything within a budget of 0" in free
    assert "brings 140\u00a0±\u00a01 productive accelerators less than doing nothing" in free


def test_memo_says_where_risk_decides():
    ask = box(markdown(summary(averse())), "Ask")
    assert "At a risk tolerance of 500 it has the largest certainty equivalent, 8\u202f660" in ask
    assert "riskier" not in ask
    base = averse()
    base["economics"]["decision"]["lead"] = {"value": -50.0, "mcse": 4.0}
    ask = box(markdown(summary(base)), "Ask")
    assert "On average it brings 50\u00a0±\u00a04 less than fast_restart, which is riskier" in ask


def test_memo_says_where_more_draws_could_change_the_choice():
    base = funded()
    base["economics"]["decision"]["lead"] = {"value": 3.0, "mcse": 4.0}
    ask = box(markdown(summary(base)), "Ask")
    assert "fast_restart is expected to bring about as much" in ask
    assert "within simulation error" in ask
    assert "within simulation error" not in box(markdown(summary(funded())), "Ask")


def alarms_of(run):
    memo = markdown(run)
    return memo[: memo.index("**Ask.**")]


def test_memo_front_loads_what_spoils_the_figures():
    assert ">" not in alarms_of(summary(clear_winner()))

    failed = summary(clear_winner())
    failed["sampler"] |= {"converged": False, "reasons": ["R-hat 1.2, allowed is 1.01"]}
    assert "NOT CONVERGED (R-hat 1.2, allowed is 1.01)" in alarms_of(failed)
    assert "> **NOT CONVERGED – DO NOT ACT**" in alarms_of(failed)
    assert box(markdown(failed), "Ask").startswith("**Ask.** **None can be made from this run.**")

    tiny = summary(clear_winner() | {"baseline": small()})
    assert "Indicative only: the model is not validated on a job as small as 1" in alarms_of(tiny)

    few = summary(clear_winner() | {"effective_draws": 40.0})
    assert "Only 40 effective draws" in alarms_of(few)

    outside = summary(clear_winner() | {"p_out_of_scope": 0.97})
    assert "Extrapolation: 97.0% of draws" in alarms_of(outside)

    prior = summary(clear_winner(), question={"source": "prior", "evidence": []}, sampler=None)
    assert "Priors only" in alarms_of(prior)


def test_memo_of_draws_from_a_file_names_it_and_claims_no_evidence():
    run = summary(
        clear_winner(),
        question={"source": "file", "evidence": [], "draws_file": "my draws.csv"},
        sampler=None,
        parameters=[parameter(prior=None, basis="draws file", source="my draws.csv", owner="")],
    )
    for one in run["answers"][0]["options"]:
        one["p_first_prior"] = None
    memo = markdown(run)
    assert "from the file my draws.csv" in memo
    assert "| In the file: P50 (P10–P90) |" in memo
    for word in ("After evidence", "| Before", "before any evidence", "Sampler", "the ring"):
        assert word not in memo
    assert "**Assumptions without an owner** need one before money is committed: 1 of 1." in memo


def test_memo_shows_an_assumption_before_and_after_evidence():
    row = next(
        line
        for line in markdown(summary(clear_winner())).splitlines()
        if line.startswith("| Achieved share")
    )
    assert [cell.strip() for cell in row.strip("|").split("|")] == [
        "Achieved share of the peak",
        "0.575 (0.475–0.675)",
        "0.570 (0.541–0.602)",
        "published: Nanyonga 2026, uncertainty study",
        "performance engineering",
    ]


def test_memo_names_assumptions_that_hardly_decide_below_the_table():
    run = summary(driven())
    run["parameters"] = [
        parameter("reliability.checkpoint_write_s", "time to write"),
        parameter("topology.net_efficiency", "share of the line rate"),
    ]
    table, named = section(markdown(run), "What this rests on").split("Also uncertain")
    assert "Time to write" in table
    assert named.startswith(", each deciding less than 5% of who ranks first: share of the line")
    run["answers"][0]["drivers"] = None
    assert "Also uncertain" not in markdown(run)


def test_memo_names_assumptions_beyond_the_table():
    run = summary(clear_winner(), parameters=[parameter(path=f"a.b{i}") for i in range(11)])
    memo = markdown(run)
    assert memo.count("| Achieved share") == 8
    assert f"Also uncertain: {', '.join(['achieved share of the peak'] * 3)}." in memo


def test_memo_tabulates_other_regimes_and_details_the_first():
    run = summary(clear_winner(), split_decision() | {"regime": "flaky", "p_out_of_scope": 0.69})
    part = section(markdown(run), "What changes in other regimes")
    assert "| flaky | fast_checkpoint | 37.2\u00a0±\u00a00.7% | halve_failures | 920" in part
    assert "What changes in other" not in markdown(summary(clear_winner()))


def test_memo_footer_can_be_traced():
    footer = markdown(summary(split_decision())).rpartition("---\n")[2]
    for trace in (
        "Fundworthy 0.1.0, commit abcdef0",
        "0123456789abcdef;",
        "seed 1",
        "solver exact",
        "5\u202f000 draws",
        "37.2\u00a0±\u00a00.7%",
        "tied draws <\u00a00.1%",
        "out of scope 21.0%",
        "R-hat at most 1.003",
        "divergences 0",
        "figures/four_fates.png",
    ):
        assert trace in footer


def test_memo_tells_what_changed_since_the_last_run():
    part = section(markdown(summary(funded()), comparison=compared()), "What changed since")
    assert "Against the run runs/july (digest fedcba987654)." in part
    assert "The choice changes from fast_restart to fast_checkpoint. What changed in" in part
    assert "Changed: the costs (interventions.fast_restart 60 → 90, 2 more)." in part
    assert "Note: the studies on offer differ." in part
    row = next(line for line in part.splitlines() if line.startswith("| fast_restart"))
    assert row == (
        "| fast_restart | 1 → 3 | 515\u00a0±\u00a05 | 402\u00a0±\u00a06 | the costs"
        " −113\u00a0±\u00a02 |"
    ).replace("515\u00a0±\u00a05", "515\u00a0±\u00a07")
    assert "| new_network | new |" in part
    assert "What changed since" not in markdown(summary(funded()))


def changed(**fields):
    content = compared()
    content["answers"][0] |= fields
    return section(markdown(summary(funded()), comparison=content), "What changed since")


def test_memo_says_why_the_choice_changed():
    same = {"option": "fast_restart"}
    assert "The choice is the same: fast_restart." in changed(before=same, after=same)
    alone = {"input": "costs", "alone": "fast_restart", "without": "fast_restart"}
    assert "Without what changed in the costs it would still be" in changed(decisive=[alone])
    several = {"input": "costs", "alone": "fast_restart", "without": "fast_checkpoint"}
    assert "No single input does" in changed(decisive=[several])
    unknown = {"input": "code", "alone": None, "without": None}
    assert "No single input does" in changed(decisive=[unknown])
    joined = {"input": "interventions+costs", "alone": "fast_checkpoint", "without": None}
    assert "What changed in interventions and costs does that alone" in changed(decisive=[joined])


def test_memo_says_where_the_other_run_has_no_such_regime():
    run = summary(funded() | {"regime": "flaky"})
    part = section(markdown(run, comparison=compared()), "What changed since")
    assert "This regime stands in only one of the two runs." in part
    assert "| Option |" not in part


def test_memo_tells_whether_the_model_fits_what_was_measured():
    run = summary(clear_winner())
    assert "Does the model fit" not in markdown(run)
    check = {"id": "our_steps", "status": "explained", "verdict": "", "observed": 0.2, "tail": 0.5}
    verdict = (
        "your number of job interruptions is 3.4 times what this model expects, at the edge of what"
        " it can explain"
    )
    beyond = check | {"id": "our_failures", "status": "beyond", "verdict": f"{verdict}."}
    run["evidence"] = {"observations": 2, "checks": [check, beyond]}
    observed = {
        "id": "our_steps",
        "method": "reweighted",
        "effective_draws": 4000.0,
        "recommended": "fast_restart",
        "changes_recommendation": True,
        "option": "halve_failures",
        "p_first": 0.83,
        "p_first_without": 0.41,
        "notable": True,
    }
    run["answers"][0]["influence"] = {"notable_shift": 0.05, "observations": [observed]}
    part = section(markdown(run), "Does the model fit")
    assert "1 of 2 observations are within what the model expects." in part
    assert f"**our_failures:** {verdict}." in part
    assert "Without **our_steps** the choice would be fast_restart instead of halve_fail" in part
    observed["changes_recommendation"] = False
    part = section(markdown(run), "Does the model fit")
    assert "halve_failures would rank first in 41.0% of draws instead of 83.0%" in part
    assert "figures/predictive_checks.png" in markdown(run)
    observed["method"] = "uncertain"
    assert "leaving out **our_steps** would do is not known" in markdown(run)
    observed["notable"] = False
    assert "by more than 5.0 points" in section(markdown(run), "Does the model fit")
    assert invented(markdown(run), run) == []


def formed(base, **fields):
    """A run that says what another form of the model would have said."""
    other = {
        "form": "refined",
        "weight": 0.5,
        "leader": "halve_failures",
        "p_first": 0.61,
        "p_first_mcse": 0.01,
        "p_first_used": 0.22,
        "recommended": "halve_failures",
        "gain_used": 120.3,
        "gain_best": 151.0,
        "decision": None,
        **fields,
    }
    same = other["leader"] == base["leader"]
    return summary(base | {"form": {"used": "published", "others": [other], "same_leader": same}})


def test_memo_says_at_the_top_where_the_form_of_the_model_decides():
    run = formed(clear_winner(), leader="fast_restart", recommended="fast_restart")
    assert (
        "> **Which formulas are right decides this:** the published ones rank halve_failures first,"
        " the refined ones fast_restart (61\u00a0±\u00a01% of draws)."
    ) in alarms_of(run)
    assert "The refined ones would lead to fast_restart." in section(markdown(run), "What this")
    run = formed(clear_winner(), recommended="fast_restart")
    assert "by the published ones the choice is halve_failures, by the refined" in alarms_of(run)
    priced = formed(funded(), leader="fast_checkpoint", decision="fast_restart")
    assert "the choice is fast_checkpoint, by the refined ones fast_restart" in alarms_of(priced)


def test_memo_says_below_where_both_forms_agree():
    run = formed(clear_winner())
    assert "Which formulas" not in alarms_of(run)
    assert "Formulas: published. The refined ones would lead to halve_failures too." in markdown(
        run
    )
    assert "Formulas" not in markdown(summary(clear_winner()))
    assert invented(markdown(run), run) == []


def test_memo_shows_who_asks_whom_for_what():
    from reports.memo_content import Particulars

    particulars = Particulars(
        title="Network or spares?",
        author="A. Planner",
        decision_date="2026-09-30",
        request="Board: release the Q4 tranche",
    )
    memo = markdown(summary(clear_winner()), particulars=particulars)
    assert memo.startswith(
        "# Network or spares?\n\nRequest: Board: release the Q4 tranche  \nPrepared by: A. Planner"
        "  \nDecision by: 2026-09-30\n\n"
    )


def test_memo_cuts_names_that_would_fill_a_page():
    run = summary(clear_winner(), question={"scenario": "s" * 4000})
    memo = markdown(run)
    title = memo.splitlines()[0]
    assert len(title) <= len("# Funding memo: ") + LONGEST_NAME
    assert title.endswith("…")
    long = clear_winner()
    long["options"][0]["description"] = "d" * 300
    assert "Texts that end in … stand in full in summary.json" in markdown(summary(long))
    assert "Texts that end in …" not in markdown(summary(clear_winner()))


def test_memo_does_not_depend_on_the_order_of_calls():
    run = summary(split_decision())
    first = markdown(run)
    markdown(summary(unattainable()))
    assert markdown(run) == first


@pytest.fixture
def finished(tmp_path):
    (tmp_path / "summary.json").write_text(json.dumps(summary(split_decision())))
    return tmp_path


def test_main_writes_all_formats_and_figures(finished, capsys):
    assert main([str(finished)]) == 0
    assert (finished / "memo.md").read_text(encoding="utf-8") == markdown(summary(split_decision()))
    assert (finished / "memo.pdf").read_bytes().startswith(b"%PDF-")
    assert (finished / "memo.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    written = capsys.readouterr().out.splitlines()
    assert len(written) == len(set(written)) == 9
    for name in re.findall(r"\(figures/([\w.]+)\)", (finished / "memo.md").read_text()):
        assert (finished / "figures" / name).stat().st_size > 0
    assert list(finished.rglob("*.partial")) == []


def test_main_writes_the_formats_asked_for(finished, capsys):
    assert main([str(finished), "--format", "html, pdf"]) == 0
    assert {path.name for path in finished.iterdir()} == {"summary.json", "memo.pdf", "memo.html"}
    capsys.readouterr()


def test_main_puts_particulars_and_sentences_of_a_file_into_the_memo(finished, tmp_path, capsys):
    words = tmp_path / "ours.toml"
    words.write_text('[heading]\nmeasure = "Should we look before we leap?"\n')
    arguments = ["--template", str(words), "--title", "Ours", "--author", "A. Planner"]
    arguments += ["--decision-date", "2026-09-30", "--request", "Q4"]
    assert main([str(finished), "--format", "md", *arguments]) == 0
    memo = (finished / "memo.md").read_text(encoding="utf-8")
    assert memo.startswith("# Ours\n")
    assert "## Should we look before we leap?" in memo
    capsys.readouterr()


def test_main_tells_what_was_compared(finished, monkeypatch, capsys):
    asked = []

    def compare(run, other):
        asked.append((run, other))
        return compared()

    monkeypatch.setitem(sys.modules, "studies.compare", SimpleNamespace(compare=compare))
    assert main([str(finished), "--format", "html", "--compare", "runs/july"]) == 0
    assert asked == [(finished, Path("runs/july"))]
    assert "What changed since the last run" in (finished / "memo.html").read_text("utf-8")
    capsys.readouterr()


def test_main_reports_every_option_that_is_wrong(finished, tmp_path, capsys):
    words = tmp_path / "ours.toml"
    words.write_text('[heading]\nmesure = "x"\n[ask]\nfund = "{optoin}"\n')
    arguments = ["--format", "docx,pdf", "--decision-date", "30.9.2026", "--template", str(words)]
    assert main([str(finished), *arguments]) == 2
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 4
    for word in ("'docx' is no format", "'30.9.2026' is no day", "heading.mesure", "{optoin}"):
        assert word in error
    assert not (finished / "memo.pdf").exists()


@pytest.mark.parametrize("day", ["2026-02-30", "20260930", "2026-9-3", "\uff12026-09-30"])
def test_main_refuses_what_is_no_day(finished, capsys, day):
    assert main([str(finished), "--decision-date", day]) == 2
    assert "is no day" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (None, "summary.json"),
        ("", "not the summary"),
        ("[]", "not the summary"),
        ("{}", "format"),
        ('{"format": 2}', "format 2"),
        ('{"format": 1}', "answers"),
        ('{"format": 1, "answers": []}', "not the summary"),
        ("\x00\x01", "not the summary"),
    ],
)
def test_main_reports_a_run_it_cannot_read_in_one_block(tmp_path, capsys, content, word):
    if content is not None:
        (tmp_path / "summary.json").write_text(content)
    assert main([str(tmp_path)]) == 2
    captured = capsys.readouterr()
    assert word in captured.err
    assert "Traceback" not in captured.err
    assert len(captured.err.strip().splitlines()) == 1
    assert captured.out == ""
    assert not (tmp_path / "memo.md").exists()


def test_main_reports_what_it_cannot_write(finished, capsys):
    (finished / "memo.md").mkdir()
    assert main([str(finished)]) == 2
    assert "memo.md" in capsys.readouterr().err
    assert list(finished.rglob("*.partial")) == []


@pytest.mark.parametrize("arguments", [[], ["a", "b"], ["--draws"]])
def test_main_wants_one_run(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "usage:" in capsys.readouterr().err


def test_main_explains_itself(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    assert "examples:" in capsys.readouterr().out


def test_many_options_are_told_in_the_table_and_counted_below_the_figure():
    base = many_options()
    base["options"][9:9] = [
        option(f"extra_{i}", 0.0, (10.0, 20.0, 30.0), gain=5.0, regret=1000.0) for i in range(5)
    ]
    memo = markdown(summary(answer_of(base["options"])))
    assert "3 other options that rank lower are in the table only." in memo
    assert all(f"extra_{i}" in memo for i in range(5))
