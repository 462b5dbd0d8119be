"""The experiments of the published study: each a function from inputs to a table."""
