"""From draws to a ranking of options, its risk and its Monte Carlo error."""
