"""The passes keep the meaning: PTX in the emulator gives the stages' meaning in NumPy, bit for bit on integers.

First each stage alone, in a kernel that loads a state per thread and stores the result per thread; then whole plans.
The monoids are addition, the composition of affine functions and the product of 2x2 matrices. The latter two are
associative but not commutative, so that a lane or a CTA in the wrong order shows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from covering import covering
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_harness import Outcome, compile_text, reduce_array, run_text
from stage_semantics import (
    cluster_reduce,
    cta_reduce,
    grid_finish,
    interwarp_accumulate,
    shared_store,
    thread_reduce,
    warp_reduce,
    whole_plan,
)

from warpfold.compiler.dtypes import BOOL, F32, F64, I32, I64
from warpfold.compiler.ir.dialect.stages import METHODS
from warpfold.compiler.program.fold import fold
from warpfold.compiler.program.library import reductions
from warpfold.compiler.program.monoid import monoid
from warpfold.compiler.program.values import cast

POINTER = "!llvm.ptr<1>"


# --- stages alone -------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Combine:
    """A combine on i32 values: as an MLIR region over a state type, and in Python."""

    values: int
    code: str
    function: Callable[[Any, Any], Any]
    identity: tuple[int, ...]

    @property
    def state(self) -> str:
        return "i32" if self.values == 1 else "tuple<" + ", ".join(["i32"] * self.values) + ">"

    @property
    def region(self) -> str:
        arguments = ", ".join(f"%{side}{i}: i32" for side in "lr" for i in range(self.values))
        packed = pack("%c", "c", self.values)
        return (
            f'{{\n^bb0({arguments}):\n{self.code}\n{packed}\n"fold.yield"(%c{self.suffix}) : ({self.state}) -> ()\n}}'
        )

    @property
    def suffix(self) -> str:
        """What follows a state's name: one value is the state itself, several are packed under the bare name."""
        return "0" if self.values == 1 else ""


def pack(name: str, prefix: str, count: int) -> str:
    """The line that packs %prefix0, %prefix1, ... into one state, if there are several."""
    types = ", ".join(["i32"] * count)
    values = ", ".join(f"%{prefix}{i}" for i in range(count))
    return "" if count == 1 else f"{name} = builtin.unrealized_conversion_cast {values} : {types} to tuple<{types}>"


def unpack(prefix: str, state: str, count: int) -> str:
    """The line that unpacks a state into %prefix0, %prefix1, ..., if there are several."""
    types = ", ".join(["i32"] * count)
    values = ", ".join(f"%{prefix}{i}" for i in range(count))
    return "" if count == 1 else f"{values} = builtin.unrealized_conversion_cast {state} : tuple<{types}> to {types}"


ADD = Combine(1, "%c0 = arith.addi %l0, %r0 : i32", lambda a, b: (a[0] + b[0],), (0,))
AFFINE = Combine(
    2,
    "%c0 = arith.muli %l0, %r0 : i32\n%m = arith.muli %l1, %r0 : i32\n%c1 = arith.addi %m, %r1 : i32",
    lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]),
    (1, 0),
)


def kernel(name: str, combine: Combine, threads: int, body: str) -> str:
    """A kernel that loads a state per thread, runs ``body`` on it and stores the result."""
    n = combine.values
    lines = [f"gpu.func @{name}(" + ", ".join(f"%{k}{i}: {POINTER}" for k in ("in", "out") for i in range(n)) + ")"]
    lines += [f"kernel attributes {{known_block_size = array<i32: {threads}, 1, 1>}} {{"]
    lines += ["%tid = gpu.thread_id x", "%bid = gpu.block_id x", "%dim = gpu.block_dim x"]
    lines += ["%before = arith.muli %bid, %dim : index", "%gid = arith.addi %before, %tid : index"]
    lines += ["%t = arith.index_cast %tid : index to i32", "%g = arith.index_cast %gid : index to i32"]
    for i in range(n):
        lines += [f"%pi{i} = llvm.getelementptr %in{i}[%g] : ({POINTER}, i32) -> {POINTER}, i32"]
        lines += [f"%state{i} = llvm.load %pi{i} : {POINTER} -> i32"]
    lines += [pack("%state", "state", n), body, unpack("result", "%result", n)]
    for i in range(n):
        lines += [f"%po{i} = llvm.getelementptr %out{i}[%g] : ({POINTER}, i32) -> {POINTER}, i32"]
        lines += [f"llvm.store %result{i}, %po{i} : i32, {POINTER}"]
    return "\n".join([*lines, "gpu.return", "}"])


def module(*kernels: str) -> Any:
    return compile_text("gpu.module @device {\n" + "\n".join(kernels) + "\n}")


def states(combine: Combine, threads: int, seed: int) -> tuple[Any, ...]:
    """A random state per thread, [threads, 1]."""
    rng = np.random.default_rng(seed)
    return tuple(rng.integers(-(2**31), 2**31, (threads, 1)).astype(np.int32) for _ in range(combine.values))


def check(compiled: Any, name: str, given: Any, wanted: Any, ctas: int = 1) -> None:
    threads = len(given[0]) // ctas
    found = run_text(compiled, name, given, [np.zeros_like(w) for w in wanted], (ctas, 1, 1), threads)
    for f, w in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(f, w)


@pytest.mark.parametrize("combine", [ADD, AFFINE], ids=["add", "affine"])
def test_warp_reduce_alone(combine: Combine) -> None:
    cases = [(lanes, stride) for lanes in (1, 2, 8, 32) for stride in (1, 4, 16) if lanes * stride <= 32]
    ordered = "false" if combine is ADD else "true"
    texts = [
        kernel(f"k{lanes}_{stride}", combine, 64,
               f'%result{combine.suffix} = "fold.warp_reduce"(%state{combine.suffix}) ({combine.region})'
               f"{{lanes = {lanes}, stride = {stride}, ordered = {ordered}}} : ({combine.state}) -> {combine.state}")
        for lanes, stride in cases
    ]  # fmt: skip
    compiled = module(*texts)
    for lanes, stride in cases:
        given = states(combine, 64, lanes * stride)
        check(compiled, f"k{lanes}_{stride}", given, warp_reduce(given, lanes, stride, combine.function))


@pytest.mark.parametrize("combine", [ADD, AFFINE], ids=["add", "affine"])
def test_shared_memory_stages_alone(combine: Combine) -> None:
    """Fewer rows than lanes that read them, as many, and more; neighbouring slots."""
    cases = [(rows, lanes) for rows in (2, 4, 16) for lanes in (1, 4, 32)]
    buffers = ", ".join(f"%buffers#{i}" for i in range(combine.values))
    shared = ", ".join(["!llvm.ptr<3>"] * combine.values)
    ordered = "false" if combine is ADD else "true"
    texts = [
        kernel(f"k{rows}_{lanes}", combine, rows * 32, f"""
            %c5 = arith.constant 5 : i32
            %c31 = arith.constant 31 : i32
            %row = arith.shrui %t, %c5 : i32
            %lane_id = arith.andi %t, %c31 : i32
            %mask = arith.constant {lanes - 1} : i32
            %shift = arith.constant {lanes.bit_length() - 1} : i32
            %lane = arith.andi %lane_id, %mask : i32
            %slot = arith.shrui %lane_id, %shift : i32
            %zero = arith.constant 0 : i32
            %on = arith.cmpi eq, %lane, %zero : i32
            %buffers:{combine.values} = "fold.shared_store"(%row, %slot, %on, %state{combine.suffix})
              {{rows = {rows}, slots = {32 // lanes}}} : (i32, i32, i1, {combine.state}) -> ({shared})
            %result{combine.suffix} = "fold.interwarp_accumulate"(%lane, %slot, {buffers}) ({combine.region})
              {{rows = {rows}, slots = {32 // lanes}, lanes = {lanes}, stride = 1, ordered = {ordered}}}
              : (i32, i32, {shared}) -> {combine.state}""")
        for rows, lanes in cases
    ]  # fmt: skip
    compiled = module(*texts)
    for rows, lanes in cases:
        given = states(combine, rows * 32, rows * lanes)
        t = np.arange(rows * 32)
        slot = t % 32 // lanes
        left = shared_store(given, t // 32, slot, t % lanes == 0, rows, 32 // lanes)
        check(compiled, f"k{rows}_{lanes}", given, interwarp_accumulate(left, slot, 1, combine.function))


@covering(
    ("method", METHODS), ("scratch", [False, True], ["shared", "global"]), ("combine", [ADD, AFFINE], ["add", "affine"])
)
def test_cta_reduce_alone(method: str, scratch: bool, combine: Combine) -> None:
    """Two CTAs; lanes of a warp that are positions of one result, or results side by side."""
    cases = [(warps, lanes) for warps in (1, 4) for lanes in (1, 4, 32) if warps * lanes > 1]
    ordered = "false" if combine is ADD else "true"
    given_scratch = "".join(f", %out{i}" for i in range(combine.values)) if scratch else ""
    pointers = f", {POINTER}" * combine.values if scratch else ""
    texts = [
        kernel(f"k{warps}_{lanes}", combine, warps * 32, f"""
            %c5 = arith.constant 5 : i32
            %c31 = arith.constant 31 : i32
            %warp = arith.shrui %t, %c5 : i32
            %lane_id = arith.andi %t, %c31 : i32
            %lanes = arith.constant {lanes} : i32
            %lane = arith.remui %lane_id, %lanes : i32
            %slot = arith.divui %lane_id, %lanes : i32
            %before_warp = arith.muli %warp, %lanes : i32
            %position = arith.addi %before_warp, %lane : i32
            %result{combine.suffix} = "fold.cta_reduce"(%position, %slot, %state{combine.suffix}{given_scratch})
              ({combine.region}) {{method = "{method}", rows = {warps * lanes}, lanes = {lanes}, slots = {32 // lanes},
              ordered = {ordered}}} : (i32, i32, {combine.state}{pointers}) -> {combine.state}
            gpu.barrier""")
        for warps, lanes in cases
    ]  # fmt: skip
    compiled = module(*texts)
    for warps, lanes in cases:
        given = states(combine, 2 * warps * 32, warps * lanes)
        t = np.arange(warps * 32)
        position, slot = t // 32 * lanes + t % 32 % lanes, t % 32 // lanes
        name, outputs = f"k{warps}_{lanes}", [np.zeros_like(g) for g in given]
        found = run_text(compiled, name, given, outputs, (2, 1, 1), warps * 32)
        for cta in range(2):
            own = slice(cta * warps * 32, (cta + 1) * warps * 32)
            wanted = cta_reduce(tuple(g[own] for g in given), position, slot, combine.function)
            for f, w in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(f[own][position == 0], w[position == 0])


@pytest.mark.parametrize("everywhere", [False, True], ids=["in the first CTA", "everywhere"])
@pytest.mark.parametrize("combine", [ADD, AFFINE], ids=["add", "affine"])
def test_cluster_reduce_alone(combine: Combine, everywhere: bool) -> None:
    """Two clusters: fewer states than lanes, as many, and more; neighbouring results; two rows of results a CTA."""
    cases = [(2, 1, 32, 1), (8, 1, 1, 1), (4, 4, 8, 1), (8, 16, 32, 1), (2, 8, 4, 2), (8, 4, 2, 2)]
    ordered = "false" if combine is ADD else "true"
    name = "k{}_{}_{}_{}".format
    texts = [
        kernel(name(ctas, rows, lanes, kept), combine, 32 * rows * kept, f"""
            %c31 = arith.constant 31 : i32
            %lanes = arith.constant {lanes} : i32
            %warps = arith.constant {rows} : i32
            %ctas = arith.constant {ctas} : i32
            %zero = arith.constant 0 : i32
            %c32 = arith.constant 32 : i32
            %lane_id = arith.andi %t, %c31 : i32
            %lane = arith.remui %lane_id, %lanes : i32
            %lane_kept = arith.divui %lane_id, %lanes : i32
            %warp = arith.divui %t, %c32 : i32
            %row = arith.remui %warp, %warps : i32
            %warp_kept = arith.divui %warp, %warps : i32
            %each = arith.constant {32 // lanes} : i32
            %before_slot = arith.muli %warp_kept, %each : i32
            %slot = arith.addi %before_slot, %lane_kept : i32
            %b = arith.index_cast %bid : index to i32
            %rank = arith.remui %b, %ctas : i32
            %on = arith.cmpi eq, %lane, %zero : i32
            %result{combine.suffix} = "fold.cluster_reduce"(%rank, %row, %lane, %slot, %on, %state{combine.suffix})
              ({combine.region}) {{ctas = {ctas}, rows = {rows}, slots = {32 // lanes * kept}, lanes = {lanes},
              stride = 1, ordered = {ordered}{", everywhere = true" * everywhere}}}
              : (i32, i32, i32, i32, i1, {combine.state}) -> {combine.state}""")
        .replace("kernel attributes {", f"kernel attributes {{nvvm.cluster_dim = array<i32: {ctas}, 1, 1>, ")
        for ctas, rows, lanes, kept in cases
    ]  # fmt: skip
    compiled = module(*texts)
    for ctas, rows, lanes, kept in cases:
        threads, clusters = 32 * rows * kept, 2
        given = states(combine, clusters * ctas * threads, ctas * rows)
        if everywhere:  # all lanes hold the state of their warp
            given = tuple(g[np.arange(len(g)) // lanes * lanes] for g in given)
        outputs = [np.zeros_like(g) for g in given]
        grid = (clusters * ctas, 1, 1)
        found = run_text(compiled, name(ctas, rows, lanes, kept), given, outputs, grid, threads)
        t = np.arange(ctas * threads)
        warp, lane = t % threads // 32, t % 32 % lanes
        number, slot = t // threads * rows + warp % rows, warp // rows * (32 // lanes) + t % 32 // lanes
        for own in (slice(c * ctas * threads, (c + 1) * ctas * threads) for c in range(clusters)):
            mine = tuple(g[own] for g in given)
            wanted = cluster_reduce(mine, number, lane, slot, ctas, rows, combine.function)
            has = (number == 0) | everywhere
            for f, w, g in zip(found, wanted, mine, strict=True):
                np.testing.assert_array_equal(f[own], np.where(has[:, None], w, g))


def element(elements: Any, at: Any) -> tuple[Any, ...]:
    return (elements[at.clip(0, len(elements) - 1)],)


@pytest.mark.parametrize(("step", "unroll"), [(32, 1), (32, 8), (1, 4)])
@pytest.mark.parametrize("chain", [False, True])
def test_thread_reduce_alone(step: int, unroll: int, chain: bool) -> None:
    """Each thread walks from its own number to a common end that is a multiple of nothing, so that every tail occurs.

    A body that computes which elements are live puts the whole tail in flight; its accesses are combined as a chain.
    """
    counted = """%live = "fold.live"(%r, %zero, %end) : (i32, i32, i32) -> i1
              %used = arith.select %live, %x, %zero : i32"""
    for end in (0, 1, 31, 100, 32 * 8 * 2 + 5):
        text = kernel("k", ADD, 32, f"""
            %zero = arith.constant 0 : i32
            %one = arith.constant 1 : i32
            %end = arith.constant {end} : i32
            %result0 = "fold.thread_reduce"(%t, %end, %state0) ({{
            ^bb0(%r: i32):
              %x = "fold.load"(%in0, %zero, %r, %one)
                {{kept_rank = 0, reduced_rank = 1, axis = "reduced", access = "strided"}}
                : ({POINTER}, i32, i32, i32) -> i32
              {counted if chain else ""}
              "fold.yield"({"%used" if chain else "%x"}) : (i32) -> ()
            }}, {ADD.region}) {{step = {step}, unroll = {unroll}}} : (i32, i32, i32) -> i32""")  # fmt: skip
        (elements,) = states(ADD, max(32, end), end)
        begin = np.arange(32)
        last = np.full(32, end)
        wanted = thread_reduce((elements[:32],), partial(element, elements), begin, last, step, 1, ADD.function)
        found = run_text(module(text), "k", [elements], [np.zeros((32, 1), np.int32)], (1, 1, 1), 32)
        np.testing.assert_array_equal(found[0], wanted[0])


@pytest.mark.parametrize("finish", ["two_kernels", "atomic"])
def test_grid_finish_alone(finish: str) -> None:
    """Five CTAs of 32 results each store their states in the partials, or combine them in one row of cells."""
    text = kernel("k", ADD, 32, f"""
        %n = arith.constant 32 : i32
        %part = arith.index_cast %bid : index to i32
        %parts = arith.constant 5 : i32
        %on = arith.constant true
        "fold.grid_finish"(%part, %parts, %t, %n, %on, %state0, %out0) ({ADD.region}, {{ "fold.yield"() : () -> () }})
          {{finish = "{finish}"}} : (i32, i32, i32, i32, i1, i32, {POINTER}) -> ()
        %result0 = arith.constant 0 : i32""")  # fmt: skip
    text = text.replace("llvm.store %result0, %po0", "llvm.store %result0, %pi0")  # the output holds the partials
    given = states(ADD, 160, 5)
    parts = given[0].reshape(5, 32)
    wanted = parts if finish == "two_kernels" else grid_finish((parts,), ADD.function)[0]
    (found,) = run_text(module(text), "k", given, [np.zeros_like(wanted)], (5, 1, 1), 32)
    np.testing.assert_array_equal(found, wanted)


DIVISION = """
gpu.module @device {
  gpu.func @k(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %quotients: !llvm.ptr<1>, %rests: !llvm.ptr<1>)
      kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %tid = gpu.thread_id x
    %t = arith.index_cast %tid : index to i32
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %px = llvm.getelementptr %x[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %py = llvm.getelementptr %y[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %flat = llvm.load %px : !llvm.ptr<1> -> i32
    %size = llvm.load %py : !llvm.ptr<1> -> i32
    %q = "fold.position"(%zero, %flat, %zero, %size, %one, %zero) {kept_rank = 0, reduced_rank = 2, axis = "reduced"}
      : (i32, i32, i32, i32, i32, i32) -> i32
    %r = "fold.position"(%zero, %flat, %zero, %size, %zero, %one) {kept_rank = 0, reduced_rank = 2, axis = "reduced"}
      : (i32, i32, i32, i32, i32, i32) -> i32
    %pq = llvm.getelementptr %quotients[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %pr = llvm.getelementptr %rests[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    llvm.store %q, %pq : i32, !llvm.ptr<1>
    llvm.store %r, %pr : i32, !llvm.ptr<1>
    gpu.return
  }
}"""


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2**31 - 1), st.integers(1, 2**31 - 1)), min_size=1, max_size=24), st.data())
def test_a_flat_index_is_divided_by_any_size(pairs: list[tuple[int, int]], data: st.DataObject) -> None:
    """Around multiples of small and large sizes, where a reciprocal's estimate fails first."""
    edges = []
    for x, size in pairs:
        size = min(size, data.draw(st.sampled_from([1, 2, 3, 7, 10, 641, 65535, 65536, 65537, 2**30, 2**31 - 1])))
        edges += [(min(max(0, x // size * size + d), 2**31 - 1), size) for d in (-1, 0, 1)] + [(2**31 - 1, size)]
    x, size = (np.resize(np.array(column, np.int32), 128) for column in zip(*edges, strict=True))
    outputs = [np.zeros(128, np.int32), np.zeros(128, np.int32)]
    quotient, rest = run_text(division(), "k", [x, size], outputs, (1, 1, 1), 128)
    np.testing.assert_array_equal(quotient, x // size)
    np.testing.assert_array_equal(rest, x % size)


@cache
def division() -> Any:
    return compile_text(DIVISION)


# --- whole plans --------------------------------------------------------------------------------------------------
@monoid(identity=(1, 0), commutative=False)
def compose_pair(a: Any, b: Any) -> Any:
    (s, t), (u, v) = a, b
    return s * u, t * u + v


@monoid(identity=(1, 0, 0, 1), commutative=False)
def multiply(a: Any, b: Any) -> Any:
    (p, q, r, s), (t, u, v, w) = a, b
    return p * t + q * v, p * u + q * w, r * t + s * v, r * u + s * w


def compose(x: Any) -> Any:
    return fold(compose_pair, x, x + 1)


def product(x: Any) -> Any:
    return fold(multiply, x, cast(1, I32), cast(0, I32), x + 1)


def integers(shape: tuple[int, ...]) -> Any:
    rng = np.random.default_rng(sum(shape))
    return rng.integers(-(2**31), 2**31, shape).astype(np.int32)


def agree(
    found: Outcome, elements: list[Any], identity: tuple[int, ...], combine: Any, axis: Any, positions: Any = None
) -> None:
    """The kernel's results are what the plan means; ``positions`` says which values of the state they are."""
    flat = [_matrix(e, axis) for e in elements]
    wanted = whole_plan(found.choice.plan, found.choice.run, flat, identity, combine)
    chosen = wanted if positions is None else [wanted[p] for p in positions]
    for f, w in zip(found.results, chosen, strict=True):
        np.testing.assert_array_equal(f.reshape(-1), w)


def _matrix(x: Any, axis: Any) -> Any:
    """``x`` as [kept, reduced]."""
    if axis is None:
        return x.reshape(1, -1)
    return np.moveaxis(x, axis, -1).reshape(-1, x.shape[axis])


CASES: list[tuple[tuple[int, ...], Any, str]] = [
    ((1,), None, ""),
    ((31,), None, ""),
    ((1000,), None, "unroll=1,warps=2,finish=last_block"),
    ((5001,), None, "unroll=2,vector=4,finish=last_block"),
    ((5001,), None, "unroll=1,warps=1,finish=two_kernels"),
    ((4099,), None, "unroll=1,warps=4,finish=atomic"),
    ((7, 1), 1, ""),
    ((5, 33), 1, ""),
    ((3, 257), 1, ""),
    ((9, 1003), 1, "warps=4"),
    ((6, 128), 1, "lanes=4,warps=1,vector=2"),
    ((1, 5), 0, ""),
    ((33, 7), 0, ""),
    ((257, 130), 0, ""),
    ((65, 64), 0, "warps=8,vector=2,finish=last_block"),
    ((64, 36), 0, "warps=2,unroll=1,finish=last_block"),
    ((130, 33), 0, "finish=two_kernels"),
    ((66, 12), 0, "finish=atomic"),
    ((40, 3, 21), 1, ""),
    ((3001,), None, "cta=serial,finish=last_block,coarsening=4"),
    ((3001,), None, "cta=interleaved,exchange=global,finish=two_kernels,coarsening=2"),
    ((5001,), None, "cta=sequential,finish=atomic,coarsening=2"),
    ((5001,), None, "cta=sequential,exchange=global,coarsening=2"),
    ((3, 257), 1, "cta=warp_sync,warps=2"),
    ((5, 33), 1, "cta=unrolled,lanes=4"),
    ((64, 36), 0, "cta=interleaved,warps=4,vector=2,finish=last_block,coarsening=1"),
    ((130, 33), 0, "cta=warp_sync,finish=two_kernels,coarsening=2"),
    ((65, 64), 0, "cta=unrolled,exchange=global,warps=8,finish=last_block"),
    ((1,), None, "cluster=8"),
    ((5001,), None, "cluster=8,warps=4,unroll=1"),
    ((9001,), None, "cluster=2,warps=4,unroll=1,coarsening=2"),
    ((9001,), None, "cluster=4,warps=1,unroll=1,finish=two_kernels"),
    ((9001,), None, "cluster=4,warps=2,unroll=1,finish=atomic"),
    ((9, 1003), 1, "cluster=8,warps=1,warps_kept=4"),
    ((6, 128), 1, "cluster=2,lanes=4,warps=2,vector=2"),
    ((257, 130), 0, "cluster=4"),
    ((65, 64), 0, "cluster=8,warps=8,vector=2,finish=last_block,coarsening=1,unroll=1"),
    ((64, 36), 0, "cluster=2,warps=2,unroll=1,finish=two_kernels"),
    ((3001,), None, "cluster=4,cta=serial"),
    ((3001,), None, "cluster=2,cta=interleaved,exchange=global,finish=last_block,coarsening=2"),
    ((65, 64), 0, "cluster=8,cta=unrolled,warps=4"),
]


@pytest.mark.parametrize(("shape", "axis", "options"), CASES)
def test_sum(shape: tuple[int, ...], axis: Any, options: str) -> None:
    x = integers(shape)
    found = reduce_array(reductions.sum, (I32,), x, axis, options, dtypes=[np.int64])
    agree(found, [x.astype(np.int64)], (0,), lambda a, b: (a[0] + b[0],), axis)
    np.testing.assert_array_equal(found.results[0], x.sum(axis, dtype=np.int64))


@pytest.mark.parametrize("t", [F32, F64])
@pytest.mark.parametrize(("shape", "axis"), [((9001,), None), ((900, 12), 0), ((3, 5000), 1)])
def test_a_float_sum_by_atomics(t: Any, shape: tuple[int, ...], axis: Any) -> None:
    """Of small whole numbers, whose sum is the same in any order."""
    x = (integers(shape) % 100).astype(t.numpy)
    options = "finish=atomic,unroll=1"
    found = reduce_array(reductions.sum, (t,), x, axis, options, dtypes=[t.numpy], determinism="none")
    assert found.choice.run.split > 1
    np.testing.assert_array_equal(found.results[0], x.sum(axis))


@pytest.mark.parametrize(("shape", "axis"), [((9, 1003), 1), ((64, 36), 0), ((3000,), None)])
def test_sum_with_wide_indices(shape: tuple[int, ...], axis: Any) -> None:
    x = integers(shape)
    found = reduce_array(reductions.sum, (I32,), x, axis, "unroll=1,finish=last_block", dtypes=[np.int64], wide=True)
    np.testing.assert_array_equal(found.results[0], x.sum(axis, dtype=np.int64))


@pytest.mark.parametrize("function", ["any", "all"])
@pytest.mark.parametrize(("shape", "axis"), [((1,), None), ((777,), None), ((6, 100), 1), ((9, 1003), 1), ((9, 33), 0)])
def test_predicates(function: str, shape: tuple[int, ...], axis: Any) -> None:
    """Truth values are bytes in memory and meet by ballots; one of them differs, in a few places."""
    common = function == "all"
    for odd in (None, 0, -1):
        x = np.full(shape, common)
        if odd is not None:
            x.reshape(-1)[odd] = not common
        found = reduce_array(getattr(reductions, function), (BOOL,), x, axis, dtypes=[np.bool_])
        elements = x.reshape(1, -1) if axis is None else _matrix(x, axis)
        combine = (lambda a, b: (a[0] & b[0],)) if common else (lambda a, b: (a[0] | b[0],))
        agree(found, [x], (int(common),), combine, axis)
        np.testing.assert_array_equal(found.results[0].reshape(-1), getattr(elements, function)(1))


@pytest.mark.parametrize(("shape", "axis", "options"), [c for c in CASES if "atomic" not in c[2]])
def test_composition_keeps_the_order(shape: tuple[int, ...], axis: Any, options: str) -> None:
    x = integers(shape)
    options = ",".join(o for o in options.split(",") if not o.startswith("vector") or shape[-1] == 64)
    found = reduce_array(compose, (I32,), x, axis, options, dtypes=[np.int32] * 2)
    assert found.choice.plan.walk == "blocked"
    agree(found, [x, x + 1], compose_pair.identity, compose_pair.function, axis)  # type: ignore[arg-type]


@pytest.mark.parametrize(("shape", "axis"), [((777,), None), ((5, 100), 1), ((100, 5), 0)])
def test_matrix_product_keeps_the_order(shape: tuple[int, ...], axis: Any) -> None:
    x = integers(shape)
    found = reduce_array(product, (I32,), x, axis, dtypes=[np.int32] * 4)
    elements = [x, np.ones_like(x), np.zeros_like(x), x + 1]
    agree(found, elements, multiply.identity, multiply.function, axis)  # type: ignore[arg-type]


@pytest.mark.parametrize(("shape", "axis", "options"), [c for c in CASES if "atomic" not in c[2]])
def test_argmax(shape: tuple[int, ...], axis: Any, options: str) -> None:
    """Few distinct values, so that the first of equals matters."""
    x = (integers(shape) % 5).astype(np.float32)
    index = np.arange(x.size).reshape(x.shape) if axis is None else np.indices(x.shape)[axis]

    def better(a: Any, b: Any) -> Any:
        takes = (a[0] > b[0]) | ((a[0] == b[0]) & (a[1] < b[1]))
        return tuple(np.where(takes, v, w) for v, w in zip(a, b, strict=True))

    found = reduce_array(reductions.argmax, (F32,), x, axis, options, dtypes=[np.int64])
    agree(found, [x, index.astype(np.int64)], (-np.inf, I64.highest), better, axis, positions=[1])  # type: ignore[arg-type]
    np.testing.assert_array_equal(found.results[0], x.argmax(axis))
