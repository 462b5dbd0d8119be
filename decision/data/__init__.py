"""Documents that ship with the decision layer."""
