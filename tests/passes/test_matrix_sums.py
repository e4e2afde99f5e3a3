"""Sums by the tensor cores: rows of all lengths and types beside NumPy, their kernels, and mistakes in these."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from covering import covering
from kernel_harness import place, ptx_of_text
from numpy.testing import assert_array_equal

import warpfold as wf
from warpfold.runtime.emulator import Memory, sanitize

sys.path.insert(0, str(Path(__file__).parent.parent / "sanitizer"))
from mutate import Edit, edit

BF16 = ml_dtypes.bfloat16
SHAPES = ((7, 200), (33, 8), (3, 36), (2, 5000), (65, 16), (1, 8))
PLANS = ("lanes=4", "lanes=32,warps=2", "lanes=8,vector=4,unroll=2", "lanes=32,cluster=2,warps=1",
         "lanes=4,warps=4,unroll=4", "finish=two_kernels,coarsening=2,unroll=2,lanes=4")  # fmt: skip
OF_BYTES = ("lanes=1,vector=4", "lanes=2,vector=4", "lanes=4,vector=16")


def elements(shape: tuple[int, ...], t: Any) -> Any:
    """Numbers whose sums are exact."""
    r = np.random.default_rng(sum(shape))
    low, high = (0, 2) if t is np.bool_ else (0, 256) if t is np.uint8 else (-8, 9)
    return r.integers(low, high, shape).astype(t)


def total(x: Any, plan: str, what: Any = wf.sum, **how: Any) -> Any:
    return what(x, axis=-1, device="emulator", plan=f"meet=mma,{plan}", **how)


@covering(("plan", PLANS), ("t", [np.float16, BF16]))
def test_rows_of_halves_are_summed(t: Any, plan: str) -> None:
    for shape in SHAPES:
        x = elements(shape, t)
        assert_array_equal(total(x, plan).astype(np.float64), x.astype(np.float64).sum(-1).astype(t).astype(np.float64))


@pytest.mark.parametrize(("plan", "t"), zip(PLANS, [np.int8, np.uint8, np.bool_] * 2, strict=True))
def test_rows_of_bytes_are_summed(t: Any, plan: str) -> None:
    for shape in SHAPES[:4]:
        x = elements(shape, t)
        assert_array_equal(total(x, plan), x.astype(np.int64).sum(-1))


@pytest.mark.parametrize(("plan", "t"), zip(OF_BYTES, [np.int8, np.uint8, np.bool_], strict=True))
def test_lanes_of_bytes_may_have_rows_of_their_own(t: Any, plan: str) -> None:
    for shape in ((33, 16), (7, 208)):
        x = elements(shape, t)
        assert_array_equal(total(x, plan), x.astype(np.int64).sum(-1))
        assert_array_equal(total(x, plan, wf.count_nonzero), np.count_nonzero(x, -1))


def test_arrays_may_begin_anywhere_and_have_masks_and_gaps() -> None:
    x = elements((40, 200), BF16)
    for part in (x[:, 1:], x[3:, 5:190], x[::2, 8:], x[:, ::2]):
        if part.strides[-1] == x.itemsize:
            assert_array_equal(total(part, "lanes=4").astype(np.float64), part.astype(np.float64).sum(-1))
    mask = np.random.default_rng(1).random(x.shape) < 0.5
    expected = np.where(mask, x.astype(np.float64), 0).sum(-1)
    assert_array_equal(total(x, "lanes=4", where=mask).astype(np.float64), expected)
    ones = elements((40, 200), np.int8)
    assert_array_equal(total(ones, "lanes=2,vector=8", where=mask), np.where(mask, ones.astype(int), 0).sum(-1))


@pytest.mark.parametrize("t", [np.float16, BF16])
def test_infinities_stay_in_their_rows(t: Any) -> None:
    x = elements((64, 64), t)
    x[5, 3], x[9, 60], x[17, 0], x[17, 1] = np.inf, np.nan, np.inf, -np.inf
    assert_array_equal(total(x, "lanes=4").astype(np.float32), x.astype(np.float32).sum(-1))


def test_means_and_fractions_are_within_the_bound_of_sums() -> None:
    x = np.random.default_rng(2).standard_normal((50, 1000)).astype(BF16)
    exact = x.astype(np.float64)
    found = total(x, "lanes=4", accumulate="f32", dtype="f32").astype(np.float64)
    assert np.all(np.abs(found - exact.sum(-1)) <= 2.0**-23 * 60 * np.abs(exact).sum(-1))


def test_bytes_without_a_sign_have_none() -> None:
    x = np.full((1, 1 << 14), 255, np.uint8)
    assert total(x, "lanes=32").item() == 255 << 14


# --- kernels ---------------------------------------------------------------------------------------------------------
def test_four_lanes_need_no_shuffle() -> None:
    def ptx(plan: str) -> str:
        return str(wf.compile("sum", (1 << 16, 64), "bf16", axis=1, plan=plan).ptx)

    assert "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32" in ptx("meet=mma,lanes=4")
    assert "shfl" not in ptx("meet=mma,lanes=4")
    assert ptx("meet=mma,lanes=8").count("shfl.sync.bfly.b32") == 1
    assert ptx("meet=shuffle,lanes=4") == ptx("lanes=4")
    assert "mma.sync" not in ptx("lanes=4")


@dataclass(frozen=True)
class Summed:
    """A kernel of a warp whose groups of ``lanes`` lanes have a row each, the next row being shorter by ``less``."""

    t: str
    lanes: int
    total: str
    widen: str

    @property
    def each(self) -> int:
        return 8 if self.t == "bf16" else 16

    @property
    def less(self) -> int:
        return LENGTH * self.lanes // 32

    @property
    def zero(self) -> str:
        return "0.0" if self.total == "f32" else "0"

    @property
    def add(self) -> str:
        return "arith.addf" if self.total == "f32" else "arith.addi"


LENGTH = 512
HALVES = Summed("bf16", 4, "f32", "arith.extf")
PAIRS = Summed("i8", 2, "i32", "arith.extsi")
BYTES = Summed("i8", 1, "i64", "arith.extui")


@cache
def kernel(k: Summed) -> str:
    return ptx_of_text(f"""gpu.module @device {{
      gpu.func @k(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) kernel attributes {{known_block_size = array<i32: 32, 1, 1>}} {{
        %id = gpu.thread_id x
        %lane = arith.index_cast %id : index to i32
        %lanes = arith.constant {k.lanes} : i32
        %row = arith.divui %lane, %lanes : i32
        %part = arith.remui %lane, %lanes : i32
        %each = arith.constant {k.each} : i32
        %begin = arith.muli %part, %each : i32
        %length = arith.constant {LENGTH} : i32
        %less = arith.constant {k.less} : i32
        %short = arith.muli %row, %less : i32
        %end = arith.subi %length, %short : i32
        %first = arith.muli %row, %length : i32
        %zeros = arith.constant dense<{k.zero}> : vector<{k.each}x{k.total}>
        %sum = "fold.thread_reduce"(%begin, %end, %zeros) ({{
        ^bb0(%r: i32):
          %index = arith.addi %first, %r : i32
          %at = llvm.getelementptr %x[%index] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, {k.t}
          %v = llvm.load %at {{alignment = 16 : i64}} : !llvm.ptr<1> -> vector<{k.each}x{k.t}>
          %w = {k.widen} %v : vector<{k.each}x{k.t}> to vector<{k.each}x{k.total}>
          "fold.yield"(%w) : (vector<{k.each}x{k.total}>) -> ()
        }}, {{
        ^bb0(%a: {k.total}, %b: {k.total}):
          %c = {k.add} %a, %b : {k.total}
          "fold.yield"(%c) : ({k.total}) -> ()
        }}) {{step = {k.each * k.lanes}, unroll = 1, summed = {k.lanes}}}
          : (i32, i32, vector<{k.each}x{k.total}>) -> {k.total}
        %to = llvm.getelementptr %y[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, {k.total}
        llvm.store %sum, %to : {k.total}, !llvm.ptr<1>
        gpu.return
      }}
    }}""")


OUT, GLOBAL, MASK, WRONG = "out-of-bounds", "global-race", "warp-mask", "wrong result"


def outcome(k: Summed, code: str) -> set[str]:
    """The kinds of the findings; or that a sum is wrong, or nothing."""
    rows, memory = 32 // k.lanes, Memory()
    t = {"arith.extf": BF16, "arith.extsi": np.int8, "arith.extui": np.uint8}[k.widen]
    x = elements((rows, LENGTH), t)
    x[-1, k.less :] = 1
    given = place(memory, np.ascontiguousarray(x).reshape(-1)[: (rows - 1) * LENGTH + k.less].view(np.int8), 0)[0]
    made = {"f32": np.float32, "i32": np.int32, "i64": np.int64}[k.total]
    out, found = place(memory, np.zeros(32, made), 0, initialised=False)
    faults = sanitize(code, "k", (1, 1, 1), (32, 1, 1), [given, out], memory, max_steps=20_000)
    if faults:
        return {fault.kind for fault in faults}
    sums = [row[: LENGTH - k.less * i].astype(np.float64).sum() for i, row in enumerate(x)]
    return set() if np.array_equal(found.view(made), np.repeat(sums, k.lanes)) else {WRONG}


MISTAKES: tuple[tuple[Summed, str, Edit, tuple[str, ...]], ...] = (
    (HALVES, "the loop ends with its first lane", edit(r"vote\.sync\.any", "vote.sync.all"), (WRONG,)),
    (
        HALVES,
        "each lane leaves the loop by itself",
        edit(r"vote\.sync\.any\.pred(\s+%p\d+), (%p\d+), -1;", r"and.pred\1, \2, \2;"),
        (MASK, WRONG),
    ),
    (HALVES, "lanes vote without the last one", edit(r"(vote\.sync\.any.*), -1;", r"\1, 2147483647;"), (MASK,)),
    (
        HALVES,
        "lanes without accesses read",
        edit(r"setp\.ge\.s32(\s+%p\d+, %r\d+), %r\d+;", r"setp.ge.s32\1, 99999;"),
        (OUT, WRONG),
    ),
    (
        HALVES,
        "lanes without accesses keep their words",
        edit(r"mov\.b32(\s+%r24), 0;", r"mov.b32\1, 1065369472;"),
        (WRONG,),
    ),
    (HALVES, "the ones are those of f16", edit("1065369472", "1006648320"), (WRONG,)),
    (HALVES, "one of a pair is zero", edit("1065369472", "16256"), (WRONG,)),
    (HALVES, "half of the matrix is zero", edit(r"\{%r26, %r26\}", "{%r26, %r19}"), (WRONG,)),
    (HALVES, "a word is taken twice", edit(r"\{%r12, %r13, %r14, %r15\}", "{%r12, %r12, %r14, %r15}"), (WRONG,)),
    (
        HALVES,
        "the upper rows forget what was added",
        edit(r"\{%r6, %r6, %r7, %r7\}", "{%r19, %r19, %r7, %r7}"),
        (WRONG,),
    ),
    (HALVES, "both rows start from one sum", edit(r"\{%r6, %r6, %r7, %r7\}", "{%r6, %r6, %r6, %r6}"), (WRONG,)),
    (HALVES, "the lower rows are left out", edit(r"(add\.rn\.f32\s+%r23, %r6), %r7;", r"\1, %r6;"), (WRONG,)),
    (HALVES, "steps of half the length", edit(r"(add\.s32\s+%r18, %r5), 32;", r"\1, 16;"), (WRONG,)),
    (PAIRS, "bytes without a sign", edit(r"s32\.s8\.s8\.s32", "s32.u8.u8.s32"), (WRONG,)),
    (
        PAIRS,
        "all lanes of a row are summed",
        edit(r"selp\.b32(\s+%r\d+), 16843009, 0,", r"selp.b32\1, 16843009, 16843009,"),
        (WRONG,),
    ),
    (PAIRS, "the columns of other lanes", edit(r"shr\.u32(\s+%r\d+, %r24), 4;", r"shr.u32\1, 3;"), (WRONG,)),
    (PAIRS, "the words of other lanes", edit(r"bfe\.u32(\s+%r\d+, %r24), 1, 1;", r"bfe.u32\1, 0, 1;"), (WRONG,)),
    (BYTES, "bytes with a sign", edit(r"s32\.u8\.u8\.s32", "s32.s8.s8.s32"), (WRONG,)),
    (BYTES, "the next column", edit(r"shr\.u32(\s+%r\d+, %r17), 3;", r"shr.u32\1, 2;"), (WRONG,)),
    (
        BYTES,
        "a product starts from another one",
        edit(r"\{%r22, %r22, %r22, %r22\}", "{%r5, %r5, %r22, %r22}"),
        (WRONG,),
    ),
    (BYTES, "the lower rows are not added", edit(r"(add\.s64\s+%rd4, %rd2), %rd16;", r"\1, %rd7;"), (WRONG,)),
)


@pytest.mark.parametrize("k", [HALVES, PAIRS, BYTES])
def test_nothing_is_found_without_a_mistake(k: Summed) -> None:
    assert outcome(k, kernel(k)) == set()


@pytest.mark.parametrize(("k", "what", "change", "kinds"), MISTAKES, ids=lambda v: v if isinstance(v, str) else "")
def test_each_mistake_is_found(k: Summed, what: str, change: Edit, kinds: tuple[str, ...]) -> None:
    found = outcome(k, change(kernel(k)))
    assert found, what
    assert found <= set(kinds), found
