"""Shipped published measurements."""
