"""The folder of saved profiles: of each benchmark a folder, and in it 0001, 0002, ... whole or not at all."""

import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import UsageError

_LONGEST_NAME = 200
_NUMBER = re.compile(r"\d{4,}")
_DRAFT = ".new-"
_ABANDONED_SECONDS = 86_400.0
"""After which a draft is one that a killed process left behind."""


class Store:
    """Such a folder; nothing is made before it is needed."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def check(self) -> None:
        """Make it, and see that it can be written.

        Raises:
            UsageError: it cannot.
        """
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.root):
                pass
        except OSError as error:
            raise UsageError(
                f"the folder of profiles {self.root} cannot be written ({error.strerror}); name another"
            ) from None

    @contextmanager
    def new(self, name: str) -> Iterator["Draft"]:
        """Have a folder for one more profile of a benchmark; it gets its number when the context ends.

        Where the context ends with an error, nothing of it is left.

        Args:
            name: the benchmark's id.
        """
        parent = self.root / folder_name(name)
        parent.mkdir(parents=True, exist_ok=True)
        for left in parent.glob(f"{_DRAFT}*"):
            with suppress(OSError):
                if time.time() - left.stat().st_mtime > _ABANDONED_SECONDS:
                    shutil.rmtree(left)
        draft = Draft(Path(tempfile.mkdtemp(dir=parent, prefix=_DRAFT)))
        try:
            yield draft
            draft.folder.chmod(0o755)
            draft.folder = _numbered(draft.folder)
        except BaseException:
            shutil.rmtree(draft.folder, ignore_errors=True)
            with suppress(OSError):
                parent.rmdir()  # unless it has others
            raise


class Draft:
    """A profile's folder: where it is written, and then where it is."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder


def folder_name(name: str) -> str:
    """Return the name of a benchmark's folder: what any file system takes, and no path.

    Two benchmarks may get the same, as `a:b` and `a_b` do. Nothing is lost then: each profile has a number of
    its own and says whose it is.
    """
    return re.sub(r"[^A-Za-z0-9._@+=-]+", "_", name).lstrip("._").rstrip("_")[:_LONGEST_NAME] or "_"


def _numbered(folder: Path) -> Path:
    """Rename a folder to the next number. Another process may take that first: a folder replaces no other."""
    while True:
        used = (path.name for path in folder.parent.iterdir() if _NUMBER.fullmatch(path.name))
        target = folder.with_name(f"{max(map(int, used), default=0) + 1:04}")
        try:
            return folder.rename(target)
        except OSError:
            if not target.exists():
                raise
