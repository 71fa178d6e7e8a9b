import pytest

from gnnbench.engine.measure.callgrind import functions, short_name, total

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
