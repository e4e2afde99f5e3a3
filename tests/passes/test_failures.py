"""A failing step reports its name, the IR before it in a file, and the command that fails again."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from warpfold.compiler.driver.compile import _ptx, session
from warpfold.compiler.driver.pipeline import Pass, run
from warpfold.compiler.errors import CompileError
from warpfold.compiler.ir.mlir import ir
from warpfold.compiler.target import DEFAULT
from warpfold.passes import distribute, steps


def test_a_pass_that_leaves_invalid_ir_is_reported_with_a_reproducer() -> None:
    def drop_the_terminator(module: Any) -> None:
        function = module.regions[0].blocks[0].operations[0].operation
        next(iter(function.regions[0].blocks[0].operations)).operation.erase()

    with session():
        module = ir.Module.parse("func.func @f() { return }")
        with pytest.raises(CompileError, match="WF331: pass breaks failed") as caught:
            run([("breaks", Pass("breaks", drop_the_terminator, (), "for this test"))], module)
    found = re.search(r"warpfold-opt (\S+) --pass-pipeline='builtin.module\(breaks\)'", str(caught.value))
    assert found is not None
    assert "func.func @f" in Path(found[1]).read_text()
    Path(found[1]).unlink()


def test_a_call_of_a_library_that_nothing_links_is_refused() -> None:
    text = """gpu.module @m {
        gpu.func @k(%p: !llvm.ptr<1>) kernel {
          %x = llvm.load %p : !llvm.ptr<1> -> f32
          %y = math.cbrt %x : f32
          llvm.store %y, %p : f32, !llvm.ptr<1>
          gpu.return
        }
      }"""
    with session():
        module = ir.Module.parse(text)
        run(steps(DEFAULT), module)
        with pytest.raises(CompileError, match="WF332: __nv_cbrtf is in the PTX"):
            _ptx(module.operation)


def test_a_kernel_that_writes_nothing_to_a_result_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    text = next(re.finditer(r"```mlir before\n(.*?)```", distribute.__doc__ or "", re.DOTALL))[1]
    monkeypatch.setattr(distribute, "finish", lambda *_: None)
    with session():
        module = ir.Module.parse(text)
        with pytest.raises(CompileError, match=r"WF333: the kernels of row_sum .* writes nothing to its result 0"):
            run([("distribute", distribute.PASS)], module)
