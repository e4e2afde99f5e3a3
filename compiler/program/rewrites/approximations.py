"""Approximate exponentials where elements have 16 bits or fewer.

An exponential of f32 takes 14 instructions, and the GPU's own approximation of 2^x one. Its relative error, 2^-22, is
far below the last bit of a half, so elements of halves show no difference. A softmax or a logsumexp of halves is then
bound by the memory, and not by instructions.

Range: exponentials in f32 of values that depend on arrays of elements of 16 bits or fewer, halves or integers, and on
no wider ones; arrays of rank 0, truth values, as bytes or as bits, and numbers of elements do not count. An exponential
that depends on these alone stays exact. A program that writes f32 shows the error, which ``docs/semantics.md`` states.

The emulator has the approximation bit for bit (``runtime/emulator/instructions/approximate.py``). NVIDIA does not
promise these bits for all GPUs, so portable programs keep the exponential of instructions that round correctly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...dtypes import BIT, BOOL, F32
from ..array_program import ArrayProgram, Fold, Scan
from ..graph import SCALAR, Expr, MonoidGraph, Program, walk

BITS = 16
"""Exponentials are approximate where all elements that they depend on have this many bits or fewer."""


def approximated(program: ArrayProgram) -> ArrayProgram:
    """``program`` with approximate exponentials of values that are made of elements of ``BITS`` bits or fewer."""
    found = _found(program.roots)
    outputs = tuple(o._replace(expr=found[o.expr.digest]) for o in program.outputs)
    return replace(program, outputs=outputs)


def of_reduction(program: Program) -> Program:
    """A reduction with approximate exponentials, as in ``approximated``."""
    found = _found(program.outputs)
    outputs = tuple(found[o.digest] for o in program.outputs)
    return program if outputs == program.outputs else replace(program, outputs=outputs)


def _found(roots: Sequence[Expr]) -> dict[str, Expr]:
    """What takes the place of each node, by its digest."""
    widths, found = _widths(roots), dict[str, Expr]()
    for e in walk(tuple(roots)):
        args = tuple(found[a.digest] for a in e.args)
        value = _approximate(e) if 0 < widths[e.digest] <= BITS else e.value
        found[e.digest] = e if (args, value) == (e.args, e.value) else replace(e, args=args, value=value)
    return found


def _widths(roots: Sequence[Expr]) -> dict[str, int]:
    """For each node the bits of the widest elements below it; truth values and single numbers do not count."""
    found: dict[str, int] = {}
    for e in walk(tuple(roots)):
        own = e.dtype.bits if e.op == "input" and e.space != SCALAR and e.dtype not in (BIT, BOOL) else 0
        found[e.digest] = max((own, *(found[a.digest] for a in e.args)))
    return found


def _approximate(e: Expr) -> object:
    """The value of a node that computes an approximation, if it computes an exponential."""
    if isinstance(e.value, Fold | Scan):
        return replace(e.value, monoid=_combine(e.value.monoid))
    if isinstance(e.value, MonoidGraph):
        return _combine(e.value)
    return "fast" if e.op in ("exp", "exp2") and e.dtype == F32 else e.value


def _combine(monoid: MonoidGraph) -> MonoidGraph:
    """A monoid whose combine computes approximate exponentials."""
    found: dict[str, Expr] = {}
    for e in walk(monoid.combine):
        found[e.digest] = replace(e, args=tuple(found[a.digest] for a in e.args), value=_approximate(e))
    return replace(monoid, combine=tuple(found[e.digest] for e in monoid.combine))
