"""The benchmarked operations, platforms and graphs, and the check of their results."""
