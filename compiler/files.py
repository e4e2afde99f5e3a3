"""Reading and writing files.

A file is written beside its path first and then moved there, so it appears complete or not at all. A link stays a link,
and the file that it points to keeps its mode and group. Pipes and character devices (``/dev/stdout``, ``/dev/null``)
are written directly. Only regular files of bounded size are read, so that no pipe or device can hang the process or
fill the memory.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from .errors import FileError, error

Name = str | os.PathLike[str]
MOST = 64 << 20
"""The most bytes of a text or an artifact that is read at once."""
PREFIX = ".warpfold."
"""The prefix of files that are still being written; their names do not grow with the final name."""
_KINDS = (
    (stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"), (stat.S_ISBLK, "a block device"),
)  # fmt: skip


def read(path: Name, code: str, most: int = MOST) -> bytes:
    """All bytes of a regular file.

    Raises:
        FileError: ``code``, for what cannot be read, is no regular file, or has more than ``most`` bytes.
    """
    with _failing(path, code), opened(path) as f:
        size = os.fstat(f.fileno()).st_size
        if size > most:
            raise OSError(f"it has {size} bytes: expected at most {most}")
        return f.read(size)


def read_text(path: Name, code: str, most: int = MOST) -> str:
    """The text of a regular file in UTF-8.

    Raises:
        FileError: ``code``, as ``read`` does.
        UnicodeDecodeError: for what is no such text.
    """
    return read(path, code, most).decode().replace("\r\n", "\n").replace("\r", "\n")


@contextmanager
def opened(path: Name) -> Iterator[IO[bytes]]:
    """A regular file, open for reading; OSError for anything else, which is never opened."""
    status = _status(Path(path))
    if status is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    _expect_regular(status)
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK  # a pipe that takes its place in between does not hang
    with os.fdopen(os.open(path, flags), "rb") as f:
        _expect_regular(os.fstat(f.fileno()))
        yield f


def expect_writable(path: Name, code: str = "WF505") -> None:
    """Finds a path that cannot be written before the work, and leaves nothing behind.

    Raises:
        FileError: ``code``.
    """
    with _failing(path, code):
        place = _place(path)
        if place is not None:
            _beside(place).unlink()


def write(path: Name, fill: Callable[[IO[bytes]], Any], code: str = "WF505", *, private: bool = False) -> None:
    """Puts what ``fill`` writes into the file ``path``, once all of it is written; the old file stays until then.

    A new file has the mode that the process gives new files, or is the owner's alone if ``private``.

    Raises:
        FileError: ``code``.
    """
    with _failing(path, code):
        place = _place(path)
        if place is None:
            _into(path, fill)
        else:
            _replace(place, fill, private)


def _replace(place: Path, fill: Callable[[IO[bytes]], Any], private: bool) -> None:
    """Writes a file beside ``place`` and moves it there."""
    old = _status(place)
    temporary = _beside(place, 0o600 if private or old else 0o666)
    try:
        with temporary.open("wb") as f:
            fill(f)
            if old is not None and not private:
                _make_alike(f.fileno(), old)
        temporary.replace(place)
    finally:
        temporary.unlink(missing_ok=True)


def _make_alike(handle: int, old: os.stat_result) -> None:
    """Gives an open file the owner, group and mode of the one that it replaces, as far as the process may."""
    for owner, group in ((old.st_uid, -1), (-1, old.st_gid)):
        with suppress(PermissionError):
            os.fchown(handle, owner, group)
    os.fchmod(handle, stat.S_IMODE(old.st_mode) & 0o777)


def _into(path: Name, fill: Callable[[IO[bytes]], Any]) -> None:
    """Writes into a pipe or a device; ``fill`` may seek, which these cannot."""
    with tempfile.TemporaryFile() as f:
        fill(f)
        f.seek(0)
        with os.fdopen(_open_special(path), "wb") as target:
            shutil.copyfileobj(f, target)


def _open_special(path: Name) -> int:
    """A pipe or a device, open for writing; standard output and error as they are, behind what was printed before."""
    stream = _own_stream(Path(path).stat())
    if stream is not None:
        stream.flush()
        return os.dup(stream.fileno())
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError as e:
        raise OSError("nobody reads the pipe") if e.errno == errno.ENXIO else e from None
    os.set_blocking(handle, True)
    return handle


def _own_stream(status: os.stat_result) -> IO[str] | None:
    """Standard output or error, where a path leads to it."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # closed, or no file
            if os.path.samestat(os.fstat(stream.fileno()), status):
                return stream
    return None


def _place(path: Name) -> Path | None:
    """Where a file is put that is written to ``path``: what a link points to; None for what is written into as it is.

    That is a pipe, a device, or the file that is the process's standard output.
    """
    if not os.fspath(path):  # a shell makes one of a variable that is not set
        raise OSError("it names no file")
    status = _status(Path(path))
    if status is None:
        return Path(path).resolve()
    direct = stat.S_ISFIFO(status.st_mode) or stat.S_ISCHR(status.st_mode)
    if not direct:
        _expect_regular(status)
    if not os.access(path, os.W_OK):
        raise OSError("permission denied")
    return None if direct or _own_stream(status) else Path(path).resolve()


def _beside(place: Path, mode: int = 0o600) -> Path:
    """A new empty file in the folder of ``place``; the process's mask applies to ``mode``."""
    temporary = place.parent / f"{PREFIX}{os.urandom(8).hex()}"
    os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode))
    return temporary


def _status(path: Path) -> os.stat_result | None:
    """What the system says of a path; None where nothing is."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None
    except ValueError as e:
        raise OSError("its name holds a null byte") from e


def _expect_regular(status: os.stat_result) -> None:
    """OSError for what is no regular file."""
    if not stat.S_ISREG(status.st_mode):
        kind = next((name for test, name in _KINDS if test(status.st_mode)), "something else")
        raise OSError(f"it is {kind}: expected a regular file")


@contextmanager
def _failing(path: Name, code: str) -> Iterator[None]:
    """Turns what the system says of ``path`` into the error ``code``."""
    try:
        yield
    except FileError:
        raise
    except TypeError as e:
        if isinstance(path, str | os.PathLike):
            raise
        raise error(code, path=repr(path), reason=f"it is of type {type(path).__name__}: expected a path") from e
    except OSError as e:
        shown = os.fspath(path)
        raise error(code, path=shown if shown and shown.isprintable() else repr(shown), reason=e.strerror or e) from e
