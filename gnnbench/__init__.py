"""Performance regression suite for graph neural network kernels, on pytest and pytest-benchmark."""

__version__ = "0.1.0"
