"""Which plans combine the elements of a result in the same order, and so give the same bits.

A *signature* names the combining tree of one plan and launch (``docs/tree.md``). Two signatures are equal only if every
combine of both trees has the same operands. A signature leaves out what belongs to the machine and not to the tree:
which lanes and warps take part, how many results a CTA has, where states are kept, who finishes. A field of the plan
that this file does not know is part of the signature. What all plans for one reduction share is left out too: the
elements, and how often a result has each.
"""

from __future__ import annotations

from typing import Any

from ..plan.launch import Launch
from ..plan.layout import layout_of
from ..plan.plan import Plan
from ..plan.rounds import second_plan, second_unroll
from ..program.analysis.proofs import proof
from ..program.graph import Program
from .task import Choice

Signature = tuple[Any, ...]
_TREE = ("vector", "unroll", "lanes", "warps", "cta", "coarsening", "finish", "walk")
"""The plan's fields that this file reads."""
_MACHINE = ("fast", "warps_kept", "exchange", "tile_bytes")
"""The plan's fields that no tree depends on."""


def same_bits(program: Program, n_reduced: int, a: Choice, b: Choice) -> bool:
    """Whether two choices for one reduction give the same bits, whatever the elements are."""
    if unordered(program):
        return True
    trees = [signature(c.plan, c.run, n_reduced, cut=c.facts.cut) for c in (a, b)]
    return trees[0] is not None and trees[0] == trees[1]


def unordered(program: Program) -> bool:
    """Whether the states of a program give the same bits in any order. This is proved of its graph, not tried."""
    exact = all(proof(program.monoid, law) == "exact" for law in ("associativity", "commutativity"))
    return exact or (program.uses_index and len(program.monoid.state) == 2 and bool(program.monoid.structure))


def signature(plan: Plan, run: Launch, n_reduced: int, *, cut: str = "") -> Signature | None:
    """The tree of one result of ``n_reduced`` elements, or None where there is no fixed one.

    Args:
        plan: the plan, whose layout says which elements a thread combines.
        run: the launch, which says how many CTAs share a result.
        n_reduced: the elements of a result.
        cut: ``shifted`` where accesses begin before the row, so that its address decides which elements the first
            access has; ``unaligned`` where the first and the last element are read alone.
    """
    if plan.finish not in ("cta", "last_block", "two_kernels"):
        return None
    if plan.fast == "both":  # which elements a state of the first kernel has depends on the whole launch
        return tuple(plan.to_dict().items()), run, n_reduced
    unknown = tuple((k, v) for k, v in plan.to_dict().items() if k not in (*_TREE, *_MACHINE))
    layout = layout_of(plan)
    if not layout.loops:  # a thread has all elements of a result, and combines neighbours first
        return unknown, layout.loops
    if layout.loops != ("reduced",):  # the length and the address of a run, or of a row, decide with the whole launch
        return unknown, run, layout.along("reduced", "piece", "flat"), plan.unroll, cut
    first = _round(plan, min(run.chunk, n_reduced), run.chunk, plan.vector_reduced, plan.unroll, cut)
    tail = _round(plan, n_reduced % run.chunk, run.chunk, plan.vector_reduced, plan.unroll, cut)
    parts = (run.chunk, first, tail) if run.split > 1 else (first,)
    second = _second(plan, plan.parts(run.split)) if plan.finish != "cta" else ()
    return unknown, run.split, parts, second


def _second(plan: Plan, parts: int) -> Signature:
    """The tree of the round over the partial states; the chunk of a second kernel is a multiple of its tile."""
    if plan.finish == "last_block":
        second = second_plan(plan)
        return _round(second, parts, parts, 1, second.unroll, "")
    unroll = second_unroll(plan)
    tile = plan.positions * unroll
    return _round(plan, parts, -(-parts // tile) * tile, 1, unroll, "")


def _round(plan: Plan, length: int, chunk: int, vector: int, unroll: int, cut: str) -> Signature:
    """The tree of one CTA over ``length`` elements: the chains of its threads, and how their states meet.

    Args:
        plan: the plan of this round.
        length: the elements that there are.
        chunk: the elements that the CTA has room for.
        vector: elements of an access along the reduced axis.
        unroll: accesses in flight.
        cut: that of ``signature``.
    """
    meeting = _meeting(plan)
    if layout_of(plan).ordered:
        piece = -(-chunk // plan.positions)
        return "blocked", meeting, plan.positions, piece, unroll if piece > 1 else 1, cut
    # Each element of an access has a chain of its own. Chains meet as neighbours, and those of a thread meet first. So
    # the tree does not depend on how many chains a thread has, unless an access is cut.
    chains = plan.positions * vector
    grouped = unroll if length > chains or cut else 1
    whole = meeting == "neighbours" and length % vector == 0 and not cut
    return "interleaved", meeting, chains, grouped, None if whole else (vector, cut)


def _meeting(plan: Plan) -> str:
    """The order in which the states of the positions, a power of two, are combined."""
    if plan.positions <= 2 or plan.cta in ("shuffle", "interleaved"):
        return "neighbours"
    if plan.cta not in ("sequential", "warp_sync", "unrolled"):
        return plan.cta
    return "neighbours" if layout_of(plan).ordered else "halves"
