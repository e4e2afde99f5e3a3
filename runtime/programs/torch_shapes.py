"""Shapes, strides and types of what an op returns, for tensors without elements and sizes that are symbols."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import torch

from ...compiler.dtypes import DType
from ...compiler.dtypes import dtype as element_type
from ...compiler.program.arrays.trace import ArrayArg
from ..view import ArraySpec, dense
from . import run
from .arguments import arguments_of
from .torch_calls import Call, structure_of_program
from .traces import Traces


def shapes(own: Call, tensors: Sequence[Any]) -> list[Any]:
    """Tensors without elements like the results."""
    call = own.symbolic(tensors)
    arguments, arrays = arguments_of(call.function, call.xs, call.how)
    hints = [tuple(map(_hint, x.shape)) for x in arrays]
    types = [element_type_of(x) for x in arrays]
    program = _traces(call.function).get(arguments, list(map(ArrayArg, types, hints)), apart=True)
    own.structure = structure_of_program(program.structure)
    whole = not (program.slices or program.bits or program.splits)
    shapes = [tuple(x.shape) if whole else tuple(map(operator.index, x.shape)) for x in arrays]
    sizes = _sizes(program, shapes) if whole else program.sizes_of(shapes)
    inputs = [ArraySpec(h, tuple(map(_hint, x.stride())), 0, t) for h, x, t in zip(hints, arrays, types, strict=True)]
    kinds = run.result_kinds(program, inputs)
    like = next((x for x in tensors if x.device.type == "cuda"), tensors[0])
    found = []
    for (_, order), (o, t) in zip(kinds[: len(kinds) - len(program.checks)], program.results, strict=False):
        shape = o.shape(sizes)
        strides = dense(shape, tuple(range(len(shape))) if call.row_major else order)
        kind = getattr(torch, run.stored(o, t, like).numpy_name)
        found.append(torch.empty_strided(shape, strides, dtype=kind, device=like.device))
    return found


def _sizes(program: Any, shapes: Sequence[Sequence[Any]]) -> list[Any]:
    """The size of each dim, maybe a symbol; the comparisons become guards of the tracer."""
    sizes = []
    for pairs in program.dims:
        first, *rest = [shapes[array][axis] for array, axis in pairs]
        if not all(bool(n == first) for n in rest):
            raise AssertionError("sizes that were equal when the function was traced differ")
        sizes.append(first)
    for array, axis, n in program.sizes:
        bool(shapes[array][axis] == n)
    return sizes


def _hint(n: Any) -> int:
    """A size, or one that a symbol may stand for."""
    return n if isinstance(n, int) else int(n.node.hint)


@lru_cache(maxsize=1024)
def _traces(function: Callable[..., Any]) -> Traces:
    """The traces of a function, for shapes."""
    return Traces(function)


def element_type_of(x: Any) -> DType:
    """The element type of a tensor."""
    return element_type(str(x.dtype).removeprefix("torch."))
