"""Plans that the autotuner found faster than the planner's own: one file each in the cache directory.

A find belongs to one program, geometry, alignment, machine, determinism and version of the sources. It never changes a
result: a find is used only if its file is intact, the planner accepts it, and it gives the bits of the planner's own
plan. Any other find counts as missing.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..compiler import files
from ..compiler.errors import WarpfoldError, error
from ..compiler.plan.plan import Plan
from ..compiler.planner import choose as planner
from ..compiler.planner.task import Choice, Task
from . import cache

ENDING = ".json"


@dataclass(frozen=True)
class Find:
    """A plan that the autotuner found.

    Attributes:
        key: the digest of what it is for; see ``key``.
        plan: the fields of the plan, as ``plan=`` takes them.
        provenance: for readers: the reduction, the date, times in microseconds, versions.
    """

    key: str
    plan: str
    provenance: dict[str, Any] = field(default_factory=dict)


def words(plan: Plan) -> str:
    """All fields of ``plan``, as ``plan=`` takes them."""
    return ",".join(f"{k}={v}" for k, v in plan.to_dict().items() if k != "tree")


def folder() -> Path:
    """The folder of all finds."""
    return cache.folder() / "finds"


def key(task: Task, device: str) -> str:
    """The digest of everything that a find depends on; ``device`` is the driver's name for the device."""
    program = (task.program.name, task.program.digest)
    parts = (*program, task.geometry, task.addresses, task.target, task.sms, task.determinism, device)
    return hashlib.sha256("|".join((*map(repr, parts), cache.versions())).encode()).hexdigest()


def better(task: Task, own: Choice, device: str) -> Choice:
    """The choice found for ``task`` on ``device``, else the planner's ``own``.

    The emulator has no device name and no finds.
    """
    if not device or not folder().is_dir() or not cache.trusted():
        return own
    name = key(task, device)
    found = read(folder() / (name + ENDING))
    if found is None or found.key != name:
        return own
    try:
        other = planner.choose(task, found.plan)
    except WarpfoldError:
        return own
    return other if allowed(task, own, other) else own


def for_any_size(task: Task, own: Choice) -> Choice:
    """The choice found for kernels that also serve other sizes, else the planner's ``own``.

    Other sizes may combine in another order, so a find is used only if no order changes the result. The driver is
    asked for the device's name only if there are finds.
    """
    if not folder().is_dir():
        return own
    from ..compiler.planner.tree import unordered  # not imported without finds

    return better(task, own, machine()) if unordered(task.program) else own


def allowed(task: Task, own: Choice, other: Choice) -> bool:
    """Whether ``other`` may replace the planner's ``own`` choice: it gives the same bits, or none are promised."""
    from ..compiler.planner.tree import same_bits

    return task.determinism == "none" or same_bits(task.program, task.geometry.n_reduced, own, other)


def keep(find: Find) -> Path:
    """Writes a find, whole or not at all; returns its path.

    Raises:
        FileError: WF505.
    """
    path = folder() / (find.key + ENDING)
    body = json.dumps({"key": find.key, "plan": find.plan, "provenance": find.provenance}, indent=1)
    try:
        if not cache.make(path.parent):
            raise OSError("the cache is not used")
    except OSError as e:
        raise error("WF505", path=path, reason=e.strerror or e) from e
    files.write(path, lambda f: f.write(f"{_digest(body)}\n{body}\n".encode()), private=True)
    return path


def read(path: Path) -> Find | None:
    """The find in a file; None for a missing or damaged file."""
    try:
        head, _, body = files.read_text(path, "WF501").partition("\n")
        body = body.removesuffix("\n")
        if head != _digest(body):
            return None
        j = json.loads(body)
        return Find(str(j["key"]), str(j["plan"]), dict(j["provenance"]))
    except (OSError, ValueError, LookupError, TypeError):
        return None


def all_kept() -> list[Find]:
    """All readable finds, the oldest first."""
    found = [f for path in sorted(folder().glob(f"*{ENDING}")) if (f := read(path)) is not None]
    return sorted(found, key=lambda f: str(f.provenance.get("made", "")))


def forget() -> int:
    """Removes all finds, also damaged ones; returns the number of removed files.

    Raises:
        FileError: WF505.
    """
    paths = list(folder().glob(f"*{ENDING}"))
    for path in paths:
        try:
            path.unlink(missing_ok=True)
        except OSError as e:
            raise error("WF505", path=path, reason=e.strerror or e) from e
    return len(paths)


@lru_cache(maxsize=1)
def machine() -> str:
    """The driver's name for this machine's first device; empty if there is none."""
    from .backends import cuda_backend

    return cuda_backend.backend(0).device_name if cuda_backend.find() else ""


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()
