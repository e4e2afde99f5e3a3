"""Small building blocks that several passes share: finding and replacing ops, constants, pointers, shared memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..errors import error
from .combine import width, with_shape
from .mlir import arith, gpu, ir, llvm


def find(operation: Any, name: str) -> list[Any]:
    """Every op called ``name`` below ``operation``, inner ones first."""
    return _found.pop(name) if name in _found else find_each(operation, (name,))[name]


def find_each(operation: Any, names: Iterable[str]) -> dict[str, list[Any]]:
    """The ops below ``operation`` by each of these names, inner ones first: one walk, which takes 1 us an op."""
    found: dict[str, list[Any]] = {name: [] for name in names}
    advance = ir.WalkResult.ADVANCE

    def visit(op: Any) -> Any:
        own = found.get(op.name)
        if own is not None:
            own.append(op)
        return advance

    operation.walk(visit)
    return found


_found: dict[str, list[Any]] = {}


@contextmanager
def found_before(operation: Any, names: Iterable[str]) -> Iterator[None]:
    """Inside, ``find`` returns the ops of these names that there are now, once, without a walk for each name.

    For passes that lower these ops, and make none of them.
    """
    _found.update(find_each(operation, names))
    try:
        yield
    finally:
        _found.clear()


@contextmanager
def before(op: Any) -> Iterator[None]:
    """New ops go before ``op``, with its location."""
    with ir.InsertionPoint(op), op.location:
        yield


def replace(op: Any, values: Sequence[Any]) -> None:
    """Puts ``values`` in place of the results of ``op`` and erases it."""
    for result, value in zip(op.results, values, strict=True):
        result.replace_all_uses_with(value)
    op.erase()


def integer(t: Any, value: int) -> Any:
    """An integer constant of scalar type ``t``."""
    return arith.constant(t, ir.IntegerAttr.get(t, value))


def word_type() -> Any:
    """The type of a word: an i32."""
    return ir.IntegerType.get_signless(32)


def i32(value: int) -> Any:
    """An i32 constant."""
    return integer(word_type(), value)


def memory_type(t: Any) -> Any:
    """The type that stores a scalar of type ``t`` in memory: an i1 takes a byte."""
    return ir.IntegerType.get_signless(8) if str(t) == "i1" else t


def bytes_of(t: Any) -> int:
    """Bytes of a scalar of type ``t`` in memory."""
    return max(1, int(t.width) // 8)


def from_memory(x: Any, t: Any) -> Any:
    """What was loaded, as type ``t``: bytes become truth values."""
    if x.type == t:
        return x
    zero = ir.IntegerAttr.get(ir.IntegerType.get_signless(8), 0)
    if isinstance(x.type, ir.VectorType):
        return arith.cmpi(
            arith.CmpIPredicate.ne, x, arith.constant(x.type, ir.DenseElementsAttr.get_splat(x.type, zero))
        )
    return arith.cmpi(arith.CmpIPredicate.ne, x, arith.constant(x.type, zero))


def to_memory(x: Any) -> Any:
    """``x`` in the type that memory stores."""
    scalar = x.type.element_type if isinstance(x.type, ir.VectorType) else x.type
    if str(scalar) != "i1":
        return x
    width = x.type.shape[0] if isinstance(x.type, ir.VectorType) else 1
    return arith.extui(with_shape(memory_type(scalar), width), x)


def address(base: Any, index: Any, t: Any) -> Any:
    """The address of element ``index`` of an array of scalars ``t`` at ``base``."""
    return llvm.getelementptr(base.type, base, [index], [-(2**31)], memory_type(t), no_wrap_flags=0)


def load(base: Any, index: Any, t: Any, *, volatile: bool = False, invariant: bool = False) -> Any:
    """Loads a fragment of type ``t``: adjacent elements from ``index`` on, aligned to the fragment's size."""
    m, flags = _in_memory(t), {"volatile_": True} if volatile else {"invariant": True} if invariant else {}
    return from_memory(llvm.load(m, address(base, index, _scalar(t)), alignment=_alignment(t), **flags), t)


def store(x: Any, base: Any, index: Any) -> None:
    """Writes the fragment ``x`` side by side from element ``index`` on, aligned as a whole, or to 16 bytes."""
    llvm.store(to_memory(x), address(base, index, _scalar(x.type)), alignment=_alignment(x.type))


def _scalar(t: Any) -> Any:
    return t.element_type if isinstance(t, ir.VectorType) else t


def _in_memory(t: Any) -> Any:
    """The type that stores a fragment in memory."""
    return with_shape(memory_type(_scalar(t)), width(t))


def _alignment(t: Any) -> int:
    """Bytes: the fragment's own size, at most the 16 of the widest access."""
    return min(16, width(t) * bytes_of(_scalar(t)))


def kernel_module(op: Any) -> Any:
    """The gpu.module that holds ``op``.

    Raises:
        CompileError: WF324 when there is none.
    """
    return enclosing(op, "gpu.module")


def enclosing(op: Any, *names: str) -> Any:
    """The innermost op of one of these names around ``op``.

    Raises:
        CompileError: WF324 when there is none.
    """
    outer = op.operation
    while outer.name not in names:
        if outer.parent is None:
            raise error("WF324", op=op.operation.name, expected=" or ".join(names))
        outer = outer.parent.operation  # the view of a gpu.func has a name of its own: its symbol
    return outer


def shared_buffer(op: Any, name: str, elements: int, t: Any) -> Any:
    """The address of a new shared-memory array beside the kernel of ``op``; the insertion point stays."""
    module = kernel_module(op)
    body = module.regions[0].blocks[0]
    taken = {ir.StringAttr(o.operation.attributes["sym_name"]).value for o in find_globals(body)}
    symbol = next(n for n in (f"{name}_{i}" for i in range(len(taken) + 1)) if n not in taken)
    m = memory_type(t)
    with ir.InsertionPoint.at_block_begin(body):
        array = ir.Type.parse(f"!llvm.array<{elements} x {m}>")
        linkage = ir.Attribute.parse("#llvm.linkage<internal>")
        llvm.GlobalOp(array, symbol, linkage, addr_space=3, alignment=16)
    return llvm.AddressOfOp(ir.Type.parse("!llvm.ptr<3>"), ir.FlatSymbolRefAttr.get(symbol)).result


def dynamic_shared(op: Any) -> Any:
    """The address of the dynamic shared memory of the kernel of ``op``, whose size comes with the launch."""
    body, symbol = kernel_module(op).regions[0].blocks[0], "held_0"
    names = {ir.StringAttr(o.operation.attributes["sym_name"]).value for o in find_globals(body)}
    if symbol not in names:
        with ir.InsertionPoint.at_block_begin(body):
            linkage = ir.Attribute.parse("#llvm.linkage<external>")
            llvm.GlobalOp(ir.Type.parse("!llvm.array<0 x i8>"), symbol, linkage, addr_space=3, alignment=16)
    return llvm.AddressOfOp(ir.Type.parse("!llvm.ptr<3>"), ir.FlatSymbolRefAttr.get(symbol)).result


def find_globals(block: Any) -> list[Any]:
    """The llvm globals of a gpu.module's block."""
    return [o for o in block.operations if o.operation.name == "llvm.mlir.global"]


def barrier() -> None:
    """All threads of the CTA wait for each other."""
    gpu.barrier()
