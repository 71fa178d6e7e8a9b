"""Settings for benchmarks and tests; the fixtures are in gnnbench/engine/plugin/fixtures.py."""

from gnnbench.engine.ground.environment import let_idle_threads_sleep

let_idle_threads_sleep()  # must run before a test module imports torch
