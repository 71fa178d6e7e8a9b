"""Finds the commit or release that changed the times or outputs of benchmarks."""
