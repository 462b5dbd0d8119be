"""Tests of the accounting model."""
