"""Lower bounds for what the kernels of a reduction execute under their plans; ``profile`` shows them beside its counts.

The bounds follow from plan, launch, sizes and element types alone; docs/profiler.md derives them. Addresses, moves,
conversions, loops and the code before and after the fold count as nothing, so that a profile shows what they cost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..compiler.driver.artifact import Artifact, CompiledKernel
from ..compiler.dtypes import DType
from ..compiler.plan import tiles
from ..compiler.plan.fields import IN_TILE
from ..compiler.plan.launch import Launch, launch
from ..compiler.plan.layout import layout_of
from ..compiler.plan.plan import ROWS_A_ROUND, Plan
from ..compiler.plan.rounds import met_plan, second_plan
from ..compiler.plan.shared_memory import counts_bytes
from ..compiler.program.analysis.atomic import operation
from ..compiler.program.graph import Expr, MonoidGraph
from ..compiler.space.geometry import Geometry
from ..compiler.target import WARP
from ..runtime.prepare import Prepared

WIDEST = 16
"""Bytes of the widest access of a thread."""
REQUEST = WARP * WIDEST
"""Bytes of the widest request of a warp."""
WORD = 4
_REDUX = ("add", "and", "or", "xor", "min", "max")

Counts = Counter[str]
"""Instructions of a warp by their class, and memory requests of a warp by space and kind: ``global load``."""


@dataclass(frozen=True)
class Task:
    """One launch of one kernel.

    Attributes:
        plan, run: the kernel's plan, and its launch.
        n_kept, n_reduced: results, and elements of each result.
        inputs, state, outputs: the element types of the inputs, of the state and of the outputs.
        votes: whether one vote or one ``redux`` replaces the rounds of shuffles.
        results: results whose elements a CTA copies into shared memory; 0 where no CTA copies any.
        copied: for each input, the elements that are copied, or None where it is read in place; empty without copies.
        alike: values of the state that are the same for all results of a thread, such as the count of elements.
    """

    plan: Plan
    run: Launch
    n_kept: int
    n_reduced: int
    inputs: tuple[DType, ...]
    state: tuple[DType, ...]
    outputs: tuple[DType, ...]
    votes: bool = False
    results: int = 0
    copied: tuple[int | None, ...] = ()
    alike: frozenset[int] = frozenset()

    @property
    def ctas(self) -> int:
        """CTAs of the grid."""
        return self.run.tiles * self.run.split

    @property
    def warps(self) -> int:
        """Warps of a CTA."""
        return self.plan.threads // WARP

    @property
    def turns(self) -> int:
        """How often ``plan.slots`` results are reduced in all: a CTA does so once, or several times with a tile."""
        if not self.results:
            return self.ctas
        turns, left = _over(self.results, self.plan.slots), self.n_kept - (self.run.tiles - 1) * self.results
        return (self.run.tiles - 1) * turns + _over(left, self.plan.slots)

    @property
    def owned(self) -> int:
        """Results of one warp."""
        return min(self.n_kept, self.plan.slots // self.plan.warps_kept)

    @property
    def owners(self) -> int:
        """Warps that own results, in all CTAs of one part."""
        return _over(self.n_kept, self.owned) if self.owned else 0


def ideals(ready: Prepared, compiled: Artifact) -> list[Counts]:
    """The lower bounds of each launch of a reduction, in order."""
    return [least(_task(ready, compiled, kernel)) for kernel in compiled.kernels if ready.geometry.n_kept]


def _task(ready: Prepared, compiled: Artifact, kernel: CompiledKernel) -> Task:
    """The launch of ``kernel``, as ``runtime/backends/kernel_calls.py`` makes it."""
    run, n_kept, program = ready.choice.run, ready.geometry.n_kept, ready.program
    votes = _votes(operation(program.monoid), kernel.plan, compiled.state, ready.target.has_redux)
    task = Task(
        kernel.plan, run, n_kept, ready.geometry.n_reduced, compiled.inputs, compiled.state, compiled.outputs, votes,
        alike=_alike(program.reduces[0]),
    )  # fmt: skip
    if kernel.role == "main":
        return replace(task, **_tile(ready.geometry, run, kernel.facts.access)) if run.units else task
    parts = {"init": 0, "second": compiled.plan.parts(run.split) if compiled.plan.finish == "two_kernels" else 1}[
        kernel.role
    ]
    outputs = compiled.state if kernel.role == "init" else compiled.outputs
    if left := ready.geometry.after:
        n_kept, parts = left.n_kept, parts * left.n_reduced
    second = launch(kernel.plan, n_kept, parts)
    return replace(task, run=second, n_kept=n_kept, n_reduced=parts, inputs=compiled.state, outputs=outputs)


def _alike(reduce: Expr) -> frozenset[int]:
    """The values of a state that depend on no element."""
    graph = reduce.value
    assert isinstance(graph, MonoidGraph)
    width = len(graph.state)

    def params(e: Expr) -> set[int]:
        return {int(str(e.value)) % width} if e.op == "param" else {p for a in e.args for p in params(a)}

    found = {i for i, lifted in enumerate(reduce.args) if lifted.op == "const"}
    while left_out := {i for i in found if not params(graph.combine[i]) <= found}:
        found -= left_out
    return frozenset(found)


def _tile(g: Geometry, run: Launch, access: Sequence[str]) -> dict[str, Any]:
    """The fields of a task whose CTAs copy their elements."""
    units = g.n_kept // tiles.results(g)
    own = [tiles.unit(g, i) if a in IN_TILE else None for i, a in enumerate(access)]
    copied = tuple(None if u is None else units * u.count * (u.span > 0) for u in own)
    return {"results": run.units * tiles.results(g), "copied": copied}


def _votes(name: str, plan: Plan, state: Sequence[DType], redux: bool) -> bool:
    """Whether lanes combine by one instruction: a ballot for truth values, ``redux`` for the words of a whole warp."""
    if len(state) != 1:
        return False
    if state[0].kind == "bool":
        return name in ("and", "or")
    return redux and plan.lanes == WARP and state[0].is_integer and state[0].bits == 32 and name in _REDUX


def least(task: Task) -> Counts:
    """The lower bounds of one launch."""
    elements = task.n_kept * task.n_reduced
    found = _copied(task) if task.results else _read(elements, task.inputs)
    found += _folded(task, task.n_reduced, task.turns)
    if task.n_reduced > 1:
        found += _met(task, task.turns) if task.plan.cluster == 1 else _gathered(task)
    found += _finished(task)
    found["control"] = task.warps * task.ctas  # every warp returns
    for kind in ("load", "store", "atomic"):
        found[kind] = sum(n for what, n in found.items() if what.endswith(f" {kind}"))
    return found


def _read(elements: int, types: Sequence[DType], at_least: int = 0) -> Counts:
    return Counter({"global load": sum(max(at_least, _over(elements * t.itemsize, REQUEST)) for t in types)})


def _copied(task: Task) -> Counts:
    """All threads copy elements, wait for each other once, and read the copy; they read other inputs in place."""
    own, elements = task.copied, task.n_kept * task.n_reduced
    whole = sum(_over(n * t.itemsize, REQUEST) for n, t in zip(own, task.inputs, strict=True) if n is not None)
    each = sum(n is not None for n in own) * _over(elements, WARP * task.plan.vector)
    read = _read(elements, [t for n, t in zip(own, task.inputs, strict=True) if n is None])
    own_barrier = {"barrier": task.warps * task.ctas}
    return read + Counter({"global load": whole, "shared store": whole, "shared load": each, **own_barrier})


def _folded(task: Task, n_reduced: int, ctas: int) -> Counts:
    """Each thread of ``ctas`` CTAs combines its elements of each of its results: one combine fewer than elements."""
    own = WARP * task.warps * ctas * (task.plan.vector // task.plan.vector_reduced)
    return _combined(task, max(0, task.n_kept * n_reduced - own) / WARP)


def _combined(task: Task, times: float) -> Counts:
    """``times`` combines of a warp's states; one instruction combines a value, or several narrow ones in a word."""
    found = Counter[str]()
    for t in task.state:
        found["float" if t.is_float else "integer"] += _over(int(times * min(t.itemsize, WORD)), WORD)
    return found


def _met(task: Task, ctas: int) -> Counts:
    """The positions of each of ``ctas`` CTAs combine their states."""
    if layout_of(task.plan).chunked == "flat":
        once = _of_rows(task)
    else:
        once = _shuffled(task) if task.plan.cta == "shuffle" else _exchanged(task)
    return Counter({what: n * ctas for what, n in once.items()})


def _of_rows(task: Task) -> Counts:
    """One CTA with a period: each thread leaves a state for each element of its access, and columns are combined."""
    rows, columns, found = task.run.rows, task.n_kept // task.run.tiles, Counter[str]()
    places, each = rows * columns, task.plan.vector
    found["shared store"] = _over(places, WARP * each) * sum(_over(each * t.itemsize, WIDEST) for t in task.state)
    found["shared load"], found["barrier"] = _requests(task, places), task.warps
    while rows > 1:
        rows = _over(rows, ROWS_A_ROUND)
        found["shared store"] += _over(rows * columns, WARP) * len(task.state)
        found["barrier"] += task.warps
    return found + _combined(task, (places - columns) / WARP)


def _gathered(task: Task) -> Counts:
    """The warps of each cluster leave their states in its first CTA, once a barrier of the cluster says that it runs.

    Positions that have combined their states in memory count as one warp. A barrier is an arrival and a wait. There is
    a second one where no mbarrier counts what has come.
    """
    plan = task.plan
    once = _within_warps(task) if plan.cta == "shuffle" else _exchanged(task)
    found = Counter({what: n * task.ctas for what, n in once.items()})
    rows, warps = (plan.warps, task.warps) if plan.cta == "shuffle" else (1, plan.warps_kept)
    again = _joined(task, rows * plan.cluster)
    found += Counter({what: n * (task.ctas // plan.cluster) for what, n in again.items()})
    found["shared store"] += task.ctas * warps * _stores(task)
    barriers = 1 if counts_bytes(plan, [t.itemsize for t in task.state]) else 2
    found["barrier"] += 2 * barriers * task.ctas * task.warps
    return found


def _shuffled(task: Task) -> Counts:
    """One CTA: rounds among the lanes of all warps; then one warp of each group along the reduced axis joins them.

    By then ``met_plan`` assigns results to threads.
    """
    found = _within_warps(task)
    if task.plan.warps > 1:
        found += _joined(replace(task, plan=met_plan(task.plan)), task.plan.warps)
        found["shared store"] = task.warps * _stores(task)
        found["barrier"] = task.warps
    return found


def _stores(task: Task) -> int:
    """The stores by which a lane leaves its states in shared memory: neighbouring results of each value."""
    return sum(_over(task.plan.vector_kept * t.itemsize, WIDEST) for t in task.state)


def _within_warps(task: Task) -> Counts:
    """One CTA: the rounds among the lanes of all warps."""
    rounds = task.plan.lanes.bit_length() - 1
    votes = Counter({"vote": task.warps * task.plan.vector_kept * (rounds > 0)})
    return votes if task.votes else _rounds(task, task.warps * rounds)


def _joined(task: Task, rows: int) -> Counts:
    """For each warp along the kept axis, one warp loads the states of ``rows`` warps and combines them."""
    plan, again = task.plan, min(rows, task.plan.lanes)
    left = rows * plan.slots // plan.warps_kept
    found = _rounds(task, plan.warps_kept * (again.bit_length() - 1))
    found += _combined(task, plan.warps_kept * (rows // again - 1) * plan.vector_kept)
    found["shared load"] = plan.warps_kept * sum(_over(left * t.itemsize, REQUEST) for t in task.state)
    return found


def _rounds(task: Task, rounds: int) -> Counts:
    """``rounds`` rounds of a butterfly, each by one warp: it shuffles the words of the state, and combines them."""
    width = task.plan.vector_kept
    words = _over(sum(t.itemsize * (1 if i in task.alike else width) for i, t in enumerate(task.state)), WORD)
    return Counter({"shuffle": rounds * words}) + _combined(task, rounds * width)


def _exchanged(task: Task) -> Counts:
    """One CTA with a buffer of states: each round waits, takes states, and, but for the last, leaves as many."""
    plan, found = task.plan, Counter[str]()
    if plan.positions == 1:
        return found
    halves = [1 << k for k in reversed(range(plan.positions.bit_length() - 1))]
    taken = [plan.positions - 1] if plan.cta == "serial" else halves
    one_warp = plan.lanes if plan.cta in ("warp_sync", "unrolled") else 1
    for count in taken:
        states = count * plan.slots
        found["barrier"] += task.warps if count >= one_warp // 2 else plan.warps_kept
        found[f"{plan.exchange} load"] += _requests(task, states)
        found += _combined(task, count * _over(plan.slots, WARP) if plan.cta == "serial" else states / WARP)
    left = sum(_requests(task, count * plan.slots) for count in taken[:-1])
    found[f"{plan.exchange} store"] = left + task.warps * len(task.state)
    return found


def _requests(task: Task, states: int) -> int:
    return sum(_over(states * t.itemsize, REQUEST) for t in task.state)


def _finished(task: Task) -> Counts:
    """The owners of results write them, leave them to another CTA or kernel, or add them by atomics."""
    plan, tiles, parts = task.plan, task.run.tiles, task.plan.parts(task.run.split)
    written = Counter(
        {"global store": task.owners * sum(_over(task.owned * t.itemsize, REQUEST) for t in task.outputs)}
    )
    if plan.finish == "cta":
        return written
    if plan.finish == "atomic":
        return Counter({"global atomic": parts * task.owners * len(task.state) * _over(task.owned, WARP)})
    left = Counter({"global store": parts * task.owners * _requests(task, task.owned)})
    if plan.finish == "two_kernels":
        return left
    ctas = tiles * parts
    tickets = {"global atomic": ctas, "shared store": ctas, "shared load": task.warps * ctas,
               "barrier": 2 * task.warps * ctas}  # fmt: skip
    last = replace(task, plan=second_plan(plan))
    second = _read(task.n_kept * parts, task.state, tiles) + _folded(last, parts, tiles)
    return written + left + Counter(tickets) + second + (_met(last, tiles) if parts > 1 else Counter())


def _over(n: int, by: int) -> int:
    """``n`` divided by ``by``, rounded up."""
    return -(-n // by)
