import itertools

import numpy as np
import pytest

from studies.drivers.tree import best_split, find_regions

PATHS = ["a", "b", "c"]


def box_draws(count=4000, noise=0.0, seed=1):
    """Option 1 where a > 0.6 and b ≤ 0.3, else option 0; a share of labels at random."""
    generator = np.random.default_rng(seed)
    x = generator.random((count, 3))
    label = ((x[:, 0] > 0.6) & (x[:, 1] <= 0.3)).astype(int)
    wrong = generator.random(count) < noise
    return x, np.where(wrong, generator.integers(0, 2, count), label)


def test_tree_finds_a_box():
    x, label = box_draws()
    regions = find_regions(x, label, PATHS, seed=1, depth=2)
    [box] = [region for region in regions if region.winner == 1]
    assert set(box.bounds) == {"a", "b"}
    assert box.bounds["a"][0] == pytest.approx(0.6, abs=0.005)
    assert box.bounds["a"][1] == np.inf
    assert box.bounds["b"][1] == pytest.approx(0.3, abs=0.005)
    assert box.density > 0.98
    assert box.coverage > 0.98
    assert box.share == pytest.approx(0.12, abs=0.02)
    assert sum(region.share for region in regions) == pytest.approx(1.0)


def test_tree_counts_density_on_draws_it_has_not_seen():
    # Half of the labels are random: the truth is 0.25, and 0.5 more in the part of the region that
    # lies in the true box.
    x, label = box_draws(noise=0.5, count=8000)
    for region in find_regions(x, label, PATHS, seed=1, depth=2):
        whole = inside = 1.0
        for path, (true_low, true_high) in {"a": (0.6, 1.0), "b": (0.0, 0.3), "c": (0, 1)}.items():
            low, high = np.clip(region.bounds.get(path, (0.0, 1.0)), 0.0, 1.0)
            whole *= high - low
            inside *= max(0.0, min(high, true_high) - max(low, true_low))
        one = 0.25 + 0.5 * inside / whole
        truth = one if region.winner == 1 else 1.0 - one
        assert region.density == pytest.approx(truth, abs=3.5 * region.density_se)
        assert region.density_se < 0.04


def test_tree_on_noise_is_no_surer_than_chance():
    generator = np.random.default_rng(2)
    x, label = generator.random((2000, 3)), generator.integers(0, 2, 2000)
    regions = find_regions(x, label, PATHS, seed=1)
    whole = sum(region.share * region.density for region in regions)
    # 1,000 draws it was not grown on: sd 0.016.
    assert whole == pytest.approx(0.5, abs=0.05)


def test_tree_of_one_winner_is_one_region():
    x = np.random.default_rng(3).random((500, 3))
    [region] = find_regions(x, np.full(500, 2), PATHS, seed=1)
    assert (region.splits, region.winner) == ((), 2)
    assert region.share == region.density == region.coverage == 1.0


def test_best_split_is_the_best_of_all():
    generator = np.random.default_rng(4)
    for trial in range(20):
        x = generator.integers(0, 8, size=(40, 3)).astype(float)
        label = generator.integers(0, 3, 40)
        label[x[:, trial % 3] > 4] = 1

        def impurity(chosen, label=label):
            part = label[chosen]
            return part.size - sum((part == k).sum() ** 2 for k in range(3)) / part.size

        tried = {
            (column, (low + high) / 2): impurity(left) + impurity(~left)
            for column in range(3)
            for low, high in itertools.pairwise(np.unique(x[:, column]))
            if min((left := x[:, column] <= (low + high) / 2).sum(), (~left).sum()) >= 5
        }
        split = best_split(x, label, 3, 5)
        assert tried[split] == pytest.approx(min(tried.values()), rel=1e-12)


def test_best_split_leaves_enough_on_either_side():
    x = np.arange(20.0)[:, np.newaxis]
    label = (x[:, 0] > 17).astype(int)
    assert best_split(x, label, 2, 2) == (0, 17.5)
    assert best_split(x, label, 2, 5)[1] <= 14.5
    assert best_split(x, label, 2, 11) is None
    assert best_split(x, np.zeros(20, dtype=int), 2, 2) is None


def test_regions_split_every_draw_once():
    x, label = box_draws(noise=0.3)
    regions = find_regions(x, label, PATHS, seed=5)
    held = np.zeros(len(x), dtype=int)
    for region in regions:
        inside = np.ones(len(x), dtype=bool)
        for path, (low, high) in region.bounds.items():
            column = x[:, PATHS.index(path)]
            inside &= (column > low) & (column <= high)
        held += inside
    assert set(held) == {1}
