"""Two variants timed in turns: `gnnbench ab`."""
