"""Loaders end their workers: at the end, at an error, and when they are interrupted while they start."""

import multiprocessing
import time

import psutil
import pytest
from torch.utils.data import DataLoader

from gnnbench.suite.loading import Loading


def loader(workers):
    return DataLoader(list(range(6)), batch_size=2, num_workers=workers)


def children():
    return set(psutil.Process().children(recursive=True))


def sleeping():
    process = multiprocessing.Process(target=time.sleep, args=(600,), daemon=True)
    process.start()
    return process


class Interrupted:
    """A loader that is interrupted when its first worker has started."""

    def __iter__(self):
        sleeping()
        raise KeyboardInterrupt


@pytest.mark.parametrize("workers", [0, 2])
def test_batches_come_in_order_and_begin_again(workers):
    before = children()
    with Loading(loader(workers)) as loading:
        found = [batch.tolist() for batch in loading.take(2) + loading.take(3)]
        assert found == [[0, 1], [2, 3], [4, 5], [0, 1], [2, 3]]
        assert len(children() - before) == workers
        loading.close()
        assert children() == before
        assert loading.take(1)[0].tolist() == [0, 1]
    assert children() == before


def test_workers_end_at_an_error_although_it_refers_to_the_iterator():
    before = children()
    loading = Loading(loader(2))
    with pytest.raises(KeyboardInterrupt) as caught, loading:  # noqa: PT012
        iterator = iter(loader(2))
        loading._iterator = iterator
        assert len(children() - before) == 2
        raise KeyboardInterrupt
    assert None not in (caught.value, iterator)
    assert children() == before


def test_workers_end_when_their_start_is_interrupted_and_other_processes_go_on():
    other = sleeping()
    before = children()
    with pytest.raises(KeyboardInterrupt), Loading(Interrupted()) as loading:
        loading.take(1)
    assert children() == before
    other.kill()
    other.join()
