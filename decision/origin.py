"""What a result was made with: versions, code and commit."""

import hashlib
import subprocess
from functools import cache
from importlib import metadata
from pathlib import Path

VERSIONED = ("fundworthy", "numpy", "scipy", "pymc", "pytensor", "nutpie", "numba", "arviz")
"""Distributions whose version may change a number."""

_PACKAGES = ("model", "priors", "decision", "studies", "reports")


def versions() -> dict[str, str]:
    """Versions of what a number depends on."""
    return {name: _version(name) for name in VERSIONED}


@cache
def _version(name: str) -> str:
    """Version of a distribution, which takes a while to find."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


@cache
def code_digest() -> str:
    """SHA-256 of the project's own modules and templates."""
    root = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256()
    for package in _PACKAGES:
        for path in sorted((root / package).rglob("*")):
            if path.is_file() and path.suffix in (".py", ".yaml", ".md"):
                digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


@cache
def git_commit() -> str | None:
    """Commit of the code, None outside a checkout.

    An environment that lies inside somebody else's checkout is none: this file must be tracked.
    """
    here = Path(__file__).resolve()

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", str(here.parent), *arguments],
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
        ).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", here.name)
        return git("rev-parse", "HEAD")
    except (OSError, subprocess.SubprocessError):
        return None
