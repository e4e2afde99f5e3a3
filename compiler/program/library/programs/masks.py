"""Masks that a forward program keeps for its backward: one bit an element, in row-major order of the array."""

from __future__ import annotations

from math import prod

from ....dtypes import BOOL
from ....errors import error
from ...arrays.packing import pack, truths
from ...frames import caller
from .operands import Array, expect_array


def with_kept(output: Array, mask: Array, keep: str | None) -> Array | dict[str, Array]:
    """``output``, and the bits of ``mask`` beside it for ``keep="bits"``.

    Raises:
        ArgumentError: WF138 for another ``keep``.
    """
    return {"output": output, **kept(mask, keep)} if keep is not None else output


def kept(mask: Array, keep: str | None) -> dict[str, Array]:
    """The bits of ``mask`` as a result for ``keep="bits"``; none for None; arguments and errors as above."""
    if keep not in (None, "bits"):
        raise error("WF138", option="keep", value=keep, expected="None or 'bits'", default="None")
    return {} if keep is None else {"bits": pack(mask, flat=True)}


def kept_truths(bits: Array, x: Array) -> Array:
    """The truth values of bits that a forward program kept for an array like ``x``, or of bools.

    Raises:
        TraceError: WF285 for what is no array, WF288 for other elements, WF289 for another shape.
    """
    expect_array("bits", bits)
    found = truths(bits, x)
    if bits.dtype == BOOL and found.sizes != x.sizes:
        shape = x.sizes
        raise error("WF289", found=found.sizes, expected=shape, shape=shape, elements=prod(shape), where=caller())
    return found
