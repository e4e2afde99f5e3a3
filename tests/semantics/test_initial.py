"""docs/semantics.md: initial values."""

from __future__ import annotations

from typing import Any

import numpy as np
from meanings import (
    BF16,
    F16,
    F32,
    F64,
    INF,
    NAN,
    affine,
    composed_in_numpy,
    f32,
    f64,
    greatest,
    mask,
    on_emulator,
    reduce,
    refused,
    total,
)

import warpfold as wf


def test_initial_comes_first() -> None:
    x = np.arange(1.0, 500.0)
    assert total(x, initial=1000) == x.sum() + 1000
    assert total(x, initial=1, axis=()).tolist() == (x + 1).tolist()
    assert greatest(x, initial=1000) == 1000

    def after_start(x: Any) -> Any:
        return wf.fold(affine, x, x - 1, initial=(2.0, 5.0))[1]

    assert reduce(f64(-1, 1, -1), what=after_start) == 5 + composed_in_numpy(f64(-1, 1, -1))


def test_initial_must_fit() -> None:
    refused("WF136", "max", np.array([1, 2], np.int8), initial=128)
    refused("WF136", "sum", np.array([1, 2]), initial=0.5)
    refused("WF136", "sum", f32(1, 2), initial=1j)
    either = wf.monoid(identity=False)(lambda a, b: a | b)
    for value in (2, 0.5, -1, NAN, INF, 1j, "1"):
        refused("WF136", "max", mask(0, 1), initial=value)
        refused("WF136", "reduce", mask(0, 1), either, initial=value)
        refused("WF136", "sum", mask(0, 1), dtype="bool", initial=value)
    for value in (True, 1, 1.0, np.bool_(True), np.int8(1)):
        assert greatest(mask(0, 0), initial=value)
    assert total(mask(0, 1), initial=2) == 3
    refused("WF136", "sum", np.array([1], np.uint8), dtype="uint8", initial=256)


def test_initial_must_be_in_range() -> None:
    assert greatest(np.array([1], F16), initial=1.0001220703125) == F16(1)
    assert total(f32(), initial=0.1) == F32(0.1)
    for dtype, great in ((F16, 65520), (BF16, 3.4e38), (F32, 3.5e38), (F64, 10**309), (np.complex64, 1e39j)):
        for name in ("sum", "prod") if dtype is np.complex64 else ("sum", "prod", "max"):
            for value in (great, -great):
                refused("WF136", name, np.ones(2, dtype), initial=value)
            assert np.isinf(on_emulator(name)(np.ones(2, dtype), initial=INF))
            assert np.isnan(on_emulator(name)(np.ones(2, dtype), initial=NAN))
    add = wf.monoid(identity=0, lift=lambda x: x)(lambda a, b: a + b)
    assert reduce(np.ones(2, F16), what=add, initial=1e6) == 1_000_002
    assert greatest(np.ones(2, F16), initial=65519) == F16(65504)
