"""Stages of sums that are scattered: elements are added to the counters that they choose, in shared memory of a CTA."""

from typing import Any

from ...combine import width, with_shape
from ...mlir import ext, ir
from ..base import (
    GLOBAL,
    SHARED,
    Fold,
    bool_attr,
    check_index,
    check_pointer,
    check_result,
    coded,
    element,
    expect,
    int_attr,
    power_of_two,
)


class CountersOp(Fold.Operation, name="counters"):  # type: ignore[misc]
    """Counters of the CTA, which are zero: ``buffer = fold.counters {count, copies, bits}``.

    There are ``copies`` of ``count`` integers of ``bits`` bits, one copy behind another. All threads of the CTA execute
    the op, and wait for each other.
    """

    buffer: ext.Result[Any]
    count: Any
    copies: Any
    bits: Any

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        _check_counters(op)
        check_result(op, ir.Type.parse(SHARED))


class BinOfOp(Fold.Operation, name="bin_of"):  # type: ignore[misc]
    """The bins of the elements of a fragment: ``index = fold.bin_of x, lower, upper, first, last, scale, limit``.

    Attributes ``uniform`` and ``steps``. ``lower`` and ``upper`` are the arrays of the edges of ``limit`` bins,
    ``first`` and ``last`` the outermost of these, and ``scale`` is the number of bins over their distance.
    """

    x: ext.Operand[Any]
    lower: ext.Operand[Any]
    upper: ext.Operand[Any]
    first: ext.Operand[Any]
    last: ext.Operand[Any]
    scale: ext.Operand[Any]
    limit: ext.Operand[Any]
    index: ext.Result[Any]
    uniform: Any
    steps: Any

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        t = op.operands[0].type
        expect(str(element(t)) in ("f32", "f64"), op, "elements of f32 or f64", str(t))
        check_pointer(op, 1, GLOBAL)
        check_pointer(op, 2, GLOBAL)
        for i in (3, 4, 5):
            found = op.operands[i].type
            expect(found == element(t), op, f"a {element(t)} as operand {i}", str(found))
        check_index(op, 6)
        bool_attr(op, "uniform")
        expect(0 <= int_attr(op, "steps") <= 31, op, "from 0 to 31 steps", int_attr(op, "steps"))
        check_result(op, with_shape(ir.IntegerType.get_signless(32), width(t)))


class TallyOp(Fold.Operation, name="tally"):  # type: ignore[misc]
    """Adds elements to the counters that they choose: ``zero = fold.tally value, index, live, buffer, start, limit``.

    Element by element of fragments: where ``live`` holds, and the index is from 0 to ``limit`` - 1, the value is added
    to counter ``start`` plus the index of ``buffer``. What is left for the thread to combine is a fragment of zeros.
    """

    value: ext.Operand[Any]
    index: ext.Operand[Any]
    live: ext.Operand[Any]
    buffer: ext.Operand[Any]
    start: ext.Operand[Any]
    limit: ext.Operand[Any]
    zero: ext.Result[Any]

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        value, index, live = (v.type for v in list(op.operands)[:3])
        expect(str(element(value)) in ("i32", "i64"), op, "values of i32 or i64", str(value))
        expect(str(element(index)) == "i32", op, "indices of i32", str(index))
        expect(str(element(live)) == "i1", op, "truth values as operand 2", str(live))
        sizes = [width(t) for t in (value, index, live, op.results[0].type)]
        expect(len({*sizes}) == 1, op, f"fragments of {sizes[0]} elements", ", ".join(map(str, sizes)))
        t = str(op.operands[3].type)
        expect(t in (SHARED, GLOBAL), op, f"a {SHARED} or {GLOBAL} as operand 3", t)
        check_index(op, 4, 5)


class SpillOp(Fold.Operation, name="spill"):  # type: ignore[misc]
    """Adds the counters of the CTA to those of the grid: ``fold.spill buffer, cells, limit {count, copies, bits}``.

    All threads of the CTA execute the op, and wait for each other first. The cells are integers of 64 bits; the first
    ``limit`` are added to.
    """

    buffer: ext.Operand[Any]
    cells: ext.Operand[Any]
    limit: ext.Operand[Any]
    count: Any
    copies: Any
    bits: Any

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        check_pointer(op, 0, SHARED)
        check_pointer(op, 1, GLOBAL)
        check_index(op, 2)
        _check_counters(op)


def _check_counters(op: Any) -> None:
    """The attributes of an op that knows how many counters there are."""
    power_of_two(op, "count", 1 << 16)
    power_of_two(op, "copies", 32)
    expect(int_attr(op, "bits") in (32, 64), op, "counters of 32 or 64 bits", int_attr(op, "bits"))
