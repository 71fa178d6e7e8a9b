"""Saved measurements: run files and baselines, written and read."""
