"""Which arrays of a program choose elements of others, as the targets of a loss choose classes."""

from __future__ import annotations

from collections.abc import Sequence

from ...compiler.program.array_program import ArrayProgram
from ...compiler.program.graph import walk
from ...compiler.program.rewrites.one_hot import gathered


def choices(program: ArrayProgram, shapes: Sequence[tuple[int, ...]]) -> dict[int, int]:
    """For each array of integers that are indices along an axis of another one, the size of that axis.

    Where they are indices along several, it is the least.

    Args:
        program: the program.
        shapes: the shapes of its arrays.
    """
    program, found = gathered(program), dict[int, int]()
    for e in walk(program.roots):
        if e.op != "gather":
            continue
        source, index = e.args
        view = program.views[source.value]  # type: ignore[call-overload]
        layout = program.layouts(shapes)[view.array]
        assert layout is not None
        assert view.gathered is not None
        size = layout.shape[view.gathered]
        for leaf in walk((index,)):
            if leaf.op == "input" and leaf.dtype.is_integer:
                array = program.argument(program.views[leaf.value].array)  # type: ignore[call-overload]
                found[array] = min(size, found.get(array, size))
    return found
