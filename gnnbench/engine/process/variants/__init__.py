"""Runs other versions of the code, or other settings, in child processes."""
