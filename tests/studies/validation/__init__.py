"""Validation against published systems."""
