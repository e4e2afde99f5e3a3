"""The provenance of measurements: GPU, driver, versions, commit, date, and whether the GPU was busy."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import terminal

if TYPE_CHECKING:
    from ...runtime.backends.cuda_backend import CudaBackend
    from .results import Row

ROOT = Path(__file__).parent.parent.parent
DRIVER = Path("/proc/driver/nvidia/version")
TAKEN = 2 << 30
"""Bytes of GPU memory that may be in use before a measurement; our own context uses some."""
SPREAD = 0.10
"""Greatest interquartile range on an idle GPU, as a fraction of the median."""
LONG = 20.0
"""Microseconds from which the range is checked: shorter times vary with the clock's resolution."""


def machine(backend: CudaBackend) -> dict[str, Any]:
    """Facts that a reader of the numbers needs."""
    commit, dirty = revision(ROOT)
    return {
        "gpu": backend.device_name, "sms": backend.sms, "arch": backend.target.arch, "driver": driver(),
        "cuda": backend.cuda_version, "python": platform.python_version(), "warpfold": _version("warpfold"),
        "cuda-python": _version("cuda-python") or _version("cuda-bindings"), "commit": commit, "dirty": dirty,
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }  # fmt: skip


def driver() -> str:
    """The version of the kernel driver, such as 580.159.04; empty if unknown."""
    try:
        text = DRIVER.read_text()
    except OSError:
        text = _output("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader") + "\n"
    found = re.search(r"(?:^|\s)(\d+(\.\d+)+)\s", text)
    return found[1] if found else ""


def revision(root: Path) -> tuple[str, bool]:
    """The commit of the source tree, and whether tracked files differ from it.

    For a tree without its repository, ``WARPFOLD_COMMIT`` gives the commit, with ``+`` appended if files differ.
    """
    said = os.environ.get("WARPFOLD_COMMIT", "")
    if said:
        return said.rstrip("+"), said.endswith("+")
    if not (root / ".git").exists():
        return "", False
    commit, status = (
        _output("git", "-C", str(root), *a) for a in (("rev-parse", "HEAD"), ("status", "--porcelain", "-uno"))
    )
    return commit, bool(status)


def _output(*command: str) -> str:
    """The output of a program; empty if it is missing or fails."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def committed(folder: Path = ROOT / "benchmarks" / "results") -> list[str]:
    """The GPUs of the results in the source tree."""
    found = set()
    for path in sorted(folder.glob("*.json")):
        try:
            found.add(json.loads(path.read_text(encoding="utf-8"))["machine"]["gpu"])
        except (OSError, ValueError, KeyError, TypeError):
            continue  # not a file of the benchmark
    return sorted(found)


def busy(backend: CudaBackend) -> list[str]:
    """Signs, before a measurement, that others use the GPU."""
    free, total = backend.memory_free()
    if total - free <= TAKEN:
        return []
    taken = f"{terminal.size(total - free)} of {terminal.size(total)} of the GPU's memory are in use"
    return [f"{taken}: if others compute there, too, the times are not the GPU's own"]


def unsteady(rows: Iterable[Row]) -> list[str]:
    """Cases whose times vary so much that others probably used the GPU."""
    found = [r for r in rows if r.ours.timing and r.ours.timing.median > LONG and r.ours.timing.spread > SPREAD]
    return [f"{r.name}: the quartiles lie {r.ours.timing.spread:.0%} apart" for r in found if r.ours.timing]
