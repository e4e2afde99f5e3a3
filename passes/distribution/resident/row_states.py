"""The states of the parts of a row that several CTAs share: each leaves one, and waits for that of the row.

Rows abreast: what of a wide row a thread has, and where the states of the columns that are one lie.

The columns of a wide row are those of as many rows as lie abreast, one row after another. So the states of a part,
which are those of the columns of the wide row, are as many states of each column of the array, a row apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ....compiler.ir.build import address
from ....compiler.ir.combine import pack, unpack
from ....compiler.ir.dialect.base import element
from ....compiler.ir.mlir import arith, ir, scf
from ....compiler.plan.layout import rows_of_states
from ....compiler.plan.rounds import second_plan
from ..kernel import Kernel, load_attributes
from ..meeting import meet_in_cta, meet_in_first_warp
from ..place import Place, Tile
from ..reader import reduce_span, span_of
from .values import Values, fetched_first


def columns_of_row(kernel: Kernel) -> Any:
    """The columns of a row of the array."""
    return kernel.divide(kernel.arg("n_kept"), kernel.plan.abreast)


def end_abreast(kernel: Kernel, place: Place) -> Any:
    """Where the columns of a thread end: the last wide row lacks those of rows that do not exist.

    So it does for an access that goes on from the last row in one that does not exist.
    """
    whole = arith.subi(kernel.arg("n_kept"), kernel.arg("gap"))
    if kernel.plan.in_periods:
        whole = arith.subi(whole, kernel.number(kernel.plan.vector - 1))
    rows = kernel.arg("n_reduced")
    return arith.select(kernel.less(place.start, whole), rows, arith.subi(rows, kernel.number(1)))


def first_of_column(kernel: Kernel, place: Place) -> Any:
    """Whether a thread has the first of the columns that are one: it writes the result."""
    return kernel.less(place.kept, columns_of_row(kernel))


Make = Callable[[], Sequence[Any]]
"""What writes the ops of a branch, and gives its values."""


@dataclass(frozen=True, eq=False)
class RowStates:
    """The states of the parts of the rows of a tile.

    Attributes:
        kernel: the kernel.
        tiles: the tiles of rows.
        parts: the parts of a row.
        number: the number of the tile.
        part: the number of the part.
        tile, place: the tile, and the thread's place in it.
        together: whether the CTAs of a row run at a time: each then combines the states of all parts.
    """

    kernel: Kernel
    tiles: Any
    parts: Any
    number: Any
    part: Any
    tile: Tile
    place: Place
    together: bool = False

    def leave(self, number: int, state: list[Any]) -> None:
        """Leaves the state of the part in phase ``number``.

        The last CTA to do so combines those of the row, unless all do.
        """
        phase, i1 = self.kernel.of(number), ir.IntegerType.get_signless(1)

        def combine() -> list[Any]:
            with phase.reduce.location:
                self._meet(phase, self._combined(phase), phase.number(0))
            self._count("fold.signal", number)
            return []

        with phase.reduce.location:
            self._meet(phase, pack(state), self.part)
        if self.together:
            self._count("fold.signal", number)
            return
        branched(self._count("fold.arrive", number, [i1]).results[0], [], combine)

    def fold(self, values: Values, reduced: Callable[[Kernel], list[Any]]) -> None:
        """Folds the row, phase after phase: what the phases leave is known of its ``values`` then.

        ``reduced`` gives what the elements of the thread combine to in a phase.
        """
        values.prepare(fetched_first(values))
        for number in range(len(self.kernel.phases)):
            phase = self.kernel.of(number)
            with phase.reduce.location:
                state = reduced(phase)
            self.leave(number, state)
            self.wait(number)
            values.kept.update(self.published(number))

    def wait(self, number: int) -> None:
        """Waits for the state of the row in phase ``number``."""
        self._count("fold.await", number)

    def published(self, number: int) -> Mapping[Any, Any]:
        """What phase ``number`` reduces a row to: it lies in the place of that of the first part."""
        phase = self.kernel.of(number)
        with phase.reduce.location:
            return dict(zip(phase.reduced, self._whole(phase), strict=True))

    def _whole(self, phase: Kernel) -> list[Any]:
        """The state of the whole row, for all threads of the CTA."""
        if not self.together:
            return self._read(phase, self.place.start, phase.number(0), self._pitch())
        tile = replace(self.tile, row=replace(self.tile.row, kernel=phase))
        return unpack(meet_in_cta(tile, self._combined(phase), self.place)[0])

    def _count(self, op: str, phase: int, types: Sequence[Any] = ()) -> Any:
        """An op on the counter of a phase of these rows. The first counter is that of the tickets.

        Columns of rows abreast have states in all tiles, so that all of these have one counter.
        """
        kernel, own, parts = self.kernel, self.number, self.parts
        if kernel.plan.abreast:
            own, parts = kernel.number(0), arith.muli(parts, self.tiles)
        number = arith.addi(arith.muli(self.tiles, kernel.number(phase)), arith.addi(own, kernel.number(1)))
        number = kernel.scaled(number, kernel.plan.counter_words)
        attributes = {"all": True} if self.together else {}
        return kernel.make_op(op, list(types), [kernel.arg("counter"), number, parts], attributes)

    def _meet(self, phase: Kernel, state: Any, part: Any) -> None:
        """Joins the states of the threads, and leaves what comes out in the place of the state of ``part``."""
        tile = replace(self.tile, row=replace(self.tile.row, kernel=phase))
        meet_in_first_warp(tile, state, self.place, lambda met: self._store(phase, unpack(met), part))

    def _store(self, phase: Kernel, state: list[Any], part: Any) -> None:
        """Stores a state in the place of that of ``part``."""
        at = arith.muli(part, self._pitch())
        for pointer, value in zip(partials_of(phase), state, strict=True):
            begin = address(pointer, at, element(value.type))
            operands = [value, begin, self.place.kept, self.place.owner, phase.number(1)]
            attributes = {"kept_rank": 1, "reduced_rank": 0, "vector": phase.plan.vector_kept > 1}
            phase.make_op("fold.store", [], operands, attributes)

    def _combined(self, phase: Kernel) -> Any:
        """What a thread makes of the states of the parts of the row."""
        plan, parts, kept, pitch = second_plan(phase.plan), self.parts, self.place.kept, self._pitch()
        if plan.abreast:  # each part has as many states of a column as rows lie abreast
            parts, pitch = phase.scaled(parts, plan.abreast), columns_of_row(phase)
            kept = arith.remui(kept, pitch)
        span = span_of(phase, self.place, plan, phase.number(0), parts, parts)

        def read(r: Any) -> list[Any]:
            return self._read(phase, kept, r, pitch)

        return reduce_span(phase, plan, span, plan.unroll, plan.vector_kept, read)

    def _read(self, phase: Kernel, kept: Any, part: Any, pitch: Any) -> list[Any]:
        """What lies in the place of the states of ``part``, of the rows from ``kept`` on; parts are ``pitch`` apart."""
        operands, attributes = [kept, part, phase.number(1), pitch], load_attributes(1, 1, "kept", "coherent")
        return [
            phase.make("fold.load", t, [pointer, *operands], attributes, phase.plan.vector_kept)
            for pointer, t in zip(partials_of(phase), phase.states, strict=True)
        ]

    def _pitch(self) -> Any:
        """The states of all rows for one part of each."""
        return rows_of_states(self.kernel.plan).places(self.kernel.arg("n_kept"), self.kernel)


def partials_of(phase: Kernel) -> list[Any]:
    """The arrays of the states of a phase: those of all phases follow each other."""
    before = sum(len(p.sources) for p in phase.phases[: phase.phase])
    return [phase.arg("partial", before + i) for i in range(len(phase.states))]


def branched(condition: Any, types: Sequence[Any], make: Make, otherwise: Make | None = None) -> list[Any]:
    """What ``make`` gives in a branch for a condition, values of ``types``; in one for the opposite ``otherwise``."""
    branch = scf.IfOp(condition, types, has_else=otherwise is not None)
    blocks = [(branch.then_block, make), *([(branch.else_block, otherwise)] if otherwise else [])]
    for block, own in blocks:
        with ir.InsertionPoint(block):
            scf.YieldOp(own())
    return list(branch.results)
