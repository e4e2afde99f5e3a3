"""How many CTAs of a kernel an SM must be able to hold, so that ptxas gives threads the registers that they need.

Told nothing, it aims at SMs full of threads, and spills on the way to that; told too few, it takes more than it needs.
What is right was read off the machine code for every architecture, which ``tests/test_catalogue.py`` does again.
"""

from __future__ import annotations

from typing import Any

from ...compiler.ir.attributes import target_of
from ...compiler.ir.build import bytes_of, memory_type
from ...compiler.ir.combine import single_op
from ...compiler.ir.dialect.base import element
from ...compiler.ir.mlir import ir
from ...compiler.plan.abi import Facts
from ...compiler.plan.plan import Plan
from .kernel import Kernel

RESIDENT = 2
"""CTAs of a kernel along the kept axis an SM must be able to hold. Such threads hold an address an access, and ptxas,
told nothing, spills to keep SMs of 1536 threads full. They fill half an SM at most: with more it spills too. Kernels
along the reduced axis are faster when told nothing."""
SNUG = range(11, 21)
"""Values that a thread along the reduced axis has in flight, of one register each, so that it just fits the registers
it may have with all threads of an SM resident. ptxas aims at that in any case, but told nothing it spills on the way on
sm_100a."""
WIDE_OFFSETS = 768
"""Threads of an SM in place of all, where offsets have 64 bits and SMs fewer than MANY threads: ptxas, told nothing,
spills to keep these full, too. So many have enough bytes in flight."""
MANY = 2048
"""Threads of an SM of sm_80, sm_90 and sm_100; others hold fewer."""
PART = 3 / 4
"""Of the threads that an SM would hold, those that are asked for where half of its threads, or all on SMs of fewer than
MANY, are just too many for their registers."""
LARGE, WIDEST = 512, 16
"""Threads of a CTA beyond which ptxas, told nothing, leaves half the registers of an SM unused, and spills. Told of all
threads of an SM it does not where so many share long rows, in accesses of so many bytes: the planner gives that many to
light states alone, and counts on their being resident (``compiler/planner/split.py``). Words of bytes take more than
SMs of fewer than MANY threads have for all."""
FEW, HELD, FULL = 8, 16, 32
"""Registers for the states of a thread that reads columns, up to which half the threads of an SM have enough: of one
value of 64 bits, and of others; fewer than FEW where offsets have 64 bits, too, and states more than one register. So
many must be resident, as there are no more CTAs (``compiler/planner/split.py``). With more, ptxas, told nothing, does
well where warps meet. By periods it needs ROOMY threads; and a CTA alone for several values of 64 bits that fill FULL
registers, or for one beside offsets of 64 bits."""
ROOMY = 512
"""Threads of an SM, of 128 registers each; also where a state of three values or more goes with the masks of rows that
begin anywhere."""
MOST = 32
"""Values in flight of a thread that reads aligned columns up to which half the threads of an SM have registers enough,
but for bytes and short integers, which are taken apart, for integers that are compared, and with offsets of 64 bits:
told of fewer, ptxas takes more than it needs, and as many CTAs as there are do not fit."""
NUMBERED = 16
"""Elements of an access from which on ptxas, told nothing, spills a few of their numbers; or, where bytes are counted,
of the masks of their words, to keep SMs of fewer than MANY threads full."""


def resident(kernel: Kernel) -> int:
    """CTAs of a kernel that an SM must be able to hold; 0 leaves it to the assembler."""
    plan, facts, states, indexed = kernel.plan, kernel.facts, kernel.states, kernel.indexed
    threads = target_of(kernel.function).threads_per_sm
    item = min((bytes_of(memory_type(element(v.type))) for v in kernel.inputs), default=4)
    half, added = threads // (2 * plan.threads), single_op(kernel.combine)
    roomy = min(half, max(1, ROOMY // plan.threads))
    if plan.walk == "padded" and _registers(plan, states) <= HELD:
        return half
    if plan.walk == "period":
        return _of_period(plan, facts, states, half, roomy)
    joined = plan.vector < NUMBERED or added in ("arith.addi", "arith.ori", "arith.andi")
    if _shares_columns(plan, facts) and len(states) == 1 and joined:
        return _of_columns(plan, facts, states[0], added, half, item)
    if plan.fast == "kept" or plan.threads > LARGE or (indexed and plan.vector >= NUMBERED):
        return min(RESIDENT, half)
    if len(states) > 2 and "shifted" in facts.access:
        return roomy
    if len(states) > 1:
        return 0
    (state,) = states
    whole = bytes_of(state) > 4
    if _is_large(plan, facts, item) and (indexed or not whole or not isinstance(state, ir.IntegerType)):
        return int(threads * (PART if item == 1 and threads < MANY else 1)) // plan.threads
    return 0 if whole else _of_registers(plan, facts, threads, state, added)


def _is_large(plan: Plan, facts: Facts, item: int) -> bool:
    """Whether LARGE threads share rows that are so long, in wide accesses; offsets of 64 bits take more registers."""
    shares = plan.threads == LARGE and plan.finish == "last_block"
    return shares and facts.index_bits == 32 and plan.vector * item == WIDEST


def _of_period(plan: Plan, facts: Facts, states: list[Any], half: int, roomy: int) -> int:
    """The same where threads walk by periods."""
    if not _is_crowded(plan, facts, states):
        return half
    full = _registers(plan, states) >= FULL and max(map(bytes_of, states)) > 4
    return 1 if full and (len(states) > 1 or facts.index_bits == 64) else roomy


def _of_columns(plan: Plan, facts: Facts, state: Any, added: str | None, half: int, item: int) -> int:
    """The same where all warps read aligned vectors of the same columns, whose states are one value each."""
    if _is_crowded(plan, facts, [state]):
        return 0
    whole = isinstance(state, ir.IntegerType) and state.width > 1
    taken_apart = item < (4 if whole else 2) and state.width > 1
    compared = whole and state.width == 32 and added != "arith.addi"
    tight = taken_apart or compared or facts.index_bits == 64 or plan.vector * plan.unroll > MOST
    return max(1, int(half * PART)) if tight else half


def _is_crowded(plan: Plan, facts: Facts, states: list[Any]) -> bool:
    """Whether states take so many registers that half the threads of an SM have not enough."""
    registers = _registers(plan, states)
    if registers == plan.vector:
        return registers > HELD
    if facts.index_bits == 64:
        return registers >= FEW
    return registers > FEW if len(states) == 1 else registers >= HELD


def _registers(plan: Plan, states: list[Any]) -> int:
    """Those for the states of a thread that reads columns."""
    return plan.vector * sum(-(-bytes_of(t) // 4) for t in states)


def _shares_columns(plan: Plan, facts: Facts) -> bool:
    """Whether all warps of a CTA read aligned vectors of the same columns."""
    return plan.fast == "kept" and plan.warps > 1 and set(facts.access) <= {"aligned", "staggered"}


def _of_registers(plan: Plan, facts: Facts, threads: int, state: Any, added: str | None) -> int:
    """The same along the reduced axis, for a state of one register."""
    counted = plan.vector >= NUMBERED and added == "arith.addi"
    if state.width == 1 or (counted and threads < MANY):  # words: as many beside them as they need
        return threads // (2 * plan.threads)
    if plan.vector * (plan.unroll + 1) not in SNUG:
        return 0
    if facts.index_bits == 32:
        return (threads if threads >= MANY else int(threads * PART)) // plan.threads
    return WIDE_OFFSETS // plan.threads if threads < MANY else 0
