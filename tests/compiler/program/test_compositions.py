"""Functions made of others: their types, complex numbers, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import warpfold as wf
from warpfold.compiler.dtypes import ALL, BOOL, C64, F32, F64, DType
from warpfold.compiler.program.graph import ELEMENT, Expr
from warpfold.compiler.program.storage import decoded, parts


def sym(t: DType) -> Any:
    return decoded(t, [Expr("input", (), p, ELEMENT, i) for i, p in enumerate(parts(t))])


@pytest.mark.parametrize("t", ALL, ids=str)
def test_types(t: DType) -> None:
    x = sym(t)
    own: list[Callable[[Any], Any]] = [wf.abs, wf.sign, wf.clip, lambda v: wf.clip(v, v, v), wf.round]
    assert {f(x).dtype for f in own} == {t}
    assert wf.isfinite(x).dtype == BOOL
    assert {f(x).dtype for f in (wf.reciprocal, wf.sigmoid)} == {t if t.is_float else F64}
    assert wf.atan2(x, 1).dtype == wf.atan2(1, x).dtype == (t if t.is_float else F64)


def test_complex_numbers() -> None:
    z = sym(C64)
    assert wf.abs(z).dtype == F32
    assert {f(z).dtype for f in (wf.square, wf.reciprocal)} == {C64}
    for refused in (wf.sign, wf.clip, wf.isfinite, wf.sigmoid, wf.round):
        with pytest.raises(wf.WarpfoldError, match="WF206"):
            refused(z)  # type: ignore[operator]


def test_in_a_reduction() -> None:
    x = np.array([-2.5, -0.3, 0.0, 1.5, np.nan, np.inf], np.float32)

    def both(v: Any) -> Any:
        finite = wf.isfinite(v)
        return wf.fold(wf.SUM, wf.where(finite, wf.abs(v) + wf.sign(v) + wf.clip(v, -1, 1), 0)), wf.fold(wf.ALL, finite)

    own = x[:4]
    total, every = wf.reduce(x, both)
    assert total == (np.abs(own) + np.sign(own) + np.clip(own, -1, 1)).sum()
    assert not every


def test_rounding_to_digits_is_refused() -> None:
    assert round(sym(F32)).expr == wf.round(sym(F32)).expr
    assert round(sym(F32), 0).expr == wf.round(sym(F32)).expr
    with pytest.raises(wf.WarpfoldError, match=r"WF243: .* to whole numbers alone: 2 digits were asked for"):
        round(sym(F32), 2)
