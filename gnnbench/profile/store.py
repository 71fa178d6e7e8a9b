"""The folder of profiles: each benchmark has a folder, with its profiles in 0001, 0002, ...

A numbered folder always holds a complete profile.
"""

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import UsageError

_LONGEST_NAME = 200
_NUMBER = re.compile(r"\d{4,}")
_DRAFT = ".new-"
_ABANDONED_SECONDS = 86_400.0
"""A draft older than this was left by a killed process."""


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
    def new(self, name: str) -> Iterator["Draft"]:
        """Yield a folder for a new profile of the benchmark with this id.

        It gets its number when the context ends; after an error, it is removed.
        """
        parent = self.root / folder_name(name)
        parent.mkdir(parents=True, exist_ok=True)
        draft = Draft(Path(tempfile.mkdtemp(dir=parent, prefix=_DRAFT)))
        now = draft.folder.stat().st_mtime  # the file system's clock, which no test replaces
        for left in parent.glob(f"{_DRAFT}*"):
            with suppress(OSError):
                if now - left.stat().st_mtime > _ABANDONED_SECONDS:
                    shutil.rmtree(left)
        try:
            yield draft
            draft.folder.chmod(0o755)
            draft.folder = _numbered(draft.folder)
        except BaseException:
            shutil.rmtree(draft.folder, ignore_errors=True)
            with suppress(OSError):
                parent.rmdir()  # fails if it has other profiles
            raise


class Draft:
    """A profile's folder: a temporary one while it is written, then the numbered one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder


def folder_name(name: str) -> str:
    """Return a benchmark's folder name: valid on any file system, and without path separators.

    Two benchmarks may share a name, as `a:b` and `a_b` do. Nothing is lost: each profile has its own number
    and stores the benchmark's id.
    """
    return re.sub(r"[^A-Za-z0-9._@+=-]+", "_", name).lstrip("._").rstrip("_")[:_LONGEST_NAME] or "_"


def _numbered(folder: Path) -> Path:
    """Rename a folder to the next free number; retry if another process takes that number first."""
    while True:
        used = (path.name for path in folder.parent.iterdir() if _NUMBER.fullmatch(path.name))
        target = folder.with_name(f"{max(map(int, used), default=0) + 1:04}")
        try:
            return folder.rename(target)
        except OSError:
            if not target.exists():
                raise
