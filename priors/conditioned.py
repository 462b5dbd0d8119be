"""What conditioning yields: draws with their diagnostics, and the whole posterior where wanted."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from priors.diagnostics import Diagnostics, SummaryRow
from priors.draws import Draws
from priors.importance import LeftOut
from priors.predictive_check import PredictiveCheck

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True, slots=True, kw_only=True)
class Posterior:
    """Draws of the target system's parameters, given the evidence.

    Parameters
    ----------
    draws
        The kept draws, chain after chain.
    diagnostics
        Of the unthinned chains.
    summary
        Prior against posterior, the target's parameters first.
    digest
        Of everything that determines the draws.
    notes
        What a reader should be told, one sentence each.
    netcdf
        The whole posterior on disk, None where it is not cached.
    build
        Makes the tree where it is not on disk.
    left_out
        The draws weighted for the posterior without each observation.
    checks
        Of every observation against what the posterior predicts.
    """

    draws: Draws
    diagnostics: Diagnostics
    summary: tuple[SummaryRow, ...]
    digest: str
    notes: tuple[str, ...]
    netcdf: Path | None
    build: "Callable[[], xr.DataTree] | None"
    left_out: tuple[LeftOut, ...] = ()
    checks: tuple[PredictiveCheck, ...] = ()

    def tree(self) -> "xr.DataTree":
        """The ArviZ object: posterior, prior, predictive groups, data, sampler statistics."""
        import xarray as xr

        if self.netcdf is None:
            assert self.build is not None
            return self.build()
        with xr.open_datatree(self.netcdf, engine="h5netcdf") as tree:
            return tree.load()

    def write_netcdf(self, path: Path) -> None:
        """Save the ArviZ object as netCDF."""
        if self.netcdf is not None:
            shutil.copyfile(self.netcdf, path)
        else:
            self.tree().to_netcdf(path, engine="h5netcdf")
