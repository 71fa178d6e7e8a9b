"""Profiles of single benchmarks: where their time goes."""

KINDS = {
    "phases": "forward, loss, backward and optimizer.step",
    "layers": "the parts of each convolution",
    "functions": "Python functions, measured by cProfile",
    "kernels": "GPU kernels, and host-device synchronisations",
    "trace": "a trace of operators for Perfetto and TensorBoard",
    "ranges": "layers and phases as ranges of record_function and NVTX",
}
"""A description of each kind of profile."""
