"""The pipeline: snapshots, and the ops that passes must remove; ``tests/passes/test_failures.py`` tests failures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from warpfold.compiler.driver import pipeline
from warpfold.compiler.driver.compile import _ptx, compile_program, session
from warpfold.compiler.driver.pipeline import Pass, lowered, printed, run
from warpfold.compiler.errors import WarpfoldError
from warpfold.compiler.ir.emit import emit
from warpfold.compiler.ir.mlir import ir
from warpfold.compiler.plan.kernels import kernels
from warpfold.passes import steps
from warpfold.runtime.api import plan_for

TEXT = "func.func @f(%x: i32) -> i32 { %y = arith.addi %x, %x : i32 return %y : i32 }"


def test_snapshots_show_the_ir_after_every_step() -> None:
    with session():
        stages = run([("lower", "convert-arith-to-llvm")], ir.Module.parse(TEXT), snapshots=printed)
    assert [s.name for s in stages] == ["lower"]
    assert "llvm.add" in stages[0].ir


def test_an_op_that_a_pass_must_remove_and_leaves_is_an_error() -> None:
    lazy = Pass("lazy", lambda _: None, ("arith.addi",), "does nothing")
    with session(), pytest.raises(WarpfoldError, match=r"WF330: pass lazy left 1 arith\.addi behind") as caught:
        run([("lazy", lazy)], ir.Module.parse(TEXT))
    (note,) = caught.value.__notes__
    saved = Path(note.split("--pass-pipeline")[0].split()[-1])
    assert "arith.addi" in saved.read_text()
    saved.unlink()


KINDS = [
    ("sum", (1 << 22,), "f32", None, ""),
    ("describe", (4096, 4096), "f32", 1, ""),
    ("any", (4096, 4096), "bool", 0, ""),
    ("logsumexp", (100, 7, 300), "f64", (0, 2), ""),
    ("argmax", (1 << 22,), "f32", None, "finish=two_kernels"),
    ("var", (4096, 300), "f64", 0, "simple"),
]


@pytest.mark.parametrize(("what", "shape", "dtype", "axis", "plan"), KINDS)
def test_the_fast_pipeline_gives_the_same_ptx_as_the_checked_one(
    what: str, shape: tuple[int, ...], dtype: str, axis: Any, plan: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not fall back to the checked one, which would cost the time of both."""
    ready = plan_for(what, shape, dtype, axis=axis, plan=plan)
    task, lowering = (ready.program, ready.choice.facts, ready.choice.plan), steps(ready.target)
    with session():
        module = emit([k for _, k in kernels(*task)], ready.target)
        run(lowering, module)
        careful = _ptx(module.operation)
    monkeypatch.setattr(pipeline, "run", lambda *_: pytest.fail("the quick way failed"))
    assert compile_program(*task, ready.target, lowering).ptx == careful


def test_a_failure_of_the_fast_pipeline_is_reported_by_the_checked_one() -> None:
    """Also where the failure is an exception in a pass that cannot handle what the one before it left."""

    def drop(module: Any) -> None:
        function = module.regions[0].blocks[0].operations[0].operation
        list(function.regions[0].blocks[0].operations)[-1].operation.erase()

    def stumble(_: Any) -> None:
        raise IndexError

    broken = [(p.name, p) for p in (Pass("drops", drop, (), "for this test"), Pass("stumbles", stumble, (), "too"))]
    with session(), pytest.raises(WarpfoldError, match="WF331: pass drops failed") as caught:
        lowered(broken, ir.Module.parse(TEXT))
    Path(str(caught.value).split("warpfold-opt ")[1].split()[0]).unlink()


def test_a_leftover_op_of_the_fast_pipeline_is_reported_by_the_checked_one() -> None:
    lazy = Pass("lazy", lambda _: None, ("arith.addi",), "does nothing")
    with session(), pytest.raises(WarpfoldError, match=r"WF330: pass lazy left 1 arith\.addi behind") as caught:
        lowered([("lazy", lazy), ("binary", "gpu-module-to-binary{format=nonsense}")], ir.Module.parse(TEXT))
    Path(caught.value.__notes__[0].split("--pass-pipeline")[0].split()[-1]).unlink()


def test_ir_that_is_invalid_between_two_passes_is_found_where_every_step_is_verified(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held: list[Any] = []

    def drop(module: Any) -> None:
        function = module.regions[0].blocks[0].operations[0].operation
        held[:] = [list(function.regions[0].blocks[0].operations)[-1].operation.clone()]
        list(function.regions[0].blocks[0].operations)[-1].operation.erase()

    def mend(module: Any) -> None:
        module.regions[0].blocks[0].operations[0].operation.regions[0].blocks[0].append(held[0])

    steps = [(p.name, p) for p in (Pass("drops", drop, (), "for this test"), Pass("mends", mend, (), "too"))]
    with session():
        monkeypatch.delenv("WARPFOLD_VERIFY", raising=False)
        assert lowered(steps, ir.Module.parse(TEXT)).verify()
        monkeypatch.setenv("WARPFOLD_VERIFY", "1")
        with pytest.raises(WarpfoldError, match="WF331: pass drops failed") as caught:
            lowered(steps, ir.Module.parse(TEXT))
    Path(str(caught.value).split("warpfold-opt ")[1].split()[0]).unlink()


def test_passes_without_work_are_left_out() -> None:
    ran: list[str] = []

    def of(name: str, *eliminates: str) -> tuple[str, Pass]:
        return name, Pass(name, lambda _: ran.append(name), eliminates, "for this test")

    with session():
        lowered([of("first", "fold.reduce"), of("none", "fold.load"), of("math", "math.exp"), of("any")],
                ir.Module.parse(TEXT))  # fmt: skip
    assert ran == ["first", "math", "any"]
