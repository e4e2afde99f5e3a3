"""What a forward keeps for its backward: the cheapest values that separate the inputs from what the backward computes.

A gradient reads values of the forward. Each of them is kept, or computed again from what is. A kept value costs the
bytes that are written and read: an input or a result of the function is only read, and a predicate counts as bits. A
value that is computed again costs instructions, and a fold has its elements wait or be read again. So the cheapest
choice is a cut of the graph. An exponential keeps its result, a softmax and a layer norm values per row, a ReLU bits.

An element that depends on a fold, and is no result, is not kept: the forward would read or hold its rows to write it.
What is made of single numbers costs nothing, and is made again: so the choice is the same whether a launch has the
value of an array of rank 0, or its address.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import prod
from typing import NamedTuple

from ...dtypes import BOOL, U32, DType
from ...postorder import postorder
from ..analysis.cost import COST
from ..array_program import Fold, Scan
from ..arrays.broadcasting import along
from ..arrays.dims import Axes, Dims, dims_of
from ..arrays.packing import SymBits, pack, unpack
from ..arrays.sym_array import SymArray
from ..bit_arrays import words_shape
from ..cuts.vertex_cut import vertex_cut
from ..graph import SCALAR, Expr, Space, union, walk
from ..values import cast

SIZE = 1 << 10
"""What a dim counts as: sizes are values of a call, and a function is traced for all of them."""
BYTE = 8
"""The cost of moving a byte of each element, in bits."""
INSTRUCTIONS = 128
"""How many instructions for an element cost as much as a bit of it."""
AGAIN = 4
"""What each element of a fold that is made again costs, in bits; none along the innermost axis alone, where a row waits
on chip for the folds of the gradient anyway."""
SHARED = 8
"""Instructions from which a value of a row that its elements use is kept, too, if the gradient folds along other dims:
threads that own columns make it for every few elements."""


class Keep(NamedTuple):
    """A value that is kept.

    Attributes:
        node: the value.
        result: the number of the result of the function that it is; None for one that the forward returns beside.
        axes: those of the value.
        dtype, shape: type and sizes of the array that is kept, in this tracing.
        flat: how the bits of a predicate are numbered, see ``pack``.
    """

    node: Expr
    result: int | None
    axes: Axes
    dtype: DType
    shape: tuple[int, ...]
    flat: bool = True

    @property
    def as_bits(self) -> bool:
        """Whether it is a predicate that is kept as bits."""
        return self.node.dtype == BOOL and self.dtype != BOOL

    @property
    def nbytes(self) -> int:
        """The bytes of the array."""
        return self.dtype.nbytes(prod(self.shape))

    def array(self, dims: Dims) -> SymArray:
        """The array that the forward returns."""
        own = SymArray(self.node, self.axes, dims)
        return pack(own, flat=self.flat) if self.as_bits else own

    def read(self, kept: SymArray, dims: Dims) -> Expr:
        """The value, read from the array that was kept."""
        if self.as_bits:
            kept = unpack(kept, SymArray(self.node, self.axes, dims).shape, flat=self.flat)
        return cast(SymArray(along(kept, self.axes), self.axes, dims, kept.dtype), self.node.dtype).expr


def chosen(
    roots: Sequence[Expr], late: Collection[str], results: Mapping[int, SymArray], dims: Dims, order: Sequence[int],
    *, waits: bool = True,
) -> list[Keep]:  # fmt: skip
    """The values to keep beside inputs, in the order of the graph.

    Args:
        roots: the gradients.
        late: the digests of the nodes below them that the forward does not know.
        results: the results of the function that are floats or bits, by their numbers.
        dims: the dims of the tracing.
        order: the dims in the order in which the axes of what is kept follow each other.
        waits: whether rows along the innermost axis wait on chip for the folds of the gradient.
    """
    known = [e for e in walk(tuple(roots)) if e.digest not in late]
    used = {a.digest for e in walk(tuple(roots)) if e.digest in late for a in e.args} | {r.digest for r in roots}
    numbers = {r.expr.digest: n for n, r in results.items()}
    folded = dependent(roots, [e.digest for e in known if e.op == "fold"])
    rank = max((e.space.bit_count() for e in known), default=0)
    as_bits = not folded
    inner = _innermost(known, dims) if waits else 0
    costly = _beside_numbers(known)
    made_again = {e.digest: cost for e in costly if (cost := _instructions(e, inner))}
    weights: dict[object, int] = dict(made_again.items())
    for e in costly:
        result = results.get(numbers.get(e.digest, -1))
        if e.op not in ("fold", "scan") and (
            result is not None or e.space.bit_count() < rank or e.digest not in folded
        ):
            weights[e] = _memory(e, result, as_bits)
    edges: list[tuple[object, object]] = [(e.digest, e) for e in costly if e.digest in made_again]
    edges += [(a, e) for e in costly for a in e.args]
    sources = [*made_again, *(e for e in costly if e.op == "input")]
    sinks = [e for e in known if e.digest in used]
    found = vertex_cut([*made_again, *known], edges, weights, sources, sinks)
    cut = {e.digest for e in found if isinstance(e, Expr)}
    direct = {a.digest for e in walk(tuple(roots)) if e.space.bit_count() == rank for a in e.args}
    shared = [e for e in known if e.digest in direct & folded and 0 < e.space.bit_count() < rank]
    folds = {e.digest for e in found if isinstance(e, Expr) and e.digest in folded and e.digest not in numbers}
    if folds and _dims_of_folds(e for e in walk(tuple(roots)) if e.digest in late) - _dims_of_folds(known):
        cut |= {e.digest for e in shared if _work(e, cut) >= SHARED}
    reached = postorder(sinks, lambda e: () if e.digest in cut else e.args)
    kept = [e for e in reached if e.digest in cut and not _is_input(e)]
    place = {d: i for i, d in enumerate(order)}

    def keep(e: Expr) -> Keep:
        axes = tuple(sorted(dims_of(e.space), key=lambda d: place.get(d, len(place))))
        own = SymArray(e, axes, dims)
        return _keep(e, results, numbers.get(e.digest), own, as_bits=as_bits and e.dtype == BOOL)

    return [keep(e) for e in kept]


def _keep(e: Expr, results: Mapping[int, SymArray], number: int | None, own: SymArray, *, as_bits: bool) -> Keep:
    """How a value is kept: as the result that it is, or as an array ``own`` of the forward."""
    if number is not None:
        own = results[number]
        if isinstance(own, SymBits):
            return Keep(e, number, own.axes, U32, words_shape(own.sizes, flat=own.flat), own.flat)
        return Keep(e, number, own.axes, own.dtype, own.sizes)
    if as_bits:
        return Keep(e, None, own.axes, U32, words_shape(own.sizes, flat=True))
    return Keep(e, None, own.axes, own.dtype, own.sizes)


def _beside_numbers(nodes: Sequence[Expr]) -> list[Expr]:
    """The nodes, operands before users, but those that are made of single numbers alone."""
    single: set[str] = set()
    for e in nodes:
        if e.space == SCALAR and e.op not in ("fold", "scan") and all(a.digest in single for a in e.args):
            single.add(e.digest)
    return [e for e in nodes if e.digest not in single]


def dependent(roots: Sequence[Expr], leaves: Collection[str]) -> set[str]:
    """The digests of the nodes below ``roots`` that depend on ``leaves``."""
    found = set(leaves)
    for e in walk(tuple(roots)):
        if any(a.digest in found for a in e.args):
            found.add(e.digest)
    return found


def _is_input(e: Expr) -> bool:
    """Whether a value is an element of an array as it is, maybe of a wider type."""
    return e.op == "input" or (e.op == "cast" and _is_input(e.args[0]))


def _memory(e: Expr, result: SymArray | None, as_bits: bool) -> int:
    """The bits that move if a value is kept: those of an input and of a result are written anyway."""
    if e.op == "input" or result is not None:
        t = e.dtype if result is None else result.dtype
        return t.nbytes(BYTE * _elements(e.space))
    return 2 * _elements(e.space) * (1 if as_bits and e.dtype == BOOL else e.dtype.itemsize * BYTE)


def _innermost(nodes: Sequence[Expr], dims: Dims) -> Space:
    """The innermost dim of the arrays of the highest rank."""
    views = [dims.parts_of(dims.views[e.value][1]) for e in nodes if e.op == "input"]  # type: ignore[call-overload]
    return 1 << max(views, key=len)[-1] if any(views) else 0


def _dims_of_folds(nodes: Iterable[Expr]) -> set[Space]:
    """Along which dims folds go."""
    return {e.value.over for e in nodes if isinstance(e.value, Fold)}


def _instructions(e: Expr, inner: Space) -> int:
    """What a value costs that is made again, in bits."""
    if isinstance(e.value, Fold | Scan):
        return 0 if e.value.over == inner and e.op == "fold" else AGAIN * _elements(union(a.space for a in e.args))
    if e.op in ("input", "const", "count", "iota", "result", "cast"):
        return 0
    return max(1, COST.get(e.op, 1) * _elements(e.space) // INSTRUCTIONS)


def _work(root: Expr, kept: Collection[str]) -> int:
    """The instructions that make a value of what is kept."""
    nodes = postorder((root,), lambda e: () if e.digest in kept or e.op == "result" else e.args)
    return sum(COST.get(e.op, 1) for e in nodes if e.digest not in kept and e.args and e.op != "result")


def _elements(space: Space) -> int:
    return int(SIZE ** space.bit_count())
