"""Seeded mutations of the generated package: those that change what runs, and those that cannot."""

import ast
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tests.measure.fingerprint.generated_package import Sources


@dataclass
class Mutant:
    """A copy of the package, and how it is run."""

    files: Sources
    own: int = 1
    """Version of the native library."""
    linked: int = 1
    """Version of the library that the native one links to."""
    statements: list[str] = field(default_factory=list)
    """Settings that are made before the import."""
    environment: dict[str, str] = field(default_factory=dict)
    hash_seed: str = "1"
    what: str = ""
    """What was changed."""

    def replaced(self, file: str, old: str, new: str) -> None:
        assert old in self.files[file], (file, old)
        self.files[file] = self.files[file].replace(old, new, 1)
        self.what = f"{file}: {old!r} -> {new!r}"

    def added(self, file: str, text: str) -> None:
        self.files[file] += text
        self.what = f"{file}: {text!r}"


Mutate = Callable[[Mutant, random.Random], None]
Pick = Callable[[ast.Module], Iterator[ast.AST]]


def _numbers(node: ast.AST) -> Iterator[ast.Constant]:
    """Yield numbers that may be any number: no index, no shape."""
    if isinstance(node, ast.Subscript | ast.FunctionDef | ast.Compare | ast.Lambda):
        children: list[ast.AST] = [node.value] if isinstance(node, ast.Subscript) else []
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr != "__init__":
        # Arguments of methods: sizes of layers, ranges of tensors.
        children = [node.func] if node.func.attr in {"Linear", "index_select", "index_add_"} else node.args
    else:
        children = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.Constant) and type(node.value) in {int, float}:
        yield node
    for child in children:
        yield from _numbers(child)


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def _in_bodies(tree: ast.Module) -> Iterator[ast.AST]:
    for function in _functions(tree):
        if function.name not in {"__init__", "render", "inputs", "call"}:
            for statement in function.body:
                yield from _numbers(statement)


def _in_init(tree: ast.Module) -> Iterator[ast.AST]:
    for function in _functions(tree):
        if function.name == "__init__":
            for statement in function.body:
                if "Linear" not in ast.unparse(statement):
                    yield from _numbers(statement)


def _assigned(body: list[ast.stmt]) -> Iterator[ast.AST]:
    for statement in body:
        if isinstance(statement, ast.Assign):
            yield from _numbers(statement.value)


def _in_classes(tree: ast.Module) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name != "Mode":
            yield from _assigned(node.body)


def _defaults(tree: ast.Module) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            yield from node.args.defaults


def _keyword_defaults(tree: ast.Module) -> Iterator[ast.AST]:
    for function in _functions(tree):
        yield from (default for default in function.args.kw_defaults if default)


def _number(*files: str, pick: Pick) -> Mutate:
    """Change one number to another."""

    def mutate(mutant: Mutant, rng: random.Random) -> None:
        trees = {file: ast.parse(mutant.files[file]) for file in files}
        places = [(file, node) for file, tree in trees.items() for node in pick(tree)]
        file, node = rng.choice(places)
        before = node.value
        node.value += 1 if "SECOND" in ast.unparse(trees[file]) and before < 1 else rng.randrange(1, 40)
        mutant.files[file] = ast.unparse(trees[file])
        mutant.what = f"{file}, line {node.lineno}: {before} -> {node.value}"

    return mutate


def _statement(mutant: Mutant, rng: random.Random) -> None:
    """Insert a statement, or change an operator, in an executed function."""
    file = rng.choice(["config.py", "helpers.py", "layers.py", "bench.py"])
    tree = ast.parse(mutant.files[file])
    left_out = {"__init__", "render", "inputs", "call"}
    function = rng.choice([one for one in _functions(tree) if one.name not in left_out])
    sums = [node for node in ast.walk(function) if isinstance(node, ast.BinOp) and type(node.op) is ast.Add]
    if sums and rng.random() < 0.5:
        found = rng.choice(sums)
        mutant.what = f"{function.name}: {ast.unparse(found)}, + becomes -"
        found.op = ast.Sub()
    else:
        text = rng.choice(
            ["len((1, 2))", "extra = 5", "assert True is not None", "abs(-1.5)", "[].append(1)"]
        )
        mutant.what = f"{function.name}: {text}"
        function.body.insert(1, ast.parse(text).body[0])
    mutant.files[file] = ast.unparse(tree)


def _pattern(file: str, pattern: str) -> Mutate:
    """Change one number in what a pattern finds."""

    def mutate(mutant: Mutant, rng: random.Random) -> None:
        found = rng.choice(list(re.finditer(pattern, mutant.files[file], re.DOTALL)))
        number = rng.choice(list(re.finditer(r"\d+", found[0])))
        at = found.start() + number.start()
        text = mutant.files[file]
        new = int(number[0]) + rng.randrange(1, 30)
        mutant.files[file] = f"{text[:at]}{new}{text[at + len(number[0]) :]}"
        mutant.what = f"{file}: {found[0]!r}: {number[0]} -> {new}"

    return mutate


def _library(mutant: Mutant, rng: random.Random) -> None:
    part = rng.choice(["own", "linked"])
    setattr(mutant, part, rng.randrange(2, 5))
    mutant.what = f"library: {part}"


_SETTINGS = (
    "torch.set_num_threads(2)",
    "torch.set_default_dtype(torch.float64)",
    "torch.set_float32_matmul_precision('high')",
    "torch.use_deterministic_algorithms(True)",
    "torch.set_flush_denormal(True)",
    "torch.autograd.set_detect_anomaly(True)",
    "torch.backends.mkldnn.set_flags(False)",
    "import gc; gc.set_threshold(10)",
)


def _setting(mutant: Mutant, rng: random.Random) -> None:
    mutant.what = rng.choice(_SETTINGS)
    mutant.statements.append(mutant.what)


def _variable(mutant: Mutant, rng: random.Random) -> None:
    name = rng.choice(
        ["OMP_DYNAMIC", "GENERATED_DEBUG", "MALLOC_ARENA_MAX", "ONEDNN_MAX_CPU_ISA", "KMP_AFFINITY"]
    )
    mutant.environment[name] = str(rng.randrange(1, 9))
    mutant.what = f"${name}"


_PATCHES = (
    "from . import layers\nlayers.Base.apply = lambda self, value: value + 1\n",
    "from . import layers\nlayers.Middle.extra = -7\n",
    "from . import config\nconfig.debug = lambda: 3\n",
    "from . import layers\nlayers.shifted = lambda value: value\n",
    "from . import helpers\nhelpers.deeper = lambda value: value\n",
    "from . import helpers\nhelpers.folded.__globals__['ROUNDED'] = int\n",
    "from . import helpers\nhelpers.shifted.__wrapped__.__defaults__ = (-3,)\n",
    "from . import helpers\nhelpers.shifted.__wrapped__.__code__ = (lambda v, by, *, times: v).__code__\n",
    "import torch\ntorch.nn.functional.leaky_relu = lambda x, slope: torch.relu(x)\n",
    "import operator\nfrom . import config\nconfig.SECOND = len\n",
    "import torch\ntorch.nn.Linear.forward = lambda self, x: x @ self.weight.t() + self.bias\n",
    "import torch\ntorch.nn.modules.module.register_module_forward_hook(lambda *_: None)\n",
)


def _monkeypatch(mutant: Mutant, rng: random.Random) -> None:
    mutant.added("__init__.py", rng.choice(_PATCHES))


_SUBCLASSES = (
    "def apply(self, value):\n        return super().apply(value)",
    "extra = -3",
    "factor = -3",
    "bounds = (-1, 5)",
    "def __init__(self, depth):\n        super().__init__(depth, -9)",
    "apply = layers.Base.apply",
    "extra = property(lambda self: 5)",
    "def __getattribute__(self, name):\n        return super().__getattribute__(name)",
    "def __setattr__(self, name, value):\n        super().__setattr__(name, value + 1)",
)


def _subclass(mutant: Mutant, rng: random.Random) -> None:
    body = rng.choice(_SUBCLASSES)
    patch = "layers.Middle = Injected" if rng.random() < 0.5 else "layers.__dict__['Middle'] = Injected"
    mutant.added(
        "__init__.py", f"from . import layers\nclass Injected(layers.Middle):\n    {body}\n{patch}\n"
    )


_INPUTS = {
    "order": (
        "index = index.flip(0)",
        "index = index[:, [1, 0, 2, 3, 4, 5, 6]].contiguous()",
        "index = index.sort(1).values",
        "plan[0], plan[1] = plan[1], plan[0]",
        "plan[2].reverse()",
    ),
    "dtype": (
        "index = index.int()",
        "plan[1] = 5.0",
        "plan[0] = torch.tensor(plan[0]).numpy()",
        "x.requires_grad_()",
        "plan[0] = True",
    ),
    "strides": (
        "x = x.t().contiguous().t()",
        "index = index.t().contiguous().t()",
        "x = torch.cat([x, x], 1)[:, :6]",
        "x = torch.cat([x.flatten(), x.flatten()])[7:37].view(5, 6)",
        "index = torch.stack([index, index], 2)[..., 0]",
    ),
}


def _input(kind: str) -> Mutate:
    def mutate(mutant: Mutant, rng: random.Random) -> None:
        mutant.replaced(
            "bench.py", "    return x, index", f"    {rng.choice(_INPUTS[kind])}\n    return x, index"
        )

    return mutate


_MODULES = ("config.py", "helpers.py", "layers.py", "bench.py")

MATTER: dict[str, Mutate] = {
    "a statement": _statement,
    "a constant": _number(*_MODULES, pick=_in_bodies),
    "a default": _number("helpers.py", "layers.py", pick=_defaults),
    "a keyword default": _number("helpers.py", pick=_keyword_defaults),
    "a global": _number("config.py", pick=lambda tree: _assigned(tree.body)),
    "a class attribute": _number("layers.py", pick=_in_classes),
    "an instance attribute": _number("helpers.py", "layers.py", pick=_in_init),
    "a closure": _pattern("helpers.py", r"scaled = scaler\(.*?\)"),
    "a partial": _pattern("helpers.py", r"ndigits=\d"),
    "a cached function": _pattern("helpers.py", r"def (deeper|table)\(.*?return.*?\n"),
    "an enum": _pattern("config.py", r"FAST = \d+"),
    "the template": _pattern("template.py", r"(low|high) = .*?\n"),
    "a native library": _library,
    "a setting": _setting,
    "an environment variable": _variable,
    "a monkeypatch": _monkeypatch,
    "a subclass": _subclass,
    **{f"an input's {kind}": _input(kind) for kind in _INPUTS},
}


def _comments(mutant: Mutant, rng: random.Random) -> None:
    """Insert comments and empty lines after lines that end a statement."""
    for file in mutant.files:
        lines = mutant.files[file].splitlines()
        inside = False
        found = []
        for line in lines:
            inside ^= line.count('"""') % 2 == 1
            found.append(line)
            if not inside and rng.random() < 0.3:
                found.append(rng.choice(["", "# a comment", "        # another one"]))
        mutant.files[file] = "\n".join(found) + "\n"


def _docstrings(mutant: Mutant, rng: random.Random) -> None:
    for file, text in mutant.files.items():
        tree = ast.parse(text)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module) and rng.random() < 0.6:
                if ast.get_docstring(node):
                    node.body[:1] = (
                        [] if len(node.body) > 1 and rng.random() < 0.5 else ast.parse("'Other.'").body
                    )
                else:
                    node.body.insert(0, ast.parse("'Added.'").body[0])
        mutant.files[file] = ast.unparse(ast.fix_missing_locations(tree))


_LOCALS = {
    "helpers.py": ("first", "second", "found", "start", "inside"),
    "layers.py": ("lower", "upper", "result", "grown", "gathered", "spread", "hidden", "number"),
    "bench.py": ("out", "loss"),
    "template.py": ("low", "high", "handle"),
}


def _locals(mutant: Mutant, rng: random.Random) -> None:
    for file, names in _LOCALS.items():
        for name in rng.sample(names, rng.randrange(1, len(names) + 1)):
            new = f"{rng.choice('azk')}_{name}"
            mutant.files[file] = re.sub(rf"(?<![\w.\"]){name}(?![\w\"]|=)", new, mutant.files[file])


def _lines(mutant: Mutant, rng: random.Random) -> None:
    for file, text in mutant.files.items():
        mutant.files[file] = "\n" * rng.randrange(1, 400) + text


def _formatting(mutant: Mutant, rng: random.Random) -> None:
    for file, text in mutant.files.items():
        plain = ast.unparse(ast.parse(text))
        # Expressions over several lines, and another indentation.
        spread = (
            re.sub(r"\((?=[\w\"'])", "(\n" + " " * rng.randrange(9), plain)
            if file != "template.py"
            else plain
        )
        mutant.files[file] = (
            spread if rng.random() < 0.5 else re.sub(r"^( +)", r"\1\1", plain, flags=re.MULTILINE)
        )
        ast.parse(mutant.files[file])


def _imports(mutant: Mutant, rng: random.Random) -> None:
    for file, text in mutant.files.items():
        tree = ast.parse(text)
        places = [at for at, node in enumerate(tree.body) if isinstance(node, ast.Import | ast.ImportFrom)]
        nodes = [tree.body[at] for at in places]
        rng.shuffle(nodes)
        for at, node in zip(places, nodes, strict=True):
            if isinstance(node, ast.ImportFrom):
                rng.shuffle(node.names)
            tree.body[at] = node
        mutant.files[file] = ast.unparse(tree)


def _unused(mutant: Mutant, rng: random.Random) -> None:
    mutant.added(
        rng.choice(list(mutant.files)),
        rng.choice(
            [
                "\n\ndef unused(value, by=3):\n    return value + by\n",
                "\n\nclass Unused:\n    factor = 3\n\n    def apply(self):\n        return 1\n",
                "\n\nUNUSED = 5\n",
                "\n\nimport fractions\nimport json as unused_json\n",
            ]
        ),
    )


def _path(_mutant: Mutant, _rng: random.Random) -> None:
    """Do nothing: each copy has a path of its own."""


def _hash_seed(mutant: Mutant, _rng: random.Random) -> None:
    mutant.hash_seed = "2"


HARMLESS: dict[str, Mutate] = {
    "comments": _comments,
    "docstrings": _docstrings,
    "local names": _locals,
    "line numbers": _lines,
    "formatting": _formatting,
    "the order of imports": _imports,
    "an unused definition": _unused,
    "the path": _path,
    "the hash seed": _hash_seed,
}


def mutant(files: Sources, kinds: dict[str, Mutate], number: int) -> tuple[str, Mutant]:
    """Return the name of a mutation's kind, and the mutated package; kinds take turns.

    Args:
        files: the package.
        kinds: what may be done to it.
        number: of the mutation; the seed.
    """
    kind = list(kinds)[number % len(kinds)]
    found = Mutant(dict(files))
    kinds[kind](found, random.Random(number))
    return kind, found
