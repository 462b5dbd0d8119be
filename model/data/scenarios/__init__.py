"""Shipped documents."""
