"""docs/semantics.md: what is not promised."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from meanings import BF16, F32, F64, f64, greatest, normal, reduce, refused, total

import warpfold as wf


def test_another_order_rounds_differently() -> None:
    x = normal(4096)
    assert len({total(x[::step], plan=p).tobytes() for step in (1, -1) for p in ("", "warps=1", "lanes=1,warps=1")}) > 1


def test_sums_by_the_tensor_cores() -> None:
    plan = "meet=mma,lanes=4"
    x = normal(8, 1000, dtype=BF16).astype(F64)
    found = total(x.astype(BF16), axis=1, dtype="f32", plan=plan)
    assert np.all(np.abs(found - x.sum(1)) <= 15.2 * 2.0**-24 * np.abs(x).sum(1))
    ints = np.random.default_rng(1).integers(-128, 128, (8, 1024)).astype(np.int8)
    assert np.array_equal(total(ints, axis=1, plan=plan), ints.sum(1, dtype=np.int64))
    refused("WF435", "sum", x.astype(BF16), axis=1, plan=plan, determinism="portable")


def test_turned_tiles() -> None:
    x, extents = normal(100, 40, dtype=BF16), "lanes=4,vector=8,warps=2,warps_kept=2"
    same = f"fragments=words,fast=reduced,resident=shared,{extents}"
    found, expected = (
        wf.softmax(x, axis=0, device="emulator", plan=plan) for plan in (f"fragments=matrix,{extents}", same)
    )
    assert np.array_equal(found.view(np.uint16), expected.view(np.uint16))


def test_nan_is_some_nan() -> None:
    payload = np.array([0xFFC01234, 0x3F800000], np.uint32).view(F32)
    assert np.isnan(total(payload))
    assert np.isnan(greatest(payload))


def test_a_combine_is_trusted() -> None:
    @wf.monoid(identity=0.0)
    def difference(a: Any, b: Any) -> Any:
        return a - b

    x = f64(8, 4, 2, 1)
    with pytest.warns(UserWarning, match="WF221: difference breaks laws that it claims"):
        got = reduce(x, what=difference)
    assert got != x[0] - x[1:].sum()
