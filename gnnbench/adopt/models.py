"""Finds the torch modules of a repository, and what their constructors and calls require."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap
from pathlib import PurePath

from .repository import Repository

_TORCH = frozenset({"Module", "MessagePassing", "LightningModule"})
"""Base classes of models, in a file that imports torch or a library on it."""
_LIBRARIES = ("torch", "torch_geometric", "dgl", "lightning", "pytorch_lightning")
_NOT_MODELS = ("test", "tests", "docs", "doc", "example", "examples", "benchmarks", "scripts")
"""Folders whose models are looked at last."""
_GRAPHS = ("edge_index", "adj", "adj_t", "data", "g", "graph")
"""Parameters of `forward` that are a graph."""

_Class = tuple[PurePath, ast.ClassDef]
"""A class and its file."""


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


def find(repository: Repository) -> list[Model]:
    """Return the models of a repository, the likeliest to be measured first.

    First come those that take a graph, then those that no other model makes an instance of.
    """
    classes: dict[str, _Class] = {
        node.name: (path, node)
        for path, tree in repository.sources.items()
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    }
    lines = {name: _lineage(name, classes) for name in classes}

    def is_module(path: PurePath, node: ast.ClassDef) -> bool:
        return not _TORCH.isdisjoint(_bases(node)) and _imports_torch(repository.sources[path])

    names = [name for name, lineage in lines.items() if any(starmap(is_module, lineage))]
    used = {called for name in names for called in _called(classes[name][1]) if called != name}
    public = (_model(repository, lines[name]) for name in names if not name.startswith("_"))

    def order(model: Model) -> tuple[object, ...]:
        elsewhere = any(part in _NOT_MODELS for part in model.path.parts[:-1])
        on_a_graph = any(one in _GRAPHS for one in model.inputs)
        return elsewhere, not on_a_graph, model.name in used, model.path, model.line

    return sorted(filter(None, public), key=order)


def _lineage(name: str, classes: Mapping[str, _Class]) -> list[_Class]:
    """Return a class and its bases in the repository, in the order in which methods are looked up."""
    found: dict[str, _Class] = {}
    waiting = [name]
    while waiting:
        name = waiting.pop(0)
        if name in classes and name not in found:
            found[name] = classes[name]
            waiting[:0] = _bases(classes[name][1])
    return list(found.values())


def _bases(node: ast.ClassDef) -> list[str]:
    return [name for base in node.bases if (name := _last(base))]


def _last(node: ast.expr) -> str | None:
    """Return the last part of a dotted name: `Module` of `torch.nn.Module`."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else None


def _imports_torch(tree: ast.Module) -> bool:
    nodes = list(ast.walk(tree))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    return any(name.partition(".")[0] in _LIBRARIES for name in names)


def _called(node: ast.ClassDef) -> Iterator[str]:
    yield from (name for one in ast.walk(node) if isinstance(one, ast.Call) and (name := _last(one.func)))


def _model(repository: Repository, lineage: Sequence[_Class]) -> Model | None:
    """Return a model; None: it has no `forward` in the repository, or its file cannot be imported."""
    path, node = lineage[0]
    module, forward = repository.module(path), _method("forward", lineage)
    if module is None or forward is None:
        return None
    constructor = _method("__init__", lineage)
    return Model(
        module,
        node.name,
        path,
        node.lineno,
        _required(constructor) if constructor else [],
        _required(forward),
        returns_one=not any(
            isinstance(one, ast.Return) and isinstance(one.value, (ast.Tuple, ast.Dict, ast.List))
            for one in ast.walk(forward)
        ),
    )


def _method(name: str, lineage: Sequence[_Class]) -> ast.FunctionDef | None:
    nodes = (one for _, node in lineage for one in node.body)
    return next((one for one in nodes if isinstance(one, ast.FunctionDef) and one.name == name), None)


def _required(function: ast.FunctionDef) -> list[str]:
    """Return the parameters without a default; not `self`."""
    given = function.args
    positional = [one.arg for one in (*given.posonlyargs, *given.args)]
    named = zip(given.kwonlyargs, given.kw_defaults, strict=True)
    return [
        *positional[1 : len(positional) - len(given.defaults)],
        *(one.arg for one, default in named if default is None),
    ]
