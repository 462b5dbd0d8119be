"""Readers of the planner's own files: each turns one format into observations."""
