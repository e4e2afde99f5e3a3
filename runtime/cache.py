"""The cache of compiled artifacts: in memory, and on disk for the next process.

A file is written whole under a temporary name and moved into place, so readers and other writers never see half of
one. Whatever cannot be read and verified counts as not there.
"""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ..compiler import artifact as artifacts
from ..compiler.errors import FileError

if TYPE_CHECKING:
    from ..compiler.abi import Facts
    from ..compiler.artifact import Artifact
    from ..compiler.graph import Program
    from ..compiler.plan import Plan
    from ..compiler.target import Target

_memory: dict[str, Artifact] = {}


def folder() -> Path:
    """Where artifacts are kept: ``WARPFOLD_CACHE_DIR``, or the user's cache folder."""
    chosen = os.environ.get("WARPFOLD_CACHE_DIR")
    if chosen:
        return Path(chosen)
    import platformdirs

    return Path(platformdirs.user_cache_dir("warpfold"))


@cache
def versions() -> str:
    """A digest of what compiles: warpfold's own compiler and passes, and the version of the MLIR bindings."""
    from importlib import metadata

    found = hashlib.sha256()
    root = Path(__file__).parent.parent
    for part in ("compiler", "passes"):
        for file in sorted((root / part).rglob("*.py")):
            found.update(file.read_bytes())
    for name in ("mlir-python-bindings", "numba-cuda-mlir"):
        try:
            found.update(f"{name} {metadata.version(name)}".encode())
        except metadata.PackageNotFoundError:
            continue
    return found.hexdigest()


def key(program: Program, facts: Facts, plan: Plan, target: Target) -> str:
    """The digest of everything an artifact depends on."""
    text = "|".join((program.name, program.digest, repr(facts), repr(plan), repr(target), versions()))
    return hashlib.sha256(text.encode()).hexdigest()


def get(name: str) -> Artifact | None:
    """The artifact under the key ``name``, from memory or disk; None when there is no sound one."""
    found = _memory.get(name)
    if found is None:
        try:
            found = artifacts.load(_path(name))
        except (FileError, KeyError, TypeError, ValueError):
            return None
        if found.key != name:
            return None
        _memory[name] = found
    return found


def put(artifact: Artifact) -> None:
    """Keeps an artifact. A disk that cannot be written only costs the next process a compilation."""
    _memory[artifact.key] = artifact
    path = _path(artifact.key)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        artifact.save(path)
    except OSError:
        return


def clear_memory() -> None:
    """Forgets what is in memory; files stay."""
    _memory.clear()


def _path(name: str) -> Path:
    return folder() / name[:2] / f"{name}.warpfold"
