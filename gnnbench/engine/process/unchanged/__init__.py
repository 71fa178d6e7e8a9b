"""Finds benchmarks that run the same code on both sides, from records of what earlier processes used."""
