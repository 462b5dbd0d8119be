"""Priors, evidence and the posterior: what is known about the parameters, and how surely."""
