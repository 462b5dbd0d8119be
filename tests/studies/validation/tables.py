"""CSV tables of invented systems, in the columns of the published ones."""

from collections.abc import Mapping, Sequence
from pathlib import Path

ROW: Mapping[str, object] = {
    "system": "Acme 20B",
    "source": "Invented",
    "accelerator": "A100-80 SXM",
    "peak_tflops_bf16": 312,
    "n_accelerators": 64,
    "nic_gbps": 200,
    "scaleup_domain": 8,
    "scaleup_gbps": 2400,
    "n_params": 20e9,
    "n_layers": 44,
    "hidden": 6144,
    "n_heads": 64,
    "seq_len": 2048,
    "vocab": 51200,
    "tp": 4,
    "pp": 2,
    "cp": 1,
    "dp": 8,
    "micro_batch": 2,
    "global_batch_seqs": 512,
    "interleave_factor": 1,
    "recompute": "full",
    "seconds_per_step": 14.0,
    "reported": 14.0,
    "reported_unit": "s per step",
    "flop_convention": "",
    "derived": "",
}

FLEET: Mapping[str, object] = {
    "fleet_id": "acme",
    "system": "Acme",
    "source": "Invented",
    "accelerators": 4096,
    "nodes": 512,
    "days": 30,
    "events": 61,
    "event_definition": "job interruption, all causes",
    "is_measurement": "True",
    "ettr_or_goodput": "",
}


def write(path: Path, rows: Sequence[Mapping[str, object]], *, delimiter: str = ",") -> Path:
    """Write rows under the union of their columns."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    lines = [delimiter.join(columns)]
    lines += [
        delimiter.join(_quoted(row.get(name, ""), delimiter) for name in columns) for row in rows
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _quoted(value: object, delimiter: str) -> str:
    text = str(value)
    return f'"{text}"' if delimiter in text or '"' in text else text
