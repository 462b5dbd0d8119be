"""nccl-tests as it comes out of terminals, launchers and pastes."""

import json

import pytest

from model.errors import InputError
from tests.priors.readers.files import NCCL_16, NCCL_24, REFERENCE, reading, values_of

SIZES = [2**n for n in range(20, 34)]


def row(size, algbw, factor=1.875, *, middle="     sum      -1", check="0"):
    time = size / algbw / 1e3
    shown = f"{time:8.2f}" if time < 1e4 else f"{time:8.0f}"
    side = f"{shown} {algbw:7.2f} {algbw * factor:7.2f} {check:>6}"
    return f"{size:12d} {size // 4:12d}     float{middle} {side} {side}"


def table(rank_factor=1.875, top=200.0, **more):
    """A run that saturates: half of the top bandwidth at 2 MiB."""
    rows = [row(size, top / (1 + 2**21 / size), rank_factor, **more) for size in SIZES]
    head = "# nThread 1 nGpus 1 minBytes 1048576 maxBytes 8589934592 step: 2(factor)"
    return "\n".join([head, *rows, "# Avg bus bandwidth    : 300.1"]) + "\n"


def test_saturating_run_gives_the_efficiency_of_its_plateau(tmp_path):
    found = reading(tmp_path, table(), scenario=REFERENCE)
    [observation] = found.observations
    # 200 GB/s · 1.875 of 400 GB/s, less what 1 to 8 GiB are below saturation: at most 0.2%.
    assert observation.mean == pytest.approx(0.9375, rel=2e-3)
    assert values_of(found)["ranks"] == 16


def test_old_release_without_reduction_root_and_count_of_errors_is_read(tmp_path):
    text = table(middle="", check="2e-07")
    assert values_of(reading(tmp_path, text, scenario=REFERENCE))["ranks"] == 16


@pytest.mark.parametrize("check", ["N/A", "0", "2e-07"])
def test_last_column_may_be_missing(tmp_path, check):
    found = reading(tmp_path, table(check=check), scenario=REFERENCE)
    assert found.observations[0].mean == pytest.approx(0.9375, rel=2e-3)


def test_rows_with_wrong_results_are_left_out(tmp_path):
    with pytest.raises(InputError, match="wrong"):
        reading(tmp_path, table(check="7"), scenario=REFERENCE)


@pytest.mark.parametrize("prefix", ["0: ", "[1,0]<stdout>:", "[rank0]: ", "node12: ", "\x1b[32m"])
def test_prefixes_of_launchers_are_split_off(tmp_path, prefix):
    text = "".join(f"{prefix}{line}\n" for line in table().splitlines())
    found = reading(tmp_path, text, scenario=REFERENCE)
    assert found.observations[0].mean == pytest.approx(0.9375, rel=2e-3)


def test_units_in_suffixes_are_read(tmp_path):
    text = (
        "16GiB 4294967296 float sum -1 66132us 259.78GBps 487.09GBps 0 66109us 259.87GBps "
        "487.26GBps 0\n"
    )
    found = values_of(reading(tmp_path, text, nic_gbps=800.0, accelerators_per_node=8))
    assert found["plateau_busbw_gb_per_s"] == pytest.approx(487.175)


def test_additional_columns_of_per_iteration_times_are_passed_over(tmp_path):
    line = (
        "17179869184 4294967296 float sum -1 66132 259.78 487.09 0 66000 66500 66490 0.31 "
        "66109 259.87 487.26 0 66000 66500 66490 0.31 2025-06-01 10:00:00\n"
    )
    found = values_of(reading(tmp_path, line, nic_gbps=800.0, accelerators_per_node=8))
    assert found["plateau_busbw_gb_per_s"] == pytest.approx(487.175)


def test_json_says_the_same_as_text(tmp_path):
    results = [
        {
            "size": size,
            "count": size // 4,
            "type": "float",
            "redop": "sum",
            "root": "    -1",
            "out_of_place": {"time": 1.0, "alg_bw": 200.0, "bus_bw": 375.0, "nwrong": 0.0},
            "in_place": {"time": 1.0, "alg_bw": 200.0, "bus_bw": "nan", "nwrong": None},
        }
        for size in SIZES
    ]
    text = json.dumps({"version": 2, "args": ["all_reduce_perf"], "nccl_version": 22703,
                       "results": results})  # fmt: skip
    found = reading(tmp_path, text, name="r.json", scenario=REFERENCE)
    assert found.observations[0].mean == pytest.approx(0.9375)
    assert "in_place without a bandwidth" in found.skipped.reasons


def test_truncated_json_is_refused_with_its_line(tmp_path):
    with pytest.raises(InputError, match=r"line 3.*JSON"):
        reading(tmp_path, '{"version": 2, "args": [],\n"results": [\n{"bus_bw"', name="r.json")


def test_single_node_says_nothing_about_the_network(tmp_path):
    found = reading(tmp_path, table(rank_factor=1.75, top=260.0), scenario=REFERENCE)
    assert values_of(found)["ranks"] == 8
    assert found.observations == ()
    assert "one node" in found.withheld[0]


def test_hosts_of_the_header_tell_the_ranks_of_a_node(tmp_path):
    hosts = "\n".join(
        f"#  Rank {n:2d} Group 0 Pid 1 on h{n // 4} device {n % 4}" for n in range(16)
    )
    found = reading(tmp_path, hosts + "\n" + table(top=60.0), scenario=REFERENCE)
    # Four cards of 400 Gb/s are 200 GB/s.
    assert found.observations[0].mean == pytest.approx(60 * 1.875 / 200, rel=2e-3)


def test_small_messages_are_refused_with_the_line(tmp_path):
    with pytest.raises(InputError, match=r"line 2.*latency"):
        reading(tmp_path, "# nThread 1\n" + row(2**20, 10.0) + "\n", scenario=REFERENCE)


def test_bandwidth_that_still_rises_is_refused(tmp_path):
    rows = [row(2**n, 2.0 ** (n - 20)) for n in range(20, 27)]
    with pytest.raises(InputError, match="no plateau"):
        reading(tmp_path, "\n".join(rows) + "\n", scenario=REFERENCE)


@pytest.mark.parametrize("order", ["after", "interleaved"])
def test_two_runs_in_one_file_are_refused(tmp_path, order):
    one, two = table().splitlines(), table(top=190.0).splitlines()
    mixed = [line for pair in zip(one, two, strict=True) for line in pair]
    lines = one + two if order == "after" else mixed
    with pytest.raises(InputError, match=r"line \d+.*two runs"):
        reading(tmp_path, "\n".join(lines) + "\n", scenario=REFERENCE)


def test_rank_listed_twice_is_refused(tmp_path):
    head = "#  Rank  0 Group  0 Pid 1 on h0 device  0\n" * 2
    with pytest.raises(InputError, match=r"line 2.*rank 0"):
        reading(tmp_path, head + table(), scenario=REFERENCE)


def test_all_to_all_is_no_statement_on_rings(tmp_path):
    text = "./build/alltoall_perf -b 1M -e 8G\n" + table(rank_factor=0.9375)
    found = reading(tmp_path, text, scenario=REFERENCE)
    assert found.observations == ()
    assert "no ring collective" in found.withheld[0]


def test_collective_that_nothing_names_is_refused(tmp_path):
    text = table(rank_factor=0.9375, middle="    none      -1")
    with pytest.raises(InputError, match="several collectives"):
        reading(tmp_path, text, scenario=REFERENCE)


def test_pasted_dots_and_stripped_hashes_do_not_matter(tmp_path):
    text = table().replace("# ", " ").replace("\n", "\n...\n", 1)
    found = reading(tmp_path, text, scenario=REFERENCE)
    assert found.observations[0].mean == pytest.approx(0.9375, rel=2e-3)


def test_without_line_rate_only_the_plateau_is_told(tmp_path):
    found = reading(tmp_path, NCCL_16, accelerators_per_node=8)
    assert "of_line_rate" not in values_of(found)
    assert "--nic-gbps" in found.withheld[0]


def test_log_messages_inside_rows_lose_only_what_they_tear(tmp_path):
    found = reading(tmp_path, NCCL_24, scenario=REFERENCE)
    [(reason, (count, line))] = found.skipped.reasons.items()
    assert "in-place" in reason
    assert (count, line) == (1, 6)


def test_creeping_bandwidth_is_taken_from_the_upper_half(tmp_path):
    # 1 to 8 GiB: 158.86, 169.81, 176.31, 180.71 GB/s, on two nodes of eight.
    rates = (158.86, 169.81, 176.31, 180.71)
    text = "\n".join(row(2 ** (30 + n), rate) for n, rate in enumerate(rates)) + "\n"
    found = reading(tmp_path, text, scenario=REFERENCE)
    assert values_of(found)["plateau_busbw_gb_per_s"] == pytest.approx(178.51 * 1.875, rel=1e-3)
    assert any("still rises by 14%" in note for note in found.notes)


HEADER = "# nThread 1 nGpus 1 minBytes 8 maxBytes 99 step: 2(factor) warmup iters: 5 iters: 20\n"


def gib_row(gib, bus, *, kind="float", operation="sum", root="-1"):
    # Sixteen ranks: bus bandwidth is 1.875 times the algorithm's.
    size = gib << 30
    time = size / (bus / 1.875) / 1e3
    side = f"{time:.0f}  {size / round(time) / 1e3:.2f}  {size / round(time) / 1e3 * 1.875:.2f}  0"
    return f"  {size}  {size // 4}  {kind}  {operation}  {root}  {side}  {side}\n"


def sweep(bus, **more):
    return "".join(gib_row(gib, bus + gib / 10, **more) for gib in (1, 2, 4, 8))


def test_sizes_that_one_run_repeats_are_repeats(tmp_path):
    text = HEADER + sweep(350) + sweep(352) + sweep(351) + "# Avg bus bandwidth    : 351.1\n"
    found = reading(tmp_path, text, nic_gbps=400.0, accelerators_per_node=8)
    assert found.observations[0].repeats == 12
    assert values_of(found)["plateau_busbw_gb_per_s"] == pytest.approx(351.375, abs=0.2)
    # Control: after an average, or without the header, it is a second run.
    for two in (
        HEADER + sweep(350) + "# Avg bus bandwidth    : 351.1\n" + sweep(352),
        sweep(350) + sweep(352),
    ):
        with pytest.raises(InputError, match="two runs"):
            reading(tmp_path, two)


def test_one_size_many_times_has_a_spread(tmp_path):
    text = HEADER + "".join(gib_row(16, bus) for bus in (340, 350, 345, 355, 350))
    found = reading(tmp_path, text, nic_gbps=400.0, accelerators_per_node=8)
    assert found.observations[0].repeats == 5
    assert found.observations[0].sd > 0


@pytest.mark.parametrize(
    "others",
    [
        [{"operation": "prod"}, {"operation": "max"}, {"operation": "avg"}],
        [{"kind": "half"}, {"kind": "int8"}],
    ],
)
def test_reductions_and_types_of_one_run_are_told_apart(tmp_path, others):
    rest = "".join(sweep(200 + n, **more) for n, more in enumerate(others))
    found = reading(tmp_path, HEADER + sweep(350) + rest, nic_gbps=400.0, accelerators_per_node=8)
    assert values_of(found)["plateau_busbw_gb_per_s"] == pytest.approx(350.3, abs=0.2)
    [(reason, (count, _))] = found.skipped.reasons.items()
    assert "float sum" in reason
    assert count == 4 * len(others)
    # Control: without a header nothing says that they are of one run.
    with pytest.raises(InputError, match="two runs"):
        reading(tmp_path, sweep(350) + rest)


def as_markdown(text):
    rows = ("| " + " | ".join(line.split()) + " |\n" for line in text.splitlines())
    head = (
        "| size | count | type | redop | root | time | algbw | busbw | #wrong | time |\n|---|---|\n"
    )
    return head + "".join(rows)


def as_csv(text):
    rows = (",".join(line.split()) + "\n" for line in text.splitlines())
    return "size,count,type,redop,root,time,algbw,busbw,wrong\n" + "".join(rows)


def with_short_counts(text):
    return HEADER + "".join(
        " ".join([size, f"{float(count):.2e}", *rest]) + "\n"
        for size, count, *rest in (line.split() for line in text.splitlines())
    )


def without_root_or_check(text):
    """Both sides as copies in prose keep them: three numbers each."""
    rows = (line.split() for line in text.splitlines())
    return HEADER + "".join(" ".join(row[:4] + row[5:8] + row[9:12]) + "\n" for row in rows)


def test_sides_without_a_check_are_both_read(tmp_path):
    first = sweep(350).splitlines()
    second = [line.replace("  ", " ") for line in sweep(340).splitlines()]
    both = "".join(
        " ".join(one.split()[:8]) + " 0 " + " ".join(other.split()[5:8]) + " 0\n"
        for one, other in zip(first, second, strict=True)
    )
    found = reading(tmp_path, without_root_or_check(both))
    assert values_of(found)["plateau_busbw_gb_per_s"] == pytest.approx(345.3, abs=0.2)


@pytest.mark.parametrize("paste", [as_markdown, as_csv, with_short_counts, without_root_or_check])
def test_rows_pasted_as(tmp_path, paste):
    found = reading(tmp_path, paste(sweep(350)), nic_gbps=400.0, accelerators_per_node=8)
    assert values_of(found)["plateau_busbw_gb_per_s"] == pytest.approx(350.3, abs=0.2)
    assert values_of(found)["ranks"] == 16
