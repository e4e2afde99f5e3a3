"""SIMD video instructions, of which compilers still emit vabsdiff2 and vabsdiff4: differences of parts of a word."""

from __future__ import annotations

import numpy as np

from ..ptx.types import Array
from .op import Builder, Form, Op


def _vabsdiff(parts: int) -> Builder:
    """The absolute differences of the parts or, with .add, their sum plus an addend; .sat clamps each difference."""
    size = 4 // parts

    def numbers(x: Array, type_: str) -> Array:
        kind = "i" if type_ == "s32" else "u"
        return np.ascontiguousarray(x).view(f"{kind}{size}").reshape(-1, parts).astype(np.int64)

    def build(form: Form) -> Op:
        adds, saturates = form.flag("add"), form.flag("sat")
        b_type, a_type, d_type = form.type("u32 s32"), form.type("u32 s32"), form.type("u32 s32")
        bounds = np.iinfo(f"{'i' if d_type == 's32' else 'u'}{size}")

        def run(a: Array, b: Array, c: Array) -> Array:
            apart = np.abs(numbers(a, a_type) - numbers(b, b_type))
            apart = np.clip(apart, bounds.min, bounds.max) if saturates else apart
            if adds:
                total: Array = apart.sum(axis=1).astype(np.uint32) + c
                return total
            return np.ascontiguousarray(apart.astype(f"u{size}")).view(np.uint32).reshape(-1)

        return form.pure(run, "u32", "u32", "u32", "u32")

    return build


TABLE: dict[str, Builder] = {"vabsdiff2": _vabsdiff(2), "vabsdiff4": _vabsdiff(4)}
