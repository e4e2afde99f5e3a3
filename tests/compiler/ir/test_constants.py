"""Which values are constants of the kernel, and that few ops are read for an answer."""

from __future__ import annotations

from typing import Any

import pytest

from warpfold.compiler.driver.compile import session
from warpfold.compiler.ir import uniform_fragments
from warpfold.compiler.ir.mlir import ir

TERMS = 200


def _sum(term: str) -> Any:
    """A module with a long sum."""
    lines = [f"%s{k + 1} = arith.addf %s{k}, {term} : f32" for k in range(TERMS)]
    body = "\n".join(
        ["%s0 = arith.constant 1.5 : f32", "%one = arith.constant 1.0 : f32", *lines, f"return %s{TERMS} : f32"]
    )
    return ir.Module.parse(f"func.func @f(%x: f32) -> f32 {{\n{body}\n}}")


def _found(module: Any) -> Any:
    block = module.body.operations[0].regions[0].blocks[0]
    return uniform_fragments.constant(list(block.operations)[-1].operands[0])


def test_a_sum_of_constants_is_known() -> None:
    with session():
        assert _found(_sum("%one")) == 1.5 + TERMS


def test_few_ops_are_read_until_one_term_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """States of many values ask of each, so that whole sums would be read again and again."""
    read, parts = [0], uniform_fragments._parts

    def counted(v: Any) -> Any:
        read[0] += 1
        return parts(v)

    monkeypatch.setattr(uniform_fragments, "_parts", counted)
    with session():
        assert _found(_sum("%x")) is None
    assert read[0] < 5
