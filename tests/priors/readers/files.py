"""Files as planners have them, in small, and one way to read them."""

from priors.readers.found import ReadOptions, options_for
from priors.readers.registry import read_file

REFERENCE = "reference_405b_16k"

MEGATRON_MS = (5912.1, 5571.1, 5718.9, 5444.9, 5533.8, 5718.6, 5361.6, 5470.7, 5829.9)
MEGATRON_TFLOPS = (220.9, 234.4, 228.3, 239.8, 236.0, 228.4, 243.6, 238.7, 224.0)

NCCL_24 = """\
# nThread 1 nGpus 1 minBytes 33554432 maxBytes 536870912 step: 2(factor) warmup iters: 5 iters: 20
#
#  size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw
#  (B)  (elements)  (us)  (GB/s)  (GB/s)  (us)  (GB/s)
  33554432  8388608  float  sum  -1  2180.0  15.39  29.50  0  2285.0  14.68  28.14  0
  67108864  16777216  float  sum  -1  24405  2.75  5.27  0 n3:991:1200 [4] NCCL INFO Channel 01
  268435456  67108864  float  sum  -1  125792  2.13  4.09  0  121463  2.21  4.23  0
  536870912  134217728  float  sum  -1  193813 n3:991:1200 [4] NCCL INFO comm 0x55 rank 4
    2.77    5.31      0   193119    2.78    5.33      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 11.69
"""

NCCL_16 = """\
  17179869184  4294967296  float  sum  -1  66132  259.78  487.09  0  66109  259.87  487.26  0
"""

SACCT = """\
JobID|State|Elapsed|NNodes
77|REQUEUED|01:04:49|16
77|REQUEUED|01:14:33|16
77|REQUEUED|01:42:02|16
77|REQUEUED|00:35:53|16
77|COMPLETED|1-00:00:00|16
"""


def megatron_row(step, ms, *, tflops=None, prefix="", batch=64):
    flops = "" if tflops is None else f" throughput per GPU (TFLOP/s/GPU): {tflops} |"
    return (
        f"{prefix} iteration {step:8d}/  500000 | consumed samples: {step * batch:12d} |"
        f" elapsed time per iteration (ms): {ms:.1f} |{flops} learning rate: 1.0E-05 |"
        f" global batch size: {batch:5d} | lm loss: 1.1E+01 | number of nan iterations:   0 |"
    )


def megatron(values_ms, *, first=1, interval=1, **more):
    rows = [megatron_row(first + n * interval, ms, **more) for n, ms in enumerate(values_ms)]
    return "\n".join(rows) + "\n"


def titan_row(step, tps, *, rank=0, mfu="34.30%"):
    return (
        f"[rank{rank}]:\x1b[38;2;9;8;7m[titan] 2025-01-01 10:00:00,000 - root - INFO - "
        f"\x1b[31mstep: {step:2} \x1b[32mloss: 12.1 \x1b[33mmemory: 40.1GiB(42%) "
        f"\x1b[34mtps: {tps:,}  \x1b[36mtflops: 339.5  \x1b[35mmfu: {mfu}\x1b[39m"
    )


def reading(tmp_path, text, *, name="file.log", form="", scenario=None, **said):
    from dataclasses import replace

    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    options = replace(options_for(scenario) if scenario else ReadOptions(), **said)
    return read_file(str(path), options, form=form)


def values_of(found):
    return {measure.name: measure.value for measure in found.measures}
