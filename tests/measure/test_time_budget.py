from gnnbench.measure.time_budget import LEAST_SECONDS, TimeBudget


def test_each_benchmark_gets_an_equal_part_of_what_is_left_without_its_set_up():
    budget = TimeBudget(100.0, 5)
    assert budget.next_seconds() == 20
    budget.spend(20, 18)  # with 2 s of set-up
    assert budget.next_seconds() == 80 / 4 - 2
    budget.spend(5, 3)  # was precise early
    assert budget.next_seconds() == 75 / 3 - 2
    budget.spend(65, 13)  # was slow, and compiled
    assert budget.next_seconds() == 10 / 2 - 2
    budget.spend(9, 8)
    assert budget.next_seconds() == LEAST_SECONDS
