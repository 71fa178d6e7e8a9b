"""What a repository needs to begin with gnnbench."""
