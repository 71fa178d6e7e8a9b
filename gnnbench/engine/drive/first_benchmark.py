"""Generates benchmarks of a repository's operations, with guessed arguments, and keeps those that run."""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import product, zip_longest
from typing import Any

from ..ground.errors import one_line
from ..ground.files import scratch
from ..process.variants.command import end, running
from . import rehearsal
from .adopt import template
from .survey import OF_GRAPHS, Operation, Parameter, Survey

_HANGING_SECONDS = 300.0
"""A process is ended after this time. Importing torch took 8 s on a quiet machine."""
_LONGEST = 120
"""Largest number of characters in a reason."""
_IMPORTS = {"dgl": "import dgl", "Data": "from torch_geometric.data import Data"}
_TENSOR = re.compile(r"Tensor\b|\bAdj\b|ndarray|NDArray|ArrayLike|Array\b")
_ARRAY = re.compile(r"ndarray|NDArray|ArrayLike|Array\b")
_COUNTS = {
    r"head": "4",
    r"layer|depth|block|hop|step|iter|order|repeat|^[kn]$": "2",
    r"kernel|relation|groups": "3",
    r"node|vocab|num_embeddings|dim_size|segments|^num$": "NODES",
    r"^dim$|axis": "0",
    r"in_|out_|hid|dim|feat|chan|size|width|unit|emb|model|class|^(in|out|c|d|f)$": "FEATURES",
}
"""Values of integer parameters, by a pattern of the parameter's name."""
_PLAIN = {"int": "4", "float": "0.5", "bool": "True"}
_FRACTION = re.compile(r"eps|alpha|beta|gamma|drop|rate|^p$|slope|scale|temperature|momentum|tau")
_SHAPES = {
    "torch": (
        "values(NODES, FEATURES)",
        "values(FEATURES, FEATURES)",
        "values(32, 128, FEATURES)",
        "values(8, FEATURES, 32, 32)",
        "values(8, 3, 32, 32)",
        "values(NODES)",
        "indices(32, 128)",
    ),
    "numpy": ("values(NODES)", "values(NODES, FEATURES)", "values(FEATURES, FEATURES)"),
}
"""Arrays to try one after the other: matrices, sequences, images and vectors."""
_WEIGHT_SHAPES = ("values(FEATURES, FEATURES)", "values(FEATURES)", "")
"""Weights to try with each of these arrays. An empty text stands for the shape of the array."""
_NAMED_DATA = {
    r"edge_index|edges|adj_t": "indices(2, EDGES)",
    r"adj\w*|laplacian": "values(NODES, NODES)",
    r"edge_(attr|feat)\w*": "values(EDGES, FEATURES)",
    r"edge_\w+": "values(EDGES)",
    r"labels?|targets?": "indices(NODES) % FEATURES",
    r"\w*mask": "values(NODES) > 0",
    r"pos|coords?|xyz": "values(NODES, 3)",
}
"""Values of arrays, by the name of the parameter."""
_INDICES = re.compile(r"ind(ex|ices)|idx|ids|row|col|batch|labels?|targets?|tokens?|segments?|assign\w*")
_WEIGHT = re.compile(r"[wW]\d?|(\w+_)?weights?")
_SHAPE = re.compile(r"\b(?:values|indices)\((.*?)\)")
_DATA = re.compile(
    r"[abhuvwxyz]\d?|\w*arr|\w*array|tensor|values?|data|signal|series|mat|\w*matrix|im|img|image|inputs?|samples?"
    r"|points?|feats?|features?|vec|vector|(\w+_)?weights?|\w*bias|q|query|key|src|source|logits|preds?|pos|coords|xyz"
    r"|edge_\w+|adj",
    re.IGNORECASE,
)
"""Names of parameters that count as arrays if they have no annotation."""


class _UnknownError(Exception):
    """No value can be guessed for a parameter."""


@dataclass(frozen=True)
class _Candidate:
    """An operation whose arguments could be guessed."""

    operation: Operation
    imports: Sequence[str]
    alternatives: Sequence[Sequence[str]]
    """Lists of tests as text, one list for each shape of array. The first test of a list times a call."""


@dataclass(frozen=True)
class Written:
    """A file of benchmarks."""

    text: str
    cannot: Sequence[str]
    """A line for each file or operation that gets no benchmark, with the reason."""
    untried: Sequence[str]
    """The names of operations that could also be timed, but were not tried."""
    is_example: bool
    """Whether the file times an example, because no operation runs."""


def write(survey: Survey) -> Written:
    """Return benchmarks of operations whose arguments can be guessed from annotations, names and defaults."""
    library = "torch" if survey.imports("torch") and find_spec("torch") else "numpy"
    cannot = [tree for tree in survey.trees.values() if isinstance(tree, str)]
    layers: list[_Candidate] = []
    functions: list[_Candidate] = []
    unknown: list[str] = []
    for operation in survey.operations:
        try:
            if candidate := _candidate(operation, library):
                (functions if operation.constructor is None else layers).append(candidate)
        except _UnknownError as error:
            if operation.constructor is not None or any(map(_is_data, operation.parameters)):
                unknown.append(f"{operation.place}: {operation.name}: no value known for parameter {error}")
    candidates = [candidate for pair in zip_longest(layers, functions) for candidate in pair if candidate]
    start = template(f"benchmark_{library}.py.txt")
    imports: set[str] = set()
    tests: list[str] = []
    results = _rehearse(survey, start, candidates)
    for candidate, result in zip(candidates, results, strict=False):
        tests += result["passed"]
        if result["passed"]:
            imports.update(candidate.imports)
        else:
            reason = one_line(result["why"])[:_LONGEST]
            cannot.append(f"{candidate.operation.place}: {candidate.operation.name}: {reason}")
    beginning = start.replace("# imports", "\n".join(sorted(imports)))
    blocks = (beginning, *(tests or [template(f"example_{library}.py.txt")]))
    body = "\n\n\n".join(block.strip() for block in blocks)
    untried = [candidate.operation.name for candidate in candidates[len(results) :]]
    return Written(f"{body}\n", [*cannot, *unknown], untried, is_example=not tests)


def _candidate(operation: Operation, library: str) -> _Candidate | None:
    """Return an operation with tests for several shapes of arrays. None if it takes no array and no graph."""
    constructor = ", ".join(
        f"{parameter.name}={_number(parameter)}" for parameter in operation.constructor or ()
    )
    alternatives = {}
    for shapes in product(_SHAPES[library], _WEIGHT_SHAPES):
        values = {
            parameter: _data(parameter, operation, shapes, library) for parameter in operation.parameters
        }
        call = ", ".join(f"{key.name}={value}" if key.is_keyword else value for key, value in values.items())
        guesses = ", ".join(f"{key.name} {value}" for key, value in values.items())
        alternatives[call] = _tests(operation, constructor, call, _SHAPE.sub(r"[\1]", guesses))
    if not re.search(r"values\(|indices\(|graph\(", call):
        return None
    extra = [line for name, line in _IMPORTS.items() if re.search(rf"\b{name}\b", call)]
    imports = [*extra, f"from {operation.module} import {operation.name}"]
    return _Candidate(operation, imports, list(alternatives.values()))


def _tests(operation: Operation, constructor: str, call: str, guesses: str) -> list[str]:
    """Return a test of a call and, for a model, a test of a training step."""
    texts = template("function.py.txt" if operation.constructor is None else "model.py.txt").split("\n\n\n")
    words = {"NAME": operation.name, "MADE": constructor, "GIVEN": call, "GUESSED": guesses}
    return [re.sub("|".join(words), lambda word: words[word[0]], text) for text in texts]


def _number(parameter: Parameter) -> str:
    """Return the text of a value for a parameter that is not an array."""
    kind = re.split(r"\W", re.sub(r"^(typing\.)?(Optional|Union)\[", "", parameter.annotation))[0]
    if kind in ("", "int"):
        for pattern, value in _COUNTS.items():
            if re.search(pattern, parameter.name):
                return value
    if not kind and _FRACTION.search(parameter.name):
        kind = "float"
    if kind in _PLAIN:
        return _PLAIN[kind]
    raise _UnknownError(": ".join(filter(None, (parameter.name, parameter.annotation))))


def _data(parameter: Parameter, operation: Operation, shapes: tuple[str, str], library: str) -> str:
    """Return the text of a value for a parameter of a call: a graph, an array or a number."""
    if re.search(r"DGL.*Graph", parameter.annotation) or (
        "dgl" in operation.libraries and re.fullmatch("g|graph|block", parameter.name)
    ):
        return "dgl.add_self_loop(dgl.rand_graph(NODES, EDGES)).to(DEVICE)"
    if re.fullmatch(r"Data|Batch", parameter.annotation) or (
        "torch_geometric" in operation.libraries and (parameter.name, parameter.annotation) == ("data", "")
    ):
        return "Data(x=values(NODES, FEATURES), edge_index=indices(2, EDGES))"
    is_model = operation.constructor is not None and not re.match(r"num_|n_|dim|axis|\w*size", parameter.name)
    if not _is_data(parameter) and (parameter.annotation or not is_model):
        return _number(parameter)
    value = _array(parameter.name, operation, *shapes)
    return f"({value}).cpu().numpy()" if library == "torch" and _ARRAY.search(parameter.annotation) else value


def _is_data(parameter: Parameter) -> bool:
    """Return whether a parameter is an array, by its annotation, or by its name if it has no annotation."""
    if parameter.annotation:
        return _TENSOR.search(parameter.annotation) is not None
    return bool(_DATA.fullmatch(parameter.name) or _INDICES.fullmatch(parameter.name))


def _array(name: str, operation: Operation, shape: str, weight: str) -> str:
    """Return the text of an array for a parameter of an operation."""
    names = [parameter.name for parameter in operation.parameters]
    if re.fullmatch(r"b\d?|\w*bias", name) and "a" not in names:
        return "values(FEATURES)"
    for pattern, value in _NAMED_DATA.items():
        if re.fullmatch(pattern, name):
            return value
    if {"src", "source"} & {*names}:
        return "indices(EDGES)" if _INDICES.fullmatch(name) else "values(EDGES, FEATURES)"
    if _INDICES.fullmatch(name):
        return "indices(NODES)"
    if OF_GRAPHS & {*names}:
        return _SHAPES["torch"][0]
    return weight or shape if _WEIGHT.fullmatch(name) else shape


def _rehearse(survey: Survey, start: str, candidates: Sequence[_Candidate]) -> list[Mapping[str, Any]]:
    """Run candidates in another process until enough of them have passed; return the outcome of each."""
    request = {
        "root": str(survey.root),
        "start": start,
        "operations": [("\n".join(candidate.imports), candidate.alternatives) for candidate in candidates],
    }
    with scratch() as files:
        file = files / "operations.json"
        file.write_text(json.dumps(request), encoding="utf-8")
        command = [sys.executable, rehearsal.__file__, str(file)]
        with running(command, survey.folder, os.environ, subprocess.DEVNULL) as process:
            timer = threading.Timer(_HANGING_SECONDS, end, [process])
            timer.daemon = True  # does not delay the exit after Ctrl-C
            timer.start()
            assert process.stdout
            results = [json.loads(line) for line in process.stdout if line.endswith("\n")]
            timer.cancel()
    return results
