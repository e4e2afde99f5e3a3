"""Lanes talking to each other: the butterfly that the warp stage and the inter-warp stage both end in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .build import i32
from .combine import combine, elements, fragment
from .mlir import arith, gpu, ir
from .target import WARP


def exchange(x: Any, distance: int) -> Any:
    """The fragment that the lane whose number differs in the bit ``distance`` holds."""
    return fragment([_exchange(e, distance) for e in elements(x)])


def _exchange(x: Any, distance: int) -> Any:
    """One scalar; types that ``shfl`` does not take travel in the low bits of an i32."""
    t = x.type
    width = int(t.width)
    if width >= 32:
        return gpu.shuffle(x, i32(distance), i32(WARP), gpu.ShuffleMode.XOR)[0]
    word, own = ir.IntegerType.get_signless(32), ir.IntegerType.get_signless(width)
    bits = x if isinstance(t, ir.IntegerType) else arith.bitcast(own, x)
    moved = gpu.shuffle(arith.extui(word, bits), i32(distance), i32(WARP), gpu.ShuffleMode.XOR)[0]
    back = arith.trunci(own, moved)
    return back if isinstance(t, ir.IntegerType) else arith.bitcast(t, back)


def butterfly(region: Any, state: Sequence[Any], lanes: int, stride: int, *, ordered: bool) -> list[Any]:
    """Combines the states of ``lanes`` lanes that lie ``stride`` apart; all of them get the result.

    Distances grow, so that each step joins neighbouring groups: with ``ordered`` the lower group is put on the left.
    """
    values = list(state)
    distance = stride
    while distance < lanes * stride:
        others = [exchange(v, distance) for v in values]
        if ordered:
            upper = arith.cmpi(arith.CmpIPredicate.ne, arith.andi(lane_id(), i32(distance)), i32(0))
            left = [arith.select(upper, o, v) for v, o in zip(values, others, strict=True)]
            right = [arith.select(upper, v, o) for v, o in zip(values, others, strict=True)]
            values = combine(region, left, right)
        else:
            values = combine(region, values, others)
        distance *= 2
    return values


def lane_id() -> Any:
    """This thread's lane, an i32."""
    return arith.index_cast(ir.IntegerType.get_signless(32), gpu.lane_id())
