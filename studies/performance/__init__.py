"""Sections of the benchmark: each module measures one group of figures."""
