"""The partial states that CTAs leave in global memory, and the round over them in the CTA that comes last."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

from ...compiler.ir.mlir import arith
from ...compiler.plan.layout import rows_of_states
from ...compiler.plan.rounds import second_plan
from .kernel import load_attributes
from .meeting import meet_in_cta
from .place import Place, Tile
from .span import makes_lists_of_warps, reduce_span, span_of


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
