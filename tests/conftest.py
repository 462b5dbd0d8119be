"""Settings that every test runs with."""

import os

from hypothesis import settings

# A busy machine is no fault of the code: examples have no deadline. CI draws the same each time.
settings.register_profile(
    "project",
    parent=settings.get_profile("ci" if os.environ.get("CI") else "default"),
    deadline=None,
)
settings.load_profile("project")
