"""A program without the array arguments that nothing reads: fewer arguments for each launch."""

from __future__ import annotations

from dataclasses import replace

from ..array_program import ArrayProgram
from ..rewrites.one_hot import without_unread


def pruned(program: ArrayProgram) -> tuple[ArrayProgram, tuple[int, ...]]:
    """The program, and the numbers of the arguments that it takes.

    They are those that it reads, or has slices or bits of, and one for the size of each dim that none of these has.
    """
    program = without_unread(program)
    whole = [*(v.array for v in program.views), *(s.array for s in program.slices), *(b.array for b in program.bits)]
    read = {program.argument(a) for a in whole}
    for pairs in program.dims:
        if not any(a < 0 or program.argument(a) in read for a, _ in pairs):
            read.add(program.argument(pairs[0][0]))
    kept = tuple(sorted(read))
    n, places = len(program.arrays), {a: i for i, a in enumerate(kept)}

    def place(array: int) -> int:
        """The new number of an array, of a slice, or of bits."""
        return places[array] if 0 <= array < n else array - (n - len(kept)) if array >= n else array

    there = {*range(-len(program.bits), 0), *read, *range(n, n + len(program.slices))}
    found = replace(
        program,
        arrays=tuple(program.arrays[a] for a in kept),
        dims=tuple(tuple((place(a), axis) for a, axis in pairs if a in there) for pairs in program.dims),
        views=tuple(v._replace(array=place(v.array)) for v in program.views),
        sizes=tuple((place(a), axis, size) for a, axis, size in program.sizes if a in there),
        splits=tuple(s._replace(array=place(s.array)) for s in program.splits if s.array in there),
        slices=tuple(s._replace(array=place(s.array)) for s in program.slices),
        bits=tuple(b._replace(array=place(b.array)) for b in program.bits),
    )
    return found, kept
