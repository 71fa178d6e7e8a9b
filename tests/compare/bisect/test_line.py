from contextlib import contextmanager

from gnnbench.compare.bisect.line import Ready


def test_the_candidates_that_were_used_longest_ago_are_cleaned_up_first():
    cleaned = []

    @contextmanager
    def prepare(position):
        yield f"candidate {position}"
        cleaned.append(position)

    with Ready(prepare) as ready:
        for position in (0, 1, 2, 3, 4, 5, 6, 1):
            assert ready.get(position) == f"candidate {position}"
        ready.forget((0, 1))
        assert cleaned == [2]
        ready.forget(())
        assert cleaned == [2, 0, 3], "four are kept beside those in use"
    assert sorted(cleaned) == list(range(7))
