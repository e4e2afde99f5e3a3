"""A reduction factored into two kernels: lanes lie along rows of kept and reduced elements (``fast=both``).

The elements of a result lie in short runs, and between them those of other results, as the pixels of a channel lie
between those of other channels. Runs that begin anywhere can only be read element by element. So the first kernel takes
the innermost reduced dim for a kept one, and reads columns in whole accesses. The second kernel reduces what the first
left of each result, together with the states of several CTAs.
"""

from __future__ import annotations

from dataclasses import replace

from ...errors import error
from ...plan.fields import Access, Axis
from ...plan.ladder import expand
from ...plan.launch import tiles_of
from ...plan.plan import Plan
from ...space.geometry import Dim, Geometry, merged
from ...target import WARP
from .. import sittings
from ..columns import plan as plan_of_columns
from ..columns import registers
from ..limits import STATE_REGISTERS, widest_of
from ..options import named
from ..powers_of_two import halvings
from ..split import WORKSPACE
from ..table import threshold
from ..task import Notes, Task
from .gapped_columns import as_read

ALIGNED_BYTES = threshold(8, "bytes of an access", sittings.ODD_IMAGES)
"""Runs with aligned accesses of these are read as fast as rows, and no states are left between two kernels."""
NARROW_ITEM = threshold(4, "bytes of an element", sittings.ODD_IMAGES)
"""Elements below this are read faster as rows, by vectors of any alignment, than run by run."""
ROW_ELEMENTS = threshold(2 * WARP, "elements of a row", sittings.ODD_IMAGES)
"""A row has at least these: of a shorter one a warp would read no more at a time than of runs, one by one."""
SHORT_RUN_BYTES = threshold(64, "bytes of a run", sittings.SEVERAL_DIMS)
"""Below, a run is better read with its neighbours, even where whole accesses hold it."""
LONG_RUN = threshold(500, "elements of a run", sittings.OTHER_PLANS)
"""From here on runs that begin anywhere are faster run by run, or by single elements, than as such rows."""
BYTES_READ = threshold(16, "bytes read for each byte of a state left", sittings.IMAGES)
"""The first kernel reads at least these, so that states cost little."""
FILLING_CTAS = threshold(2, "CTAs per SM", sittings.FIFTEEN_THOUSAND)
"""From here on no CTA shares its columns: with one access in flight all of them are resident."""
FIXED = {"walk": "interleaved", "finish": "two_kernels", "cluster": "1", "tile_bytes": "0"}
"""The fields of a plan for which the second kernel leaves no choice."""


def as_columns(g: Geometry, inputs: int) -> Geometry | None:
    """What the first kernel sees of ``g``, with what the second does ``after``; None where rows do not hold both axes.

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
    """What the first kernel sees of an array of another size than it was compiled for: missing dims have size 1."""
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
    return found or as_read(task, plan).geometry


def task_of(task: Task, options: str) -> Task | None:
    """The first kernel's task, where lanes are to lie along both axes: as ``options`` ask, or since it is faster.

    Raises:
        PlanError: WF422 where options ask for it, and the layout or what else they name is another.
    """
    keys = expand(options)
    asked = keys.get("fast") == "both"
    if not asked and keys.keys() & {"fast", *FIXED}:
        return None
    other = sorted(f"{key}={keys[key]}" for key in FIXED.keys() & named(options) if keys[key] != FIXED[key])
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
    if not task.is_large or found.geometry.n_kept < ROW_ELEMENTS:
        return False
    states = found.geometry.n_kept * task.state_bytes
    if states > WORKSPACE or found.geometry.n_reduced * task.itemsize < BYTES_READ * task.state_bytes:
        return False
    run = task.geometry.reduced[-1].size
    if run * task.itemsize >= SHORT_RUN_BYTES and "aligned" in _accesses(
        task, "reduced", STATE_REGISTERS, ALIGNED_BYTES
    ):
        return False
    if run >= LONG_RUN and task.itemsize > 1 and not task.is_portable:
        return False
    narrow = task.itemsize < NARROW_ITEM and run < LONG_RUN
    rows = _accesses(found, "kept", registers(found), NARROW_ITEM if narrow else ALIGNED_BYTES)
    return "aligned" in rows or (narrow and "unaligned" in rows)


def _accesses(task: Task, axis: Axis, registers: int, nbytes: int) -> set[Access]:
    """How accesses of ``nbytes`` and more along ``axis`` are read, if registers hold the states of their elements."""
    kinds = [task.accesses(axis, n) for n in halvings(widest_of(task, registers)) if n * task.itemsize >= nbytes]
    return set().union(*(kind for kind in kinds if len(kind) == 1))


def plan(task: Task, options: str, notes: Notes) -> Plan:
    """The plan for what ``task_of`` gives, before ``options``: that of columns, and a second kernel."""
    found = replace(plan_of_columns(task, notes), finish="two_kernels")
    enough = tiles_of(found, task.geometry.n_kept) >= FILLING_CTAS * task.machine
    if enough and found.vector * task.itemsize >= ALIGNED_BYTES:
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
    keys = {key: value for key, value in expand(options).items() if key not in ("fast", *FIXED)} | FIXED
    return ",".join(f"{key}={value}" for key, value in keys.items())
