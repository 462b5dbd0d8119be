"""Shipped lists of studies that can be ordered before deciding."""
