"""A simulated machine with known true times and seeded noise, for tests.

`GNNBENCH_FAKE_CLOCK=seed:FILE` replaces all clocks of a process. Benchmarks are still called once per round.
Their times come from FILE:

    {"benchmarks": {"test_a": 1e-3, "test_b[x]": {"seconds": 2e-3, "modes": [[1, 0.5], [2, 0.5]]}},
     "noise": {"drift": 0.2, "gpu_process_sigma": 0.003},
     "base": {"test_a": 2e-3}}

`base` has other true times for the base of a comparison. A string instead of a number, such as
`"test_a": "thing:SECONDS"`, names the global variable of the code under test that holds the time.
Keys are names of tests, with or without their file (pytest-benchmark's `fullname` or `name`).
"""

import json
import math
import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from pkgutil import resolve_name

import numpy as np

from ..ground import codec
from .clock import Block, Call, Clock

VARIABLE = "GNNBENCH_FAKE_CLOCK"
_HERTZ, _THROTTLED, _GPU_SIGMA = 1.7e9, 0.85, 0.005
"""A simulated GPU's clock rate, the fraction of it when throttled, and standard deviation of log GPU time."""


def reseeded(number: int) -> dict[str, str]:
    """Return the environment variable with `number` added to its seed; empty if the variable is not set."""
    seed, colon, file = os.environ.get(VARIABLE, "").partition(":")
    return {VARIABLE: f"{int(seed) + number}{colon}{file}"} if seed.isdecimal() else {}


@dataclass(frozen=True)
class Noise:
    """The noise of simulated times."""

    sigma: float = 0.1
    """Standard deviation of the logarithm of a round's time."""
    autocorrelation: float = 0.5
    """Autocorrelation of these logarithms, which form an AR(1) process."""
    spike_probability: float = 0.02
    spike_factor: float = 3.0
    drift: float = 0.2
    """Amplitude of a sinusoidal factor of random phase that all benchmarks share."""
    drift_period_seconds: float = 60.0
    process_sigma: float = 0.0
    """Standard deviation of the logarithm of a factor that is drawn once for each process and benchmark."""
    overhead_seconds: float = 1e-7
    """Time that the clock adds to a round."""
    renewal_seconds: float = 1e-4
    """Time that it takes to copy the inputs."""
    gpu_process_sigma: float = 0.0
    """Like `process_sigma`, for a factor on the GPU's own time."""
    gpu_throttled: float = 0.0
    """Probability that the GPU is throttled during a block."""


@dataclass(frozen=True)
class Truth:
    """A benchmark's true time."""

    seconds: float
    """Time of one call."""
    modes: tuple[tuple[float, float], ...] = ((1.0, 1.0),)
    """For each mode of layouts, a factor on the time and the probability of the mode."""
    place: str = ""
    """`module:name` of a global variable of the code under test; its value is a factor on the time."""
    gpu_seconds: float = 0.0
    """The GPU's own time of one call; 0 for a call on the CPU."""
    launches: tuple[str, ...] = ()
    """Launches of a call on the GPU; empty if unknown."""


@dataclass(frozen=True)
class _File:
    benchmarks: Mapping[str, Truth | float | str]
    noise: Noise = field(default_factory=Noise)
    base: Mapping[str, Truth | float | str] = field(default_factory=dict)


@dataclass
class FakeMachine:
    """The time and the drift, which the simulated clocks of all benchmarks of a process share."""

    seed: int
    truths: Mapping[str, Truth]
    noise: Noise = field(default_factory=Noise)
    now_seconds: float = 0.0

    def __post_init__(self) -> None:
        self._phase = np.random.default_rng(self.seed).uniform(0, 2 * math.pi)

    @classmethod
    def parse(
        cls, text: str, pair: int = 0, side: int = 1, slower: float = 0.0, place: int | None = None
    ) -> "FakeMachine":
        """Return the machine for a value of the variable, `seed:FILE`.

        Both processes of a pair (`place` 0 and 1) share the drift, but not the noise. `pair` changes both.

        `side`: 0 for the base, 1 for the head.
        `slower`: fraction by which all times are longer.
        """
        seed, _, name = text.partition(":")
        file = codec.decode(json.loads(Path(name).read_bytes()), _File)
        times = {**file.benchmarks, **(file.base if side == 0 else {})}
        truths = {key: _truth(value) for key, value in times.items()}
        truths = {key: replace(truth, seconds=truth.seconds * (1 + slower)) for key, truth in truths.items()}
        machine = cls(int(seed) + pair, truths, file.noise)
        if place is not None:
            machine.seed = 2 * machine.seed + place
        return machine

    def clock(self, fullname: str) -> "FakeClock":
        truth = self.truths.get(fullname) or self.truths[fullname.rpartition("::")[2]]
        return FakeClock(self, fullname, truth)

    def drift(self, at_seconds: float) -> float:
        angle = 2 * math.pi * at_seconds / self.noise.drift_period_seconds
        return 1 + self.noise.drift * math.sin(angle + self._phase)


class FakeClock(Clock):
    """Simulates the rounds of one benchmark."""

    name = "fake"
    resolution_seconds = 1e-9

    def __init__(self, machine: FakeMachine, fullname: str, truth: Truth) -> None:
        """Draw the factor of this process and the mode of the first layout."""
        self._machine = machine
        self._random = np.random.default_rng([machine.seed, zlib.crc32(fullname.encode())])
        self._seconds = truth.seconds * math.exp(self._random.normal(0, machine.noise.process_sigma))
        self._seconds *= resolve_name(truth.place) if truth.place else 1.0
        self._gpu_seconds, self._launches = truth.gpu_seconds, truth.launches
        self.times_device = bool(truth.gpu_seconds)
        if truth.gpu_seconds:
            self._gpu_seconds *= math.exp(self._random.normal(0, machine.noise.gpu_process_sigma))
        self._factors, self._weights = zip(*truth.modes, strict=True)
        self._log_noise = self._random.normal(0, machine.noise.sigma)
        self._draw_layout()

    def now(self) -> float:
        return self._machine.now_seconds

    def block(self, call: Call, rounds: int, iterations: int) -> Block:
        """Call the function once per round, and return simulated times."""
        machine, noise = self._machine, self._machine.noise
        seconds = []
        for _ in range(rounds):
            call()
            self._log_noise = noise.autocorrelation * self._log_noise + self._random.normal(
                0, noise.sigma * math.sqrt(1 - noise.autocorrelation**2)
            )
            spike = noise.spike_factor if self._random.random() < noise.spike_probability else 1.0
            drift = machine.drift(machine.now_seconds)
            call_seconds = self._seconds * self._factor * math.exp(self._log_noise) * spike * drift
            seconds.append(call_seconds * iterations + noise.overhead_seconds)
            machine.now_seconds += seconds[-1]
        if not self._gpu_seconds:
            return Block(seconds)
        gpu_seconds = self._gpu_seconds * math.exp(self._random.normal(0, _GPU_SIGMA)) * iterations
        is_throttled = bool(noise.gpu_throttled) and self._random.random() < noise.gpu_throttled
        speed = _THROTTLED if is_throttled else 1.0
        machine.now_seconds += gpu_seconds / speed
        return Block(seconds, gpu_seconds / speed, _HERTZ * speed)

    def launches(self, call: Call) -> tuple[str, ...]:  # noqa: ARG002 - Truth has the launches
        return self._launches

    def inputs_moved(self) -> None:
        """Draw the mode of the next layout."""
        self._machine.now_seconds += self._machine.noise.renewal_seconds
        self._draw_layout()

    def _draw_layout(self) -> None:
        self._factor = self._factors[self._random.choice(len(self._factors), p=self._weights)]


def _truth(value: Truth | float | str) -> Truth:
    """Return a value of the file as Truth."""
    if isinstance(value, Truth):
        return value
    return Truth(1.0, place=value) if isinstance(value, str) else Truth(value)
