"""Which interventions go together, and the search where there are too many to try all."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decision.program_choice import Item, ProgramCosts
from decision.program_search import (
    Selection,
    linear_start,
    local_search,
    optimality_gap,
    search,
    subsets_of,
)
from decision.rules import (
    Rules,
    allowed_programs,
    contradictions,
    few_programs,
    for_members,
    is_allowed,
    read_rules,
)
from model.errors import InputError
from model.interventions import Intervention, read_interventions

NAMES = ("a", "b", "c", "d")


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    def written(text: str) -> Path:
        path = tmp_path / "rules.yaml"
        path.write_text(text)
        return path

    return written


def changes(name: str, **overrides: float) -> Intervention:
    paths = {f"reliability.{key}": value for key, value in overrides.items()}
    return Intervention(name=name, overrides=paths, multipliers={})


def test_rules_are_read_and_applied(write):
    rules = read_rules(
        write("exclusions:\n  - [a, b]\nprerequisites:\n  c: [a]\n  d: [c]\n"), NAMES
    )
    masks = np.flatnonzero(allowed_programs(rules, NAMES)).tolist()
    assert masks == [0b0000, 0b0001, 0b0010, 0b0101, 0b1101]
    assert rules.needed("d") == {"a", "c", "d"}


def test_rules_without_a_word_allow_everything(write):
    rules = read_rules(write("exclusions: []\n"), NAMES)
    assert allowed_programs(rules, NAMES).all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prerequisites: {a: [b], b: [a]}", "circular: a needs b needs a"),
        ("prerequisites: {a: [a]}", "circular: a needs a"),
        ("prerequisites: {a: [b], b: [c], c: [d], d: [b]}", "circular: b needs c needs d needs b"),
        ("exclusions: [[a, b]]\nprerequisites: {c: [a, b]}", "c: needs a and b, which exclude"),
        ("exclusions: [[a, b]]\nprerequisites: {a: [b]}", "a: needs a and b, which exclude"),
        ("exclusions: [[a, x]]", r"exclusions\[1\]: there is no intervention 'x'"),
        ("prerequisites: {x: [a]}", "prerequisites.x: there is no intervention 'x'"),
        ("prerequisites: {a: [x]}", "prerequisites.a: there is no intervention 'x'"),
        ("exclusions: [[a]]", "a list of at least 2 interventions is needed"),
        ("exclusions: 3", "a list of lists is needed"),
        ("prerequisites: [a]", "a mapping of interventions to lists is needed"),
        ("prerequisites: {a: b}", "a list of at least 1 interventions is needed"),
        ("exclusion: [[a, b]]", "exclusion: unknown key; did you mean 'exclusions'"),
    ],
)
def test_bad_rules_are_refused(write, text, message):
    with pytest.raises(InputError, match=message):
        read_rules(write(text), NAMES)


def test_circular_prerequisites_are_reported_once(write):
    with pytest.raises(InputError) as caught:
        read_rules(write("prerequisites: {a: [b], b: [c], c: [a]}"), NAMES)
    assert len(caught.value.problems) == 1


def test_shipped_rules_fit_the_shipped_interventions():
    members = read_interventions("published").interventions
    names = [one.name for one in members]
    rules = for_members(read_rules("published", names), members)
    assert rules.exclusions == (frozenset({"bandwidth_2x", "bandwidth_4x"}),)
    assert allowed_programs(rules, names).sum() == 768


def test_conflicting_targets_exclude_each_other():
    members = [
        changes("a", detect_time_s=20.0),
        changes("b", detect_time_s=30.0),
        changes("c", restart_time_s=60.0),
        Intervention(name="d", overrides={}, multipliers={"reliability.detect_time_s": 0.5}),
    ]
    rules = for_members(Rules(), members)
    pairs = {frozenset(pair) for pair in (("a", "b"), ("a", "d"), ("b", "d"))}
    assert set(rules.exclusions) == pairs
    assert allowed_programs(rules, NAMES).sum() == 8


def test_prerequisite_outside_the_options_is_refused():
    rules = Rules(prerequisites={"a": frozenset({"z"})}, source="rules.yaml")
    with pytest.raises(InputError, match="a: needs z, which is not among the options"):
        for_members(rules, [changes("a", detect_time_s=20.0)])


def test_rules_on_interventions_outside_the_options_do_not_matter():
    rules = Rules(
        exclusions=(frozenset({"y", "z"}), frozenset({"a", "z"})),
        prerequisites={"z": frozenset({"y"})},
    )
    found = for_members(rules, [changes("a", detect_time_s=20.0)])
    assert found.exclusions == ()
    assert found.prerequisites == {}


@st.composite
def rules(draw: st.DrawFn) -> Rules:
    """Rules without contradiction on up to six interventions."""
    names = [f"i{index}" for index in range(6)]
    pairs = st.sets(st.sampled_from(names), min_size=2, max_size=3).map(frozenset)
    needs = {
        name: frozenset(draw(st.sets(st.sampled_from(names[:index]), max_size=2)))
        for index, name in enumerate(names)
        if index
    }
    found = Rules(
        exclusions=tuple(draw(st.lists(pairs, max_size=3))),
        prerequisites={name: needed for name, needed in needs.items() if needed},
    )
    return found if not contradictions(found) else Rules(prerequisites=found.prerequisites)


@settings(max_examples=60, deadline=None)
@given(rules())
def test_allowed_programs_are_those_allowed_one_by_one(found):
    names = [f"i{index}" for index in range(6)]
    allowed = allowed_programs(found, names)
    for mask in range(64):
        chosen = frozenset(name for index, name in enumerate(names) if mask >> index & 1)
        assert allowed[mask] == is_allowed(found, chosen)
    assert allowed[0]
    assert allowed[few_programs(found, names)].all()


# Search.


def selection(
    found: Rules, costs: list[float], budget: float, value: Callable[[int], float]
) -> Selection:
    items = [Item(needed_by=1 << i, amount=c, expected=c) for i, c in enumerate(costs)]
    return Selection(
        names=tuple(f"i{index}" for index in range(len(costs))),
        rules=found,
        costs=ProgramCosts(items=tuple(items)),
        budget=budget,
        value=cache(value),
        members=(1 << len(costs)) - 1,
    )


def quadratic(seed: int, count: int, costs: list[float]) -> Callable[[int], float]:
    """A value with gains of single ones and of pairs, and accelerators worth ½ each."""
    rng = np.random.default_rng(seed)
    gains = rng.uniform(0.0, 100.0, count)
    together = np.triu(rng.normal(0.0, 15.0, (count, count)), k=1)

    def value(mask: int) -> float:
        chosen = np.array([mask >> i & 1 for i in range(count)], dtype=float)
        return float(gains @ chosen + chosen @ together @ chosen - 0.5 * np.dot(costs, chosen))

    return value


def test_linear_start_is_the_best_program_of_a_quadratic_value():
    """HiGHS solves it to optimality: enumeration of 256 programs must agree."""
    costs = np.random.default_rng(5).uniform(10.0, 100.0, 8).tolist()
    found = Rules(
        exclusions=(frozenset({"i0", "i1"}), frozenset({"i2", "i3", "i4"})),
        prerequisites={"i5": frozenset({"i6"})},
    )
    for seed in range(5):
        problem = selection(found, costs, 180.0, quadratic(seed, 8, costs))
        best = max(filter(problem.is_open, range(256)), key=problem.value)
        start = linear_start(problem, 0.5)
        assert problem.value(start) == pytest.approx(problem.value(best))
        assert problem.is_open(start)


def test_linear_start_pays_a_shared_cost_once():
    items = (
        Item(needed_by=0b01, amount=10.0, expected=10.0),
        Item(needed_by=0b10, amount=10.0, expected=10.0),
        Item(needed_by=0b11, amount=50.0, expected=50.0),
    )
    costs = ProgramCosts(items=items)

    def value(mask: int) -> float:
        return 40.0 * mask.bit_count() - 0.5 * costs.expected(mask)

    problem = Selection(
        names=("i0", "i1"), rules=Rules(), costs=costs, budget=75.0, value=value, members=3
    )
    assert linear_start(problem, 0.5) == 0b11


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), rules())
def test_search_finds_an_open_program_near_the_best(seed, found):
    costs = np.random.default_rng(seed).uniform(10.0, 100.0, 6).tolist()
    problem = selection(found, costs, 200.0, quadratic(seed, 6, costs))
    result = search(problem, 0.5)
    assert problem.is_open(result)
    assert problem.value(result) >= problem.value(0)
    # The start is exact for this kind of value.
    best = max(filter(problem.is_open, range(64)), key=problem.value)
    assert problem.value(result) == pytest.approx(problem.value(best), abs=1e-6)


def test_local_search_alone_may_fall_short():
    """Negative control: two that are worth something only together are out of its reach."""
    costs = [1.0, 1.0, 1.0]

    def value(mask: int) -> float:
        return {0b000: 0.0, 0b100: 5.0, 0b011: 9.0}.get(mask, -1.0)

    problem = selection(Rules(), costs, 2.0, value)
    assert local_search(problem, 0) == 0b100
    assert value(search(problem, 0.0)) == 9.0


def test_optimality_gap_is_none_for_a_value_the_start_solves():
    costs = np.random.default_rng(6).uniform(10.0, 100.0, 14).tolist()
    problem = selection(Rules(), costs, 250.0, quadratic(1, 14, costs))
    assert optimality_gap(problem, 0.5, seed=1) == pytest.approx(0.0, abs=1e-9)


def test_optimality_gap_shows_a_search_that_falls_short():
    """A value of threes, which neither singles nor pairs nor single moves reveal."""
    costs = [1.0] * 13

    def value(mask: int) -> float:
        return 10.0 if mask.bit_count() == 5 else -float(mask.bit_count())

    problem = selection(Rules(), costs, 13.0, value)
    assert optimality_gap(problem, 0.0, seed=1) == 1.0


def test_subsets_are_all_and_only_those_of_the_members():
    assert list(subsets_of(0b1011)) == [0, 1, 2, 3, 8, 9, 10, 11]
    assert list(subsets_of(0)) == [0]
