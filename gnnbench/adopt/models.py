"""Finds the torch modules of a repository, and what their constructors and calls take, by their names."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from .repository import Repository, Source

_TORCH = ("Module", "MessagePassing", "LightningModule")
"""Base classes of models, in a file that imports torch or a library on it."""
_LIBRARIES = ("torch", "torch_geometric", "dgl", "lightning", "pytorch_lightning")
_NOT_MODELS = ("test", "tests", "docs", "doc", "example", "examples", "benchmarks", "scripts")
"""Folders whose models are looked at last."""

SIZES: Mapping[str, str] = {
    "LAYERS": r"layers?$|depth|hops|^k$|num_convs",
    "HEADS": r"head",
    "RELATIONS": r"relation|num_rels",
    "CLASSES": r"out|class|label|target|num_tasks",
    "NODES": r"num_(nodes|entities)|n_nodes",
    "EDGE_FEATURES": r"edge",
    "HIDDEN": r"hid|emb|width|d_model|units|^dim$|^channels$",
    "FEATURES": r"in_|_in$|^in$|input|feat|^n_?f|num_node",
}
"""Constants of a benchmark: the names of parameters that they are given to. The first that fits counts."""
_FRACTIONS: Mapping[str, str] = {"0.5": r"drop|^p$", "0.2": r"alpha|slope", "True": r"concat|bias|residual"}

INPUTS: Mapping[str, str] = {
    "x": r"^(x|h|feats?|features?|inputs?|node_?(feats?|features?)|n?feat|x_in|emb|embeddings?)$",
    "edge_index": r"^(edge_index|edges|edge_list|edge_idx|ei)$",
    "edge_weight": r"^(edge_weights?|weights?|edge_norm|norm)$",
    "edge_type": r"^(edge_types?|etypes?|rel|relations?)$",
    "edge_attr": r"^(edge_(attr|feats?|features?)|efeat)$",
    "adjacency": r"^(adj|adj_t|adjacency|adj_matrix|a)$",
    "batch": r"^(batch|batch_index)$",
    "data": r"^data$",
    "graph": r"^(g|graph)$",
}
"""Inputs that a benchmark can make: the names of the parameters of `forward` that they are given to."""
_OF_A_GRAPH = ("edge_index", "adjacency", "data", "graph")


@dataclass(frozen=True)
class Model:
    """A class, and how a benchmark makes and calls an instance."""

    module: str
    """By which it is imported."""
    name: str
    path: PurePath
    """Its file, from the top of the repository."""
    line: int
    arguments: Mapping[str, str]
    """Of the constructor: expressions by the parameter's name, constants in `SIZES` among them."""
    inputs: Sequence[str]
    """Of a call, in order: names in `INPUTS`."""
    unknown: Sequence[str] = ()
    """Parameters whose meaning the names do not tell; a benchmark cannot be written then."""
    returns_one: bool = True
    """Whether a call returns no tuple, as far as the code says."""

    @property
    def place(self) -> str:
        """Module and class, as `--model` takes them."""
        return f"{self.module}:{self.name}"

    @property
    def on_a_graph(self) -> bool:
        """Whether a call takes a graph."""
        return any(one in _OF_A_GRAPH for one in self.inputs)


@dataclass(frozen=True)
class _Class:
    source: Source
    node: ast.ClassDef
    bases: Sequence[str]


def find(repository: Repository) -> list[Model]:
    """Return the models of a repository, the likeliest to be measured first.

    First come those that take a graph, then those that no other model makes an instance of.
    """
    classes = {one.node.name: one for source in repository.sources for one in _classes(source)}
    names = {name for name in classes if _is_module(name, classes)}
    used = {name for one in names for name in _called(classes[one].node) if name != one}
    found = [
        model
        for name in names
        if not name.startswith("_") and (model := _model(repository, classes, name)) is not None
    ]

    def order(model: Model) -> tuple[object, ...]:
        elsewhere = any(part in _NOT_MODELS for part in model.path.parts[:-1])
        return (
            bool(model.unknown),
            elsewhere,
            not model.on_a_graph,
            model.name in used,
            model.path,
            model.line,
        )

    return sorted(found, key=order)


def _classes(source: Source) -> Iterator[_Class]:
    for node in source.tree.body:
        if isinstance(node, ast.ClassDef):
            yield _Class(source, node, [name for base in node.bases if (name := _last(base))])


def _last(node: ast.expr) -> str | None:
    """Return the last part of a dotted name: `Module` of `torch.nn.Module`."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else None


def _is_module(name: str, classes: Mapping[str, _Class], seen: frozenset[str] = frozenset()) -> bool:
    if name not in classes or name in seen:
        return False
    one = classes[name]
    if any(base in _TORCH for base in one.bases) and _imports_torch(one.source.tree):
        return True
    return any(_is_module(base, classes, seen | {name}) for base in one.bases)


def _imports_torch(tree: ast.Module) -> bool:
    names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return any(name.partition(".")[0] in _LIBRARIES for name in names)


def _called(node: ast.ClassDef) -> Iterator[str]:
    yield from (name for one in ast.walk(node) if isinstance(one, ast.Call) and (name := _last(one.func)))


def _model(repository: Repository, classes: Mapping[str, _Class], name: str) -> Model | None:
    """Return a model; None: it has no `forward` in the repository, or its file cannot be imported."""
    one = classes[name]
    module = repository.module(one.source.path)
    forward = _method(name, "forward", classes)
    if module is None or forward is None:
        return None
    constructor = _method(name, "__init__", classes)
    arguments = {key: _value(key) for key in (_required(constructor) if constructor else ())}
    inputs = {key: _first(INPUTS, key) for key in _required(forward)}
    return Model(
        module,
        name,
        one.source.path,
        one.node.lineno,
        {key: value for key, value in arguments.items() if value},
        [value for value in inputs.values() if value],
        [key for key, value in {**arguments, **inputs}.items() if value is None],
        returns_one=not any(
            isinstance(node, ast.Return) and isinstance(node.value, (ast.Tuple, ast.Dict, ast.List))
            for node in ast.walk(forward)
        ),
    )


def _method(
    name: str, method: str, classes: Mapping[str, _Class], seen: frozenset[str] = frozenset()
) -> ast.FunctionDef | None:
    """Return the method of a class, or of the first of its bases in the repository that has it."""
    if name not in classes or name in seen:
        return None
    for node in classes[name].node.body:
        if isinstance(node, ast.FunctionDef) and node.name == method:
            return node
    found = (_method(base, method, classes, seen | {name}) for base in classes[name].bases)
    return next(filter(None, found), None)


def _required(function: ast.FunctionDef) -> list[str]:
    """Return the parameters without a default; not `self`."""
    positional = [one.arg for one in (*function.args.posonlyargs, *function.args.args)][1:]
    without = (
        positional[: len(positional) - len(function.args.defaults)] if function.args.defaults else positional
    )
    named = zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
    return [*without, *(one.arg for one, default in named if default is None)]


def _value(name: str) -> str | None:
    return _first(_FRACTIONS, name) or _first(SIZES, name)


def _first(known: Mapping[str, str], name: str) -> str | None:
    return next((key for key, pattern in known.items() if re.search(pattern, name.lower())), None)
