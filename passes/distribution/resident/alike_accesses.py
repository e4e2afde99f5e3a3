"""The code of accesses of a row: once for those that are alike, in a loop that is unrolled when its code is lowered."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, TypeVar

from ....compiler.ir.combine import with_shape
from ....compiler.ir.dialect.base import element
from ....compiler.ir.mlir import arith
from ....compiler.ir.unrolled_loops import REPEATED, unrolled
from ....compiler.postorder import postorder
from ..reader import operands_of
from .held_accesses import HeldAccesses
from .turns import Turn

R = TypeVar("R", bound=HeldAccesses)


def each_access(
    row: R,
    tensors: Sequence[Any],
    types: Sequence[Any],
    make: Callable[[R, int], Sequence[Any]],
    later: Sequence[Any] = (),
    numbers: Sequence[int] | None = None,
    *,
    masked: bool = False,
) -> list[Sequence[Any]]:
    """What ``make`` gives of each access, or those of ``numbers``, values of ``types``.

    ``make`` writes the code of an access. For this it needs fragments of ``tensors``; those that ``later`` tensors need
    are known then. The first access has code of its own if it is ``masked``, since only that one may begin before the
    row, and if it makes what all accesses need.
    """
    numbers = range(len(row.starts)) if numbers is None else numbers
    if row.row.kernel.plan.walk == "blocked":  # several accesses at once
        return [make(row, j) for j in numbers]
    found: list[Sequence[Any]] = []
    values = row.row.values
    apart = masked or not all(map(values.varies, postorder(tensors, operands_of, values.kept)))
    for _, alike in groupby(numbers, lambda j: (row.is_whole(j), row.is_inside(j), apart and not j)):
        run = list(alike)
        if len(run) < REPEATED:
            found += [make(row, j) for j in run]
        else:
            found += _in_loop(row, run, tensors, types, make, later)
    return found


def _in_loop(
    row: R,
    run: Sequence[int],
    tensors: Sequence[Any],
    types: Sequence[Any],
    make: Callable[[R, int], Sequence[Any]],
    later: Sequence[Any],
) -> list[Sequence[Any]]:
    """What ``make`` gives of the accesses of a run: a loop over them, which is unrolled when its code is lowered.

    Fragments of all accesses go round: in a turn those of its access come first.
    """
    kernel, values = row.row.kernel, row.row.values
    values.prepare(tensors)
    known = row.fragments[run[0]]
    given = _first_known(tensors, {*known}, values.kept)
    made = [v for v in postorder(tensors, operands_of, {*known, *values.kept}) if values.varies(v)]
    carried = _first_known([v for v in later if values.varies(v)], {*made}, {*known, *values.kept})
    extra = [with_shape(element(v.type), kernel.plan.vector) for v in carried]

    def turn(number: Any, own: Sequence[Any], _: Any) -> tuple[list[Any], list[Any]]:
        own_row = replace(row.row, values=replace(values, kept=dict(values.kept)))
        fragments = dict(zip(given, own[1:], strict=True))
        number = arith.addi(row.turn.number, number) if row.turn else number
        alike = Turn(number, [row.like(run[0])])
        one = replace(row, row=own_row, starts=(own[0],), fragments=(fragments,), turn=alike)
        return [*make(one, 0), *(fragments[v] for v in carried)], []

    accesses = [[row.starts[j], *(row.fragments[j][v] for v in given)] for j in run]
    numbers = [kernel.number(k) for k in (run[0], run[-1] + 1, 1)]
    parts, _ = unrolled(accesses, [*types, *extra], turn, numbers)
    for j, part in zip(run, parts, strict=True):
        row.fragments[j].update(zip(carried, part[len(types) :], strict=True))
    return [part[: len(types)] for part in parts]


def _first_known(ends: Sequence[Any], found: Container[Any], known: Container[Any]) -> list[Any]:
    """The values in ``found`` from which ``ends`` are made; those in ``known`` are there anyway."""
    return [v for v in postorder(ends, lambda v: () if v in found else operands_of(v), known) if v in found]
