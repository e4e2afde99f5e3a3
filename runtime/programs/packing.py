"""``pack`` and ``unpack``: of real arrays each is a program; in a program they are those of ``packing.py`` there."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from ...compiler.program.arrays import packing
from ...compiler.program.frames import outermost
from ...compiler.program.symbols import Sym
from ..arrays.torch_compile import opaque
from ..options import checked_shape
from .arguments import is_real_array
from .function import ArrayFunction

_PACK: ArrayFunction[..., Any] = ArrayFunction(packing.pack)
_UNPACK: ArrayFunction[..., Any] = ArrayFunction(packing.unpack)


@opaque
@outermost
def pack(mask: Any, *, flat: bool = False, **how: Any) -> Any:
    if isinstance(mask, Sym) or not (type(mask) is list or is_real_array(mask)):
        return packing.pack(mask, flat=flat)
    return _PACK(mask, flat=flat, **how)


@opaque
@outermost
def unpack(bits: Any, shape: Sequence[Any] | Any, *, flat: bool = False, **how: Any) -> Any:
    sizes = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    if isinstance(bits, Sym) or not (type(bits) is list or is_real_array(bits)):
        return packing.unpack(bits, sizes, flat=flat)
    return _UNPACK(bits, checked_shape(sizes), flat=flat, **how)


pack.__doc__, unpack.__doc__ = (inspect.getdoc(f) for f in (packing.pack, packing.unpack))
