"""Failures of published fleets: counts, rates and ETTR predicted from the other fleets."""
