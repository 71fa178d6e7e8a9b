from types import SimpleNamespace

import pytest

from gnnbench.engine.measure import instructions
from gnnbench.engine.measure.benchmark_fixture import Pedantic
from gnnbench.engine.measure.instructions import Instructions, functions, short_name, total

FILE = """# callgrind format
version: 1
positions: line
events: Ir
summary: 143


ob=(1) /usr/lib/libpython3.11.so.1.0
fl=(1) /build/ceval.c
fn=(1) _PyEval_EvalFrameDefault
0 100
cob=(2) /x/lib/python3.11/site-packages/torch_sparse/_spmm_cpu.so
cfi=(2) /build/spmm_cpu.cpp
cfn=(2) spmm_cpu(at::Tensor, at::Tensor)
calls=1 0
0 33

ob=(2)
fl=(2)
fn=(2)
0 30
fi=(3) /build/vector.h
0 3
cob=(1)
cfi=(1)
cfn=(1)
calls=2 0
* 1000

fn=(3) spmm_cpu(at::Tensor, double)
+3 10

totals: 143
"""


@pytest.fixture
def take(tmp_path):
    """Return a function that counts calls, of which each executes what is given; no file is left."""

    def take(*totals, calls=None):
        remaining = iter(totals)

        def count(call):
            call()
            return next(remaining)

        file = tmp_path / "out.1"
        file.touch()
        counter = SimpleNamespace(begin=lambda: None, count=count, file=file)
        answer = instructions.count_until_equal(calls or Pedantic(sorted, ([2, 1],), {}), counter)
        return answer["totals"], Instructions.read(answer)

    yield take
    assert list(tmp_path.iterdir()) == []


def test_calls_until_two_agree(take):
    totals, found = take(2000, 1500, 1000, 1000, 7)
    assert totals == [2000, 1500, 1000, 1000]
    assert found.total == 1000


def test_calls_that_never_agree(take):
    totals, found = take(*range(1000, 3000, 100))
    assert len(totals) == 8
    assert found.total == 1700
    assert found.spread == 100 / 1700


def test_set_up_and_tear_down_of_each_call(take):
    seen = []
    calls = Pedantic(
        lambda one: seen.append(f"call {one}"),
        (),
        {},
        setup=lambda: seen.append("set up") or ((1,), {}),
        teardown=lambda one: seen.append(f"tear down {one}"),
    )
    take(5, 5, calls=calls)
    assert seen == ["set up", "call 1", "tear down 1"] * 22


def test_small_functions_are_left_out(tmp_path):
    file = tmp_path / "out.1"
    file.write_text("ob=(1) /usr/lib/libc.so.6\nfn=(1) a\n0 9000\n\nfn=(2) b\n0 99900\n\nfn=(3) c\n0 1\n")
    found = Instructions.read({"totals": [105_001, 108_901], "file": str(file)})
    assert found.functions == {"libc:b": 99_900, "libc:a": 9000}
    assert list(tmp_path.iterdir()) == []


def test_instructions_of_each_function_itself(tmp_path):
    file = tmp_path / "out.1"
    file.write_text(FILE)
    found = functions(file)
    assert found == {"libpython3:_PyEval_EvalFrameDefault": 100, "torch_sparse:spmm_cpu": 43}
    assert total(file) == sum(found.values())


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("0x0000000005386a70", "(no name)"),
        ("_PyEval_EvalFrameDefault'2", "_PyEval_EvalFrameDefault"),
        ("spmm_cpu(at::Tensor, std::optional<at::Tensor>)", "spmm_cpu"),
        ("at::(anonymous namespace)::add<float>(at::Tensor const&) const", "at::add"),
        ("f(int)::{lambda(long)#2}::operator()(long) const", "f::{lambda#2}::operator()"),
        ("bool operator< <char>(std::string const&)", "operator<"),
        (
            "void c10::function_ref<void (char**)>::callback_fn<at::index_kernel(int)::{lambda()#1}>(long)",
            "c10::function_ref::callback_fn of index_kernel",
        ),
    ],
)
def test_short_names(name, short):
    assert short_name(name) == short
