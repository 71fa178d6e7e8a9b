"""Reads AIFB, the knowledge graph of a research institute, from the files of torch_geometric's Entities.

The library itself needs rdflib, and numbers the nodes otherwise in each process. N-Triples
(https://www.w3.org/TR/n-triples/) have one edge in a line.
"""

import csv
import gzip
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from . import attributes
from .catalog import Dataset
from .graph import Graph
from .locate import ENTITIES_FILES
from .relation import NODE, Relation
from .stream import Ints


def read(dataset: Dataset, folder: Path) -> Graph:
    """Read the data set with its split into people to train and to test on from its `raw` folder.

    Each predicate is a relation, the most frequent one first, and followed by its reverse. The people have
    the classes, their research groups; all others have class 0. Features are made up.
    """
    triples, *people = (folder / name for name in ENTITIES_FILES)
    number, edges, relations = _triples(triples)
    members = [_members(file, number) for file in people]
    groups = sorted({group for part in members for group in part.values()})
    y = np.zeros(len(number), dtype=np.int64)
    for part in members:
        y[list(part)] = [groups.index(group) for group in part.values()]
    train, val, test = (np.array(list(part), dtype=np.int64) for part in (members[0], (), members[1]))
    x, (source, edge_type, target) = attributes.made_up(len(number))[0], edges
    types: dict[str, Any] = {"edge_type": edge_type, "relations": relations}
    split = train, val, test
    return Graph.build(dataset.id, source, target, x, y, len(groups), *split, synthetic=False, **types)


def _triples(file: Path) -> tuple[dict[str, int], Ints, tuple[Relation, ...]]:
    """Return the nodes' numbers; sources, positions of relations and targets, int64 [3, M]; relations."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        triples = [
            line.rstrip(" \t\n.").split(maxsplit=2) for line in lines if line.strip() and line[0] != "#"
        ]
    number: dict[str, int] = {}
    for subject, _, value in triples:
        for term in (subject, value):
            number.setdefault(term, len(number))
    frequency = Counter(predicate for _, predicate, _ in triples)
    ranked = sorted(frequency, key=lambda predicate: (-frequency[predicate], predicate))
    position = {predicate: 2 * rank for rank, predicate in enumerate(ranked)}
    forward = [Relation(NODE, f"r{rank}", NODE) for rank in range(len(ranked))]
    edges = np.array([(number[s], position[p], number[o]) for s, p, o in triples], dtype=np.int64).T
    return number, edges, tuple(each for relation in forward for each in (relation, relation.reverse))


def _members(file: Path, number: dict[str, int]) -> dict[int, str]:
    """Return the research group of each person in a table, by the person's number."""
    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    return {number[f"<{row['person']}>"]: row["label_affiliation"] for row in rows}
