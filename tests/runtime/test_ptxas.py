"""ptxas: where it is found, what it makes and reports, and its refusals. Needs no GPU."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from warpfold.compiler.errors import BackendError
from warpfold.runtime import ptxas
from warpfold.runtime.ptxas import Usage

EMPTY = """
.version 8.0
.target {arch}
.address_size 64
.visible .entry first(.param .u64 out) {{ ret; }}
.visible .entry second(.param .u64 out)
{{
  .reg .b64 %a;
  .reg .b32 %v;
  .shared .align 4 .b8 cells[512];
  ld.param.u64 %a, [out];
  mov.u32 %v, cells;
  st.shared.u32 [%v], %v;
  ld.shared.u32 %v, [cells+4];
  st.global.u32 [%a], %v;
  ret;
}}
"""
REPORT = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'sum_f32' for 'sm_90a'
ptxas info    : Function properties for sum_f32
    16 bytes stack frame, 12 bytes spill stores, 20 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 1024+16 bytes smem, 400 bytes cmem[0]
ptxas info    : Compile time = 10.000 ms
ptxas info    : Compiling entry function 'sum_f32_second' for 'sm_90a'
ptxas info    : Function properties for sum_f32_second
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 16 registers, used 0 barriers, 400 bytes cmem[0]
"""


@pytest.mark.parametrize("arch", ["sm_75", "sm_90a", "sm_120"])
def test_assembles(arch: str) -> None:
    made = ptxas.assemble(EMPTY.format(arch="sm_75" if arch != "sm_90a" else arch), arch)
    assert made.cubin.startswith(b"\x7fELF")
    assert set(made.kernels) == {"first", "second"}
    assert 0 < made.kernels["second"].registers <= made.registers
    assert made.spills == 0
    assert made.kernels["first"].shared <= 1024  # newer architectures keep 1 KiB for themselves
    assert made.shared == made.kernels["second"].shared >= 512


def test_report() -> None:
    found = ptxas.report(REPORT)
    assert found == {"sum_f32": Usage(40, 32, 1024), "sum_f32_second": Usage(16, 0, 0)}
    both = ptxas.Assembly(b"", found)
    assert (both.registers, both.spills, both.shared) == (40, 32, 1024)
    assert ptxas.Assembly(b"", {}).registers == 0


@pytest.mark.parametrize(
    ("ptx", "arch", "text"),
    [
        (EMPTY.format(arch="sm_75").replace("ret;", "halt;", 1), "sm_75", r"line 5.*(?s:.*)halt"),
        ("not ptx", "sm_90", r"\.version"),
        (EMPTY.format(arch="sm_90"), "sm_75", r"(?s:.*)newer one"),
        (EMPTY.format(arch="sm_90a"), "sm_100", r"(?s:.*)sm_90a fits no other"),
        (EMPTY.format(arch="sm_75"), "sm_999", r"(?s:.*)too old for it: python -m pip install --upgrade"),
    ],
)
def test_refusals(ptx: str, arch: str, text: str) -> None:
    with pytest.raises(BackendError, match=rf"^WF607: ptxas refuses the PTX for {arch}: .*{text}") as caught:
        ptxas.assemble(ptx, arch)
    assert "/tmp" not in str(caught.value)


def program(path: Path, body: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def nowhere(monkeypatch: pytest.MonkeyPatch, *folders: Path) -> None:
    """Leaves only ``folders`` to search for NVIDIA's packages, and an empty PATH."""
    monkeypatch.delenv("WARPFOLD_PTXAS", raising=False)
    monkeypatch.setattr(ptxas.sys, "path", [str(f) for f in folders])
    monkeypatch.setenv("PATH", "")


def test_not_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    nowhere(monkeypatch, tmp_path)
    assert ptxas.find_ptxas() is None
    with pytest.raises(BackendError, match=r"^WF606: (?s:.*)pip install nvidia-cuda-nvcc"):
        ptxas.assemble("", "sm_90a")
    with pytest.raises(BackendError, match=r"^WF608: (?s:.*)pip install nvidia-cuda-nvdisasm"):
        ptxas.disassemble(b"")


def test_the_search_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    nowhere(monkeypatch, tmp_path)
    on_path = program(tmp_path / "path" / "ptxas", "true")
    monkeypatch.setenv("PATH", str(on_path.parent))
    assert ptxas.find_ptxas() == on_path
    older = program(tmp_path / "nvidia" / "cuda_nvcc" / "bin" / "ptxas", "true")
    assert ptxas.find_ptxas() == older
    newer = program(tmp_path / "nvidia" / "cu9" / "bin" / "ptxas", "true")
    assert ptxas.find_ptxas() == newer
    newest = program(tmp_path / "nvidia" / "cu13" / "bin" / "ptxas", "true")
    assert ptxas.find_ptxas() == newest
    own = program(tmp_path / "own", "true")
    monkeypatch.setenv("WARPFOLD_PTXAS", str(own))
    assert ptxas.find_ptxas() == own


def test_an_invalid_choice_is_an_error_and_not_a_fallback(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WARPFOLD_PTXAS", str(tmp_path / "missing"))
    assert ptxas.find_ptxas() is None
    with pytest.raises(BackendError, match=r"^WF606: .*WARPFOLD_PTXAS=.*missing is no program"):
        ptxas.assemble("", "sm_90a")


def test_a_tool_that_does_not_start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "ptxas"
    broken.write_bytes(b"\x7fELF but not really")
    broken.chmod(0o755)
    monkeypatch.setenv("WARPFOLD_PTXAS", str(broken))
    with pytest.raises(BackendError, match=r"^WF607: .*does not start"):
        ptxas.assemble("", "sm_90a")


def test_version(tmp_path: Path) -> None:
    assert ptxas.version(program(tmp_path / "a", "echo Cuda compilation tools, release 13.1, V13.1.80")) == "13.1"
    assert ptxas.version(program(tmp_path / "b", "true")) == "of unknown version"


@pytest.mark.parametrize(("name", "flag"), [("nvdisasm", "-c"), ("cuobjdump", "-sass")])
def test_disassembles_with_either_tool(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, flag: str) -> None:
    nowhere(monkeypatch, tmp_path)
    cat = shutil.which("cat", path="/bin:/usr/bin")
    tool = program(tmp_path / "nvidia" / "cu13" / "bin" / name, f'echo "$1"; {cat} "$2"')
    assert ptxas.disassemble(b"code") == f"{flag}\ncode"
    assert ptxas.has_disassembler() is False  # of the two tools that it takes, ptxas is missing
    program(tool, "echo 'not a cubin' >&2; exit 3")
    with pytest.raises(BackendError, match=rf"^WF610: {name} failed: not a cubin"):
        ptxas.disassemble(b"code")
