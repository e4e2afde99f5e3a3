"""Helpers of the emulator's tests: short kernels around a few instructions, buffers, and slow models."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from warpfold.runtime import emulator

DATA = Path(__file__).parent / "data"
HEADER = ".version 8.6\n.target sm_100a\n.address_size 64\n"


def module(body: str, *, params: str = ".param .b64 k_out", before: str = "", after: str = "") -> emulator.Module:
    """A module of one kernel ``k`` with registers p0-p9, h0-h9 (16), r0-r19 (32), d0-d19 (64) and q0-q3 (128 bits).

    ``d0`` is the output pointer, ``d1`` that of the thread's own 4 bytes in it, ``r0`` the thread's number in the CTA.
    """
    return emulator.parse(f"""{HEADER}{before}
.visible .entry k({params}) {after}
{{
.reg .pred p<10>; .reg .b16 h<10>; .reg .b32 r<20>; .reg .b64 d<20>; .reg .b128 q<4>;
ld.param.b64 d0, [k_out]; mov.u32 r0, %tid.x; mad.wide.u32 d1, r0, 4, d0;
{body}
ret;
}}
""")


def aligned(size: int) -> np.ndarray:
    """``size`` zero bytes that begin on a 256-byte boundary, as GPU allocations do."""
    raw = np.zeros(size + 256, np.uint8)
    return raw[-raw.ctypes.data % 256 :][:size]


def _bytes(x: np.ndarray) -> np.ndarray:
    """The bytes of an input: the array's own if it is an output or read-only, else an aligned copy."""
    flat = x.reshape(-1).view(np.uint8)
    if x.dtype != np.uint8:
        return flat
    copy = aligned(flat.size)
    copy[:] = flat
    return copy


def run(
    body: str,
    *,
    threads: int = 32,
    ctas: int = 1,
    dtype: Any = np.uint32,
    size: int | None = None,
    inputs: Sequence[np.ndarray] = (),
    **options: Any,
) -> np.ndarray:
    """Runs ``body`` and returns the output buffer, initially zero: by default one ``dtype`` for each thread of one CTA.

    Input ``k`` is bound to parameter ``k_in<k>``; other options go to ``module`` and ``launch``.
    """
    names = {"before", "after"}
    params = ", ".join([".param .b64 k_out"] + [f".param .b64 k_in{k}" for k in range(len(inputs))])
    built = module(body, params=params, **{k: v for k, v in options.items() if k in names})
    memory = emulator.Memory()
    out = aligned((threads if size is None else size) * np.dtype(dtype).itemsize).view(dtype)
    args = [memory.bind(out.view(np.uint8), name="out")]
    args += [memory.bind(_bytes(x), name=f"in{k}") for k, x in enumerate(inputs)]
    rest = {k: v for k, v in options.items() if k not in names}
    emulator.launch(built, "k", (ctas, 1, 1), (threads, 1, 1), args, memory, **rest)
    return out


def exact_value(bits: int, precision: int, width: int, emin: int) -> Fraction | None:
    """The value of a finite float code with a hidden bit, or None for infinities and NaN."""
    field = bits >> (precision - 1) & ((1 << (width - precision)) - 1)
    fraction = bits & ((1 << (precision - 1)) - 1)
    if field == (1 << (width - precision)) - 1:
        return None
    mantissa = fraction | (1 << (precision - 1) if field else 0)
    power = max(field, 1) - 1 + emin - (precision - 1)
    value = Fraction(mantissa) * Fraction(2) ** power
    return -value if bits >> (width - 1) else value


def round_exact(value: Fraction, mode: str, precision: int, width: int, emin: int, zero_sign: int = 0) -> int:
    """The code nearest to ``value``, by comparing with the two neighbours in exact arithmetic."""
    sign = 1 if value < 0 or (value == 0 and zero_sign) else 0
    size = abs(value)
    top = ((1 << (width - precision)) - 1) << (precision - 1)  # the code of infinity
    low, high = 0, top - 1
    while low < high:  # the largest finite code not above
        middle = (low + high + 1) // 2
        found = exact_value(middle, precision, width, emin)
        assert found is not None
        low, high = (middle, high) if found <= size else (low, middle - 1)
    below = exact_value(low, precision, width, emin)
    step = exact_value(low + 1, precision, width, emin)
    if below is None or step is None:  # above the largest: the next step would be infinity
        before = exact_value(low - 1, precision, width, emin)
        assert below is not None
        assert before is not None
        step = below + (below - before)
    rest, gap = size - below, step - below
    up = {
        "rn": rest * 2 > gap or (rest * 2 == gap and low & 1 == 1),
        "rz": False,
        "rm": rest > 0 and sign == 1,
        "rp": rest > 0 and sign == 0,
    }[mode]
    return (low + up) | sign << (width - 1)


def shuffle_model(mode: str, lane: int, b: int, c: int) -> tuple[int, bool]:
    """Source lane and predicate of ``shfl.sync``, as the ISA's pseudo-code reads."""
    bval, cval, segmask = b & 31, c & 31, c >> 8 & 31
    maxlane = (lane & segmask) | (cval & ~segmask & 31)
    minlane = lane & segmask
    if mode == "up":
        j = lane - bval
        inside = j >= maxlane
    elif mode == "down":
        j = lane + bval
        inside = j <= maxlane
    elif mode == "bfly":
        j = lane ^ bval
        inside = j <= maxlane
    else:
        j = minlane | (bval & ~segmask & 31)
        inside = j <= maxlane
    return (j if inside else lane), inside
