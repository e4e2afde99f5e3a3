"""st.async: stores to the shared memory of a CTA of the cluster, whose bytes an mbarrier there counts.

The values are taken at once; the store arrives, like a copy, only when somebody looks at the mbarrier.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..machine.address_resolution import Access
from ..machine.copy_engine import engine, positions
from ..machine.threads import Threads
from ..ptx.types import STORAGE, Array, Imm, Operand, Vec, nbytes
from .load_store import TABLE as PLAIN
from .load_store import bits_of, memory_operand, unit_of
from .mbarrier import complete_later
from .op import Builder, Form, Op, broadcast, spread

if TYPE_CHECKING:
    from ..machine.machine import Machine

_VALUES = "b32 u32 s32 f32 b64 u64 s64 f64"
_LARGEST = 16  # bytes of a thread


def _store(form: Form) -> Op | list[Op]:
    if "async" not in form.left:
        return PLAIN["st"](form)
    form.drop("async", "weak")
    form.pick("shared::cluster", default="")
    form.pick("mbarrier::complete_tx::bytes")
    type_, vector = form.type(_VALUES), int(form.pick("v2", "v4", default="v1")[1:])
    size = vector * nbytes(type_)
    if size > _LARGEST:
        raise form.fail(f"expected at most {_LARGEST} bytes per thread")
    where, data, barrier = form.operands(3)
    target, counter = memory_operand(form, where), memory_operand(form, barrier)
    items = data.items if isinstance(data, Vec) else (data,)
    if len(items) != vector:
        raise form.fail(f"expected {vector} elements, got {len(items)}")
    access = Access(form.ins, "shared", target.offset, size, unit_of(size), "written")
    values: tuple[tuple[Operand, str], ...] = tuple(
        (item, type_ if isinstance(item, Imm) else bits_of(type_)) for item in items
    )
    reads = ((target.base, "addr"), (counter.base, "addr"), *values)
    return Op(reads, (), _Store(access, counter.offset), effect=True)


class _Store:
    """Runs a store, which is a copy of registers; ``offset`` is that of the mbarrier's address."""

    def __init__(self, access: Access, offset: int) -> None:
        self.access, self.offset = access, offset

    def __call__(
        self, machine: Machine, lanes: Threads, mask: Array | None, to: Array, barrier: Array, *values: Array
    ) -> None:
        chosen = positions(lanes, mask)
        if not chosen.size:
            return
        words = spread([v.view(STORAGE[8 * v.itemsize]) for v in values])
        raw = np.stack([broadcast(w, lanes.n)[chosen] for w in words], axis=1).view(self.access.unit).reshape(-1)
        threads, stores = lanes.numbers[chosen], engine(machine).bulk
        store = stores.take(stores.issue(self.access, threads, broadcast(to, lanes.n)[chosen], raw))
        barriers = broadcast(barrier, lanes.n)[chosen] + self.offset
        complete_later(machine, store, self.access.ins, threads, barriers, np.ones(threads.size, np.int64))


TABLE: dict[str, Builder] = {"st": _store}
