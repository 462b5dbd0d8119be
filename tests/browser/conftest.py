"""A real browser for what is read in one; without it these tests skip with the reason."""

import shutil
import subprocess

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
"""A browser that does what it is told and calls nobody."""


@pytest.fixture(scope="session")
def browser():
    """One headless Chromium for all tests."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    executable = next(filter(None, map(shutil.which, NAMES)), None)
    if executable is None:
        pytest.skip(f"no Chromium on PATH (looked for {', '.join(NAMES)})")
    # Ubuntu's package is a placeholder that only says where to get one.
    if subprocess.run([executable, "--version"], capture_output=True, check=False).returncode:
        pytest.skip(f"{executable} does not start")
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=executable, headless=True, args=list(FLAGS)
        )
        yield launched
        launched.close()
