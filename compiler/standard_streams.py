"""Standard input, output and error of a command, which may be closed, full, or in an encoding that lacks letters.

The number of a closed descriptor goes to the next file that is opened, which would then receive what is printed. So
closed descriptors are opened on the null device. A command that prints to a closed standard output fails. A standard
error that takes nothing is no failure: the exit code says what happened.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import suppress
from typing import Any


class _Closed(io.TextIOBase):
    """Standard input or output that the shell closed: ``<&-`` and ``>&-``."""

    def read(self, _size: int | None = -1) -> str:
        raise OSError(errno.EBADF, "it is closed")

    def write(self, text: str) -> int:
        if text:
            raise OSError(errno.EBADF, "it is closed")
        return 0


class _Lenient:
    """Standard error that ignores failed writes."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def settle(encoding: str | None = None) -> None:
    """Prepares the streams of this process for a command: once, before anything is opened or printed.

    Args:
        encoding: of standard input and output, where it is not the terminal's. What a terminal's lacks is written as
            an escape.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free
    sys.stdin, sys.stdout = _fit(sys.stdin, encoding, "strict"), _fit(sys.stdout, encoding, "backslashreplace")
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115, PTH123
    elif sys.stderr is sys.__stderr__:
        sys.stderr = _Lenient(sys.stderr)


def _fit(stream: Any, encoding: str | None, errors: str) -> Any:
    """A stream of the process, prepared for a command; a replaced stream stays as it is."""
    if stream is None:
        return _Closed()
    if stream in (sys.__stdin__, sys.__stdout__):
        stream.reconfigure(encoding=encoding, errors=errors)
    return stream


def silence() -> None:
    """Leaves standard output alone for good: Python's last flush would complain of what it could not write."""
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123
