"""Profiles of a benchmark: where its time and memory go."""
