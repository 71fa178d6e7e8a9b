"""The benchmarked graphs: published data sets, their synthetic stand-ins, random graphs and files."""
