"""Quotients, reciprocals and roots, rounded once, by approximations and steps of Newton's method.

``div.rn``, ``rcp.rn`` and ``sqrt.rn`` branch for operands that their short form does not serve. Here the range of an
operand is known, or brought there by a power of two, so that the short form is all there is: the approximation y of
1 / d, y - y (d y - 1), then q = a y and q + y (a - q d) (P. Markstein, "Computation of elementary functions on the IBM
RISC System/6000 processor", 1990). Where a row has few elements, three branches were a tenth of its time. Where weights
are read behind a root, single elements of rows in shared memory, a branch before them is faster.

Quotients of f32 by a count, such as means: products with its reciprocal, which all rows of a thread share.

For a count n, r = 1 / n is rounded once, q = x r is within 2 ulp of x / n, e = q n - x is what it has too much, times
n, and q - e r is rounded once. For counts up to 2^21 and quotients from 2^-126 on this is x / n, as a division rounds
it: the quotient is no closer to the middle of two floats than e r is to e / n (P. Markstein, "Computation of elementary
functions on the IBM RISC System/6000 processor", 1990). Beyond these it is within 1 ulp. A q that is infinite or NaN is
the quotient.

A division branches for operands that have no reciprocal, and has instructions that few lanes run at a time. Three of
them took a quarter of the time of a layer norm of rows of three.

A count that is divided by another has a reciprocal of its own, of f32 and of f64.

The remainder of a division with a quotient rounded to zero (C's fmod), which is always exact.

While the dividend is not less than the divisor, a multiple of it that has at most two bits less than the mantissa is
taken off: that difference is exact, and takes that many bits off the exponent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from ...compiler.ir.build import before, enclosing, replace
from ...compiler.ir.combine import elements, fragment, splat, width
from ...compiler.ir.dialect.base import element
from ...compiler.ir.mlir import arith, ir, math, scf
from .arithmetic import Builder, fma, intrinsic

FUNCTIONS = ("gpu.func", "func.func", "llvm.func")
UNBRANCHED = "unbranched"
"""The attribute of kernels whose rows wait in registers: roots and means have no branch, meetings fewer shuffles."""
_LEAST, _SCALE = 2.0**-100, 2.0**32
_SUFFIX, _STEPS = {32: "f", 64: "d"}, {32: 1, 64: 2}
"""The approximation of 1 / x has 23 bits in f32 and 20 in f64; each step of Newton's method doubles them."""


def is_unbranched(op: Any) -> bool:
    """Whether the kernel around ``op`` is to have few steps between the row and its results."""
    return UNBRANCHED in enclosing(op, *FUNCTIONS).attributes


def reciprocal(x: Any) -> Any:
    """1 / x of magnitudes from 2^-100 to 2^100; NaN for 0 and infinity."""
    b = Builder(x.type)
    near = _each(f"llvm.nvvm.rcp.approx.ftz.{_SUFFIX[b.format.bits]}", x)
    for _ in range(_STEPS[b.format.bits]):
        excess = fma(x, near, b.number(-1.0))
        near = fma(near, arith.negf(excess), near)
    return near


def quotient(x: Any, y: Any) -> Any:
    """x / y where the magnitudes of y, and of x if it is not 0, are from 2^-30 to 2^30, or counts from 1 to 2^64."""
    near, back = reciprocal(y), arith.negf(y)
    rough = arith.mulf(x, near)
    return fma(fma(back, rough, x), near, rough)


def reciprocal_root(x: Any) -> Any:
    """1 / sqrt(x), each rounded, of any number. A small one is multiplied by 2^64, so that no step leaves the range."""
    b = Builder(x.type)
    small = b.test(x, "olt", _LEAST)
    scaled = arith.select(small, arith.mulf(x, b.number(_SCALE * _SCALE)), x)
    near = _each("llvm.nvvm.rsqrt.approx.ftz.f", scaled)
    rough, half = arith.mulf(scaled, near), arith.mulf(near, b.number(0.5))
    root = fma(fma(arith.negf(rough), rough, scaled), half, rough)
    found = reciprocal(root)
    found = arith.select(small, arith.mulf(found, b.number(_SCALE)), found)
    has_root = arith.andi(b.test(scaled, "ogt", 0.0), b.test(scaled, "olt", float("inf")))
    return arith.select(has_root, found, near)


def rounded_root(x: Any) -> Any:
    """1 / sqrt(x), each rounded."""
    return arith.divf(Builder(x.type).number(1.0), intrinsic(x.type, "llvm.sqrt", x))


def _each(name: str, x: Any) -> Any:
    """An instruction on each element of a fragment."""
    return fragment([intrinsic(e.type, name, e) for e in elements(x)])


EXACT = ("arith.extsi", "arith.extui", "arith.muli")
"""Ops by which counts are made of arguments of the kernel."""
LOOPS = ("scf.for", "scf.while")


def divide_by_counts(found: Iterable[Any]) -> None:
    """Replaces those of some divisions that are by a count, where there are several by one count, or one in a loop.

    A division of one count by another, which has ``fastmath<arcp>``, is replaced wherever it is.
    """
    alike: dict[str, list[tuple[Any, Any]]] = defaultdict(list)
    for op in found:
        if "arcp" in str(op.attributes["fastmath"]) and element(op.operands[0].type).width >= 32:
            with before(op):
                replace(op, [quotient(*op.operands)])
            continue
        divisor = _scalar(op.operands[1])
        if made_of := _arguments(divisor):
            alike[made_of].append((op, divisor))
    reciprocals: dict[Any, Any] = {}
    for divisions in alike.values():
        if len(divisions) > 1 or _is_in_loop(divisions[0][0]):
            for op, divisor in divisions:
                if divisor not in reciprocals:
                    reciprocals[divisor] = _reciprocal(divisor)
                replace(op, [_quotient(op, divisor, reciprocals[divisor])])


def _scalar(divisor: Any) -> Any:
    """The scalar that all elements of a divisor are; itself if they may differ."""
    op = _made_by(divisor)
    return op.operands[0] if op and op.name == "vector.broadcast" else divisor


def _arguments(divisor: Any) -> str:
    """The arguments of a kernel of which a count was made, before it was converted to f32; else nothing."""
    op = _made_by(divisor)
    is_count = op and op.name == "arith.sitofp" and divisor.type == ir.F32Type.get()
    return _factors(op.operands[0]) if is_count else ""


def _factors(value: Any) -> str:
    op = _made_by(value)
    if op:
        own = [_factors(x) for x in op.operands] if op.name in EXACT else [""]
        return "*".join(own) if all(own) else ""
    return f"argument {value.arg_number}" if value.owner.owner.operation.name in FUNCTIONS else ""


def _made_by(value: Any) -> Any:
    """The operation of which ``value`` is a result; None for the argument of a block."""
    return None if isinstance(value, ir.BlockArgument) else value.owner.operation


def _is_in_loop(op: Any) -> bool:
    while op.operation.name not in (*FUNCTIONS, *LOOPS):
        op = op.operation.parent
    return op.operation.name in LOOPS


def _reciprocal(n: Any) -> Any:
    """1 / n of the count ``n``, from where the count is known: it does not depend on elements."""
    b = Builder(n.type)
    with ir.InsertionPoint.after(n.owner), n.owner.location:
        if not is_unbranched(n.owner):
            return arith.divf(b.number(1.0), n)
        return b.pick(b.test(n, "oeq", 0.0), float("inf"), reciprocal(n))


def _quotient(op: Any, n: Any, r: Any) -> Any:
    """What takes the place of the division ``op`` by the scalar ``n``, with the reciprocal ``r``."""
    x, t = op.operands[0], op.results[0].type
    with before(op):
        b, r, n = Builder(t), splat(r, width(t)), splat(n, width(t))
        q = arith.mulf(x, r)
        excess = intrinsic(t, "llvm.fma", q, n, arith.negf(x))  # +0 of a zero of either sign, which so keeps its sign
        better = intrinsic(t, "llvm.fma", arith.negf(excess), r, q)
        return b.pick(b.test(intrinsic(t, "llvm.fabs", q), "olt", float("inf")), better, q)


def remainder(x: Any, y: Any) -> Any:
    """x - y trunc(x / y); NaN when x is infinite or y is zero. Scalars only."""
    b = Builder(x.type)
    size, divisor = math.absf(x), math.absf(y)
    defined = arith.andi(b.test(size, "olt", float("inf")), b.test(divisor, "ogt", 0.0))
    divisor = b.pick(defined, divisor, 1.0)
    loop = scf.WhileOp([b.type], [b.pick(defined, size, 0.0)])
    before, after = (region.blocks.append(b.type) for region in (loop.before, loop.after))
    with ir.InsertionPoint(before):
        scf.ConditionOp(b.test(before.arguments[0], "oge", divisor), [before.arguments[0]])
    with ir.InsertionPoint(after):
        scf.YieldOp([_step(b, after.arguments[0], divisor)])
    return b.pick(defined, b.with_sign(loop.results[0], x), float("nan"))


def _step(b: Builder, left: Any, divisor: Any) -> Any:
    """``left`` less a multiple of the divisor."""
    excess = arith.subi(arith.subi(_exponent(b, left), _exponent(b, divisor)), b.integer(b.format.mantissa - 2))
    excess = arith.minsi(arith.maxsi(excess, b.integer(0)), b.integer(2 * b.format.bias))  # what two factors can be
    multiple = b.scaled(divisor, excess)
    quotient = math.trunc(arith.divf(left, multiple))
    rest = fma(arith.negf(quotient), multiple, left)
    return b.pick(b.test(rest, "olt", 0.0), arith.addf(rest, multiple), rest)  # a quotient that was rounded up


def _exponent(b: Builder, x: Any) -> Any:
    """floor(log2(x)) of a positive finite x."""
    f = b.format
    tiny = b.test(x, "olt", f.least_normal)
    normal = b.pick(tiny, arith.mulf(x, b.number(2.0 ** (f.mantissa + 1))), x)
    field = arith.shrui(b.bits(normal), b.integer(f.mantissa))
    return arith.subi(field, arith.select(tiny, b.integer(f.bias + f.mantissa + 1), b.integer(f.bias)))
