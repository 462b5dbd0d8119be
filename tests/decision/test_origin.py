"""What a result says it was made with."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from decision import origin

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_commit_of_somebody_elses_checkout_is_not_ours(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    identity = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    subprocess.run(
        ["git", "-C", tmp_path, *identity, "commit", "-q", "--allow-empty", "-m", "theirs"],
        check=True,
    )
    copy = tmp_path / "site-packages"
    (copy / "decision").mkdir(parents=True)
    for name in ("__init__.py", "origin.py"):
        shutil.copy(ROOT / "decision" / name, copy / "decision" / name)
    code = "from decision.origin import git_commit; print(git_commit())"

    def asked() -> str:
        return subprocess.run(
            [sys.executable, "-c", code], cwd=copy, capture_output=True, text=True, check=True
        ).stdout.strip()

    assert asked() == "None"
    # Negative control: tracked, it is the commit that is checked out.
    subprocess.run(["git", "-C", tmp_path, "add", "."], check=True)
    head = subprocess.run(
        ["git", "-C", tmp_path, "rev-parse", "HEAD"], capture_output=True, text=True, check=True
    )
    assert asked() == head.stdout.strip()


def test_code_digest_covers_every_package() -> None:
    assert set(origin._PACKAGES) == {"model", "priors", "decision", "studies", "reports"}
    assert len(origin.code_digest()) == 64
