"""``warpfold doctor``: what was found on this machine, and remedies for what is missing."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryFile

from ..compiler.errors import WarpfoldError
from . import terminal

Finding = tuple[str, bool, str, str]
"""What was looked for, whether it is there, details, and a remedy."""


def doctor() -> None:
    """Prints the findings."""
    found = [_python(), _bindings(), *_cuda(), _ptxas(), _disassembler(), _cache()]
    terminal.table(("", "", "found"), [(name, "ok" if fine else "no", text) for name, fine, text, _ in found])
    todo = [(name, advice) for name, fine, _, advice in found if not fine]
    terminal.show()
    if todo:
        terminal.show("to do")
        terminal.facts([(f"  {name}", advice) for name, advice in todo])
    else:
        terminal.show("everything is there")


def _python() -> Finding:
    names = ("warpfold", "numpy", "cuda-python", "ml_dtypes")
    versions = [f"{n} {v}" for n in names if (v := _version(n))]
    text = f"{platform.python_version()} at {sys.executable}; {', '.join(versions)}"
    return "Python", sys.version_info >= (3, 11), text, "use Python 3.11 or newer"


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _bindings() -> Finding:
    try:
        from ..compiler.ir.mlir import BINDINGS_NAME, BINDINGS_VERSION
    except WarpfoldError as e:
        return "MLIR bindings", False, e.message, f"{e.remedy} (saved artifacts run without them)"
    return "MLIR bindings", True, f"{BINDINGS_NAME} {BINDINGS_VERSION}, with the NVPTX backend", ""


def _cuda() -> list[Finding]:
    from ..runtime.backends.cuda_backend import backend, find

    devices = find()
    if not devices:
        try:
            backend(0)
        except WarpfoldError as e:
            return [("CUDA device", False, e.message, f"{e.remedy}, the default where no device is")]
    return [_device(d.number, backend) for d in devices]


def _device(number: int, backend: Callable[[int], object]) -> Finding:
    try:
        found = backend(number)
    except WarpfoldError as e:
        return f"CUDA device {number}", False, e.message, e.remedy
    name, target, sms = (getattr(found, a) for a in ("device_name", "target", "sms"))
    return f"CUDA device {number}", True, f"{name}, {sms} SMs, compiled for as {target.arch}", ""


def _ptxas() -> Finding:
    from ..runtime.ptxas import find_ptxas, version

    tool = find_ptxas()
    advice = "python -m pip install nvidia-cuda-nvcc (needed for --emit sass and saved machine code only)"
    return "ptxas", tool is not None, f"{version(tool)} at {tool}" if tool else "not found", advice


def _disassembler() -> Finding:
    from ..runtime.ptxas import disassemble

    advice = "python -m pip install nvidia-cuda-nvdisasm (needed for --emit sass only)"
    try:
        disassemble(b"")
    except WarpfoldError as e:
        missing = e.code == "WF608"  # any other error: a tool that exists rejected the empty code
        return "disassembler", not missing, "not found" if missing else str(_facts(e)), advice
    return "disassembler", True, "found", advice


def _facts(e: WarpfoldError) -> str:
    """The tool that an error of the disassembler names: the first word after the code."""
    return e.message.split()[0]


def _cache() -> Finding:
    from ..runtime.cache import folder, problem

    place = folder()
    if reason := problem():
        return "cache", False, f"{place} is not used: {reason}", "make it yours alone, or set WARPFOLD_CACHE_DIR"
    try:
        files = [f.stat().st_size for f in place.rglob("*.warpfold")] if place.is_dir() else []
        _write_near(place)
        writable = True
    except OSError as e:  # the file system refuses the name, or the folder may not be read
        files, writable = [], False
        place = Path(f"{place} ({e.strerror})")
    text = f"{place}: {len(files)} artifact(s), {terminal.size(sum(files))}"
    return "cache", writable, text, "set WARPFOLD_CACHE_DIR to a folder that can be written"


def _write_near(place: Path) -> None:
    """Creates and removes a file in ``place`` or its nearest existing parent; permission bits alone do not tell."""
    while not place.exists() and place != place.parent:
        place = place.parent
    TemporaryFile(dir=place).close()
