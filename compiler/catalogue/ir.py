"""WF3: IR and passes."""

from __future__ import annotations

from ..errors import CompileError, Rows

ROWS: Rows = {
    CompileError: {
        "WF301": (
            "no MLIR bindings with the NVPTX backend were found (looked for 'mlir' and 'numba_cuda_mlir')",
            "python -m pip install 'numba-cuda-mlir>=0.5.2,<0.7'",
        ),
        "WF310": ("{op} expects {expected}, got {found}", "see the op's description in compiler/dialect"),
        "WF311": ("{op} expects the attribute {attribute} to be {expected}", "see the op in compiler/dialect"),
        "WF312": ("{op} expects a combine region with arguments {expected}, got {found}", "two states: left, right"),
        "WF313": ("{op} expects a region that yields {expected}, got {found}", "end the region with fold.yield"),
        "WF314": ("{op} expects dims that rise and lie in 0 to {rank} - 1, got {dims}", "name every reduced dim once"),
        "WF320": (
            "distribute expects a function with {expected}, got {found}",
            "write the program through wf.fold, or give the function the attributes that docs/design.md lists",
        ),
        "WF321": ("{stage} has no rule for {op} on {dtype}", "rewrite the function with operations that have one"),
        "WF330": (
            "pass {name} left {count} {op} behind",
            "report it with the output of: warpfold compile OP --emit program",
        ),
        "WF331": ("pass {name} failed: {reason}", "the IR before it is in {path}; reproduce with: {command}"),
        "WF332": ("{name} is in the PTX but nothing links it", "report it: a math function lacks its expansion"),
    },
}
