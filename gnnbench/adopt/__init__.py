"""What a repository needs to begin with gnnbench: found in its source code, which is not run."""
