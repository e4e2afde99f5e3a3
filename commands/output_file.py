"""Output files: checked before the work, written whole or not at all after it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

from ..compiler import files
from ..compiler.errors import error


class Output:
    """A file to be written at the end of a command.

    The constructor checks that the file can be written, and creates nothing. ``write`` replaces an existing file, but
    none of ``inputs``, the files that the command reads.

    Raises:
        FileError: WF505.
    """

    def __init__(self, path: str, inputs: Sequence[str] = ()) -> None:
        files.expect_writable(path)
        self.path = Path(path)
        if self.path.resolve() in [Path(name).resolve() for name in inputs]:
            raise error("WF505", path=path, reason="it is an input of this command")

    def write(self, fill: Callable[[IO[bytes]], Any]) -> None:
        """Replaces the file by what ``fill`` writes, once all of it is written.

        Raises:
            FileError: WF505, with the old file as it was.
        """
        files.write(self.path, fill)
