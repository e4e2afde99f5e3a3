"""What all ops of the fold dialect share: the dialect itself, and verifiers whose errors carry codes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, get_args, get_origin

from ...errors import CompileError, error
from ..mlir import ext, ir

GLOBAL, SHARED = "!llvm.ptr<1>", "!llvm.ptr<3>"
SCALARS = ("i1", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64")
"""The types of the values of a state."""


class Fold(ext.Dialect, name="fold"):  # type: ignore[misc]
    """Reductions by stages."""


def coded(check: Callable[[Any], None]) -> staticmethod[[Any], bool]:
    """A verifier hook of ``check``: its WarpfoldError becomes an MLIR diagnostic at the op that shows the code."""

    def verify(op: Any) -> bool:
        try:
            with op.location:  # types made by a check need one where the parser has none
                check_counts(op)
                check(op)
        except CompileError as e:
            op.location.emit_error(f"{e.code}: {e.message}")
            return False
        except Exception as e:  # one that went on into MLIR's verifier would end the process
            found = error("WF318", op=op.name, reason=str(e) or type(e).__name__)
            op.location.emit_error(f"{found.code}: {found.message}")
            return False
        return True

    return staticmethod(verify)


@cache
def _counts(name: str) -> tuple[tuple[str, int, bool], ...]:
    """(what, how many, whether there may be more) of the operands and the results of the op ``name``."""
    cls = next(c for c in Fold.operations if name == c.OPERATION_NAME)
    kinds = list(cls.__annotations__.values())
    found = []
    for what, kind in (("operand(s)", ext.Operand), ("result(s)", ext.Result)):
        single = sum(get_origin(k) is kind or k is kind for k in kinds)
        several = any(get_origin(k) is Sequence and get_origin(get_args(k)[0]) is kind for k in kinds)
        found.append((what, single, several))
    return tuple(found)


def check_counts(op: Any) -> None:
    """Checks that an op has as many operands and results as its class says."""
    for (what, least, more), found in zip(_counts(op.name), (op.operands, op.results), strict=True):
        holds = len(found) >= least if more else len(found) == least
        expect(holds, op, f"{least} {what}" + " or more" * more, len(found))


def expect(holds: bool, op: Any, expected: str, found: object) -> None:
    """Raises WF310 unless ``holds``."""
    if not holds:
        raise error("WF310", op=op.name, expected=expected, found=found)


def int_attr(op: Any, name: str) -> int:
    """The value of the integer attribute ``name``; WF311 when it is missing or no integer."""
    try:
        return int(ir.IntegerAttr(op.attributes[name]).value)
    except (KeyError, ValueError):
        raise error("WF311", op=op.name, attribute=name, expected="an integer") from None


def bool_attr(op: Any, name: str) -> bool:
    """The value of the bool attribute ``name``; WF311 when it is missing or no bool."""
    try:
        return bool(ir.BoolAttr(op.attributes[name]).value)
    except (KeyError, ValueError):
        raise error("WF311", op=op.name, attribute=name, expected="true or false") from None


def str_attr(op: Any, name: str, choices: Sequence[str]) -> str:
    """The value of the string attribute ``name``, one of ``choices``; WF311 otherwise."""
    try:
        value = str(ir.StringAttr(op.attributes[name]).value)
    except (KeyError, ValueError):
        value = ""
    if value not in choices:
        raise error("WF311", op=op.name, attribute=name, expected="one of " + " ".join(choices))
    return value


def count_up_to(op: Any, name: str, limit: int) -> int:
    """An integer attribute from 1 to ``limit``; WF311 otherwise."""
    value = int_attr(op, name)
    if not 1 <= value <= limit:
        raise error("WF311", op=op.name, attribute=name, expected=f"a number from 1 to {limit}, got {value}")
    return value


def power_of_two(op: Any, name: str, limit: int) -> int:
    """An integer attribute that is a power of two and at most ``limit``; WF311 otherwise."""
    value = int_attr(op, name)
    if value < 1 or value & (value - 1) or value > limit:
        raise error("WF311", op=op.name, attribute=name, expected=f"a power of two up to {limit}, got {value}")
    return value


def check_index(op: Any, *positions: int) -> None:
    """Checks that operands at ``positions`` are indices."""
    for p in positions:
        t = str(op.operands[p].type)
        expect(t in ("i32", "i64"), op, f"an i32 or i64 as operand {p}", t)


def check_pointer(op: Any, position: int, kind: str) -> None:
    """Checks that the operand at ``position`` is a pointer of this ``kind``."""
    t = str(op.operands[position].type)
    expect(t == kind, op, f"a {kind} as operand {position}", t)


def check_flag(op: Any, position: int) -> None:
    """Checks that the operand at ``position`` is a truth value."""
    t = str(op.operands[position].type)
    expect(t == "i1", op, f"an i1 as operand {position}", t)


def check_result(op: Any, wanted: Any) -> None:
    """Checks that the op's first result has the type ``wanted``."""
    found = op.results[0].type
    expect(found == wanted, op, f"a result of type {wanted}", str(found))


def check_results(op: Any, wanted: Sequence[str]) -> None:
    """Checks that the op's results have the types ``wanted``."""
    found = [str(r.type) for r in op.results]
    expect(found == list(wanted), op, f"results of type {', '.join(wanted)}", ", ".join(found) or "none")


def check_lanes(op: Any) -> None:
    """Checks that the ``lanes`` lanes of a result, ``stride`` apart, are lanes of one warp."""
    lanes, stride = power_of_two(op, "lanes", 32), power_of_two(op, "stride", 32)
    expect(lanes * stride <= 32, op, "lanes times stride of at most 32", lanes * stride)


def element(t: Any) -> Any:
    """The scalar type of a scalar, vector or tensor type."""
    return ir.ShapedType(t).element_type if isinstance(t, ir.ShapedType) else t


def values(t: Any) -> list[Any]:
    """The types of a state's values: a state of several values is one SSA value of a builtin tuple type."""
    return [t.get_type(i) for i in range(t.num_types)] if isinstance(t, ir.TupleType) else [t]


def state_type(types: Sequence[Any]) -> Any:
    """The type of a state of values of these types."""
    return types[0] if len(types) == 1 else ir.TupleType.get_tuple(list(types))


def check_combine(op: Any, region: Any, state: Any) -> None:
    """Checks that ``region`` is one block that takes the values of two scalar states like ``state`` and yields one.

    Raises:
        CompileError: WF312 wrong arguments, WF313 wrong results, WF317 a state that no register holds, and what
            ``check_isolated`` refuses.
    """
    scalars = [_scalar(op, t) for t in values(state)]
    wanted = [str(t) for t in scalars]
    blocks = list(region.blocks)
    found = [str(a.type) for a in blocks[0].arguments] if len(blocks) == 1 else f"{len(blocks)} blocks"
    if found != wanted * 2:
        raise error("WF312", op=op.name, expected=", ".join(wanted * 2), found=_list(found))
    check_yield(op, region, [str(state_type(scalars))])
    check_isolated(op, region)


@coded
def one_combine(op: Any) -> None:
    """The region verifier of an op with one region, which combines two states of the type of its result."""
    check_combine(op, op.regions[0], op.results[0].type)


def check_isolated(op: Any, region: Any) -> None:
    """Checks that ``region`` is straight-line code that uses only its own values and constants.

    Passes copy the region to other places and other functions, where values from outside do not exist. Constants are
    allowed, since upstream passes move them out of the regions of a function.

    Raises:
        CompileError: WF315 a value from outside, WF316 an op that has regions of its own.
    """
    check_straight(op, region)
    (block,) = region.blocks
    own = {*block.arguments, *(r for o in block.operations for r in o.operation.results)}
    for inner in (o.operation for o in block.operations):
        for v in inner.operands:
            if v not in own and not is_constant(v):
                raise error("WF315", op=op.name, inner=inner.name, found=v.type)


def check_straight(op: Any, region: Any) -> None:
    """Checks that no op of ``region``, which is copied op by op, has regions of its own; WF316 otherwise."""
    for inner in (o.operation for b in region.blocks for o in b.operations):
        if len(inner.regions):
            raise error("WF316", op=op.name, inner=inner.name)


def is_constant(v: Any) -> bool:
    """Whether ``v`` is a constant of the IR."""
    return not isinstance(v, ir.BlockArgument) and v.owner.operation.name == "arith.constant"


def _scalar(op: Any, t: Any) -> Any:
    """The scalar type of a value of a state, of tensors too; WF317 where no register holds it, or a vector of it."""
    if not isinstance(t, ir.RankedTensorType):
        check_fragment(op, t)
    elif str(element(t)) not in SCALARS:
        raise error("WF317", op=op.name, found=t, known=" ".join(SCALARS))
    return element(t)


def check_fragment(op: Any, t: Any) -> None:
    """Checks that ``t`` is a scalar that a register holds, or a vector of a power of two of these; WF317 otherwise."""
    holds = str(element(t)) in SCALARS
    if isinstance(t, ir.ShapedType):
        shape = list(t.shape) if isinstance(t, ir.VectorType) and not any(t.scalable_dims) else []
        holds = holds and len(shape) == 1 and shape[0] > 0 and shape[0] & (shape[0] - 1) == 0
    if not holds:
        raise error("WF317", op=op.name, found=t, known=" ".join(SCALARS))


def scalars(t: Any) -> Any:
    """The type of a state of scalars, of a type of fragments of these."""
    return state_type([element(x) for x in values(t)])


def check_yield(op: Any, region: Any, wanted: Sequence[str], seen: Callable[[Any], Any] = str) -> None:
    """Checks that the only block of ``region`` ends in a ``fold.yield`` of ``wanted``; WF313 otherwise.

    ``seen`` gives of a yielded type what is compared.
    """
    blocks = list(region.blocks)
    last = list(blocks[0].operations)[-1:] if len(blocks) == 1 else []
    if not last or last[0].operation.name != "fold.yield":
        raise error("WF313", op=op.name, expected=_list(wanted), found="no fold.yield")
    found = [str(seen(v.type)) for v in last[0].operation.operands]
    if found != list(wanted):
        raise error("WF313", op=op.name, expected=_list(wanted), found=_list(found))


def _list(items: Sequence[str] | str) -> str:
    return items if isinstance(items, str) else ", ".join(items) or "nothing"
