"""The expression graph: what tracing a reduction gives. Immutable, hashable, pure Python.

An ``Expr`` is one value of a tensor program. Its *space* is the set of the program's dims along which it varies, as
bits. A reduction has two groups of dims, the kept and the reduced ones. So a value lives in ``ELEMENT`` (one value per
element), ``KEPT`` (one per result), ``REDUCED`` (one per element of a result, the same for all results), ``SCALAR``
(one in all: constants and the count), ``SIDE`` (one per element of a result, folded over all results) or ``SECTION``
(one per section of elements that follow each other).
The ``digest`` names the structure and nothing else, so two functions that trace alike share one compiled kernel.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import Any

from ..dtypes import DType
from ..errors import Location
from ..lazy import lazy
from .analysis.formulas import Node, independent
from .structure import First

Space = int
"""A set of dims: bit d stands for dim d."""
SCALAR, KEPT, REDUCED, ELEMENT = 0, 1, 2, 3
"""The spaces of a program with one group of kept dims and one of reduced dims."""
SIDE = 4
"""The space of what a fold over the kept dims leaves, and of what is made of that alone."""
SECTION = 8
"""The space of the states of sections of a row, which a later step combines."""


def union(spaces: Iterable[Space]) -> Space:
    """The space of an elementwise result: it varies along every dim along which an argument varies."""
    return reduce(or_, spaces, SCALAR)


@dataclass(frozen=True, eq=False)
class Expr:
    """One node.

    Attributes:
        op: ``input``, ``gather`` (the element of an input at an index along an axis that is no dim of the program),
            ``param``, ``const``, ``iota``, ``count``, ``reduce``, ``scan`` (a reduction of which every element gets the
            state of those up to it), ``result``, ``broadcast`` (its argument along more dims) or an elementwise
            operation.
        args: the nodes it reads.
        dtype: the element type of its value (of the first value, for ``reduce``).
        space: where the value lives.
        value: a constant's value, an input's or parameter's number, a reduce's ``MonoidGraph``, a scan's
            ``ScanGraph``, a result's position; ``"fast"`` for a function that is to be approximated, ``"counts"`` for a
            quotient of counts; for an ``iota`` or a ``count`` the number of its numbering, where a program has several,
            see ``Program.numberings``.
        where: the user's line that made it; not part of the digest.
        chosen: whether the user named its type; not part of the digest.
    """

    op: str
    args: tuple[Expr, ...]
    dtype: DType
    space: Space
    value: object = None
    where: Location | None = None
    chosen: bool = False
    digest: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        own = self.value.digest if isinstance(self.value, MonoidGraph) else repr(self.value)
        text = "|".join((self.op, self.dtype.name, str(self.space), own, *(a.digest for a in self.args)))
        object.__setattr__(self, "digest", hashlib.blake2b(text.encode(), digest_size=16).hexdigest())

    def __hash__(self) -> int:
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expr) and self.digest == other.digest

    def __repr__(self) -> str:
        """The node without its operands: a value that is used twice on each of n lines would be printed 2^n times."""
        value = "" if self.value is None else f" {self.value!r}"
        return f"<Expr {self.op}{value} of {len(self.args)}, {self.dtype.name}, {self.space}, {self.digest[:8]}>"

    def __reduce__(self) -> Any:
        """Pickles the nodes below it as a list: nested, they would exceed Python's stack."""
        nodes = list(walk((self,)))
        places = {e.digest: i for i, e in enumerate(nodes)}
        return _rebuilt, (
            [(e.op, [places[a.digest] for a in e.args], e.dtype, e.space, e.value, e.where) for e in nodes],
        )


def _rebuilt(rows: list[tuple[str, list[int], DType, Space, object, Location | None]]) -> Expr:
    """The last of the nodes that were pickled."""
    nodes: list[Expr] = []
    for op, args, dtype, space, value, where in rows:
        nodes.append(Expr(op, tuple(nodes[i] for i in args), dtype, space, value, where))
    return nodes[-1]


@dataclass(frozen=True)
class MonoidGraph:
    """A monoid specialised to the types of its state.

    Attributes:
        name: what messages call it.
        state: the dtype of each value of the state, n of them.
        identity: one constant per value.
        combine: n expressions over 2n ``param`` nodes: the left state's values, then the right state's.
        commutative: whether operands may be swapped; when False, plans keep the order of the elements.
        has_identity: False when the identity is only padding (the least int, say), so that an empty reduction is an
            error and not that value.
        structure: each pair of values that is declared to be a ``First``, which no other value depends on: the place of
            its element, before that of its number.
    """

    name: str
    state: tuple[DType, ...]
    identity: tuple[float | int | bool, ...]
    combine: tuple[Expr, ...]
    commutative: bool
    has_identity: bool
    structure: tuple[tuple[int, First], ...] = ()

    @property
    def digest(self) -> str:
        """Names the structure of the combine, its identity, its flags and what it declares (not the monoid's name).

        ``any`` and ``max`` of bools differ only in ``has_identity``, and only one of them may reduce nothing.
        """
        parts = (*(t.name for t in self.state), repr(self.identity), *(e.digest for e in self.combine))
        declared = [repr(first) for first in self.structure]
        text = "|".join((*parts, str(self.commutative), str(self.has_identity), *declared))
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


@dataclass(frozen=True)
class ScanGraph:
    """What a ``scan`` node of a tensor program does.

    Attributes:
        monoid: the monoid of its state.
        exclusive: whether an element gets the state of those before it.
    """

    monoid: MonoidGraph
    exclusive: bool = False

    def __repr__(self) -> str:
        """A text that names the structure: the digest of a node contains it."""
        return f"ScanGraph({self.monoid.digest}, {self.exclusive})"


@dataclass(frozen=True)
class Program:
    """A whole tensor program: element types of its input arrays, and its results.

    Attributes:
        name: what kernels and messages call it.
        inputs: the dtype of each input array.
        outputs: one expression per result array. It has a value per result, or one per element.
        where: where its function is defined; not part of the digest.
    """

    name: str
    inputs: tuple[DType, ...]
    outputs: tuple[Expr, ...]
    where: Location | None = field(default=None, compare=False)

    @lazy
    def digest(self) -> str:
        """The heart of the cache key."""
        parts = (*(t.name for t in self.inputs), *(e.digest for e in self.outputs))
        return hashlib.blake2b("|".join(parts).encode(), digest_size=16).hexdigest()

    @lazy
    def reduces(self) -> tuple[Expr, ...]:
        """Every ``reduce`` node over the reduced dims, operands before users."""
        return tuple(e for e in walk(self.outputs) if e.op == "reduce" and e.space not in (SIDE, SECTION))

    @lazy
    def side(self) -> Expr | None:
        """The ``reduce`` node over the kept dims, of all side folds of the program; None without them."""
        return next((e for e in walk(self.outputs) if e.op == "reduce" and e.space == SIDE), None)

    @lazy
    def section(self) -> Expr | None:
        """The ``reduce`` node over sections of a row; None where no step combines such."""
        return next((e for e in walk(self.outputs) if e.op == "reduce" and e.space == SECTION), None)

    @lazy
    def scan(self) -> Expr | None:
        """The ``scan`` node; None where the program has none."""
        return next((e for e in walk(self.outputs) if e.op == "scan"), None)

    @property
    def side_states(self) -> tuple[DType, ...]:
        """The types of the values of its state."""
        return self.side.value.state if self.side and isinstance(self.side.value, MonoidGraph) else ()

    @property
    def monoids(self) -> tuple[MonoidGraph, ...]:
        """The monoid of each reduction over the reduced dims, then over the kept dims, over sections, and of a scan."""
        own = (*self.reduces, *(e for e in (self.side, self.section) if e))
        scanned = [self.scan.value.monoid] if self.scan and isinstance(self.scan.value, ScanGraph) else []
        return (*(e.value for e in own if isinstance(e.value, MonoidGraph)), *scanned)

    @property
    def scanned(self) -> tuple[DType, ...]:
        """The types of the values of the state of its scan."""
        return self.monoids[-1].state if self.scan else ()

    @lazy
    def states(self) -> tuple[DType, ...]:
        """The types of the values of all states of the reductions over the reduced dims."""
        return tuple(t for e in self.reduces if isinstance(e.value, MonoidGraph) for t in e.value.state)

    @lazy
    def reads_again(self) -> bool:
        """Whether it is more than a reduction: it folds again or never, gathers, reads rows, or uses its results."""
        uses = any(o.space & REDUCED for o in self.outputs) or any(s != ELEMENT for s in self.input_spaces)
        aside = self.side is not None or self.section is not None
        return uses or bool(self.gathered) or len(self.reduces) != 1 or aside

    @lazy
    def gathered(self) -> frozenset[int]:
        """The inputs of which indices choose elements."""
        return frozenset(e.args[0].value for e in walk(self.outputs) if e.op == "gather")  # type: ignore[misc]

    @lazy
    def input_spaces(self) -> tuple[Space, ...]:
        """The space along which each input varies; a number is the same for all results."""
        found = {e.value: e.space or KEPT for e in walk(self.outputs) if e.op == "input"}
        return tuple(found.get(i, ELEMENT) for i in range(len(self.inputs)))

    @property
    def monoid(self) -> MonoidGraph:
        """The monoid of the program's one reduction."""
        graph = self.reduces[0].value
        assert isinstance(graph, MonoidGraph)
        return graph

    @lazy
    def shared(self) -> frozenset[int]:
        """Which values of a state depend on no element, such as a count: an access holds one for all its elements."""
        lifts = enumerate(self.reduces[0].args)
        found = {k for k, lift in lifts if all(e.op not in ("input", "iota") for e in walk((lift,)))}
        return frozenset(independent(self.monoid.combine, found, node))

    @lazy
    def uses_index(self) -> bool:
        """Whether the program numbers the elements of each result (argmin and the like)."""
        return any(e.op == "iota" and e.value is None for e in walk(self.outputs))

    @lazy
    def numberings(self) -> tuple[Space, ...]:
        """The space of each numbering of a program that reads its rows again: the dims along which numbers rise.

        That of a count has none.
        """
        found: dict[Any, Space] = {e.value: e.space for e in walk(self.outputs) if e.op in ("iota", "count")}
        found.pop(None, None)
        return tuple(found[k] for k in range(len(found)))

    @lazy
    def scatters(self) -> bool:
        """Whether elements choose the results that they count in."""
        return any(e.op == "scatter" for e in walk(self.outputs))

    @lazy
    def counters(self) -> int:
        """How many counters a CTA has for the results that elements choose; 0 if they lie in memory."""
        return next((e.value for e in walk(self.outputs) if isinstance(e.value, int) and e.op == "scatter"), 0)

    @lazy
    def uses_count(self) -> bool:
        """Whether the program uses the number of reduced elements (a mean's divisor)."""
        return any(e.op == "count" and e.value is None for e in walk(self.outputs))


def walk(roots: tuple[Expr, ...]) -> Iterator[Expr]:
    """Every node below ``roots`` once, operands before users."""
    seen: set[str] = set()
    stack = [(e, False) for e in reversed(roots)]
    while stack:
        node, ready = stack.pop()
        if ready:
            yield node
        elif node.digest not in seen:
            seen.add(node.digest)
            stack.append((node, True))
            stack.extend((a, False) for a in reversed(node.args))


def rewrite(roots: tuple[Expr, ...], swapped: dict[str, Expr]) -> tuple[Expr, ...]:
    """``roots`` with every node whose digest is in ``swapped`` replaced, and all above it made anew."""
    found: dict[str, Expr] = {}
    for e in walk(roots):
        own = swapped.get(e.digest)
        args = tuple(found[a.digest] for a in e.args)
        found[e.digest] = own or (e if args == e.args else Expr(e.op, args, e.dtype, e.space, e.value, e.where))
    return tuple(found[r.digest] for r in roots)


def node(e: Expr) -> Node:
    """``e`` as ``program/analysis/formulas.py`` sees it."""
    if e.op == "param":
        return Node("param", (), e.value)  # type: ignore[arg-type]
    return Node(e.op if e.op in ("add", "mul", "fma") else f"{e.op} {e.value!r} {e.dtype.name}", e.args)
