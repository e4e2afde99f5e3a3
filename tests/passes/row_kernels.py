"""Kernels that read a row again, as stage ops: two folds, each of whose results all threads of the row use.

Of each row x of 32-bit integers a kernel takes the maximum m and the sum s of x - m, and writes 3 x + m + s. Rows begin
anywhere. They wait in slots of shared memory, or in memory; the threads of a CTA share a row, or those of a cluster.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

VECTOR, LANES = 4, 32
POINTER = "!llvm.ptr<1>"
FRAGMENT = f"vector<{VECTOR}xi32>"
LEAST = -(2**31)
SHIFTED = 'kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "shifted"'


class RowKernel(NamedTuple):
    """A kernel: where rows wait, the CTAs and the warps of a CTA that share a row, and a thread's accesses.

    A thread has ``slots`` of them at most, ``unroll`` at a time.
    """

    waits: str = "slots"
    ctas: int = 1
    warps: int = 2
    slots: int = 4
    unroll: int = 2

    @property
    def threads(self) -> int:
        return LANES * self.warps

    @property
    def step(self) -> int:
        """Elements between a thread's accesses."""
        return self.threads * VECTOR

    @property
    def chunk(self) -> int:
        """The elements of a CTA that shares a row with others."""
        return self.step * self.slots

    @property
    def shared(self) -> int:
        """Bytes of dynamic shared memory."""
        return self.chunk * 4 if self.waits == "slots" else 0


def wanted(x: Any) -> Any:
    """What a kernel makes of rows [rows, elements]."""
    m = x.max(1, keepdims=True)
    s = (x - m).sum(1, keepdims=True, dtype=np.int32)
    return 3 * x + m + s


def text(kernel: RowKernel, name: str = "k") -> str:
    """The module of a kernel: (x, y, n, pitch, extent), a CTA or a cluster a row."""
    cluster = f"nvvm.cluster_dim = array<i32: {kernel.ctas}, 1, 1>, " if kernel.ctas > 1 else ""
    return f"""gpu.module @device {{
      gpu.func @{name}(%x: {POINTER}, %y: {POINTER}, %n: i32, %pitch: i32, %extent: i32)
          kernel attributes {{{cluster}known_block_size = array<i32: {kernel.threads}, 1, 1>}} {{
        %tid = gpu.thread_id x
        %bid = gpu.block_id x
        %t = arith.index_cast %tid : index to i32
        %cta = arith.index_cast %bid : index to i32
        %zero = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        %ctas = arith.constant {kernel.ctas} : i32
        %lanes = arith.constant {LANES} : i32
        %vector = arith.constant {VECTOR} : i32
        %chunk = arith.constant {kernel.chunk} : i32
        %log = arith.constant {kernel.step.bit_length() - 1} : i32
        %on = arith.constant true
        %row = arith.divui %cta, %ctas : i32
        %rank = arith.remui %cta, %ctas : i32
        %warp = arith.divui %t, %lanes : i32
        %lane = arith.remui %t, %lanes : i32
        %leads = arith.cmpi eq, %lane, %zero : i32
        %lead = "fold.lead"(%x, %row, %pitch) {{kept_rank = 1, reduced_rank = 0, lanes = {VECTOR}, bytes = 4}}
          : ({POINTER}, i32, i32) -> i32
        %before = arith.muli %rank, %chunk : i32
        %early = arith.subi %before, %lead : i32
        %first = arith.maxsi %early, %zero : i32
        %after = arith.addi %early, %chunk : i32
        %end = arith.minsi %after, %n : i32
        %own = arith.muli %t, %vector : i32
        %begin = arith.addi %early, %own : i32
        {_hold(kernel) if kernel.waits == "slots" else ""}
        %least = arith.constant dense<{LEAST}> : {FRAGMENT}
        {_fold(kernel, "m", "least", "maxsi", "")}
        %no_m = vector.broadcast %m : i32 to {FRAGMENT}
        %none = arith.constant dense<0> : {FRAGMENT}
        {_fold(kernel, "s", "none", "addi", f"%less = arith.subi %v, %no_m : {FRAGMENT}")}
        %both = arith.addi %m, %s : i32
        %boths = vector.broadcast %both : i32 to {FRAGMENT}
        %three = arith.constant dense<3> : {FRAGMENT}
        "fold.thread_map"(%begin, %end, %first) ({{
        ^bb0(%r: i32):
          {_load(kernel)}
          %product = arith.muli %v, %three : {FRAGMENT}
          %result = arith.addi %product, %boths : {FRAGMENT}
          "fold.element_store"(%result, %y, %row, %r, %first, %end, %on, %pitch, %one) {{{SHIFTED}, whole = false}}
            : ({FRAGMENT}, {POINTER}, i32, i32, i32, i32, i1, i32, i32) -> ()
          "fold.yield"() : () -> ()
        }}) {{step = {kernel.step}, unroll = {kernel.unroll}}} : (i32, i32, i32) -> ()
        gpu.return
      }}
    }}"""


def _hold(kernel: RowKernel) -> str:
    return f"""%slots = "fold.hold"(%x, %row, %begin, %first, %end, %t, %pitch, %one, %extent)
          {{{SHIFTED}, step = {kernel.step}, slots = {kernel.slots}, threads = {kernel.threads}, vector = {VECTOR},
           item = 4, whole = false}} : ({POINTER}, i32, i32, i32, i32, i32, i32, i32, i32) -> !llvm.ptr<3>"""


def _load(kernel: RowKernel) -> str:
    """The elements of the access at %r, as %v."""
    if kernel.waits == "memory":
        return f"""%v = "fold.load"(%x, %row, %r, %pitch, %one, %extent) {{{SHIFTED}}}
            : ({POINTER}, i32, i32, i32, i32, i32) -> {FRAGMENT}"""
    return f"""%distance = arith.subi %r, %begin : i32
          %number = arith.shrui %distance, %log : i32
          %v = "fold.held"(%slots, %number) {{threads = {kernel.threads}}} : (!llvm.ptr<3>, i32) -> {FRAGMENT}"""


def _fold(kernel: RowKernel, name: str, neutral: str, combine: str, lift: str) -> str:
    """A phase: the combined state of the row, in all its threads."""
    region = f"""{{
        ^bb0(%a: i32, %b: i32):
          %c = arith.{combine} %a, %b : i32
          "fold.yield"(%c) : (i32) -> ()
        }}"""
    lanes = f"lanes = {LANES}, stride = 1, ordered = true"
    mine = f"""%own_{name} = "fold.thread_reduce"(%begin, %end, %{neutral}) ({{
        ^bb0(%r: i32):
          {_load(kernel)}
          {lift}
          %live = "fold.live"(%r, %first, %end) : (i32, i32, i32) -> vector<{VECTOR}xi1>
          %counted = arith.select %live, %{"less" if lift else "v"}, %{neutral} : vector<{VECTOR}xi1>, {FRAGMENT}
          "fold.yield"(%counted) : ({FRAGMENT}) -> ()
        }}, {region}) {{step = {kernel.step}, unroll = {kernel.unroll}, early = true}} : (i32, i32, {FRAGMENT}) -> i32
        %warp_{name} = "fold.warp_reduce"(%own_{name}) ({region}) {{{lanes}}} : (i32) -> i32"""
    if kernel.ctas > 1:
        return f"""{mine}
        %{name} = "fold.cluster_reduce"(%rank, %warp, %lane, %zero, %leads, %warp_{name}) ({region})
          {{ctas = {kernel.ctas}, rows = {kernel.warps}, slots = 1, {lanes}, everywhere = true}}
          : (i32, i32, i32, i32, i1, i32) -> i32"""
    return f"""{mine}
        %left_{name} = "fold.shared_store"(%warp, %zero, %leads, %warp_{name}) {{rows = {kernel.warps}, slots = 1}}
          : (i32, i32, i1, i32) -> !llvm.ptr<3>
        %{name} = "fold.interwarp_accumulate"(%lane, %zero, %left_{name}) ({region})
          {{rows = {kernel.warps}, slots = 1, {lanes}}} : (i32, i32, !llvm.ptr<3>) -> i32"""
