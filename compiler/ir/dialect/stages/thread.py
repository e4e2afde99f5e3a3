"""Stages of a thread: its own elements become one state a result."""

from collections.abc import Sequence
from typing import Any

from ...combine import width
from ...mlir import ext
from ..access import ACCESS
from ..base import (
    Fold,
    check_combine,
    check_index,
    check_straight,
    check_yield,
    coded,
    element,
    expect,
    int_attr,
    one_combine,
    power_of_two,
    scalars,
    str_attr,
    values,
)
from ..element_access import ELEMENT_ACCESS


class ThreadReduceOp(Fold.Operation, name="thread_reduce"):  # type: ignore[misc]
    """Combines a thread's own elements.

    ``state = fold.thread_reduce begin, end, init, [period] {step, unroll, [once], [places], [numbers], [early],
    [uncut], [rolled], [summed], [joined], [warp]} ({body}, {combine})``.

    The body takes a reduced index r and yields a state of fragments; it runs for r = begin, begin + step, ... while
    r < end, ``unroll`` accesses at a time (``end`` is such that all of them are wanted). The fragments are combined
    into ``init``. A result that is a scalar where the fragment is a vector is the vector's elements combined. With a
    ``period`` neighbouring accesses are ``step * period`` elements apart. With ``once`` there is at most one step, at
    begin, if begin < end. With ``places`` the number of an element leaves room for it in 32 bits. ``numbers`` says that
    those of the elements of a lane go ``up`` along the walk, or ``down``. With ``early`` the accesses begin at the
    boundary before the row, as ``begin`` does, and the ends of the row, which ``fold.live`` knows, may cut them; with
    ``rolled`` a loop combines those, which is less code. With ``uncut`` no access reaches beyond ``end``. With
    ``summed`` the elements of so many neighbouring lanes are added to a state that all of these lanes get. All lanes of
    the warp take part, also those without accesses. With ``joined`` so many neighbouring lanes join in each step, in
    order, what they yield: all of them make the same steps, and get a state of scalars. With ``warp`` the state is the
    sorted list of a warp: all of its lanes get it, and take part, also those without accesses.
    """

    begin: ext.Operand[Any]
    end: ext.Operand[Any]
    init: ext.Operand[Any]
    period: Sequence[ext.Operand[Any]]
    state: ext.Result[Any]
    step: Any
    unroll: Any
    body: ext.Region
    combine: ext.Region

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        check_index(op, 0, 1)
        expect(len(op.operands) <= 4, op, "one period at most", len(op.operands) - 3)
        check_index(op, *range(3, len(op.operands)))
        power_of_two(op, "step", 1 << 30)
        power_of_two(op, "unroll", 32)
        if "summed" in op.attributes:
            power_of_two(op, "summed", 4)
        if "joined" in op.attributes:
            power_of_two(op, "joined", 32)
        init, result = op.operands[2].type, op.results[0].type
        scalar = scalars(init)
        expect(result in (init, scalar), op, f"a result of type {init} or {scalar}", str(result))

    @coded
    def verify_region_invariants(op: Any) -> None:  # noqa: N805
        seen = scalars if "joined" in op.attributes else str
        check_yield(op, op.regions[0], [str(op.operands[2].type)], seen)
        check_straight(op, op.regions[0])
        check_combine(op, op.regions[1], op.operands[2].type)


class BlockReduceOp(Fold.Operation, name="block_reduce"):  # type: ignore[misc]
    """The elements of each of a thread's results, which follow each other in blocks, combined.

    ``state = fold.block_reduce accesses... {elements, columns} ({combine})``: the fragments of all accesses are one run
    of elements, of blocks of ``columns`` results with as many elements as ``elements`` each: first the first ones of
    all results of a block, then their second ones. The state's fragments have an element for each result.
    """

    accesses: Sequence[ext.Operand[Any]]
    state: ext.Result[Any]
    elements: Any
    columns: Any
    combine: ext.Region

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        each, columns = int_attr(op, "elements"), power_of_two(op, "columns", 16)
        expect(each > 0, op, "one element of a result at least", each)
        result = op.results[0].type
        wanted = ", ".join(str(element(t)) for t in values(result))
        for v in op.operands:
            kind = ", ".join(str(element(t)) for t in values(v.type))
            expect(kind == wanted, op, f"accesses of {wanted}", kind)
        results = width(values(result)[0])
        expect(results % columns == 0, op, f"a multiple of {columns} results", results)
        found = sum(width(values(v.type)[0]) for v in op.operands)
        expect(found == results * each, op, f"{results * each} elements", found)

    verify_region_invariants = one_combine


class ThreadMapOp(Fold.Operation, name="thread_map"):  # type: ignore[misc]
    """Writes a thread's own elements: a walk that yields nothing.

    ``fold.thread_map begin, end, [first, [last]] {step, unroll, [rolled]} ({body})``: the body takes a reduced index r
    and runs for r = begin, begin + step, ... while r < end, ``unroll`` accesses at a time. Every access begins before
    ``end``, but the last one may reach beyond it. With ``first`` accesses begin at a boundary, so that the first one
    may begin before the row, which begins at ``first``. The row ends at ``last``, or at ``end``. With ``rolled`` the
    groups at the ends of a row are written by a loop.

    The elements are read by ``fold.load`` or ``fold.held`` and written by ``fold.element_store``, all at r. A load is
    of an access that ``fold.element_load`` has too, or reads what is the same for the whole row. The lowering decides
    which accesses are whole.
    """

    begin: ext.Operand[Any]
    end: ext.Operand[Any]
    ends_of_row: Sequence[ext.Operand[Any]]
    step: Any
    unroll: Any
    body: ext.Region

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        expect(len(op.operands) <= 4, op, "a first and a last index at most", len(op.operands) - 2)
        check_index(op, *range(len(op.operands)))
        power_of_two(op, "step", 1 << 30)
        power_of_two(op, "unroll", 32)

    @coded
    def verify_region_invariants(op: Any) -> None:  # noqa: N805
        check_yield(op, op.regions[0], [])
        check_straight(op, op.regions[0])
        (block,) = op.regions[0].blocks
        t, found = str(op.operands[0].type), [str(a.type) for a in block.arguments]
        expect(found == [t], op, f"a body that takes an {t}", ", ".join(found) or "nothing")
        body = [o.operation for o in block.operations]
        expect(any(o.name == "fold.element_store" for o in body), op, "a fold.element_store in the body", "none")
        for load in (o for o in body if o.name == "fold.load" and int_attr(o, "reduced_rank")):
            access = str_attr(load, "access", ACCESS)
            served = [a for a in ELEMENT_ACCESS if a not in ("unaligned", "split")]  # lanes leave the walk one by one
            expect(access in served, op, f"loads whose access is {' or '.join(served)}", access)
