"""Watches a package or repository: compares each version with the one before it, and saves the results."""
