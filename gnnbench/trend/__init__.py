"""A history of runs: what changed in it, when, and how surely."""
