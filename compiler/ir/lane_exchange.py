"""Exchange of states between lanes: the butterfly, in which lanes at distances 1, 2, 4, ... combine their states.

Three passes end in it: ``lower-warp-shuffle``, ``lower-interwarp-accumulate`` and ``lower-cluster-reduce``.

Whether a combine gives the same bits for two states in either order.

Then lanes that exchange states need no order for all of them to have the same bits. The test is structural: the values
that the combine yields must be the same expressions when both states are exchanged, where the operands of a commutative
op may come in either order. Such an op on floats gives the same bits in both orders: a GPU's sums and products have one
NaN for all payloads, and its minimum and maximum order the two zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

from ..target import WARP
from .anchored import anchored, plus
from .build import i32, word_type
from .combine import KEPT, Combine, Formula, Join, combine, elements, fragment, tree
from .mlir import arith, gpu, ir, nvvm, scf
from .uniform_fragments import constant

COMMUTATIVE = frozenset(
    ("add", "mul")
    + tuple(
        f"arith.{name}"
        for name in (
            "andi", "ori", "xori", "maxsi", "maxui", "minsi", "minui", "maximumf", "minimumf", "maxnumf", "minnumf",
        )
    )
)  # fmt: skip


@lru_cache(KEPT)
def is_symmetric(formula: Formula) -> bool:
    """Whether a combine gives the same bits for (a, b) and (b, a)."""
    half, numbers = len(formula.made), dict[Any, int]()
    arguments = range(2 * half)
    exchanged = [*arguments[half:], *arguments[:half]]
    return _yielded(formula, arguments, numbers) == _yielded(formula, exchanged, numbers)


def _yielded(formula: Formula, arguments: Sequence[int], numbers: dict[Any, int]) -> list[int]:
    """A number for each expression that a combine yields, if its arguments come in this order.

    Equal expressions have one number, which ``numbers`` remembers.
    """
    found: list[int] = []
    for node in formula.nodes:
        operands = [found[v] for v in node.args]
        if node.op.split(" ", 1)[0] in COMMUTATIVE:
            operands.sort()
        argument = -1 - arguments[node.number] if node.op == "param" else 0
        found.append(argument or numbers.setdefault((node.op, tuple(operands)), len(numbers)))
    return [found[v] for v in formula.made]


def exchange(x: Any, distance: Any) -> Any:
    """The fragment of the lane whose number differs in the bit ``distance``, an i32."""
    return fragment([_moved(e, distance, gpu.ShuffleMode.XOR) for e in elements(x)])


def of_lane(x: Any, lane: Any) -> Any:
    """The fragment of the lane ``lane``, an i32."""
    return fragment([_moved(e, lane, gpu.ShuffleMode.IDX) for e in elements(x)])


def from_below(x: Any, distance: Any) -> Any:
    """The fragment of the lane whose number is less by ``distance``, an i32."""
    return fragment([_moved(e, distance, gpu.ShuffleMode.UP) for e in elements(x)])


def _moved(x: Any, which: Any, mode: Any) -> Any:
    """One scalar from another lane; types that ``shfl`` does not take travel in the low bits of an i32."""
    t = x.type
    bits_wide = int(t.width)
    if bits_wide >= 32:
        return gpu.shuffle(x, which, i32(WARP), mode)[0]
    word, own = word_type(), ir.IntegerType.get_signless(bits_wide)
    bits = x if isinstance(t, ir.IntegerType) else arith.bitcast(own, x)
    moved = gpu.shuffle(arith.extui(word, bits), which, i32(WARP), mode)[0]
    back = arith.trunci(own, moved)
    return back if isinstance(t, ir.IntegerType) else arith.bitcast(t, back)


def butterfly(region: Any, state: Sequence[Any], lanes: int, stride: int, *, ordered: bool) -> list[Any]:
    """Combines the states of ``lanes`` lanes that are ``stride`` lanes apart; all of them get the result.

    Distances grow, so that each step joins neighbouring groups: with ``ordered`` the lower group is put on the left, so
    that all lanes have the same bits. Without, they may differ, unless the combine is symmetric, which needs no order.
    A combine with math functions that expand to long code goes into a loop over the steps, so that it is compiled
    once. Lanes of an anchored monoid first agree on an anchor, then add their sums relative to it.
    """
    distances, read = [stride << step for step in range(lanes.bit_length() - 1)], Combine.of(region)
    ordered = ordered and not is_symmetric(read.formula)
    found = anchored(read) if distances else None
    if found is not None:
        anchor = found.anchor_of(state)
        for distance in distances:
            anchor = _step(found.join, anchor, i32(distance), ordered)
        sums = found.add([state], anchor)
        for distance in distances:
            sums = _step(plus, sums, i32(distance), ordered=False)
        return found.state(anchor, sums)
    values, join = list(state), partial(combine, region)
    if len(distances) > 1 and any(_is_long(op.operation.name) for op in region.blocks[0].operations):
        loop = scf.ForOp(i32(0), i32(len(distances)), i32(1), values)
        with ir.InsertionPoint(loop.body):
            distance = arith.shli(i32(stride), loop.induction_variable)
            scf.YieldOp(_step(join, list(loop.inner_iter_args), distance, ordered))
        return list(loop.results)
    for distance in distances:
        values = _step(join, values, i32(distance), ordered)
    return values


def gathered(region: Any, states: Sequence[Sequence[Any]], lanes: int) -> list[Any]:
    """Combines several states, a power of two, of each of ``lanes`` neighbouring lanes; all lanes get the result.

    The first states of all lanes, in the order of lanes, come first, then their second ones. The tree is that of a
    butterfly for each, and of neighbours among what these give; but while there are several, lanes at a distance share
    them out: the lower lane takes the first of two, and gets the other's share of it. So few registers are exchanged.
    """
    read = Combine.of(region)
    if not is_short(region):
        return tree(region, [partial(butterfly, region, s, lanes, 1, ordered=True) for s in states])
    found, distance, ordered = [list(s) for s in states], 1, not is_symmetric(read.formula)
    join, distances = partial(combine, region), []
    while len(found) > 1 and distance < lanes:
        found = [_shared(join, *pair, distance, ordered) for pair in zip(found[::2], found[1::2], strict=True)]
        distances.append(distance)
        distance *= 2
    rest = [distance << k for k in range((lanes // distance).bit_length() - 1)]
    for d in [*rest, *distances]:
        found = [_step(join, values, i32(d), ordered) for values in found]
    return tree(region, [partial(list, values) for values in found])


def _shared(join: Join, first: list[Any], second: list[Any], distance: int, ordered: bool) -> list[Any]:
    """One exchange in which the lower lane gets the ``first`` state of both lanes, and the upper one the ``second``."""
    upper = _is_upper(i32(distance))
    own = [arith.select(upper, s, f) for f, s in zip(first, second, strict=True)]
    given = [arith.select(upper, f, s) for f, s in zip(first, second, strict=True)]
    got = [exchange(v, i32(distance)) for v in given]
    return _in_order(join, own, got, upper) if ordered else join(own, got)


def is_short(region: Any) -> bool:
    """Whether states are combined as they are, by few instructions: neither by an anchor nor in a loop over steps."""
    return not anchored(Combine.of(region)) and not any(_is_long(o.operation.name) for o in region.blocks[0].operations)


def _is_long(name: str) -> bool:
    """Whether an op becomes more than an instruction or two."""
    return name.startswith("math.") and name not in ("math.absf", "math.ceil", "math.floor", "math.fma")


def _step(join: Join, values: list[Any], distance: Any, ordered: bool) -> list[Any]:
    """One exchange at ``distance``, an i32: the received state combined with the lane's own."""
    others = [v if constant(v) is not None else exchange(v, distance) for v in values]
    if not ordered:
        return join(values, others)
    return _in_order(join, values, others, _is_upper(distance))


def _in_order(join: Join, own: list[Any], others: list[Any], upper: Any) -> list[Any]:
    """A lane's own state joined with another lane's, that of the lower one on the left."""
    left = [v if o is v else arith.select(upper, o, v) for v, o in zip(own, others, strict=True)]
    right = [v if o is v else arith.select(upper, v, o) for v, o in zip(own, others, strict=True)]
    return join(left, right)


def _is_upper(distance: Any) -> Any:
    """Whether this lane is the upper one of two at ``distance``, an i32."""
    return arith.cmpi(arith.CmpIPredicate.ne, arith.andi(lane_id(), distance), i32(0))


def everywhere(x: Any) -> Any:
    """Whether ``x`` holds in all lanes of the warp."""
    return nvvm.vote_sync(i32(-1), x, nvvm.VoteSyncKind.all)


def lane_id() -> Any:
    """This thread's lane, an i32."""
    return arith.index_cast(word_type(), gpu.lane_id())
