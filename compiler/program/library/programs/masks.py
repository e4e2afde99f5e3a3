"""Masks that a forward program keeps for its backward: one bit an element, in row-major order of the array."""

from __future__ import annotations

from ....errors import error
from ...arrays.packing import pack
from .operands import Array


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
