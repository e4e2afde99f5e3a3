"""Both axes: lanes along rows of kept and reduced elements, as the channels and pixels of an image follow each other.

The elements of a result then lie in short runs, and between them those of other results; runs that begin anywhere can
only be read element by element. So the first kernel takes the innermost reduced dim for a kept one and reads columns of
all, in whole accesses. The second reduces what these left of each result, together with the states of several CTAs.
"""

from __future__ import annotations

from dataclasses import replace

from ...errors import error
from ...plan.ladder import expand
from ...plan.launch import tiles_of
from ...plan.plan import Access, Axis, Plan
from ...space.geometry import Dim, Geometry, merged
from ...target import WARP
from ..alignment import large, planned
from ..columns import plan as plan_of_columns
from ..columns import registers
from ..limits import STATE_LIMIT, widest_of
from ..options import named
from ..split import WORKSPACE
from ..task import Notes, Task
from .gapped_columns import laid

WIDE, NARROW = 8, 4
"""Bytes of an aligned access from which on runs are read as fast as rows, without what is left; and bytes that elements
are narrower than whose rows are faster by any accesses of several, aligned or not, than their runs one by one."""
LONG = 2 * WARP
"""Elements of a row at least: of shorter ones a warp would read no more at a time than of runs, one by one."""
SHORT = 64
"""Bytes of a run below which its neighbours' are better read with it, even where whole accesses hold it."""
LONG_RUNS = 500
"""Elements of a run from which on narrow ones are faster run by run, wherever these begin, than by such rows."""
OFTEN = 16
"""Times the bytes of a state that the first kernel must read for each it leaves, so that these cost little."""
ENOUGH = 2
"""CTAs an SM from which on none shares its columns: with one access in flight all of them are resident."""
WANTED = {"walk": "interleaved", "finish": "two_kernels", "cluster": "1", "tile_bytes": "0"}
"""The fields of a plan that the second kernel leaves no choice."""


def as_columns(g: Geometry, inputs: int) -> Geometry | None:
    """What the first kernel sees of ``g``, with what the second does ``after``; None where rows are not of both axes.

    Args:
        g: one kept dim between two reduced ones, whose elements follow each other in all inputs.
        inputs: how many operands are read.
    """
    if len(g.kept) != 1 or len(g.reduced) != 2 or g.repeats:
        return None
    (kept,), (outer, inner) = g.kept, g.reduced
    zeros = (0,) * (len(g.offsets) - inputs)
    own = Dim(kept.size, kept.strides[:inputs] + zeros)
    row = merged([d for d in (own, inner) if d.size != 1] or [own])
    if len(row) != 1:
        return None
    return replace(g, kept=row, reduced=(outer,), after=Geometry((kept,), (inner,), g.offsets))


def as_columns_of_any_size(g: Geometry, inputs: int) -> Geometry | None:
    """The same for arrays of other sizes than a kernel was compiled for, with dims of size 1 where none are left."""
    one = Dim(1, (0,) * len(g.offsets))
    missing = (one,) * (2 - len(g.reduced))
    for reduced in ((*missing, *g.reduced), (*g.reduced, *missing)):
        found = as_columns(replace(g, kept=g.kept or (one,), reduced=reduced), inputs)
        if found and (found.n_kept or not g.n_kept):
            return found
    return None


def launched(task: Task, plan: Plan) -> Geometry:
    """The geometry that the kernels of ``plan`` are launched with."""
    found = as_columns(task.geometry, len(task.program.inputs)) if plan.fast == "both" else None
    return found or laid(task, plan).geometry


def task_of(task: Task, options: str) -> Task | None:
    """What the first kernel does, where lanes are to lie along both axes: as ``options`` ask, or since it is faster.

    Raises:
        PlanError: WF422 where options ask for it, and the layout or what else they name is another.
    """
    keys = expand(options)
    asked = keys.get("fast") == "both"
    if not asked and keys.keys() & {"fast", *WANTED}:
        return None
    other = sorted(f"{key}={keys[key]}" for key in WANTED.keys() & named(options) if keys[key] != WANTED[key])
    if asked and other:
        raise error("WF422", found=f"the plan has {', '.join(other)}")
    left = as_columns(task.geometry, len(task.program.inputs)) if task.monoid.commutative else None
    if left is None:
        if asked:
            raise error("WF422", found=_unfit(task))
        return None
    found = replace(task, geometry=left)
    return found if asked or _is_faster(task, found) else None


def _unfit(task: Task) -> str:
    """Why lanes cannot lie along both axes, in words."""
    g = task.geometry
    if not task.monoid.commutative:
        return f"{task.monoid.name} is not commutative, and they would not keep its order"
    if task.program.uses_index:
        return f"{task.program.name} numbers the elements, and they would be numbered as they lie in memory"
    if g.repeats:
        return "an input repeats its elements"
    if (len(g.kept), len(g.reduced)) != (1, 2):
        dims = f"{len(g.kept)} kept and {len(g.reduced)} reduced dim(s)"
        return f"the array has {dims}, once those that follow each other are one and those of size 1 are gone"
    return "the kept dim and the inner reduced one do not follow each other in every input"


def _is_faster(task: Task, found: Task) -> bool:
    """Whether long rows are read in wide accesses, runs are not, and the states left are few."""
    states = found.geometry.n_kept * task.state_bytes
    inner = task.geometry.reduced[-1].size * task.itemsize
    few = states <= WORKSPACE and found.geometry.n_reduced * task.itemsize >= OFTEN * task.state_bytes
    runs = _accesses(task, "reduced", STATE_LIMIT, WIDE)
    narrow = task.itemsize < NARROW and task.geometry.reduced[-1].size < LONG_RUNS
    rows = _accesses(found, "kept", registers(found), NARROW if narrow else WIDE)
    wide = "aligned" in rows or (narrow and "unaligned" in rows)
    return (
        few
        and wide
        and ("aligned" not in runs or inner < SHORT)
        and found.geometry.n_kept >= LONG
        and large(task.geometry)
    )


def _accesses(task: Task, axis: Axis, registers: int, nbytes: int) -> set[Access]:
    """How accesses of so many bytes and more could lie along ``axis``, for the states that the registers hold."""
    widest = widest_of(task, registers)
    widths = [widest >> k for k in range(widest.bit_length() - 1)]
    kinds = [planned(task, axis, n) for n in widths if n * task.itemsize >= nbytes]
    return set().union(*(kind for kind in kinds if len(kind) == 1))


def plan(task: Task, options: str, notes: Notes) -> Plan:
    """The plan for what ``task_of`` gives, before ``options``: that of columns, and a second kernel."""
    found = replace(plan_of_columns(task, notes), finish="two_kernels")
    enough = tiles_of(found, task.geometry.n_kept) >= ENOUGH * task.machine
    if enough and found.vector * task.itemsize >= WIDE:
        found = replace(found, unroll=1)
        notes.forget({"unroll"})
        notes.because("1 access in flight a thread, so that all CTAs are resident", "unroll")
    after = task.geometry.after
    assert after is not None
    words = f"rows of {after.n_kept} results, {after.n_reduced} elements of each, are read as columns"
    notes.because(f"{words}: a second kernel reduces what is left of a result", "fast", "finish")
    if expand(options).get("fast") == "both":
        notes.because("asked for: fast=both")
    else:
        notes.rejected.append(("fast=reduced", "such short runs begin anywhere: they would be read by single elements"))
    return found


def rest(options: str) -> str:
    """``options`` for the first kernel's plan, which another one follows."""
    keys = {key: value for key, value in expand(options).items() if key not in ("fast", *WANTED)} | WANTED
    return ",".join(f"{key}={value}" for key, value in keys.items())
