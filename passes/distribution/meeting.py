"""The meeting: the stages that join the states of threads that share results.

There is a stage for each level whose extent along the reduced axis is more than one: lanes, then the warps of a CTA or
of a cluster. A meeting takes the state and the place of each thread, and gives the state that comes out and the place
that the thread has then.

The partial states that CTAs leave in global memory, and the round over them in the CTA that comes last.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ...compiler.ir.build import bytes_of, when
from ...compiler.ir.combine import with_shape
from ...compiler.ir.dialect.base import element, state_type
from ...compiler.ir.mlir import arith, ir
from ...compiler.plan.layout import layout_of, rows_of_states
from ...compiler.plan.plan import Plan
from ...compiler.plan.rounds import met_plan, second_plan
from ...compiler.plan.shared_memory import counts_bytes, global_states, meets_in_ctas
from .kernel import Kernel, load_attributes
from .place import Place, Tile
from .reader import makes_lists_of_warps, reduce_span, span_of


def meet_in_cta(tile: Tile, state: Any, place: Place, *, warps: bool = False) -> tuple[Any, Place]:
    """Joins the threads of a CTA: lanes first, unless states are those of ``warps``, then warps; or all in memory."""
    if place.plan.cta != "shuffle":
        return _in_memory(tile.kernel, state, place), place
    state = state if warps else _in_warp(tile.kernel, state, place)
    return _across_warps(tile, state, place) if place.plan.warps > 1 else (state, place)


def meet_in_cluster(tile: Tile, state: Any, place: Place, *, everywhere: bool = False, warps: bool = False) -> Any:
    """Joins the threads of all CTAs of a cluster: lanes first, unless states are those of ``warps``, then all warps.

    With ``everywhere`` all threads get the state, else those of the first warp of the first CTA. Where threads meet in
    their CTA before, that is one warp to the cluster.
    """
    kernel, plan = tile.kernel, tile.kernel.plan
    if meets_in_ctas(plan):
        state, _ = meet_in_cta(tile, state, place, warps=warps)
        warp, rows = kernel.number(0), 1
        first = kernel.is_first(place.warp if everywhere else place.position)
    else:
        state = state if warps else _in_warp(kernel, state, place)
        warp, rows, first = place.warp, plan.warps, kernel.is_first(place.lane)
    attributes = {"ctas": plan.cluster, "rows": rows, "slots": plan.states_apart} | _lanes(plan)
    attributes |= {"everywhere": True} if everywhere else {}
    attributes |= {"met": True} if everywhere and meets_in_ctas(plan) else {}
    if counts_bytes(plan, [bytes_of(element(t)) for t in kernel.states]):
        attributes |= {"counted": plan.slots}
    operands = [place.rank, warp, place.lane, place.slot, first, state]
    return kernel.stage("fold.cluster_reduce", [state.type], operands, attributes).results[0]


def _in_warp(kernel: Kernel, state: Any, place: Place) -> Any:
    """Joins the lanes of a warp whose elements are not one state yet."""
    lanes, summed = _lanes(place.plan), place.plan.lanes_summed
    if lanes["lanes"] == summed:
        return state
    lanes |= {"lanes": lanes["lanes"] // summed, "stride": lanes["stride"] * summed}
    return kernel.stage("fold.warp_reduce", [state.type], [state], lanes).results[0]


def meet_in_first_warp(tile: Tile, state: Any, place: Place, use: Callable[[Any], None]) -> None:
    """Joins the threads of a CTA by shuffles, and ``use`` the state in the first warp of each result alone."""
    state = _in_warp(tile.kernel, state, place)
    if place.plan.warps == 1:
        use(state)
        return
    slots, left = _left_by_warps(tile.kernel, state, place)
    with when(tile.kernel.is_first(place.warp)):
        use(_joined(tile.kernel, slots, left, place, place))


def _across_warps(tile: Tile, state: Any, place: Place) -> tuple[Any, Place]:
    """Joins warps: each leaves its states in shared memory, and threads take them by the plan for then."""
    kernel, met = tile.kernel, met_plan(tile.kernel.plan)
    slots, left = _left_by_warps(kernel, state, place)
    then = tile.place(met) if place.plan != met else place
    return _joined(kernel, slots, left, place, then), then


def _left_by_warps(kernel: Kernel, state: Any, place: Place) -> tuple[int, list[Any]]:
    """How many states each warp has left, and the buffers in shared memory where they are."""
    slot, slots, how = _left(kernel, place)
    buffers = [ir.Type.parse("!llvm.ptr<3>")] * len(kernel.states)
    operands = [place.warp, slot, kernel.is_first(place.lane), state]
    attributes = {"rows": place.plan.warps, "slots": slots} | how
    return slots, list(kernel.make_op("fold.shared_store", buffers, operands, attributes).results)


def _joined(kernel: Kernel, slots: int, left: list[Any], place: Place, then: Place) -> Any:
    """The state of all warps, for a thread that had a ``place`` and has another one ``then``."""
    joined = state_type([with_shape(t, then.plan.vector_kept) for t in kernel.states])
    operands = [then.lane, _found(kernel, place, then), *left]
    attributes = {"rows": place.plan.warps, "slots": slots} | _lanes(then.plan)
    if place.plan.warps & (place.plan.warps - 1):  # no butterfly joins so many: each lane takes all of them
        attributes |= {"lanes": 1, "stride": 1}
    return kernel.stage("fold.interwarp_accumulate", [joined], operands, attributes).results[0]


def _left(kernel: Kernel, place: Place) -> tuple[Any, int, dict[str, Any]]:
    """Where a thread leaves its states among those of its warp, how many a warp leaves, and how.

    Where accesses begin early, states lie as far on, so that those of a column lie at one place in all warps.
    """
    plan = place.plan
    if place.lead is None:
        return place.slot, plan.states_apart, {}
    slot = arith.addi(place.slot, kernel.number(plan.vector))
    return arith.subi(slot, place.lead), plan.slots + 2 * plan.vector, {"apart": True}


def _found(kernel: Kernel, place: Place, then: Place) -> Any:
    """Where a thread with the place ``then`` takes states from that were left by ``place``.

    Where accesses began early, threads without columns take the last ones.
    """
    if place.lead is None:
        return then.slot
    plan = place.plan
    last = plan.slots + plan.vector - then.plan.vector
    return arith.minsi(arith.addi(then.slot, kernel.number(plan.vector)), kernel.number(last))


def _in_memory(kernel: Kernel, state: Any, place: Place) -> Any:
    plan = kernel.plan
    if plan.positions == 1:
        return state
    scratch = [kernel.arg("exchange", i) for i in range(len(kernel.states)) if global_states(plan)]
    extents = {"rows": plan.positions, "lanes": plan.lanes, "slots": plan.slots}
    attributes = {"method": plan.cta, **extents, "ordered": layout_of(plan).ordered}
    operands = [place.position, place.slot, state, *scratch]
    return kernel.stage("fold.cta_reduce", [state.type], operands, attributes).results[0]


def _lanes(plan: Plan) -> dict[str, Any]:
    """The lanes of a warp that share a result, and how far apart they are."""
    layout = layout_of(plan)
    stride = layout.distance("lane", "reduced")
    ordered = layout.ordered or bool(plan.resident)  # so that all threads of a row have the same bits
    return {"lanes": layout.shared("lane"), "stride": stride, "ordered": ordered}


class Partials(Protocol):
    """Where partial states lie. A *part* holds one state of every result, from one CTA or cluster."""

    def cell(self, place: Place, parts: Any, /) -> tuple[Any, Any]:
        """Where in a part the thread's first state lies, and how far apart parts are."""

    def leaves(self, place: Place) -> Any:
        """Whether the thread leaves a state."""

    def second_round(self, place: Place, parts: Any) -> tuple[Any, Place]:
        """The state of all parts, of the results that the thread then has, and its place then."""


@dataclass(frozen=True, eq=False)
class RowPartials:
    """Partial states by part, row and column, of the results of a CTA."""

    tile: Tile

    def cell(self, place: Place, _parts: Any, /) -> tuple[Any, Any]:
        row, pitch = self.tile.row, self._pitch()
        if not self.tile.kernel.facts.by_row:
            return place.kept, pitch
        return arith.addi(arith.muli(row.number, pitch), place.kept), arith.muli(row.count(), pitch)

    def leaves(self, place: Place) -> Any:
        """Whether the thread leaves a state: also of results beyond the row, as the last vector of a row has."""
        found = place.owner
        if place.plan != self.tile.kernel.plan and self.tile.kernel.facts.bounded:
            within = self.tile.kernel.less(place.kept, self._pitch())
            found = arith.andi(within, self.tile.kernel.is_first(place.position))
        return found if place.inside is None else arith.andi(found, place.inside)

    def second_round(self, place: Place, parts: Any) -> tuple[Any, Place]:
        kernel, plan = self.tile.kernel, second_plan(self.tile.kernel.plan)
        if place.plan != kernel.plan:
            place = self.tile.place(plan)
        place = replace(place, plan=replace(place.plan, meet=""))  # states are added as they are
        span = span_of(kernel, place, plan, kernel.number(0), parts, parts)
        cell, pitch = self.cell(place, parts)
        attributes = load_attributes(1, 1, "kept", "coherent")

        def read(r: Any) -> list[Any]:
            return [
                kernel.make("fold.load", t, [kernel.arg("partial", i), cell, r, kernel.number(1), pitch], attributes,
                            plan.vector_kept)
                for i, t in enumerate(kernel.states)
            ]  # fmt: skip

        warps = makes_lists_of_warps(kernel, place.plan)
        known, unroll = (("warp",), 1) if warps else ((), plan.unroll)  # a list has the registers of many accesses
        state = reduce_span(kernel, place.plan, span, unroll, plan.vector_kept, read, known)
        return meet_in_cta(self.tile, state, place, warps=warps)

    def _pitch(self) -> Any:
        """The states of a row in a part: whole vectors, also where the last one reaches beyond the row."""
        kernel, columns = self.tile.kernel, self.tile.row.columns
        return rows_of_states(kernel.plan).places(columns, kernel) if kernel.facts.bounded else columns
