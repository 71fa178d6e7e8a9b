"""Fingerprints of calls: hashes of the code that runs, of its inputs, and of settings."""
