"""Simulated fleets are recovered with calibrated intervals, and wrong models are found out.

Each case: parameters from the prior, data from an event-by-event simulation that shares no code
with the likelihood, the posterior of the product's density, and the uniformity of the truth's
rank. A false alarm comes once in a thousand over the quantities of a case; seeds are fixed. Each
control leaves out one thing that the data have.
"""

import math
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pytest
from scipy.signal import lfilter

from model.scenario import substitute
from model.step import healthy_step
from priors.catalogue import catalogue_from_mapping, read_catalogue
from priors.duration_likelihoods import SPREADS
from priors.elicitation import fixed_prior
from priors.interruption_likelihoods import DISPERSION, SHAPE
from priors.step_likelihoods import REGIME_SPREAD
from tests.priors.examples import DOCUMENTED
from tests.priors.simulated_fleets import (
    SCENARIO,
    Inference,
    arrivals,
    calibrate,
    coverage,
    pvalues,
)

pytestmark = pytest.mark.slow

FALSE_ALARM = 1e-3
REPETITIONS = 300

RATE = "reliability.failure_rate_per_node_day"
KAPPA, PSI = "reliability.failure_rate_per_job_day", "reliability.failure_rate_dispersion"
RESTART, KERNEL = "reliability.restart_time_s", "kernel.kernel_efficiency"
JITTER = "reliability.straggler_cv"

PRIORS = {
    RATE: ("fleet", {"lognormal": {"median": 5e-3, "sigma": 0.5}}),
    KAPPA: ("fleet", {"gamma": {"shape": 1, "rate": 5}}),
    PSI: ("fleet", {"gamma": {"shape": 1, "rate": 4}}),
    RESTART: ("fleet", {"lognormal": {"median": 300, "sigma": 0.5}}),
    KERNEL: ("stack", {"uniform": {"low": 0.45, "high": 0.7}}),
    JITTER: ("fleet", {"lognormal": {"median": 0.02, "sigma": 0.4}}),
}


def catalogue(*paths):
    """A few of the parameters."""
    built = catalogue_from_mapping(
        {
            "parameters": {
                path: {**PRIORS[path][1], "shared_by": PRIORS[path][0], **DOCUMENTED}
                for path in paths
            }
        },
        source="simulated",
    )
    return replace(built, auxiliary=read_catalogue().auxiliary)


def known(base, **values):
    """The catalogue with auxiliary quantities known."""
    fixed = {
        name: fixed_prior(base.auxiliary[name], value, source="t") for name, value in values.items()
    }
    return replace(base, auxiliary=MappingProxyType({**base.auxiliary, **fixed}))


def check(ranks, thin, *, names):
    """Every quantity is calibrated."""
    found = pvalues({name: ranks[name] for name in names})
    assert thin < 0.05
    assert min(found.values()) * len(found) > FALSE_ALARM, found


# Counts of weeks, overdispersed in both ways.


def weeks(truth, rng):
    """Twelve weeks of 150 nodes: bursts of events, and rates that vary from week to week."""
    mean = truth[RATE] * 1050
    psi, excess = truth.get(PSI, 0.0), truth[DISPERSION]
    events = []
    for _ in range(12):
        # A compound Poisson sum of logarithmic bursts is negative binomial of variance φ·mean; a
        # gamma level on top is the quadratic part, which the density folds into one such count.
        level = rng.gamma(mean / (excess + psi * mean), excess + psi * mean)
        events.append(arrivals(level, 1.0, rng))
    return [interruptions(events=events, node_days=1050)]


def interruptions(**said):
    return {"kind": "interruptions", "counts": "job_interruption", **said}


LAYOUT = [interruptions(events=[1] * 12, node_days=1050)]


@pytest.fixture(scope="module")
def dispersed():
    return Inference(catalogue(RATE, PSI), LAYOUT)


def test_overdispersed_counts_are_recovered(dispersed):
    ranks, thin = calibrate(weeks, dispersed, dispersed.truths(REPETITIONS, 11), seed=1)
    check(ranks, thin, names=(RATE, PSI, DISPERSION))


def test_poisson_counts_do_not_describe_overdispersed_ones(dispersed):
    poisson = Inference(known(catalogue(RATE), **{DISPERSION: 1e-3}), LAYOUT)
    ranks, _ = calibrate(weeks, poisson, dispersed.truths(REPETITIONS, 11), seed=1)

    assert pvalues(ranks)[RATE] < FALSE_ALARM
    # Its intervals are too narrow: of those of 90% a third and more miss.
    assert coverage(ranks, RATE) < 0.7


# Jobs of four sizes, interrupted by their nodes and on their own account.

SIZES = ((2, 300.0), (16, 150.0), (64, 40.0), (256, 10.0))


def jobs(truth, rng):
    """Job-days of each size, interruptions of each job one by one."""
    found = []
    for nodes, days in SIZES:
        own, shared = arrivals(truth[RATE] * nodes, days, rng), arrivals(truth[KAPPA], days, rng)
        found.append(
            interruptions(events=own + shared, node_days=nodes * days, nodes_per_job=nodes)
        )
    return found


JOB_LAYOUT = [
    interruptions(events=1, node_days=nodes * days, nodes_per_job=nodes) for nodes, days in SIZES
]


def nearly_poisson(base):
    return known(base, **{DISPERSION: 1e-3})


@pytest.fixture(scope="module")
def two_rates():
    return Inference(nearly_poisson(catalogue(RATE, KAPPA)), JOB_LAYOUT)


def test_rate_per_job_is_recovered_beside_the_rate_per_node(two_rates):
    ranks, thin = calibrate(jobs, two_rates, two_rates.truths(REPETITIONS, 12), seed=2)
    check(ranks, thin, names=(RATE, KAPPA))


def test_rate_per_node_alone_does_not_describe_interruptions_per_job(two_rates):
    alone = Inference(nearly_poisson(catalogue(RATE)), JOB_LAYOUT)
    ranks, _ = calibrate(jobs, alone, two_rates.truths(REPETITIONS, 12), seed=2)

    assert pvalues(ranks)[RATE] < FALSE_ALARM
    # What jobs do on their own account is laid on their nodes: the truth lies low.
    assert np.mean(ranks[RATE] < 0.1) > 0.5


# Running times, some censored, some seen from a later age on.


def runs(truth, rng):
    """Forty jobs of 64 nodes: nobody looks after nine days, every fourth is seen from day two."""
    gap = 1.0 / (truth[RATE] * 64)
    shape = truth[SHAPE]
    scale = gap / math.gamma(1.0 + 1.0 / shape)
    values, censored, entered = [], [], {"values": [], "censored": []}
    for job in range(40):
        start = 2.0 if job % 4 == 0 else 0.0
        # Those that end before anybody looks are not seen at all.
        time = scale * rng.weibull(shape)
        while time <= start:
            time = scale * rng.weibull(shape)
        kept, which = (values, "values") if time < 9.0 else (censored, "censored")
        kept.append(min(time, 9.0) * 86400)
        entered[which].append(start * 86400)
    return [
        {
            "kind": "uptimes",
            "counts": "job_interruption",
            "nodes_per_job": 64,
            **({"values_s": values} if values else {}),
            **({"censored_s": censored} if censored else {}),
            "entered_s": [*entered["values"], *entered["censored"]],
        }
    ]


RUN_LAYOUT = [
    {"kind": "uptimes", "counts": "job_interruption", "nodes_per_job": 64, "values_s": [1.0]}
]


@pytest.fixture(scope="module")
def running():
    return Inference(catalogue(RATE), RUN_LAYOUT)


def test_censored_and_truncated_running_times_are_recovered(running):
    ranks, thin = calibrate(runs, running, running.truths(REPETITIONS, 13), seed=3)
    check(ranks, thin, names=(RATE, SHAPE))


@pytest.mark.parametrize("wrong", ["ended", "seen from the start"])
def test_censoring_or_truncation_left_out_is_found_out(running, wrong):
    def distorted(truth, rng):
        [item] = runs(truth, rng)
        if wrong == "ended":
            times = item.pop("values_s", []) + item.pop("censored_s", [])
            return [{**item, "values_s": times}]
        item.pop("entered_s")
        return [item]

    ranks, _ = calibrate(distorted, running, running.truths(REPETITIONS, 13), seed=3)
    assert min(pvalues(ranks)[name] for name in (RATE, SHAPE)) < FALSE_ALARM


# Restarts, of which some wait for a person.


def restarts(truth, rng, tails="heavy"):
    """Twelve restarts, slow ones among them."""
    share, ratio = truth["restart_slow_share"], truth["restart_slow_ratio"]
    spread = truth[SPREADS["restart"]]
    usual = truth[RESTART] / (1 + share * (ratio - 1))
    values = []
    for _ in range(12):
        slow = rng.random() < share
        width = np.hypot(spread, 0.7) if slow else spread
        middle = usual * (ratio if slow else 1.0) * np.exp(-(width**2) / 2)
        values.append(float(middle * np.exp(width * rng.standard_normal())))
    return [{"kind": "durations", "quantity": "restart", "values_s": values, "tails": tails}]


@pytest.fixture(scope="module")
def slow():
    layout = [{"kind": "durations", "quantity": "restart", "values_s": [1.0] * 12}]
    return Inference(catalogue(RESTART), layout, draws=40_000)


def test_restarts_with_slow_ones_are_recovered(slow):
    ranks, thin = calibrate(restarts, slow, slow.truths(REPETITIONS, 14), seed=4)
    check(ranks, thin, names=(RESTART, SPREADS["restart"], "restart_slow_share"))


def test_lognormal_restarts_do_not_describe_slow_ones(slow):
    ranks, _ = calibrate(
        lambda truth, rng: restarts(truth, rng, tails="lognormal"),
        slow,
        slow.truths(REPETITIONS, 14),
        seed=4,
    )
    assert min(pvalues(ranks)[name] for name in (RESTART, SPREADS["restart"])) < FALSE_ALARM


# Step times in regimes, logged as means of correlated steps.

STEP = {"kind": "step_times", "scenario": "llama3_405b_8k", "stack": "mine", "fleet": "mine"}


def steps(truth, rng):
    """Five levels of 20 rows, each the mean of four steps, successive steps correlated 0.7."""
    step = healthy_step(substitute(SCENARIO, {KERNEL: truth[KERNEL], JITTER: truth[JITTER]}))
    model = float(step.total_s) * np.exp(0.02 * rng.standard_normal())
    untaxed = float(step.total_s - step.synchronisation_s)
    sigma = untaxed * truth[JITTER] * np.pi / np.sqrt(12 * np.log(8192))
    regimes, deviations = [], []
    for _ in range(5):
        noise = lfilter([np.sqrt(1 - 0.49)], [1, -0.7], rng.standard_normal(180))[100:]
        rows = sigma * noise.reshape(20, 4).mean(axis=1)
        level = model * np.exp(truth[REGIME_SPREAD] * rng.standard_normal())
        regimes.append({"mean_s": float(level + rows.mean()), "rows": 20})
        deviations.append(rows - rows.mean())
    flat = np.concatenate(deviations)
    lag = sum(float((part[1:] * part[:-1]).sum()) for part in deviations) / float((flat**2).sum())
    return [
        {
            **STEP,
            "mean_s": float(np.mean([item["mean_s"] for item in regimes])),
            "sd_s": float(np.sqrt((flat**2).sum() / (flat.size - 5))),
            "count": flat.size,
            "averaging_interval": 4,
            "relative_error": 0.02,
            "correlation": max(lag, 0.0),
            "regimes": regimes,
        }
    ]


STEP_LAYOUT = [
    {
        **STEP,
        "mean_s": 5.0,
        "sd_s": 0.1,
        "count": 200,
        "relative_error": 0.02,
        "regimes": [{"mean_s": 5.0, "rows": 40}, {"mean_s": 5.1, "rows": 40}],
    }
]


@pytest.fixture(scope="module")
def stepping():
    return Inference(catalogue(KERNEL, JITTER), STEP_LAYOUT, draws=40_000)


def test_jitter_and_level_under_regimes_and_averaging_are_recovered(stepping):
    ranks, thin = calibrate(steps, stepping, stepping.truths(REPETITIONS, 15), seed=5)
    check(ranks, thin, names=(KERNEL, JITTER, REGIME_SPREAD))


@pytest.mark.parametrize("left_out", ["averaging_interval", "correlation", "regimes"])
def test_step_times_read_too_simply_are_found_out(stepping, left_out):
    def simplified(truth, rng):
        [item] = steps(truth, rng)
        item.pop(left_out)
        return [item]

    ranks, _ = calibrate(simplified, stepping, stepping.truths(REPETITIONS, 15), seed=5)
    wronged = KERNEL if left_out == "regimes" else JITTER
    assert pvalues(ranks)[wronged] < FALSE_ALARM


# Several own fleets: generations of machines that differ, learnt from each other.

HALLS = (("mine", 200.0), ("hall_2", 800.0), ("hall_3", 800.0))


def halls(truth, rng):
    """One young fleet, and two that ran for longer."""
    return [
        interruptions(
            fleet=fleet,
            events=arrivals(truth[RATE if fleet == "mine" else f"{RATE}@{fleet}"], days, rng),
            node_days=days,
        )
        for fleet, days in HALLS
    ]


HALL_LAYOUT = [interruptions(fleet=fleet, events=1, node_days=days) for fleet, days in HALLS]


@pytest.fixture(scope="module")
def several():
    base = catalogue(RATE)
    spread = read_catalogue().entries[RATE].between_systems
    entries = {RATE: replace(base.entries[RATE], between_systems=spread)}
    return Inference(
        nearly_poisson(replace(base, entries=MappingProxyType(entries))), HALL_LAYOUT, draws=40_000
    )


def test_several_fleets_are_recovered_each_with_its_level(several):
    ranks, thin = calibrate(halls, several, several.truths(REPETITIONS, 16), seed=6)
    check(ranks, thin, names=(RATE, f"{RATE}@hall_2", f"{RATE}@between"))


def test_fleets_that_are_pooled_are_found_out(several):
    pooled = Inference(nearly_poisson(catalogue(RATE)), HALL_LAYOUT[:1])

    def as_one(truth, rng):
        items = halls(truth, rng)
        return [
            interruptions(
                events=sum(item["events"] for item in items),
                node_days=sum(item["node_days"] for item in items),
            )
        ]

    ranks, _ = calibrate(as_one, pooled, several.truths(REPETITIONS, 16), seed=6)
    assert pvalues(ranks)[RATE] < FALSE_ALARM


def test_young_fleet_lies_between_its_own_count_and_its_neighbours(several):
    # Generations of one machine differed 27 times: two halls at 2e-2, one event of the third.
    told = [
        interruptions(fleet=fleet, events=1 if fleet == "mine" else 16, node_days=days)
        for fleet, days in HALLS
    ]
    alone, _ = several.posterior([told[0]], RATE)
    shared, _ = several.posterior(told, RATE)
    neighbour, _ = several.posterior(told, f"{RATE}@hall_2")

    assert alone < shared < neighbour
    assert neighbour == pytest.approx(2e-2, rel=0.3)
