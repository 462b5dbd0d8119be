"""What drives a ranking: estimators, each in its own module."""
