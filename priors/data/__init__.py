"""Documents shipped with the package."""
