"""The graphs that are measured: named data sets, their synthetic twins, files and random graphs."""
