"""Changes in a history of runs: `gnnbench trend`."""
