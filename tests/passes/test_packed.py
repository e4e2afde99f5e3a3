"""Bytes that are combined as words give what NumPy gives, wherever rows begin and end and whatever is left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import warpfold as wf
from warpfold.compiler.dtypes import I64
from warpfold.runtime import api, prepare

LAYOUTS = [
    ((5003,), 0),
    ((33, 777), 1),
    ((64, 1024), 1),
    ((300, 64), 1),
    ((40, 5), 1),
    ((777, 64), 0),
    ((5, 300, 16), 1),
]


def drawn(dtype: str, shape: tuple[int, ...], filled: float) -> np.ndarray[Any, Any]:
    """Random bytes, of which a part is not zero; a tenth of them extreme."""
    rng = np.random.default_rng(7)
    some = rng.random(shape) < filled
    if dtype == "bool":
        return some
    info = np.iinfo(dtype)
    x = rng.integers(info.min, info.max, shape, endpoint=True).astype(dtype)
    x[rng.random(shape) < 0.1] = info.min or info.max
    return np.where(some, x, 0).astype(dtype)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8"])
@pytest.mark.parametrize(("shape", "axis"), LAYOUTS)
@pytest.mark.parametrize("begin", [0, 3])
def test_sums_and_counts(dtype: str, shape: tuple[int, ...], axis: int, begin: int) -> None:
    x = drawn(dtype, shape, 0.6)[..., begin:]
    wide = np.uint64 if dtype == "uint8" else np.int64
    where = np.random.default_rng(8).random(x.shape) < 0.7
    np.testing.assert_array_equal(wf.sum(x, axis=axis), x.sum(axis=axis, dtype=wide))
    np.testing.assert_array_equal(wf.count_nonzero(x, axis=axis), np.count_nonzero(x, axis=axis))
    np.testing.assert_array_equal(
        wf.sum(x, axis=axis, where=where), x.sum(axis=axis, dtype=wide, where=where)
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8"])
@pytest.mark.parametrize(("shape", "axis"), LAYOUTS)
@pytest.mark.parametrize("filled", [0.0, 0.002, 0.998, 1.0])
def test_whether_any_and_all(dtype: str, shape: tuple[int, ...], axis: int, filled: float) -> None:
    x = drawn(dtype, shape, filled)[..., 1:]
    where = np.random.default_rng(8).random(x.shape) < 0.7
    for mine, numpys in ((wf.any, np.any), (wf.all, np.all)):
        np.testing.assert_array_equal(mine(x, axis=axis), numpys(x, axis=axis))
        np.testing.assert_array_equal(mine(x, axis=axis, where=where), numpys(x, axis=axis, where=where))


def test_a_step_of_extreme_bytes_fits_32_bits() -> None:
    """Every byte the least or the greatest, more of them than 16 bits count."""
    for dtype, value in (("int8", -128), ("uint8", 255)):
        x = np.full(200_000, value, dtype)
        assert int(wf.sum(x)) == 200_000 * value
        assert int(wf.count_nonzero(x)) == 200_000


@pytest.mark.parametrize(("dtype", "most"), [("int8", 2**24), ("uint8", 16843009)])
def test_as_many_bytes_as_32_bits_hold_the_sum_of_and_more(dtype: str, most: int) -> None:
    """At the ends: all of them as many as the greatest are."""
    x = np.full(most + 1000, np.iinfo(dtype).min or np.iinfo(dtype).max, dtype)
    for n, state in ((most, 32), (most + 1000, 64)):
        assert api.plan_for("sum", (n,), x.dtype).program.monoid.state[0].bits == state
        assert int(wf.sum(x[:n])) == n * int(x[0])


@pytest.fixture
def wide_sums(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """All sums are in 64 bits, as are those of more elements than 32 bits are known to serve."""
    monkeypatch.setattr(prepare, "_narrow", lambda found: found)
    prepare.forget()
    yield
    prepare.forget()


@pytest.mark.usefixtures("wide_sums")
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8"])
@pytest.mark.parametrize(("shape", "axis"), LAYOUTS)
def test_sums_in_64_bits(dtype: str, shape: tuple[int, ...], axis: int) -> None:
    x = drawn(dtype, shape, 0.6)
    assert api.plan_for("count_nonzero", shape, x.dtype, axis=axis).program.monoid.state == (I64,)
    test_sums_and_counts(dtype, shape, axis, 0)


@pytest.mark.parametrize("dtype", ["i8", "u8"])
def test_a_byte_of_a_column_costs_one_instruction(dtype: str) -> None:
    """The main loop: loads of 16 bytes, a ``dp4a`` for each byte, and addresses."""
    ptx = wf.compile("sum", (131072, 1024), dtype, axis=0).ptx
    loop = next(block for block in re.split(r"^\$\w+:$", ptx, flags=re.MULTILINE) if "dp4a" in block)
    found = re.findall(r"^\t(?:@!?%p\d+ )?\t?([a-z]\w*)\.?", loop, re.MULTILINE)
    loads, sums = found.count("ld"), found.count("dp4a")
    assert loop.count("ld.global.nc.v4.b32") == loads == 2
    assert sums == 16 * loads
    assert not [name for name in found if name in ("cvt", "shr", "prmt", "and", "bfe")][loads:]  # one an address
    assert len([name for name in found if name not in ("dp4a", "mov")]) <= 8 * loads


def test_bytes_that_are_true_have_any_value() -> None:
    x = np.arange(256, dtype=np.uint8).view(np.bool_)
    assert int(wf.count_nonzero(x)) == 255
    assert bool(wf.any(x))
    assert not bool(wf.all(x))
    assert bool(wf.all(x[1:]))
