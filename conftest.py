"""For the benchmarks and the tests. The fixtures are the package's: gnnbench/plugin/fixtures.py."""

from gnnbench.environment import let_idle_threads_sleep

let_idle_threads_sleep()  # before a test module imports torch
