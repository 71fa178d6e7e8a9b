"""Measurements to verdicts: slower, faster, same, undecided, incomparable or ignored."""
