"""Settings for benchmarks and tests; the fixtures are in gnnbench/plugin/fixtures.py."""

from gnnbench.environment import let_idle_threads_sleep

let_idle_threads_sleep()  # must run before a test module imports torch
