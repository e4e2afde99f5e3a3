"""Checks that the verifiers of all ops share: copied regions are self-contained, and no verifier raises."""

from __future__ import annotations

import re
from typing import Any

import pytest

from warpfold.compiler.driver.pipeline import Pass, run_pass
from warpfold.compiler.driver.textual_pipeline import build
from warpfold.compiler.errors import CompileError
from warpfold.compiler.ir.dialect import OPS, load
from warpfold.compiler.ir.dialect.base import coded
from warpfold.compiler.ir.mlir import ir
from warpfold.passes import PASSES, distribute

SUM = """
func.func @sum(%x: tensor<?xf32>, %y: f32) -> tensor<f32> attributes {
    fold.plan = {fast = "reduced", walk = "interleaved", vector = 1, unroll = 2, lanes = 32, warps = 1, warps_kept = 1,
                 tile_bytes = 0, cluster = 1, cta = "shuffle", exchange = "shared", coarsening = 0, finish = "cta",
                 tree = "tree-v7"},
    fold.facts = {kept_rank = 0, reduced_rank = 1, index_bits = 32, access = ["strided", "strided"],
                  store_vector = false, ragged = false}} {
  %outside = arith.addf %y, %y : f32
  %r = "fold.reduce"(%x) ({
    %zero = arith.constant 0.5 : f32
    IDENTITY
    "fold.yield"(%zero) : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %two = arith.constant 2.0 : f32
    %c = arith.mulf %a, %two : f32
    %d = arith.addf %c, %b : f32
    COMBINE
    "fold.yield"(%d) : (f32) -> ()
  }) {dims = array<i64: 0>, commutative = true} : (tensor<?xf32>) -> tensor<f32>
  return %r : tensor<f32>
}
"""
"""With two places for code."""
OUTSIDE = "%s = arith.addf %y, %outside : f32"
NESTED = """
    %yes = arith.constant true
    %s = scf.if %yes -> (f32) { scf.yield %zero : f32 } else { scf.yield %zero : f32 }"""


def refusal(source: str) -> str:
    """What MLIR's verifier says of a text."""
    said: list[str] = []
    with ir.Context() as context, ir.Location.unknown():
        load(context)
        context.emit_error_diagnostics = True
        handler = context.attach_diagnostic_handler(lambda d: bool(said.append(d.message)) or True)
        with pytest.raises(ir.MLIRError):
            ir.Module.parse(source)
        handler.detach()
    return "\n".join(said)


def with_code(identity: str = "", combine: str = "") -> str:
    return SUM.replace("IDENTITY", identity).replace("COMBINE", combine)


@pytest.mark.parametrize("place", ["identity", "combine"])
def test_regions_that_are_copied_use_no_values_from_outside(place: str) -> None:
    found = refusal(with_code(**{place: OUTSIDE}))
    assert "WF315: fold.reduce expects a region that uses only its own values and constants, got a f32" in found
    assert "in arith.addf" in found


@pytest.mark.parametrize("place", ["identity", "combine"])
def test_regions_that_are_copied_have_no_regions_inside(place: str) -> None:
    code = NESTED if place == "identity" else NESTED.replace("%zero", "%a")
    assert "WF316: fold.reduce expects a region of straight-line code, got scf.if" in refusal(
        with_code(**{place: code})
    )


def test_states_are_what_a_register_holds() -> None:
    source = with_code().replace("f32", "tf32")
    assert "WF317: fold.reduce expects states of scalars" in refusal(source)


def test_constants_hoisted_by_upstream_passes_return_to_their_regions() -> None:
    """``canonicalize`` hoists constants to the beginning of the function, where the kernel cannot use them."""

    def lowered(pipeline: str) -> str:
        with ir.Context() as context, ir.Location.unknown():
            load(context)
            module = ir.Module.parse(with_code())
            build(pipeline, PASSES).run(module.operation)
            return str(module)

    alone = lowered("distribute,lower-thread-reduce,lower-warp-shuffle,canonicalize,cse")
    assert lowered("canonicalize,cse,distribute,lower-thread-reduce,lower-warp-shuffle,canonicalize,cse") == alone


WITHOUT = ("fold.arrived", "fold.tile_arrived", "fold.yield")
"""The ops that may have neither operands nor results."""


@pytest.mark.parametrize("op", [op.OPERATION_NAME for op in OPS if op.OPERATION_NAME not in WITHOUT])
def test_ops_without_operands_and_results_are_refused(op: str) -> None:
    assert re.search(
        rf"WF310: {op} expects \d (operand|result)\(s\)( or more)?, got 0", refusal(f'"{op}"() : () -> ()')
    )


def test_a_verifier_that_fails_is_a_diagnostic() -> None:
    class Op:
        """Stands in for an op."""

        name = "fold.load"
        operands = results = ()
        said: list[str] = []  # noqa: RUF012

        @property
        def location(self) -> Any:
            return self

        def __enter__(self) -> None: ...

        def __exit__(self, *_: object) -> None: ...

        def emit_error(self, text: str) -> None:
            self.said.append(text)

    op = Op()
    op.operands = (1, 2, 3)  # type: ignore[assignment]
    op.results = (1,)  # type: ignore[assignment]
    assert coded(lambda _: 1 / 0)(op) is False
    assert op.said == ["WF318: the verifier of fold.load failed: division by zero"]


def test_a_pass_that_fails_over_strange_ir_is_a_coded_error() -> None:
    broken = Pass("broken", lambda _: [][0], (), "fails")
    with ir.Context() as context, ir.Location.unknown():
        load(context)
        module = ir.Module.parse("")
        with pytest.raises(CompileError, match="WF319: pass broken cannot lower this IR: list index out of"):
            run_pass(broken, module)
        run_pass(distribute.PASS, module)
