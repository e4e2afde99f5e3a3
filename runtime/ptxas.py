"""Runs ptxas and the disassemblers: from PTX to machine code with a report, and to SASS. Needs no GPU."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from ..compiler.driver.artifact import Artifact
from ..compiler.errors import error

_WHEELS = ("cuda_nvcc", "cuda_nvdisasm", "cuda_cuobjdump")  # folders of the CUDA 12 packages; newer packages share cu13
_ENTRY = re.compile(r"Compiling entry function '([^']+)' for")
_SPILLS = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")
_REGISTERS = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+)(?:\+\d+)? bytes smem")


@dataclass(frozen=True)
class Usage:
    """Resources of a kernel: registers per thread, spilled bytes (stored and loaded), static shared bytes per CTA."""

    registers: int
    spills: int
    shared: int


@dataclass(frozen=True)
class Assembly:
    """The output of ``ptxas`` for a PTX text.

    Attributes:
        cubin: the machine code.
        kernels: the resources by kernel.
    """

    cubin: bytes
    kernels: dict[str, Usage]

    @property
    def registers(self) -> int:
        """The greatest number of registers per thread of any kernel."""
        return max((k.registers for k in self.kernels.values()), default=0)

    @property
    def spills(self) -> int:
        """The spilled bytes of all kernels."""
        return sum(k.spills for k in self.kernels.values())

    @property
    def shared(self) -> int:
        """The greatest static shared memory of any kernel, in bytes."""
        return max((k.shared for k in self.kernels.values()), default=0)


def find_ptxas() -> Path | None:
    """``ptxas``: from ``WARPFOLD_PTXAS``, else the ``nvidia-cuda-nvcc`` package, else ``PATH``."""
    chosen = os.environ.get("WARPFOLD_PTXAS")
    if chosen:
        return Path(chosen) if os.access(chosen, os.X_OK) and Path(chosen).is_file() else None
    return _find("ptxas")


def version(tool: Path) -> str:
    """The release of a CUDA tool, such as ``13.1``."""
    return _version(str(tool), tool.stat().st_mtime_ns)


def assemble(ptx: str, arch: str) -> Assembly:
    """Machine code for ``arch`` (``sm_90a``) from PTX text, with ptxas' report.

    Raises:
        BackendError: WF606 when ptxas is missing, WF607 when it rejects the PTX.
    """
    tool = find_ptxas()
    if tool is None:
        chosen = os.environ.get("WARPFOLD_PTXAS")
        raise error("WF606", reason=f" (WARPFOLD_PTXAS={chosen} is no program)" if chosen else "")
    with tempfile.TemporaryDirectory(prefix="warpfold-") as folder:
        source, result = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        source.write_text(ptx, encoding="utf-8")
        done = _run([str(tool), "-v", "-lineinfo", f"--gpu-name={arch}", "-o", str(result), str(source)])
        if done.returncode or not result.is_file():
            raise _refused(tool, arch, done.stdout + done.stderr, source)
        return Assembly(result.read_bytes(), report(done.stdout + done.stderr))


def with_cubins(artifact: Artifact, archs: Sequence[str]) -> Artifact:
    """``artifact`` with machine code for these architectures too.

    Raises:
        BackendError: as ``assemble``.
    """
    return replace(artifact, cubins={**artifact.cubins, **{a: assemble(artifact.ptx, a).cubin for a in archs}})


def report(text: str) -> dict[str, Usage]:
    """The resources of each kernel, from the output of ``ptxas -v``."""
    found = {}
    for part in re.split(r"(?=ptxas info\s*: Compiling entry)", text):
        entry = _ENTRY.search(part)
        if entry:
            spills = sum(int(n) for match in _SPILLS.findall(part) for n in match)
            found[entry[1]] = Usage(_number(_REGISTERS, part), spills, _number(_SHARED, part))
    return found


def has_disassembler() -> bool:
    """Whether machine code can be made and shown with its lines."""
    return find_ptxas() is not None and _find("nvdisasm") is not None


def disassemble(cubin: bytes, *, lines: bool = False) -> str:
    """The SASS text of machine code, from nvdisasm or else cuobjdump.

    With ``lines``, nvdisasm writes the line of its source before an instruction: ``//## File "name", line 7``.

    Raises:
        BackendError: WF608 when both are missing, WF610 when the tool fails.
    """
    command = next(
        (
            [str(tool), *flags]
            for name, *flags in (("nvdisasm", "-c", *["-g"] * lines), ("cuobjdump", "-sass"))
            if (tool := _find(name))
        ),
        None,
    )
    if command is None:
        raise error("WF608")
    with tempfile.TemporaryDirectory(prefix="warpfold-") as folder:
        source = Path(folder, "kernel.cubin")
        source.write_bytes(cubin)
        done = _run([*command, str(source)])
    if done.returncode:
        raise error("WF610", tool=Path(command[0]).name, message=(done.stderr or done.stdout).strip())
    return done.stdout


def _refused(tool: Path, arch: str, message: str, source: Path) -> Exception:
    lines = [line for line in message.splitlines() if "error" in line or "fatal" in line] or message.splitlines()
    text = "\n".join(lines).replace(str(source), "kernel.ptx").strip() or "no message"
    remedy = "report it with the PTX (warpfold compile ... --emit ptx)"
    if "not defined for option 'gpu-name'" in text or "Unsupported .version" in text:
        remedy = f"ptxas {version(tool)} is too old for it: python -m pip install --upgrade nvidia-cuda-nvcc"
    elif "newer than" in text or ".target" in text:
        remedy = "assemble for the architecture that the PTX is for, or a newer one; sm_90a fits no other"
    return error("WF607", arch=arch, message=text, remedy=remedy)


def _find(name: str) -> Path | None:
    """A CUDA tool, in the NVIDIA packages of this environment or on ``PATH``."""
    for entry in sys.path:
        folder = Path(entry or ".", "nvidia")
        if not folder.is_dir():
            continue
        newest = sorted((f for f in folder.glob("cu[0-9]*") if f.name[2:].isdigit()), key=lambda f: -int(f.name[2:]))
        for package in (*newest, *(folder / wheel for wheel in _WHEELS)):
            tool = package / "bin" / name
            if tool.is_file() and os.access(tool, os.X_OK):
                return tool
    found = shutil.which(name)
    return Path(found) if found else None


@lru_cache(maxsize=16)
def _version(tool: str, _changed: int) -> str:
    found = re.search(r"release (\d+\.\d+)", _run([tool, "--version"]).stdout)
    return found[1] if found else "of unknown version"


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    except OSError as e:  # built for another machine, or deleted
        return subprocess.CompletedProcess(command, 1, "", f"fatal: {command[0]} does not start: {e.strerror or e}")


def _number(pattern: re.Pattern[str], text: str) -> int:
    found = pattern.search(text)
    return int(found[1]) if found else 0
