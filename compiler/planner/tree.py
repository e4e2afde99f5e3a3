"""Which plans combine the elements of a result in the same order, and so give the same bits.

A *signature* names the tree of docs/design.md ("The combining tree") for one plan and launch: two are equal only if
every combine has the same operands. What belongs to the machine and not to the tree (which lanes and warps, how many
results a CTA, where states lie, who finishes) is not in it; a field of the plan that this file does not know is. What
all plans for one reduction share is not in it either: its elements, and how often a result has each.
"""

from __future__ import annotations

from typing import Any

from ..plan.launch import Launch
from ..plan.plan import Plan
from ..program.analysis.proofs import proof
from ..program.graph import Program
from ..program.rewrites.ties import takes_the_first
from .task import Choice

Signature = tuple[Any, ...]
_READ_HERE = (
    "vector", "unroll", "lanes", "warps", "cta", "coarsening", "finish", "walk",
    # Nothing of the tree:
    "fast", "warps_kept", "exchange", "tile_bytes",
)  # fmt: skip


def same_bits(program: Program, n_reduced: int, a: Choice, b: Choice) -> bool:
    """Whether two choices for one reduction give the same bits, whatever the elements are."""
    if unordered(program):
        return True
    trees = [signature(c.plan, c.run, n_reduced, cut=c.facts.cut) for c in (a, b)]
    return trees[0] is not None and trees[0] == trees[1]


def unordered(program: Program) -> bool:
    """Whether the states of a program give the same bits in any order: this is proved of the graph, not tried."""
    exact = all(proof(program.monoid, law) == "exact" for law in ("associativity", "commutativity"))
    state = [e.digest for e in program.monoid.combine], program.monoid.state
    return exact or (program.uses_index and takes_the_first(*state))


def signature(plan: Plan, run: Launch, n_reduced: int, *, cut: str = "") -> Signature | None:
    """The tree of one result of ``n_reduced`` elements, or None where there is no fixed one.

    Args:
        plan: how the elements are walked.
        run: how many CTAs share them.
        n_reduced: how many there are.
        cut: ``shifted`` where accesses begin before the row, so that its address decides which are cut; ``unaligned``
            where the first and the last element stand alone.
    """
    if plan.finish not in ("cta", "last_block", "two_kernels"):
        return None
    if plan.fast == "both":  # which elements a state of the first kernel has depends on the whole launch
        return tuple(plan.to_dict().items()), run, n_reduced
    unknown = tuple((k, v) for k, v in plan.to_dict().items() if k not in _READ_HERE)
    if plan.walk == "runs":  # that of a run depends on its length, and its address, which both have
        return unknown, run, plan.vector, plan.unroll, plan.lanes, plan.warps, cut
    if plan.walk == "whole":  # a thread has all elements of a result, and combines neighbours first
        return unknown, plan.walk
    if plan.walk == "period":  # the tree depends on the rows, the columns and the address: so does the whole launch
        return unknown, run, plan.vector, plan.unroll, plan.warps_kept
    first = _round(plan, min(run.chunk, n_reduced), run.chunk, plan.vector_reduced, plan.unroll, cut)
    tail = _round(plan, n_reduced % run.chunk, run.chunk, plan.vector_reduced, plan.unroll, cut)
    parts = (run.chunk, first, tail) if run.split > 1 else (first,)
    second = _second(plan, plan.parts(run.split)) if plan.finish != "cta" else ()
    return unknown, run.split, parts, second


def _second(plan: Plan, parts: int) -> Signature:
    """The round over the partial states: a second kernel's chunk is a whole number of its tiles."""
    if plan.finish == "last_block":
        return _round(plan.second, parts, parts, 1, plan.second.unroll, "")
    unroll = plan.second_unroll
    tile = plan.positions * unroll
    return _round(plan, parts, -(-parts // tile) * tile, 1, unroll, "")


def _round(plan: Plan, length: int, chunk: int, vector: int, unroll: int, cut: str) -> Signature:
    """The tree of one CTA over ``length`` elements: chains of threads, and how their states meet."""
    meeting = _meeting(plan)
    if plan.walk == "blocked":
        piece = -(-chunk // plan.positions)
        return "blocked", meeting, plan.positions, piece, unroll if piece > 1 else 1, cut
    # Each element of an access has a chain of its own. Chains meet as neighbours, those of a thread first; so, where no
    # access is cut, it does not show how many of them a thread has.
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
    return "neighbours" if plan.walk == "blocked" else "halves"
