"""A loader whose batches are taken one after another, and whose worker processes end when it is closed."""

import multiprocessing
import warnings
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def quietly(make: "Callable[..., Any]", *arguments: Any, **options: Any) -> Any:
    """Make a sampler, a loader or its iterator without warnings: that pyg-lib is faster, or of cores."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make(*arguments, **options)


class Loading:
    """A data loader of PyTorch, PyG or DGL that is being read.

    As a context manager it ends the workers also if the block is interrupted. The exception then keeps the
    iterator alive, so that it is not enough to drop it.
    """

    def __init__(self, loader: Any) -> None:
        """Start nothing yet."""
        self._loader = loader
        self._iterator: Iterator[Any] | None = None
        self._not_ours = set(multiprocessing.active_children())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def take(self, count: int) -> list[Any]:
        """Return the next batches; at the end of the loader begin again."""
        batches: list[Any] = []
        while len(batches) < count:
            if self._iterator is None:
                self._iterator = quietly(iter, self._loader)
            batch = next(self._iterator, None)
            if batch is None:
                self.close()
            else:
                batches.append(batch)
        return batches

    def close(self) -> None:
        """End the worker processes."""
        iterator, self._iterator = self._iterator, None
        iterator = getattr(iterator, "dataloader_it", iterator)  # DGL's has PyTorch's
        if shut_down := getattr(iterator, "_shutdown_workers", None):
            shut_down()
        # An iterator that was interrupted while it started its workers is not there.
        for worker in set(multiprocessing.active_children()) - self._not_ours:
            worker.terminate()
            worker.join()
