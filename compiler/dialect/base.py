"""What all ops of the fold dialect share: the dialect itself, and verifiers whose errors carry codes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..errors import CompileError, error
from ..mlir import ext, ir

GLOBAL, SHARED = "!llvm.ptr<1>", "!llvm.ptr<3>"


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
        return True

    return staticmethod(verify)


def expect(holds: bool, op: Any, expected: str, found: object) -> None:
    """Raises WF310 unless ``holds``."""
    if not holds:
        raise error("WF310", op=op.name, expected=expected, found=found)


def integer(op: Any, name: str) -> int:
    """The value of the integer attribute ``name``; WF311 when it is missing or no integer."""
    try:
        return int(ir.IntegerAttr(op.attributes[name]).value)
    except (KeyError, ValueError):
        raise error("WF311", op=op.name, attribute=name, expected="an integer") from None


def boolean(op: Any, name: str) -> bool:
    """The value of the bool attribute ``name``; WF311 when it is missing or no bool."""
    try:
        return bool(ir.BoolAttr(op.attributes[name]).value)
    except (KeyError, ValueError):
        raise error("WF311", op=op.name, attribute=name, expected="true or false") from None


def string(op: Any, name: str, choices: Sequence[str]) -> str:
    """The value of the string attribute ``name``, one of ``choices``; WF311 otherwise."""
    try:
        value = str(ir.StringAttr(op.attributes[name]).value)
    except (KeyError, ValueError):
        value = ""
    if value not in choices:
        raise error("WF311", op=op.name, attribute=name, expected="one of " + " ".join(choices))
    return value


def power_of_two(op: Any, name: str, limit: int) -> int:
    """An integer attribute that is a power of two and at most ``limit``; WF311 otherwise."""
    value = integer(op, name)
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
        CompileError: WF312 wrong arguments, WF313 wrong results.
    """
    scalars = [element(t) for t in values(state)]
    wanted = [str(t) for t in scalars]
    blocks = list(region.blocks)
    found = [str(a.type) for a in blocks[0].arguments] if len(blocks) == 1 else f"{len(blocks)} blocks"
    if found != wanted * 2:
        raise error("WF312", op=op.name, expected=", ".join(wanted * 2), found=_list(found))
    check_yield(op, region, [str(state_type(scalars))])


def check_yield(op: Any, region: Any, wanted: Sequence[str]) -> None:
    """Checks that the only block of ``region`` ends in a ``fold.yield`` of ``wanted``; WF313 otherwise."""
    blocks = list(region.blocks)
    last = list(blocks[0].operations)[-1:] if len(blocks) == 1 else []
    if not last or last[0].operation.name != "fold.yield":
        raise error("WF313", op=op.name, expected=_list(wanted), found="no fold.yield")
    found = [str(v.type) for v in last[0].operation.operands]
    if found != list(wanted):
        raise error("WF313", op=op.name, expected=_list(wanted), found=_list(found))


def _list(items: Sequence[str] | str) -> str:
    return items if isinstance(items, str) else ", ".join(items) or "nothing"
