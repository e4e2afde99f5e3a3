"""From a function of whole arrays to an ``ArrayProgram``.

The dims and views of a finished tracing under their final numbers: those that the results use, in order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ...dtypes import NUMBER, DType
from ...errors import error
from ..array_layouts import Bits, Output, Split, View
from ..array_program import ArrayProgram, Fold, Scan
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
from .broadcasting import rebuilt, space_of
from .dims import Axes, Dims, bits, dims_of
from .over_axes import Outside
from .packing import SymBits
from .shaping import squeeze
from .sym_array import SymArray


class Numbered:
    """The results of a tracing with the final numbers of dims and views.

    Attributes:
        exprs: the expressions of the results.
        members: for each dim the (array, axis) pairs that have its size.
        views: the views that the results read.
        bits: as ``ArrayProgram.bits``.
        looked_at: as ``ArrayProgram.sizes``.
        most: as ``ArrayProgram.most``.
        splits: as ``ArrayProgram.splits``.
    """

    def __init__(self, exprs: Sequence[Expr], results: Sequence[Axes], dims: Dims) -> None:
        nodes = list(walk(tuple(exprs)))
        read = {dims.views[e.value] for e in nodes if e.op == "input"}  # type: ignore[call-overload]
        _split_alike(dims, read)
        self._dims = dims
        used = {p for e in nodes for p in dims_of(dims.space(space_of(e)))}
        used |= {p for axes in (*results, *(own for _, own, _ in dims.bits)) for d in axes for p in dims.parts(d)}
        order = sorted(used, key=dims.place)
        self._numbers = {d: i for i, d in enumerate(order)}
        to = Dims(dims.names)
        for d in order:
            to.new(dims.sizes[d], dims.members[d])
        for array, axes in sorted(((a, self._joined(v, to)) for a, v in read), key=repr):
            to.view(array, axes)
        self.exprs = [rebuilt(e, self._numbers, dims, to) for e in exprs]
        self.views = tuple(View(array, _apart(axes, to)) for array, axes in to.views)
        self.splits = tuple(
            Split(array, axis, tuple(dims.sizes[p] if p in dims.fixed else 0 for p in parts))
            for array, axes in enumerate(dims.arrays)
            for axis, d in enumerate(axes)
            if len(parts := dims.parts(d)) > 1
        )
        members = self._members()
        self.members = tuple(tuple(sorted(members[d])) for d in order)
        fixed = {p: dims.sizes[d] for p, d in enumerate(order) if all(map(self._is_of_bits, members[d]))}
        self.bits = tuple(self._bits(*own, fixed) for own in dims.bits)
        self.looked_at = self._looked_at(members)
        folded = {e.value.over for root in self.exprs for e in walk((root,)) if isinstance(e.value, Fold | Scan)}
        bounds = {(bits(self._numbers.get(p) for p in dims_of(dims.space(s))), n) for s, n in dims.most}
        self.most = tuple(sorted(b for b in bounds if b[0] in folded))

    def axes(self, axes: Axes) -> Axes:
        """Axes by the numbers of their dims; an axis along several dims as that many."""
        return tuple(None if p is None else self._numbers[p] for p in _apart(axes, self._dims))

    def _bits(self, array: int, axes: Axes, flat: bool, fixed: Mapping[int, int]) -> Bits:
        """An array that is read as bits; ``fixed`` are the dims of constant sizes."""
        own = tuple(tuple(self._numbers[p] for p in self._dims.parts(d)) for d in axes)
        return Bits(array, own, tuple((p, fixed[p]) for each in own for p in each if p in fixed), flat)

    def _joined(self, axes: Axes, to: Dims) -> Axes:
        """Axes by their final dims."""
        return tuple(to.join(tuple(self._numbers[p] for p in self._dims.parts(d))) for d in axes)

    def _members(self) -> dict[int, set[tuple[int, int]]]:
        """The (array, axis) pairs of each dim: the axes that lie along it, in some view."""
        found: dict[int, set[tuple[int, int]]] = {}
        for array, axes in enumerate(self._dims.arrays):
            for axis, p in enumerate(_apart(axes, self._dims)):
                if p is not None:
                    found.setdefault(p, set()).add((array, axis))
        for copy, original in self._dims.originals.items():
            for c, p in zip(self._dims.parts(copy), self._dims.parts(original), strict=False):
                found.setdefault(c, set()).update(found.get(p, ()))
        dims = {number: d for d, number in self._numbers.items()}
        for view in self.views:
            for axis, n in enumerate(view.axes):
                if n is not None and view.array >= 0:
                    found.setdefault(dims[n], set()).add((view.array, axis))
        for i, (_, own, _) in enumerate(self._dims.bits):
            for axis, p in enumerate(_apart(own, self._dims)):
                if p is not None and all(map(self._is_of_bits, found.get(p, ()))):
                    found.setdefault(p, set()).add((-1 - i, axis))
        return found

    def _is_of_bits(self, member: tuple[int, int]) -> bool:
        """Whether an (array, axis) pair is one of truth values that lie as bits, or of a slice of these."""
        array, first = member[0], len(self._dims.arrays) - len(self._dims.slices)
        while array >= first:
            array = self._dims.slices[array - first].array
        return array < 0

    def _looked_at(self, members: dict[int, set[tuple[int, int]]]) -> tuple[tuple[int, int, int], ...]:
        """One (array, axis) of each dim whose size is a constant, and the size."""
        dims = self._dims
        known = {p for d in dims.looked_at for p in dims.parts(d)}
        own = {p: min(members[p]) for p in known if p in members}
        return tuple(sorted((*pair, dims.sizes[p]) for p, pair in own.items()))


def _split_alike(dims: Dims, read: set[tuple[int, Axes]]) -> None:
    """Splits the dims along which an axis lies, in all ways in which its array is read, into the same parts."""
    parts = -1
    while parts != (parts := sum(len(dims.parts(d)) for _, axes in read for d in axes)):
        for array, axes in read:
            for own, d in zip(dims.axes_of(array), axes, strict=True):
                if own is not None and d is not None:
                    dims.split_alike(own, d)


def _apart(axes: Axes, dims: Dims) -> Axes:
    """Axes with one entry per dim in place of one for several."""
    return tuple(p for d in axes for p in (dims.parts(d) or (None,)))


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
