"""What all ops of the fold dialect share: the dialect itself, and verifiers whose errors carry codes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

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
