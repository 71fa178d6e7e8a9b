"""Finds benchmarks that run the same code on both sides, by files that earlier processes used."""
