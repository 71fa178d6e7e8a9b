"""Finds the torch modules of a repository, and what their constructors and calls require."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from .repository import Project

_TORCH = frozenset({"Module", "MessagePassing", "LightningModule"})
"""Names of the classes that models are derived from."""
_NOT_MODELS = ("test", "tests", "docs", "doc", "example", "examples", "benchmarks", "scripts")
"""Folders whose models are looked at last."""
_GRAPHS = ("edge_index", "adj", "adj_t", "data", "g", "graph")
"""Parameters of `forward` that are a graph."""


@dataclass(frozen=True)
class Model:
    """A class, and what its user must give."""

    module: str
    """By which it is imported."""
    name: str
    path: PurePath
    """Its file, from the top of the repository."""
    line: int
    required: Sequence[str]
    """Parameters of the constructor without a default."""
    inputs: Sequence[str]
    """Those of `forward`."""
    returns_one: bool = True
    """Whether a call returns no tuple, as far as the code says."""

    @property
    def place(self) -> str:
        """Module and class, as `--model` takes them."""
        return f"{self.module}:{self.name}"


def find(repository: Project) -> list[Model]:
    """Return the models of a repository, the likeliest to be measured first.

    They are derived from a torch module by name, and have a `forward` of their own. First come those that
    take a graph, then those that no other model makes an instance of.
    """
    found = {
        model: node
        for path, text in repository.sources.items()
        for node in _parsed(text).body
        if isinstance(node, ast.ClassDef) and (model := _model(repository.module(path), path, node))
    }
    used = {
        name
        for model, node in found.items()
        for one in ast.walk(node)
        if isinstance(one, ast.Call) and (name := _last(one.func)) != model.name
    }

    def order(model: Model) -> tuple[object, ...]:
        elsewhere = any(part in _NOT_MODELS for part in model.path.parts[:-1])
        on_a_graph = any(one in _GRAPHS for one in model.inputs)
        return elsewhere, not on_a_graph, model.name in used, model.path, model.line

    return sorted(found, key=order)


def _parsed(text: str) -> ast.Module:
    """Return the tree of a file; an empty one of what is no Python."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def _last(node: ast.expr) -> str:
    """Return the last part of a dotted name: `Module` of `torch.nn.Module`."""
    return ast.unparse(node).rpartition(".")[2]


def _model(module: str | None, path: PurePath, node: ast.ClassDef) -> Model | None:
    """Return the model that a class is; None: it is none, or cannot be imported."""
    methods = {one.name: one for one in node.body if isinstance(one, ast.FunctionDef)}
    constructor, forward = methods.get("__init__"), methods.get("forward")
    is_torch = not _TORCH.isdisjoint(map(_last, node.bases))
    if module is None or forward is None or node.name.startswith("_") or not is_torch:
        return None
    returned = [one.value for one in ast.walk(forward) if isinstance(one, ast.Return)]
    return Model(
        module,
        node.name,
        path,
        node.lineno,
        _required(constructor) if constructor else (),
        _required(forward),
        returns_one=not any(isinstance(one, (ast.Tuple, ast.Dict, ast.List)) for one in returned),
    )


def _required(function: ast.FunctionDef) -> tuple[str, ...]:
    """Return the parameters without a default; not `self`."""
    given = function.args
    positional = [one.arg for one in (*given.posonlyargs, *given.args)]
    named = zip(given.kwonlyargs, given.kw_defaults, strict=True)
    return (
        *positional[1 : len(positional) - len(given.defaults)],
        *(one.arg for one, default in named if default is None),
    )
