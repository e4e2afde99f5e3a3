"""Reads files of results, and detects other files and other versions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from ...compiler import files
from ...compiler.errors import error

T = TypeVar("T")


def load(path: str | Path, command: str, version: int, read: Callable[[dict[str, Any]], T]) -> T:
    """Reads a file that ``command`` wrote, with ``read``, which may raise any exception for a damaged file.

    Raises:
        FileError: WF501 for an unreadable file, WF743 for another version, WF744 for a damaged or foreign file.
    """
    try:
        text = files.read_text(path, "WF501")
    except UnicodeDecodeError as e:
        raise error("WF744", path=path, command=command, reason="it is no text") from e
    try:
        found = json.loads(text)
    except ValueError as e:
        raise error("WF744", path=path, command=command, reason=e) from e
    if not isinstance(found, dict) or found.get("format") != command:
        raise error("WF744", path=path, command=command, reason=f"it does not say {command!r}")
    if found.get("version") != version:
        raise error("WF743", path=path, command=command, found=found.get("version"), expected=version)
    try:
        return read(found)
    except (LookupError, TypeError, ValueError) as e:
        raise error("WF744", path=path, command=command, reason=f"{type(e).__name__} {e}") from e
