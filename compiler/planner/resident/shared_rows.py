"""Rows that wait in shared memory: how many CTAs of a cluster share one, and how many threads a CTA has.

Both follow from the occupancy, which is computed from the facts of the target: of all sizes of a CTA the planner takes
that of which an SM holds the most CTAs, and of equal ones the one with the most threads, as OneFlow's softmax does. One
of these CTAs reads while others fold or write. Where an SM holds too few of them, a cluster shares the row: the size of
its CTAs is measured, and so are how many CTAs share long rows with weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, inf
from typing import NamedTuple

from ...plan.fields import MOST_HELD
from ...plan.plan import Plan
from ...plan.shared_memory import shared_bytes
from ...program.graph import REDUCED
from ...target import DEFAULT, PORTABLE_CLUSTER, WARP, Occupancy
from .. import sittings
from ..layouts.tiled import WORD
from ..powers_of_two import ceil2, floor2
from ..table import threshold
from ..task import Notes, Task
from .accesses import accesses, elements_of

BLOCKS = threshold((8, 16, 32), "warps of a CTA", sittings.SHARED_ROWS)
"""The sizes to choose from: of smaller ones an SM holds too few threads."""
IN_CLUSTER = threshold(8, "warps of a CTA of a cluster", sittings.SHARED_ROWS)
"""Larger ones are up to 1.3 times slower where rows are few or begin between boundaries, and never faster by 2 %."""
REGISTERS = threshold(40, "registers of a thread", sittings.SHARED_ROWS)
"""A thread holds one phase of some accesses: the assembler gives it up to so many."""
IN_SECTIONS = threshold(4, "warps of a CTA", sittings.GRADIENTS)
"""Replaces BLOCKS and IN_CLUSTER where threads leave states of sections: they need more registers than REGISTERS."""
IN_PAIR = threshold(16, "warps of a CTA of a cluster of two", sittings.GRADIENTS)
"""Where rows of several arrays wait, in whole accesses, CTAs of a cluster of two have more."""
LEAST_CTAS = threshold(3, "CTAs per SM", sittings.SHARED_ROWS)
"""A larger cluster shares a row of whose CTAs an SM holds fewer."""
LEAST_OF_ONE = threshold(2, "CTAs per SM", sittings.TWO_CTAS)
"""Replaces LEAST_CTAS where one array waits, if so many CTAs have rows: for one CTA a row whose weights are the same
along runs of it, as a group norm's are, and for clusters of two whose elements have more than WALKED bytes."""
CTA_BYTES = threshold(94 * 1024, "bytes of a row in a CTA of the largest cluster", sittings.RESIDENT_ROWS)
"""The most: longer rows wait farther from the threads."""
PORTABLE_BYTES = threshold(62 * 1024, "bytes of a row", sittings.RESIDENT_ROWS)
"""What every target has room for: where a portable plan cuts rows does not depend on the device."""
RUNS_CTA_BYTES = threshold(56 * 1024, "bytes of a row in a CTA", sittings.GROUPED_ROWS)
"""The most of a row that lies in several runs of memory and is read by single elements: an SM holds four CTAs."""
RUNS_BLOCK = threshold(16, "warps of a CTA", sittings.GROUPED_ROWS)
"""Of such rows, where one CTA has a row."""
RUNS_BLOCK_OF_CLUSTER = threshold(8, "warps of a CTA", sittings.GROUPED_ROWS)
"""Of such rows, where a cluster has a row."""
WEIGHTED_BYTES = threshold(64 * 1024, "bytes of a row with weights", sittings.SHARED_ROWS)
"""From here on a cluster shares it: parts are short, so that CTAs wait for weights at different times."""
WEIGHTED_CTAS = threshold(4, "CTAs of a cluster", sittings.SHARED_ROWS)
"""The least that share such a row."""
WEIGHTED_PART = threshold(32 * 1024, "bytes of a row in a CTA", sittings.SHARED_ROWS)
"""The most that a CTA has of such a row, as far as clusters of PORTABLE_CLUSTER CTAs are large enough."""
HEAVY_PART = threshold(45 * 1024, "bytes of a row in a CTA", sittings.WEIGHTED_PARTS)
"""Replaces both where one array waits that is folded in several phases, or to states of more than LIGHT registers: what
a thread does once for all its accesses takes longer. Other rows have larger clusters where CTAs would have more."""
HEAVY_CTAS = threshold(8, "CTAs per SM", sittings.WEIGHTED_PARTS)
"""The least that have rows then: of fewer large ones the last wave is longer."""

PART = threshold(52 * 1024, "bytes of a row in a CTA", sittings.PARTS)
"""The most of one array that is read and written without weights, as far as clusters are large enough: an SM has four
such CTAs, which meet by counted arrivals. Rows of wide elements that begin anywhere are so in clusters of two only."""
LIGHT = threshold(2, "registers of a state", sittings.PARTS)
"""Heavier states have no such parts: where accesses are masked, combining the states of more CTAs takes longer."""
PADDED = threshold(1.1, "accesses of all threads for each access of a row", sittings.PARTS)
"""Where threads would have more, as whole accesses, there are no such parts: each phase computes what no row has."""
WIDE_PART = threshold(52 * 1024, "bytes of a row in a CTA", sittings.PARTS)
"""CTAs with more of a row with weights have IN_PAIR warps, if one array waits or weights are read by single elements:
an SM has too few of IN_CLUSTER to wait for so many loads."""

LEAST_OF_FEW = threshold(4, "CTAs of a cluster", sittings.FEW_LONG_ROWS)
"""Where a row of elements that are written has so many SMs or more, as many CTAs share it: fewer do not pay."""
FEW_PART = threshold(32 * 1024, "bytes of a row in a CTA", sittings.FEW_LONG_ROWS)
"""From here on twice as many share such a row: an SM then has two CTAs."""

FILLING_LARGE = threshold(32 << 20, "bytes of all rows", sittings.LARGE_CLUSTERS)
"""From here on rows that only the largest clusters hold wait there. Few such clusters run at a time, so that fewer rows
leave many SMs without work. Rows with weights that chunks of the L2 cache divide are faster in the grid, or there."""
LARGE_CTA_BYTES = threshold(100 * 1024, "bytes of a row in a CTA of the largest cluster", sittings.LARGE_CLUSTERS)
"""The most: an SM holds two such CTAs."""
IN_LARGEST = threshold(2, "arrays that wait", sittings.TWO_IN_CLUSTERS)
"""The most that wait in the largest clusters; two of them only where rows begin at boundaries and have no weights."""
PAIR_CTA_BYTES = threshold(106 * 1024, "bytes of a row in a CTA of the largest cluster", sittings.TWO_IN_CLUSTERS)
"""The most of two arrays."""
WALKED = threshold(2, "bytes of an element", sittings.LARGE_CLUSTERS)
"""Rows that begin anywhere are walked in a loop if their elements have no more. Others wait in the largest clusters if
only these hold them, and elements are written."""


class Block(NamedTuple):
    """A size of a CTA.

    Attributes:
        plan: the plan that has it.
        nbytes: bytes of a row that wait in all CTAs of the cluster.
        occupancy: the CTAs that an SM holds.
    """

    plan: Plan
    nbytes: int
    occupancy: Occupancy


def plan(task: Task, vector: int, count: int, notes: Notes, alone: Sequence[int] = ()) -> Plan | None:
    """The plan of rows of ``count`` accesses of ``vector`` elements; None where they are too long for a cluster.

    ``alone`` are the warps to choose from of a CTA that has a row for itself.
    """
    inputs = [i for i in elements_of(task) if i < len(task.program.inputs)]
    each = vector * sum(task.operand_type(i).itemsize for i in inputs)
    nbytes = count * each
    largest = _largest(task, vector, count, each, len(inputs))
    in_cluster = IN_SECTIONS if task.program.section else IN_CLUSTER
    if are_runs(task, vector):
        cluster = min(largest, ceil2(ceil(nbytes / RUNS_CTA_BYTES)))
        sizes = (RUNS_BLOCK if cluster == 1 else RUNS_BLOCK_OF_CLUSTER,)
        block = _block(task, vector, count, cluster, each, sizes)
    elif largest > 1 and nbytes >= WEIGHTED_BYTES and REDUCED in task.program.input_spaces:
        cluster = min(largest, _weighted_ctas(task, nbytes, len(inputs)))
        block = _of_many_loads(task, vector, count, cluster, each)
        if block is None or block.nbytes > _most(task, largest, len(inputs)):
            block = _block(task, vector, count, cluster, each, (in_cluster,))
    else:
        alone = alone or ((IN_SECTIONS,) if task.program.section else BLOCKS)
        cluster, block = 1, _block(task, vector, count, 1, each, alone)
        if largest > 1 and block and _least(task, vector, 1) <= block.occupancy.ctas < LEAST_CTAS:
            block = _block(task, vector, count, 1, each, (in_cluster,))  # which need more registers than REGISTERS
        while cluster < largest and not (
            block
            and block.occupancy.ctas >= _least(task, vector, cluster)
            and nbytes <= cluster * _part(task, vector, count, cluster)
        ):
            cluster *= 2
            pair = cluster == 2 and len(inputs) > 1 and "shifted" not in accesses(task, "reduced", vector)
            warps = IN_PAIR if pair and not task.program.section else in_cluster
            block = _block(task, vector, count, cluster, each, (warps,))
    few = min(largest, PORTABLE_CLUSTER, _few(task, nbytes))
    if few >= max(LEAST_OF_FEW, 2 * cluster) and not are_runs(task, vector):
        cluster, block = few, _block(task, vector, count, few, each, (IN_CLUSTER,))
    most = _most(task, largest, len(inputs))
    if not inputs or block is None or block.nbytes > most:
        notes.rejected.append(("resident=shared", f"{nbytes} bytes of a row are too many for {cluster} CTA(s)"))
        return None
    of = f" of {cluster} CTAs" if cluster > 1 else ""
    notes.because(f"a row waits in shared memory{of}: {block.nbytes} bytes", "held", "resident", "cluster")
    ctas, limit = block.occupancy
    notes.because(f"an SM holds {ctas} CTA(s) of {block.plan.threads} threads, limited by {limit}", "warps")
    return block.plan


def _least(task: Task, vector: int, cluster: int) -> int:
    """The CTAs of a ``cluster`` that an SM holds at the least, or a larger one shares the row."""
    inputs = [i for i in elements_of(task) if i < len(task.program.inputs)]
    if len(inputs) > 1 or task.program.section or task.geometry.n_kept * cluster < LEAST_OF_ONE * task.machine:
        return LEAST_CTAS
    wide = cluster == 2 and max(task.operand_type(i).itemsize for i in inputs) > WALKED
    return LEAST_OF_ONE if wide or (cluster == 1 and _has_runs(task, vector)) else LEAST_CTAS


def _part(task: Task, vector: int, count: int, cluster: int) -> float:
    """The bytes of a row in each CTA of a ``cluster`` at the most, or a larger one shares its ``count`` accesses."""
    own, program = elements_of(task), task.program
    inputs = [i for i in own if i < len(program.inputs)]
    if len(inputs) != 1 or len(own) == 1 or _weights(task) or _has_runs(task, vector) or program.section:
        return inf
    anywhere = "shifted" in accesses(task, "reduced", vector)
    wide = max(task.operand_type(i).itemsize for i in own) > WALKED
    threads = 2 * cluster * IN_CLUSTER * WARP
    padded = not anywhere and ceil(count / threads) * threads > PADDED * count
    return inf if padded or task.state_registers > LIGHT or (cluster > 1 and anywhere and wide) else PART


def _weighted_ctas(task: Task, nbytes: int, arrays: int) -> int:
    """The CTAs that share a row of ``nbytes`` of so many arrays, with weights, if clusters are large enough."""
    light = max(WEIGHTED_CTAS, ceil2(ceil(nbytes / WEIGHTED_PART)))
    if arrays > 1:
        return light
    heavy = max(2, ceil2(ceil(nbytes / HEAVY_PART)))
    folds_often = len(task.program.reduces) > 1 or task.state_registers > LIGHT
    alone = folds_often and task.geometry.n_kept * heavy >= HEAVY_CTAS * task.machine
    return heavy if alone else max(heavy, min(PORTABLE_CLUSTER, light))


def is_long(task: Task, plan: Plan) -> bool:
    """Whether only the largest clusters hold a row, by the ``plan`` of rows that wait in shared memory."""
    inputs = [i for i in elements_of(task) if i < len(task.program.inputs)]
    nbytes = task.geometry.n_reduced * sum(task.operand_type(i).itemsize for i in inputs)
    return plan.cluster > PORTABLE_CLUSTER and nbytes > PORTABLE_CLUSTER * CTA_BYTES


def _of_many_loads(task: Task, vector: int, count: int, cluster: int, each: int) -> Block | None:
    """The CTAs of rows with weights whose parts are large; None of others.

    Of one array that waits the last slots of a thread may lie beyond the most that a CTA has of a row.
    """
    found, spaces = accesses(task, "reduced", vector), task.program.input_spaces
    singly = any(found[i] == "strided" for i, space in enumerate(spaces) if space == REDUCED)
    alone = sum(i < len(spaces) for i in elements_of(task)) == 1
    if task.program.section or count * each <= cluster * WIDE_PART or not (alone or (singly and "shifted" in found)):
        return None
    block = _block(task, vector, count, cluster, each, (IN_PAIR,))
    return block._replace(nbytes=count * each) if block and alone else block


def _has_runs(task: Task, vector: int) -> bool:
    """Whether the weights of a row are the same along runs of it."""
    return "uniform" in accesses(task, "reduced", vector)


def _most(task: Task, largest: int, arrays: int) -> int:
    """The most bytes of a row of so many arrays that waits in clusters of up to ``largest`` CTAs."""
    if task.is_portable:
        return PORTABLE_BYTES
    if largest == 1:
        return task.target.shared_per_cta
    if largest == PORTABLE_CLUSTER:
        return largest * CTA_BYTES
    return largest * (LARGE_CTA_BYTES if arrays == 1 else PAIR_CTA_BYTES)


def _largest(task: Task, vector: int, count: int, each: int, arrays: int) -> int:
    """The CTAs of the largest cluster that may share a row of ``count`` accesses, ``each`` bytes of so many arrays."""
    if task.is_portable or not task.target.has_clusters:
        return 1
    if arrays > IN_LARGEST or task.program.section or are_runs(task, vector):
        return PORTABLE_CLUSTER
    nbytes = count * each
    long = nbytes > PORTABLE_CLUSTER * CTA_BYTES
    shifted = "shifted" in accesses(task, "reduced", vector)
    wide = max(task.operand_type(i).itemsize for i in elements_of(task)) > WALKED
    if arrays > 1:
        pays = long and not (shifted or _weights(task)) and task.geometry.n_kept * nbytes >= FILLING_LARGE
    elif _weights(task):
        pays = not (long and task.geometry.n_kept * nbytes < FILLING_LARGE) and (long or not (wide and shifted))
    else:
        long = long or (not shifted and nbytes > PORTABLE_CLUSTER * _part(task, vector, count, PORTABLE_CLUSTER))
        masked = wide and shifted and not _writes_words(task)
        pays = long and not masked and task.geometry.n_kept * nbytes >= FILLING_LARGE
    return task.target.largest_cluster if pays else PORTABLE_CLUSTER


def _weights(task: Task) -> int:
    """The bytes of weights for an element of a row."""
    inputs = zip(task.program.inputs, task.program.input_spaces, strict=True)
    return sum(t.itemsize for t, space in inputs if space == REDUCED)


def _writes_words(task: Task) -> bool:
    """Whether a result has a value for each element of a row, and none is wider than a word."""
    return _writes(task) and max(task.operand_type(i).itemsize for i in elements_of(task)) <= WORD


def _writes(task: Task) -> bool:
    """Whether a result has a value for each element of a row."""
    return any(o.space & REDUCED for o in task.program.outputs)


def _few(task: Task, nbytes: int) -> int:
    """The CTAs that share a row of ``nbytes`` where rows are so few that each has several SMs; else 1."""
    if not _writes(task):
        return 1
    sms = floor2(task.machine // max(1, task.geometry.n_kept))
    return 2 * sms if nbytes >= FEW_PART * sms else sms


def are_runs(task: Task, vector: int) -> bool:
    """Whether a row lies in several runs of memory, of lengths that no access of several elements divides."""
    return len(task.geometry.reduced) > 1 and vector == 1


def _block(task: Task, vector: int, count: int, cluster: int, each: int, sizes: Sequence[int] = BLOCKS) -> Block | None:
    """The one of several sizes of a CTA of which an SM holds the most, and of these the one with the most threads.

    None where no CTA can hold its part of ``count`` accesses of ``each`` bytes.
    """
    target = DEFAULT if task.is_portable else task.target
    states, found = sum(t.itemsize for t in task.program.states), []
    for warps in sizes:
        held = ceil(count / (warps * WARP * cluster))
        plan = Plan("reduced", "interleaved", vector, 1, WARP, warps, 1, cluster=cluster, resident="shared", held=held)
        own = held * plan.threads * each
        shared = shared_bytes(plan, states) + own
        if held <= MOST_HELD and shared <= target.shared_per_cta:
            found.append(Block(plan, own * cluster, target.occupancy(plan.threads, shared, REGISTERS)))
    return max(found, key=lambda b: (b.occupancy.ctas, b.plan.threads), default=None)
