"""The peers of the benchmark: which are available, their messages when they are not, and the calls made to each."""

from __future__ import annotations

import os
import sys
from math import prod
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from warpfold.commands.bench import peers
from warpfold.commands.bench.cases import CASES, REDUCTIONS, Case, parse
from warpfold.commands.bench.peers import MissingError, UnservedError, cub, cupy, torch
from warpfold.compiler.errors import ArgumentError


def case(name: str) -> Case:
    found = parse(name)
    assert found is not None
    return found


def test_choices() -> None:
    assert peers.select("") == peers.NAMES
    assert peers.select("none") == ()
    assert peers.select("cub, torch") == ("torch", "cub")
    with pytest.raises(
        ArgumentError, match=r"^WF741: .*'cbu' \(did you mean cub.*torch compile cupy cub triton quack liger, or none"
    ):
        peers.select("cbu")


def test_peers_that_are_not_installed_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("torch", "cupy", "triton"):
        monkeypatch.setitem(sys.modules, name, None)
    found = peers.open_peers(("torch", "compile", "cupy", "triton"), None)  # type: ignore[arg-type]
    assert found == dict.fromkeys(("torch", "compile", "cupy", "triton"), "not installed")


def test_a_peer_that_breaks_says_how(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: Any) -> Any:
        raise OSError("libcupy.so: no such file\nmore")

    monkeypatch.setattr(cupy, "open_peer", broken)
    assert peers.open_peers(["cupy"], None) == {"cupy": "OSError: libcupy.so: no such file"}  # type: ignore[arg-type]


def test_torch_without_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: False)))
    assert peers.open_peers(["torch"], None) == {"torch": "built without CUDA"}  # type: ignore[arg-type]


class Recorder:
    """Stands in for a library and returns the function called with its arguments."""

    def __getattr__(self, name: str) -> Any:
        if name == "linalg":
            return self
        return lambda *args, **kw: (name, args[1:], kw)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("full.sum.f32.8x8", ("sum", ((0, 1),), {})), ("full.argmax.f32.64", ("argmax", (), {})),
        ("row.max.f32.8x8", ("amax", ((1,),), {})), ("col.argmax.f32.8x8", ("argmax", (0,), {})),
        ("full.prod.f64.64", ("prod", (), {})), ("col.var.f32.8x8", ("var", ((0,),), {"correction": 0})),
        ("full.norm2.f32.64", ("vector_norm", (), {"dim": (0,)})),
        ("mid.mean.f32.NCHW.2x3x4x5", ("mean", ((0, 2, 3),), {})),
    ],
)  # fmt: skip
def test_calls_to_pytorch(name: str, expected: Any) -> None:
    assert torch.function(Recorder(), case(name))("x") == expected


def test_every_reduction_has_a_function_of_pytorch() -> None:
    for what in REDUCTIONS:
        assert torch.function(Recorder(), case(f"row.{what}.f32.4x4"))("x")
    with pytest.raises(UnservedError, match="one axis"):
        torch.function(Recorder(), case("mid.prod.f32.NCHW.2x3x4x5"))


def test_calls_to_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = SimpleNamespace(
        __version__="14", asarray=lambda x: x, sum=np.sum, max=np.max, argmax=np.argmax, linalg=np.linalg
    )
    monkeypatch.setitem(sys.modules, "cupy", fake)
    peer, x = cupy.Cupy(), np.arange(12.0).reshape(3, 4)
    assert peer.call(case("full.sum.f32.3x4"), x)() == x.sum()
    assert peer.call(case("col.argmax.f32.3x4"), x)().tolist() == [2] * 4
    assert peer.call(case("full.norm2.f32.3x4"), x)() == pytest.approx(np.sqrt((x * x).sum()))
    assert peer.call(case("mid.sum.f32.NCHW.1x3x2x2"), x.reshape(1, 3, 2, 2))().tolist() == x.sum(1).tolist()
    for name, why in (("full.sum.bf16.64", "no bf16"), ("row.logsumexp.f32.4x4", "no such function")):
        with pytest.raises(UnservedError, match=why):
            peer.call(case(name), x)


# --- CUB -----------------------------------------------------------------------------------------------------------
def nvcc(folder: Path, body: str) -> None:
    tool = folder / "nvcc"
    tool.write_text(f"#!/bin/sh\n{body}\n")
    tool.chmod(0o755)


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for a fake nvcc, alone on PATH, and a cache folder."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "none"))
    monkeypatch.setenv("WARPFOLD_CACHE_DIR", str(tmp_path / "cache"))
    return folder


def test_cub_is_built_once_for_each_architecture(tools: Path) -> None:
    nvcc(
        tools, f'echo "$@" >> {tools}/log; while [ $# -gt 1 ]; do [ "$1" = -o ] && echo made > "$2"; shift; done; true'
    )
    first = cub.built("sm_90a")
    assert first.read_text() == "made\n"
    assert cub.built("sm_90a") == first
    assert cub.built("sm_80") != first
    log = [line for line in (tools / "log").read_text().splitlines() if line != "--version"]
    assert [line.split("-arch=")[1].split()[0] for line in log] == ["sm_90a", "sm_80"]
    assert sorted(p.suffix for p in first.parent.iterdir()) == [".so", ".so"]


def test_cub_without_nvcc_or_with_one_that_fails(tools: Path) -> None:
    with pytest.raises(MissingError, match=r"^no nvcc$"):
        cub.built("sm_90a")
    nvcc(tools, "echo 'cub.cu(3): error: no' >&2; exit 1")
    with pytest.raises(MissingError, match=r"^nvcc fails: cub\.cu\(3\): error: no$"):
        cub.built("sm_90a")


class Library:
    """Stands in for the compiled CUB kernel: asks for 100 bytes, then reports its arguments."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, Any, int, int, int]] = []
        self.status = 0

    def bench_reduce(self, kind: Any, temp: Any, nbytes: Any, _: Any, __: Any, n: Any, segments: Any) -> int:
        self.calls.append((kind.value, temp and temp.value, nbytes._obj.value, n.value, segments.value))
        nbytes._obj.value = 100
        return self.status

    def bench_error(self, status: int) -> bytes:
        return f"error {status}".encode()


class Memory:
    """Device memory as addresses only."""

    def __init__(self) -> None:
        self.device, self.asked, self.freed = None, list[int](), 0

    def memory(self, nbytes: int) -> Any:
        self.asked.append(nbytes)
        made = SimpleNamespace(__enter__=None)
        made = type("Held", (), {"__enter__": lambda _: 1000, "__exit__": lambda *_: self._free()})
        return made()

    def _free(self) -> None:
        self.freed += 1


def opened(library: Library, memory: Memory) -> cub.Cub:
    made = object.__new__(cub.Cub)
    made.backend, made.library, made._held = memory, library, []  # type: ignore[assignment]
    return made


def test_calls_to_cub() -> None:
    library, memory = Library(), Memory()
    peer, x = opened(library, memory), np.zeros((4, 8), np.float32)
    result = peer.call(case("row.sum.f32.4x8"), x)()
    assert (result.address, result.shape, result.dtype.name) == (1000, (4,), "f32")
    assert library.calls == [(0, None, 0, 32, 4), (0, 1000, 100, 32, 4)]
    assert memory.asked == [32, 100]
    for _ in range(9):
        peer.call(case("full.argmax.f32.4x8"), x)
    assert memory.freed == len(memory.asked) - 8
    for name in ("col.sum.f32.4x8", "row.argmax.f32.4x8", "full.var.f32.4x8", "full.sum.f64.4x8"):
        with pytest.raises(UnservedError, match="no such function"):
            peer.call(case(name), x)
    library.status = 3
    with pytest.raises(RuntimeError, match="error 3"):
        peer.call(case("full.sum.f32.4x8"), x)


def test_cub_has_one_case_for_each_kind() -> None:
    text = cub.SOURCE.read_text()
    assert [f"case {i}:" in text for i in range(len(cub.KINDS) + 1)] == [True] * len(cub.KINDS) + [False]
    served = [c for c in CASES.values() if (c.what, c.dtype.name) in cub.KINDS and c.group in ("full", "row")]
    assert len(served) > 20
    assert all(prod(c.kept) for c in served)
