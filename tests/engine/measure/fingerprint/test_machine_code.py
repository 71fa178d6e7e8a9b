"""Libraries that a C compiler makes of a source and of changed ones."""

import io
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from gnnbench.engine.measure.fingerprint.disassembly import demangled, plain, set_traps
from gnnbench.engine.measure.fingerprint.machine_code import differing, functions
from tests.engine.process.variants import compiled as extension

SOURCE = """
#include <math.h>
#include <stdio.h>
#include <string.h>
static const double first[] = {1.5, 2.5, 3.5, 0.0}, second[] = {4.5, 5.5, 6.5, 7.5};
static int counter = 3, limit = 3;
const char *names[] = {"low", "high"};
double shared[] = {1, 2}, other[] = {3, 4};

__attribute__((noinline)) static double weigh(double value, long steps) {
    for (long step = 0; step < steps; step++) value = value * 0.5 + first[step & 3];
    return value;
}

__attribute__((noinline)) static double again(double value, long steps) {
    for (long step = 0; step < steps; step++) value = value * 0.75 + second[step & 3];
    return value;
}

double work(double value, long steps) { counter++; return weigh(value, steps) + limit; }

double more(double value, long steps) {
    static long calls = 0, hits = 0;
    calls++;
    return again(value, steps) + (calls > 3 ? ++hits : 0) + shared[0];
}

int say(char *text, int kind) {
    switch (kind) {
        case 0: return sprintf(text, "zero");
        case 1: return sprintf(text, "%s one", names[0]);
        case 2: return puts(text);
        case 3: return strlen(text) > 5 ? puts("long") : 7;
        case 4: return (int)cos(text[3]);
        case 5: return snprintf(text, 9, "five %d", kind);
    }
    return -1;
}
"""
HELPERS = """
#define HELPER(name, factor, term) \\
    __attribute__((noinline)) static double helper(double x) { return x * factor + term; } \\
    double name(double x) { return helper(helper(x)); }
"""
ONE, TWO = f"{HELPERS}HELPER(one, 3, 1)", f"{HELPERS}HELPER(two, 5, 2)"
WORK = SOURCE[SOURCE.index("double work") : SOURCE.index("double more")]

CATCHING = """
void tried(int);
int first(int x) { try { tried(x); } catch (int) { return 1; } return 0; }
int other(int x) { try { tried(x); } catch (signed) { return 1; } catch (long) { return 2; } return 0; }
"""
ENDINGS = 'const char *one(void) { return "foobar"; } const char *two(void) { return "bar"; }'
IN_CODE = """
__asm__(".pushsection .text; table: .long 5; .popsection");
extern const int table[] __attribute__((visibility("hidden")));
int reads(void) { return table[0]; }
"""
KERNELS = Path(__file__).with_name("kernels.fatbin")
"""For sm_80, and as PTX, of ptxas and fatbinary (CUDA 13.0): `scale`, `_Z5countPi` and a constant."""
OF_GPU = """
__asm__(".pushsection .nv_fatbin, \\"a\\"; kernels: .incbin \\"{}\\"; .popsection");
extern const long kernels[] __attribute__((visibility("hidden")));
const long *wrapper __attribute__((section(".nvFatBinSegment"))) = kernels;
int cudaLaunchKernel(const void *kernel);
__attribute__((noinline)) int scale(void) {{ return cudaLaunchKernel(scale); }}
static int count(void) __asm__("_ZL5countPi");
__attribute__((noinline)) static int count(void) {{ return cudaLaunchKernel(count); }}
int calls(void) {{ return scale() + count(); }}
int launches(void) {{ return cudaLaunchKernel(count); }}
"""
IN_RUST = """
struct place {{ const char *file; long length; int line, column; }};
static const struct place here = {{"{file}", 10, {line}, 5}};
const void *_ZN4fast5panic17h{hash}E(void) {{ return &here; }}
"""


@pytest.fixture
def compiled(tmp_path):
    def compiled(*sources, flags="-O2 -g", folder="a"):
        place = tmp_path / "builds" / (folder * 24)
        place.mkdir(parents=True, exist_ok=True)
        files = [place / f"{number}.c" for number, _ in enumerate(sources)]
        for file, source in zip(files, sources, strict=True):
            file.write_text(source)
        command = ["cc", "-shared", "-fPIC", *flags.split(), *files, "-lm", "-o", place / "lib.so"]
        subprocess.run(command, check=True)
        return functions(place / "lib.so")

    return compiled


@pytest.mark.parametrize(
    ("change", "flags"),
    [
        ((), "-O2"),
        (("/*", "*/"), "-O2 -g"),
        (("static int", "\n\n/* A comment. */\nstatic int"), "-O2 -g3"),
        (("value = value * 0.5 + first[step & 3]", "{ value *= 0.5; value += first[step & 3]; }"), "-O2 -g"),
        (("work(double value,", "work(double v,", "weigh(value, steps) +", "weigh(v, steps) +"), "-O2 -g"),
        ((WORK, "", "int say", f"{WORK}int say"), "-O2 -g"),
        (("int say", "int say(char *, int);\nint say"), "-O2 -g -Wl,--build-id=uuid"),
    ],
)
def test_what_compiles_to_the_same_is_the_same(compiled, change, flags):
    source = SOURCE
    for old, new in zip(change[::2], change[1::2], strict=True):
        source = source.replace(old, new, 1)
    before = compiled(SOURCE, "const char *file(void) { return __FILE__; }")
    assert {"work", "weigh", "say", "constants"} < before.keys()
    after = compiled(source, "const char *file(void) { return __FILE__; }", flags=flags, folder="b")
    assert differing(before, after) == []


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ("* 0.5", "* 0.625", ["weigh"]),
        ("2.5, 3.5, 0.0}", "2.5, 3.5, 0.25}", ["weigh"]),
        ("+ first[", "+ second[", ["weigh"]),
        ("counter = 3", "counter = 4", ["work"]),
        ("counter++", "limit++", ["work"]),
        ("weigh(value, steps) +", "again(value, steps) +", ["weigh", "work"]),
        ("++hits", "++calls", ["more"]),
        ("shared[] = {1, 2}, other[] = {3, 4}", "shared[] = {3, 4}, other[] = {1, 2}", ["constants"]),
        ('{"low", "high"}', '{"high", "low"}', ["constants"]),
        ('"%s one"', '"%s won"', ["say"]),
        ("names[0]", "names[1]", ["say"]),
        ("cos(text", "sin(text", ["say"]),
        (
            "case 2: return puts(text);\n        case 3:",
            "case 3: return puts(text);\n        case 2:",
            ["say"],
        ),
    ],
)
def test_what_differs_is_named(compiled, old, new, names):
    assert old in SOURCE
    before, after = compiled(SOURCE), compiled(SOURCE.replace(old, new, 1))
    assert set(names) <= set(differing(before, after))
    assert len(differing(before, after)) <= len(names) + 1


def test_functions_of_one_name_are_told_apart(compiled):
    other = ONE.replace("3, 1", "5, 2"), TWO.replace("5, 2", "3, 1")
    assert differing(compiled(ONE, TWO), compiled(*other)) == ["one", "two"]


@pytest.mark.parametrize(
    "flags", ["-O1", "-O2 -ffast-math", "-O2 -march=x86-64-v3", "-O2 -DNDEBUG=1 -fno-inline"]
)
def test_flags_count_where_they_change_code(compiled, flags):
    assert (compiled(SOURCE) == compiled(SOURCE, flags=flags)) == flags.endswith("-fno-inline")


@pytest.mark.parametrize("flags", ["-O2", "-O2 -s"])
def test_a_function_with_a_trap_ends_the_process(compiled, tmp_path, flags):
    compiled(SOURCE, flags=flags)
    library = tmp_path / "builds" / ("a" * 24) / "lib.so"
    call = f"import ctypes; print(ctypes.CDLL('{library}').say(b'a', 6))"
    for names, status in ((["weigh", "more"], 0), (["kernel say"], -signal.SIGTRAP)):
        set_traps(library, names)
        assert subprocess.run([sys.executable, "-c", call], check=False).returncode == status


@pytest.mark.parametrize(
    ("source", "old", "new", "names"),
    [
        (extension.SOURCE, "other, METH_O", 'other, METH_O, "what it does"', ["other"]),
        (extension.SOURCE, '{"work", work, METH_O}, ', "", ["work"]),
        (extension.SOURCE, "methods[] = {", 'methods[] = {{"as", work, METH_O}, ', ["work"]),
        (extension.SOURCE, '"_k", NULL, -1', '"_k", NULL, 0', ["PyInit__k"]),
        (CATCHING, "catch (int)", "catch (long)", ["_Z5firsti"]),
        (CATCHING, "catch (int)", "catch (char) { return 4; } catch (int)", ["_Z5firsti"]),
        (ENDINGS, "bar", "baz", ["one", "two"]),
        (IN_CODE, "long 5", "long 6", ["constants", "table"]),
    ],
)
def test_what_belongs_to_a_function_differs_with_it(compiled, source, old, new, names):
    flags = f"-O2 -I{sysconfig.get_path('include')}{' -x c++' * (source == CATCHING)}"
    before, after = compiled(source, flags=flags), compiled(source.replace(old, new), flags=flags)
    assert {names[0]} <= {*differing(before, after)} <= {*names}


@pytest.mark.parametrize(
    ("place", "names"),
    [
        (".text.scale", ["kernel scale"]),
        (".nv.info._Z5countPi", ["kernel _ZL5countPi", "launches"]),
        ("add.f32", ["kernel scale"]),
        (".nv.constant3", ["constants"]),
        (".version", ["constants"]),
        (".note.nv.tkinfo", []),
    ],
)
def test_code_for_gpus_counts_by_kernel(compiled, tmp_path, place, names):
    content = bytearray(KERNELS.read_bytes())
    start = content.index(b"\x7fELF")
    part = ELFFile(io.BytesIO(content[start:])).get_section_by_name(place)
    content[start + part["sh_offset"] if part else content.index(place.encode())] ^= 1
    (tmp_path / "changed").write_bytes(content)
    before, after = (compiled(OF_GPU.format(file)) for file in (KERNELS, tmp_path / "changed"))
    assert differing(before, after) == names


def test_lines_and_hashes_of_rust_do_not_count(compiled):
    before = compiled(IN_RUST.format(file="src/lib.rs", line=3, hash="0123456789abcdef"))
    after = compiled(IN_RUST.format(file="src/lib.rs", line=7, hash="fedcba9876543210"))
    other = compiled(IN_RUST.format(file="src/bin.rs", line=3, hash="0123456789abcdef"))
    assert differing(before, after) == []
    assert demangled(differing(before, other)) == ["fast::panic"]


def test_names_are_shown_without_what_depends_on_the_build():
    names = [
        "kernel _Z4spmmIfEvPKT_PS0_i",
        "kernel _Z4spmmIfEvPKT_PS0_l",
        "_ZL28__device_stub__Z4spmmIfEvPKfPKf",
        "_RNvCs15kBYyAo9fc_4fast4work",
        "say",
    ]
    assert demangled(names) == ["kernel spmm<float>", "fast::work", "say"]
    assert plain("_ZN29_GLOBAL__N__6ac2f35b_4_k_cu_a4spmmEPf") == "_ZN12_GLOBAL__N_14spmmEPf"


def test_what_is_no_library_has_no_functions_and_none_has_without_objdump(compiled, tmp_path, monkeypatch):
    compiled(SOURCE)
    (tmp_path / "text.so").write_text("text")
    assert functions(tmp_path / "text.so") == {}
    monkeypatch.setenv("PATH", "")
    assert functions(tmp_path / "builds" / ("a" * 24) / "lib.so") == {}
