"""Graphs as lists of pairs of nodes. versions.py edits this file."""


def degrees(edges, nodes):
    counts = [0] * nodes
    for source, _ in edges:
        counts[source] += 1
    return counts


def without_self_loops(edges):
    return [(source, target) for source, target in edges if source != target]
