"""The occupancy that a kernel asks for: how many CTAs an SM must be able to hold.

ptxas fits the registers of a thread to that number. Without one, it aims at SMs full of threads and spills registers on
the way; with too small a one, it uses more registers than the threads need. The numbers here were read off the machine
code for every architecture, which ``tests/test_catalogue.py`` does again.
"""

from __future__ import annotations

from typing import Any

from ...compiler.ir.attributes import target_of
from ...compiler.ir.build import bytes_of, find_any, memory_type
from ...compiler.ir.combine import single_op
from ...compiler.ir.dialect.base import element
from ...compiler.ir.mlir import ir
from ...compiler.plan.facts import Facts
from ...compiler.plan.fields import OF_BITS
from ...compiler.plan.plan import Plan
from ...compiler.planner.alignment import WIDEST
from .kernel import Kernel

ALONG_KEPT = 2
"""CTAs of a kernel along the kept axis that an SM must hold. Threads hold an address for each access, and ptxas by
itself spills to fill SMs of 1536 threads. Kernels along the reduced axis are faster without a number."""
FIT = range(11, 21)
"""Values of one register that a thread along the reduced axis has in flight, where they just fit registers of a full
SM. There ptxas targets a full SM without a number as well, but spills on sm_100a."""
WIDE_OFFSETS = 768
"""Threads per SM where offsets have 64 bits and SMs hold fewer than FULL_SM threads: ptxas by itself spills to fill
these SMs, and 768 threads have enough bytes in flight."""
FULL_SM = 2048
"""Threads that an SM of sm_80, sm_90 and sm_100 holds; others hold fewer."""
PART = 3 / 4
"""The part of an SM's threads to ask for where half of them, or all of an SM that holds fewer than FULL_SM or has CTAs
of 16 warps whose accesses are masked, are just too many for their registers."""
LARGE_CTA = 512
"""Threads of a CTA. Without a number ptxas gives larger CTAs half the registers of an SM, and spills. CTAs of this size
that share long rows in whole accesses get the number of a full SM: the planner chooses them for light states only, and
counts on full SMs (``compiler/planner/split.py``)."""
FEW, HELD = 8, 16
"""Registers for the states of a thread that reads columns. Up to here an SM has registers enough for half its threads:
HELD for states of one register, FEW for a state of 64 bits; fewer than FEW where offsets have 64 bits, and fewer than
HELD where states have several values. Beyond, ptxas does well by itself where warps meet; along periods it is asked for
ROOMY threads."""
FULL = 32
"""Registers for the states of a thread along a period from which on the number is one CTA per SM: for several values of
64 bits, or one beside offsets of 64 bits."""
ROOMY = 512
"""Threads per SM that have 128 registers each; also for states of three values in rows that begin anywhere, which have
masks."""
SEVERAL = 12
"""Values of a state in rows that begin anywhere, up to which ROOMY threads have registers enough. Those of longer lists
spill thousands of bytes: on an H100 the 16 greatest of each row of f32 50000 x 1501 took 981 us so, and 587 without a
number."""
IN_FLIGHT = 32
"""Values in flight of a thread that reads aligned columns, up to which half the threads of an SM have registers enough.
Bytes and short integers, which are taken apart, integers that are compared, and offsets of 64 bits need more."""
REGISTERS = 65536
"""Registers of an SM."""
HALF_AN_SM = 1024
"""Threads."""
WORD = 4
"""Bytes of an element that fills a register."""
LONG_CODE = range(64, 73)
"""Values of a thread that straight-line code keeps in shared memory, of rows that begin anywhere, where ptxas may by
itself use more registers than ROOMY threads have, and an SM holds one CTA in place of two. Of fewer it uses fewer.
On an H100 log-softmax of f32 128 x 131071 took 67 us so, and 53 with two."""
BESIDE_A_ROW = 28
"""Registers of a thread that keeps elements of a row, beside those for the elements."""
WIDE_ACCESS = 16
"""Elements of an access. With this many or more, ptxas spills without a number if the kernel numbers its elements. It
also spills if the kernel masks words of bytes to count them, on SMs that hold fewer than FULL_SM threads."""

IN_CACHE = 512
"""Threads per SM of a kernel whose rows wait in the L2 cache: two chunks of a thread are in registers at a time, for
which 768 threads have too few. On an H100 softmax of bf16 64 x 2^20 took 112 us with 512, and 154 with 768."""


IN_CLUSTERS = 512
"""Threads per SM of a kernel whose columns wait in the registers of clusters: without a number those that are read by
single elements have up to 255 registers a thread. On an H100 softmax of bf16 2048 x 16383 over the first axis took 136
us so, and 100 with 512 threads."""


def least_ctas(kernel: Kernel) -> int:
    """CTAs of a kernel that an SM must be able to hold; 0 leaves the number to ptxas."""
    plan, facts, indexed = kernel.plan, kernel.facts, kernel.indexed
    if plan.resident:
        return _of_waiting_rows(kernel)
    states = kernel.states
    threads = target_of(kernel.function).threads_per_sm
    apart = ("number", *OF_BITS)
    arrays = [v.type for v, access in zip(kernel.inputs, facts.access, strict=True) if access not in apart]
    item = min((bytes_of(memory_type(element(t))) for t in arrays), default=4)
    half, added = threads // (2 * plan.threads), single_op(kernel.combine)
    roomy = min(half, max(1, ROOMY // plan.threads))
    if plan.walk == "padded" and _registers(plan, states) <= HELD:
        return half
    if plan.walk == "period":
        return _of_period(plan, facts, states, half, roomy)
    joined = plan.vector < WIDE_ACCESS or added in ("arith.addi", "arith.ori", "arith.andi")
    if _shares_columns(plan, facts) and len(states) == 1 and joined:
        return _of_columns(plan, facts, states[0], added, half, item)
    if plan.fast == "kept" or plan.threads > LARGE_CTA or (indexed and plan.vector >= WIDE_ACCESS):
        return min(ALONG_KEPT, half)
    if 2 < len(states) <= SEVERAL and "shifted" in facts.access:
        return roomy
    if len(states) > 1:
        return 0
    (state,) = states
    wide = bytes_of(state) > 4
    if _is_large(plan, facts, item) and (indexed or not wide or not isinstance(state, ir.IntegerType)):
        masked = not set(OF_BITS).isdisjoint(facts.access)  # their masks take registers
        return int(threads * (PART if masked or (item == 1 and threads < FULL_SM) else 1)) // plan.threads
    return 0 if wide else _of_registers(plan, facts, threads, state, added)


def _of_waiting_rows(kernel: Kernel) -> int:
    """The CTAs per SM where rows wait: for those that begin anywhere, as many as have registers for the elements.

    Without a number ptxas has the masks of several accesses at a time, and SMs hold fewer threads. Few elements leave
    registers for both. Where rows go through large tiles, an SM holds two: one is read while the other is written.
    """
    plan, facts = kernel.plan, kernel.facts
    if plan.persistent:
        return plan.persistent
    if plan.resident == "l2":
        return IN_CACHE // plan.threads
    if plan.resident == "grid":  # so many CTAs share the machine
        return 1
    if plan.is_large_tile:
        return max(1, HALF_AN_SM // plan.threads)
    if plan.resident == "registers" and plan.fast == "kept" and plan.cluster > 1:
        return max(1, IN_CLUSTERS // plan.threads)
    if "shifted" not in (*facts.access, *facts.stores):
        return 0
    if plan.resident == "shared" and plan.fast == "reduced":
        return ROOMY // plan.threads if _is_long(kernel) else 0
    if plan.resident != "registers":
        return 0
    words = sum(-(-bytes_of(memory_type(element(kernel.inputs[i].type))) // 4) for i in facts.waiting)
    registers = -(-(plan.held * plan.vector * words + BESIDE_A_ROW) // 8) * 8
    return max(1, REGISTERS // (registers * plan.threads)) if registers * HALF_AN_SM > REGISTERS else 0


def _is_long(kernel: Kernel) -> bool:
    """Whether straight-line code has exponentials of LONG_CODE values of a thread, and an SM room for ROOMY threads."""
    plan, facts = kernel.plan, kernel.facts
    items = [bytes_of(memory_type(element(kernel.inputs[i].type))) for i in facts.waiting]
    long = not facts.walked and items == [WORD] and plan.held * plan.vector in LONG_CODE and 2 * plan.threads <= ROOMY
    return long and bool(find_any(kernel.entry, ("math.exp", "math.exp2")))


def _is_large(plan: Plan, facts: Facts, item: int) -> bool:
    """Whether large CTAs share rows, in whole accesses and with offsets of 32 bits, so that SMs are to be full."""
    shares = plan.threads == LARGE_CTA and plan.finish == "last_block"
    return shares and facts.index_bits == 32 and plan.vector * item == WIDEST


def _of_period(plan: Plan, facts: Facts, states: list[Any], half: int, roomy: int) -> int:
    """The CTAs per SM where threads walk by periods."""
    if not _is_crowded(plan, facts, states):
        return half
    full = _registers(plan, states) >= FULL and max(map(bytes_of, states)) > 4
    return 1 if full and (len(states) > 1 or facts.index_bits == 64) else roomy


def _of_columns(plan: Plan, facts: Facts, state: Any, added: str | None, half: int, item: int) -> int:
    """The CTAs per SM where all warps read aligned vectors of the same columns, with states of one value."""
    if _is_crowded(plan, facts, [state]):
        return 0
    integer = isinstance(state, ir.IntegerType) and state.width > 1
    taken_apart = item < (4 if integer else 2) and state.width > 1
    compared = integer and state.width == 32 and added != "arith.addi"
    tight = taken_apart or compared or facts.index_bits == 64 or plan.vector * plan.unroll > IN_FLIGHT
    return max(1, int(half * PART)) if tight else half


def _is_crowded(plan: Plan, facts: Facts, states: list[Any]) -> bool:
    """Whether the states take more registers than half the threads of an SM have."""
    registers = _registers(plan, states)
    if registers == plan.vector:
        return registers > HELD
    if facts.index_bits == 64:
        return registers >= FEW
    return registers > FEW if len(states) == 1 else registers >= HELD


def _registers(plan: Plan, states: list[Any]) -> int:
    """The registers for the states of a thread that reads columns."""
    return plan.vector * sum(-(-bytes_of(t) // 4) for t in states)


def _shares_columns(plan: Plan, facts: Facts) -> bool:
    """Whether all warps of a CTA read aligned vectors of the same columns."""
    return plan.fast == "kept" and plan.warps > 1 and set(facts.access) <= {"aligned", "staggered", "bits"}


def _of_registers(plan: Plan, facts: Facts, threads: int, state: Any, added: str | None) -> int:
    """The CTAs per SM along the reduced axis, for a state of one register."""
    counted = plan.vector >= WIDE_ACCESS and added == "arith.addi"
    if state.width == 1 or (counted and threads < FULL_SM):  # words of bytes
        return threads // (2 * plan.threads)
    if plan.vector * (plan.unroll + 1) not in FIT:
        return 0
    if facts.index_bits == 32:
        masked = plan.threads >= LARGE_CTA and "shifted" in facts.access
        return int(threads * (PART if masked or threads < FULL_SM else 1)) // plan.threads
    return WIDE_OFFSETS // plan.threads if threads < FULL_SM else 0
