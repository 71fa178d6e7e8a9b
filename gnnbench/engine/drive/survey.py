"""What a repository has that can be timed, read from its sources; nothing of it is imported."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_OTHERS = re.compile(r"_|bench|(tests?|testing|docs?|examples?|scripts?|tools?)\b|(setup|conftest)\.py")
"""How files and folders begin that are not what users of a package import."""
_SETTINGS = ("pytest.ini", "pyproject.toml", "setup.cfg", "tox.ini")
_IMPORTED = re.compile(r"^\s*(?:from|import) (\w+)", re.MULTILINE)
OF_GRAPHS = frozenset(("edge_index", "edges", "adj_t", "adj", "graph", "g"))
"""Names of graphs among parameters."""
_HELPER = re.compile(
    r"(get|set|is|has|check|assert|validate|to|from|load|save|read|write|print|plot|show|visuali[sz]e|download"
    r"|parse|register|make|create|build|convert|init\w*)(_|$)"
)
"""How functions begin that are rarely what takes the time."""
_UNUSUAL = re.compile(r"deprecated|overload|fixture|command|property|contextmanager")
"""Decorators of functions that are called otherwise."""


@dataclass(frozen=True)
class Parameter:
    """A parameter without a default."""

    name: str
    annotation: str
    """Empty: there is none."""
    is_keyword: bool = False


@dataclass(frozen=True)
class Operation:
    """A class with `forward`, or a function, of the code to be timed."""

    module: str
    name: str
    place: str
    """File and line."""
    libraries: frozenset[str]
    """The packages that its module imports."""
    given: Sequence[Parameter]
    """What a call is given."""
    made: Sequence[Parameter] | None = None
    """What the constructor is given; None: there is none to call."""
    is_autograd: bool = False
    """Whether it is a `torch.autograd.Function`."""


@dataclass(frozen=True)
class Survey:
    """What the sources of a repository show."""

    operations: Sequence[Operation] = ()
    may_time: frozenset[Path] = frozenset()
    """Files that may have tests with the fixture `benchmark`."""
    settings: str = ""
    """The text of the files that may have pytest's settings."""

    def imports(self, library: str) -> bool:
        """Return whether an operation's module imports a package."""
        return any(library in one.libraries for one in self.operations)

    def sets(self, name: str) -> bool:
        """Return whether pytest's settings have an option."""
        return re.search(rf"^\s*{name}\s*=", self.settings, re.MULTILINE) is not None


def survey(folder: Path) -> Survey:
    """Read the sources of a repository."""
    texts = {path: text_of(path) for path in _sources(folder)}
    timed = _that_may_time(texts)
    operations: list[Operation] = []
    for path, text in texts.items():
        inside = path.relative_to(folder)
        parts = inside.parts[1:] if _is_source(folder) and inside.parts[0] == "src" else inside.parts
        if not any(map(_OTHERS.match, parts)):
            operations += _operations(path, inside, parts, text)
    settings = "\n".join(text_of(folder / name) for name in _SETTINGS)
    return Survey(_ranked(folder, operations), timed, settings)


def text_of(file: Path) -> str:
    """Return the text of a file; empty: there is none."""
    return file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""


def root(folder: Path) -> Path:
    """Return the folder from which the repository's code is imported."""
    return folder / "src" if _is_source(folder) else folder


def _is_source(folder: Path) -> bool:
    return (folder / "src").is_dir() and not (folder / "src/__init__.py").exists()


def _sources(folder: Path) -> Iterator[Path]:
    """Yield the Python files, excluding hidden folders and virtual environments."""
    for path in sorted(folder.iterdir()):
        if path.is_symlink() or path.name.startswith(".") or path.name in ("node_modules", "__pycache__"):
            continue
        if path.is_dir() and not (path / "pyvenv.cfg").exists():
            yield from _sources(path)
        elif path.suffix == ".py" and path.is_file():
            yield path


def _that_may_time(texts: Mapping[Path, str]) -> frozenset[Path]:
    """Return the files with functions that take the fixture `benchmark`, or one that takes it."""
    found: set[Path] = set()
    names, known = {"benchmark"}, set[str]()
    while names - known:
        use = re.compile(rf"def (\w+)\([^)]*\b(?:{'|'.join(names - known)})\b")
        known |= names
        for path, text in texts.items():
            if functions := use.findall(text):
                found.add(path)
                fixtures = "fixture" in text
                names.update(one for one in functions if fixtures and not one.startswith("test"))
    return frozenset(found)


def _operations(path: Path, inside: Path, parts: Sequence[str], text: str) -> Iterator[Operation]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    is_package = (path.parent / "__init__.py").exists()
    if not is_package and any(map(_runs, tree.body)):
        return
    module = ".".join((*parts[:-1], *(() if path.stem == "__init__" else (path.stem,))))
    libraries = frozenset(_IMPORTED.findall(text))
    if not module or not libraries & {"torch", "numpy"}:
        return
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith(("_", "test")):
            if any(_UNUSUAL.search(ast.unparse(one)) for one in node.decorator_list):
                continue
            place = f"{inside.as_posix()}:{node.lineno}"
            if isinstance(node, ast.FunctionDef):
                yield Operation(module, node.name, place, libraries, _parameters(node, 0))
            elif forward := _method(node, "forward"):
                is_static = "staticmethod" in map(ast.unparse, forward.decorator_list)
                start = _method(node, "__init__")
                made = None if is_static else _parameters(start, 1) if start else ()
                given = _parameters(forward, 1)
                yield Operation(module, node.name, place, libraries, given, made, is_static)


def _runs(node: ast.stmt) -> bool:
    """Return whether a statement of a script does more than define something."""
    call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    return call or isinstance(node, ast.For | ast.While | ast.With)


def _method(node: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    return next((one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == name), None)


def _parameters(node: ast.FunctionDef, skipped: int) -> tuple[Parameter, ...]:
    """Return those without a default, without the first ones."""
    given = node.args
    positional = [*given.posonlyargs, *given.args]
    required = positional[: len(positional) - len(given.defaults)][skipped:]
    named = [one for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True) if not default]
    return tuple(
        Parameter(one.arg, ast.unparse(one.annotation).strip("'\"") if one.annotation else "", one in named)
        for one in (*required, *named)
    )


def _ranked(folder: Path, operations: Iterable[Operation]) -> list[Operation]:
    """Return them, first those of graphs that a package's `__init__.py` names."""
    public: dict[Path, set[str]] = {}

    def is_public(one: Operation) -> bool:
        places = [(folder / one.place).parent, root(folder) / one.module.partition(".")[0]]
        for place in places:
            if place not in public:
                public[place] = set(re.findall(r"\w+", text_of(place / "__init__.py")))
        return any(one.name in public[place] for place in places)

    def rank(one: Operation) -> tuple[bool, bool, bool, int]:
        is_of_graphs = any(parameter.name in OF_GRAPHS for parameter in one.given)
        helps = _HELPER.match(one.name) is not None
        return helps, not is_public(one), not is_of_graphs, one.module.count(".")

    unique: dict[str, Operation] = {}
    for one in operations:
        unique.setdefault(one.name, one)
    return sorted(unique.values(), key=rank)
