"""Child processes in which both sides of a comparison run, and what they run: pairs, workers, variants."""
