"""Small building blocks that several passes share: finding and replacing ops, constants, pointers, shared memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from ..errors import error
from ..plan.shared_memory import DYNAMIC
from .combine import width, with_shape
from .mlir import arith, gpu, ir, llvm, rewrite, scf


def find(operation: Any, name: str) -> list[Any]:
    """Every op called ``name`` below ``operation``, inner ones first."""
    return _found.pop(name) if name in _found else find_each(operation, (name,))[name]


def find_each(operation: Any, names: Iterable[str]) -> dict[str, list[Any]]:
    """The ops below ``operation`` by each of these names, inner ones first: one walk."""
    found: dict[str, list[Any]] = {name: [] for name in names}
    _walk(operation, {name: own.append for name, own in found.items()})
    return found


def find_any(operation: Any, names: Iterable[str]) -> list[Any]:
    """The ops below ``operation`` that have one of these names, inner ones first: one walk."""
    found: list[Any] = []
    _walk(operation, dict.fromkeys(names, found.append))
    return found


def _walk(operation: Any, notes: Mapping[str, Callable[[Any], None]]) -> None:
    """Gives the ops below ``operation`` that have one of the names in ``notes`` to the function of that name.

    Patterns that never match see these ops. Upstream's walk passes any other op in 0.1 us, where one that calls Python
    for each op takes 0.5 us.
    """
    patterns = rewrite.RewritePatternSet()
    for name, note in notes.items():
        patterns.add(name, partial(_unmatched, note))
    rewrite.walk_and_apply_patterns(operation, patterns.freeze())


def _unmatched(note: Callable[[Any], None], op: Any, _: Any) -> bool:
    """Notes an op; true says that the pattern did not match."""
    note(op.operation)
    return True


_found: dict[str, list[Any]] = {}


@contextmanager
def found_before(operation: Any, names: Iterable[str]) -> Iterator[None]:
    """Inside, ``find`` returns the ops of these names that there are now, once, without a walk for each name.

    For passes that lower these ops, and tell of those that they make (``made``).
    """
    _found.update(find_each(operation, names))
    try:
        yield
    finally:
        _found.clear()


def made(op: Any) -> Any:
    """The op ``op``, which a later one of the passes that follow each other lowers."""
    if op.name in _found:
        _found[op.name].append(op)
    return op


class before:  # noqa: N801 - used as a function; a generator's context manager takes three times as long
    """Inside, new ops go before ``op``, with its location."""

    def __init__(self, op: Any) -> None:
        self._point, self._location = ir.InsertionPoint(op), op.location

    def __enter__(self) -> None:
        self._point.__enter__()
        self._location.__enter__()

    def __exit__(self, *problem: object) -> None:
        self._location.__exit__(*problem)
        self._point.__exit__(*problem)


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


def as_word(x: Any) -> Any:
    """An integer of 32 or 64 bits as an i32: its lowest bits."""
    return x if x.type == word_type() else arith.trunci(word_type(), x)


def i32(value: int) -> Any:
    """An i32 constant."""
    return integer(word_type(), value)


def memory_type(t: Any) -> Any:
    """The type that stores a scalar of type ``t`` in memory: an i1 takes a byte."""
    return ir.IntegerType.get_signless(8) if _is_truth(t) else t


def _is_truth(t: Any) -> bool:
    """Whether a scalar type is i1."""
    return isinstance(t, ir.IntegerType) and t.width == 1


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
    if not _is_truth(scalar):
        return x
    width = x.type.shape[0] if isinstance(x.type, ir.VectorType) else 1
    return arith.extui(with_shape(memory_type(scalar), width), x)


_DYNAMIC = -(2**31)
"""The constant index of a ``getelementptr`` whose index is an operand."""


def address(base: Any, index: Any, t: Any) -> Any:
    """The address of element ``index`` of an array of scalars ``t`` at ``base``."""
    how = {"elem_type": ir.TypeAttr.get(memory_type(t)), "rawConstantIndices": ir.DenseI32ArrayAttr.get([_DYNAMIC])}
    return ir.Operation.create("llvm.getelementptr", [base.type], [base, index], how).result


def load(base: Any, index: Any, t: Any, *, volatile: bool = False, invariant: bool = False) -> Any:
    """Loads a fragment of type ``t``: adjacent elements from ``index`` on, aligned to the fragment's size."""
    how = {"alignment": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), _alignment(t))}
    if volatile or invariant:
        how["volatile_" if volatile else "invariant"] = ir.UnitAttr.get()
    where = address(base, index, _scalar(t))
    return from_memory(ir.Operation.create("llvm.load", [_in_memory(t)], [where], how).result, t)


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


def zeros(t: Any) -> Any:
    """Zeros of type ``t``, in place of elements that do not count."""
    scalar = _scalar(t)
    zero = ir.IntegerAttr.get(scalar, 0) if isinstance(scalar, ir.IntegerType) else ir.FloatAttr.get(scalar, 0.0)
    return arith.constant(t, zero if width(t) == 1 else ir.DenseElementsAttr.get_splat(t, zero))


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
    taken = _symbols(body)
    symbol = next(n for n in (f"{name}_{i}" for i in range(len(taken) + 1)) if n not in taken)
    m = memory_type(t)
    with ir.InsertionPoint.at_block_begin(body):
        array = ir.Type.parse(f"!llvm.array<{elements} x {m}>")
        linkage = ir.Attribute.parse("#llvm.linkage<internal>")
        llvm.GlobalOp(array, symbol, linkage, addr_space=3, alignment=16)
    return llvm.AddressOfOp(ir.Type.parse("!llvm.ptr<3>"), ir.FlatSymbolRefAttr.get(symbol)).result


def dynamic_shared(op: Any) -> Any:
    """The address of the dynamic shared memory of the kernel of ``op``, whose size comes with the launch.

    It begins at a line. A ``cp.async`` of a warp whose target begins between sectors asks the L2 cache for each twice.
    """
    body = kernel_module(op).regions[0].blocks[0]
    if DYNAMIC not in _symbols(body):
        with ir.InsertionPoint.at_block_begin(body):
            linkage = ir.Attribute.parse("#llvm.linkage<external>")
            llvm.GlobalOp(ir.Type.parse("!llvm.array<0 x i8>"), DYNAMIC, linkage, addr_space=3, alignment=128)
    return llvm.AddressOfOp(ir.Type.parse("!llvm.ptr<3>"), ir.FlatSymbolRefAttr.get(DYNAMIC)).result


def _symbols(block: Any) -> set[str]:
    """The names of the kernels and the arrays in a gpu.module's block."""
    named = (o.operation.attributes for o in block.operations)
    return {ir.StringAttr(own["sym_name"]).value for own in named if "sym_name" in own}


class when:  # noqa: N801 - as ``before``
    """Inside, new ops go into a branch for a condition, which yields nothing."""

    def __init__(self, condition: Any) -> None:
        self._point = ir.InsertionPoint(scf.IfOp(condition).then_block)

    def __enter__(self) -> None:
        self._point.__enter__()

    def __exit__(self, kind: object, *problem: object) -> None:
        if kind is None:
            scf.YieldOp([])
        self._point.__exit__(kind, *problem)


class repeat:  # noqa: N801 - as ``before``
    """Inside, new ops go into a loop from a first number to an end, by steps, that yields nothing; gives its number."""

    def __init__(self, first: Any, end: Any, step: Any) -> None:
        self._loop = scf.ForOp(first, end, step)
        self._point = ir.InsertionPoint(self._loop.body)

    def __enter__(self) -> Any:
        self._point.__enter__()
        return self._loop.induction_variable

    def __exit__(self, kind: object, *problem: object) -> None:
        if kind is None:
            scf.YieldOp([])
        self._point.__exit__(kind, *problem)


def if_then(condition: Any, write: Callable[[], object]) -> None:
    """What ``write`` emits, in a branch for a condition."""
    with when(condition):
        write()


def barrier() -> None:
    """All threads of the CTA wait for each other."""
    gpu.barrier()
