"""Shipped rules of which interventions go together."""
