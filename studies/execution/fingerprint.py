"""What results depend on besides their inputs: code and versions, here and on a worker."""

import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from decision.origin import code_digest, versions

ALSO = ("pandas", "pyarrow")
"""Distributions that results pass through."""

BETWEEN = ("cloudpickle", "dask", "distributed", "msgpack")
"""Distributions that must agree for client, scheduler and workers to understand each other."""

CODE, PYTHON = "code of fundworthy", "python"


def versions_of_results() -> dict[str, str]:
    """Versions of what results and their bytes depend on."""
    return {PYTHON: platform.python_version(), **versions(), **_found(ALSO)}


@cache
def fingerprint() -> dict[str, str]:
    """Everything that must be the same wherever tasks of one study run."""
    return {CODE: code_digest(), **versions_of_results(), **_found(BETWEEN)}


def _found(names: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found
