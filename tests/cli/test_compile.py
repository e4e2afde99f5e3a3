"""``warpfold compile``: the forms that it emits."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from command_line import SMALL, call

import warpfold as wf
from warpfold.cli.reduction import ARCH, FORMS
from warpfold.commands import emit


@pytest.mark.parametrize(
    ("form", "marks"),
    [
        ("program", ["func.func @sum", '"fold.reduce"', "tensor<?x?xf32>"]),
        ("plan", ["fold.warp_reduce", "lower-warp-shuffle", "--plan fast=reduced"]),
        (
            "stages",
            ["// ===== after distribute =====", "// ===== after lower-grid-finish =====", '"fold.thread_reduce"'],
        ),
        ("llvm", ["llvm.func @sum", "nvvm.kernel"]),
        ("ptx", [".visible .entry sum(", "shfl.sync", ".target sm_90a"]),
    ],
)
def test_compile_emits(form: str, marks: Sequence[str]) -> None:
    text = call("compile", "sum", "--shape", "64x1024", "--axis", "1", "--emit", form).stdout
    for mark in marks:
        assert mark in text


def test_the_ptx_of_the_last_stage_has_its_lines() -> None:
    text = call("compile", "sum", *SMALL[:2], "--emit", "stages").stdout
    assert "\n// .visible .entry sum(" in text
    assert "\\0A" not in text
    assert max(map(len, text.splitlines())) < 1000


def test_stages_parse_again_one_by_one() -> None:
    """A pass that changed nothing is reported in one word; the last stage is PTX, in comments."""
    text = call("compile", "sum", "--shape", "64x64", "--axis", "1", "--emit", "stages").stdout
    assert "// ===== after lower-tile-copy =====\n// (unchanged)\n" in text
    parts = re.split(r"^// -----\n", text, flags=re.MULTILINE)
    assert [p.startswith("// ===== after ") for p in parts] == [True] * len(parts)
    for part in parts:
        assert parsed(part) == parsed(parsed(part))
    assert "llvm.func @sum" in parsed(parts[-2])
    llvm = call("compile", "sum", "--shape", "64x64", "--axis", "1", "--emit", "llvm").stdout
    assert parsed(llvm) == parsed(parts[-2])


def parsed(text: str) -> str:
    """A module that was parsed, as text."""
    from warpfold.compiler.driver.compile import session
    from warpfold.compiler.driver.pipeline import printed
    from warpfold.compiler.ir.mlir import ir

    with session():
        return printed(ir.Module.parse(text).operation)


def test_compile_shows_what_each_pass_changes() -> None:
    text = call("compile", "sum", "--shape", "64x64", "--axis", "1", "--emit", "stages", "--changes").stdout
    whole = call("compile", "sum", "--shape", "64x64", "--axis", "1", "--emit", "stages").stdout
    assert len(text) < len(whole)
    (shuffles,) = re.findall(r"after lower-warp-shuffle =====\n(.*?)// -----", text, re.DOTALL)
    assert re.search(r'^- .*"fold.warp_reduce"', shuffles, re.MULTILINE)
    assert re.search(r"^\+ .*gpu.shuffle", shuffles, re.MULTILINE)
    assert "after lower-tile-copy =====\n// (unchanged)\n" in text


@pytest.mark.parametrize("form", ["program", "llvm", "stages"])
def test_compile_shows_names_and_locations(form: str, tmp_path: Path) -> None:
    """The text is the same IR as without them, except for the names of values."""
    path = tmp_path / "mine.py"
    path.write_text("import warpfold as wf\n\n\ndef f(x):\n    twice = x * 2.0\n    return wf.fold(wf.MAX, twice)\n")
    words = ("compile", f"{path}:f", "--shape", "64x64", "--axis", "1", "--emit", form)
    lined, named = (call(*words, option).stdout for option in ("--locations", "--names"))
    assert re.search(rf" = \S*mulf? .*  // {re.escape(str(path))}:5: twice = x \* 2.0$", lined, re.MULTILINE)
    assert "%input0: " in named
    assert " // " + str(path) not in named
    plain = re.split(r"^// -----\n", call(*words).stdout, flags=re.MULTILINE)
    for text in (lined, named, call(*words, "--names", "--locations").stdout):
        parts = re.split(r"^// -----\n", text, flags=re.MULTILINE)
        assert len(parts) == len(plain)
        for part, as_ever in list(zip(parts, plain, strict=True))[: -1 if form == "stages" else None]:
            assert parsed(part) == parsed(as_ever)


def test_changes_keep_names_and_locations() -> None:
    words = ("compile", "examples/monoids.py:total", "--shape", "64x64", "--axis", "1", "--emit", "stages", "--changes")
    text = call(*words, "--names", "--locations").stdout
    assert re.search(r"^\+ .* %lane = .*  // .*monoids.py:\d+$", text, re.MULTILINE)
    assert "after lower-tile-copy =====\n// (unchanged)\n" in text


def test_compile_for_another_architecture() -> None:
    assert ".target sm_75" in call("compile", "max", "--shape", "64", "--arch", "sm_75").stdout


def test_compile_plan_as_json() -> None:
    text = call("compile", "sum", "--shape", "64x1024", "--axis", "1", "--emit", "plan", "--json", "--plan", "warps=2")
    assert json.loads(text.stdout)["plan"]["warps"] == 2


def test_compile_writes_to_a_path(tmp_path: Path) -> None:
    path = tmp_path / "max.ptx"
    assert call("compile", "max", "--shape", "64", "-o", path).stdout == ""
    assert call("compile", "max", "--shape", "64", "-o", "-").stdout == path.read_text()
    assert path.read_text().startswith("//")
    assert ".entry max(" in path.read_text()


def test_compile_saves_an_artifact_that_loads(tmp_path: Path) -> None:
    path = tmp_path / "sum.warpfold"
    call("compile", "sum", "--shape", "16x64", "--axis", "1", "--emit", "artifact", "-o", path)
    x = np.ones((16, 64), np.float32)
    assert wf.load(path)(x, device="emulator").tolist() == [64.0] * 16


def test_compile_sass_goes_through_ptxas(monkeypatch: pytest.MonkeyPatch) -> None:
    from warpfold.runtime import ptxas

    monkeypatch.setattr(ptxas, "disassemble", lambda cubin: f"{cubin[1:4].decode()} of {len(cubin) > 1000}")
    assert call("compile", "sum", "--shape", "64", "--emit", "sass").stdout == "ELF of True\n"


def test_the_command_line_and_the_work_agree_on_the_forms() -> None:
    assert emit.FORMS == FORMS
    assert wf.compile("sum", (8,)).artifact.kernels[0].arch == ARCH
