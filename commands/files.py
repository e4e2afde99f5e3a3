"""Output files: found unwritable before the work, written whole or not at all after it."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

from ..compiler.errors import error


class Output:
    """A file to be written at the end of a command.

    Making one checks that the file can be written; nothing is left behind until ``write``. What is there is replaced,
    but for a file that the command reads: one of ``inputs``.

    Raises:
        FileError: WF505.
    """

    def __init__(self, path: str, inputs: Sequence[str] = ()) -> None:
        if not path:  # a shell makes one of a variable that is not set
            raise error("WF505", path="''", reason="it names no file")
        self.shown = path
        self.path = Path(path).resolve()  # a link stays a link: what it points to is replaced
        if self.path.exists():
            if not stat.S_ISREG(self.path.stat().st_mode):
                raise self._error("it is not a regular file")
            if not os.access(self.path, os.W_OK):
                raise self._error("permission denied")
        if self.path in [Path(name).resolve() for name in inputs]:
            raise self._error("it is an input of this command")
        self._temporary().unlink()

    def write(self, fill: Callable[[IO[bytes]], Any]) -> None:
        """Puts what ``fill`` writes in place of the file, once all of it is written.

        Raises:
            FileError: WF505, with the old file as it was.
        """
        temporary = self._temporary()
        try:
            with temporary.open("wb") as f:
                fill(f)
            temporary.chmod(self.path.stat().st_mode & 0o777 if self.path.exists() else 0o666 & ~_umask())
            temporary.replace(self.path)
        except OSError as e:
            raise self._error(e.strerror or str(e)) from e
        finally:
            temporary.unlink(missing_ok=True)

    def _temporary(self) -> Path:
        """An empty file beside the output."""
        try:
            handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.name}.")
        except OSError as e:
            raise self._error(e.strerror or str(e)) from e
        os.close(handle)
        return Path(name)

    def _error(self, reason: str) -> Exception:
        return error("WF505", path=self.shown, reason=reason)


def _umask() -> int:
    """The process's file mode mask, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
