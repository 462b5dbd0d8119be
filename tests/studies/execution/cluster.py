"""A Dask cluster of processes that tests start, kill and tamper with."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Self

STARTS_S = 60.0

ROOT = Path(__file__).parents[3]


class Cluster:
    """A scheduler and its workers, each a process of its own.

    Parameters
    ----------
    folder
        For their files.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.processes: list[subprocess.Popen[bytes]] = []
        self.scheduler = self._start(
            "distributed.cli.dask_scheduler",
            "--host=127.0.0.1",
            "--port=0",
            "--no-dashboard",
            "--no-show",
            f"--scheduler-file={folder / 'scheduler.json'}",
        )
        self.address = self._address()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()

    def add_worker(
        self, *, nanny: bool = False, paths: Sequence[Path] = ()
    ) -> subprocess.Popen[bytes]:
        """Start a worker with one thread, whose modules come from these folders first."""
        return self._start(
            "distributed.cli.dask_worker",
            self.address,
            "--nthreads=1",
            "--nanny" if nanny else "--no-nanny",
            "--no-dashboard",
            f"--local-directory={self.folder}",
            paths=paths,
        )

    def _start(
        self, module: str, *arguments: str, paths: Sequence[Path] = ()
    ) -> subprocess.Popen[bytes]:
        with (self.folder / "log.txt").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths or [ROOT]))},
                # `python -m` looks for modules in its working directory before anywhere else.
                cwd=self.folder,
                stdout=log,
                stderr=log,
            )
        self.processes.append(process)
        return process

    def _address(self) -> str:
        file = self.folder / "scheduler.json"
        until = time.monotonic() + STARTS_S
        while time.monotonic() < until:
            try:
                address: str = json.loads(file.read_text())["address"]
            except (OSError, ValueError):
                time.sleep(0.05)
            else:
                return address
        raise TimeoutError(file)
