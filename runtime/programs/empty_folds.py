"""Folds of no elements, which need an identity."""

from __future__ import annotations

from collections.abc import Sequence

from ...compiler.errors import error
from ...compiler.program.array_program import ArrayProgram, Fold
from ...compiler.program.graph import walk
from .map_dims import Dims


def check_empty(program: ArrayProgram, shapes: Sequence[Dims]) -> None:
    """Checks that every fold of no elements has an identity, if results with elements depend on it.

    Raises:
        ArgumentError: WF104.
    """
    sizes = program.sizes_of(shapes)
    results = tuple(o.expr for o in program.outputs if 0 not in o.shape(sizes)) if 0 in sizes else ()
    for e in walk(results):
        if not isinstance(e.value, Fold):
            continue
        over = program.dims_of(e.value.over)
        kept = [sizes[d] for d in program.dims_of(e.space)]
        if 0 in kept or 0 not in (sizes[d] for d in over) or e.value.monoid.has_identity:
            continue
        pairs = [pair for d in over for pair in program.dims[d]]
        array = pairs[0][0]
        axes = tuple(axis for a, axis in pairs if a == array)
        layout = program.layouts(shapes)[array]
        raise error("WF104", name=e.value.monoid.name.lower(), axes=axes, shape=layout and layout.shape)
