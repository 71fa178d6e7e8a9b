"""Profiles of a benchmark: where its time goes."""
