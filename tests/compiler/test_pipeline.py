"""The pipeline: snapshots, and the promises of passes; ``tests/passes/test_failures.py`` has what fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpfold.compiler.driver import session
from warpfold.compiler.errors import WarpfoldError
from warpfold.compiler.mlir import ir
from warpfold.compiler.pipeline import Pass, run

TEXT = "func.func @f(%x: i32) -> i32 { %y = arith.addi %x, %x : i32 return %y : i32 }"


def test_snapshots_show_the_ir_after_every_step() -> None:
    with session():
        stages = run([("lower", "convert-arith-to-llvm")], ir.Module.parse(TEXT), snapshots=True)
    assert [s.name for s in stages] == ["lower"]
    assert "llvm.add" in stages[0].ir


def test_a_pass_that_leaves_what_it_promised_to_remove_is_caught() -> None:
    lazy = Pass("lazy", lambda _: None, ("arith.addi",), "does nothing")
    with session(), pytest.raises(WarpfoldError, match=r"WF330: pass lazy left 1 arith\.addi behind") as caught:
        run([("lazy", lazy)], ir.Module.parse(TEXT))
    (note,) = caught.value.__notes__
    saved = Path(note.split("--pass-pipeline")[0].split()[-1])
    assert "arith.addi" in saved.read_text()
    saved.unlink()
