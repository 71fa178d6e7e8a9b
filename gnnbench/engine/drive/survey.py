"""The operations of a repository that can be timed, read from its sources without importing them."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from pathlib import Path

from ..process.variants.collected import SETTINGS

_NOT_PACKAGE = re.compile(r"bench|(tests?|testing|docs?|examples?|scripts?|tools?)\b|(setup|conftest)$")
"""Beginnings of the names of files and folders that users of a package do not import."""
_IMPORTED = re.compile(r"^\s*(?:from|import) (\w+)", re.MULTILINE)
OF_GRAPHS = frozenset(("edge_index", "edges", "adj_t", "adj", "graph", "g"))
"""Names of parameters that are graphs."""
_HELPER = re.compile(
    r"(get|set|is|has|check|assert|validate|to|from|load|save|read|write|print|plot|show|visuali[sz]e|download"
    r"|parse|register|make|create|build|convert|init\w*)(_|$)"
)
"""Beginnings of the names of functions that rarely take much time."""
_UNUSUAL = re.compile(r"deprecated|overload|fixture|command|property|contextmanager")
"""Decorators of functions that are not called directly."""


@dataclass(frozen=True)
class Parameter:
    """A parameter without a default."""

    name: str
    annotation: str
    """Empty if missing."""
    is_keyword: bool = False


@dataclass(frozen=True)
class Operation:
    """A class with `forward`, or a function, that can be timed."""

    module: str
    name: str
    place: str
    """File and line."""
    libraries: frozenset[str]
    """The packages that its module imports."""
    parameters: Sequence[Parameter]
    """The parameters of a call."""
    constructor: Sequence[Parameter] | None = None
    """The parameters of a class's constructor. None for a function."""


@dataclass(frozen=True)
class Survey:
    """What the sources of a repository contain. They are read at first use."""

    folder: Path

    @cached_property
    def texts(self) -> Mapping[Path, str]:
        return {path: text_of(path) for path in _sources(self.folder)}

    @cached_property
    def root(self) -> Path:
        """The folder from which the repository's code is imported."""
        for name, pattern in (("src", "**/*.py"), ("python", "*/__init__.py")):
            folder = self.folder / name
            is_imported = any(name in _IMPORTED.findall(text) for text in self.texts.values())
            if not is_imported and not (folder / "__init__.py").exists() and any(folder.glob(pattern)):
                return folder
        return self.folder

    @cached_property
    def may_time(self) -> frozenset[Path]:
        """The files with functions that use the fixture `benchmark`, directly or through other fixtures."""
        files: set[Path] = set()
        names, previous = {"benchmark"}, set[str]()
        while names - previous:
            use = re.compile(rf"def (\w+)\([^)]*\b(?:{'|'.join(names - previous)})\b")
            previous |= names
            for path, text in self.texts.items():
                if functions := use.findall(text):
                    files.add(path)
                    fixtures = "fixture" in text
                    names.update(name for name in functions if fixtures and not name.startswith("test"))
        return frozenset(files)

    @cached_property
    def trees(self) -> Mapping[Path, ast.Module | str]:
        """The files that import torch or NumPy: their syntax trees, or why they cannot be parsed."""
        trees: dict[Path, ast.Module | str] = {}
        for path in self._code():
            if not {"torch", "numpy"}.isdisjoint(_IMPORTED.findall(self.texts[path])):
                try:
                    trees[path] = ast.parse(self.texts[path], path.name)
                except (SyntaxError, ValueError) as error:
                    trees[path] = f"{path.relative_to(self.folder)}: {type(error).__name__}: {error}"
        return trees

    @cached_property
    def operations(self) -> list[Operation]:
        """Classes with `forward`, and functions. Public operations that take graphs come first."""
        inits = " ".join(self.texts[path] for path in self.texts if path.stem == "__init__")
        public = frozenset(re.findall(r"\w+", inits))
        unique: dict[str, Operation] = {}
        for path, tree in self.trees.items():
            names = self._names(path)
            prefix = tuple(takewhile(lambda name: not name.startswith("_"), names))
            is_package = (path.parent / "__init__.py").exists()
            if isinstance(tree, ast.Module) and prefix and (is_package or not any(map(_runs, tree.body))):
                libraries = frozenset(_IMPORTED.findall(self.texts[path]))
                place = path.relative_to(self.folder).as_posix()
                init_file = path.parents[len(names) - len(prefix) - 1] / "__init__.py"
                exports = re.findall(r"\w+", self.texts.get(init_file, ""))
                for operation in _operations(".".join(prefix), place, libraries, tree):
                    if prefix == names or operation.name in exports:
                        unique.setdefault(operation.name, operation)

        def key(operation: Operation) -> tuple[bool, bool, bool, int]:
            is_of_graphs = any(parameter.name in OF_GRAPHS for parameter in operation.parameters)
            is_helper = _HELPER.match(operation.name) is not None
            return is_helper, operation.name not in public, not is_of_graphs, operation.module.count(".")

        return sorted(unique.values(), key=key)

    def imports(self, library: str) -> bool:
        return any(library in _IMPORTED.findall(self.texts[path]) for path in self._code())

    def has_setting(self, name: str) -> bool:
        """Return whether pytest's settings contain an option."""
        settings = "\n".join(text_of(self.folder / file) for file in SETTINGS[1:])
        return re.search(rf"^\s*{name}\s*=", settings, re.MULTILINE) is not None

    def _code(self) -> Iterator[Path]:
        """Yield the files of the package."""
        return (path for path in self.texts if not any(map(_NOT_PACKAGE.match, self._names(path))))

    def _names(self, path: Path) -> Sequence[str]:
        """Return the parts of a file's module name."""
        top = self.root if path.is_relative_to(self.root) else self.folder
        return path.relative_to(top).with_suffix("").parts


def text_of(file: Path) -> str:
    """Return the text of a file. Empty if there is no file."""
    return file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""


def _sources(folder: Path) -> Iterator[Path]:
    """Yield the Python files, excluding hidden folders and virtual environments."""
    for path in sorted(folder.iterdir()):
        if path.is_symlink() or path.name.startswith(".") or path.name in ("node_modules", "__pycache__"):
            continue
        if path.is_dir() and not (path / "pyvenv.cfg").exists():
            yield from _sources(path)
        elif path.suffix == ".py" and path.is_file():
            yield path


def _operations(module: str, place: str, libraries: frozenset[str], tree: ast.Module) -> Iterator[Operation]:
    """Yield the public operations that a file defines. `place`: its path."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith(("_", "test")):
            if any(_UNUSUAL.search(ast.unparse(decorator)) for decorator in node.decorator_list):
                continue
            line = f"{place}:{node.lineno}"
            if isinstance(node, ast.FunctionDef):
                yield Operation(module, node.name, line, libraries, _parameters(node, 0))
            elif forward := _method(node, "forward"):
                start = _method(node, "__init__")
                parameters = _parameters(start, 1) if start else ()
                yield Operation(module, node.name, line, libraries, _parameters(forward, 1), parameters)


def _runs(node: ast.stmt) -> bool:
    """Return whether a statement at the top of a file runs code instead of defining something."""
    is_call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    return is_call or isinstance(node, ast.For | ast.While | ast.With)


def _method(node: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    """Return a method that a class defines itself. Returns None unless its first parameter is `self`."""
    methods = [item for item in node.body if isinstance(item, ast.FunctionDef) and item.name == name]
    return next((method for method in methods if [arg.arg for arg in method.args.args][:1] == ["self"]), None)


def _parameters(node: ast.FunctionDef, skipped: int) -> tuple[Parameter, ...]:
    """Return the parameters without a default, after the first `skipped` ones."""
    args = node.args
    positional = [*args.posonlyargs, *args.args]
    required = positional[: len(positional) - len(args.defaults)][skipped:]
    keys = [item for item, default in zip(args.kwonlyargs, args.kw_defaults, strict=True) if not default]
    return tuple(
        Parameter(arg.arg, ast.unparse(arg.annotation).strip("'\"") if arg.annotation else "", arg in keys)
        for arg in (*required, *keys)
    )
