"""The body of a kernel that scans a few long rows, or columns: what each of the warps of a CTA does."""

from __future__ import annotations

from ...compiler.ir.build import if_then
from ...compiler.ir.mlir import arith, gpu
from ...compiler.plan.launch import lookers
from ...compiler.target import WARP
from .chain_columns import ColumnRoles
from .chain_places import LEAVES, LOOKS
from .chain_roles import Roles
from .kernel import Kernel


def distribute_with_roles(kernel: Kernel) -> None:
    """Writes the body of a kernel whose warps have roles."""
    roles = (ColumnRoles if kernel.plan.slots > 1 else Roles).of(kernel)
    thread = kernel.id(gpu.thread_id(gpu.Dimension.x))
    warp = kernel.divide(thread, WARP)
    half = kernel.plan.warps // 2
    if_then(kernel.is_first(thread), roles.copy)
    makers = LOOKS + lookers(kernel.plan)
    if_then(arith.cmpi(arith.CmpIPredicate.eq, warp, kernel.number(LEAVES)), roles.leave)
    looks = arith.andi(kernel.less(kernel.number(LOOKS - 1), warp), kernel.less(warp, kernel.number(makers)))
    if_then(looks, roles.look)
    writes = kernel.less(kernel.number(half - 1), warp)
    makes = arith.andi(kernel.less(kernel.number(makers - 1), warp), kernel.less(warp, kernel.number(half)))
    if_then(makes, lambda: roles.make(warp))
    if_then(writes, lambda: roles.write(warp))
    roles.clear(thread)
