"""From a function of whole arrays to an ``ArrayProgram``."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ...dtypes import NUMBER, DType
from ...errors import error
from ..array_layouts import Output
from ..array_program import ArrayProgram
from ..complexes import Complex
from ..fold import Scope, scope
from ..frames import Tracing
from ..graph import Expr, walk
from ..signatures import defined, parameters
from ..storage import parts
from ..symbols import Sym
from ..tracing import Structure, renumbered, structure_of
from ..values import Value, join, split
from . import methods, types  # noqa: F401 - gives symbolic arrays their methods
from .dims import Axes, Dims, bits
from .numbering import Numbered
from .over_axes import Outside
from .packing import SymBits
from .shaping import squeeze
from .sym_array import SymArray


class ArrayArg(NamedTuple):
    """What tracing knows of an array.

    Attributes:
        dtype: its element type.
        shape: its shape. The program also serves other sizes: see ``ArrayProgram``.
        number: whether a launch has its value, which it has of rank 0, and not its address.
        varies: the axes that are dims of the program though their size is 1, so that other sizes have the same program.
    """

    dtype: DType
    shape: tuple[int, ...]
    number: bool = False
    varies: tuple[int, ...] = ()

    @property
    def sizes(self) -> tuple[int, ...]:
        """For each axis 0, 1 or 2 for more: programs for 0 and 1 are others."""
        return tuple(2 if axis in self.varies else min(n, 2) for axis, n in enumerate(self.shape))


def trace_arrays(
    function: Callable[..., Any],
    arrays: Sequence[ArrayArg],
    params: Mapping[str, Any],
    *,
    name: str | None = None,
    once: bool = False,
    complexes: bool = False,
) -> ArrayProgram:
    """Traces ``function`` over one symbolic array per argument.

    Args:
        function: takes the arrays by position and ``params`` by keyword; returns one array, or several in a tuple, a
            list, a dict or a named tuple.
        arrays: the element type and the shape of each array; () is the shape of a number that is given at run time.
        params: Python values baked into the program.
        name: what to call it; the function's own name by default.
        once: whether results that are the same value are one output, and so one array.
        complexes: whether complex arrays are taken and returned. Each is two arrays of floats to the program.

    Raises:
        TraceError: WF253 for values of another trace, WF263 for a result that is no array; and what the
            operations of the function raise, located at its line.
    """
    label = str(name or getattr(function, "__name__", "program"))
    names = _names(function, len(arrays))
    taken = [(name, p) for name, a in zip(names, arrays, strict=True) for p in _parts(a, name, complexes=complexes)]
    dims = Dims(name for name, _ in taken)
    symbols = [_symbolic(i, a, dims) for i, (_, a) in enumerate(taken)]
    dims.arrays = [v.axes for v in symbols]
    values = join([a.dtype for a in arrays], symbols)
    held = Scope(name=label, over=Outside(dims))
    with scope(held), Tracing(label):
        got = function(*values, **params)
    leaves: list[Value] = []
    structure = structure_of(label, got, leaves, function, code="WF263")
    given, made = tuple(a.dtype for a in arrays), tuple(r.dtype for r in leaves)
    results = [r for i, v in enumerate(leaves) for r in _results(i, v, dims, label, function, complexes=complexes)]
    if once:
        results, structure = _once(results, structure)
    results += [_check(c) for _, c in held.checks]
    exprs = [r.in_memory() if r.dtype in types.BYTES else r.expr for r in results]
    final = Numbered(exprs, [r.axes for r in results], dims)
    outputs = [
        Output(e, final.axes(r.axes), r.dtype, _joined(r.axes, dims), isinstance(r, SymBits) and r.flat)
        for e, r in zip(final.exprs, results, strict=True)
    ]
    return ArrayProgram(
        label,
        tuple(a.dtype for _, a in taken),
        final.members,
        final.views,
        tuple(outputs),
        structure,
        final.looked_at,
        defined(function),
        final.most,
        tuple(code for code, _ in held.checks),
        final.splits,
        tuple(dims.slices),
        final.bits,
        tuple(held.used),
        *((given, made) if any(t.kind == "complex" for t in (*given, *made)) else ((), ())),
        _lines(label, final.exprs, function),
    )


def _lines(label: str, exprs: Sequence[Expr], function: Any) -> str:
    """A digest of the user's lines that made the nodes below some; WF253 for one that a monoid's function made."""
    nodes = list(walk(tuple(exprs)))
    if any(e.op == "param" for e in nodes):
        raise error("WF253", name=label, where=defined(function))
    found = [(e.where.file, e.where.line) for e in nodes if e.where is not None]
    return hashlib.blake2b(repr(found).encode(), digest_size=8).hexdigest()


def _names(function: Callable[..., Any], count: int) -> tuple[str, ...]:
    """What the function calls its arrays."""
    own = [p.name for p in parameters(function) if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return tuple((own + [f"array {i}" for i in range(len(own), count)])[:count])


def _symbolic(number: int, array: ArrayArg, dims: Dims) -> SymArray:
    """The symbolic value of an array argument."""
    memory = types.memory_type(array.dtype)
    axes = tuple(
        None if n == 1 and axis not in array.varies else dims.new(n, (number, axis))
        for axis, n in enumerate(array.shape)
    )
    e = Expr("input", (), NUMBER if array.number else memory, bits(axes), dims.view(number, axes))
    e = types.of_number(e, memory) if array.number else e
    value = types.read(e, array.dtype)
    if array.dtype in types.BYTES:
        dims.bytes[value.digest, array.dtype] = e
    return SymArray(value, axes, dims, array.dtype).sharing()


def _parts(array: ArrayArg, name: str, *, complexes: bool) -> list[ArrayArg]:
    """An array argument as the program reads it: a complex one as two arrays of floats."""
    if array.dtype.kind != "complex":
        return [array]
    if not complexes:
        raise error("WF268", array=name, dtype=array.dtype.name)
    return [array._replace(dtype=t) for t in parts(array.dtype)]


def _results(position: int, value: Value, dims: Dims, label: str, function: Any, *, complexes: bool) -> list[SymArray]:
    """A result as the program writes it: a complex one as two arrays of floats."""
    if isinstance(value, Complex) and not complexes:
        raise error("WF268", array=f"result {position} of {label}", dtype=value.dtype.name, where=defined(function))
    return [_result(position, part, dims, label, function) for part in split(value)]


def _result(position: int, value: Value, dims: Dims, label: str, function: Any) -> SymArray:
    """A result, which must be an array of this tracing."""
    if isinstance(value, SymArray) and value.dims is not dims:
        raise error("WF253", name=label, where=defined(function))
    if not isinstance(value, SymArray):
        raise error("WF263", name=label, position=position, kind=type(value).__name__, where=defined(function))
    return value


def _once(results: Sequence[SymArray], structure: Structure) -> tuple[list[SymArray], Structure]:
    """The results that differ, and how they nest."""
    first: dict[object, int] = {}
    numbers = [first.setdefault((type(r), r.dtype, r.axes, r.expr.digest), len(first)) for r in results]
    return [results[numbers.index(i)] for i in range(len(first))], renumbered(structure, numbers)


def _joined(axes: Axes, dims: Dims) -> tuple[int, ...]:
    """How many dims each axis of a result lies along; nothing if each lies along one."""
    found = tuple(max(1, len(dims.parts(d))) for d in axes)
    return found if max(found, default=1) > 1 else ()


def _check(condition: Sym) -> SymArray:
    """The condition of a check, without axes of size 1."""
    assert isinstance(condition, SymArray)
    return squeeze(condition)
