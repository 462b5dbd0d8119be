"""How each published claim is computed from the tables; numbers in the order of its quantities."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from model.ledger import account
from model.recovery import SCOPE_LIMIT
from model.scaling import CEILING, sampling_grid, scaling_curve
from model.substitution import marginal_accelerator
from studies.calibration import INTERRUPTIONS, SMALL_JOB_HOURS, TFLOPS_AT_16384, value_of
from studies.claims import Findings, Measure
from studies.experiments.inputs import FAILURE_RATE, SCALE, at
from studies.experiments.scale import LEDGER_SCALES, huge_job_curve
from studies.experiments.substitution import BIAS_SCALES, HUGE_JOB

NETWORK = ("bandwidth_2x", "bandwidth_4x", "flat_fabric", "scaleup_2x")
RELIABILITY = ("reliability_2x", "fast_detection", "fast_restart")
"""What the study counts as reliability when it names a largest value: not checkpoints."""

ERRORS_ALLOWED = 3.0
"""Standard errors of a simulated mean that are not held against it."""


def _row(table: pd.DataFrame, **keys: object) -> pd.Series:
    """The one row with these values."""
    chosen = np.logical_and.reduce([table[key] == value for key, value in keys.items()])
    (position,) = np.flatnonzero(chosen)
    return table.iloc[position]


def reference_split(findings: Findings) -> list[float]:
    """Shares of the four fates in percent, ETTR, UCF and their gap in points."""
    row = _row(findings.tables["e1"], n_accelerators=SCALE, oversubscription=7.0)
    blocked = row[[name for name in row.index if name.startswith("blocked_")]].sum()
    unavailable = row["unavailable_down"] + row["unavailable_spare_stranded"]
    shares = [row["productive"], blocked, row["discarded"], unavailable]
    gap = row["ettr"] - row["ucf"]
    return [*(100 * share / row["total"] for share in shares), row["ettr"], row["ucf"], 100 * gap]


def ucf_by_scale(findings: Findings) -> list[float]:
    """UCF at each scale."""
    table = findings.tables["e1"]
    return [_row(table, n_accelerators=n, oversubscription=7.0)["ucf"] for n in LEDGER_SCALES]


def marginal(key: str) -> Measure:
    """ΔΠ/SEA of doubled bandwidth, the next data-parallel step, ΔΠ and SEA."""

    def measure(findings: Findings) -> list[float]:
        row = _row(
            findings.tables[key],
            regime="typical",
            n_accelerators=SCALE,
            intervention="bandwidth_2x",
        )
        gain, sea = row["delta_productive_accelerators"], row["sea"]
        next_step = marginal_accelerator(at(findings.inputs.scenario, SCALE, {}))
        return [gain / sea, next_step, gain, sea]

    return measure


def bias(key: str) -> Measure:
    """Median of informal over SEA at each scale, and the inverse of the first and last."""

    def measure(findings: Findings) -> list[float]:
        table = findings.tables[key]
        usable = table["within_validity_envelope"] & (table["sea"] > 0) & np.isfinite(table["sea"])
        ratios = table[usable].groupby("n_accelerators")["ratio_naive_over_sea"].median()
        medians = [ratios[n] for n in BIAS_SCALES]
        return [*medians, 1.0 / medians[0], 1.0 / medians[-1]]

    return measure


MAP_WINNERS = (
    (16_384, "straggler_control", 30),
    (16_384, "reliability_2x", 30),
    (65_536, "reliability_2x", 28),
    (65_536, "bandwidth_4x", 5),
    (65_536, "straggler_control", 3),
)


def _winners(table: pd.DataFrame) -> list[float]:
    counts = table.groupby(["n_accelerators", "winner"]).size()
    wins = [float(counts.get((scale, name), 0)) for scale, name, _ in MAP_WINNERS]
    return [float(len(table)), *wins, len(table) - sum(wins)]


def map_in_scope(findings: Findings) -> list[float]:
    """Cells, cells in scope, and who ranks first in those."""
    table = findings.tables["e3"]
    return [float(len(table)), *_winners(table[table["within_validity_envelope"]])]


def map_of_all_cells(findings: Findings) -> list[float]:
    """The same with every cell counted."""
    table = findings.tables["e3 exact"]
    return [float(len(table)), *_winners(table)]


FIRST_SHARES = {
    "fast_checkpoint": 45.8,
    "reliability_2x": 29.1,
    "straggler_control": 15.8,
    "fast_restart": 8.7,
    "bandwidth_4x": 0.6,
}


def _shares(table: pd.DataFrame) -> list[float]:
    shares = 100 * table["winner"].value_counts(normalize=True)
    return [float(len(table)), *(float(shares.get(name, 0.0)) for name in FIRST_SHARES)]


def shares_in_scope(findings: Findings) -> list[float]:
    """Draws in scope and shares ranked first in them, percent."""
    table = findings.tables["e7"]
    return _shares(table[table["within_validity_envelope"]])


def shares_of_all_draws(findings: Findings) -> list[float]:
    """The same over all draws."""
    return _shares(findings.tables["e7 exact"])


def case_sea(key: str, pairs: Sequence[tuple[str, str]]) -> Measure:
    """SEA of interventions in counterexamples, by (case, intervention)."""

    def measure(findings: Findings) -> list[float]:
        table = findings.tables[key]
        return [_row(table, case=case, intervention=name)["sea"] for case, name in pairs]

    return measure


ROUGHLY_900 = (("short_sequence", "bandwidth_2x"), ("tiny_batch", "bandwidth_2x"))
PERFECT_NETWORK = (("perfect_network", "bandwidth_4x"), ("perfect_network", "reliability_2x"))


def huge_job(findings: Findings) -> list[float]:
    """As published: the best sample of the grid, and the sample next to twice the pool."""
    scenario = at(findings.inputs.scenario, HUGE_JOB.accelerators, {})
    base = int(scenario.parallelism.dp)
    curve = scaling_curve(scenario, sampling_grid(base, ceiling=CEILING * base))
    frame = pd.DataFrame(
        {
            "pool_ratio": curve.pool[0] / curve.pool[0, 0],
            "productive_accelerators": curve.productive[0],
        }
    )
    return _huge_job_numbers(findings, frame, "e4")


def huge_job_at_every_size(findings: Findings) -> list[float]:
    """The same at every data-parallel size."""
    curve = huge_job_curve(findings.inputs, HUGE_JOB.accelerators)
    return _huge_job_numbers(findings, curve, "e4 exact")


def _huge_job_numbers(findings: Findings, curve: pd.DataFrame, key: str) -> list[float]:
    scenario = at(findings.inputs.scenario, HUGE_JOB.accelerators, {})
    productive = curve["productive_accelerators"]
    best, doubled = int(productive.idxmax()), int((curve["pool_ratio"] - 2.0).abs().idxmin())
    rate = 0.5 * scenario.value(FAILURE_RATE)
    halved = account(at(findings.inputs.scenario, HUGE_JOB.accelerators, {FAILURE_RATE: rate}))
    row = _row(findings.tables[key], case=HUGE_JOB.name, intervention="reliability_2x")
    return [
        productive[best],
        curve["pool_ratio"][best],
        100 * (productive[best] / productive[0] - 1.0),
        productive[doubled],
        float(np.squeeze(halved.productive_accelerators)),
        row["sea"],
        row["recovery_pressure"],
    ]


_BUNDLES = ("network_pair", "recovery_trio", "mixed_quad")


def additivity(findings: Findings) -> list[float]:
    """Rows used and mean additivity error of each bundle, percent."""
    table = findings.tables["e6"]
    usable = table[table["within_validity_envelope"] & (table["capped"] == 0)]
    means = usable.groupby("bundle")["additivity_error"].mean()
    return [float(len(usable)), *(100 * means[name] for name in _BUNDLES)]


def additivity_of_gain(findings: Findings) -> list[float]:
    """The same on gain, over all rows."""
    table = findings.tables["e6 gain"]
    means = table.groupby("bundle")["additivity_error"].mean()
    return [float(len(table)), *(100 * means[name] for name in _BUNDLES)]


def calibration(label: str) -> Measure:
    """Fitted kernel efficiency, predicted TFLOP/s, its error and MFU in percent."""

    def measure(findings: Findings) -> list[float]:
        table = findings.tables["validation"]
        predicted = value_of(table, "throughput", f"16,384, {label}")
        return [
            value_of(table, "kernel efficiency", f"8,192, {label}"),
            predicted,
            100 * (predicted / TFLOPS_AT_16384 - 1.0),
            100 * value_of(table, "model FLOPs utilisation", f"16,384, {label}"),
        ]

    return measure


def time_to_failure(findings: Findings) -> list[float]:
    """Hours at three scales, and the last over what was measured."""
    table = findings.tables["validation"]
    hours = [value_of(table, "mean time to failure", f"{n:,}") for n in (16_384, 131_072, 1024)]
    return [*hours, hours[-1] / SMALL_JOB_HOURS[1024]]


def interruptions(findings: Findings) -> list[float]:
    """Predicted interruptions, their excess in percent, implied rate in 1e-3."""
    table = findings.tables["validation"]
    predicted = value_of(table, "interruptions in 54 days")
    implied = value_of(table, "implied failure rate")
    return [predicted, 100 * (predicted / INTERRUPTIONS - 1.0), 1e3 * implied]


def interval_and_ettr(findings: Findings) -> list[float]:
    """Differences of Daly's intervals and of expected ETTR, percent."""
    table = findings.tables["validation"]
    chosen = table["check"].isin(["Daly's interval against brute force", "expected ETTR"])
    return list(100 * table.loc[chosen, "relative_difference"].abs())


def fidelity(findings: Findings) -> list[float]:
    """Largest relative difference of UCF, percent.

    With many replicates, with those of e8, and how much of the latter is beyond their errors.
    """
    table, errors = findings.tables["e8"], findings.tables["e8 errors"]
    relative = table["rel_error_ucf"]
    allowed = ERRORS_ALLOWED * errors["ucf_monte_carlo_se"] / table["ucf_analytical"]
    fine = findings.tables["e8 fine"]["rel_difference_ucf"].abs()
    beyond = max(0.0, float((relative - allowed).max()))
    return [100 * fine.max(), 100 * relative.max(), 100 * beyond]


def first_validation(findings: Findings) -> list[float]:
    """ETTR, and sqrt(2w/M) in percent."""
    table = findings.tables["validation"]
    lost = value_of(table, "share lost to checkpoints, sqrt(2w/M)")
    return [value_of(table, "ETTR of the failed first validation"), 100 * lost]


def largest(key: str, case: str, names: Sequence[str]) -> Measure:
    """Largest SEA among interventions in a case."""

    def measure(findings: Findings) -> list[float]:
        table = findings.tables[key]
        chosen = (table["case"] == case) & table["intervention"].isin(names)
        return [table.loc[chosen, "sea"].max()]

    return measure


def restart(key: str) -> Measure:
    """Cells won by faster restart; least, median and largest SEA in scope at 65,536."""

    def measure(findings: Findings) -> list[float]:
        table = findings.tables[key]
        scoped = (table["recovery_pressure"] < SCOPE_LIMIT) & (
            table["n_accelerators"] == LEDGER_SCALES[-1]
        )
        sea = table.loc[scoped, "sea_fast_restart"]
        wins = float((table["winner"] == "fast_restart").sum())
        return [wins, sea.min(), sea.median(), sea.max()]

    return measure


def small_job(key: str) -> Measure:
    """Best SEA of network and of reliability, UCF in percent, best of all."""

    def measure(findings: Findings) -> list[float]:
        table = findings.tables[key]
        rows = table[table["case"] == "tiny_job"].set_index("intervention")
        values = [rows.loc[list(names), "sea"].max() for names in (NETWORK, RELIABILITY)]
        return [*values, 100 * rows["baseline_ucf"].iloc[0], rows["sea"].max()]

    return measure
