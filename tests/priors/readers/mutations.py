"""Seeds of each reader, and what must hold of any text that a reader is given."""

import math
import tempfile
from pathlib import Path

from model.errors import InputError
from priors.readers.found import options_for
from priors.readers.registry import read_file
from tests.priors.readers.files import REFERENCE
from tests.priors.readers.test_failure_table import INTERVALS, OUTAGES
from tests.priors.readers.test_properties import TEXTS

FOUNDRY = "".join(
    f"[batch={n}/900]:\n\t Train throughput/batches_per_sec: 0.1{n}\n"
    f"\t Train throughput/device/tokens_per_sec: 12{n}.5\n"
    for n in range(100, 500, 50)
)
GOODPUT = (
    '{"goodput_time": {"TOTAL": 9e4}, "badput_time": {"OTHER": 1e3, "X": {"y": 2}}, "goodput": 90}'
)
NCCL_JSON = (
    '{"version": 2, "args": ["all_reduce_perf"], "results": [{"size": 17179869184, "redop": "sum",'
    ' "out_of_place": {"alg_bw": 100.5, "bus_bw": 188.4, "nwrong": 0}, "in_place": null}]}'
)

SEEDS = {
    "sacct": TEXTS["sacct"],
    "goodput": GOODPUT,
    "megatron": TEXTS["megatron"],
    "nemo": TEXTS["nemo"],
    "maxtext": TEXTS["maxtext"],
    "torchtitan": TEXTS["torchtitan"],
    "llm-foundry": FOUNDRY,
    "deepspeed": TEXTS["deepspeed"],
    "nccl-tests": TEXTS["nccl"],
    "failure-table": OUTAGES + INTERVALS,
}
MORE = {
    "nccl-tests": [NCCL_JSON],
    "failure-table": [
        OUTAGES,
        INTERVALS,
        '[{"host": "a", "start": 1736071200, "end": "5 Jan 2025 11:00", "cause": "GPU"}]',
        "Date,Time,Node,TTR (h),Hardware,Network\n1/25/2025,10:00,a,2:30,GPU,\n",
    ],
    "sacct": [
        "JobID          State    Elapsed\n-------- ---------- ----------\n"
        "1         NODE_FA+   06:00:00\n",
        '{"jobs": [{"job_id": 1, "state": {"current": ["NODE_FAIL"]}, "allocation_nodes": '
        '{"set": true, "number": 4}, "time": {"elapsed": 9, "start": 1735689600, "end": '
        "1735711200}}]}",
    ],
    "goodput": [
        '[{"metric_type": "workload/goodput_time", "value": 9, "metric_labels": {"goodput_source": '
        '"TOTAL"}}, {"metric": {"type": "workload/badput_time", "labels": {"badput_source": '
        '"OTHER"}}, "points": [{"interval": {"endTime": "2025"}, "value": {"doubleValue": 1.0}}]}]'
    ],
    "nemo": [
        "Epoch 1: : 7%|#| 20/300 [1:03<9:00, global_step=1.5e+3, train_step_timing in s=1.900]\n"
        * 2
    ],
    "deepspeed": [
        "[t] 0/10, SamplesPerSec=83.4\n[t] 0/20, SamplesPerSec=83.9\n",
        "steps: 10 loss: 7.1 iter time (s): 3.911 samples/sec: 32.8\n" * 2,
    ],
    "llm-foundry": [
        "[token=52428/9999]:\n\t Train time/batch: 3\n\t Train time/sample: 30\n"
        "\t Train throughput/batches_per_sec: 0.0027\n\t Train throughput/samples_per_sec: 0.027\n"
    ],
}

FOUND = {
    # A row whose batch is padded by a separator that str.strip takes and int does not.
    "megatron": [
        TEXTS["megatron"].replace("global batch size:    64", "global batch size:    \x1e64"),
        # TFLOP/s of zero beside a time: no FLOPs of a token to compare with the scenario's.
        TEXTS["megatron"].replace("(TFLOP/s/GPU): 228.1", "(TFLOP/s/GPU): 0.0"),
        TEXTS["megatron"].replace("(TFLOP/s/GPU): 228.1", "(TFLOP/s/GPU): 1e-320"),
    ],
    # An interrupted job without a time: an event, and no exposure.
    "sacct": ["JobID|State|Elapsed|NNodes\n77|REQUEUED|00:00:00|16\n"],
    "goodput": ['{"goodput_time": {"TOTAL": 0e4}, "badput_time": {"OTHER": 0e3}}'],
    # A superscript is a digit and no number.
    "nccl-tests": [TEXTS["nccl"].replace("  0  2285.0", "  \u00b20  2285.0")],
}
"""Inputs that fuzzing found a reader to fail on."""

OPTIONS = options_for(REFERENCE)


def check(form, data):
    """A text is read or refused; what is read is finite, and no answer comes without a word."""
    with tempfile.NamedTemporaryFile(suffix=".log") as file:
        Path(file.name).write_bytes(data)
        try:
            found = read_file(file.name, OPTIONS, form=form)
            _ = found.observations
        except InputError:
            return
    assert found.measures
    assert all(math.isfinite(measure.value) for measure in found.measures)
    assert found.drafts or found.withheld
