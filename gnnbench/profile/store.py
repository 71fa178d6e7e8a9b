"""The folder of profiles: each benchmark has a folder, with its profiles in 0001, 0002, ...

A numbered folder always holds a complete profile.
"""

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import UsageError
from ..files import next_number

_LONGEST_NAME = 200
_NUMBER = re.compile(r"\d{4,}")


class ProfileStore:
    """A folder of profiles, made when first needed."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def check(self) -> None:
        """Make the folder, and check that it is writable.

        Raises:
            UsageError: it is not.
        """
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.root):
                pass
        except OSError as error:
            raise UsageError(
                f"the folder of profiles {self.root} cannot be written ({error.strerror}); choose another"
            ) from None

    @contextmanager
    def new(self, name: str) -> Iterator[tuple[Path, Path]]:
        """Yield a folder to write a new profile of a benchmark to, and the numbered one that it becomes.

        It gets its number when the context ends; after an error, it is removed.
        """
        parent = self.root / folder_name(name)
        parent.mkdir(parents=True, exist_ok=True)

        def last() -> int:
            return max((int(one.name) for one in parent.iterdir() if _NUMBER.fullmatch(one.name)), default=0)

        try:
            with next_number(parent, last) as (number, draft):
                numbered = parent / f"{number:04}"
                yield draft, numbered
                draft.rename(numbered)
        except BaseException:
            with suppress(OSError):
                parent.rmdir()  # fails if it has other profiles
            raise


def folder_name(name: str) -> str:
    """Return a benchmark's folder name: valid on any file system, and without path separators.

    Two benchmarks may share a name, as `a:b` and `a_b` do. Nothing is lost: each profile has its own number
    and stores the benchmark's id.
    """
    return re.sub(r"[^A-Za-z0-9._@+=-]+", "_", name).lstrip("._").rstrip("_")[:_LONGEST_NAME] or "_"
