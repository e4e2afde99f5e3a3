"""SIMD video instructions, of which compilers still emit one: vabsdiff4, differences of the four bytes of a word."""

from __future__ import annotations

import numpy as np

from .op import Builder, Form, Op
from .types import Array


def _vabsdiff4(form: Form) -> Op:
    """The absolute differences of bytes as bytes or, with .add, their sum and an addend; .sat clamps each."""
    adds, saturates = form.flag("add"), form.flag("sat")
    b_type, a_type, d_type = form.type("u32 s32"), form.type("u32 s32"), form.type("u32 s32")
    low, high = (-128, 127) if d_type == "s32" else (0, 255)

    def octets(x: Array, type_: str) -> Array:
        return np.ascontiguousarray(x).view("i1" if type_ == "s32" else "u1").reshape(-1, 4).astype(np.int64)

    def run(a: Array, b: Array, c: Array) -> Array:
        apart = np.abs(octets(a, a_type) - octets(b, b_type))
        apart = np.clip(apart, low, high) if saturates else apart
        if adds:
            total: Array = apart.sum(axis=1).astype(np.uint32) + c
            return total
        return np.ascontiguousarray(apart.astype(np.uint8)).view(np.uint32).reshape(-1)

    return form.pure(run, "u32", "u32", "u32", "u32")


TABLE: dict[str, Builder] = {"vabsdiff4": _vabsdiff4}
