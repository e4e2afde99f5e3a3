"""An array program of which every rank has a shard of some arrays, as stages: states travel between these.

The program is traced for the whole arrays. A *cut dim* is one along which shards lie. A fold over a cut dim has to meet
the other ranks: each rank folds its own elements, the states of all ranks are gathered, and the next stage folds these,
in the order of the ranks, along a dim of its own. Stage k leaves the states of all folds that wait for k such meetings,
and the results that are known then. All other folds, and everything elementwise, is of the rank's own elements.

The softmax of rows that are cut has two stages, since the online form has one fold::

    stage 0   states     max, sum = Fold(LOGSUMEXP, over {1})(x, 1)           of the rank's own columns
    stage 1   result     exp(x - m) / s,  m, s = Fold(LOGSUMEXP, over {ranks})(gathered max, gathered sum)

Values are made again in each stage that needs them; only states travel.

A program without the array arguments that nothing reads: fewer arguments for each launch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from ...dtypes import DType
from ..array_layouts import Output, View
from ..array_program import ArrayProgram, Fold
from ..graph import Expr, rewrite, walk
from ..rewrites.one_hot import without_unread
from ..rewrites.online import online
from ..tracing import Structure
from .cut_dims import CutDims, Lying, Number, Places


def pruned(program: ArrayProgram) -> tuple[ArrayProgram, tuple[int, ...]]:
    """The program, and the numbers of the arguments that it takes.

    They are those that it reads, or has slices or bits of, and one for the size of each dim that none of these has.
    """
    program = without_unread(program)
    whole = [*(v.array for v in program.views), *(s.array for s in program.slices), *(b.array for b in program.bits)]
    read = {program.argument(a) for a in whole}
    for pairs in program.dims:
        if not any(a < 0 or program.argument(a) in read for a, _ in pairs):
            read.add(program.argument(pairs[0][0]))
    kept = tuple(sorted(read))
    n, places = len(program.arrays), {a: i for i, a in enumerate(kept)}

    def place(array: int) -> int:
        """The new number of an array, of a slice, or of bits."""
        return places[array] if 0 <= array < n else array - (n - len(kept)) if array >= n else array

    there = {*range(-len(program.bits), 0), *read, *range(n, n + len(program.slices))}
    found = replace(
        program,
        arrays=tuple(program.arrays[a] for a in kept),
        dims=tuple(tuple((place(a), axis) for a, axis in pairs if a in there) for pairs in program.dims),
        views=tuple(v._replace(array=place(v.array)) for v in program.views),
        sizes=tuple((place(a), axis, size) for a, axis, size in program.sizes if a in there),
        splits=tuple(s._replace(array=place(s.array)) for s in program.splits if s.array in there),
        slices=tuple(s._replace(array=place(s.array)) for s in program.slices),
        bits=tuple(b._replace(array=place(b.array)) for b in program.bits),
    )
    return found, kept


class Kept(NamedTuple):
    """One value of a state that travels.

    Attributes:
        dtype: its element type.
        dims: the dims along which it lies, outermost first.
    """

    dtype: DType
    dims: tuple[int, ...]


@dataclass(frozen=True)
class Stages:
    """What a rank runs.

    Attributes:
        stages: the programs, in order.
        taken: what each takes of the arrays, the numbers, and the gathered states of all stages before, which have the
            ranks along their first axis: places in these, one after another.
        states: for each stage but the last one the values of the states that it leaves, before its results.
        written: for each stage the numbers of the results that it writes.
        idle: for each stage but the last one what a rank without elements runs in its place: the results alone, and
            what that takes; None where it has none.
        structure: how the results nest.
        numbers: the numbers that depend on the rank and on the extents of all shards.
        dims: for each array the dim along which its shards lie; None for an array that every rank has.
        results: for each result how its shards lie; None for one that every rank has.
    """

    stages: tuple[ArrayProgram, ...]
    taken: tuple[tuple[int, ...], ...]
    states: tuple[tuple[Kept, ...], ...]
    written: tuple[tuple[int, ...], ...]
    idle: tuple[tuple[ArrayProgram, tuple[int, ...]] | None, ...]
    structure: Structure
    numbers: tuple[Number, ...]
    dims: tuple[int | None, ...]
    results: tuple[Lying | None, ...]


@lru_cache(maxsize=1024)
def stages_of(program: ArrayProgram, axes: tuple[int | None, ...], *, late: bool = False) -> Stages:
    """The stages of ``program``.

    Args:
        program: the program, traced for whole arrays.
        axes: the axis along which each array is cut; None for an array that every rank has.
        late: whether the last stage writes all results, which may then take the place of arrays that others read.

    Raises:
        ArgumentError: WF173 for a program that cannot be cut so.
    """
    cut = CutDims.of(program, axes)
    whole = online(program, lambda _, over: bool(over & cut.space))
    cut.check(whole)
    meets = _meetings(whole, cut)
    last = max((meets[e.digest] for e in whole.roots), default=0)
    folds = [e for e in walk(whole.roots) if e.op == "fold" and cut.meets(e)]
    phases = [[f for f in folds if meets[f.digest] == k + 1] for k in range(last)]
    made = _Stage(whole, cut)
    results = range(len(whole.outputs) - len(whole.checks))
    when = [last if late else meets[whole.outputs[i].expr.digest] for i in results]
    known = [tuple(i for i in results if when[i] == k) for k in range(last + 1)]
    stages = [made.stage(phases[:k], phase, known[k]) for k, phase in enumerate(phases)]
    idle = [made.stage(phases[:k], (), known[k]) if known[k] else None for k in range(last)]
    stages.append(made.stage(phases, (), known[last], whole.checks))
    numbers = made.places.numbers
    found, taken = zip(*(made.finished(s, numbers) for s in stages), strict=True)
    return Stages(
        found,
        taken,
        tuple(tuple(Kept(t, whole.dims_of(f.space)) for f in phase for t in _types(f)) for phase in phases),
        tuple(known),
        tuple(s and made.finished(s, numbers) for s in idle),
        whole.structure,
        tuple(numbers),
        tuple(map(cut.dim_of, range(len(axes)))),
        tuple(cut.lying(whole.outputs[i]) for i in results),
    )


def _meetings(program: ArrayProgram, cut: CutDims) -> dict[str, int]:
    """For each node how many meetings of the ranks come before it is known."""
    found: dict[str, int] = {}
    for e in walk(program.roots):
        found[e.digest] = max((found[a.digest] for a in e.args), default=0) + (e.op == "fold" and cut.meets(e))
    return found


def _types(fold: Expr) -> tuple[DType, ...]:
    """The types of the values of its state."""
    return tuple(a.dtype for a in fold.args)


class _Draft(NamedTuple):
    """A stage before all numbers are known: what it reads of states, and what it writes."""

    name: str
    states: tuple[Kept, ...]
    outputs: tuple[Output, ...]
    checks: tuple[str, ...]


class _Stage:
    """Makes stages of one program.

    Attributes:
        whole: the program.
        places: the numbers of its elements on a rank.
    """

    def __init__(self, whole: ArrayProgram, cut: CutDims) -> None:
        self.whole, self.cut = whole, cut
        self.places = Places(whole, cut.space, len(whole.views))

    def stage(
        self, before: Sequence[Sequence[Expr]], phase: Sequence[Expr], results: Sequence[int],
        checks: tuple[str, ...] = (),
    ) -> _Draft:  # fmt: skip
        """The stage that leaves the states of the folds of a phase, and writes results, where states are gathered.

        Args:
            before: the folds whose states are, by phases.
            phase: the folds whose states it leaves.
            results: the numbers of its results.
            checks: those of the program, in its last stage.
        """
        whole = self.whole
        outputs = [
            Output(Expr("result", (f,), t, f.space, i), whole.dims_of(f.space), t)
            for f in phase
            for i, t in enumerate(_types(f))
        ]
        outputs += [whole.outputs[i] for i in results]
        outputs += whole.outputs[len(whole.outputs) - len(checks) :]
        name = f"{whole.name}_states" if phase else whole.name
        swapped: dict[str, Expr] = {}
        states: list[Kept] = []
        for f in (f for phase in before for f in phase):
            swapped |= self._gathered(f, len(states))
            states += [Kept(t, self.whole.dims_of(f.space)) for t in _types(f)]
        roots = self.places.local(rewrite(tuple(o.expr for o in outputs), swapped))
        own = tuple(o._replace(expr=e) for o, e in zip(outputs, roots, strict=True))
        return _Draft(name, tuple(states), own, checks)

    def _gathered(self, fold: Expr, first: int) -> dict[str, Expr]:
        """What takes the place of the results of a fold: those of a fold of the gathered states, in their order."""
        assert isinstance(fold.value, Fold)
        ranks = len(self.whole.dims)
        args = tuple(
            Expr("input", (), t, fold.space | 1 << ranks, _StateView(first + i)) for i, t in enumerate(_types(fold))
        )
        order = () if fold.value.monoid.commutative else (ranks,)
        value = Fold(fold.value.monoid, 1 << ranks, order)
        made = replace(fold, args=args, value=value)
        old, new = ([Expr("result", (f,), t, fold.space, i) for i, t in enumerate(_types(fold))] for f in (fold, made))
        return {o.digest: n for o, n in zip(old, new, strict=True)}

    def finished(self, draft: _Draft, numbers: Sequence[Number]) -> tuple[ArrayProgram, tuple[int, ...]]:
        """A stage as a program of arrays, numbers and states, and which of these it takes."""
        whole, n = self.whole, len(self.whole.arrays)
        added = len(numbers) + len(draft.states)
        ranks = len(whole.dims)

        def moved(array: int) -> int:
            return array + added if array >= n else array

        dims = [[(moved(array), axis) for array, axis in pairs] for pairs in whole.dims]
        if draft.states:
            dims.append([])
        views = [v._replace(array=moved(v.array)) for v in whole.views]
        views += [View(n + i, ()) for i in range(len(numbers))]
        for i, kept in enumerate(draft.states):
            array = n + len(numbers) + i
            for axis, d in enumerate((ranks, *kept.dims)):
                dims[d].append((array, axis))
            views.append(View(array, (ranks, *kept.dims)))
        first = len(whole.views) + len(numbers)
        roots = _numbered([o.expr for o in draft.outputs], first)
        found = replace(
            whole,
            name=draft.name,
            arrays=(*whole.arrays, *(x.dtype for x in numbers), *(k.dtype for k in draft.states)),
            dims=tuple(map(tuple, dims)),
            views=tuple(views),
            outputs=tuple(o._replace(expr=e) for o, e in zip(draft.outputs, roots, strict=True)),
            structure=("", (), tuple(range(len(draft.outputs) - len(draft.checks)))),
            sizes=tuple((moved(a), axis, size) for a, axis, size in whole.sizes if not self.cut.is_cut(a, axis)),
            checks=draft.checks,
            splits=tuple(s._replace(array=moved(s.array)) for s in whole.splits),
            slices=tuple(s._replace(array=moved(s.array)) for s in whole.slices),
            bits=tuple(b._replace(array=moved(b.array)) for b in whole.bits),
        )
        return pruned(found)


class _StateView(NamedTuple):
    """In place of the number of a view: that of a gathered state."""

    number: int


def _numbered(roots: Sequence[Expr], first: int) -> tuple[Expr, ...]:
    """Expressions with the views of states, which begin at ``first``, by their numbers."""
    swaps: Mapping[str, Expr] = {
        e.digest: replace(e, value=first + e.value.number)
        for e in walk(tuple(roots))
        if isinstance(e.value, _StateView)
    }
    return rewrite(tuple(roots), dict(swaps))
