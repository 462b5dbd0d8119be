"""Studies: commands that put the parts together to answer one question each."""
