"""The lines of a user's source in PTX: compiled kernels number the nodes, and each program fills in its own lines.

Functions that trace alike share their kernels, whatever file and line they are in. So compiled PTX names nodes of the
program by number, ``.loc 1 NUMBER 0``, and each program that asks for it gets its own files and lines instead. No
kernel is compiled again because a line has moved, and a profiler or debugger shows the lines of the running program.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence

from ..errors import Location
from ..plan.abi import Kernel
from ..plan.facts import Facts
from ..plan.kernels import kernels
from ..plan.plan import Plan
from ..program.graph import Expr, Program, walk

Places = tuple[Location | None, ...]
"""The source line of each number; None where it is unknown."""
# Patterns as text, compiled at first use: many importers never need them.
_NUMBER = r"(?m)^\t\.loc\t1 (\d{1,6}) 0\n"
_EMITTED = (
    r"(?m)^(?:\t\.loc\t\d+ \d+ (\d+)[^\n]*|\$L__(?:tmp|func_begin|func_end)\d+:|"
    r"\t\.(?:section\t\.debug_|file\t)[^\n]*)\n"
)
_NAMELESS = '\t.file\t1 "warpfold"\n'
"""The file that numbered lines are in, which keeps numbered PTX valid."""


class Lines:
    """The source places of one kernel, numbered from ``first`` on: the place of the kernel, then those of its nodes.

    The order of the nodes is that of the program's structure, so it is the same for all programs that share the kernel.
    """

    def __init__(self, program: Program, first: int = 0) -> None:
        own = program.where or next((e.where for e in program.reduces), None)
        outer, inner = walk(program.outputs), walk(tuple(e for m in program.monoids for e in m.combine))
        nodes = [*((e, False) for e in outer), *((e, True) for e in inner)]
        self.first = first
        self.places = [own, *(e.where or own for e, _ in nodes)]
        self._number = {(inside, e.digest): n for n, (e, inside) in enumerate(nodes, first + 1)}

    def at(self, e: Expr | None = None, *, combine: bool = False) -> tuple[Location | None, int]:
        """The place and the number of a node, in the combine or outside it; without a node, those of the kernel."""
        n = self.first if e is None else self._number[combine, e.digest]
        return self.places[n - self.first], n


def numbered(several: Iterable[Kernel]) -> list[Lines]:
    """The places of each kernel, numbered through all kernels."""
    found: list[Lines] = []
    for k in several:
        found.append(Lines(k.program, found[-1].first + len(found[-1].places) if found else 0))
    return found


def places(several: Iterable[Kernel]) -> Places:
    """What ``filled_in`` puts in for the numbers of these kernels."""
    return tuple(p for lines in numbered(several) for p in lines.places)


def with_numbers(ptx: str) -> str:
    """LLVM's PTX, whose columns are the numbers, without any other debug information.

    LLVM counts columns in 16 bits. A larger number, or that of two merged ops, becomes 0, the first kernel itself.
    """
    return re.sub(_EMITTED, lambda m: f"\t.loc\t1 {m[1]} 0\n" if m[1] else "", ptx) + _NAMELESS


def with_lines(ptx: str, program: Program, facts: Facts, plan: Plan) -> str:
    """The PTX of a program's kernels with the lines of that program."""
    return filled_in(ptx, places(kernel for _, kernel in kernels(program, facts, plan)))


def filled_in(ptx: str, known: Sequence[Location | None]) -> str:
    """``ptx`` with files and lines in place of numbers; a ``.loc`` that repeats the last one is left out."""
    files: dict[str, int] = {}
    texts = []
    for place in known:
        file, line = (files.setdefault(place.file, len(files) + 1), place.line) if place else (1, 0)
        texts.append(f"\t.loc\t{file} {line} 0\n")
    if not files:
        return re.sub(_NUMBER, "", ptx).removesuffix(_NAMELESS)
    last = ""

    def text(match: re.Match[str]) -> str:
        nonlocal last
        number, before = int(match[1]), last
        last = texts[number if number < len(texts) else 0]
        return "" if last == before else last

    names = "".join(f'\t.file\t{n} "{_quoted(file)}"\n' for file, n in files.items())
    return re.sub(_NUMBER, text, ptx.removesuffix(_NAMELESS)) + names


def _quoted(file: str) -> str:
    """A path as PTX can spell it: what is no printable ASCII in octal, as nvcc has it; ptxas takes nothing else."""
    plain = (c if c.isascii() and c.isprintable() and c not in '"\\' else None for c in file)
    encoded = (os.fsencode(c) for c in file)
    return "".join(p or "".join(f"\\{b:03o}" for b in e) for p, e in zip(plain, encoded, strict=True))
