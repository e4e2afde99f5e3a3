"""The passes, in the order in which they run: the table of contents of the lowering."""

from __future__ import annotations

from ..compiler.driver.pipeline import Pass, Step
from ..compiler.plan.plan import Plan
from ..compiler.target import ASYNC_STORES, Target
from . import (
    distribute,
    expand_math,
    fuse_math,
    lower_ballot,
    lower_bin_search,
    lower_cache_hints,
    lower_cluster_reduce,
    lower_cta_reduce,
    lower_gather,
    lower_global_access,
    lower_grid_finish,
    lower_interwarp_accumulate,
    lower_interwarp_scan,
    lower_matrix_load,
    lower_matrix_reduce,
    lower_matrix_store,
    lower_period_reduce,
    lower_philox,
    lower_residency,
    lower_shared_store,
    lower_tagged_states,
    lower_tally,
    lower_thread_map,
    lower_thread_reduce,
    lower_thread_scan,
    lower_tickets,
    lower_tile_copy,
    lower_tile_write,
    lower_warp_scan,
    lower_warp_shuffle,
    lower_word,
    unroll_loops,
)

PASSES: tuple[Pass, ...] = (
    distribute.PASS,
    lower_tile_copy.PASS,
    lower_tile_write.PASS,
    lower_thread_map.PASS,
    lower_global_access.PASS,
    lower_residency.PASS,
    lower_cache_hints.PASS,
    lower_matrix_load.PASS,
    lower_matrix_store.PASS,
    lower_thread_reduce.PASS,
    lower_thread_scan.PASS,
    lower_bin_search.PASS,
    lower_gather.PASS,
    lower_philox.PASS,
    lower_word.PASS,
    lower_ballot.PASS,
    lower_matrix_reduce.PASS,
    lower_warp_shuffle.PASS,
    lower_warp_scan.PASS,
    lower_shared_store.PASS,
    lower_interwarp_accumulate.PASS,
    lower_interwarp_scan.PASS,
    lower_cta_reduce.PASS,
    lower_period_reduce.PASS,
    lower_cluster_reduce.PASS,
    lower_grid_finish.PASS,
    lower_tally.PASS,
    lower_tagged_states.PASS,
    lower_tickets.PASS,
    expand_math.PASS,
    unroll_loops.PASS,
    fuse_math.PASS,
)
"""warpfold's own passes: from the tensor program to scf, gpu, nvvm, vector, arith and llvm."""


def steps(target: Target, plan: Plan | None = None) -> list[tuple[str, Step]]:
    """The whole way from a tensor program to PTX for ``target``, as (label, pass or textual upstream pipeline).

    Of the PTX only the version depends on ``plan``: old drivers can load what has no ``st.async``. By the plan rows
    that are read again are simplified from the bottom up.
    """
    # Such kernels have values in many branches: those that nothing uses go before what makes them is looked at.
    canonicalize = "canonicalize{top-down=false}" if plan and plan.resident else "canonicalize"
    # O=0: LLVM only selects instructions. The loops are short and canonical by now, ptxas optimises them anyway, the
    # kernels are as fast (docs/log/instructions.md) and LLVM takes half the time.
    version = max(target.ptx, ASYNC_STORES) if plan and plan.cluster > 1 else target.ptx
    attach = f"nvvm-attach-target{{chip={target.arch} features=+ptx{version} O=0}}"
    # Lines are directives in the PTX, and no tables of LLVM's: code and registers stay as they are.
    lines = "ensure-debug-info-scope-on-llvm-func{emission-kind=DebugDirectivesOnly}"
    # No conversion here fails, so none keeps what would undo it.
    final = "allow-pattern-rollback=0"
    to_llvm = f"gpu.module(convert-gpu-to-nvvm{{{final}}})"  # and all other dialects
    return [
        *((p.name, p) for p in PASSES),
        ("canonicalize", f"{canonicalize},cse,loop-invariant-code-motion"),
        ("to-nvvm", f"convert-scf-to-cf{{{final}}},{to_llvm},reconcile-unrealized-casts"),
        ("ptx", f"{lines},{attach},gpu-module-to-binary{{format=isa}}"),
    ]
