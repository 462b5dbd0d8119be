"""Tests of Fundworthy, mirroring its packages."""
