"""Measures and compares the benchmarks of any pytest-benchmark suite; it knows no graph."""
