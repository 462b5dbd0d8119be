"""What is said and drawn of the evidence: counts, verdicts, influence."""

import pytest

from reports.canvas import setting_of
from reports.evidence_checks import (
    check_lines,
    influence_lines,
    influence_rows,
    recommended_of,
)
from reports.evidence_figures import MARKS, MOST_ROWS, predictive_checks, shown
from reports.figures import write_figures
from reports.numbers import TERMINAL
from reports.terminal import render
from tests.reports.summaries import clear_winner, summary


def check(name="train_step_times", *, status="explained", tail=0.5, **changes):
    return {
        "id": name,
        "quantity": "spread of step times",
        "unit": "s",
        "own": True,
        "source": "train.log: Megatron-LM log",
        "observed": 0.1865,
        "low": 0.04,
        "median": 0.06,
        "high": 0.09,
        "tail": tail,
        "status": status,
        "verdict": "your step times vary 3.1 times as much as this model expects: more than it can "
        "explain",
        **changes,
    }


def influence(name="train_step_times", *, change=-0.12, notable=True, **changes):
    return {
        "id": name,
        "source": "train.log: Megatron-LM log",
        "own": True,
        "method": "reweighted",
        "pareto_k": 0.3,
        "effective_draws": 1500.0,
        "leader": "reliability_2x",
        "recommended": "reliability_2x",
        "changes_leader": False,
        "changes_recommendation": False,
        "option": "fast_checkpoint",
        "p_first": 0.46,
        "p_first_without": 0.46 + change,
        "p_first_change": change,
        "p_first_change_mcse": 0.004,
        "notable": notable,
        "options": [],
        **changes,
    }


def with_evidence(checks=(), influences=()):
    made = summary(clear_winner())
    made["evidence"] = {"observations": len(checks), "own": 0, "checks": list(checks)}
    answer = made["answers"][0]
    answer["influence"] = {"notable_shift": 0.05, "observations": list(influences)}
    return made, answer


def test_runs_without_a_posterior_say_nothing():
    made = summary(clear_winner())
    assert check_lines(made, TERMINAL) == []
    assert influence_lines(made["answers"][0], TERMINAL) == []
    assert influence_rows(made["answers"][0], TERMINAL) == []
    assert predictive_checks(made, setting_of(made, made["answers"][0])) is None


def test_explained_observations_are_counted_in_one_sentence():
    made, _ = with_evidence([check(f"o{n}") for n in range(4)])
    assert check_lines(made, TERMINAL) == ["All 4 observations are as this model expects."]


def test_observation_that_is_not_explained_is_said_in_plain_words_with_its_figures():
    odd = check("bad", status="beyond", tail=0.001)
    made, _ = with_evidence([check("good"), odd])
    count, sentence = check_lines(made, TERMINAL)
    assert count == "1 of 2 observations is as this model expects."
    assert sentence == (
        "Your step times vary 3.1 times as much as this model expects: more than it can explain"
        " (bad: 0.186 s, where 90% of predictions lie between 0.04 s and 0.09 s)."
    )


def test_two_checks_of_one_observation_count_once():
    made, _ = with_evidence([check("a"), check("a", status="edge", tail=0.05), check("b")])
    assert check_lines(made, TERMINAL)[0] == "1 of 2 observations is as this model expects."


def test_worst_observations_are_named_first_and_the_rest_counted():
    odd = [check(f"o{n}", status="beyond", tail=n / 1e4) for n in range(8, 0, -1)]
    made, _ = with_evidence(odd)
    lines = check_lines(made, TERMINAL)
    assert "(o1:" in lines[1]
    assert lines[-1].startswith("3 more")


def test_no_single_observation_is_said_with_the_largest_shift():
    records = [influence(change=-0.012, notable=False), influence("b", change=0.0, notable=False)]
    _, answer = with_evidence([], records)
    [line] = influence_lines(answer, TERMINAL)
    assert line.startswith("No single observation decides this")
    assert "any one of the 2" in line
    assert "1.2 ± 0.4 points (train_step_times)" in line


def test_observation_that_changes_the_recommendation_is_said_first():
    record = influence(changes_recommendation=True, recommended="straggler_control")
    _, answer = with_evidence([], [record])
    [line] = influence_lines(answer, TERMINAL)
    now = recommended_of(answer)
    assert line == (
        "Without train_step_times (train.log) the recommendation would be straggler_control"
        f" instead of {now}: fast_checkpoint ranks first in 34% of draws instead of 46.0%."
    )


def test_own_observation_that_was_not_left_out_is_not_passed_over_in_silence():
    certain = influence("b", change=0.0, notable=False)
    unsaid = influence(method="uncertain", notable=False)
    _, answer = with_evidence([], [certain, unsaid])
    first, last = influence_lines(answer, TERMINAL)
    assert first.startswith("No single observation decides this: leaving out any one of the 1 of 2")
    assert last == (
        "What leaving out train_step_times would do is not known: it was not sampled anew."
    )
    _, answer = with_evidence([], [unsaid])
    assert influence_lines(answer, TERMINAL) == [last]
    # A published one is counted, not named.
    _, answer = with_evidence([], [certain, {**unsaid, "own": False}])
    assert len(influence_lines(answer, TERMINAL)) == 1


def test_published_observation_is_called_so():
    _, answer = with_evidence([], [influence("theirs", own=False)])
    [line] = influence_lines(answer, TERMINAL)
    assert line.startswith("Without theirs (published) fast_checkpoint ranks first in 34%")
    assert line.endswith("the recommendation stays.")


def test_table_has_a_heading_and_as_many_rows_as_asked():
    _, answer = with_evidence([], [influence(f"o{n}") for n in range(12)])
    rows = influence_rows(answer, TERMINAL, limit=5)
    assert len(rows) == 6
    assert {len(row) for row in rows} == {5}
    assert rows[1][0] == "o0"


@pytest.mark.parametrize("width", [80, 100, 120])
def test_terminal_says_checks_and_influence(width):
    made, _ = with_evidence(
        [check("good"), check("bad", status="beyond", tail=0.001)], [influence()]
    )
    text = render(made, width=width)
    flat = " ".join(text.split())
    assert "Predictive check: 1 of 2 observations is as this model expects." in flat
    assert "Leave one out: Without train_step_times (train.log)" in flat
    assert "Each observation left out" in text


def test_terminal_has_no_table_where_nothing_is_the_planners_and_nothing_moves():
    made, _ = with_evidence([check()], [influence(own=False, notable=False, change=0.001)])
    text = render(made)
    assert "No single observation decides this" in " ".join(text.split())
    assert "Each observation left out" not in text


def test_figure_shows_every_observation_with_a_figure_the_planners_first():
    bound = check("bound", observed=None, low=None, median=None, high=None, own=False)
    records = [check("theirs", own=False), bound, check("mine", status="beyond", tail=0.001)]
    made, answer = with_evidence(records)
    assert [one["id"] for one in shown(made)] == ["mine", "theirs"]
    figure = predictive_checks(made, setting_of(made, answer))
    [axes] = figure.axes
    labels = [tick.get_text() for tick in axes.get_yticklabels()]
    assert labels == ["mine\nyour spread of step times", "theirs\nspread of step times"]
    marker, colour, _ = MARKS["beyond"]
    [mark] = [line for line in axes.lines if line.get_marker() == marker and len(line.get_xdata())]
    # Measured over the middle prediction.
    assert mark.get_xdata()[0] == pytest.approx(0.1865 / 0.06)
    assert mark.get_color() == colour
    low, high = axes.get_xlim()
    assert low < 0.04 / 0.06 < 0.1865 / 0.06 < high


def test_figure_keeps_to_a_page_and_drops_what_is_explained_first():
    records = [check(f"o{n}", own=False) for n in range(60)]
    records[50] = check("odd", status="edge", tail=0.05, own=False)
    made, _ = with_evidence(records)
    assert len(shown(made)) == MOST_ROWS
    assert "odd" in [one["id"] for one in shown(made)]


def test_figure_is_written_beside_the_others(tmp_path):
    made, _ = with_evidence([check()])
    names = {path.name for path in write_figures(made, tmp_path)}
    assert "predictive_checks.png" in names
    plain = {path.name for path in write_figures(summary(clear_winner()), tmp_path / "plain")}
    assert names - plain == {"predictive_checks.png"}
