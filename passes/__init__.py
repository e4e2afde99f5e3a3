"""The passes, in the order in which they run: the table of contents of the lowering."""

from __future__ import annotations

from importlib import import_module

from ..compiler.driver.pipeline import Pass, Step
from ..compiler.plan.plan import Plan
from ..compiler.target import ASYNC_STORES, Target

_FILES = (
    "distribute", "lower_tile_copy", "lower_tile_write", "lower_thread_map", "lower_global_access",
    "lower_residency", "lower_cache_hints", "lower_matrix_load", "lower_matrix_store", "lower_thread_reduce",
    "lower_thread_scan", "lower_bin_search", "lower_gather", "lower_philox", "lower_word", "lower_ballot",
    "lower_matrix_reduce", "lower_warp_shuffle", "lower_warp_scan", "lower_shared_store",
    "lower_interwarp_accumulate", "lower_interwarp_scan", "lower_cta_reduce", "lower_period_reduce",
    "lower_cluster_reduce", "lower_grid_finish", "lower_tally", "lower_tagged_states", "lower_tickets",
    "expand_math", "unroll_loops", "fuse_math",
)  # fmt: skip
PASSES: tuple[Pass, ...] = tuple(import_module(f".{file}", __name__).PASS for file in _FILES)
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
