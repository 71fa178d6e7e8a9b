"""Benchmarks that run the same code on both sides, as is known from files, without a process."""
