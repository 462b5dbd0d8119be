"""Raw results of the published study that no shared table holds.

Source: results/raw of the study's repository (`dimaggi-ai/network-vs-more-gpus`, MIT licence,
version 1.0.0): the columns of e3 to e6 and e8 that its claims rest on, and samples of e9.
"""

from pathlib import Path

import numpy as np
import pandas as pd

FOLDER = Path(__file__).parent / "published"


def published(name: str) -> pd.DataFrame:
    """One of the tables of the folder."""
    return pd.read_csv(FOLDER / name)


def differing(computed: pd.DataFrame, table: pd.DataFrame) -> dict[str, int]:
    """Rows that differ, by column of the published table.

    1e-9 relative, what both sides hold conservation to; near zero 1e-9 accelerators.
    """
    assert len(computed) == len(table)
    found = {}
    for name in table:
        ours, theirs = computed[name], table[name]
        if theirs.dtype.kind in "fi":
            same = np.isclose(ours, theirs, rtol=1e-9, atol=1e-9, equal_nan=True)
        else:
            same = (ours == theirs).to_numpy()
        if not same.all():
            found[name] = int((~same).sum())
    return found
