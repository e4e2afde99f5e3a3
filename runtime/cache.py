"""The cache of compiled artifacts: in memory, and on disk for the next process.

A file is written whole under a temporary name and moved into place, so readers and other writers never see half of
one. Whatever cannot be read and verified, or is not what the caller would compile, counts as not there. The folder is
its owner's alone: one that others can write into is not used.
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
    from ..compiler.plan.abi import Facts
    from ..compiler.plan.plan import Plan
    from ..compiler.program.graph import Program
    from ..compiler.target import Target

PRIVATE, OTHERS = 0o700, 0o022
"""The mode of the cache's folders, and what of a mode lets others write."""
_memory: dict[str, Artifact] = {}


def folder() -> Path:
    """Where artifacts are kept: ``WARPFOLD_CACHE_DIR``, or the user's cache folder."""
    chosen = os.environ.get("WARPFOLD_CACHE_DIR")
    if chosen:
        return Path(chosen)
    import platformdirs

    return Path(platformdirs.user_cache_dir("warpfold"))


_BINDINGS = ("mlir_python_bindings-", "numba_cuda_mlir-")
"""How the folders of distributions begin that carry MLIR's Python bindings."""


@cache
def versions() -> str:
    """A digest of what compiles: warpfold's own compiler and passes, and the version of the MLIR bindings."""
    found = hashlib.sha256()
    root = Path(__file__).parent.parent
    for part in ("compiler", "passes"):
        for file in sorted((root / part).rglob("*.py")):
            found.update(file.read_bytes())
    found.update(" ".join(_installed()).encode())
    return found.hexdigest()


def _installed() -> list[str]:
    """The folders that say which versions of the bindings are installed.

    ``importlib.metadata`` imports a parser of mail to read what is in such folders: 8 ms of a first call.
    """
    found = []
    for path in sys.path:
        with suppress(OSError), os.scandir(path or ".") as entries:
            found += sorted(e.name for e in entries if e.name.startswith(_BINDINGS) and e.name.endswith(".dist-info"))
    return found


def key(program: Program, facts: Facts, plan: Plan, target: Target) -> str:
    """The digest of everything an artifact depends on."""
    text = "|".join((program.name, program.digest, repr(facts), repr(plan), repr(target), versions()))
    return hashlib.sha256(text.encode()).hexdigest()


def get(name: str, expected: Callable[[], Artifact]) -> Artifact | None:
    """The artifact under the key ``name``, from memory or disk; None when there is no sound one.

    Args:
        name: the key.
        expected: all of the artifact that needs no compiler, which one on disk must agree with.
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
    """Keeps an artifact. A disk that cannot be written only costs the next process a compilation."""
    _memory[artifact.key] = artifact
    path, body = _path(artifact.key), artifact_file.to_bytes(artifact)
    with suppress(OSError):
        if make(path.parent):
            files.write(path, lambda f: f.write(body), private=True)


def make(path: Path) -> bool:
    """Makes a folder in the cache, for its owner alone; False if the cache is not to be used.

    Raises:
        OSError: it cannot be made.
    """
    folder().mkdir(mode=PRIVATE, parents=True, exist_ok=True)
    if not trusted():
        return False
    path.mkdir(mode=PRIVATE, exist_ok=True)
    return True


def trusted() -> bool:
    """Whether the cache is to be used; warns once of a folder that others can put files into (WF511)."""
    reason = problem()
    if reason:
        _warn_once(folder(), reason)
    return not reason


def problem() -> str:
    """How others can put files into the cache's folder; nothing where they cannot, or it is still to be made."""
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
    """Forgets what is in memory; files stay."""
    _memory.clear()


def _path(name: str) -> Path:
    return folder() / name[:2] / f"{name}.warpfold"
