"""Mutations of the generated package: those that change what runs, and those that cannot."""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random

from tests.measure.fingerprint import generated_package
from tests.measure.fingerprint.generated_package import NUMBERS, Sources

FILES = generated_package.sources()


@dataclass
class Mutant:
    """A copy of the package, and how it is run."""

    what: str = ""
    """What was changed."""
    files: Sources = field(default_factory=lambda: FILES)
    own: int = 1
    """Version of the native library."""
    linked: int = 1
    """Version of the library that the native one links to."""
    statements: tuple[str, ...] = ()
    """Settings that are made before the import."""
    environment: dict[str, str] = field(default_factory=dict)


def spliced(file: str, start: int, end: int, text: str) -> Mutant:
    """Put a text in the place of another one."""
    old = FILES[file]
    what = f"{file}, line {old[:start].count(chr(10)) + 1}: {old[start:end]!r} -> {text!r}"
    return Mutant(what, {**FILES, file: old[:start] + text + old[end:]})


def added(text: str) -> Mutant:
    return Mutant(text, {**FILES, "__init__.py": FILES["__init__.py"] + text})


def _found(pattern: str) -> Iterator[tuple[str, re.Match[str]]]:
    """Yield what a pattern finds in what a call runs."""
    for file, text in FILES.items():
        yield from ((file, found) for found in re.finditer(pattern, text))


_NEW = ("len((1, 2))", "extra = 5", "assert True is not None", "[].append(1)")
_RUN_BEFORE = "__init__|render|inputs|call|logged|scaler"
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
_VARIABLES = ("OMP_DYNAMIC", "GENERATED_DEBUG", "MALLOC_ARENA_MAX", "ONEDNN_MAX_CPU_ISA", "KMP_AFFINITY")
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
    "import operator\nfrom . import config\nconfig.SECOND = operator.itemgetter(0)\n",
    "import torch\ntorch.nn.Linear.forward = lambda self, x: x @ self.weight.t() + self.bias\n",
    "import torch\ntorch.nn.modules.module.register_module_forward_hook(lambda *_: None)\n",
)
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
_INPUTS = (
    *("index = index.flip(0)", "index = index[:, [1, 0, 2, 3, 4, 5, 6]].contiguous()"),
    *("index = index.sort(1).values", "plan[0], plan[1] = plan[1], plan[0]", "plan[2].reverse()"),
    *("index = index.int()", "x.requires_grad_()", "plan[1] = 5.0", "plan[0] = True"),
    *("plan[0] = torch.tensor(plan[0]).numpy()", "x = torch.cat([x, x], 1)[:, :6]"),
    *("x = x.t().contiguous().t()", "index = index.t().contiguous().t()"),
    "x = torch.cat([x.flatten(), x.flatten()])[7:37].view(5, 6)",
    "index = torch.stack([index, index], 2)[..., 0]",
    *("plan[1] = 9", "plan.append(8)", "plan[2] = (6, 7)"),
)


def _injected() -> Iterator[str]:
    """Yield what puts a subclass in the place of a class."""
    for body in _SUBCLASSES:
        for target in ("layers.Middle", "layers.__dict__['Middle']"):
            yield (f"from . import layers\nclass Injected(layers.Middle):\n    {body}\n{target} = Injected\n")


MATTER = {
    "a number": [Mutant(f"number {place}", generated_package.sources(place)) for place in range(NUMBERS)],
    "an operator": [spliced(file, *found.span(1), "-") for file, found in _found(r"(?<=\w|\)|\]) (\+) ")],
    "a statement": [
        spliced(file, found.end(), found.end(), f"{found[1]}    {text}\n")
        for file, found in _found(rf"(?m)^( *)def (?!{_RUN_BEFORE}\b).*:\n")
        for text in _NEW
    ],
    "a subclass": [added(text) for text in _injected()],
    "an input": [
        spliced(file, found.start(), found.start(), f"    {text}\n")
        for text in _INPUTS
        for file, found in _found("    return x, index")
    ],
}
MATTER_TO_A_PROCESS = {
    "a native library": [Mutant("own", own=2), Mutant("linked", linked=3)],
    "a setting": [Mutant(text, statements=(text,)) for text in _SETTINGS],
    "a variable": [Mutant(name, environment={name: "7"}) for name in _VARIABLES],
    "a patch": [added(text) for text in _PATCHES],
}


def _comments(_file: str, text: str, rng: Random) -> str:
    """Insert comments and empty lines after lines that end a statement."""
    inside, found = False, []
    for line in text.splitlines():
        inside ^= line.count('"""') % 2 == 1
        found.append(line)
        if not inside and rng.random() < 0.3:
            found.append(rng.choice(["", "# a comment", "        # another one"]))
    return "\n".join(found) + "\n"


def _docstrings(_file: str, text: str, rng: Random) -> str:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module) and rng.random() < 0.6:
            if not ast.get_docstring(node):
                node.body.insert(0, ast.parse("'Added.'").body[0])
            else:
                removed = len(node.body) > 1 and rng.random() < 0.5
                node.body[:1] = [] if removed else ast.parse("'Other.'").body
    return ast.unparse(ast.fix_missing_locations(tree))


_LOCALS = {
    "helpers.py": ("first", "second", "found", "start", "inside"),
    "layers.py": ("lower", "upper", "result", "grown", "gathered", "spread", "hidden", "number"),
    "bench.py": ("out", "loss"),
    "template.py": ("low", "high", "handle"),
}


def _locals(file: str, text: str, rng: Random) -> str:
    names = _LOCALS.get(file, ())
    for name in rng.sample(names, rng.randrange(1, len(names) + 1)) if names else ():
        text = re.sub(rf"(?<![\w.\"]){name}(?![\w\"]|=)", f"{rng.choice('azk')}_{name}", text)
    return text


def _lines(_file: str, text: str, rng: Random) -> str:
    return "\n" * rng.randrange(1, 400) + text


def _formatting(file: str, text: str, rng: Random) -> str:
    """Spread expressions over several lines, or indent differently."""
    plain = ast.unparse(ast.parse(text))
    if rng.random() < 0.5:
        return re.sub(r"^( +)", r"\1\1", plain, flags=re.MULTILINE)
    return plain if file == "template.py" else re.sub(r"\((?=[\w\"'])", "(\n   ", plain)


def _imports(_file: str, text: str, rng: Random) -> str:
    tree = ast.parse(text)
    places = [at for at, node in enumerate(tree.body) if isinstance(node, ast.Import | ast.ImportFrom)]
    nodes = [tree.body[at] for at in places]
    rng.shuffle(nodes)
    for at, node in zip(places, nodes, strict=True):
        rng.shuffle(node.names)
        tree.body[at] = node
    return ast.unparse(tree)


_UNUSED = (
    "\n\ndef unused(value, by=3):\n    return value + by\n",
    "\n\nclass Unused:\n    factor = 3\n\n    def apply(self):\n        return 1\n",
    "\n\nUNUSED = 5\n",
    "\n\nimport fractions\nimport json as unused_json\n",
)


def _unused(_file: str, text: str, rng: Random) -> str:
    return text + (rng.choice(_UNUSED) if rng.random() < 0.3 else "")


def _rewritten(change: Callable[[str, str, Random], str], seed: int) -> Mutant:
    rng = Random(seed)
    what = f"{change.__name__.strip('_')}, seed {seed}"
    return Mutant(what, {file: change(file, text, rng) for file, text in FILES.items()})


HARMLESS = {
    change.__name__.strip("_"): [_rewritten(change, seed) for seed in range(14)]
    for change in (_comments, _docstrings, _locals, _lines, _formatting, _imports, _unused)
}
