"""The cache of compiled artifacts: in memory, and on disk for the next process.

A file is written under a temporary name and moved into place, so no process sees half of one. A file that cannot be
read and verified, or that differs from what the caller would compile, counts as missing. A folder that other users can
write to is not used.
"""

from __future__ import annotations

import hashlib
import os
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ..compiler import files
from ..compiler.driver import artifact_file
from ..compiler.errors import FileError, WarpfoldWarning, error

if TYPE_CHECKING:
    from ..compiler.driver.artifact import Artifact
    from ..compiler.plan.facts import Facts
    from ..compiler.plan.plan import Plan
    from ..compiler.program.graph import Program
    from ..compiler.target import Target

PRIVATE, OTHERS = 0o700, 0o022
"""Mode of the cache's folders, and the mode bits that let others write."""
_memory: dict[str, Artifact] = {}


def folder() -> Path:
    """The folder of the cache: ``WARPFOLD_CACHE_DIR``, or in the user's cache folder."""
    chosen = os.environ.get("WARPFOLD_CACHE_DIR")
    if chosen:
        return Path(chosen)
    import platformdirs

    return Path(platformdirs.user_cache_dir("warpfold"))


_BINDINGS = ("mlir_python_bindings-", "numba_cuda_mlir-")
"""Prefixes of the ``.dist-info`` folders of MLIR's Python bindings."""


@cache
def versions() -> str:
    """A digest of the sources of compiler and passes, and of the version of the MLIR bindings."""
    found = hashlib.sha256()
    root = Path(__file__).parent.parent
    for part in ("compiler", "passes"):
        for file in sorted((root / part).rglob("*.py")):
            found.update(file.read_bytes())
    found.update(" ".join(_installed()).encode())
    return found.hexdigest()


def _installed() -> list[str]:
    """The ``.dist-info`` folders of the bindings, whose names contain versions.

    ``importlib.metadata`` would import a mail parser, 8 ms of a first call.
    """
    found = []
    for path in sys.path:
        with suppress(OSError), os.scandir(path or ".") as entries:
            found += sorted(e.name for e in entries if e.name.startswith(_BINDINGS) and e.name.endswith(".dist-info"))
    return found


def key(program: Program, facts: Facts, plan: Plan, target: Target) -> str:
    """The digest of everything that an artifact depends on."""
    text = "|".join((program.name, program.digest, repr(facts), repr(plan), repr(target), versions()))
    return hashlib.sha256(text.encode()).hexdigest()


def get(name: str, expected: Callable[[], Artifact]) -> Artifact | None:
    """The artifact with key ``name``, from memory or disk; None if there is no sound one.

    Args:
        name: the key.
        expected: returns the artifact without code, which a file must agree with.
    """
    found = _memory.get(name)
    if found is None and trusted():
        try:
            path = _path(name)
            found = artifact_file.parse(files.read(path, "WF501"), path)
        except FileError:
            return None
        if found.without_code() != expected():
            return None
        _memory[name] = found
    return found


def put(artifact: Artifact) -> None:
    """Keeps an artifact in memory and on disk; a failure to write costs the next process a compilation."""
    _memory[artifact.key] = artifact
    path, body = _path(artifact.key), artifact_file.to_bytes(artifact)
    with suppress(OSError):
        if make(path.parent):
            files.write(path, lambda f: f.write(body), private=True)


def make(path: Path) -> bool:
    """Makes a private folder in the cache; returns False if the cache must not be used.

    Raises:
        OSError: it cannot be made.
    """
    folder().mkdir(mode=PRIVATE, parents=True, exist_ok=True)
    if not trusted():
        return False
    path.mkdir(mode=PRIVATE, exist_ok=True)
    return True


def trusted() -> bool:
    """Whether the cache may be used; warns once (WF511) if other users can write to it."""
    reason = problem()
    if reason:
        _warn_once(folder(), reason)
    return not reason


def problem() -> str:
    """How other users can write to the cache's folder; empty if they cannot or it does not exist yet."""
    try:
        status = folder().stat()
    except (OSError, ValueError):
        return ""
    if status.st_uid not in (0, os.geteuid()):
        return f"it belongs to user {status.st_uid}"
    return f"others may write into it (mode {status.st_mode & 0o777:o})" if status.st_mode & OTHERS else ""


@cache
def _warn_once(path: Path, reason: str) -> None:
    warnings.warn(error("WF511", path=path, reason=reason).render(), WarpfoldWarning, stacklevel=2)


def clear_memory() -> None:
    """Drops the artifacts in memory; files stay."""
    _memory.clear()


def _path(name: str) -> Path:
    return folder() / name[:2] / f"{name}.warpfold"
