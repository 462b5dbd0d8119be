"""Shipped catalogues of priors."""
