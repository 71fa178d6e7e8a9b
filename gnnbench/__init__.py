"""Performance regression suite for graph neural network kernels, on pytest and pytest-benchmark."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("gnnbench")
except PackageNotFoundError:  # run from a folder, without an installation
    __version__ = "0+unknown"
