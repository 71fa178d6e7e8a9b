"""Measurements to verdicts: slower, faster, same, undecided or incomparable."""
