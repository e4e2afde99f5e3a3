"""States of threads or warps in memory, where others combine them: one buffer for each value of a state.

Arrivals in a cluster: an mbarrier in each CTA, which counts the bytes that are stored to the CTA's shared memory.

A CTA waits for what comes to it, once. All threads of a cluster meet more slowly, since each waits for the last one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...compiler.ir.build import address, bytes_of, i32, integer, load, shared_buffer, store, word_type
from ...compiler.ir.combine import elements, with_shape
from ...compiler.ir.dialect.access import ACCESS_BYTES
from ...compiler.ir.dialect.base import element
from ...compiler.ir.mlir import arith, ir, llvm


@dataclass(frozen=True)
class StateBuffers:
    """Buffers of states, each an array [rows][slots] of one value of the state.

    Attributes:
        buffers, types: a pointer and a type for each value.
        slots: states in a row: neighbouring results, so that they lie in neighbouring banks.
        slot: this thread's state in every row; None if a row is one state.
    """

    buffers: Sequence[Any]
    types: Sequence[Any]
    slots: int = 1
    slot: Any = None

    def start(self, row: Any) -> Any:
        """The index of this thread's state in ``row``."""
        return row if self.slot is None else arith.addi(arith.muli(row, integer(row.type, self.slots)), self.slot)

    def load(self, row: Any) -> list[Any]:
        """The state in ``row``."""
        start = self.start(row)
        return [load(b, start, t) for b, t in zip(self.buffers, self.types, strict=True)]

    def load_all(self, rows: int) -> list[Any]:
        """The states of all ``rows``, each value a fragment; a row is one state."""
        return [load(b, i32(0), with_shape(t, rows)) for b, t in zip(self.buffers, self.types, strict=True)]

    def store(self, row: Any, state: Sequence[Any]) -> None:
        """Puts ``state`` in ``row``."""
        start = self.start(row)
        for buffer, v in zip(self.buffers, state, strict=True):
            store(v, buffer, start)


_WORDS = {4: ("b32", "r"), 8: ("b64", "l")}
"""For each size of a value in bytes the type of the instruction, and the constraint of its register."""

_FIRST = (
    "{ .reg .pred others; .reg .b32 thread; .reg .b64 state;",
    "mov.u32 thread, %tid.x;",
    "setp.ne.u32 others, thread, 0;",
    "@others bra made_${:uid};",
)
# The wait has the scope of the CTA, in whose own memory the states are: one of the cluster's also drops the L1 cache.
_WAIT = (
    "{ .reg .pred all;",
    "wait_${:uid}:",
    "mbarrier.try_wait.parity.shared.b64 all, [$0], 0;",
    "@!all bra wait_${:uid}; }",
)


@dataclass(frozen=True)
class Arrivals:
    """The mbarrier of one stage.

    Attributes:
        barrier: its address in the CTA's own shared memory.
        nbytes: how many bytes come to each CTA.
    """

    barrier: Any
    nbytes: int

    @classmethod
    def of(cls, op: Any, nbytes: int) -> Arrivals:
        """A new mbarrier beside the kernel of ``op``."""
        return cls(shared_buffer(op, "arrivals", 1, ir.IntegerType.get_signless(64)), nbytes)

    def wait(self) -> None:
        """Waits until all bytes have come, in a loop that LLVM does not see: it keeps what is around in one block."""
        barrier = llvm.ptrtoint(word_type(), self.barrier)
        llvm.inline_asm(None, [barrier], "\n\t".join(_WAIT), "r,~{memory}", has_side_effects=True)


def begin(arrivals: Sequence[Arrivals]) -> None:
    """Makes the mbarriers, by the first thread of each CTA; others may store there once the cluster has met.

    LLVM does not see the branch: what it knows of the thread's number it knows within a block.
    """
    if not arrivals:
        return
    made = [f"mbarrier.init.shared.b64 [${k}], 1;" for k in range(len(arrivals))]
    awaited = [f"mbarrier.arrive.expect_tx.shared.b64 state, [${k}], {a.nbytes};" for k, a in enumerate(arrivals)]
    text = "\n\t".join([*_FIRST, *made, "fence.mbarrier_init.release.cluster;", *awaited, "made_${:uid}: }"])
    own = [llvm.ptrtoint(word_type(), a.barrier.owner.clone().result) for a in arrivals]
    llvm.inline_asm(None, own, text, ",".join([*["r"] * len(own), "~{memory}"]), has_side_effects=True)


def store_counted(value: Any, to: Any, barrier: Any) -> None:
    """Stores a value in a CTA of the cluster, whose ``barrier`` then counts its bytes."""
    t = element(value.type)
    kind, letter = _WORDS[bytes_of(t)]
    word, scalars = ir.IntegerType.get_signless(8 * bytes_of(t)), elements(value)
    each = min(len(scalars), ACCESS_BYTES // bytes_of(t))
    names = [f"${i + 1}" for i in range(each)]
    data, vector = (names[0], "") if each == 1 else ("{" + ", ".join(names) + "}", f"v{each}.")
    text = f"st.async.shared::cluster.mbarrier::complete_tx::bytes.{vector}{kind} [$0], {data}, [${each + 1}];"
    for start in range(0, len(scalars), each):
        words = [x if x.type == word else llvm.bitcast(word, x) for x in scalars[start : start + each]]
        where = address(to, i32(start), t) if start else to
        constraints = ",".join(["l", *[letter] * each, "l", "~{memory}"])
        llvm.inline_asm(None, [where, *words, barrier], text, constraints, has_side_effects=True)
