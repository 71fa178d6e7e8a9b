"""Table, page and charts of `gnnbench trend`."""
