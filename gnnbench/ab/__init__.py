"""Two variants of the code, timed in turns on one machine."""
