"""What changed between two runs of one question, and which input moved the results."""
