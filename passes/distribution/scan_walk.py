"""Scans of columns by CTAs that keep them: a CTA goes through all rows of an array of columns, a tile at a time.

A tile has some rows of all columns, which are one run of memory. It is copied to shared memory, and each lane scans a
stretch of a column there. Threads keep what comes before the next tile in registers: no CTA waits for another one.
"""

from __future__ import annotations

from ...compiler.ir.mlir import arith, gpu, ir, llvm, scf
from .kernel import Kernel
from .resident.row_tiles import fetch_rows, row_tiles
from .scan_before import Before
from .scan_row import ScanRow
from .scan_work import Work


def distribute_scan_walk(kernel: Kernel) -> None:
    """Writes the body of a kernel whose CTAs keep columns, and walk along them."""
    length, zero = kernel.arg("chunk"), kernel.number(0)
    parts = kernel.ceil(kernel.arg("n_reduced"), length)
    loop = scf.ForOp(zero, parts, kernel.number(1), [llvm.mlir_undef(t) for t in kernel.of_scan.states])
    with ir.InsertionPoint(loop.body):
        work = Work(kernel.id(gpu.block_id(gpu.Dimension.x)), loop.induction_variable)
        earlier = Before(list(loop.inner_iter_args), arith.cmpi(arith.CmpIPredicate.ne, work.part, zero))
        later = work._replace(part=arith.addi(work.part, kernel.number(1)))
        more = scf.IfOp(kernel.less(later.part, parts))
        with ir.InsertionPoint(more.then_block):
            fetch_rows(kernel, later.chunk(kernel))
            scf.YieldOp([])
        with row_tiles(kernel, work.chunk(kernel)) as (tile, place, tiles):
            row = ScanRow.of(kernel, work, tile, place, tiles=tiles)
            row.load()
            with row.kernel.reduce.location:
                after = row.scan(earlier)
            gpu.barrier()  # all threads have read what they need of the tile in which results are going to lie
            row.store()
        gpu.barrier()  # the tile is written before the next one takes its place
        scf.YieldOp(list(after))
