from gnnbench.measure.instructions import counting
from gnnbench.measure.instructions.counter import Taken
from gnnbench.measure.instructions.counting import Instructions
from gnnbench.measure.seam import Pedantic


class Series:
    """A counter that says of each call what it is given; it makes the call."""

    emulates = True

    def __init__(self, *totals):
        self.totals = list(totals)
        self.began = 0

    def begin(self):
        self.began += 1

    def count(self, call):
        call()
        return Taken(self.totals.pop(0))


def take(*totals, calls=None):
    answer = counting.take(calls or Pedantic(sorted, ([2, 1],), {}), Series(*totals))
    return answer["totals"], Instructions.read(answer)


def test_calls_until_two_agree():
    totals, found = take(2000, 1500, 1000, 1000, 7)
    assert totals == [2000, 1500, 1000, 1000]
    assert (found.total, found.is_steady) == (1000, True)


def test_calls_that_never_agree():
    totals, found = take(*range(1000, 3000, 100))
    assert len(totals) == 8
    assert (found.total, found.is_steady) == (1700, False)
    assert found.spread == 100 / 1700


def test_set_up_and_tear_down_of_each_call():
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


def test_small_functions_are_left_out_and_those_that_vary_are_named(tmp_path):
    def file(number, **costs):
        lines = [f"fn=({place}) {name}\n0 {cost}\n" for place, (name, cost) in enumerate(costs.items())]
        path = tmp_path / f"out.{number}"
        path.write_text("ob=(1) /usr/lib/libc.so.6\n" + "\n".join(lines) + "totals: 1\n")
        return str(path)

    files = [file(1, a=5000, b=100_000, c=1), file(2, a=9000, b=99_900, c=1)]
    found = Instructions.read({"totals": [105_001, 108_901], "files": files})
    assert found.functions == {"libc:b": 99_900, "libc:a": 9000}
    assert found.varying == ("libc:a", "libc:b")
    assert list(tmp_path.iterdir()) == []


def test_frames_are_added_up_by_function():
    answer = {"names": ["m:f", "m:g", None, None], "numbers": [0, 900, 10_000, 90], "files": []}
    assert counting.read_frames(answer) == {"m:g": 10_000, "m:f": 990}
    assert counting.read_frames({**answer, "numbers": [1]}) is None
