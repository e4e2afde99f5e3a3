"""The planner: which plan serves a geometry on a target. A pure function that can say why.

Rules, with the reason beside each number. Nothing here reads a device; ``sms`` is all it knows of one. Each plan is one
of a few: sizes and strides are arguments of a kernel, and a program must not ask for a kernel for every shape.

Here are the lanes, warps and accesses of a result; ``access.py`` says what the layout allows, ``split.py`` how many
CTAs share a result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from . import staged, tiles
from .abi import Facts
from .access import WIDEST, access, ceil2, large, nearest, planned, ranks, stores_vector
from .atomic import adds, exact, operation
from .cost import operations
from .dtypes import DType
from .errors import error
from .geometry import Geometry
from .period import periodic, rows_without_gaps
from .plan import STATIC_SHARED, Access, Launch, Plan, check, differing, launch, settled
from .repeats import repetitions
from .split import CLUSTER_FROM, CLUSTER_TO, CLUSTER_WARPS, THREADS, clustered, ctas, ctas_of, parts_of
from .staggered import WIDEST as WIDEST_STAGGERED
from .staggered import serves, staggered
from .target import WARP
from .task import PORTABLE_SMS, Choice, Notes, Task

__all__ = (
    "CLUSTER_FROM", "CLUSTER_TO", "CLUSTER_WARPS", "THREADS", "WIDEST",
    "Choice", "Task", "ceil2", "choose", "ctas", "exact", "facts", "launch_of", "operation",
)  # fmt: skip

IN_FLIGHT = 64
"""Bytes one thread should have in flight: with 1024 resident threads an SM then has 64 KiB under way, twice what
latency times bandwidth asks for (about 35 KiB on an H200). More only makes the code longer."""
IN_FLIGHT_OF_SEVERAL_DIMS = 128
"""The same where an address takes divisions, which wait less with more of them under way."""
STATE_LIMIT = 32
"""Registers of accumulator a thread may hold: room for 16 bytes of any element type that widens to a 64-bit sum. Along
the kept axis, where all stages carry them, half as many."""
VALUES_LIMIT = 64
"""Registers of values a thread may have in flight beside them: with the addresses that makes at most 128 or so, and
nothing spills."""
CODE_LIMIT = 160
"""Operations of combines an unrolled step may hold for one element: more take long to compile and fall out of the
instruction cache. Where counts are known, as in the tree of a step, much of a combine folds away."""
UNROLL = 8
"""Accesses in flight at most."""
UNROLL_OF_SHORT = {1: 1, 2: 2, 4: 2, 8: 2}
"""The same for rows that get so few threads: more would find nothing to read."""
UNROLL_OF_SHIFTED = 2
"""The same for rows that begin anywhere: the first and the last so many of a thread are masked, which costs
instructions."""
MASKED = 8
"""Elements of such a step of rows that get a warp or less."""
ROW = 128
"""Threads of a row that one CTA of four warps reads in a few steps."""
THREADS_A_ROW = ((5, 1), (32, 4), (128, 16), (224, WARP), (4096, ROW))
"""(accesses, threads): rows of so many wide accesses at most get so many threads; longer ones a CTA of THREADS. Rows of
one thread lie side by side, so that a warp reads neighbours anyway; four lanes read 64 bytes in a row; up to a warp
needs no shared memory."""
LONG_COMBINE = 16
"""Operations that join the elements of an access, from which on threads of a row have more accesses each: else they
would spend their time on what they do once, which is to join these and to meet."""
THREADS_A_ROW_OF_LONG = {1: ((5, 1), (32, 4), (512, 16), (4096, WARP)), LONG_COMBINE: ((32, 4), (256, 8), (4096, WARP))}
"""THREADS_A_ROW where that is so, by the operations of one combine."""
THREADS_OF_BYTES = ((64, 1), (192, 4), (800, 8))
"""(bytes, threads): rows that are read by single elements get so many threads up to so many bytes; others a warp."""
WARP_TO = 1024
"""Elements up to which a row that is read one by one gets a warp and no more."""
FEW = 8
"""Warps per SM that fill the machine. Where results at a warp each are fewer, each gets more threads."""
THREADS_A_ROW_OF_FEW = {"wide": ((2, 1), (4, 4), (64, WARP)), "single": ((4, 1), (16, 4), (64, WARP))}
"""The same where results are few."""
LANES_OF_SEVERAL_DIMS = 8
"""Lanes of a row, unless it gets a CTA, where dims did not merge: a compromise, so that such layouts have few plans."""
SHIFTED = {1: 2, 2: 4, 4: 12, 8: 48}
"""Accesses that a row must have, by the bytes of an element, before it is read in vectors from the boundary before it:
the masks at both its ends cost as much as reading a few elements one by one. Loads of four bytes and more by neighbours
fill whole sectors anyway."""
FOUR, ONE = 8, 0.75
"""Accesses for each element of one: such rows of fewer get four threads or one, so that few of the elements that these
read are masked; longer ones, up to MOST_OF_A_WARP accesses, get a warp."""
MOST_OF_A_WARP = 1024
LANES_KEPT = {"wide": 8, "single": WARP}
"""Lanes along the kept axis where warps share the reduced one: they read 128 bytes in a row."""
NARROW = {"wide": ((2, 2), (4, 4)), "single": ((8, 4),)}
"""(accesses, lanes): kept axes of up to so many accesses get so many lanes, where the reduced axis is long."""
BYTES_IN_FLIGHT = 32
"""Elements of a byte that a thread has in flight at most, where it has a state for each of an access."""
SHORT = 256
"""Elements of the reduced axis that a thread walks alone, when lanes lie along the kept axis and fill the machine."""
WRITTEN = 2
"""Times the bytes of a result that its elements take, up to which a thread reads no more results than the WIDEST bytes
hold: such results are a third of the traffic or more, and neighbouring lanes write them side by side."""
FEW_ROWS, HALF = 16, 8
"""Rows at most of which columns that begin anywhere are taken in accesses of so many bytes, of which most lie in one of
the two aligned accesses: there are too few rows to hide what taking them out costs. Bytes always are."""
WRITES = 32
"""Bytes of results side by side that a thread writes at most, where it walks alone."""
INDEX_LIMIT = 2**31 - 2**24
"""Offsets below this fit 32-bit arithmetic with room for one step past the end."""


def choose(task: Task, options: str = "", *, split: bool = True) -> Choice:
    """The plan for ``task``.

    Args:
        task: what to reduce, and on which machine.
        options: ``key=value,...`` that override the plan's own choices.
        split: whether several CTAs may share one result.

    Raises:
        PlanError: WF402 to WF413 when ``options`` ask for what cannot be served.
    """
    notes = Notes()
    plan = _own_plan(task, notes)
    if options and not _keeps_own(task, plan, options):
        notes = Notes()
        plan = _ordinary_plan(task, notes)
    plan = _ordered(task, plan, notes)
    parts = parts_of(task, plan, notes) if split else 1
    plan = replace(plan, finish="last_block" if parts > plan.cluster else "cta")
    for reason in repetitions(task.geometry):
        notes.because(reason)
    if task.determinism == "portable":
        notes.because(f"portable: planned for {PORTABLE_SMS} SMs and aligned arrays, whatever they are")
    if options:
        own, later = (plan, parts), Notes()
        plan, parts = _override(task, plan, options, later)
        _asked(*own, plan, parts, notes)
        notes.rejected += later.rejected
    check(plan, task.target, task.state_bytes)
    run = launch_of(plan, task.geometry, parts, task.program.inputs)
    return Choice(plan, facts(task, plan), run, [reason for reason, _ in notes.reasons], notes.rejected)


def _ordinary_plan(task: Task, notes: Notes) -> Plan:
    """The plan of threads that read where the elements are, as any layout allows."""
    return _kept_plan(task, notes) if _fast(task, notes) == "kept" else _reduced_plan(task, notes)


def _own_plan(task: Task, notes: Notes) -> Plan:
    """The plan of a layout that has its own, from a tile, by periods or with staggered warps; else the ordinary."""
    found = staged.plan(task, notes)
    if found is not None:
        return found
    plan = _ordinary_plan(task, notes)
    if plan.fast == "reduced":
        return plan
    wide = _wide(task, _fitting(task, plan, Notes()))
    plan = periodic(task, wide, plan, notes)
    shared = plan.walk == "interleaved" and plan.warps > 1 and large(task.geometry)
    return staggered(task, wide, plan, notes) if shared and planned(task, "kept", wide.vector) != {"aligned"} else plan


def _keeps_own(task: Task, plan: Plan, options: str) -> bool:
    """Whether ``options`` leave a plan what its layout needs: what they did not ask for gives way to all else."""
    chosen, keys = plan.with_options(options), _keys(options)
    if plan.tile_bytes:
        served = chosen.lies_in_warps and _vector_fits(task, chosen)
        return chosen.tile_bytes > 0 and (served or "tile_bytes" in keys)
    served = chosen == settled(chosen) and _has_rows(task, chosen)
    return chosen.walk == plan.walk and not chosen.tile_bytes and (served or "walk" in keys)


def _keys(options: str) -> set[str]:
    """The fields of a plan that ``options`` name."""
    return {key.strip() for key, equals, _ in (item.partition("=") for item in options.split(",")) if equals}


def _ordered(task: Task, plan: Plan, notes: Notes) -> Plan:
    """``plan`` with the walk that a combine needs, and room for its states."""
    if not task.monoid.commutative:
        plan = replace(plan, walk="blocked", vector=1 if plan.fast == "reduced" else plan.vector)
        notes.rejected.append(("walk=interleaved", f"{task.monoid.name} is not commutative: its order must be kept"))
    return _fitting(task, plan, notes)


_IN_WARPS: dict[str, Any] = {"fast": "reduced", "warps": 1, "cluster": 1, "cta": "shuffle", "exchange": "shared",
                            "finish": "cta"}  # fmt: skip
"""What a plan with a tile cannot be without."""


def _override(task: Task, plan: Plan, options: str, notes: Notes) -> tuple[Plan, int]:
    """``plan`` with ``options`` in it, and its CTAs along the reduced axis; what was not asked for gives way."""
    chosen = plan.with_options(options)
    asked = _keys(options)
    if chosen.tile_bytes:
        chosen = replace(chosen, **{key: value for key, value in _IN_WARPS.items() if key not in asked})
    if chosen.walk in ("period", "staggered"):
        chosen = _walking(task, plan, chosen, asked)
    if chosen.coarsening and chosen.finish == "cta" and "finish" not in asked:
        chosen = replace(chosen, finish="last_block")
    if chosen.cluster > 1 and not chosen.coarsening and "finish" not in asked:
        clusters = ctas_of(task, chosen) > chosen.cluster
        chosen = replace(chosen, finish="last_block" if clusters else "cta")
    chosen = _in_whole_steps(chosen, asked)
    if "warps" not in asked:
        chosen = _fitting(task, chosen, notes)
        _check_walk(task, chosen)
    blocked = chosen.walk == "blocked" and chosen.vector_reduced > 1
    if "vector" not in asked and (blocked or not _vector_fits(task, chosen)):
        chosen = replace(chosen, vector=1)
    check(chosen, task.target, task.state_bytes)
    if not _vector_fits(task, chosen):
        raise error("WF407", vector=chosen.vector, axis=chosen.fast)
    if chosen.tile_bytes and not tiles.units(chosen, task.geometry, task.program.inputs):
        raise error("WF418", tile_bytes=chosen.tile_bytes)
    if chosen.finish == "atomic" and not exact(task.monoid):
        _check_atomic(task)
    if chosen.walk != "blocked" and not task.monoid.commutative:
        raise error("WF409", name=task.monoid.name, walk=chosen.walk)
    return chosen, ctas_of(task, chosen)


def _walking(task: Task, plan: Plan, chosen: Plan, asked: set[str]) -> Plan:
    """``chosen`` with what else its walk needs, as far as it was not asked for."""
    wide = plan
    if plan.walk != chosen.walk:
        warps = THREADS // WARP
        wide = settled(replace(_wide(task, chosen), warps=warps, warps_kept=warps))
        wide = replace(wide, vector=min(wide.vector, WIDEST_STAGGERED)) if chosen.walk == "staggered" else wide
    own = {key: value for key, value in differing(chosen, wide).items() if key not in asked}
    found = _in_whole_steps(replace(chosen, **own), asked)  # type: ignore[arg-type]
    check(found, task.target, task.state_bytes)
    _check_walk(task, found)
    if plan.walk != chosen.walk and "finish" not in asked:
        found = replace(found, finish="last_block" if ctas_of(task, found) > 1 else "cta")
    return found


def _in_whole_steps(plan: Plan, asked: set[str]) -> Plan:
    """``plan`` with no more accesses in flight than a thread makes, unless so many were asked for."""
    if 0 < plan.coarsening < plan.unroll and "unroll" not in asked:
        return replace(plan, unroll=plan.coarsening)
    return plan


_ROWS = {"period": rows_without_gaps, "staggered": serves}
_WANTED = {
    "period": ("rows without gaps, no more columns than threads, whole accesses in a period", "warps_kept"),
    "staggered": (
        "columns of one input side by side, rows that begin at one place if as far apart as there are warps, accesses"
        " of at most 16 bytes and rows no shorter, and a result that may depend on its address",
        "warps",
    ),
}
"""Walks for which not every layout has rows: what these must be, and what to raise to have more such rows."""


def _has_rows(task: Task, plan: Plan) -> bool:
    """Whether the layout has the rows that the walk of ``plan`` needs."""
    return plan.walk not in _ROWS or _ROWS[plan.walk](task, plan)


def _check_walk(task: Task, plan: Plan) -> None:
    """Refuses (WF416) a walk for which the layout has no such rows."""
    if not _has_rows(task, plan):
        wanted, more = _WANTED[plan.walk]
        raise error("WF416", walk=plan.walk, wanted=wanted, more=more)


def _asked(own: Plan, own_parts: int, plan: Plan, parts: int, notes: Notes) -> None:
    """Puts what was asked for in the place of the reasons for what the planner would have done."""
    before, after = own.to_dict(), plan.to_dict()
    changed = {key for key in after if after[key] != before[key]}
    notes.forget(changed | ({"parts"} if parts != own_parts else set()))
    if changed:
        notes.because("asked for: " + ", ".join(f"{key}={value}" for key, value in after.items() if key in changed))


def _check_atomic(task: Task) -> None:
    """Refuses (WF408) an atomic that is not exact, unless it is a float sum of which nobody asks the same bits."""
    why, loose = "no atomic instruction combines its states", ""
    if adds(task.monoid):
        why, loose = "its result would depend on the order of the atomics", ', or determinism="none"'
    if not loose or task.determinism != "none":
        remedy = f"use finish=last_block or finish=two_kernels{loose}"
        raise error("WF408", name=task.monoid.name, why=why, remedy=remedy)


def _vector_fits(task: Task, plan: Plan) -> bool:
    """Whether the layout has such vectors, and the finish: only one kernel alone may leave states of cut ones."""
    if plan.tile_bytes:
        return plan.vector == 1 or staged.takes_words(task, plan.vector)
    kinds = (
        planned(task, plan.fast, plan.vector) if plan.vector > 1 and plan.walk not in ("period", "staggered") else set()
    )
    return "strided" not in kinds and ("unaligned" not in kinds or plan.finish in ("cta", "last_block"))


def facts(task: Task, plan: Plan) -> Facts:
    """What the kernel must know of the geometry, for this plan."""
    g = task.geometry
    inputs = range(len(task.program.inputs))
    # Kernels count from where the walk starts, which a flip moves away from the first element. Partials need a look
    # only where the plan coarsens: else a result is shared only while the CTAs of all results are few.
    reach = [abs(bound - start) for i, start in enumerate(g.offsets) for bound in g.span(i)]
    partials = g.n_kept * ctas_of(task, plan) if plan.coarsening else 0
    largest = max(g.n_kept, g.count, partials, *reach)
    outputs = range(len(inputs), len(g.offsets))
    accesses: tuple[Access, ...]
    if plan.tile_bytes:
        each = tiles.units(plan, g, task.program.inputs)
        accesses = tuple(staged.access(g, i) if each else "strided" for i in inputs)
    elif plan.walk == "staggered":
        accesses = tuple("staggered" if serves(task, plan) else "strided" for _ in inputs)
    elif plan.walk == "period":
        accesses = tuple("period" if rows_without_gaps(task, plan) else "strided" for _ in inputs)
    else:
        accesses = tuple(access(task, i, plan.fast, plan.vector) if plan.vector > 1 else "strided" for i in inputs)
    vectors = plan.vector_kept > 1 and ranks(g) == (1, 1) and not {"unaligned", "staggered"} & set(accesses)
    return Facts(
        *ranks(g),
        32 if largest < INDEX_LIMIT else 64,
        accesses,
        vectors and all(stores_vector(task, o, plan) for o in outputs),
        repeats=g.repeats,
    )


def _fast(task: Task, notes: Notes) -> str:
    """The axis that holds the smallest stride of the first input: along it neighbouring lanes read neighbours."""
    kept, reduced = task.geometry.kept, task.geometry.reduced

    if kept and nearest(kept) < nearest(reduced):
        notes.because(f"lanes lie along the kept axis: its stride {nearest(kept):.0f} is the smallest", "fast")
        notes.rejected.append(("fast=reduced", "neighbouring lanes would read distant addresses (uncoalesced)"))
        return "kept"
    why = (
        f"its stride {nearest(reduced):.0f} is the smallest"
        if nearest(reduced) < float("inf")
        else "no stride says more"
    )
    notes.because(f"lanes lie along the reduced axis: {why}", "fast")
    if nearest(kept) < float("inf"):
        notes.rejected.append(("fast=kept", "neighbouring lanes would read distant addresses (uncoalesced)"))
    return "reduced"


def _vector(task: Task, axis: str, notes: Notes) -> int:
    """The widest access, WIDEST bytes unless the accumulators forbid it; single elements where the layout does."""
    widest = _widest(task, STATE_LIMIT if axis == "reduced" else STATE_LIMIT // 2)
    widest = _widest_of_short(task, widest) if axis == "kept" and _is_short(task, widest) else widest
    kinds = planned(task, axis, widest)
    many_dims = max(ranks(task.geometry)) > 3
    short = "shifted" in kinds and task.geometry.n_reduced < SHIFTED[task.itemsize] * widest
    vector = 1 if many_dims or short or "strided" in kinds else widest
    if vector < widest:
        why = "so many dims are read by single elements" if many_dims else "the layout gives no aligned run so long"
        notes.rejected.append((f"vector={widest}", why))
    words = ", ".join(sorted(kinds)) if vector > 1 else "single elements"
    notes.because(f"{vector} element(s) an access ({vector * task.itemsize} bytes, {words})", "fast", "vector")
    return vector


def _widest_of_short(task: Task, widest: int) -> int:
    """The same where a thread walks a few rows alone: it has as many results as it writes well."""
    half, few = HALF // task.itemsize, task.geometry.n_reduced <= FEW_ROWS
    if _is_written(task):
        return min(widest, WIDEST // task.result_bytes)
    if task.itemsize == 1 or (few and "unaligned" in planned(task, "kept", widest)):
        widest = min(widest, max(1, half))
    side_by_side = min(widest, max(1, WRITES // task.result_bytes))
    return side_by_side if few or planned(task, "kept", side_by_side) == {"aligned"} else widest


def _widest(task: Task, registers: int) -> int:
    """Elements of an access of WIDEST bytes, or as many as so many registers have states for."""
    return max(1, min(WIDEST // task.itemsize, _floor2(registers // task.state_registers)))


def _unroll(task: Task, axis: str, vector: int) -> int:
    """Accesses in flight: IN_FLIGHT bytes, at most UNROLL, and no more values at once than registers allow."""
    several = axis == "kept" and ranks(task.geometry) != (1, 1)
    by_bytes = (IN_FLIGHT_OF_SEVERAL_DIMS if several else IN_FLIGHT) // (vector * task.itemsize)
    by_state = VALUES_LIMIT // (vector * task.state_registers)
    by_code = CODE_LIMIT // operations(task.monoid)
    return max(1, min(UNROLL, _floor2(by_bytes), _floor2(by_state), _floor2(by_code)))


def _reduced_plan(task: Task, notes: Notes) -> Plan:
    """Lanes along the reduced axis: a thread, a few lanes, a warp, a CTA or a cluster a result."""
    vector = _vector(task, "reduced", notes)
    positions = _threads_a_row(task, vector)
    shifted = vector > 1 and "shifted" in planned(task, "reduced", vector)
    unroll = min(_unroll(task, "reduced", vector), _most(positions, vector, shifted=shifted))
    lanes, warps = min(WARP, positions), max(1, positions // WARP)
    rows = 1 if warps > 1 else THREADS // WARP // (2 if lanes == WARP else 1)
    threads = f"{positions} thread(s) a result, up to {unroll} access(es) in flight each"
    notes.because(threads, "lanes", "warps", "unroll")
    plan = Plan("reduced", vector=vector, unroll=unroll, lanes=lanes, warps=warps, warps_kept=rows)
    return clustered(task, plan, notes) if positions > ROW and vector > 1 and not shifted else plan


def _most(positions: int, vector: int, *, shifted: bool) -> int:
    """Accesses in flight at most of a row with so many threads."""
    if shifted:
        many = positions > WARP or (vector == WIDEST and positions == WARP // 2)
        return UNROLL_OF_SHIFTED if many else max(1, MASKED // vector)
    return UNROLL_OF_SHORT.get(positions, UNROLL)


def _threads_a_row(task: Task, vector: int) -> int:
    """By the number of its accesses, and by whether the results alone fill the machine."""
    g = task.geometry
    accesses, few = -(-g.n_reduced // vector), g.n_kept < FEW * task.machine
    if ranks(g)[1] > 1:
        several = accesses <= (LANES_OF_SEVERAL_DIMS if few else THREADS)
        return LANES_OF_SEVERAL_DIMS if several else THREADS
    steps: tuple[tuple[float, int], ...] = THREADS_A_ROW
    code = operations(task.monoid)
    is_long = code * vector >= LONG_COMBINE
    if is_long:
        steps = next(found for least, found in reversed(THREADS_A_ROW_OF_LONG.items()) if code >= least)
    if few:
        steps = THREADS_A_ROW_OF_FEW[_kind(vector)]
    elif vector == 1:
        steps = (*((nbytes / task.itemsize, threads) for nbytes, threads in THREADS_OF_BYTES), (WARP_TO, WARP))
    elif "shifted" in planned(task, "reduced", vector):
        half = ((MOST_OF_A_WARP, WARP // 2),) if vector == WIDEST else ()  # bytes, of which an access holds more
        most = steps[-1][0] if is_long else MOST_OF_A_WARP
        steps = ((ONE * vector, 1), (FOUR * vector, 4), *half, (most, WARP))
    return next((threads for most, threads in steps if accesses <= most), THREADS)


def _wide(task: Task, plan: Plan) -> Plan:
    """``plan`` with the widest accesses, as along the reduced axis; while bytes are added, no states are in flight."""
    vector = _widest(task, STATE_LIMIT)
    unroll = IN_FLIGHT // (vector * task.itemsize)
    bytes_added = task.itemsize == 1 and operation(task.monoid) == "add"
    return replace(plan, vector=vector, unroll=unroll if bytes_added else min(unroll, _unroll(task, "kept", vector)))


def _kept_plan(task: Task, notes: Notes) -> Plan:
    """Lanes along the kept axis; one warp walks a short reduced axis, all warps of a CTA share a long one."""
    g = task.geometry
    vector = _vector(task, "kept", notes)
    unroll, accesses = _unroll(task, "kept", vector), -(-g.n_kept // vector)
    if task.itemsize == 1 < vector and "unaligned" not in planned(task, "kept", vector):
        unroll = min(unroll, BYTES_IN_FLIGHT // vector)
    few_lanes = next((lanes for most, lanes in NARROW[_kind(vector)] if accesses <= most), WARP)
    narrow = few_lanes < WARP and max(ranks(g)) <= (3 if vector == 1 else 1)
    lanes_kept, warps = LANES_KEPT[_kind(vector)], THREADS // WARP
    if _is_short(task, vector):
        lanes_kept, warps = WARP, 1
        unroll = min(unroll, max(1, ceil2(g.n_reduced) // 2)) if large(g) else unroll  # what is not there is read, too
    elif narrow and g.n_reduced >= 2 * unroll * THREADS // few_lanes:
        lanes_kept = few_lanes
    results = f"{lanes_kept * vector} result(s) a warp, {warps} warp(s) share the reduced axis"
    notes.because(results, "fast", "vector", "lanes", "warps")
    return Plan("kept", "interleaved", vector, unroll, WARP // lanes_kept, warps, THREADS // WARP // warps)


def _is_written(task: Task) -> bool:
    """Whether results are so large a part of the traffic, and so many, that writing them decides the time."""
    g, side_by_side = task.geometry, WIDEST // task.result_bytes
    return _is_short(task, side_by_side) and g.n_reduced * task.itemsize <= WRITTEN * task.result_bytes


def _is_short(task: Task, vector: int) -> bool:
    """Whether a thread walks the reduced axis alone, since results of so many each fill the machine."""
    g = task.geometry
    many = -(-g.n_kept // max(1, vector)) >= FEW * task.machine * WARP
    return many and g.n_reduced <= SHORT and max(ranks(g)) <= 3


def _kind(vector: int) -> str:
    return "wide" if vector > 1 else "single"


def _fitting(task: Task, plan: Plan, notes: Notes) -> Plan:
    """``plan`` with as many warps along the reduced axis as shared memory has room for, whatever the finish."""
    wanted = plan
    while plan.warps > 1 and replace(plan, finish="last_block").shared_bytes(task.state_bytes) > STATIC_SHARED:
        plan = replace(plan, warps=plan.warps // 2)
    if plan != wanted:
        notes.rejected.append((f"warps={wanted.warps}", f"states of {task.state_bytes} bytes do not fit shared memory"))
    return plan


def launch_of(plan: Plan, geometry: Geometry, parts: int, inputs: Sequence[DType]) -> Launch:
    """Grid and chunk of ``plan``, with so many CTAs along the reduced axis."""
    run = launch(plan, geometry.n_kept, geometry.n_reduced, parts, geometry.columns)
    if not plan.tile_bytes:
        return run
    each = max(1, tiles.units(plan, geometry, inputs))
    return replace(run, tiles=tiles.ctas(geometry, each), units=each)


def _floor2(n: int) -> int:
    """The greatest power of two not above ``n``, at least 1."""
    return 1 << max(0, n.bit_length() - 1)
