"""Runs comparisons: starts processes, inspects and times benchmarks in them, and collects the verdicts."""
