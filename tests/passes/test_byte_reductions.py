"""Bytes that are combined in words give NumPy's results, wherever rows begin and end and whatever is masked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from covering import covering
from kernel_harness import compile_text, run_text

import warpfold as wf
from warpfold.compiler.dtypes import I64
from warpfold.runtime import api, prepare
from warpfold.runtime.programs import plans, step_tasks

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
    """Random bytes: a fraction ``filled`` is not zero, and a tenth is extreme."""
    rng = np.random.default_rng(7)
    some = rng.random(shape) < filled
    if dtype == "bool":
        return some
    info = np.iinfo(dtype)
    x = rng.integers(info.min, info.max, shape, endpoint=True).astype(dtype)
    x[rng.random(shape) < 0.1] = info.min or info.max
    return np.where(some, x, 0).astype(dtype)


@covering((("dtype", "begin"), [("bool", 3), ("int8", 0), ("int8", 3), ("uint8", 0)]), (("shape", "axis"), LAYOUTS))
def test_sums_and_counts(dtype: str, shape: tuple[int, ...], axis: int, begin: int) -> None:
    x = drawn(dtype, shape, 0.6)[..., begin:]
    wide = np.uint64 if dtype == "uint8" else np.int64
    where = np.random.default_rng(8).random(x.shape) < 0.7
    np.testing.assert_array_equal(wf.sum(x, axis=axis), x.sum(axis=axis, dtype=wide))
    np.testing.assert_array_equal(wf.count_nonzero(x, axis=axis), np.count_nonzero(x, axis=axis))
    np.testing.assert_array_equal(
        wf.sum(x, axis=axis, where=where), x.sum(axis=axis, dtype=wide, where=where)
    )  # fmt: skip


@covering(("dtype", ["bool", "int8"]), (("shape", "axis"), LAYOUTS), ("filled", [0.0, 0.002, 0.998, 1.0]))
def test_any_and_all(dtype: str, shape: tuple[int, ...], axis: int, filled: float) -> None:
    x = drawn(dtype, shape, filled)[..., 1:]
    where = np.random.default_rng(8).random(x.shape) < 0.7
    for mine, numpys in ((wf.any, np.any), (wf.all, np.all)):
        np.testing.assert_array_equal(mine(x, axis=axis), numpys(x, axis=axis))
        np.testing.assert_array_equal(mine(x, axis=axis, where=where), numpys(x, axis=axis, where=where))


OF_ENDS = {"bool": ("any", "all", "count_nonzero"), "int8": ("sum", "any"), "uint8": ("sum",)}
ENDS = ["lanes=1,unroll=1", "lanes=2,unroll=2"]
"""All accesses are whole ones or cut, and some whole ones are left over."""


def rows_apart(dtype: str, rows: int, length: int, pitch: int) -> np.ndarray[Any, Any]:
    """Rows of only zeros and rows without zeros, in turn; the gaps between them hold the opposite."""
    some = np.random.default_rng(7).integers(1, 120, (rows, pitch)).astype(dtype)
    set_there = (np.arange(rows)[:, None] % 2 == 1) ^ (np.arange(pitch) >= length)
    return np.where(set_there, some, np.zeros_like(some))[:, :length]


@pytest.mark.parametrize("dtype", OF_ENDS)
@pytest.mark.parametrize("how", ENDS)
def test_the_ends_of_rows_of_every_length(dtype: str, how: str) -> None:
    """A byte too many or too few at either end of a row would change every answer.

    Contiguous rows begin and end inside accesses of 16 bytes; rows 48 bytes apart only end inside one.
    """
    plan = f"fast=reduced,vector=16,warps=1,warps_kept=1,tile_bytes=0,{how}"
    wide = np.uint64 if dtype == "uint8" else np.int64
    for length in range(2, 41):  # a row of one element has no vector
        for pitch in (48,) if length % 2 else (length,):
            x = rows_apart(dtype, 6, length, pitch)
            for what in OF_ENDS[dtype]:
                expected = x.sum(axis=1, dtype=wide) if what == "sum" else getattr(np, what)(x, axis=1)
                found = wf.reduce(x, what, axis=1, plan=plan, device="emulator")
                np.testing.assert_array_equal(found, expected, f"{what} {length} {pitch}")


def masked_sums(index: str, predicate: str, bounds: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """For each bound the sum of those bytes (1 to 128, powers of two) whose number compares so with the bound."""
    numbers = [f"%c{j} = arith.constant {j} : {index}" for j in range(8)]
    text = f"""gpu.module @m {{
      gpu.func @k(%x: !llvm.ptr<1>, %bounds: !llvm.ptr<1>, %out: !llvm.ptr<1>) kernel
          attributes {{known_block_size = array<i32: 32, 1, 1>}} {{
        %tid = gpu.thread_id x
        %i = arith.index_cast %tid : index to i32
        %where = llvm.getelementptr %bounds[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, {index}
        %left = llvm.load %where : !llvm.ptr<1> -> {index}
        %bytes = llvm.load %x {{alignment = 8}} : !llvm.ptr<1> -> vector<8xi8>
        %zeros = arith.constant dense<0> : vector<8xi32>
        {" ".join(numbers)}
        %s = "fold.thread_reduce"(%c0, %c1, %zeros) ({{
        ^bb0(%r: {index}):
          %wide = arith.extui %bytes : vector<8xi8> to vector<8xi32>
          %number = vector.from_elements {", ".join(f"%c{j}" for j in range(8))} : vector<8x{index}>
          %bound = vector.broadcast %left : {index} to vector<8x{index}>
          %live = arith.cmpi {predicate}, %number, %bound : vector<8x{index}>
          %wanted = arith.select %live, %wide, %zeros : vector<8xi1>, vector<8xi32>
          "fold.yield"(%wanted) : (vector<8xi32>) -> ()
        }}, {{
        ^bb0(%a: i32, %b: i32):
          %c = arith.addi %a, %b : i32
          "fold.yield"(%c) : (i32) -> ()
        }}) {{step = 8, unroll = 1, once = true}} : ({index}, {index}, vector<8xi32>) -> i32
        %to = llvm.getelementptr %out[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
        llvm.store %s, %to : i32, !llvm.ptr<1>
        gpu.return
      }}
    }}"""
    padded = np.resize(bounds, 32).astype(f"i{int(index[1:]) // 8}")
    source = 1 << np.arange(8, dtype=np.uint8)
    (found,) = run_text(compile_text(text), "k", [source, padded], [np.zeros(32, np.int32)], (1, 1, 1), 32)
    return found[: len(bounds)]


@pytest.mark.parametrize("index", ["i32", "i64"])
@pytest.mark.parametrize("predicate", ["slt", "sge"])
@pytest.mark.parametrize("far", [False, True])
def test_bytes_of_a_word_are_masked_by_a_bound(index: str, predicate: str, far: bool) -> None:
    """The bound is the rest of a row: nothing, some bytes, or far more, as in the access where a row begins.

    Rows may have as many bytes as an index can count, or as a memory has.
    """
    bits = {"i32": 31, "i64": 48}[index]
    powers = [sign * (1 << k) for k in range(bits - 15, bits) for sign in (-1, 1)]
    bounds = np.array([1 - (1 << bits), *powers, (1 << bits) - 1] if far else range(-12, 20), np.int64)
    below = (1 << np.clip(bounds, 0, 8)) - 1
    found = masked_sums(index, predicate, bounds)
    np.testing.assert_array_equal(found, below if predicate == "slt" else 255 - below)


def test_a_step_of_extreme_bytes_fits_32_bits() -> None:
    """Every byte is the least or the greatest, and there are more than 16 bits count."""
    for dtype, value in (("int8", -128), ("uint8", 255)):
        x = np.full(200_000, value, dtype)
        assert int(wf.sum(x)) == 200_000 * value
        assert int(wf.count_nonzero(x)) == 200_000


@pytest.mark.parametrize(("dtype", "most"), [("int8", 2**24), ("uint8", 16843009)])
def test_sums_of_bytes_at_the_limit_of_32_bits_and_beyond(dtype: str, most: int) -> None:
    """All bytes are extreme; one state of 32 bits holds exactly ``most`` of them."""
    x = np.full(most + 1000, np.iinfo(dtype).min or np.iinfo(dtype).max, dtype)
    for n, state in ((most, 32), (most + 1000, 64)):
        assert api.plan_for("sum", (n,), x.dtype).program.monoid.state[0].bits == state
        assert int(wf.sum(x[:n])) == n * int(x[0])


@pytest.fixture
def wide_sums(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """All sums are in 64 bits, like those of more elements than 32 bits are known to hold."""
    monkeypatch.setattr(step_tasks, "narrowed", lambda program: (program, None))
    plans.forget()
    yield
    plans.forget()


@pytest.mark.usefixtures("wide_sums")
@covering(("dtype", ["bool", "int8", "uint8"]), (("shape", "axis"), LAYOUTS[1::2]))
def test_sums_in_64_bits(dtype: str, shape: tuple[int, ...], axis: int) -> None:
    x = drawn(dtype, shape, 0.6)
    assert api.plan_for("count_nonzero", shape, x.dtype, axis=axis).program.monoid.state == (I64,)
    test_sums_and_counts(dtype, shape, axis, 0)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize(("options", "sums", "mixed"), [("vector=16,unroll=2", 16, 8), ("vector=8,unroll=4", 8, 16)])
def test_bytes_of_columns_are_unpacked_together(dtype: str, options: str, sums: int, mixed: int) -> None:
    """The main loop has loads, three quarters of an instruction for each byte, and addresses."""
    ptx = wf.compile("sum", (131072, 1024), dtype, axis=0, plan=options).ptx
    loop = next(block for block in re.split(r"^\$\w+:$", ptx, flags=re.MULTILINE) if "dp4a" in block)
    found = re.findall(r"^\t(?:@!?%p\d+ )?\t?([a-z]\w*)\.?", loop, re.MULTILINE)
    loads = found.count("ld")
    assert (loads, found.count("dp4a"), found.count("prmt")) == (int(options[-1]), sums, mixed)
    assert not [name for name in found if name in ("cvt", "shr", "and", "bfe")][loads:]  # one an address
    assert len([name for name in found if name not in ("dp4a", "mov", "prmt")]) <= 8 * loads


@covering(("unroll", [1, 2, 8, 32]), ("dtype", ["bool", "int8"]))
def test_columns_of_any_number_of_accesses(dtype: str, unroll: int) -> None:
    x = drawn(dtype, (1000, 64), 0.9)
    for walk in ("vector=4,lanes=1", "vector=8,lanes=4,warps=2,warps_kept=1", "walk=period,vector=8"):
        got = (
            wf.count_nonzero(x, axis=0, plan=f"{walk},unroll={unroll}"),
            wf.sum(x, axis=0, plan=f"{walk},unroll={unroll}"),
        )
        np.testing.assert_array_equal(got[0], np.count_nonzero(x, axis=0))
        np.testing.assert_array_equal(got[1], x.sum(axis=0))


def test_any_byte_but_zero_is_true() -> None:
    x = np.arange(256, dtype=np.uint8).view(np.bool_)
    assert int(wf.count_nonzero(x)) == 255
    assert bool(wf.any(x))
    assert not bool(wf.all(x))
    assert bool(wf.all(x[1:]))


@pytest.mark.parametrize("what", ["any", "all"])
@pytest.mark.parametrize(("rows", "odd"), [(3, 1), (3, 0), (40, 1)])
def test_truth_values_stay_words_until_they_are_written(what: str, rows: int, odd: int) -> None:
    """Also where the first and the last row are read element by element; no byte becomes a predicate."""
    choice = api.plan_for(what, (rows, (1 << 23) + odd), "bool", axis=0)
    assert choice.choice.facts.access == (("unaligned",) if odd else ("aligned",))
    text = prepare.artifact(choice).ptx
    assert not re.findall(r"prmt\.b32 \s*%r\d+, %r\d+, 0, 0x777\dU", text)
    assert len(re.findall(r"selp\.b32 \s*%r\d+, -1, 0", text)) <= 2 * rows  # masks of whole accesses
    x = np.random.default_rng(5).random((rows, 530)) < (0.02 if what == "any" else 0.98)
    for begin in range(0, 17, 4):
        part = np.frombuffer(bytes(begin) + x.tobytes(), np.bool_)[begin:].reshape(x.shape)
        for vector in (8, 16):
            plan = f"fast=kept,vector={vector},unroll=2,lanes=1,warps=1,walk=interleaved,tile_bytes=0"
            found = wf.reduce(part, what, axis=0, plan=plan, device="emulator")
            np.testing.assert_array_equal(found, getattr(np, what)(x, axis=0))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_true_results_are_stored_as_one(dtype: str) -> None:
    x = np.arange(256).astype(dtype).reshape(2, 128)
    for what in ("any", "all"):
        found = wf.reduce(x, what, axis=0, plan="fast=kept,vector=16,lanes=1,warps=1,tile_bytes=0", device="emulator")
        np.testing.assert_array_equal(found.view(np.uint8), getattr(np, what)(x, axis=0).view(np.uint8))
