"""A sparse product and an edge softmax with one CPU thread, two threads, and all of the session's threads."""

from collections.abc import Iterator
from dataclasses import replace

from ..limits import CPU_THREADS
from ..operation import Operation
from . import edge_softmax, spmm

_SUM = next(operation for operation in spmm.OPERATIONS if operation.name == "spmm_sum")
_SOFTMAX = next(operation for operation in edge_softmax.OPERATIONS if operation.name == "edge_softmax")


def _by_threads(operation: Operation) -> Iterator[Operation]:
    calls = {
        name: call._replace(limits=(*call.limits, CPU_THREADS)) for name, call in operation.calls.items()
    }
    for name, threads in (("1_thread", 1), ("2_threads", 2), ("all_threads", None)):
        yield replace(
            operation,
            name=f"{operation.name}_{name}",
            calls=calls,
            threads=threads,
            core=False,
            example=operation is _SUM and threads == 1,
            default=operation is _SUM,
            group="threads",
        )


OPERATIONS = (*_by_threads(_SUM), *_by_threads(_SOFTMAX))
