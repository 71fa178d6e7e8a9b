"""Measurement in one process: clocks, copies of inputs, timing, counters and fingerprints."""
