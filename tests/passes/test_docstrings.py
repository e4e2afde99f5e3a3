"""The examples in the pass docstrings are true: the pass alone turns each ``before`` into its ``after``.

MLIR parses and prints both texts, so names and spacing do not matter and everything else does.
"""

from __future__ import annotations

import importlib
import re

import pytest

from warpfold.compiler.driver.textual_pipeline import build
from warpfold.compiler.ir.dialect import load
from warpfold.compiler.ir.mlir import ir
from warpfold.passes import PASSES

_BLOCK = re.compile(r"```mlir (before|after)\n(.*?)```", re.DOTALL)


@pytest.mark.parametrize("name", [p.name for p in PASSES])
def test_before_becomes_after(name: str) -> None:
    text = importlib.import_module(f"warpfold.passes.{name.replace('-', '_')}").__doc__ or ""
    shown = dict(_BLOCK.findall(text))
    with ir.Context() as context:
        load(context)
        before, after = ir.Module.parse(shown["before"]), ir.Module.parse(shown["after"])
        build(name, PASSES).run(before.operation)
        assert str(before) == str(after)
