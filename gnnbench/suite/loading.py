"""A loader whose batches are taken one after another, and whose worker processes end when it is closed."""

import multiprocessing
import warnings
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def quietly(make: "Callable[..., Any]", *arguments: Any, **options: Any) -> Any:
    """Make a sampler, loader or iterator without warnings, such as the advice to install pyg-lib."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make(*arguments, **options)


class Loading:
    """Takes batches from a data loader of PyTorch, PyG or DGL.

    As a context manager, it ends the workers even if the block is interrupted. It would not be enough to drop
    the iterator, because the exception keeps it alive.
    """

    def __init__(self, loader: Any) -> None:
        """Take a loader; the first `take` starts its workers."""
        self._loader = loader
        self._iterator: Iterator[Any] | None = None
        self._other_processes = set(multiprocessing.active_children())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def take(self, count: int) -> list[Any]:
        """Return the next `count` batches; start the loader again after its last batch."""
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
        iterator = getattr(iterator, "dataloader_it", iterator)  # DGL's iterator wraps PyTorch's
        if shut_down := getattr(iterator, "_shutdown_workers", None):
            shut_down()
        # If the loader was interrupted while it started workers, there is no iterator to shut down.
        for worker in set(multiprocessing.active_children()) - self._other_processes:
            worker.terminate()
            worker.join()
