from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, stats

from model.scenario_file import read_scenario
from priors.catalogue import read_catalogue
from studies.fleets.ettr import foretell_ettr
from studies.fleets.evaluation import evaluate_fleets
from studies.fleets.population import (
    VARIANTS,
    Hyper,
    Variant,
    foretell,
    group_log_likelihoods,
    hyper_points,
    log_likelihood,
)
from studies.fleets.rows import EttrRow, distinct, judge, rows_of_file, shipped_rows
from tests.studies.validation.tables import FLEET, write

CSV = Path(__file__).resolve().parents[4] / "shared" / "reference" / "published_reliability.csv"
PLAIN = Variant(per_job=False, overdispersed=False)


def judged(tmp_path, *changes):
    path = write(tmp_path / "fleets.csv", [{**FLEET, **change} for change in changes])
    return judge(rows_of_file(path))


def hyper(**values):
    defaults = {
        "location": np.log(4e-3),
        "spread": 0.8,
        "ratio": 2.0,
        "dispersion": 1.0,
        "per_job_day": 0.0,
    }
    return Hyper(**{name: np.array([values.get(name, v)]) for name, v in defaults.items()})


@pytest.mark.skipif(not CSV.is_file(), reason="no published table beside the repo")
def test_shipped_fleets_say_what_the_published_table_says():
    published, shipped = rows_of_file(CSV), shipped_rows()
    assert len(published) == len(shipped)
    for row, other in zip(shipped, published, strict=True):
        assert row.numbers == other.numbers
        assert {k: v.lower() for k, v in row.texts.items()} == {
            k: v.lower() for k, v in other.texts.items()
        }
    assert len(distinct([*shipped, *published])[0]) == len(shipped)


def test_every_shipped_fleet_is_predicted_or_left_out_by_name():
    found = judge(shipped_rows())
    left_out = {item.row.name for item in found.excluded if item.what == "failures"}
    assert len(found.failures) + len(left_out) == len(shipped_rows())
    assert left_out >= {"Meta RSC, projections", "Delta A100/H100", "Lablup B200"}
    assert {item.row.name: (item.bound, item.value) for item in found.ettr} == {
        "Llama 3 405B": ("at_least", 0.9),
        "ByteRobust dense": ("at_most", 0.97),
        "OPT-175B": ("value", 0.6),
        "MegaScale": ("at_least", 0.9),
    }


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"is_measurement": "False"}, "projection"),
        ({"event_definition": "GPU error"}, "neither job interruptions"),
        ({"event_definition": ""}, "not stated"),
        ({"days": ""}, "without its exposure"),
        ({"events": "", "days": ""}, "neither count nor rate"),
        ({"events": "many"}, "events is 'many'"),
        ({"events": 3.5}, "whole number"),
        ({"nodes": -1}, "above 0"),
    ],
)
def test_fleet_that_cannot_be_predicted_is_left_out_with_its_reason(tmp_path, change, said):
    found = judged(tmp_path, change)
    assert not found.failures
    assert said in found.excluded[0].reason


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (">0.90", ("at_least", 0.9)),
        ("<=0.97", ("at_most", 0.97)),
        ("about 0.6", ("value", 0.6)),
        ("94%", ("value", 0.94)),
        ("about 0.9 for jobs above 1024 GPUs", None),
        ("0.85 to 0.97", None),
        ("1.7", None),
        ("good", None),
    ],
)
def test_ratios_are_read_as_values_or_bounds(tmp_path, text, expected):
    found = judged(tmp_path, {"ettr_or_goodput": text})
    assert [(item.bound, item.value) for item in found.ettr] == ([expected] if expected else [])


def test_count_is_negative_binomial_of_linear_variance(tmp_path):
    [item] = judged(tmp_path, {}).failures
    mean, dispersion = 5e-3 * 512 * 30, 3.0
    found = log_likelihood(item, np.array([[5e-3]]), hyper(dispersion=dispersion))[0, 0]
    expected = stats.nbinom.logpmf(61, mean / (dispersion - 1), 1 / dispersion) + np.log(61)
    assert found == pytest.approx(expected, rel=1e-10)
    poisson = log_likelihood(item, np.array([[5e-3]]), hyper())[0, 0]
    assert poisson == pytest.approx(stats.poisson.logpmf(61, mean) + np.log(61), rel=1e-10)


def test_rate_per_job_counts_once_a_job_whatever_its_nodes(tmp_path):
    small, large = judged(
        tmp_path, {"nodes": 1, "accelerators": 8}, {"nodes": 1024, "fleet_id": "b"}
    ).failures
    for item in (small, large):
        found = log_likelihood(item, np.array([[1e-3]]), hyper(per_job_day=0.5))[0, 0]
        mean = (1e-3 * item.nodes + 0.5) * 30
        assert found == pytest.approx(stats.poisson.logpmf(61, mean) + np.log(61), rel=1e-10)


def test_likelihood_of_a_fleet_integrates_its_rate(tmp_path):
    [item] = judged(tmp_path, {}).failures
    found = group_log_likelihoods([item], hyper())["Invented"][0]

    def weighed(log_rate):
        mean = np.exp(log_rate) * 512 * 30
        return stats.norm.pdf(log_rate, np.log(4e-3), 0.8) * stats.poisson.pmf(61, mean) * 61

    exact = integrate.quad(weighed, np.log(1e-3), np.log(2e-2), epsabs=0, epsrel=1e-10)[0]
    assert found == pytest.approx(np.log(exact), abs=1e-6)


def predicted(items, *, draws):
    points = hyper_points(read_catalogue(), PLAIN, seed=1)
    return foretell(items, points, group_log_likelihoods(items, points), draws=draws, seed=2)


def test_fleet_is_predicted_from_the_others_alone(tmp_path):
    changes = [
        {"source": f"s{place}", "fleet_id": f"f{place}", "events": 60 + place} for place in range(3)
    ]
    one = judged(tmp_path, *changes).failures
    other = [replace(one[0], events=9000), *one[1:]]
    before, after = (predicted(items, draws=500)[0] for items in (one, other))
    assert np.array_equal(before.log_rates, after.log_rates)
    assert after.log_density < before.log_density - 3


def test_intervals_hold_on_fleets_drawn_from_the_population(tmp_path):
    """30 fleets: an 80% interval holds in 0.8 ± 0.073; Poisson counts of long exposure."""
    rng = np.random.default_rng(4)
    rates = np.exp(np.log(4e-3) + 0.8 * rng.standard_normal(30))
    changes = [
        {
            "source": f"s{place}",
            "fleet_id": f"f{place}",
            "days": 300,
            "events": rng.poisson(rate * 512 * 300),
        }
        for place, rate in enumerate(rates)
    ]
    items = judged(tmp_path, *changes).failures
    held, third = [], []
    for item, found in zip(items, predicted(items, draws=2000), strict=True):
        middle = np.median(found.log_rates)
        low, high = np.quantile(found.log_rates, (0.1, 0.9))
        log = np.log(item.rate_per_node_day)
        held.append(low <= log <= high)
        third.append(middle - (middle - low) / 3 <= log <= middle + (high - middle) / 3)
    error = np.sqrt(0.8 * 0.2 / 30)
    assert abs(np.mean(held) - 0.8) < 3 * error
    # Negative control: a third of the width does not.
    assert np.mean(third) < 0.8 - 3 * error


def test_ettr_falls_with_size_and_the_chance_of_a_bound_is_its_share(tmp_path):
    found = judged(tmp_path, {"ettr_or_goodput": ">0.9"}, {"fleet_id": "b", "source": "c"})
    catalogue, template = read_catalogue(), read_scenario("reference_405b_16k").scenario
    [item] = found.ettr
    points = hyper_points(catalogue, PLAIN, seed=1)
    rows = [
        replace(item, accelerators=512),
        EttrRow(row=item.row, accelerators=32768, bound="at_most", value=0.9),
    ]
    small, large = foretell_ettr(
        rows,
        points,
        group_log_likelihoods(found.failures, points),
        catalogue=catalogue,
        template=template,
        refinements=(),
        draws=1024,
        seed=3,
    )
    assert np.median(small.draws) > np.median(large.draws) + 0.1
    assert small.chance == pytest.approx((small.draws >= 0.9).mean())
    assert large.chance == pytest.approx((large.draws <= 0.9).mean())


def test_every_variant_predicts_every_row():
    found = judge(shipped_rows())
    template = read_scenario("reference_405b_16k").scenario
    results = evaluate_fleets(found.failures, found.ettr, read_catalogue(), template, ())
    assert [item.variant for item in results] == list(VARIANTS)
    for item in results:
        assert len(item.table) == len(found.failures)
        assert np.isfinite(item.table["log_density"]).all()
        assert item.effective > 50
