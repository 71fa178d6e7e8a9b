"""Runs other versions of the code, or of its settings, in child processes, and shards on a cluster."""
